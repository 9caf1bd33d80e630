//go:build linux || darwin

package isolate

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// highWater keeps a total from going back: the time of a process that nobody
// waited for is lost with it.
type highWater struct {
	mu sync.Mutex
	d  time.Duration
}

func (h *highWater) raise(d time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.d = max(h.d, d)
	return h.d
}

// inode names a file that may have several names.
type inode struct{ dev, ino uint64 }

// diskUse is what a folder takes on its file system, in bytes. A file with
// several names counts once; what cannot be read and what is mounted there is left out.
func diskUse(dir string, mounts []Mount) (uint64, error) {
	var top syscall.Stat_t
	if err := syscall.Stat(dir, &top); err != nil {
		return 0, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	var total uint64
	seen := map[inode]bool{}
	mounted := map[string]bool{}
	for _, m := range mounts {
		mounted[m.Target] = true
	}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile, or closed to everybody
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if st.Dev != top.Dev || mounted[p] {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if st.Nlink > 1 && !e.IsDir() {
			id := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // another width on other systems
			if seen[id] {
				return nil
			}
			seen[id] = true
		}
		total += uint64(st.Blocks) * blockSize
		return nil
	})
	return total, err
}

// blockSize is the unit of Stat_t.Blocks, whatever the file system's own is.
const blockSize = 512

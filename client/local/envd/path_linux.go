package envd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// handle is a file or directory that was found and checked. It holds an O_PATH
// descriptor: nothing was opened for reading yet, so a FIFO does not block and
// a device does not act.
type handle struct {
	f *os.File
	// sys is a path for system calls that goes through the descriptor.
	sys string
	// real is the path without links, for calls that need a name.
	real string
}

// noFollow asks openHandleAt to take a link itself.
const noFollow = unix.O_NOFOLLOW

// openHandle finds an absolute path, following symbolic links but no magic ones.
func openHandle(path string) (*handle, error) {
	return openHandleAt(nil, path, 0)
}

// openHandleAt is openHandle for a name in the directory dir (nil: path is
// absolute). flags is 0 or noFollow.
func openHandleAt(dir *handle, path string, flags uint64) (*handle, error) {
	at := unix.AT_FDCWD
	if dir != nil {
		at = int(dir.f.Fd())
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := openRetry(at, path, &how)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	h := &handle{f: os.NewFile(uintptr(fd), path), sys: "/proc/self/fd/" + strconv.Itoa(fd)}
	h.real, err = os.Readlink(h.sys)
	if err != nil {
		h.close()
		return nil, shownAs(err, path)
	}
	if h.refused() {
		h.close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: errRefused}
	}
	return h, nil
}

// openRetry calls openat2 and repeats it while the kernel asks for that.
// Kernels before 5.6 do not have the call, and some containers deny it; they do
// not have what the namespace level needs either, and at the process level the
// agent has the caller's own rights, so there a plain open does.
func openRetry(at int, path string, how *unix.OpenHow) (int, error) {
	for {
		fd, err := unix.Openat2(at, path, how)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			return unix.Openat(at, path, int(how.Flags), 0)
		}
		return fd, err
	}
}

// refused says whether the handle is a process's part of /proc, where the agent
// would read with rights that the caller lacks.
func (h *handle) refused() bool {
	if h.fsType() != unix.PROC_SUPER_MAGIC {
		return false
	}
	for part := range strings.SplitSeq(filepath.Clean(h.real), "/") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return true
		}
	}
	return false
}

// pseudo says whether the handle lies in a file system that shows the kernel:
// sizes there mean nothing, and nothing is written.
func (h *handle) pseudo() bool {
	switch h.fsType() {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC:
		return true
	}
	return false
}

// networked says whether the handle lies on a mount whose changes other
// machines make, which no watch sees (e2b-protocol §10.2).
func (h *handle) networked() bool {
	switch h.fsType() {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
		return true
	}
	return false
}

func (h *handle) fsType() int64 {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(h.f.Fd()), &st); err != nil {
		return 0
	}
	return int64(st.Type) //nolint:unconvert // another width on 32-bit machines
}

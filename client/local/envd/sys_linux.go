package envd

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// xattrPrefix is where file metadata is kept (e2b-protocol §7.5).
const xattrPrefix = "user.e2b."

// maxXattrList bounds what is read of a file's attribute names, in bytes.
const maxXattrList = 64 << 10

// readMetadata reads the metadata of a file; nil where there is none or the
// file system has no attributes.
func readMetadata(path string) map[string]string {
	size, err := unix.Llistxattr(path, nil)
	if err != nil || size <= 0 || size > maxXattrList {
		return nil
	}
	names := make([]byte, size)
	if size, err = unix.Llistxattr(path, names); err != nil {
		return nil
	}
	var meta map[string]string
	value := make([]byte, maxMetadata)
	for name := range strings.SplitSeq(string(names[:size]), "\x00") {
		key, ours := strings.CutPrefix(name, xattrPrefix)
		if !ours {
			continue
		}
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			continue
		}
		if meta == nil {
			meta = map[string]string{}
		}
		meta[utf8Text(key)] = utf8Text(string(value[:n]))
	}
	return meta
}

// writeMetadata stores metadata on a new file. It returns what was stored:
// nothing where the file system has no attributes.
func writeMetadata(f *os.File, meta map[string]string) (map[string]string, error) {
	for key, value := range meta {
		err := control(f, func(fd int) error {
			return unix.Fsetxattr(fd, xattrPrefix+key, []byte(value), 0)
		})
		if errors.Is(err, unix.ENOTSUP) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// growPipe asks for a pipe that holds size bytes, so that a fast writer and
// the reader wake each other less often. Not getting it is no fault.
func growPipe(f *os.File, size int) {
	_ = control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size)
		return err
	})
}

// pending is how many bytes wait to be read in a pipe or terminal, -1 when
// that is not known.
func pending(f *os.File) int {
	n := -1
	err := control(f, func(fd int) error {
		var err error
		n, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	})
	if err != nil {
		return -1
	}
	return n
}

// killSession ends the processes of the session that pid leads. Those that
// made a session of their own are not found.
func killSession(pid int) {
	killGroup(pid)
	procs, err := procfs.AllProcs()
	if err != nil || pid <= 1 {
		return
	}
	for _, p := range procs {
		if st, err := p.Stat(); err == nil && st.Session == pid && p.PID != os.Getpid() {
			_ = unix.Kill(p.PID, unix.SIGKILL)
		}
	}
}

// diskFull says whether a write failed for lack of room (HTTP 507).
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

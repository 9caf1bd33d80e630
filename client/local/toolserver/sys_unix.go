//go:build unix

package toolserver

import (
	"os"

	"golang.org/x/sys/unix"

	"abxdash/client/local/envd"
)

// killTree ends a child with the processes of its group: it leads a session.
func killTree(c envd.Child) {
	_ = c.Signal(sigKill)
	if pid := c.PID(); pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL) // the group may be gone
	}
}

// resize sets the size of a terminal; the programs on it get SIGWINCH.
func resize(tty *os.File, size envd.Winsize) error {
	rc, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	ctl := rc.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if ctl != nil {
		return ctl
	}
	return err
}

// diskOf is the file system of a path, in bytes.
func diskOf(dir string) (used, total uint64) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, 0
	}
	block := uint64(st.Bsize)                                                        //nolint:unconvert // another type on other systems
	return (uint64(st.Blocks) - uint64(st.Bfree)) * block, uint64(st.Blocks) * block //nolint:unconvert // the same
}

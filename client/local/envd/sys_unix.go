//go:build unix

package envd

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerOf is the user and group id of a file.
func ownerOf(fi os.FileInfo) (uid, gid uint32) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Uid, st.Gid
	}
	return 0, 0
}

// resizeTTY sets the size of a terminal; the programs on it get SIGWINCH.
func resizeTTY(tty *os.File, size Winsize) error {
	return control(tty, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
}

// killGroup ends the process group that pid leads; without one it does nothing.
func killGroup(pid int) {
	if pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// control calls fn with the descriptor of f and leaves f's mode alone, which
// f.Fd would not.
func control(f *os.File, fn func(fd int) error) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if ctlErr := rc.Control(func(fd uintptr) { err = fn(int(fd)) }); ctlErr != nil {
		return ctlErr
	}
	return err
}

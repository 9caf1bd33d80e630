//go:build unix

package server

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock file at path, made if need be, and reports whether it
// got it. The lock lasts until the file is closed or the process ends, and is
// never handed to a child. A lock file that was removed in between counts as
// not got.
func TryLock(path string) (*os.File, bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, false, f.Close()
	case err != nil:
		return nil, false, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	mine, err1 := f.Stat()
	there, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		return nil, false, f.Close()
	}
	return f, true, nil
}

package server

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// shortPath gives a name for path that fits into a socket address. A long one
// is named through an open descriptor of its folder; done closes that.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) <= maxSockPath {
		return path, func() {}, nil
	}
	dir, base := filepath.Split(path)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", fd, base)
	if len(short) > maxSockPath {
		_ = unix.Close(fd)
		return "", nil, tooLong(path)
	}
	return short, func() { _ = unix.Close(fd) }, nil
}

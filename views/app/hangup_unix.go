//go:build unix

package app

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// watchHangup calls gone once the other end of a terminal is gone. stop ends the
// watch and waits for that.
func watchHangup(tty *os.File, gone func()) (stop func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {} // the signal remains
	}
	done := make(chan struct{})
	fds := []unix.PollFd{{Fd: int32(tty.Fd())}, {Fd: int32(r.Fd()), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
	go func() {
		defer close(done)
		for {
			_, err := unix.Poll(fds, -1)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err == nil && fds[0].Revents&unix.POLLHUP != 0 && fds[1].Revents == 0 {
				gone()
			}
			return
		}
	}()
	return func() {
		_ = w.Close()
		<-done
		_ = r.Close()
	}
}

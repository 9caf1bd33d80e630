//go:build !windows

package attach

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSignals catches the signals that would kill this process with the terminal in raw mode.
func watchSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	return c, func() { signal.Stop(c) }
}

// watchResize signals changes of the terminal's size; at most one is pending.
func watchResize() (<-chan struct{}, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	out := make(chan struct{}, 1)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-c:
				select {
				case out <- struct{}{}:
				default:
				}
			case <-stop:
				return
			}
		}
	}()
	return out, func() {
		signal.Stop(c)
		close(stop)
		<-done
	}
}

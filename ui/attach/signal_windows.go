//go:build windows

package attach

import (
	"os"
	"os/signal"
	"time"
)

func watchSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt)
	return c, func() { signal.Stop(c) }
}

// watchResize looks at the size regularly, because there is no signal for it.
func watchResize() (<-chan struct{}, func()) {
	out := make(chan struct{}, 1)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
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
		close(stop)
		<-done
	}
}

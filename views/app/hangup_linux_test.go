package app

import (
	"testing"
	"time"

	"github.com/creack/pty"
)

// A terminal that goes away is seen without a signal, and a watch that is ended
// says nothing.
func TestWatchHangup(t *testing.T) {
	for _, goes := range []bool{true, false} {
		master, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{}, 1)
		stop := watchHangup(tty, func() { gone <- struct{}{} })
		if _, err := master.WriteString("typed\n"); err != nil { // input is no end
			t.Fatal(err)
		}
		if goes {
			_ = master.Close()
			select {
			case <-gone:
			case <-time.After(time.Minute):
				t.Fatal("the end is not seen")
			}
		}
		stop()
		if !goes && len(gone) > 0 {
			t.Error("an end is seen that was none")
		}
		_, _ = master.Close(), tty.Close()
	}
}

package server

import "time"

// Clock is the time source of lifetimes and of the idle end.
type Clock interface {
	Now() time.Time
	// After gives a channel that gets one value once d has passed; stop frees the timer.
	After(d time.Duration) (c <-chan time.Time, stop func())
}

// SystemClock is the machine's wall clock. Its times carry no monotonic
// reading, so that a lifetime goes on while the machine sleeps.
type SystemClock struct{}

// Now returns the wall clock time in UTC.
func (SystemClock) Now() time.Time { return time.Now().UTC().Round(0) }

// After is a plain timer.
func (SystemClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Package logpane shows a scroll-back of command output or a log: follow and
// pause, wrapping, time stamps, search, errors only. It reads lines through a
// small interface and makes everything that a terminal would obey, except
// colours, visible instead.
package logpane

import "time"

// Lines is what a pane shows: a bounded run of lines that grows at one end and
// is dropped at the other. client/stream.Ring satisfies it. All methods may be
// called while another goroutine appends.
type Lines interface {
	// Len is the number of lines held, an unfinished last one included.
	Len() int
	// At returns line i, 0 being the oldest held, without its line end and raw
	// as it came (escapes and controls included), whether it is standard error,
	// and when it came. Out of range it returns zero values.
	At(i int) (text string, stderr bool, at time.Time)
	// Dropped is the number of lines dropped so far; Dropped()+i numbers line i for good.
	Dropped() int
	// Version changes whenever anything above would answer differently.
	Version() uint64
}

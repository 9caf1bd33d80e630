package shell

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// session is one shell. All fields belong to the program's loop except what
// term.Session and recorder guard themselves.
type session struct {
	key  present.Key
	name string
	// live is nil until the shell has started, and after it could not start.
	live *term.Session
	proc client.Process
	// err is why it could not start.
	err error
	// said is set once the end has been reported.
	said bool
	// sizes gets the size of the pane once, for a shell that is being started.
	sizes chan client.Size
	sized bool
	// drawn is set while what it shows is on the screen as it was at its last
	// change, and asked from a key until the first change after it.
	drawn, asked bool
	rec          *recorder
	open         *openSessions
}

// openSessions are the terminal sessions that run, whether or not the loop
// knows of them yet: a command may finish after the program has ended.
type openSessions struct {
	mu     sync.Mutex
	closed bool
	all    map[*session]*term.Session
	// priority lets the one that is typed into go first.
	priority term.Priority
}

// add notes a session; after the end it is closed at once.
func (o *openSessions) add(s *session, live *term.Session) {
	o.mu.Lock()
	closed := o.closed
	if !closed {
		o.all[s] = live
	}
	o.mu.Unlock()
	if closed {
		_ = live.Close() // detaching; a failure has no consequence here
	}
}

// close detaches from one session and ends its recording.
func (o *openSessions) close(s *session) {
	o.mu.Lock()
	live := o.all[s]
	delete(o.all, s)
	o.mu.Unlock()
	if live != nil {
		_ = live.Close() // detaching; a failure has no consequence here
	}
	_, _ = s.rec.stop() // a recording that cannot be ended whole keeps its suffix
}

// closeAll closes all there are, and those to come.
func (o *openSessions) closeAll() {
	o.mu.Lock()
	o.closed = true
	all := slices.Collect(maps.Keys(o.all))
	o.mu.Unlock()
	for _, s := range all {
		o.close(s)
	}
}

// begin makes the terminal of a process.
func (s *session) begin(proc client.Process, cols, rows int) *term.Session {
	return s.beginOver(stream{proc}, proc, cols, rows)
}

// beginOver is begin with another stream of the process.
func (s *session) beginOver(over term.Stream, proc client.Process, cols, rows int) *term.Session {
	o := term.SessionOptions{OnOutput: s.rec.output, OnInput: s.rec.input, OnResize: s.rec.resize, Priority: &s.open.priority}
	if h, ok := proc.(interface{ Replaying() bool }); ok {
		o.Replaying = h.Replaying
	}
	live := term.NewSession(over, cols, rows, o)
	s.open.add(s, live)
	return live
}

// over reports whether there is nothing more to type into.
func (s *session) over() bool {
	return s.err != nil || s.live != nil && s.live.End() != nil
}

// running reports whether keys would reach the shell.
func (s *session) running() bool { return s != nil && s.live != nil && !s.over() }

// ending words how the shell ended.
func (s *session) ending(tr *lang.Catalog) string {
	if s.err != nil {
		return tr.T("could not start: %s", present.ErrorLine(s.err))
	}
	end := s.live.End()
	switch {
	case end == nil:
		return ""
	case errors.Is(end.Err, client.ErrNotFound):
		return tr.T("the sandbox is gone")
	case end.Err != nil:
		return present.ErrorLine(end.Err)
	}
	return tr.T("shell ended: %s", tr.Word(s.proc.Exit().String()))
}

// pace says how soon a change is to be seen: at once when it is the first one
// after a key, which is its echo most of the time, and not at all when the last
// frame did not show this shell.
func (s *session) pace(p *ui.Pace) {
	switch {
	case s.asked:
		p.Soon()
	case !s.drawn:
		p.Still()
	}
	s.drawn, s.asked = false, false
}

// fit tells the shell the size of its pane.
func (s *session) fit(cols, rows int) {
	if !s.sized {
		s.sized = true
		s.sizes <- client.Size{Cols: cols, Rows: rows}
	}
	if s.running() {
		s.live.Resize(cols, rows)
	}
}

// close detaches and ends a recording. It does I/O.
func (s *session) close() { s.open.close(s) }

// stream lets a terminal session read a process.
type stream struct{ p client.Process }

// Next implements term.Stream.
func (s stream) Next() ([]byte, error) {
	f, err := s.p.Next()
	return f.Data, err
}

// Write implements term.Stream.
func (s stream) Write(ctx context.Context, p []byte) error { return s.p.Write(ctx, p) }

// Resize implements term.Stream.
func (s stream) Resize(ctx context.Context, cols, rows int) error {
	return s.p.Resize(ctx, client.Size{Cols: cols, Rows: rows})
}

// Close implements term.Stream.
func (s stream) Close() error { return s.p.Close() }

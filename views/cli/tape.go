package cli

import (
	"fmt"
	"sync"
	"time"

	"abxdash/ui/record"
	"abxdash/ui/term"
)

// tape is the recording of what attach shows, one shell after the other.
type tape struct {
	mu    sync.Mutex
	file  *record.File
	keys  bool
	shown *term.Session
}

// tapeEnd is one shell's end of the tape; its methods are hooks of the session.
type tapeEnd struct {
	tape    *tape
	session *term.Session
}

func (t *tape) of() *tapeEnd { return &tapeEnd{tape: t} }

// is says which shell it is; what comes before is not recorded.
func (e *tapeEnd) is(s *term.Session) {
	e.tape.mu.Lock()
	defer e.tape.mu.Unlock()
	e.session = s
}

// write passes the file to f if this shell is shown and recorded.
func (e *tapeEnd) write(f func(*record.File)) {
	e.tape.mu.Lock()
	defer e.tape.mu.Unlock()
	if e.tape.file != nil && e.session != nil && e.tape.shown == e.session {
		f(e.tape.file)
	}
}

func (e *tapeEnd) output(p []byte) { e.write(func(f *record.File) { f.Output(p) }) }

func (e *tapeEnd) input(p []byte) { e.write(func(f *record.File) { f.Input(p) }) }

func (e *tapeEnd) resize(cols, rows int) { e.write(func(f *record.File) { f.Resize(cols, rows) }) }

// show goes on with another shell: its screen first, as it is now.
func (t *tape) show(s *term.Session) {
	s.Snapshot(func(paint []byte) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.shown = s; t.file != nil {
			t.file.Output(paint)
		}
	})
}

// start begins with what is on the screen; false means that something is recorded already.
func (t *tape) start(f *record.File, keys bool) bool {
	t.mu.Lock()
	shown, taken := t.shown, t.file != nil
	if !taken {
		t.file, t.keys = f, keys
	}
	t.mu.Unlock()
	if !taken && shown != nil {
		t.show(shown)
	}
	return !taken
}

// stop ends the recording and returns its path, "" if there was none.
func (t *tape) stop() (string, error) {
	t.mu.Lock()
	f := t.file
	t.file = nil
	t.mu.Unlock()
	if f == nil {
		return "", nil
	}
	return f.Path(), f.Close()
}

// mark is what the title shows while something is recorded.
func (t *tape) mark() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return ""
	}
	d := t.file.Elapsed().Truncate(time.Second)
	text := fmt.Sprintf("● rec %02d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	if t.keys {
		text += " +keys"
	}
	if t.file.Err() != nil {
		text += " STOPPED"
	}
	return text
}

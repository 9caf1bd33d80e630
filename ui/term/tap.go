package term

import (
	"io"
	"sync"
)

// rawTap passes output on to a real terminal while one is attached. Only the
// goroutine that feeds the emulator writes, so nothing is torn apart.
type rawTap struct {
	mu sync.Mutex
	w  io.Writer
	// aligned is set once the bytes passed on start at the start of something.
	aligned bool
	pending []byte
	err     error
	wake    chan struct{}
}

func (r *rawTap) init() { r.wake = make(chan struct{}, 1) }

// align holds the attached terminal back until the emulator is not inside of
// a sequence; it returns the part of p that is to be fed now.
func (r *rawTap) align(t *Terminal, p []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil || r.aligned {
		return p
	}
	if t.resting() {
		r.paint(t)
		return p
	}
	return p[:1]
}

// paint brings the attached terminal to the state of the emulator. r.mu is held.
func (r *rawTap) paint(t *Terminal) {
	r.aligned = true
	r.put(t.Paint())
}

func (r *rawTap) put(p []byte) {
	if len(p) == 0 || r.err != nil {
		return
	}
	_, r.err = r.w.Write(p)
}

// output passes on what the emulator was fed.
func (r *rawTap) output(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w != nil && r.aligned {
		r.put(p)
	}
}

// flush writes what is to be injected, at a place where that tears nothing apart.
func (r *rawTap) flush(t *Terminal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil || !t.resting() {
		return
	}
	if !r.aligned {
		r.paint(t)
	}
	r.put(r.pending)
	r.pending = nil
}

// maxInject bounds what waits to be injected.
const maxInject = 4 << 10

// AttachRaw paints the terminal to w and passes output on to it until
// DetachRaw. Meanwhile the emulator goes on, but does not answer queries: the
// real terminal does. A slow w slows the program. Only one can be attached.
func (s *Session) AttachRaw(w io.Writer) bool {
	s.raw.mu.Lock()
	if s.raw.w != nil {
		s.raw.mu.Unlock()
		return false
	}
	s.raw.w, s.raw.aligned, s.raw.err, s.raw.pending = w, false, nil, nil
	s.raw.mu.Unlock()
	s.term.SuppressReplies(true)
	s.flushRaw()
	return true
}

// flushRaw lets the feeding goroutine flush, or does so itself when that has ended.
func (s *Session) flushRaw() {
	select {
	case <-s.done:
		s.raw.flush(s.term)
	default:
		poke(s.raw.wake)
	}
}

// DetachRaw stops passing output on and returns what resets the real terminal.
// After it returns nothing more is written to the writer. It must not be
// called from a callback of the terminal.
func (s *Session) DetachRaw() []byte {
	s.feeding.Lock()
	s.raw.mu.Lock()
	s.raw.w, s.raw.pending = nil, nil
	s.raw.mu.Unlock()
	reset := s.term.Unpaint()
	s.feeding.Unlock()
	s.term.SuppressReplies(false)
	s.signal()
	return reset
}

// InjectRaw writes p to the attached terminal between two sequences of the
// program, for a title for instance. It does nothing when none is attached.
func (s *Session) InjectRaw(p []byte) {
	s.raw.mu.Lock()
	if s.raw.w != nil && len(s.raw.pending)+len(p) <= maxInject {
		s.raw.pending = append(s.raw.pending, p...)
	}
	s.raw.mu.Unlock()
	s.flushRaw()
}

// RawError is why writing to the attached terminal failed, nil if it did not.
func (s *Session) RawError() error {
	s.raw.mu.Lock()
	defer s.raw.mu.Unlock()
	return s.raw.err
}

// resting reports whether the next byte starts something new.
func (t *Terminal) resting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.atRest()
}

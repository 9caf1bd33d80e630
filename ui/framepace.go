package ui

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	tea "charm.land/bubbletea/v2"
)

// The pace of the program's renderer. Bubble Tea looks 60 times a second
// whether there is a frame to write: at rest that is all that a dashboard does
// (1.2 % of a CPU, measured), and a key waits up to 16 ms for its frame. So its
// ticker is slow at rest and quick for the moment after a frame was drawn.
const (
	paceQuick  = 2 * time.Millisecond   // between looks, right after a frame that came after rest
	paceSteady = frameInterval          // while frames keep coming
	paceRest   = 250 * time.Millisecond // with nothing to write; the longest that anything can be late

	quickFor  = 20 * time.Millisecond  // a frame is written well within this, also on a busy machine
	steadyFor = 100 * time.Millisecond // without a frame: rest begins
)

// NewProgram is tea.NewProgram for a Root, with the pace above.
func NewProgram(root *Root, opts ...tea.ProgramOption) *tea.Program {
	p := tea.NewProgram(root, opts...)
	root.frames = &framePace{ticker: func() resetter { return tickerOf(p) }, now: time.Now}
	return p
}

// resetter is what is needed of a time.Ticker.
type resetter interface{ Reset(d time.Duration) }

// framePace sets a ticker's period by when frames were drawn.
type framePace struct {
	ticker func() resetter // nil if there is none (yet)
	now    func() time.Time

	mu     sync.Mutex
	frame  time.Time     // the last one
	period time.Duration // as last set
	timer  *time.Timer
}

// drawn notes that a frame wants to be written; soon says that somebody waits for it.
func (p *framePace) drawn(soon bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	fresh := now.Sub(p.frame) > frameInterval+frameInterval/2
	p.frame = now
	if (fresh || soon) && p.set(paceQuick) {
		p.later(quickFor)
	}
}

// calm goes one step down. It runs on the timer's goroutine.
func (p *framePace) calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.period < paceSteady:
		p.set(paceSteady)
	case p.now().Sub(p.frame) >= steadyFor:
		p.set(paceRest)
		return
	}
	p.later(steadyFor)
}

// set gives the ticker a period; it reports whether there is a ticker.
func (p *framePace) set(d time.Duration) bool {
	t := p.ticker()
	if t == nil {
		return false
	}
	t.Reset(d)
	p.period = d
	return true
}

func (p *framePace) later(d time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, p.calm)
		return
	}
	p.timer.Reset(d)
}

// stop ends the timer.
func (p *framePace) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}

// tickerOf is the ticker of a program's renderer, nil before it runs. Bubble Tea
// has no way to ask for it or to set the pace after the start, so its field is
// read. A version without that field keeps its own pace, and
// TestProgramHasTheTicker says so.
func tickerOf(p *tea.Program) resetter {
	f := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*time.Ticker]() || f.IsNil() {
		return nil
	}
	return *(**time.Ticker)(unsafe.Pointer(f.UnsafeAddr()))
}

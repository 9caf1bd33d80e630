package ui

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ticks records the periods that a ticker was given.
type ticks struct {
	mu  sync.Mutex
	was []time.Duration
}

func (t *ticks) Reset(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.was = append(t.was, d)
}

func TestFramePace(t *testing.T) {
	var got ticks
	now := time.Unix(1000, 0)
	p := &framePace{ticker: func() resetter { return &got }, now: func() time.Time { return now }}
	// The timer is run by hand.
	p.timer = time.AfterFunc(time.Hour, func() {})
	expect := func(what string, want ...time.Duration) {
		t.Helper()
		p.timer.Stop()
		if !slices.Equal(got.was, want) {
			t.Errorf("%s: periods %v, want %v", what, got.was, want)
		}
		got.was = nil
	}
	p.drawn(false)
	expect("a frame after rest", paceQuick)
	now = now.Add(frameInterval)
	p.drawn(false)
	p.calm()
	expect("soon after it", paceSteady)
	for range 10 {
		now = now.Add(frameInterval)
		p.drawn(false)
	}
	p.calm()
	expect("frames that keep coming")
	p.drawn(true)
	expect("one that somebody waits for", paceQuick)
	p.calm()
	expect("soon after it", paceSteady)
	now = now.Add(steadyFor)
	p.calm()
	expect("no frame for a while", paceRest)
	p.drawn(false)
	expect("the next frame", paceQuick)

	p.ticker = func() resetter { return nil }
	now = now.Add(time.Minute)
	p.drawn(false)
	expect("without a ticker")
	(*framePace)(nil).drawn(false)
}

// TestProgramHasTheTicker fails when Bubble Tea keeps its renderer's ticker
// elsewhere: at rest the dashboard would then cost three times its budget.
func TestProgramHasTheTicker(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	var out bytes.Buffer
	m := &look{}
	p := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(&out), tea.WithWindowSize(80, 24), tea.WithoutSignalHandler())
	m.program = p
	if tickerOf(p) != nil {
		t.Error("a ticker before the program runs")
	}
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if !m.found {
		t.Error("the ticker is not found: look at startRenderer of this version of Bubble Tea")
	}
}

// look is a program that looks for its own ticker and ends.
type look struct {
	program *tea.Program
	found   bool
}

func (l *look) Init() tea.Cmd { return func() tea.Msg { return "look" } }

func (l *look) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if msg != tea.Msg("look") {
		return l, nil
	}
	l.found = tickerOf(l.program) != nil
	return l, tea.Quit
}

func (l *look) View() tea.View { return tea.NewView("") }

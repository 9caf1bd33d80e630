package broadcast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type scene struct {
	*viewtest.Driver
	m *Manager
	p *fake.Provider
}

func newScene(t *testing.T, opt Options, n int, programs map[string]fake.Program) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	s := &scene{}
	s.p = fake.New(fake.Options{Now: clock.Now, Programs: programs, Sleep: func(ctx context.Context, d time.Duration) error { return s.Sleep(ctx, d) }})
	t.Cleanup(s.p.Close)
	for i := range n {
		s.p.Add(client.Sandbox{ID: client.ID(fmt.Sprintf("box%d", i)), Name: fmt.Sprintf("web-%d", i), State: client.StateRunning, StartedAt: clock.Now().Add(-time.Duration(i) * time.Minute)})
	}
	opt.Providers = present.Providers{s.p}
	s.m = New(opt)
	s.Driver = viewtest.NewAt(t, clock, nil, s.m)
	return s
}

func (s *scene) ask(line string) { s.Send(present.BroadcastMsg{Targets: s.p.All(), Line: line}) }

// ran lists where the command was started.
func (s *scene) ran() []string {
	var out []string
	for _, c := range s.p.CallsOf(fake.OpStart) {
		out = append(out, string(c.ID))
	}
	slices.Sort(out)
	return out
}

// failing fails in box1 with a message, and answers with the same elsewhere.
func failing() map[string]fake.Program {
	return map[string]fake.Program{"pytest": func(_ context.Context, io fake.IO) int {
		if io.Sandbox() == "box1" {
			fmt.Fprintln(io.Stderr, "\n  AssertionError: 3 != 4\x1b[31m")
			return 3
		}
		fmt.Fprintln(io.Stdout, "5 passed")
		return 0
	}}
}

func TestPromptNamesWhereItWillRun(t *testing.T) {
	s := newScene(t, Options{}, 3, failing())
	s.ask("")
	frame := s.Frame(100, 24)
	for _, want := range []string{"Run in 3 sandboxes", "web-0 (box0)", "web-2 (box2)"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in:\n%s", want, frame)
		}
	}
	s.Press("enter")
	if len(s.ran()) != 0 || !strings.Contains(s.Frame(100, 24), "type the command to run") {
		t.Fatal("an empty line runs something")
	}
	s.Press("esc")
	if s.Overlay() != nil || len(s.ran()) != 0 {
		t.Fatal("esc runs something or leaves the box open")
	}
}

func TestGridShowsCodesAndFirstErrors(t *testing.T) {
	s := newScene(t, Options{}, 3, failing())
	s.ask("")
	s.Type("pytest -q")
	s.Press("enter")
	if got := s.ran(); !slices.Equal(got, []string{"box0", "box1", "box2"}) {
		t.Fatalf("ran in %v", got)
	}
	if got := s.LastToast(); got != "2 ok, 1 failed: pytest -q" {
		t.Errorf("toast %q", got)
	}
	frame := s.Frame(110, 30)
	for _, want := range []string{"Results 3 of 3", "$ pytest -q", "exit 0", "exit 3", "AssertionError: 3 != 4", "5 passed"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in:\n%s", want, frame)
		}
	}
	if strings.Contains(frame, "\x1b") {
		t.Error("an escape sequence reached the screen")
	}
	// Equal outputs are one row, the most common first.
	s.Press("o")
	frame = s.Frame(110, 30)
	if !strings.Contains(frame, "2× web-0") || !strings.Contains(frame, "equal in web-0, web-2") || strings.Count(frame, "exit 0") != 1 {
		t.Errorf("grouped:\n%s", frame)
	}
	s.Press("y")
	if len(s.Clipboard) != 1 || !strings.Contains(s.Clipboard[0], "fake/box1\texit 3") || strings.Contains(s.Clipboard[0], "\x1b") {
		t.Errorf("clipboard %q", s.Clipboard)
	}
	s.Press("j", "enter")
	if len(s.Opened) != 1 || s.Overlay() != nil {
		t.Fatalf("opened %v", s.Opened)
	}
	if p, ok := s.Opened[0].Params.Value.(present.SandboxParams); !ok || p.Sandbox.ID != "box1" || p.Tab != present.TabOutput {
		t.Errorf("opened %+v", s.Opened[0])
	}
}

func TestAFailureStopsTheRestIfAskedTo(t *testing.T) {
	s := newScene(t, Options{}, 30, nil)
	s.ask("-e false")
	if ran := len(s.ran()); ran == 0 || ran > concurrency {
		t.Fatalf("ran in %d", ran)
	}
	if got := s.LastToast(); !strings.Contains(got, "0 ok, 8 failed, 22") || !strings.Contains(got, "not run: false") {
		t.Errorf("toast %q", got)
	}
}

func TestOnlySoManyAtOnceAndStop(t *testing.T) {
	s := newScene(t, Options{}, 20, nil)
	s.ask("sleep 1000")
	if got := len(s.ran()); got != concurrency {
		t.Fatalf("%d at once", got)
	}
	if got := s.m.Status(); got != "running in 20: 0 done" {
		t.Errorf("status %q", got)
	}
	if got := s.m.Survives(); len(got) != 1 || !strings.Contains(got[0], "20 sandboxes") {
		t.Errorf("survives %q", got)
	}
	s.Press("esc")
	if s.Overlay() != nil {
		t.Fatal("esc does not close the grid")
	}
	// Asking again shows the grid instead of starting a second one on top.
	s.ask("true")
	if s.Overlay() == nil || len(s.ran()) != concurrency {
		t.Fatalf("ran in %d", len(s.ran()))
	}
	s.Press("x")
	if got := len(s.p.CallsOf(fake.OpSignal)); got != concurrency {
		t.Errorf("%d signals", got)
	}
	if got := len(s.ran()); got != concurrency {
		t.Errorf("%d began after the stop", got-concurrency)
	}
}

func TestWhatCannotRunIsSaid(t *testing.T) {
	s := newScene(t, Options{}, 2, failing())
	s.p.Change("box0", func(sb *client.Sandbox) { sb.State = client.StatePaused })
	s.p.Script(fake.OpStart, "box1", fake.Step{Err: fake.ServerError("the agent is away")})
	s.ask("pytest")
	frame := s.Frame(110, 30)
	if !strings.Contains(frame, "it is paused") || !strings.Contains(frame, "the agent is away") || len(s.ran()) != 1 {
		t.Errorf("ran %v\n%s", s.ran(), frame)
	}
}

func TestReadOnlyRunsNothing(t *testing.T) {
	s := newScene(t, Options{ReadOnly: true}, 2, failing())
	s.ask("pytest")
	if len(s.ran()) != 0 || s.Overlay() != nil || !strings.Contains(s.LastToast(), string(client.CodeReadOnly)) {
		t.Errorf("ran %v, toast %q", s.ran(), s.LastToast())
	}
}

func TestOutputIsBounded(t *testing.T) {
	var o output
	for range 100 {
		o.add(make([]byte, 1<<10))
	}
	if len(o.data) != keep || o.more != 100<<10-keep {
		t.Errorf("kept %d, more %d", len(o.data), o.more)
	}
}

var _ ui.Overlay = (*grid)(nil)

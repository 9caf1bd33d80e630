package kill

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
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a queue over one fake provider.
type scene struct {
	*viewtest.Driver
	q *Queue
	p *fake.Provider
}

func newScene(t *testing.T, opt Options, boxes ...client.Sandbox) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	s := &scene{}
	s.p = fake.New(fake.Options{Now: clock.Now, Sleep: func(ctx context.Context, d time.Duration) error { return s.Sleep(ctx, d) }})
	s.p.Add(boxes...)
	opt.Providers = present.Providers{s.p}
	opt.Owner = present.Owner{User: "anna", Host: "box"}
	s.q = New(opt)
	s.Driver = viewtest.NewAt(t, clock, nil, s.q)
	return s
}

// box is a sandbox of ours.
func box(id, name string) client.Sandbox {
	return client.Sandbox{
		ID: client.ID(id), Name: name, State: client.StateRunning, Template: "base", CPU: 1, MemoryMB: 512,
		StartedAt: time.Date(2031, 1, 1, 11, 0, 0, 0, time.UTC),
		Metadata:  map[string]string{client.MetaOwner: "anna", client.MetaHost: "box"},
	}
}

func (s *scene) ask(ids ...string) {
	msg := present.KillRequestMsg{}
	for _, sb := range s.p.All() {
		if slices.Contains(ids, string(sb.ID)) {
			msg.Targets = append(msg.Targets, present.KillTarget{Sandbox: sb})
		}
	}
	s.Send(msg)
}

func (s *scene) killed() []string {
	var out []string
	for _, c := range s.p.CallsOf(fake.OpKill) {
		out = append(out, string(c.ID))
	}
	slices.Sort(out)
	return out
}

func TestConfirmTakesAnotherKeyAndFiveSeconds(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"), box("b", ""), box("c", ""))
	s.ask("a", "b", "c")
	if got := s.Overlay().Title(); got != "Kill 3 sandboxes" {
		t.Fatalf("title %q", got)
	}
	s.Press("x", "enter")
	if s.Overlay() == nil || s.q.Status() != "" {
		t.Fatal("the opening key or enter did something")
	}
	s.Press("y")
	if s.Overlay() != nil {
		t.Fatal("the sheet is still open")
	}
	if got := s.q.Status(); got != "killing 3 in 5 s  z undo" {
		t.Errorf("status %q", got)
	}
	s.Tick(1)
	if got := s.q.Status(); got != "killing 3 in 4 s  z undo" {
		t.Errorf("status %q", got)
	}
	s.Tick(3)
	if got := s.killed(); len(got) != 0 {
		t.Fatalf("sent during the grace time: %v", got)
	}
	if len(s.q.AtStake()) != 1 {
		t.Error("quitting in the grace time loses nothing?")
	}
	s.Tick(1)
	if got := s.killed(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("killed %v", got)
	}
	if got := s.LastToast(); got != "3 gone" {
		t.Errorf("toast %q", got)
	}
	if s.q.Status() != "" || len(s.q.AtStake()) != 0 {
		t.Errorf("status %q, at stake %v", s.q.Status(), s.q.AtStake())
	}
}

func TestEscAndKeepAreSafe(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"), box("b", "db"))
	s.ask("a", "b")
	s.Press("esc")
	s.Tick(10)
	if s.Overlay() != nil || len(s.killed()) != 0 {
		t.Fatal("esc killed or did not close")
	}
	s.ask("a", "b")
	first := string(s.Overlay().(*sheet).lines[0].Sandbox.ID)
	s.Press("space")
	if got := s.Overlay().Title(); got != "Kill 1 sandbox" {
		t.Errorf("title %q", got)
	}
	s.Press("space")
	if got := s.Overlay().Title(); got != "Kill 0 sandboxes" {
		t.Errorf("title %q", got)
	}
	s.Press("y")
	if s.Overlay() == nil {
		t.Fatal("y with nothing to kill closed the sheet")
	}
	s.Press("j", "space", "y")
	s.Tick(6)
	if got := s.killed(); len(got) != 1 || got[0] == first {
		t.Errorf("killed %v, kept %s", got, first)
	}
}

func TestUndoFromAnywhereWithinTheGraceTime(t *testing.T) {
	for _, undo := range []ui.ActionMsg{{Action: keymap.AppUndo}, {Action: keymap.ShellUndo}} {
		s := newScene(t, Options{}, box("a", "web"), box("b", ""))
		s.ask("a")
		s.Press("y")
		s.Tick(2)
		s.ask("b")
		s.Press("y")
		s.Tick(2)
		s.Send(undo)
		s.Tick(20)
		if got := s.killed(); len(got) != 0 {
			t.Fatalf("%s: killed %v", undo.Action, got)
		}
		if got := s.LastToast(); got != "undone: nothing was sent, 2 sandboxes live" {
			t.Errorf("toast %q", got)
		}
		if _, handled := s.q.Update(undo); handled {
			t.Error("with nothing pending the key is not left to others")
		}
	}
}

func TestNoOtherKeyShortensTheGraceTime(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"))
	s.ask("a")
	s.Press("y", "y", "enter", "x", "esc", "space")
	s.Tick(4)
	if got := s.killed(); len(got) != 0 {
		t.Errorf("killed %v", got)
	}
}

// KIL-01
func TestAlreadyGoneIsFine(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"))
	s.ask("a")
	s.Press("y")
	s.p.Vanish("a")
	s.Tick(5)
	if got := s.LastToast(); got != "web (a) was already gone" {
		t.Errorf("toast %q", got)
	}
	if lvl := s.Toasts[len(s.Toasts)-1].Level; lvl != ui.ToastOK {
		t.Errorf("level %v", lvl)
	}
	if !slices.ContainsFunc(results(s), func(r present.KillResultMsg) bool { return r.Outcome == present.KillAlreadyGone }) {
		t.Error("the list is not told that it is gone")
	}
}

func results(s *scene) []present.KillResultMsg {
	var out []present.KillResultMsg
	for _, m := range s.Messages {
		if r, ok := m.(present.KillResultMsg); ok {
			out = append(out, r)
		}
	}
	return out
}

// KIL-02: what happens to the list while the sheet is open changes no target.
func TestTargetsAreThoseOfTheMomentOfAsking(t *testing.T) {
	b := box("i4dct03zurabcdefghxyz", "web-agent")
	s := newScene(t, Options{}, box("a", ""), b, box("c", ""))
	s.ask(string(b.ID))
	s.p.Vanish("a")
	s.p.Change(b.ID, func(sb *client.Sandbox) { sb.Name = "renamed" })
	s.Send(present.GoneMsg{Keys: []present.Key{{Provider: "fake", ID: "a"}}})
	frame := s.Frame(100, 30)
	for _, part := range []string{"i4dct03zurabcdefghxyz", "web-agent", "Kill 1 sandbox"} {
		if !strings.Contains(frame, part) {
			t.Errorf("the sheet does not show %q:\n%s", part, frame)
		}
	}
	s.Press("y")
	s.Tick(5)
	if got := s.killed(); !slices.Equal(got, []string{string(b.ID)}) {
		t.Errorf("killed %v", got)
	}
}

func TestVanishedTargetIsSaid(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"), box("b", ""))
	s.ask("a", "b")
	s.Send(present.GoneMsg{Keys: []present.Key{{Provider: "fake", ID: "a"}}})
	if frame := s.Frame(100, 30); !strings.Contains(frame, "no longer exists") || s.Overlay().Title() != "Kill 1 sandbox" {
		t.Errorf("title %q\n%s", s.Overlay().Title(), frame)
	}
	s.Send(present.GoneMsg{Keys: []present.Key{{Provider: "fake", ID: "b"}}})
	if s.Overlay() != nil || !strings.Contains(s.LastToast(), "no longer exist") {
		t.Errorf("open %v, toast %q", s.Overlay() != nil, s.LastToast())
	}
	s.Tick(10)
	if got := s.killed(); len(got) != 0 {
		t.Errorf("killed %v", got)
	}
}

// KIL-03
func TestMixedAnswers(t *testing.T) {
	s := newScene(t, Options{}, box("a", ""), box("b", ""), box("c", "db"), box("d", ""), box("e", ""))
	s.p.Script(fake.OpKill, "b", fake.Step{Err: s.p.NotFound("kill", "b")})
	s.p.Script(fake.OpKill, "c", fake.Step{Err: fake.ServerError("boom")})
	s.p.Script(fake.OpKill, "e", fake.Step{Err: fake.RateLimited(time.Second)})
	s.ask("a", "b", "c", "d", "e")
	s.Press("y")
	s.Tick(5)
	if n := len(s.p.CallsOf(fake.OpKill)); n != 5 {
		t.Fatalf("%d calls before the wait is over", n)
	}
	if got := s.q.Status(); !strings.Contains(got, "waiting 1s") {
		t.Errorf("status %q", got)
	}
	s.Tick(2)
	if got := s.killed(); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "e"}) {
		t.Errorf("calls %v", got)
	}
	got := s.LastToast()
	if !strings.HasPrefix(got, "3 gone (1 already), 1 killed after waiting, 1 failed: db: ") || !strings.Contains(got, "boom (E9005)") {
		t.Errorf("toast %q", got)
	}
	var done present.KillDoneMsg
	for _, m := range s.Messages {
		if d, ok := m.(present.KillDoneMsg); ok {
			done = d
		}
	}
	if len(done.Killed) != 4 || len(done.Failed) != 1 || done.Failed[0].ID != "c" {
		t.Errorf("done %+v", done)
	}
	s.Tick(120)
	if n := len(s.p.CallsOf(fake.OpKill)); n != 6 {
		t.Errorf("%d calls in the end: something was retried", n)
	}
}

func TestRateLimitedKillsGiveUp(t *testing.T) {
	s := newScene(t, Options{}, box("a", ""))
	s.p.Script(fake.OpKill, "a", fake.Step{Err: fake.RateLimited(2 * time.Second), Repeat: true})
	s.ask("a")
	s.Press("y")
	s.Tick(60)
	if n := len(s.p.CallsOf(fake.OpKill)); n != maxAttempts {
		t.Errorf("%d calls, want %d", n, maxAttempts)
	}
	if !strings.Contains(s.LastToast(), "1 failed") {
		t.Errorf("toast %q", s.LastToast())
	}
	calls := s.p.CallsOf(fake.OpKill)
	for i := 1; i < len(calls); i++ {
		if gap := calls[i].At.Sub(calls[i-1].At); gap < 2*time.Second {
			t.Errorf("asked again after %v", gap)
		}
	}
}

func TestManyNeedTheCountTyped(t *testing.T) {
	var boxes []client.Sandbox
	var ids []string
	for i := range 12 {
		id := fmt.Sprintf("s%02d", i)
		boxes, ids = append(boxes, box(id, "")), append(ids, id)
	}
	s := newScene(t, Options{}, boxes...)
	s.ask(ids...)
	s.Press("y")
	s.Type("11")
	s.Press("y")
	if s.Overlay() == nil {
		t.Fatal("a wrong count confirms")
	}
	s.Type("122")
	s.Press("backspace")
	if frame := s.Frame(100, 40); !strings.Contains(frame, "typed 12 of 12") {
		t.Errorf("the count is not shown:\n%s", frame)
	}
	s.Press("space", "y")
	if s.Overlay() == nil {
		t.Fatal("a count typed for 12 confirms 11")
	}
	s.Type("11")
	s.Press("enter")
	if s.Overlay() == nil {
		t.Fatal("enter confirms")
	}
	s.Press("y")
	s.Tick(6)
	if got := s.killed(); len(got) != 11 {
		t.Errorf("%d killed", len(got))
	}
}

func TestProtectedAndAttachedStandApart(t *testing.T) {
	safe := box("p", "keep-me")
	safe.Metadata[client.MetaProtect] = "true"
	s := newScene(t, Options{}, safe, box("a", "attached"), box("r", "run"), box("s", "stray"))
	s.Send(present.ShellCountMsg{Key: present.Key{Provider: "fake", ID: "a"}, N: 2})
	msg := present.KillRequestMsg{}
	for _, sb := range s.p.All() {
		t := present.KillTarget{Sandbox: sb}
		if sb.ID == "s" {
			t.Stray = []string{"no owner tag"}
		}
		msg.Targets = append(msg.Targets, t)
	}
	s.Send(msg)
	var order []string
	for _, l := range s.Overlay().(*sheet).lines {
		order = append(order, string(l.Sandbox.ID))
	}
	if !slices.Equal(order, []string{"s", "r", "a", "p"}) {
		t.Errorf("order %v", order)
	}
	frame := s.Frame(100, 30)
	for _, part := range []string{"no owner tag", "2 shells attached by you", "PROTECTED", "1 running · 1 with your shell · 1 protected", "type 4, then y"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	s.Press("y")
	if s.Overlay() == nil {
		t.Fatal("a protected one needs no count")
	}
	s.Press("G", "space", "y")
	s.Tick(6)
	if got := s.killed(); !slices.Equal(got, []string{"a", "r", "s"}) {
		t.Errorf("killed %v", got)
	}
}

func TestReadOnlyRefuses(t *testing.T) {
	s := newScene(t, Options{ReadOnly: true}, box("a", ""))
	s.ask("a")
	if s.Overlay() != nil || !strings.Contains(s.LastToast(), "read-only") || !strings.Contains(s.LastToast(), "E9013") {
		t.Errorf("open %v, toast %q", s.Overlay() != nil, s.LastToast())
	}
}

func TestOneSandboxIsKilledOnce(t *testing.T) {
	s := newScene(t, Options{}, box("a", ""))
	s.ask("a")
	s.ask("a")
	s.Press("y")
	s.Press("y")
	s.ask("a")
	if s.Overlay() != nil || s.LastToast() != "already being killed" {
		t.Errorf("toast %q", s.LastToast())
	}
	s.Tick(30)
	if got := s.killed(); len(got) != 1 {
		t.Errorf("killed %v", got)
	}
}

func TestCloseInTheGraceTimeCancels(t *testing.T) {
	s := newScene(t, Options{}, box("a", ""))
	s.ask("a")
	s.Press("y")
	s.q.Close()
	s.Tick(30)
	if got := s.killed(); len(got) != 0 {
		t.Errorf("killed %v", got)
	}
}

func TestBoundedConcurrency(t *testing.T) {
	var boxes []client.Sandbox
	var ids []string
	for i := range 9 {
		id := fmt.Sprintf("s%02d", i)
		boxes, ids = append(boxes, box(id, "")), append(ids, id)
	}
	s := newScene(t, Options{}, boxes...)
	s.p.Script(fake.OpKill, "", fake.Step{Delay: time.Hour, Repeat: true})
	s.ask(ids...)
	s.Press("y")
	s.Tick(6)
	if n := len(s.p.CallsOf(fake.OpKill)); n != concurrency {
		t.Errorf("%d kills at once", n)
	}
	if got := s.q.Status(); got != "killing: 0 of 9 done" {
		t.Errorf("status %q", got)
	}
}

// TUI-01: no size makes the sheet panic, and nothing is painted outside.
func TestSheetAtEverySize(t *testing.T) {
	s := newScene(t, Options{}, box("i4dct03zurabcdefghxyz", "構建機器人一號"), box("b", "x\x1b[31m\u202e"))
	s.ask("i4dct03zurabcdefghxyz", "b")
	for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 40}, {20, 5}, {5, 20}, {40, 10}, {80, 24}, {200, 60}} {
		frame := s.Frame(size[0], size[1])
		for _, r := range frame {
			if r != '\n' && client.Unsafe(r) {
				t.Errorf("%v: raw %U on screen", size, r)
			}
		}
	}
}

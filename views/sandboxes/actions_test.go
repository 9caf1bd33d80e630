package sandboxes

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMarksAfterAMixedKill(t *testing.T) {
	s := newScene(t, box("a", "", 3), box("b", "", 2), box("c", "", 1))
	s.Press("space", "space")
	s.Send(present.KillDoneMsg{Killed: []present.Key{key("c")}, Failed: []present.Key{key("b")}})
	if s.list.table.MarkedCount() != 1 || !s.list.table.IsMarked("fake/b") {
		t.Fatalf("%d marks", s.list.table.MarkedCount())
	}
	s.Press("G")
	if got := s.killRequest("x"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a kill on another row means %v", got)
	}
	s.Press("k")
	if got := s.killRequest("x"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("a kill on the failed row means %v", got)
	}
	s.Press("G", "space")
	got := s.killRequest("x")
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after marking another, a kill means %v", got)
	}
}

func (s *scene) killRequest(k string) []string {
	before := len(s.Messages)
	s.Press(k)
	var out []string
	for _, m := range s.Messages[before:] {
		if r, ok := m.(present.KillRequestMsg); ok {
			for _, t := range r.Targets {
				out = append(out, string(t.Sandbox.ID))
			}
		}
	}
	return out
}

func TestStraysAreShownAndReviewed(t *testing.T) {
	lost := box("lost", "", 3)
	lost.Metadata = nil
	s := newScene(t, box("a", "", 2), lost, box("b", "", 1))
	if frame := s.Frame(120, 30); !strings.Contains(frame, "3 running  1 stray") {
		t.Errorf("header:\n%s", frame)
	}
	s.Press("S")
	if s.ids() != "lost" {
		t.Errorf("strays %q", s.ids())
	}
	if frame := s.Frame(120, 30); !strings.Contains(frame, "strays only") || !strings.Contains(frame, "stray: no owner tag") {
		t.Errorf("frame:\n%s", frame)
	}
	s.Press("S")
	if got := s.killRequest("X"); !slices.Equal(got, []string{"lost"}) {
		t.Errorf("X means %v", got)
	}
}

func TestKeysOpenWhatTheySay(t *testing.T) {
	s := newScene(t, box("a", "web", 1))
	for k, want := range map[string]ui.OpenMsg{
		"enter": {Route: present.RouteSandbox, Params: ui.Params{Value: present.TabOverview}},
		"!":     {Route: present.RouteSandbox, Params: ui.Params{Value: present.TabOutput}},
		"f":     {Route: present.RouteSandbox, Params: ui.Params{Value: present.TabFiles}},
		"s":     {Route: present.RouteShell},
	} {
		s.Opened = nil
		s.Press(k)
		if len(s.Opened) != 1 || s.Opened[0].Route != want.Route {
			t.Fatalf("%s opened %+v", k, s.Opened)
		}
		switch v := s.Opened[0].Params.Value.(type) {
		case present.SandboxParams:
			if v.Sandbox.ID != "a" || v.Tab != want.Params.Value {
				t.Errorf("%s opened %+v", k, v)
			}
		case present.ShellParams:
			if v.Sandbox.ID != "a" {
				t.Errorf("%s opened %+v", k, v)
			}
		}
	}
	s.Press("y")
	if !slices.Equal(s.Clipboard, []string{"a"}) || s.LastToast() != "copied a" {
		t.Errorf("clipboard %q, toast %q", s.Clipboard, s.LastToast())
	}
	for k, full := range map[string]bool{"n": false, "N": true} {
		s.Press(k)
		if m, ok := s.Messages[len(s.Messages)-1].(present.CreateRequestMsg); !ok || m.Full != full {
			t.Errorf("%s asks for %+v", k, s.Messages[len(s.Messages)-1])
		}
	}
}

// LST-05: an odd state is said before a shell is tried.

func TestShellInAnOddStateAsksFirst(t *testing.T) {
	odd := box("a", "", 1)
	odd.State = "pausing"
	s := newScene(t, odd)
	s.Press("s")
	if len(s.Opened) != 0 || !strings.Contains(s.LastToast(), `"pausing"`) {
		t.Errorf("opened %v, toast %q", s.Opened, s.LastToast())
	}
	s.Press("s")
	if len(s.Opened) != 1 {
		t.Error("the second press opens nothing")
	}
	if got := s.killRequest("x"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("kill means %v", got)
	}
}

// KIL-05 on screen.

func TestExtendShowsOnlyWhatHappened(t *testing.T) {
	s := newScene(t, box("a", "web", 43))
	if got := s.row("web"); !strings.Contains(got, "17m") {
		t.Fatalf("row %q", got)
	}
	s.p.Script(fake.OpTimeout, "a", fake.Step{Err: fake.BadRequest("over the plan's limit")})
	s.Press("t")
	if got := s.row("web"); !strings.Contains(got, "17m") || !strings.Contains(s.LastToast(), "over the plan's limit") {
		t.Errorf("row %q, toast %q", got, s.LastToast())
	}
	s.Press("t")
	if got := s.row("web"); !strings.Contains(got, "47m") || s.LastToast() != "web: TTL 17m → 47m" {
		t.Errorf("row %q, toast %q", got, s.LastToast())
	}
	s.p.Vanish("a")
	s.Press("t")
	if s.ids() != "" || !strings.Contains(s.LastToast(), "E9001") {
		t.Errorf("rows %q, toast %q", s.ids(), s.LastToast())
	}
}

func TestReadOnlyChangesNothing(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now})
	p.Add(box("a", "", 1))
	s := start(t, clock, Options{ReadOnly: true}, p)
	s.Press("t", "n", "N")
	for _, c := range p.Calls() {
		if c.Op != fake.OpList {
			t.Errorf("call %+v", c)
		}
	}
	if !strings.Contains(s.LastToast(), "E9013") {
		t.Errorf("toast %q", s.LastToast())
	}
}

func TestMouse(t *testing.T) {
	s := newScene(t, box("aaa", "zoe", 3), box("bbb", "yan", 2), box("ccc", "xia", 1))
	find := func(text string) (x, y int) {
		t.Helper()
		for y, l := range strings.Split(s.Frame(120, 30), "\n") {
			if x := strings.Index(l, text); x >= 0 {
				return ansi.StringWidth(l[:x]), y
			}
		}
		t.Fatalf("no %q on screen", text)
		return 0, 0
	}
	click := func(text string) {
		x, y := find(text)
		s.Run(s.list.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}))
	}
	click("zoe")
	if s.cursor() != "aaa" || len(s.Opened) != 0 {
		t.Errorf("cursor %q, opened %v", s.cursor(), s.Opened)
	}
	click("zoe")
	if len(s.Opened) != 1 {
		t.Error("a double click opens nothing")
	}
	x, y := find("zoe")
	s.Run(s.list.Update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp}))
	if s.cursor() != "ccc" {
		t.Errorf("after the wheel: %q", s.cursor())
	}
	click("NAME/ID")
	if key, _ := s.list.table.Sort(); key != "name" || s.ids() != "ccc bbb aaa" {
		t.Errorf("sorted by %q: %q", key, s.ids())
	}
}

func TestCapabilitiesGreyWithAReason(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Capabilities: &client.Capabilities{
		Have: map[client.Capability]bool{client.CapCommands: true},
		Why:  map[client.Capability]string{client.CapPTY: "no terminals here"},
	}})
	p.Add(box("a", "", 1))
	s := start(t, clock, Options{}, p)
	s.Press("s")
	if len(s.Opened) != 0 || !strings.Contains(s.LastToast(), "no terminal: no terminals here") {
		t.Errorf("opened %v, toast %q", s.Opened, s.LastToast())
	}
	s.Press("!")
	if len(s.Opened) != 1 {
		t.Error("running is offered, but opens nothing")
	}
}

package sandboxes

import (
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

// header is the line of column titles.
func (s *scene) header() string {
	for _, l := range strings.Split(s.Frame(160, 30), "\n") {
		if strings.Contains(l, "NAME/ID") {
			return strings.Join(strings.Fields(strings.Trim(l, "│ ")), " ")
		}
	}
	return ""
}

func (s *scene) command(a keymap.Action, arg string) { s.Send(ui.ActionMsg{Action: a, Arg: arg}) }

func localScene(t *testing.T, dir string) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "local", Isolation: client.IsolationNamespace})
	p.Add(box("aaa", "zoe", 3), box("bbb", "yan", 2), box("ccc", "xia", 1))
	s := buildWith(t, clock, Options{State: present.NewFolder(dir)}, StoreOptions{}, p)
	s.Start()
	return s
}

func TestIsolationIsShownFromAHundredColumns(t *testing.T) {
	s := localScene(t, "")
	for width, want := range map[int]bool{100: true, 120: true, 200: true, 70: false, 40: false} {
		if got := strings.Contains(s.Frame(width, 16), "namespace"); got != want {
			// The preview says it too, but has no room in a window of this height.
			t.Errorf("at %d columns: %v\n%s", width, got, s.Frame(width, 16))
		}
	}
}

func TestColumnsAreChosenAndOrdered(t *testing.T) {
	s := localScene(t, t.TempDir())
	before := s.header()
	s.Press("C", "j", "space", "esc") // esc changes nothing
	if s.header() != before {
		t.Fatalf("esc changed %q", s.header())
	}
	s.Press("C", "space") // the name cannot be hidden
	s.Press("space")      // no provider
	s.Press("J", "enter") // the template goes right
	if got := s.header(); !strings.HasPrefix(got, "NAME/ID STATE TEMPLATE ISOLATION") || strings.Contains(got, "PROVIDER") {
		t.Fatalf("header %q", got)
	}
	// Sorting by a hidden column works.
	s.Press(",", "p")
	if s.ids() != "aaa bbb ccc" {
		t.Errorf("rows %q", s.ids())
	}
	s.Press("C", "0", "enter")
	if strings.ReplaceAll(s.header(), "↑", "") != strings.ReplaceAll(before, "↑", "") {
		t.Errorf("usual columns are %q", s.header())
	}
}

func TestViewsAreSavedAndRestored(t *testing.T) {
	dir := t.TempDir()
	s := localScene(t, dir)
	s.Press("/")
	s.Type("name:a")
	s.Press("enter")
	s.Press(",", "n")
	s.command(keymap.ListColumns, "")
	s.Press("j", "space", "enter")
	s.Press("ctrl+s")
	s.Press("enter")
	if s.Overlay() == nil {
		t.Fatal("a view without a name")
	}
	s.Type("mine")
	s.Press("enter")
	if got := s.LastToast(); got != "saved as view mine" {
		t.Fatalf("toast %q", got)
	}
	if s.ids() != "ccc bbb" || !strings.Contains(s.Frame(140, 30), "Sandboxes ─ mine ─ /name:a") {
		t.Fatalf("rows %q\n%s", s.ids(), s.Frame(140, 30))
	}
	// Sorting within it becomes part of it.
	s.Press(",", "n")
	s.command(keymap.ListViews, "all")
	if s.ids() != "ccc bbb aaa" || !strings.Contains(s.header(), "PROVIDER") {
		t.Fatalf("all: rows %q, header %q", s.ids(), s.header())
	}
	s.Press("V", "j", "enter")
	if s.ids() != "bbb ccc" || strings.Contains(s.header(), "PROVIDER") {
		t.Fatalf("mine: rows %q, header %q", s.ids(), s.header())
	}
	s.Press("j")
	if s.cursor() != "ccc" {
		t.Fatalf("cursor %q", s.cursor())
	}
	s.Close()

	// The next run begins where this one was left.
	s = localScene(t, dir)
	if s.ids() != "bbb ccc" || s.cursor() != "ccc" || strings.Contains(s.header(), "PROVIDER") {
		t.Errorf("restored: rows %q, cursor %q, header %q", s.ids(), s.cursor(), s.header())
	}
	s.command(keymap.ListViews, "nowhere")
	if !strings.Contains(s.LastToast(), "no view nowhere") {
		t.Errorf("toast %q", s.LastToast())
	}
	s.command(keymap.ListDeleteView, "mine")
	s.Press("V")
	if strings.Contains(s.Frame(140, 30), "mine  ") {
		t.Errorf("forgotten, and still offered:\n%s", s.Frame(140, 30))
	}
	s.Press("esc")
	s.command(keymap.ListSaveView, "all")
	if !strings.Contains(s.LastToast(), "without any choice") {
		t.Errorf("toast %q", s.LastToast())
	}
}

// A row of the last run that is gone does not pull the cursor later.
func TestARestoredCursorDoesNotLurk(t *testing.T) {
	dir := t.TempDir()
	s := localScene(t, dir)
	s.Press("G")
	s.Close()
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "local"})
	p.Add(box("bbb", "yan", 2), box("ccc", "xia", 1))
	s = buildWith(t, clock, Options{State: present.NewFolder(dir)}, StoreOptions{}, p)
	s.Start()
	if s.cursor() != "ccc" {
		t.Fatalf("cursor %q", s.cursor())
	}
	s.Press("j")
	p.Add(box("aaa", "zoe", 3))
	s.poll()
	if s.cursor() != "bbb" || len(s.Toasts) != 0 {
		t.Errorf("cursor %q, toasts %v", s.cursor(), s.Toasts)
	}
}

func TestABrokenSessionIsSaidAndForgotten(t *testing.T) {
	dir := t.TempDir()
	if err := present.Save(present.NewFolder(dir), sessionFile, "not a session"); err != nil {
		t.Fatal(err)
	}
	s := localScene(t, dir)
	if s.ids() != "ccc bbb aaa" || len(s.views()) != 0 {
		t.Errorf("rows %q", s.ids())
	}
}

func (s *scene) views() []View { return s.list.views }

// Commands take names, and mean that row alone even while others are marked.
func TestCommandsTakeNames(t *testing.T) {
	s := localScene(t, "")
	s.Press("space", "space")
	before := len(s.Messages)
	s.command(keymap.SandboxKill, "zoe")
	var got []string
	for _, m := range s.Messages[before:] {
		if r, ok := m.(present.KillRequestMsg); ok {
			for _, x := range r.Targets {
				got = append(got, string(x.Sandbox.ID))
			}
		}
	}
	if len(got) != 1 || got[0] != "aaa" {
		t.Errorf(":kill zoe means %v", got)
	}
	s.command(keymap.SandboxKill, "nobody")
	if !strings.Contains(s.LastToast(), "no sandbox here is called nobody") {
		t.Errorf("toast %q", s.LastToast())
	}
	for _, m := range s.Messages[before+1:] {
		if _, ok := m.(present.KillRequestMsg); ok {
			t.Error("a name that fits nothing asks for a kill")
		}
	}
	s.command(keymap.SandboxShell, "bb")
	if len(s.Opened) != 1 || s.Opened[0].Params.Value.(present.ShellParams).Sandbox.ID != "bbb" {
		t.Errorf("opened %+v", s.Opened)
	}
}

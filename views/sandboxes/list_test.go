package sandboxes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMain(m *testing.M) {
	// The preview shows times of day, which golden screens need in one zone.
	time.Local = time.UTC
	goleak.VerifyTestMain(m)
}

var owner = present.Owner{User: "anna", Host: "box"}

// scene is the list over fake providers.
type scene struct {
	*viewtest.Driver
	store *Store
	list  *Screen
	p     *fake.Provider
}

func newScene(t *testing.T, boxes ...client.Sandbox) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	p.Add(boxes...)
	return start(t, clock, Options{}, p)
}

func start(t *testing.T, clock *viewtest.Clock, opt Options, ps ...*fake.Provider) *scene {
	t.Helper()
	s := build(t, clock, opt, ps...)
	s.Start()
	return s
}

func build(t testing.TB, clock *viewtest.Clock, opt Options, ps ...*fake.Provider) *scene {
	t.Helper()
	var all present.Providers
	for _, p := range ps {
		all = append(all, p)
	}
	opt.Providers, opt.Owner = all, owner
	store := NewStore(StoreOptions{Providers: all, Owner: owner})
	list := New(store, opt)
	return &scene{Driver: viewtest.Build(t, clock, list, store), store: store, list: list, p: ps[0]}
}

// box is a sandbox of ours that started min minutes ago and lives an hour in all.
func box(id, name string, min int) client.Sandbox {
	start := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(min) * time.Minute)
	return client.Sandbox{
		ID: client.ID(id), Name: name, State: client.StateRunning, Template: "base", CPU: 2, MemoryMB: 512,
		StartedAt: start, ExpiresAt: start.Add(time.Hour),
		Metadata: map[string]string{client.MetaOwner: "anna", client.MetaHost: "box"},
	}
}

// poll lets time pass until the next list has certainly been asked for.
func (s *scene) poll() { s.Tick(6) }

func (s *scene) ids() string {
	var out []string
	for i := range s.list.table.Len() {
		e, _ := s.list.table.Row(i)
		out = append(out, string(e.sb.ID))
	}
	return strings.Join(out, " ")
}

func (s *scene) cursor() string {
	if e, ok := s.list.table.Cursor(); ok {
		return string(e.sb.ID)
	}
	return ""
}

func (s *scene) row(id string) string {
	for _, l := range strings.Split(s.Frame(140, 30), "\n") {
		if strings.Contains(l, id) {
			return l
		}
	}
	return ""
}

func key(id string) present.Key { return present.Key{Provider: "fake", ID: client.ID(id)} }

// LST-07: the cursor through 5, 3, 0 and 2 rows; keys on an empty list ask for nothing.

func TestRowsShrinkUnderTheCursor(t *testing.T) {
	s := newScene(t, box("a", "", 5), box("b", "", 4), box("c", "", 3), box("d", "", 2), box("e", "", 1))
	s.Press("G")
	if s.ids() != "e d c b a" || s.cursor() != "a" {
		t.Fatalf("rows %q, cursor %q", s.ids(), s.cursor())
	}
	s.p.Vanish("a", "b")
	s.poll()
	if s.ids() != "e d c" || s.cursor() != "c" {
		t.Errorf("rows %q, cursor %q", s.ids(), s.cursor())
	}
	s.p.Vanish("c", "d", "e")
	s.poll()
	if s.ids() != "" || s.cursor() != "" {
		t.Errorf("rows %q, cursor %q", s.ids(), s.cursor())
	}
	before := len(s.p.Calls())
	s.Press("enter", "x", "s", "f", "!", "t", "y", "space", "v", "*", "X")
	if len(s.Opened) != 0 || len(s.Overlays) != 0 || len(s.p.Calls()) != before || len(s.Clipboard) != 0 {
		t.Errorf("keys on an empty list did something: %v %v", s.Opened, s.p.Calls()[before:])
	}
	s.p.Add(box("f", "", 1), box("g", "", 0))
	s.poll()
	if s.ids() != "g f" || s.cursor() != "g" {
		t.Errorf("rows %q, cursor %q", s.ids(), s.cursor())
	}
}

func TestCursorAndMarksFollowIds(t *testing.T) {
	s := newScene(t, box("a", "", 5), box("b", "", 4), box("c", "", 3))
	s.Press("j")
	if s.cursor() != "b" {
		t.Fatalf("cursor %q", s.cursor())
	}
	s.Press("space", "k")
	s.p.Add(box("new1", "", 1), box("new2", "", 0))
	s.p.Vanish("c")
	s.poll()
	if s.cursor() != "b" || !s.list.table.IsMarked("fake/b") {
		t.Errorf("cursor %q, b marked %v", s.cursor(), s.list.table.IsMarked("fake/b"))
	}
	s.Press(",", "n")
	if s.cursor() != "b" {
		t.Errorf("sorting moved the cursor to %q", s.cursor())
	}
	s.Press("/")
	s.Type("new")
	s.Press("enter", "esc")
	if s.cursor() != "b" || s.list.table.MarkedCount() != 1 {
		t.Errorf("after the filter: cursor %q, %d marks", s.cursor(), s.list.table.MarkedCount())
	}
}

// A hung provider is greyed in the chip and slows nobody else down.

// STR-11: a 429 stops the clock for as long as it says, with a countdown.

// LST-01, LST-02: what may be missing is said, and counts are not presented as proven.

// KIL-01, KIL-04: a tombstone until the list agrees, then the truth.

// A list that flips back to an older state does not raise the dead.

// KIL-03, second half: only the failed one stays marked, and a kill elsewhere

// means the row under the cursor alone.

func TestFilterLine(t *testing.T) {
	s := newScene(t, box("a", "web", 3), box("b", "db", 2), box("c", "web-2", 1))
	s.Press("/")
	s.Type("web")
	if s.ids() != "c a" {
		t.Errorf("while typing: %q", s.ids())
	}
	s.Press("enter")
	if frame := s.Frame(120, 30); !strings.Contains(frame, "/web") || !strings.Contains(frame, "2 of 3") {
		t.Errorf("frame:\n%s", frame)
	}
	s.Press("/")
	s.Type(" ~[")
	if s.ids() != "c a" {
		t.Errorf("half a term: %q", s.ids())
	}
	if frame := s.Frame(120, 30); !strings.Contains(frame, "not a regular expression yet") {
		t.Errorf("frame:\n%s", frame)
	}
	s.Press("esc")
	if s.ids() != "c a" || s.list.Captures() {
		t.Errorf("after esc: %q", s.ids())
	}
	s.Press("/")
	s.Type("x")
	if frame := s.Frame(120, 30); s.ids() != "" || !strings.Contains(frame, "Nothing matches the filter") {
		t.Errorf("rows %q\n%s", s.ids(), frame)
	}
	s.Press("esc", "esc")
	if s.ids() != "c b a" {
		t.Errorf("after esc esc: %q", s.ids())
	}
	s.Send(ui.ActionMsg{Action: keymap.ListFilter, Arg: "name:db"})
	if s.ids() != "b" {
		t.Errorf(":filter gives %q", s.ids())
	}
	s.Send(ui.ActionMsg{Action: keymap.ListFilter, Arg: "~["})
	if !strings.HasPrefix(s.LastToast(), "filter: ") || s.ids() != "b" {
		t.Errorf("toast %q, rows %q", s.LastToast(), s.ids())
	}
}

// LST-03: paused sandboxes are in the list and behind the filter.

func TestPausedAreShown(t *testing.T) {
	p := box("p", "", 2)
	p.State = client.StatePaused
	s := newScene(t, p, box("r", "", 1))
	if s.ids() != "r p" {
		t.Errorf("rows %q", s.ids())
	}
	s.Press("/")
	s.Type("state:paused")
	if s.ids() != "p" {
		t.Errorf("filtered %q", s.ids())
	}
}

func TestEmptyListTellsWhatToPress(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Name: "local", Now: clock.Now})
	s := start(t, clock, Options{CreateIn: "local"}, p)
	frame := s.Frame(80, 24)
	for _, part := range []string{"Sandboxes", "No sandboxes yet.", "create a local sandbox, no account needed", "choose provider"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
}

// LST-08 and skew on screen: a clock ten minutes fast does not expire rows.

func TestWholeIdFromAHundredColumns(t *testing.T) {
	id := "i4dct03zurabcdefghxyz"
	s := newScene(t, box(id, "", 1))
	for _, w := range []int{100, 120, 200} {
		if !strings.Contains(s.Frame(w, 16), id) {
			t.Errorf("at %d columns the id is cut:\n%s", w, s.Frame(w, 16))
		}
	}
}

// TUI-01, TUI-06, LST-06: every size, wide and hostile names; one row each,

// nothing raw, nothing wider than the window.

func TestEverySizeAndName(t *testing.T) {
	wide := []string{"ascii", "构建机器人一号", "ビルド１２３", "👩‍💻🇨🇳👍🏽", "é", "\x1b[31mred\x1b]0;owned\a", "\u202egnp.tset", "a\nb\r\nc", strings.Repeat("x", 4096)}
	var boxes []client.Sandbox
	for i, n := range wide {
		b := box(fmt.Sprintf("sbx%04d", i), n, i)
		b.Metadata["k\x1b[2J"] = n
		boxes = append(boxes, b)
	}
	s := newScene(t, boxes...)
	for _, size := range [][2]int{{0, 0}, {1, 1}, {20, 5}, {5, 20}, {40, 10}, {60, 16}, {61, 20}, {79, 24}, {80, 24}, {120, 40}, {200, 60}} {
		for range wide {
			frame := s.Frame(size[0], size[1])
			for _, l := range strings.Split(strings.TrimSuffix(frame, "\n"), "\n") {
				if w := ansi.StringWidth(l); w > size[0] {
					t.Fatalf("%v: a row of %d cells: %q", size, w, l)
				}
				for _, r := range l {
					if client.Unsafe(r) {
						t.Fatalf("%v: raw %U in %q", size, r, l)
					}
				}
			}
			s.Press("j")
		}
		s.Press("g")
	}
}

// TUI-09: a screen on top does not cost the place.

func TestPlaceIsKept(t *testing.T) {
	var boxes []client.Sandbox
	for i := range 80 {
		boxes = append(boxes, box(fmt.Sprintf("web%03d", i), "", i))
	}
	s := newScene(t, boxes...)
	s.Press("/")
	s.Type("web")
	s.Press("enter", ",", "n")
	for range 57 {
		s.Press("j")
	}
	before, frame := s.cursor(), s.Frame(100, 30)
	s.Press("enter")
	s.Send(ui.FocusMsg{Focused: true})
	if s.cursor() != before || s.Frame(100, 30) != frame {
		t.Errorf("cursor %q, was %q", s.cursor(), before)
	}
	s.p.Vanish(client.ID(before))
	s.poll()
	if s.cursor() != "web058" {
		t.Errorf("after it went, the cursor is on %q", s.cursor())
	}
}

// Until every provider has answered once and nobody has moved, the cursor is at the top.

func TestCursorStartsAtTheTop(t *testing.T) {
	clock := viewtest.NewClock()
	a := fake.New(fake.Options{Name: "a", Now: clock.Now})
	b := fake.New(fake.Options{Name: "b", Now: clock.Now})
	a.Add(box("old", "", 9))
	b.Add(box("young", "", 1))
	s := start(t, clock, Options{}, a, b)
	if s.ids() != "young old" || s.cursor() != "young" {
		t.Errorf("rows %q, cursor %q", s.ids(), s.cursor())
	}
	b.Add(box("younger", "", 0))
	s.poll()
	if s.ids() != "younger young old" || s.cursor() != "young" {
		t.Errorf("rows %q, cursor %q", s.ids(), s.cursor())
	}
}

// A click moves the cursor, a second one opens, the wheel scrolls, the header sorts.

package sandboxes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

// two is a list over the providers local and e2b.
func two(t *testing.T, opt Options) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	local := fake.New(fake.Options{Now: clock.Now, Name: "local"})
	local.Add(box("a", "", 1))
	cloud := fake.New(fake.Options{Now: clock.Now, Name: "e2b"})
	lost := box("b", "", 2)
	lost.Metadata = nil
	cloud.Add(lost, box("c", "", 3))
	return start(t, clock, opt, local, cloud)
}

func TestTheListIsNarrowedToProviders(t *testing.T) {
	s := two(t, Options{})
	s.command(keymap.AppProviders, "e2")
	if s.ids() != "b c" {
		t.Errorf("rows %q", s.ids())
	}
	frame := s.Frame(120, 30)
	for _, part := range []string{"on e2b", "2 of 3", "2 running  1 stray"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	s.command(keymap.AppProviders, "local")
	if s.ids() != "a" {
		t.Errorf("rows %q", s.ids())
	}
	// X means the strays of the providers shown.
	s.Press("X")
	if got := s.LastToast(); got != "there are no strays" {
		t.Errorf("toast %q", got)
	}
	s.command(keymap.AppProviders, "nobody")
	if got := s.LastToast(); !strings.Contains(got, "no provider in use is called nobody") || s.ids() != "a" {
		t.Errorf("toast %q, rows %q", got, s.ids())
	}
	s.Press("esc")
	if s.ids() != "a" {
		t.Error("esc widens the list")
	}
	s.command(keymap.AppProviders, "all")
	if s.ids() != "a b c" || len(s.store.Shown()) != 0 {
		t.Errorf("rows %q, shown %v", s.ids(), s.store.Shown())
	}
	s.command(keymap.AppProviders, "")
	if len(s.Opened) != 1 || s.Opened[0].Route != present.RouteProviders {
		t.Errorf("opened %v", s.Opened)
	}
}

func TestStraysAreThoseOfTheProvidersShown(t *testing.T) {
	s := two(t, Options{})
	lost := box("x", "", 4)
	lost.Metadata = nil
	s.p.Add(lost) // on local
	s.poll()
	for only, want := range map[string]string{"local": "x", "e2b": "b", "all": "b x"} {
		s.command(keymap.AppProviders, only)
		got := s.killRequest("X")
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("on %s X means %v", only, got)
		}
	}
}

func TestTheChoiceOfProvidersIsRemembered(t *testing.T) {
	state := present.NewFolder(t.TempDir())
	s := two(t, Options{State: state})
	s.command(keymap.AppProviders, "e2b")
	s.Close()
	again := two(t, Options{State: state})
	if again.ids() != "b c" {
		t.Errorf("rows %q", again.ids())
	}
	// A provider that is gone leaves no empty list behind.
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "local"})
	p.Add(box("a", "", 1))
	if other := start(t, clock, Options{State: state}, p); other.ids() != "a" {
		t.Errorf("rows %q", other.ids())
	}
}

func TestHealthCountsAndFails(t *testing.T) {
	s := two(t, Options{})
	h := s.store.Health()
	if len(h) != 2 || h[0].Name != "local" || h[0].Sandboxes != 1 || h[1].Sandboxes != 2 || !h[0].Loaded || h[0].Err != nil {
		t.Fatalf("%+v", h)
	}
	s.p.Script(fake.OpList, "", fake.Step{Err: fake.RateLimited(18 * time.Second)})
	s.poll()
	if word, _ := s.store.Health()[0].WordIn(nil, s.Clock.Now()); !strings.HasPrefix(word, "429, ") {
		t.Errorf("word %q", word)
	}
}

func TestCapabilitiesCanBeAColumn(t *testing.T) {
	s := two(t, Options{})
	s.Send(columnsMsg{keys: []string{"name", "caps"}})
	if frame := s.Frame(120, 30); !strings.Contains(frame, "CAPS") || !strings.Contains(frame, "rtf-p----") {
		t.Errorf("frame\n%s", frame)
	}
}

func TestFailuresCall(t *testing.T) {
	s := two(t, Options{})
	k := present.Key{Provider: "local", ID: client.ID("a")}
	s.Send(present.EventMsg{Key: k, Kind: present.EventCommand, Text: "make: exit 0"})
	s.Send(present.EventMsg{Key: k, Kind: present.EventFile, Text: "upload failed", Bad: true})
	s.Send(present.KillDoneMsg{Failed: []present.Key{k}})
	s.Send(present.EventMsg{Key: k, Kind: present.EventCommand, Text: "fals: exit 127", Bad: true, Took: time.Second})
	s.Send(present.EventMsg{Key: k, Kind: present.EventCommand, Text: "make: exit 2", Bad: true, Took: time.Minute})
	var said []string
	for _, m := range s.Messages {
		if a, ok := m.(ui.AttentionMsg); ok && a.Kind == ui.AttentionFailures {
			said = append(said, a.Text)
		}
	}
	if got := strings.Join(said, " | "); got != "not killed: a | a: make: exit 2" {
		t.Errorf("called for %q", got)
	}
}

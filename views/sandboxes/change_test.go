package sandboxes

import (
	"context"
	"fmt"
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

func TestPauseAndResume(t *testing.T) {
	s := newScene(t, box("a", "web", 3), box("b", "db", 2))
	s.Press("G", "p")
	if got := s.row("web"); !strings.Contains(got, "paused") || s.LastToast() != "web: running → paused" {
		t.Fatalf("row %q, toast %q", got, s.LastToast())
	}
	s.Press("p")
	if s.LastToast() != "nothing here to pause" {
		t.Errorf("toast %q", s.LastToast())
	}
	s.Press("r")
	if got := s.row("web"); !strings.Contains(got, "running") || !strings.Contains(s.LastToast(), "paused → running, TTL 57m → 57m") {
		t.Errorf("row %q, toast %q", got, s.LastToast())
	}
	// Several are asked about, and no means nothing happens.
	s.Press("*", "p")
	if s.Overlay() == nil || s.Overlay().Title() != "Pause 2 sandboxes?" {
		t.Fatal("several are paused without a question")
	}
	s.Press("n")
	if len(s.p.CallsOf(fake.OpPause)) != 1 {
		t.Error("no paused something")
	}
	s.Press("p", "y")
	if len(s.p.CallsOf(fake.OpPause)) != 3 {
		t.Errorf("%d pauses", len(s.p.CallsOf(fake.OpPause)))
	}
}

func TestSetTTL(t *testing.T) {
	s := newScene(t, box("a", "web", 3), box("b", "db", 2))
	s.Press("T")
	s.Type("soon")
	s.Press("enter")
	if s.Overlay() == nil || len(s.p.CallsOf(fake.OpTimeout)) != 0 {
		t.Fatal("soon is taken as a duration")
	}
	s.Press("backspace", "backspace", "backspace", "backspace")
	s.Type("2h")
	s.Press("enter")
	if s.LastToast() != "db: TTL 58m → 2h" {
		t.Errorf("toast %q", s.LastToast())
	}
	s.command(keymap.SandboxSetTTL, "10m")
	if s.LastToast() != "db: TTL 2h → 10m" {
		t.Errorf("toast %q", s.LastToast())
	}
	// Before the box was answered another row came under the cursor: the first one is meant.
	s.Press("T")
	s.Press("3", "h")
	s.p.Add(box("new", "new", 0))
	s.poll()
	s.Press("enter")
	calls := s.p.CallsOf(fake.OpTimeout)
	if last := calls[len(calls)-1]; last.ID != "b" {
		t.Errorf("set for %s", last.ID)
	}
}

func TestProtect(t *testing.T) {
	list, err := present.LoadProtected(present.NewFolder(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	tagged := box("b", "db", 2)
	tagged.Metadata[client.MetaProtect] = "true"
	p.Add(box("a", "web", 3), tagged)
	s := buildWith(t, clock, Options{Protected: list}, StoreOptions{Protected: list}, p)
	s.Start()
	s.Press("G", "P")
	if !list.Has(key("a")) || !strings.Contains(s.row("web"), s.Env.Theme.Symbol.Lock) || s.LastToast() != "protected: web" {
		t.Fatalf("row %q, toast %q", s.row("web"), s.LastToast())
	}
	s.Press("P")
	if list.Has(key("a")) || strings.Contains(s.row("web"), s.Env.Theme.Symbol.Lock) {
		t.Errorf("row %q", s.row("web"))
	}
	s.Press("g", "P")
	if !strings.Contains(s.LastToast(), "stays protected") {
		t.Errorf("toast %q", s.LastToast())
	}
	for _, c := range p.Calls() {
		if c.Op != fake.OpList {
			t.Errorf("protecting called %s", c.Op)
		}
	}
}

func TestBroadcastTakesTheMarkedRows(t *testing.T) {
	s := newScene(t, box("a", "web", 3), box("b", "db", 2), box("c", "x", 1))
	s.Press("!")
	if len(s.Opened) != 1 {
		t.Fatal("without marks, ! opens the output of one")
	}
	s.Press("space", "space", "!")
	m, ok := s.Messages[len(s.Messages)-1].(present.BroadcastMsg)
	if !ok || len(m.Targets) != 2 || m.Line != "" {
		t.Fatalf("message %+v", s.Messages[len(s.Messages)-1])
	}
	s.command(keymap.SandboxRun, "uname -a")
	if m, ok = s.Messages[len(s.Messages)-1].(present.BroadcastMsg); !ok || m.Line != "uname -a" {
		t.Errorf("message %+v", m)
	}
}

func TestCopyAsCommand(t *testing.T) {
	odd := box("a", "web", 3)
	odd.ID = "i'; rm -rf ~"
	s := newScene(t, odd, box("b", "db", 2))
	s.Press("G", "c")
	if frame := s.Frame(120, 30); !strings.Contains(frame, "Copy as command") || !strings.Contains(frame, "abxdash ls") {
		t.Fatalf("frame:\n%s", frame)
	}
	s.Press("G", "enter")
	if want := `abxdash kill 'fake/i'\''; rm -rf ~'`; len(s.Clipboard) != 1 || s.Clipboard[0] != want {
		t.Errorf("clipboard %q, want %q", s.Clipboard, want)
	}
}

func TestCostIsShown(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	p.Add(box("a", "web", 30), box("b", "db", 2))
	s := start(t, clock, Options{Rates: present.Rates{Date: "2026-11-01", Providers: map[string]present.Rate{"fake": {CPUHour: 0.1}}}}, p)
	s.Press("G")
	frame := s.Frame(140, 30)
	for _, want := range []string{"~$0.40/h", "$0.20/h   $0.10 so far   $0.20 by its end   (estimate, rates of 2026-11-01)"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in:\n%s", want, frame)
		}
	}
	s.Press(",", "c")
	if key, _ := s.list.table.Sort(); key != "cost" {
		t.Errorf("sorted by %q", key)
	}
}

// metered is a fake that measures; calls count the batches.
type metered struct {
	*fake.Provider
	values  map[client.ID]float64
	past    []client.Metric
	batches [][]client.ID
	history int
	err     error
}

func (m *metered) Capabilities() client.Capabilities {
	c := m.Provider.Capabilities()
	c.Have[client.CapMetrics] = true
	return c
}

func (m *metered) Sandboxes() client.Sandboxes { return m }

func (m *metered) MetricsNow(_ context.Context, ids []client.ID) (map[client.ID]client.Metric, error) {
	m.batches = append(m.batches, ids)
	if m.err != nil {
		return nil, m.err
	}
	out := map[client.ID]client.Metric{}
	for _, id := range ids {
		if v, ok := m.values[id]; ok {
			out[id] = client.Metric{CPUUsed: v, MemUsed: 210 << 20}
		}
	}
	return out, nil
}

func (m *metered) Metrics(context.Context, client.ID, time.Time, time.Time) ([]client.Metric, error) {
	m.history++
	return m.past, nil
}

func newMetered(t *testing.T, n int) (*scene, *metered) {
	t.Helper()
	clock := viewtest.NewClock()
	m := &metered{Provider: fake.New(fake.Options{Now: clock.Now, Name: "fake"}), values: map[client.ID]float64{}}
	for i := range n {
		m.Add(box(fmt.Sprintf("box%02d", i), fmt.Sprintf("web-%02d", i), i))
	}
	s := buildWith(t, clock, Options{}, StoreOptions{}, m)
	s.Start()
	s.p = m.Provider
	return s, m
}

// see lets n seconds pass with a frame each, as in a window that is looked at.
func (s *scene) see(n int) {
	for range n {
		s.Frame(140, 30)
		s.Tick(1)
	}
}

func TestUseIsAskedForRowsOnScreenOnly(t *testing.T) {
	s, m := newMetered(t, 50)
	s.Tick(20) // nobody draws: nobody looks
	if len(m.batches) != 0 {
		t.Fatalf("%d calls for a hidden list", len(m.batches))
	}
	s.Press("j")
	s.see(1)
	if len(m.batches) != 1 || len(m.batches[0]) == 0 || len(m.batches[0]) >= 30 {
		t.Fatalf("batches %v", m.batches)
	}
	s.see(20)
	if n := len(m.batches); n < 3 || n > 6 {
		t.Errorf("%d calls in 20 s", n)
	}
	before := len(m.batches)
	s.Tick(20) // another screen is on top: the list is not drawn
	if n := len(m.batches) - before; n > 1 {
		t.Errorf("%d calls in 20 s behind another screen", n)
	}
	// Nobody has touched a key for a minute: slower.
	s.see(60)
	before = len(m.batches)
	s.see(60)
	if n := len(m.batches) - before; n > 3 {
		t.Errorf("%d calls in a minute at rest", n)
	}
	s.Send(ui.FocusMsg{Focused: false})
	before = len(m.batches)
	s.see(120)
	if n := len(m.batches) - before; n != 0 {
		t.Errorf("%d calls without the focus", n)
	}
}

func TestUseIsShownAsASparkLine(t *testing.T) {
	s, m := newMetered(t, 2)
	m.values["box00"], m.values["box01"] = 12, 90
	s.Press("j")
	s.see(1)
	m.values["box00"] = 41
	s.see(6)
	if row := s.row("web-00"); !strings.Contains(row, "▂▄  41%") || !strings.Contains(row, "210M") {
		t.Errorf("row %q", row)
	}
	s.Press(",", "u")
	if s.ids() != "box00 box01" {
		t.Errorf("by use: %q", s.ids())
	}
	// A failing call is not repeated at once.
	m.err = fake.ServerError("no metrics today")
	before := len(m.batches)
	s.Press("j")
	s.see(40)
	if n := len(m.batches) - before; n != 1 {
		t.Errorf("%d calls in 40 s after a failure", n)
	}
}

func TestIdlenessIsKnownFromThePast(t *testing.T) {
	s, m := newMetered(t, 1)
	m.values["box00"] = 0.2
	now := s.Clock.Now()
	for i := range 38 {
		m.past = append(m.past, client.Metric{At: now.Add(-time.Duration(38-i) * time.Minute), CPUUsed: 0.1})
	}
	m.past = append([]client.Metric{{At: now.Add(-39 * time.Minute), CPUUsed: 55}}, m.past...)
	s.Press("j")
	s.see(8)
	if m.history != 1 {
		t.Errorf("the past was asked for %d times", m.history)
	}
	if row := s.row("web-00"); !strings.Contains(row, "idle 38m") {
		t.Fatalf("row %q", row)
	}
	if frame := s.Frame(140, 30); !strings.Contains(frame, "stray: idle for 38m") {
		t.Errorf("frame:\n%s", frame)
	}
	s.command(keymap.ListFilter, "idle>30m")
	if s.ids() != "box00" {
		t.Errorf("idle>30m shows %q", s.ids())
	}
	// An open shell of ours says that somebody is at it.
	s.Send(present.ShellCountMsg{Key: key("box00"), N: 1})
	s.see(6)
	if frame := s.Frame(140, 30); strings.Contains(frame, "stray: idle") {
		t.Errorf("attached, and a stray:\n%s", frame)
	}
	m.values["box00"] = 50
	s.Press("j")
	s.see(6)
	if row := s.row("web-00"); strings.Contains(row, "idle") {
		t.Errorf("busy again: %q", row)
	}
}

func TestAttentionOnceEach(t *testing.T) {
	s := newScene(t, box("a", "web", 50), box("b", "db", 2))
	calls := func() (out []string) {
		for _, m := range s.Messages {
			if a, ok := m.(ui.AttentionMsg); ok {
				out = append(out, string(a.Kind)+": "+a.Text)
			}
		}
		return out
	}
	s.Tick(10)
	if got := calls(); len(got) != 0 {
		t.Fatalf("called at the start: %v", got)
	}
	s.Tick(6 * 60)
	if got := calls(); len(got) != 1 || got[0] != "expiry: web ends within 5m" {
		t.Fatalf("calls %q", got)
	}
	s.p.Add(boxWith("lost", "", 1, func(sb *client.Sandbox) { sb.Metadata = nil }))
	s.Tick(20)
	if got := calls(); len(got) != 2 || got[1] != "strays: looks forgotten: lost (no owner tag)" {
		t.Errorf("calls %q", got)
	}
	s.p.Script(fake.OpList, "", fake.Step{Repeat: true, Err: fake.ServerError("down")})
	s.Tick(120)
	got := calls()
	if len(got) != 3 || !strings.HasPrefix(got[2], "failures: fake does not answer") {
		t.Errorf("calls %q", got)
	}
}

// LST-03: what a list that was asked for earlier says about a row that was
// changed here since does not count, nor does the answer to an older question.
func TestAnOlderListDoesNotUndoAChange(t *testing.T) {
	s := newScene(t, box("a", "web", 3), box("b", "db", 2))
	src := s.store.sources[0]
	s.Run(s.store.list(src)) // its answer has come
	old, err := present.ListAll(t.Context(), s.p, client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	asked := func() { s.store.seq++; src.gen++; src.startSeq, src.inFlight = s.store.seq, true }
	asked()
	longer := old.Sandboxes[1].Clone()
	longer.ExpiresAt = longer.ExpiresAt.Add(5 * time.Hour)
	s.Send(present.UpdatedMsg{Sandbox: longer})
	late := present.ListedMsg{Provider: "fake", Gen: src.gen, Page: client.Page{Sandboxes: old.Sandboxes}, At: s.Clock.Now()}
	s.Send(late)
	if got := s.row(longer.Name); !strings.Contains(got, "5h") {
		t.Errorf("the old end is back: %q", got)
	}
	asked()
	s.Send(present.UpdatedMsg{Sandbox: longer})
	late.Gen, late.Page.Sandboxes = src.gen, old.Sandboxes[:1]
	s.Send(late)
	if s.ids() != "b a" {
		t.Errorf("a list that did not know it yet took it away: %q", s.ids())
	}
	asked()
	late.Gen, late.Page.Sandboxes = src.gen-1, nil
	s.Send(late)
	if s.ids() != "b a" || !src.inFlight {
		t.Errorf("the answer to an older question counts: %q", s.ids())
	}
}

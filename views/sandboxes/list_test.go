package sandboxes

import (
	"context"
	"fmt"
	"slices"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func build(t *testing.T, clock *viewtest.Clock, opt Options, ps ...*fake.Provider) *scene {
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
func TestAHungProviderDoesNotSlowOthers(t *testing.T) {
	clock := viewtest.NewClock()
	var d *viewtest.Driver
	slow := fake.New(fake.Options{Name: "slow", Now: clock.Now, Sleep: func(ctx context.Context, w time.Duration) error { return d.Sleep(ctx, w) }})
	quick := fake.New(fake.Options{Name: "quick", Now: clock.Now})
	quick.Add(box("a", "", 1))
	slow.Script(fake.OpList, "", fake.Step{Delay: time.Hour, Repeat: true})
	s := build(t, clock, Options{}, slow, quick)
	d = s.Driver
	s.Start()
	s.Tick(30)
	if n := len(slow.CallsOf(fake.OpList)); n != 1 {
		t.Errorf("the hung provider was asked %d times", n)
	}
	if n := len(quick.CallsOf(fake.OpList)); n < 5 || n > 7 {
		t.Errorf("the other one was asked %d times in 30 s", n)
	}
	if s.ids() != "a" {
		t.Errorf("rows %q", s.ids())
	}
	if frame := s.Frame(120, 30); !strings.Contains(frame, "slow 30s") {
		t.Errorf("the chip does not say how long it hangs:\n%s", frame)
	}
}

func TestAFailingProviderKeepsItsRows(t *testing.T) {
	s := newScene(t, box("a", "web", 1))
	s.p.Script(fake.OpList, "", fake.Step{Err: fake.ServerError("it is\x1b[2J broken"), Repeat: true})
	s.poll()
	frame := s.Frame(120, 30)
	for _, part := range []string{"web", "fake E9005", "broken (E9005)"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	if strings.Contains(frame, "\x1b") {
		t.Error("the server's escape reached the screen")
	}
	calls := len(s.p.CallsOf(fake.OpList))
	s.Tick(60)
	if n := len(s.p.CallsOf(fake.OpList)) - calls; n > 6 {
		t.Errorf("%d tries in a minute: no back-off", n)
	}
	s.p.ClearScript(fake.OpList, "")
	s.Tick(70)
	if frame := s.Frame(120, 30); strings.Contains(frame, "E9005") {
		t.Errorf("still failing after it answered:\n%s", frame)
	}
}

// STR-11: a 429 stops the clock for as long as it says, with a countdown.
func TestRateLimitPausesPolling(t *testing.T) {
	s := newScene(t, box("a", "web", 1))
	s.p.Script(fake.OpList, "", fake.Step{Err: fake.RateLimited(18 * time.Second)})
	s.poll()
	at := s.Clock.Now()
	calls := len(s.p.CallsOf(fake.OpList))
	s.Tick(3)
	if frame := s.Frame(120, 30); !strings.Contains(frame, "fake 429 1") {
		t.Errorf("no countdown:\n%s", frame)
	}
	s.Press("ctrl+r")
	if got := s.LastToast(); !strings.Contains(got, "fake asked us to wait: next refresh in") {
		t.Errorf("toast %q", got)
	}
	s.Send(present.RefreshMsg{})
	s.Tick(8)
	if n := len(s.p.CallsOf(fake.OpList)); n != calls {
		t.Fatalf("%d calls during the pause", n-calls)
	}
	s.Tick(12)
	all := s.p.CallsOf(fake.OpList)
	if len(all) <= calls || all[calls].At.Sub(at) < 17*time.Second {
		t.Errorf("next call after %v", all[len(all)-1].At.Sub(at))
	}
}

func TestPollPace(t *testing.T) {
	s := newScene(t, box("a", "", 1))
	s.p.ResetCalls()
	s.Tick(60)
	if n := len(s.p.CallsOf(fake.OpList)); n < 9 || n > 12 {
		t.Errorf("%d lists a minute with the focus", n)
	}
	s.Send(ui.FocusMsg{Focused: false})
	s.Tick(30)
	s.p.ResetCalls()
	s.Tick(120)
	if n := len(s.p.CallsOf(fake.OpList)); n < 3 || n > 4 {
		t.Errorf("%d lists in two minutes without the focus", n)
	}
	s.p.ResetCalls()
	s.Tick(10)
	s.Send(ui.FocusMsg{Focused: true})
	if n := len(s.p.CallsOf(fake.OpList)); n != 1 {
		t.Errorf("%d lists when the focus comes back", n)
	}
}

// LST-01, LST-02: what may be missing is said, and counts are not presented as proven.
func TestIncompleteListsAreSaid(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, OnList: func(_ client.Query, page client.Page) (client.Page, error) {
		page.NextToken = "QUFBQQ=="
		return page, nil
	}})
	p.Add(box("sbx0001", "", 1), box("sbx0002", "", 2))
	s := start(t, clock, Options{}, p)
	frame := s.Frame(120, 30)
	if s.list.table.Len() != 2 || !strings.Contains(frame, "may be incomplete") || !strings.Contains(frame, "2+") {
		t.Errorf("%d rows\n%s", s.list.table.Len(), frame)
	}
	if n := len(p.CallsOf(fake.OpList)); n > 3 {
		t.Errorf("%d requests for one refresh", n)
	}
}

// KIL-01, KIL-04: a tombstone until the list agrees, then the truth.
func TestTombstones(t *testing.T) {
	s := newScene(t, box("a", "stuck", 3), box("b", "fine", 2), box("c", "gone", 1))
	s.p.Stick("a", "odd")
	for _, id := range []string{"a", "b"} {
		if err := s.p.Kill(t.Context(), client.ID(id)); err != nil {
			t.Fatal(err)
		}
		s.Send(present.KillResultMsg{Key: key(id), Outcome: present.KillAccepted})
	}
	s.Send(present.KillResultMsg{Key: key("c"), Outcome: present.KillAlreadyGone})
	if s.ids() != "b a" {
		t.Errorf("rows right after the answers: %q", s.ids())
	}
	if got := s.row("fine"); !strings.Contains(got, "deleting…") {
		t.Errorf("row %q", got)
	}
	s.poll()
	if s.ids() != "a" {
		t.Errorf("rows after the list agreed: %q", s.ids())
	}
	if got := s.row("stuck"); !strings.Contains(got, "deleting…") {
		t.Errorf("row %q", got)
	}
	s.Tick(60)
	if got := s.row("stuck"); !strings.Contains(got, "still there") {
		t.Errorf("row %q", got)
	}
	if frame := s.Frame(120, 30); !strings.Contains(frame, "accepted but still there") {
		t.Errorf("the preview does not say it:\n%s", frame)
	}
	if n := len(s.p.CallsOf(fake.OpKill)); n != 2 {
		t.Errorf("%d kills", n)
	}
}

// A list that flips back to an older state does not raise the dead.
func TestAKilledRowDoesNotFlickerBack(t *testing.T) {
	s := newScene(t, box("a", "", 3), box("b", "", 2))
	s.Send(present.KillResultMsg{Key: key("a"), Outcome: present.KillAccepted})
	s.p.Flap("a")
	for range 8 {
		s.poll()
		if s.ids() == "b" {
			break
		}
	}
	if s.ids() != "b" {
		t.Fatalf("rows %q", s.ids())
	}
	for range 5 {
		s.poll()
		if s.ids() != "b" {
			t.Fatalf("it came back: %q", s.ids())
		}
	}
}

func TestACreatedRowIsThereAtOnceAndHasTheCursor(t *testing.T) {
	s := newScene(t, box("a", "", 3), box("b", "", 2))
	s.Press("G")
	n := box("new", "fresh", 0)
	n.Provider = "fake"
	s.Send(present.CreatedMsg{Sandbox: n})
	if s.cursor() != "new" {
		t.Errorf("cursor %q", s.cursor())
	}
	// The server's list lags behind; the row stays for a while, then the list is believed.
	s.poll()
	if !strings.Contains(s.ids(), "new") {
		t.Errorf("rows %q", s.ids())
	}
	s.Tick(12)
	if strings.Contains(s.ids(), "new") {
		t.Errorf("rows %q", s.ids())
	}
}

func TestStatesOfAKillAreShown(t *testing.T) {
	s := newScene(t, box("a", "web", 3))
	at := s.Clock.Now().Add(5 * time.Second)
	s.Send(present.KillPendingMsg{Keys: []present.Key{key("a")}, At: at})
	if got := s.row("web"); !strings.Contains(got, "dies in 5 s") {
		t.Errorf("row %q", got)
	}
	s.Tick(2)
	if got := s.row("web"); !strings.Contains(got, "dies in 3 s") {
		t.Errorf("row %q", got)
	}
	s.Send(present.KillUndoneMsg{Keys: []present.Key{key("a")}})
	if got := s.row("web"); !strings.Contains(got, "running") {
		t.Errorf("row %q", got)
	}
	s.Send(present.KillSendingMsg{Keys: []present.Key{key("a")}})
	if got := s.row("web"); !strings.Contains(got, "killing…") {
		t.Errorf("row %q", got)
	}
	s.Send(present.KillResultMsg{Key: key("a"), Outcome: present.KillFailed, Err: fake.ServerError("x")})
	if got := s.row("web"); !strings.Contains(got, "running") {
		t.Errorf("row %q", got)
	}
}

// KIL-03, second half: only the failed one stays marked, and a kill elsewhere
// means the row under the cursor alone.
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
func TestServerTimeRules(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Skew: -10 * time.Minute})
	b := box("a", "web", 65) // ends five minutes ago by our clock, in five minutes by theirs
	p.Add(b)
	s := start(t, clock, Options{}, p)
	if got := s.row("web"); !strings.Contains(got, " 5m") || strings.Contains(got, "expired") {
		t.Errorf("row %q", got)
	}
}

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
		for range len(wide) {
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

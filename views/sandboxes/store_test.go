package sandboxes

import (
	"context"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

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
	s.Press("/")
	s.Type("nothing-like-it")
	s.Press("enter")
	h := box("hid", "", 0)
	h.Provider = "fake"
	s.Send(present.CreatedMsg{Sandbox: h})
	if got := s.LastToast(); got != "the filter hides the new sandbox hid" {
		t.Errorf("toast %q", got)
	}
	s.Press("esc")
	if s.cursor() != "hid" {
		t.Errorf("after the filter went, the cursor is on %q", s.cursor())
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

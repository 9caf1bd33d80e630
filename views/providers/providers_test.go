package providers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// admin is an administration that writes down what it is asked.
type admin struct {
	mu    sync.Mutex
	infos []client.ProviderInfo
	calls []string
	good  string
	to    client.KeyTarget
}

func (a *admin) note(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
}

func (a *admin) called() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

func (a *admin) Providers(context.Context, bool) ([]client.ProviderInfo, error) { return a.infos, nil }

func (a *admin) Check(_ context.Context, name string) ([]client.ProviderCheck, error) {
	a.note("check " + name)
	if name == "alpha" {
		return []client.ProviderCheck{{Name: name, OK: true, Detail: "its list can be read", Took: 12 * time.Millisecond}}, nil
	}
	return []client.ProviderCheck{{Name: name, Detail: "the key is\x1b[2J refused", Hint: "enter another key"}}, nil
}

func (a *admin) KeyTarget(_ context.Context, name string) (client.KeyTarget, error) {
	if name == "alpha" {
		return client.KeyTarget{}, &client.Error{Op: "enter a key", Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "alpha needs no key"}
	}
	return a.to, nil
}

func (a *admin) TestKey(_ context.Context, name, key string) (client.ProviderCheck, error) {
	a.note("test " + name)
	if key == a.good {
		return client.ProviderCheck{Name: name, OK: true, Detail: "its list can be read"}, nil
	}
	return client.ProviderCheck{Name: name, Detail: "the key is refused", Hint: "look at it again"}, nil
}

func (a *admin) KeepKey(_ context.Context, name, key string) (string, error) {
	a.note("keep " + name + " " + key)
	return a.to.File, nil
}

type scene struct {
	*viewtest.Driver
	admin  *admin
	screen *Screen
	health []present.ProviderHealth
	only   []string
	opened []string
}

// start has two providers in use, alpha and beta, and gamma without a key.
func start(t *testing.T, change func(*Options)) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	s := &scene{}
	var ps present.Providers
	for _, name := range []string{"alpha", "beta"} {
		p := fake.New(fake.Options{Name: name, Now: clock.Now})
		t.Cleanup(func() { p.Close() })
		ps = append(ps, p)
	}
	ok := clock.Now().Add(-2 * time.Second)
	s.health = []present.ProviderHealth{
		{Name: "alpha", Loaded: true, LastOK: ok, Sandboxes: 3},
		{
			Name: "beta", Loaded: true, LastOK: ok.Add(-time.Minute), Sandboxes: 7, More: true,
			Err: &client.Error{Op: "list", Code: client.CodeAuth, Kind: client.ErrUnauthorized, Message: "401 from the service"},
		},
	}
	s.admin = &admin{
		good: "right-key",
		to:   client.KeyTarget{Variable: "ABX_GAMMA_API_KEY", File: "/home/a/.abx/.env", Address: "https://gamma.test", Covered: "the process environment"},
		infos: []client.ProviderInfo{
			{Name: "alpha", Title: "this machine", Ready: true, Capabilities: ps[0].Capabilities()},
			{Name: "beta", Title: "a service", Ready: true, Key: "ABX_BETA_API_KEY from ~/.abx/.env line 2", Capabilities: ps[1].Capabilities()},
			{Name: "gamma", Title: "another", Problem: "ABX_GAMMA_API_KEY is not set", Hint: "set it"},
		},
	}
	opt := Options{
		Providers: ps, Admin: s.admin,
		Health:  func() []present.ProviderHealth { return s.health },
		Shown:   func() []string { return s.only },
		Default: func() string { return "alpha" },
		Reopen: func(variable, key string) tea.Cmd {
			return func() tea.Msg {
				s.opened = append(s.opened, variable+"="+key)
				return nil
			}
		},
	}
	if change != nil {
		change(&opt)
	}
	s.screen = New(opt)
	s.Driver = viewtest.NewAt(t, clock, s.screen)
	return s
}

// shows are the names of the last wish to narrow the list.
func (s *scene) shows() string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m, ok := s.Messages[i].(present.ShowProvidersMsg); ok {
			s.only = m.Names
			return strings.Join(m.Names, " ")
		}
	}
	return "nothing was asked"
}

func TestEveryProviderIsListedWithItsState(t *testing.T) {
	s := start(t, nil)
	frame := s.Frame(140, 30)
	for _, part := range []string{
		"alpha default", "✓ ok", "2s ago", "beta", "401, key refused", "7+", "1m ago", "ABX_BETA_API_KEY from ~/.abx/.env line 2",
		"gamma", "no key", "ABX_GAMMA_API_KEY is not set", "the list shows all",
	} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	if n := len(s.admin.called()); n != 0 {
		t.Errorf("looking asked the providers: %v", s.admin.called())
	}
	s.health[1].PausedUntil = s.Clock.Now().Add(20 * time.Second)
	s.Tick(2)
	if frame := s.Frame(140, 30); !strings.Contains(frame, "429, 18s") {
		t.Errorf("no countdown in\n%s", frame)
	}
	for _, size := range [][2]int{{40, 10}, {80, 24}, {200, 60}} {
		if frame := s.Frame(size[0], size[1]); !strings.Contains(frame, "alpha") || !strings.Contains(frame, "429") {
			t.Errorf("%v:\n%s", size, frame)
		}
	}
}

func TestTheListIsNarrowedAndWidened(t *testing.T) {
	s := start(t, nil)
	s.Press("j", "enter")
	if got := s.shows(); got != "beta" || s.Back != 1 {
		t.Errorf("enter shows %q, back %d", got, s.Back)
	}
	if frame := s.Frame(120, 30); !strings.Contains(frame, "the list shows beta") {
		t.Errorf("the choice is not said:\n%s", frame)
	}
	s.Press("enter")
	if got := s.shows(); got != "" {
		t.Errorf("enter again shows %q", got)
	}
	s.Press("space")
	if got := s.shows(); got != "alpha" {
		t.Errorf("space takes away, leaving %q", got)
	}
	s.Press("g", "j", "space")
	if got := s.shows(); got != "alpha beta" {
		t.Errorf("space adds: %q", got)
	}
	s.Press("*")
	if got := s.shows(); got != "" {
		t.Errorf("* shows %q", got)
	}
	s.Press("G", "enter")
	if got := s.LastToast(); !strings.Contains(got, "gamma is not in use: ABX_GAMMA_API_KEY is not set; set it") {
		t.Errorf("toast %q", got)
	}
}

func TestDoctorSaysWhatNext(t *testing.T) {
	s := start(t, nil)
	s.Press("t")
	if got := s.LastToast(); got != "alpha: its list can be read, in 12 ms" {
		t.Errorf("toast %q", got)
	}
	s.Press("j", "d")
	frame := s.Frame(120, 40)
	for _, part := range []string{"Doctor: beta", "tested: the key is", "next: enter another key", "the list: 401, key refused, last answer 1m ago"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	if strings.Contains(frame, "\x1b") {
		t.Error("an escape of the service reached the screen")
	}
	if got := s.admin.called(); !slices.Equal(got, []string{"check alpha", "check beta"}) {
		t.Errorf("calls %v", got)
	}
}

func TestDefaultIsForThisRun(t *testing.T) {
	s := start(t, nil)
	s.Press("j", "D")
	if frame := s.Frame(120, 30); !strings.Contains(frame, "beta default") || strings.Contains(frame, "alpha default") {
		t.Errorf("frame\n%s", frame)
	}
	if !slices.ContainsFunc(s.Messages, func(m tea.Msg) bool { d, ok := m.(present.DefaultProviderMsg); return ok && d.Name == "beta" }) {
		t.Error("nobody was told")
	}
}

func TestAKeyIsTestedBeforeItIsKept(t *testing.T) {
	s := start(t, nil)
	s.Press("G", "e")
	frame := s.Frame(100, 30)
	for _, part := range []string{"Key of gamma", "read as ABX_GAMMA_API_KEY", "sent to https://gamma.test", "the process environment"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	s.Type("wrong-key")
	s.Press("tab", "space", "enter")
	frame = s.Frame(100, 30)
	if !strings.Contains(frame, "the key is refused; look at it again") || strings.Contains(frame, "wrong-key") {
		t.Errorf("after a wrong key:\n%s", frame)
	}
	s.Press("tab", "ctrl+u")
	s.Type("right-key")
	if strings.Contains(s.Frame(100, 30), "right-key") {
		t.Error("the key is shown")
	}
	s.Press("enter")
	if got := s.admin.called(); !slices.Equal(got, []string{"test gamma", "test gamma", "keep gamma right-key"}) {
		t.Errorf("calls %v", got)
	}
	if got := s.LastToast(); !strings.Contains(got, "works and is kept in /home/a/.abx/.env; but the one from the process environment comes first") {
		t.Errorf("toast %q", got)
	}
	s.Press("y")
	if got := strings.Join(s.opened, " "); got != "ABX_GAMMA_API_KEY=right-key" {
		t.Errorf("opened again with %q", got)
	}
}

func TestAKeyIsNotKeptUnasked(t *testing.T) {
	s := start(t, func(o *Options) { o.Reopen = nil })
	s.Press("G", "e")
	s.Type("right-key")
	s.Press("enter")
	if got := s.admin.called(); !slices.Equal(got, []string{"test gamma"}) || len(s.Overlays) != 0 {
		t.Errorf("calls %v, %d boxes", got, len(s.Overlays))
	}
	s.Press("g", "e")
	if got := s.LastToast(); !strings.Contains(got, "alpha needs no key") {
		t.Errorf("toast %q", got)
	}
	ro := start(t, func(o *Options) { o.ReadOnly = true })
	ro.Press("G", "e")
	if frame := ro.Frame(100, 30); strings.Contains(frame, "Keep it") {
		t.Errorf("read-only offers to keep a key:\n%s", frame)
	}
}

func TestWithoutAnAdministration(t *testing.T) {
	s := start(t, func(o *Options) { o.Admin = nil })
	if frame := s.Frame(120, 30); !strings.Contains(frame, "alpha") || strings.Contains(frame, "gamma") {
		t.Errorf("frame\n%s", frame)
	}
	s.Press("t")
	if got := s.LastToast(); !strings.Contains(got, "alpha: its list can be read") {
		t.Errorf("toast %q", got)
	}
	s.Press("e")
	if got := s.LastToast(); got != "there are no keys here" {
		t.Errorf("toast %q", got)
	}
}

// Package sandbox is the screen of one sandbox: who it is and how long it
// lives on top, and below that tabs (overview, output, files, shell) that main
// hands in. Opening it never changes the sandbox.
package sandbox

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// How often the facts are read again while the terminal has the focus, and without it.
const (
	refreshEvery        = 5 * time.Second
	refreshEveryUnfocus = 30 * time.Second
)

// Tab is one part of the screen. New is called the first time the tab is
// shown; the screen it returns lives until the sandbox screen is closed.
type Tab struct {
	ID    present.Tab
	Title string
	// Needs is what the provider must offer, "" for nothing.
	Needs client.Capability
	New   func(s client.Sandbox) ui.Screen
}

// Options is what main hands in.
type Options struct {
	Provider client.Provider
	// Journal is what happened so far; it may be nil.
	Journal *Journal
	// Tabs follow the overview.
	Tabs []Tab
	// ReadOnly refuses everything that changes the sandbox, with this reason.
	ReadOnly string
}

// Screen is the sandbox screen.
type Screen struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc

	sb    client.Sandbox
	clock present.Clock
	gone  bool
	err   error

	tabs   []tab
	active int

	pace present.Pace
}

// tab is a Tab with its screen, nil until first shown, and where its title was drawn.
type tab struct {
	Tab
	screen ui.Screen
	spot   uv.Rectangle
}

// gotMsg is the answer to one read of the facts.
type gotMsg struct {
	key present.Key
	sb  client.Sandbox
	err error
	at  time.Time
}

// New makes the screen for p.
func New(o Options, p present.SandboxParams) *Screen {
	s := &Screen{opts: o, sb: p.Sandbox.Clone(), pace: present.Pace{Every: refreshEvery, Unfocused: refreshEveryUnfocus}}
	s.pace.Show()
	s.tabs = append(s.tabs, tab{Tab: Tab{ID: present.TabOverview, Title: lang.Mark("Overview"), New: func(sb client.Sandbox) ui.Screen {
		return newOverview(o, sb)
	}}})
	for _, t := range o.Tabs {
		s.tabs = append(s.tabs, tab{Tab: t})
	}
	for i, t := range s.tabs {
		if t.ID == p.Tab && s.missing(t.Tab) == "" {
			s.active = i
		}
	}
	return s
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	return tea.Batch(s.show(s.active), s.refresh())
}

// Close implements ui.Screen.
func (s *Screen) Close() {
	for _, t := range s.tabs {
		if t.screen != nil {
			t.screen.Close()
		}
	}
	s.cancel()
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return present.Label(s.sb) }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	own := []keymap.Context{keymap.Detail, keymap.Sandbox, keymap.Move}
	if s.Captures() {
		return s.tabs[s.active].screen.Keys()
	}
	if t := s.tabs[s.active].screen; t != nil {
		return append(append([]keymap.Context{}, t.Keys()...), own...)
	}
	return own
}

// Captures implements ui.Capturer for the tab shown.
func (s *Screen) Captures() bool {
	c, ok := s.tabs[s.active].screen.(ui.Capturer)
	return ok && c.Captures()
}

// Interrupt implements ui.Interrupter for the tab shown.
func (s *Screen) Interrupt() (tea.Cmd, bool) {
	if i, ok := s.tabs[s.active].screen.(ui.Interrupter); ok {
		return i.Interrupt()
	}
	return nil, false
}

// AtStake implements ui.Staker for all tabs.
func (s *Screen) AtStake() []string {
	var out []string
	for _, t := range s.tabs {
		if k, ok := t.screen.(ui.Staker); ok {
			out = append(out, k.AtStake()...)
		}
	}
	return out
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	if d, ok := s.tabs[s.active].screen.(ui.Disabler); ok {
		if why := d.Disabled(a); why != "" {
			return why
		}
	}
	switch a {
	case keymap.SandboxKill, keymap.SandboxExtend, keymap.SandboxPause, keymap.SandboxResume:
		if s.gone {
			return s.env.Lang.T("this sandbox no longer exists")
		}
	}
	switch a {
	case keymap.SandboxExtend, keymap.SandboxKill:
		return s.opts.ReadOnly
	case keymap.SandboxPause, keymap.SandboxResume:
		if s.opts.ReadOnly != "" {
			return s.opts.ReadOnly
		}
		return s.lacks(client.CapPause)
	case keymap.SandboxShell, keymap.SandboxAttach:
		return s.missingID(present.TabShell)
	case keymap.SandboxRun, keymap.SandboxLogs:
		return s.missingID(present.TabOutput)
	case keymap.SandboxFiles:
		return s.missingID(present.TabFiles)
	}
	if n, ok := keymap.TabNumber(a); ok {
		if n >= len(s.tabs) {
			return s.env.Lang.T("there is no tab of that number")
		}
		return s.missing(s.tabs[n].Tab)
	}
	return ""
}

// lacks says why the provider does not offer c, "" if it does.
func (s *Screen) lacks(c client.Capability) string {
	return present.Lacks(s.opts.Provider, c, s.env.Lang)
}

func (s *Screen) missing(t Tab) string {
	if t.Needs == "" {
		return ""
	}
	return s.lacks(t.Needs)
}

func (s *Screen) missingID(id present.Tab) string {
	for _, t := range s.tabs {
		if t.ID == id {
			return s.missing(t.Tab)
		}
	}
	return s.env.Lang.T("not offered here")
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ActionMsg:
		return s.act(m)
	case tea.KeyPressMsg, tea.PasteMsg:
		return s.tabs[s.active].screen.Update(msg)
	case tea.MouseClickMsg:
		if i, ok := s.tabAt(m.X, m.Y); ok {
			return s.show(i)
		}
		return s.tabs[s.active].screen.Update(msg)
	case tea.MouseMsg:
		return s.tabs[s.active].screen.Update(msg)
	}
	return tea.Batch(s.note(msg), s.broadcast(msg))
}

// note takes what the screen itself wants to know from msg.
func (s *Screen) note(msg tea.Msg) tea.Cmd {
	if s.pace.Update(msg) && !s.gone {
		return s.refresh()
	}
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
	case gotMsg:
		return s.got(m)
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(s.sb) {
			s.sb = m.Sandbox.Clone()
		}
	case present.KillResultMsg:
		if m.Key == present.KeyOf(s.sb) && m.Outcome != present.KillFailed {
			s.gone = true
		}
	case present.GoneMsg:
		for _, k := range m.Keys {
			s.gone = s.gone || k == present.KeyOf(s.sb)
		}
	}
	return nil
}

// broadcast hands msg to every tab that was opened.
func (s *Screen) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, t := range s.tabs {
		if t.screen != nil {
			cmds = append(cmds, t.screen.Update(msg))
		}
	}
	return tea.Batch(cmds...)
}

// refresh reads the facts again, one call at a time.
func (s *Screen) refresh() tea.Cmd {
	if !s.pace.Begin(s.env.Now()) {
		return nil
	}
	ctx, p, id, key, now := s.env.Ctx, s.opts.Provider, s.sb.ID, present.KeyOf(s.sb), s.env.Now
	return func() tea.Msg {
		sb, err := p.Sandboxes().Get(ctx, id)
		return gotMsg{key: key, sb: sb, err: err, at: now()}
	}
}

func (s *Screen) got(m gotMsg) tea.Cmd {
	if m.key != present.KeyOf(s.sb) {
		return nil
	}
	s.pace.End()
	s.err = nil
	switch {
	case errors.Is(m.err, client.ErrNotFound):
		s.gone = true
		return ui.Cmd(present.GoneMsg{Keys: []present.Key{m.key}})
	case errors.Is(m.err, context.Canceled):
		return nil
	case m.err != nil:
		s.err = m.err
		return nil
	}
	m.sb.Provider = s.sb.Provider
	s.sb = m.sb
	return ui.Cmd(present.UpdatedMsg{Sandbox: m.sb})
}

// act carries out an action, or hands it to the tab shown.
func (s *Screen) act(m ui.ActionMsg) tea.Cmd {
	if n, ok := keymap.TabNumber(m.Action); ok {
		return s.show(n)
	}
	switch m.Action {
	case keymap.TabNext:
		return s.step(1)
	case keymap.TabPrev:
		return s.step(-1)
	case keymap.SandboxShell:
		return s.showID(present.TabShell)
	case keymap.SandboxAttach:
		if why := s.missingID(present.TabShell); why != "" {
			return ui.Toast(ui.ToastWarn, why)
		}
		if s.tabs[s.active].ID == present.TabShell {
			return s.tabs[s.active].screen.Update(m)
		}
		return present.OpenRawShell(s.sb.Clone())
	case keymap.SandboxFiles:
		return s.showID(present.TabFiles)
	case keymap.SandboxLogs:
		return s.showID(present.TabOutput)
	case keymap.SandboxDetail:
		return s.showID(present.TabOverview)
	case keymap.SandboxRun:
		cmd := s.showID(present.TabOutput)
		return tea.Batch(cmd, s.tabs[s.active].screen.Update(m))
	case keymap.SandboxKill:
		return ui.Cmd(present.KillRequestMsg{Targets: []present.KillTarget{{Sandbox: s.sb}}})
	case keymap.SandboxExtend:
		return s.extend()
	case keymap.SandboxRaw:
		return s.raw()
	case keymap.SandboxCopyID:
		return tea.Batch(tea.SetClipboard(string(s.sb.ID)), ui.Toast(ui.ToastOK, s.env.Lang.T("copied %s", present.Clean(string(s.sb.ID)))))
	case keymap.AppRefresh:
		return tea.Batch(s.refresh(), s.tabs[s.active].screen.Update(m))
	}
	return s.tabs[s.active].screen.Update(m)
}

// extend adds to the lifetime and says what that did.
func (s *Screen) extend() tea.Cmd {
	ctx, p, sb, now, tr := s.env.Ctx, s.opts.Provider, s.sb, s.clock.At(s.env.Now()), s.env.Lang
	return func() tea.Msg {
		r := present.Extend(ctx, p, sb, present.ExtendStep, now)
		if r.Err != nil {
			return ui.ToastMsg{Level: ui.ToastError, Text: present.ErrorLine(r.Err)}
		}
		level := ui.ToastOK
		if r.Short {
			level = ui.ToastWarn
		}
		return tea.BatchMsg{ui.Cmd(present.UpdatedMsg{Sandbox: r.After}), ui.Toast(level, present.Label(sb)+": "+r.In(tr))}
	}
}

// step goes to the next tab in a direction that can be used.
func (s *Screen) step(d int) tea.Cmd {
	n := len(s.tabs)
	for i := 1; i <= n; i++ {
		if j := ((s.active+i*d)%n + n) % n; s.missing(s.tabs[j].Tab) == "" {
			return s.show(j)
		}
	}
	return nil
}

func (s *Screen) showID(id present.Tab) tea.Cmd {
	for i, t := range s.tabs {
		if t.ID == id {
			return s.show(i)
		}
	}
	return nil
}

// show makes tab i the active one and starts it if it is new.
func (s *Screen) show(i int) tea.Cmd {
	if i < 0 || i >= len(s.tabs) {
		return nil
	}
	if why := s.missing(s.tabs[i].Tab); why != "" {
		return ui.Toast(ui.ToastWarn, why)
	}
	var hidden tea.Cmd
	if old := s.tabs[s.active].screen; old != nil && i != s.active {
		hidden = old.Update(present.TabHiddenMsg{})
	}
	s.active = i
	t := &s.tabs[i]
	if t.screen != nil {
		return tea.Batch(hidden, t.screen.Update(present.TabShownMsg{}))
	}
	t.screen = t.New(s.sb)
	return tea.Batch(hidden, t.screen.Init(s.env), t.screen.Update(present.TabShownMsg{}))
}

func (s *Screen) tabAt(x, y int) (int, bool) {
	for i, t := range s.tabs {
		if (uv.Position{X: x, Y: y}).In(t.spot) {
			return i, true
		}
	}
	return 0, false
}

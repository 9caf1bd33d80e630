package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/attach"
	"abxdash/ui/form"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// Options is how a shell screen stands in the dashboard.
type Options struct {
	Manager *Manager
	// Whole says that the screen is a window of its own: detaching closes it.
	// As a tab it only gives the keys back.
	Whole bool
	// Raw hands the whole terminal to the shell as soon as it runs; leaving it
	// closes the screen. Only with Whole.
	Raw bool
	// Fixed leaves the size of the shell as it is.
	Fixed bool
}

// Screen shows one or two shells of a sandbox at a time.
type Screen struct {
	opts Options
	env  ui.Env
	sb   client.Sandbox

	// panes are one or two, and focus is the one that is typed into.
	panes []*pane
	focus int
	// released is set after detaching in a tab: keys go to the dashboard again.
	released bool
	// confirm is set while a sandbox that does not run has not been asked for again.
	confirm bool
	// looking is set while earlier shells are looked for.
	looking bool
	// raw is set from the wish for the whole terminal until it is left.
	raw    bool
	expiry *present.Expiry
	// inRaw carries out keys while the shell has the whole terminal.
	inRaw  *rawShell
	search *form.Input
	drag   drag
	warned time.Duration // the smallest warning given so far
	closed bool
	// extended is what the last extension did, and extendedAt when.
	extended   string
	extendedAt time.Time
}

// pane is a place on the screen that shows a session, nil before there is one.
type pane struct {
	s      *session
	widget *term.Widget
	// shown is what widget shows.
	shown *term.Session
	area  uv.Rectangle
}

// New makes a screen for the shells of s.
func New(o Options, s client.Sandbox) *Screen {
	return &Screen{opts: o, sb: s.Clone(), panes: []*pane{{}}, raw: o.Raw}
}

// Init implements ui.Screen: it shows the shell that is already there, else
// joins those of an earlier run, else starts one.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	s.env = env
	for _, x := range s.shells() {
		if !x.over() {
			s.panes[0].s = x
		}
	}
	switch {
	case s.cur() != nil:
		return s.rawWhenReady()
	case s.opts.Manager.opts.ReadOnly != "":
		return nil
	case !s.sb.Running():
		s.confirm = true
		return nil
	}
	return s.first()
}

// first looks for earlier shells and starts one where there are none.
func (s *Screen) first() tea.Cmd {
	if cmd, ok := s.opts.Manager.look(s.sb); ok {
		s.looking, s.confirm = true, false
		return cmd
	}
	return s.start()
}

// Close implements ui.Screen. The shells go on.
func (s *Screen) Close() {
	s.closed = true
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if !s.opts.Whole {
		return s.env.Lang.T("Shell")
	}
	return s.env.Lang.T("%s shell", present.Label(s.sb))
}

// shells are those of the sandbox, as tabs.
func (s *Screen) shells() []*session { return s.opts.Manager.in(present.KeyOf(s.sb)) }

// pane is the one that is typed into.
func (s *Screen) pane() *pane { return s.panes[s.focus] }

// cur is the shell that is typed into, or nil.
func (s *Screen) cur() *session { return s.pane().s }

// live is the running shell that is typed into, or nil.
func (s *Screen) live() *term.Session {
	if !s.cur().running() {
		return nil
	}
	s.view(s.pane())
	return s.cur().live
}

// view makes the widget of a pane show its session, nil if there is none yet.
func (s *Screen) view(p *pane) *term.Widget {
	if p.s == nil || p.s.live == nil {
		return nil
	}
	if p.shown != p.s.live {
		p.widget, p.shown = term.NewWidget(p.s.live.Terminal(), s.env.Theme), p.s.live
	}
	return p.widget
}

// browsing reports whether the text of the shell is moved through.
func (s *Screen) browsing() bool {
	w := s.pane().widget
	return w != nil && s.cur() != nil && s.pane().shown == s.cur().live && (w.Browsing() || w.Scrolled() > 0)
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	switch {
	case s.search != nil:
		return []keymap.Context{keymap.Input}
	case s.browsing():
		return []keymap.Context{keymap.Scrollback, keymap.Move}
	case !s.Captures() && !s.looking && (s.cur() == nil || s.cur().live != nil || s.cur().err != nil):
		// Nothing is typed into: enter attaches or starts again, esc goes back.
		return []keymap.Context{keymap.Menu, keymap.Shell}
	}
	return []keymap.Context{keymap.Shell}
}

// Captures implements ui.Capturer: keys go to the shell unless it is detached,
// ended, or being scrolled back.
func (s *Screen) Captures() bool {
	if s.search != nil {
		return true
	}
	return !s.released && !s.confirm && s.cur() != nil && !s.cur().over() && !s.browsing()
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	m := s.opts.Manager
	switch a {
	case keymap.ShellRecord, keymap.ShellRecordInput:
		if m.opts.RecordDir == "" {
			return s.env.Lang.T("there is no folder for recordings")
		}
	case keymap.ShellNew, keymap.ShellExtend:
		return m.opts.ReadOnly
	case keymap.ShellPaste:
		if m.clip == "" {
			return s.env.Lang.T("nothing was copied yet")
		}
	}
	return ""
}

// Chips implements ui.Chipper: a recording is always in sight.
func (s *Screen) Chips() []ui.Chip {
	if s.cur() == nil {
		return nil
	}
	if mark := s.cur().rec.mark(); mark != "" {
		return []ui.Chip{{Text: mark, Level: ui.ToastError}}
	}
	return nil
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		return s.key(m)
	case tea.PasteMsg:
		if s.search != nil {
			return s.searchKey(m)
		}
		return s.paste(m.Content)
	case tea.MouseMsg:
		return s.mouse(m)
	case ui.ActionMsg:
		return s.act(m.Action)
	case ui.TickMsg:
		return s.warn(m.Now)
	case ui.FocusMsg:
		if l := s.live(); l != nil {
			l.Focus(m.Focused)
		}
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
		for _, p := range s.panes {
			if p.widget != nil {
				p.widget.SetTheme(m.Theme)
			}
		}
	case startedMsg:
		return s.rawWhenReady()
	case foundMsg:
		return s.joined(m)
	case endedMsg:
		return s.ended(m.s)
	case attach.DoneMsg:
		return s.left(m)
	}
	s.note(msg)
	return s.chosen(msg)
}

// chosen goes on after a box of this screen was answered.
func (s *Screen) chosen(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case pasteMsg:
		if m.to == s {
			return s.pasteNow(m.text)
		}
	case linkMsg:
		if m.to == s {
			return s.openLink(m.target)
		}
	case openMsg:
		if m.to == s {
			return s.openNow(m.target)
		}
	case copyMsg:
		if m.to == s {
			return s.copy(m.text)
		}
	}
	return nil
}

// note keeps the facts of the sandbox current.
func (s *Screen) note(msg tea.Msg) {
	key := present.KeyOf(s.sb)
	switch m := msg.(type) {
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == key {
			s.sb = m.Sandbox.Clone()
		}
	case extendedMsg:
		if m.key == key {
			s.extended, s.extendedAt = m.text, s.env.Now()
		}
	case present.ListedMsg:
		if m.Provider != key.Provider {
			return
		}
		for _, sb := range m.Page.Sandboxes {
			if sb.ID == key.ID {
				sb.Provider = key.Provider
				s.sb = sb.Clone()
			}
		}
	}
}

// key types into the shell, or into the search line.
func (s *Screen) key(m tea.KeyPressMsg) tea.Cmd {
	if s.search != nil {
		return s.searchKey(m)
	}
	if l := s.live(); l != nil {
		w := s.pane().widget
		if !w.Selected() && w.Scrolled() == 0 {
			s.env.Pace.Still()
		}
		w.ClearSelection()
		w.ScrollBottom()
		s.cur().asked = true
		l.Key(m)
	}
	return nil
}

func (s *Screen) start() tea.Cmd {
	if why := s.opts.Manager.opts.ReadOnly; why != "" {
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("no new shell: %s", why))
	}
	s.released, s.confirm, s.looking = false, false, false
	x, cmd := s.opts.Manager.open(s.sb)
	s.show(x)
	return cmd
}

// show puts a shell into the pane that is typed into.
func (s *Screen) show(x *session) {
	for i, p := range s.panes {
		if p.s == x && i != s.focus {
			s.focus = i // it is in sight already
			return
		}
	}
	s.pane().s = x
}

// joined takes the shells of an earlier run, or starts the first one.
func (s *Screen) joined(m foundMsg) tea.Cmd {
	if m.key != present.KeyOf(s.sb) || !s.looking {
		return nil
	}
	s.looking = false
	list := s.shells()
	if len(list) == 0 {
		return s.start()
	}
	s.show(list[len(list)-1])
	return s.rawWhenReady()
}

// turn shows the next or previous shell of the sandbox.
func (s *Screen) turn(d int) {
	list := s.shells()
	for i, x := range list {
		if x == s.cur() {
			s.show(list[((i+d)%len(list)+len(list))%len(list)])
			return
		}
	}
	if len(list) > 0 {
		s.show(list[0])
	}
}

// split shows a second shell beside the first, or one again.
func (s *Screen) split() tea.Cmd {
	if len(s.panes) > 1 {
		s.panes, s.focus = []*pane{s.pane()}, 0
		return nil
	}
	second := &pane{}
	for _, x := range s.shells() {
		if x != s.cur() && !x.over() {
			second.s = x
		}
	}
	s.panes, s.focus = append(s.panes, second), 1
	if second.s != nil {
		return nil
	}
	cmd := s.start()
	if second.s == nil { // it was refused
		s.panes, s.focus = s.panes[:1], 0
	}
	return cmd
}

// remove closes the pane of a shell that is forgotten, if there is another.
func (s *Screen) remove(x *session) (last bool) {
	for i, p := range s.panes {
		if p.s != x {
			continue
		}
		if len(s.panes) > 1 {
			s.panes = []*pane{s.panes[1-i]}
			s.focus = 0
			return false
		}
		p.s, p.widget, p.shown = nil, nil, nil
		for _, other := range s.shells() {
			if other != x && !other.over() {
				p.s = other
			}
		}
		return p.s == nil
	}
	return false
}

// ended reacts to the end of a shell that is shown: after a clean exit its
// place goes to another one, or a window of its own closes; anything else stays
// to be read.
func (s *Screen) ended(x *session) tea.Cmd {
	shown := false
	for _, p := range s.panes {
		shown = shown || p.s == x
	}
	if !shown || s.closed {
		return nil
	}
	clean := x.live != nil && x.live.End().Err == nil && x.proc.Exit().OK()
	if !clean || !s.opts.Whole && len(s.shells()) == 1 {
		return nil
	}
	last := s.remove(x)
	cmds := []tea.Cmd{s.opts.Manager.forget(x), ui.Toast(ui.ToastInfo, s.env.Lang.T("%s: shell ended", present.Label(s.sb)))}
	if last && s.opts.Whole {
		cmds = append(cmds, ui.Cmd(ui.BackMsg{}))
	}
	return tea.Batch(cmds...)
}

// warn says once each when five minutes and one minute are left.
func (s *Screen) warn(now time.Time) tea.Cmd {
	left, ok := s.sb.Remaining(now)
	if !ok || left == 0 {
		return nil
	}
	if left > present.ExpiryWarnings()[0] {
		s.warned = 0
		return nil
	}
	due := present.Due(left, s.warned)
	if due == 0 {
		return nil
	}
	s.warned = due
	text := s.env.Lang.T("%s ends in %s", present.Label(s.sb), present.Duration(left))
	if key := present.KeyIn(s.env.Keys, keymap.Shell, keymap.ShellExtend); key != "" {
		text += "; " + s.env.Lang.T("%s extends", key)
	}
	return ui.Toast(ui.ToastWarn, text)
}

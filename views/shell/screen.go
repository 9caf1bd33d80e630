package shell

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// Options is how a shell screen stands in the dashboard.
type Options struct {
	Manager *Manager
	// Whole says that the screen is a window of its own: detaching closes it.
	// As a tab it only gives the keys back.
	Whole bool
}

// Screen shows one shell of a sandbox at a time.
type Screen struct {
	opts Options
	env  ui.Env
	sb   client.Sandbox

	cur    *session
	widget *term.Widget
	widFor *term.Session
	// released is set after detaching in a tab: keys go to the dashboard again.
	released bool
	// confirm is set while a sandbox that does not run has not been asked for again.
	confirm bool
	// sizes gets the size of the pane once for a shell that is being started.
	sizes  chan client.Size
	body   uv.Rectangle
	warned time.Duration // the smallest warning given so far
	closed bool
}

// New makes a screen for the shells of s.
func New(o Options, s client.Sandbox) *Screen { return &Screen{opts: o, sb: s} }

// Init implements ui.Screen: it shows the shell that is already there, else starts one.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	s.env = env
	for _, x := range s.opts.Manager.in(present.KeyOf(s.sb)) {
		if !x.over() {
			s.cur = x
		}
	}
	if s.cur != nil {
		return nil
	}
	if !s.sb.Running() {
		s.confirm = true
		return nil
	}
	return s.start()
}

// Close implements ui.Screen. The shells go on.
func (s *Screen) Close() { s.closed = true }

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if !s.opts.Whole {
		return "Shell"
	}
	return present.Label(s.sb) + " shell"
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	if s.scrolled() {
		return []keymap.Context{keymap.Scrollback, keymap.Move}
	}
	if !s.Captures() && (s.cur == nil || s.cur.live != nil || s.cur.err != nil) {
		// Nothing is typed into: enter attaches or starts again, esc goes back.
		return []keymap.Context{keymap.Menu, keymap.Shell}
	}
	return []keymap.Context{keymap.Shell}
}

// Captures implements ui.Capturer: keys go to the shell unless it is detached,
// ended, or being scrolled back.
func (s *Screen) Captures() bool {
	return !s.released && !s.confirm && s.cur != nil && !s.cur.over() && !s.scrolled()
}

func (s *Screen) scrolled() bool { return s.widget != nil && s.widget.Scrolled() > 0 }

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	if a == keymap.ShellRecord {
		return "recording is not there yet"
	}
	return ""
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
		if s.widget != nil {
			s.widget.SetTheme(m.Theme)
		}
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(s.sb) {
			s.sb = m.Sandbox.Clone()
		}
	case ui.TickMsg:
		return s.warn(m.Now)
	case ui.FocusMsg:
		if l := s.live(); l != nil {
			l.Focus(m.Focused)
		}
	case endedMsg:
		return s.ended(m.s)
	case tea.KeyPressMsg:
		if l := s.live(); l != nil {
			s.widget.ScrollBottom()
			l.Key(m)
		}
	case tea.PasteMsg:
		if l := s.live(); l != nil {
			l.Paste(m.Content)
		}
	case tea.MouseMsg:
		s.mouse(m)
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

// live is the running shell that is shown, or nil.
func (s *Screen) live() *term.Session {
	if s.cur == nil || s.cur.live == nil || s.cur.over() {
		return nil
	}
	s.sync()
	return s.cur.live
}

// sync makes the widget show the current shell.
func (s *Screen) sync() {
	if s.cur == nil || s.cur.live == nil || s.widFor == s.cur.live {
		return
	}
	s.widget = term.NewWidget(s.cur.live.Terminal(), s.env.Theme)
	s.widFor = s.cur.live
}

func (s *Screen) start() tea.Cmd {
	s.released, s.confirm = false, false
	var cmd tea.Cmd
	s.sizes = make(chan client.Size, 1)
	s.cur, cmd = s.opts.Manager.open(s.sb, s.sizes)
	s.widget, s.widFor = nil, nil
	return cmd
}

// act carries out an action; those of the shell come after the leader key.
func (s *Screen) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.ShellDetach:
		if s.opts.Whole {
			return ui.Cmd(ui.BackMsg{})
		}
		s.released = true
	case keymap.ShellNew:
		return s.start()
	case keymap.ShellNext:
		s.turn(1)
	case keymap.ShellPrev:
		s.turn(-1)
	case keymap.ShellLiteral:
		if l := s.live(); l != nil {
			l.Send([]byte{0x1d})
		}
	case keymap.ShellScrollback:
		if s.live() != nil && !s.widget.Scroll(1) {
			return ui.Toast(ui.ToastInfo, "nothing has scrolled away yet")
		}
	case keymap.ShellZoom:
		if !s.opts.Whole {
			return ui.Open(present.RouteShell, present.ShellParams{Sandbox: s.sb})
		}
		return ui.Cmd(ui.BackMsg{})
	case keymap.ShellUndo:
		return ui.Cmd(ui.ActionMsg{Action: keymap.AppUndo})
	case keymap.ShellHelp:
		return ui.Cmd(ui.ActionMsg{Action: keymap.AppHelp})
	case keymap.NavBack:
		return s.back()
	case keymap.MenuChoose, keymap.SandboxShell:
		return s.again()
	default:
		s.scroll(a)
	}
	return nil
}

// back leaves the scroll-back, or the screen.
func (s *Screen) back() tea.Cmd {
	if s.scrolled() {
		s.widget.ScrollBottom()
		return nil
	}
	if s.cur != nil && s.cur.over() && s.cur.said {
		s.opts.Manager.forget(s.cur)
	}
	return ui.Cmd(ui.BackMsg{})
}

// again takes the keys back, or starts a new shell where the old one has ended.
func (s *Screen) again() tea.Cmd {
	switch {
	case s.confirm:
		return s.start()
	case s.cur == nil:
		return s.start()
	case s.cur.over():
		s.opts.Manager.forget(s.cur)
		return s.start()
	}
	s.released = false
	return nil
}

func (s *Screen) scroll(a keymap.Action) {
	if s.widget == nil {
		return
	}
	switch a {
	case keymap.MoveUp:
		s.widget.Scroll(1)
	case keymap.MoveDown:
		s.widget.Scroll(-1)
	case keymap.MovePageUp, keymap.MoveHalfUp:
		s.widget.ScrollPage(1)
	case keymap.MovePageDown, keymap.MoveHalfDown:
		s.widget.ScrollPage(-1)
	case keymap.MoveTop:
		s.widget.ScrollTop()
	case keymap.MoveBottom:
		s.widget.ScrollBottom()
	}
}

// turn shows the next or previous shell of the sandbox.
func (s *Screen) turn(d int) {
	list := s.opts.Manager.in(present.KeyOf(s.sb))
	for i, x := range list {
		if x == s.cur {
			s.cur = list[((i+d)%len(list)+len(list))%len(list)]
			return
		}
	}
}

// ended reacts to the end of the shell that is shown: a window of its own
// closes after a clean exit; anything else stays to be read.
func (s *Screen) ended(x *session) tea.Cmd {
	if x != s.cur || s.closed {
		return nil
	}
	if s.opts.Whole && x.live != nil && x.live.End().Err == nil && x.proc.Exit().OK() {
		s.opts.Manager.forget(x)
		return tea.Batch(ui.Cmd(ui.BackMsg{}), ui.Toast(ui.ToastInfo, present.Label(s.sb)+": shell ended"))
	}
	return nil
}

// warnings of the remaining lifetime, largest first.
func warnings() []time.Duration { return []time.Duration{5 * time.Minute, time.Minute} }

// warn says once each when five minutes and one minute are left.
func (s *Screen) warn(now time.Time) tea.Cmd {
	left, ok := s.sb.Remaining(now)
	if !ok || left == 0 {
		return nil
	}
	if left > warnings()[0] {
		s.warned = 0
		return nil
	}
	var due time.Duration
	for _, w := range warnings() {
		if left <= w && (s.warned == 0 || w < s.warned) {
			due = w
		}
	}
	if due == 0 {
		return nil
	}
	s.warned = due
	return ui.Toast(ui.ToastWarn, present.Label(s.sb)+" ends in "+present.Duration(left))
}

// mouse goes to the program if it wants it; else the wheel scrolls back.
func (s *Screen) mouse(m tea.MouseMsg) {
	at := m.Mouse()
	l := s.live()
	if l == nil || !(uv.Position{X: at.X, Y: at.Y}).In(s.body) {
		return
	}
	if _, ok := m.(tea.MouseClickMsg); ok {
		s.released = false
	}
	if !s.scrolled() && l.Mouse(m, at.X-s.body.Min.X, at.Y-s.body.Min.Y) {
		return
	}
	if w, ok := m.(tea.MouseWheelMsg); ok {
		switch w.Button {
		case tea.MouseWheelUp:
			s.widget.Scroll(3)
		case tea.MouseWheelDown:
			s.widget.Scroll(-3)
		}
	}
}

// Draw implements ui.Screen: the terminal, and one line that always says how to leave.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	s.body = uv.Rect(area.Min.X, area.Min.Y, area.Dx(), max(0, area.Dy()-1))
	if s.body.Dx() <= 0 || s.body.Dy() <= 0 {
		return nil
	}
	s.fit()
	cur := s.drawBody(scr, t)
	draw.Line(scr, uv.Rect(area.Min.X, area.Max.Y-1, area.Dx(), 1), 0, "", t.Bar.Status)
	s.drawBar(scr, uv.Rect(area.Min.X, area.Max.Y-1, area.Dx(), 1))
	return cur
}

// fit tells the shell the size of its pane.
func (s *Screen) fit() {
	if s.sizes != nil {
		s.sizes <- client.Size{Cols: s.body.Dx(), Rows: s.body.Dy()}
		s.sizes = nil
	}
	if l := s.live(); l != nil {
		l.Resize(s.body.Dx(), s.body.Dy())
	}
}

func (s *Screen) drawBody(scr uv.Screen, t *theme.Theme) *tea.Cursor {
	switch {
	case s.confirm:
		draw.Text(scr, s.body.Min.X+1, s.body.Min.Y, s.body.Dx()-2,
			"This sandbox is "+present.StateWord(s.sb)+", not running. enter tries a shell all the same, esc goes back.", t.Text.Warn)
		return nil
	case s.cur == nil:
		return nil
	case s.cur.err != nil:
		draw.Text(scr, s.body.Min.X+1, s.body.Min.Y, s.body.Dx()-2, s.cur.ending(), t.Text.Error)
		return nil
	case s.cur.live == nil:
		draw.Text(scr, s.body.Min.X+1, s.body.Min.Y, s.body.Dx()-2, "starting a shell …", t.Text.Dim)
		return nil
	}
	s.sync()
	s.widget.SetFocused(s.Captures())
	return s.widget.Draw(scr, s.body)
}

// drawBar words the state of the shell, its lifetime, and the keys that leave it.
func (s *Screen) drawBar(scr uv.Screen, row uv.Rectangle) {
	t := s.env.Theme
	right := "TTL " + present.TTL(s.sb, s.env.Now()) + " "
	st := t.Bar.Status
	if left, ok := s.sb.Remaining(s.env.Now()); ok && left < 5*time.Minute {
		st = t.Text.Warn
	}
	w := row.Dx()
	if len(right)+10 < w {
		w -= draw.Text(scr, row.Max.X-len([]rune(right)), row.Min.Y, len(right), right, st) + 1
	}
	draw.Text(scr, row.Min.X+1, row.Min.Y, w-1, s.barText(), t.Bar.Status)
}

func (s *Screen) barText() string {
	if s.confirm || s.cur == nil {
		return "enter shell · esc back"
	}
	list := s.opts.Manager.in(present.KeyOf(s.sb))
	var tabs strings.Builder
	for _, x := range list {
		if x == s.cur {
			tabs.WriteString("[" + x.name + "] ")
		} else {
			tabs.WriteString(x.name + " ")
		}
	}
	switch {
	case s.cur.over():
		return tabs.String() + s.cur.ending() + " · enter new shell · esc back"
	case s.scrolled():
		return tabs.String() + "scrolled back · pgup/pgdn · esc live"
	case s.released:
		return tabs.String() + "detached, the shell goes on · enter attach · esc back"
	}
	if s.cur.live == nil {
		return tabs.String() + "starting"
	}
	if title := present.CleanMax(s.cur.live.Terminal().Title(), 60); title != "" {
		return tabs.String() + title
	}
	return tabs.String() + "attached"
}

package ports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// How often it is looked again while the tab is shown.
const (
	lookEvery        = 10 * time.Second
	lookEveryUnfocus = time.Minute
)

// Options is what main hands in.
type Options struct {
	Provider client.Provider
	Manager  *Manager
	// OpenURL shows an address in the user's browser; nil says that there is none.
	OpenURL func(url string) error
}

// Screen is the Ports tab.
type Screen struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc
	sb     client.Sandbox

	list  *table.Table[row]
	found []Listener
	known bool
	err   error
	pace  present.Pace
	area  uv.Rectangle
}

// row is one port as it is listed.
type row struct {
	Listener
	// url is "" where the provider gives none; to is the local end of a forward.
	url, to string
	// hint stands for an address that a forward would give.
	hint string
}

// scannedMsg is the answer to one look.
type scannedMsg struct {
	owner *Screen
	list  []Listener
	err   error
}

// New makes the tab for s.
func New(o Options, s client.Sandbox) *Screen {
	return &Screen{opts: o, sb: s, list: newList(nil), pace: present.Pace{Every: lookEvery, Unfocused: lookEveryUnfocus}}
}

func newList(tr *lang.Catalog) *table.Table[row] {
	text := func(s string) []table.Span { return []table.Span{{Text: s}} }
	t := table.New(table.Config[row]{
		ID: func(r row) string { return strconv.Itoa(r.Port) },
		Columns: []table.Column[row]{
			{
				Key: "port", Title: tr.T("PORT"), Min: 5, Max: 6, Align: table.Right,
				Compare: func(a, b row) int { return cmp.Compare(a.Port, b.Port) },
				Cell:    func(r row, _ int) []table.Span { return text(strconv.Itoa(r.Port)) },
			},
			{
				Key: "process", Title: tr.T("PROCESS"), Min: 10, Max: 24, Weight: 1,
				Compare: func(a, b row) int { return strings.Compare(a.Process, b.Process) },
				Cell:    func(r row, _ int) []table.Span { return text(who(r.Listener, tr)) },
			},
			{
				Key: "listens", Title: tr.T("LISTENS"), Min: 9, Max: 24, Priority: 2, Weight: 1,
				Cell: func(r row, _ int) []table.Span { return text(where(r.Listener, tr)) },
			},
			{
				Key: "forward", Title: tr.T("HERE"), Min: 6, Max: 16, Priority: 1,
				Cell: func(r row, _ int) []table.Span { return text(r.to) },
			},
			{
				Key: "url", Title: tr.T("ADDRESS"), Min: 10, Weight: 4, ElideMiddle: true, Priority: 1,
				Cell: func(r row, _ int) []table.Span { return text(cmp.Or(r.url, r.hint)) },
			},
		},
		Empty: tr.T("Nothing listens in this sandbox."),
	})
	t.SetSort("port", false)
	return t
}

// who names the process, and what a well-known port of sandboxes is for.
func who(l Listener, tr *lang.Catalog) string {
	out := present.CleanMax(l.Process, 40)
	if l.PID > 0 {
		out += fmt.Sprintf(" (%d)", l.PID)
	}
	if out == "" {
		out = "?"
	}
	switch l.Port {
	case 49983:
		out += " " + tr.T("agent")
	case 49999:
		out += " " + tr.T("code")
	case 9000:
		out += " " + tr.T("server")
	}
	return out
}

// where words the addresses it listens on.
func where(l Listener, tr *lang.Catalog) string {
	var out []string
	for _, a := range l.Addresses {
		if a.IsUnspecified() {
			return tr.T("everywhere")
		}
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	s.list = newList(env.Lang)
	return nil
}

// Close implements ui.Screen. Forwards go on.
func (s *Screen) Close() { s.cancel() }

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.env.Lang.T("Ports") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context { return []keymap.Context{keymap.Ports} }

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	r, ok := s.list.Cursor()
	switch a {
	case keymap.PortOpen, keymap.PortCopy, keymap.PortQR, keymap.PortForward:
		if !ok {
			return s.env.Lang.T("nothing listens here")
		}
	default:
		return ""
	}
	if a == keymap.PortForward {
		return whyNot(s.opts.Provider, s.env.Lang)
	}
	if s.address(r) == "" {
		return s.env.Lang.T("this provider gives ports no address; %s forwards it to this machine", s.env.Keys.Hint(keymap.PortForward))
	}
	if a == keymap.PortQR && s.providerURL(r.Port) == "" {
		return s.env.Lang.T("only this machine reaches a forward, no telephone does")
	}
	if a == keymap.PortOpen && s.opts.OpenURL == nil {
		return s.env.Lang.T("no browser is known here")
	}
	return ""
}

// address is where a port is reached from here: the local end of a forward, or
// the provider's URL.
func (s *Screen) address(r row) string {
	if f := s.opts.Manager.at(place{present.KeyOf(s.sb), r.Port}); f != nil && f.addr != "" {
		return "http://" + f.addr
	}
	return r.url
}

// providerURL is where anyone with the right to it reaches a port, "" if the
// provider gives no such address.
func (s *Screen) providerURL(port int) string {
	urls, ok := client.Find[client.Ports](s.opts.Provider)
	if !ok {
		return ""
	}
	u, err := urls.PortURL(s.sb.ID, port)
	if err != nil {
		return ""
	}
	return present.Clean(u)
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if s.pace.Update(msg) {
		return s.look()
	}
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
		s.list.Invalidate()
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(s.sb) {
			s.sb = m.Sandbox.Clone()
		}
	case scannedMsg:
		s.scanned(m)
	case openedMsg:
		s.fill()
	case tea.MouseMsg:
		if (uv.Position{X: m.Mouse().X, Y: m.Mouse().Y}).In(s.area) {
			s.list.Mouse(m, s.env.Now())
		}
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

// look asks the sandbox, one look at a time. A sandbox that does not run is not asked.
func (s *Screen) look() tea.Cmd {
	if !s.sb.Running() || !s.pace.Begin(s.env.Now()) {
		return nil
	}
	ctx, p, id := s.env.Ctx, s.opts.Provider, s.sb.ID
	return func() tea.Msg {
		list, err := Scan(ctx, p, id)
		return scannedMsg{owner: s, list: list, err: err}
	}
}

func (s *Screen) scanned(m scannedMsg) {
	if m.owner != s {
		return
	}
	s.pace.End()
	if errors.Is(m.err, context.Canceled) {
		return
	}
	if s.err = m.err; m.err == nil {
		s.found, s.known = m.list, true
		s.fill()
	}
}

// fill lists what was found and what is forwarded, even if it no longer listens.
func (s *Screen) fill() {
	key := present.KeyOf(s.sb)
	rows := make([]row, 0, len(s.found))
	listed := map[int]bool{}
	add := func(l Listener) {
		r := row{Listener: l, url: s.providerURL(l.Port)}
		listed[l.Port] = true
		if f := s.opts.Manager.at(place{key, l.Port}); f != nil && f.addr != "" {
			r.to = ":" + f.addr[strings.LastIndexByte(f.addr, ':')+1:]
			if r.url == "" {
				r.url = "http://" + f.addr
			}
		}
		if r.url == "" && whyNot(s.opts.Provider, s.env.Lang) == "" {
			r.hint = s.env.Lang.T("%s forwards it here", s.env.Keys.Hint(keymap.PortForward))
		}
		rows = append(rows, r)
	}
	for _, l := range s.found {
		add(l)
	}
	for at := range s.opts.Manager.forwards {
		if at.key == key && !listed[at.port] {
			add(Listener{Port: at.port})
		}
	}
	s.list.SetRows(rows)
	s.list.Invalidate()
}

func (s *Screen) act(a keymap.Action) tea.Cmd {
	r, ok := s.list.Cursor()
	switch a {
	case keymap.NavBack:
		return ui.Cmd(ui.BackMsg{})
	case keymap.AppRefresh:
		return s.look()
	case keymap.PortOpen:
		if ok {
			return s.open(s.address(r))
		}
	case keymap.PortCopy:
		if ok {
			url := s.address(r)
			return tea.Batch(tea.SetClipboard(url), ui.Toast(ui.ToastOK, s.env.Lang.T("copied %s", url)))
		}
	case keymap.PortQR:
		if ok {
			return showQR(s.providerURL(r.Port), s.env.Lang)
		}
	case keymap.PortForward:
		if ok {
			return s.forward(r)
		}
	default:
		s.list.Do(a)
	}
	return nil
}

func (s *Screen) open(url string) tea.Cmd {
	open, tr := s.opts.OpenURL, s.env.Lang
	return func() tea.Msg {
		if err := open(url); err != nil {
			return ui.ToastMsg{Level: ui.ToastError, Text: tr.T("open: %s", present.CleanMax(err.Error(), 200))}
		}
		return ui.ToastMsg{Level: ui.ToastOK, Text: tr.T("opened %s", url)}
	}
}

// forward begins or ends the forward of a port.
func (s *Screen) forward(r row) tea.Cmd {
	at := place{present.KeyOf(s.sb), r.Port}
	if s.opts.Manager.at(at) != nil {
		s.opts.Manager.end(at)
		s.fill()
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("port %d is no longer forwarded", r.Port))
	}
	return s.opts.Manager.begin(at, s.opts.Provider)
}

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	in := draw.Box(scr, area, t, s.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dy() <= 0 {
		return nil
	}
	note, st := "", t.Text.Dim
	switch {
	case s.err != nil:
		note, st = present.ErrorLine(s.err), t.Text.Error
	case !s.known && !s.sb.Running():
		note = s.env.Lang.T("only a running sandbox can be asked")
	case !s.known:
		note = s.env.Lang.T("asking the sandbox who listens …")
	}
	s.area = in
	if note != "" {
		draw.Line(scr, in, 0, " "+note, st)
		if !s.known {
			return nil
		}
		s.area = uv.Rect(in.Min.X, in.Min.Y+1, in.Dx(), in.Dy()-1)
	}
	s.list.Draw(scr, s.area, t, true)
	return nil
}

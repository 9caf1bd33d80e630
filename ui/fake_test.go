package ui_test

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"go.uber.org/goleak"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/table"
	"abxdash/ui/uitest"
)

func TestMain(m *testing.M) {
	// The framework's reader stays behind when keys are left over at the end.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).StreamEvents"))
}

// fake is a screen that records what reaches it and does as it is told.
type fake struct {
	env      ui.Env
	title    string
	contexts []keymap.Context
	captures bool
	disabled map[keymap.Action]string
	stakes   []string
	survives []string
	chips    []ui.Chip
	on       map[keymap.Action]tea.Cmd
	panicIn  string

	actions []ui.ActionMsg
	keys    []string
	pastes  []string
	mice    []tea.MouseMsg
	others  []tea.Msg
	themes  int
	ticks   int
	closed  int
	draws   int
}

func (f *fake) boom(where string) {
	if f.panicIn == where {
		panic("boom in " + where)
	}
}

func (f *fake) Init(env ui.Env) tea.Cmd {
	f.env = env
	f.boom("Init")
	return nil
}

func (f *fake) Update(msg tea.Msg) tea.Cmd {
	f.boom("Update")
	switch msg := msg.(type) {
	case ui.ActionMsg:
		f.actions = append(f.actions, msg)
		if cmd, ok := f.on[msg.Action]; ok {
			return cmd
		}
		if msg.Action == keymap.NavBack {
			return ui.Back()
		}
	case tea.KeyPressMsg:
		f.keys = append(f.keys, msg.String())
	case tea.PasteMsg:
		f.pastes = append(f.pastes, msg.Content)
	case tea.MouseMsg:
		f.mice = append(f.mice, msg)
	case ui.ThemeMsg:
		f.themes++
		f.env.Theme = msg.Theme
	case ui.TickMsg:
		f.ticks++
	default:
		f.others = append(f.others, msg)
	}
	return nil
}

func (f *fake) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	f.boom("Draw")
	f.draws++
	t := f.env.Theme
	in := draw.Box(scr, area, t, f.title, t.Border.Focused, t.Border.TitleFocused)
	draw.Text(scr, in.Min.X, in.Min.Y, in.Dx(), "body of "+f.title, t.Text.Normal)
	if f.captures {
		return tea.NewCursor(in.Min.X, in.Min.Y)
	}
	return nil
}

func (f *fake) Keys() []keymap.Context {
	f.boom("Keys")
	return f.contexts
}

func (f *fake) Title() string {
	f.boom("Title")
	return f.title
}

func (f *fake) Close() {
	f.closed++
	f.boom("Close")
}
func (f *fake) Captures() bool                  { return f.captures }
func (f *fake) Disabled(a keymap.Action) string { return f.disabled[a] }
func (f *fake) AtStake() []string               { return f.stakes }
func (f *fake) Survives() []string              { return f.survives }
func (f *fake) Chips() []ui.Chip                { return f.chips }
func (f *fake) Size(maxW, maxH int) (w, h int)  { return min(30, maxW), min(6, maxH) }
func (f *fake) did(a keymap.Action) (n int) {
	for _, m := range f.actions {
		if m.Action == a {
			n++
		}
	}
	return n
}

// work is a background that records.
type work struct {
	status  string
	handles map[keymap.Action]bool
	stakes  []string
	seen    []ui.ActionMsg
	others  int
	closed  int
	panics  bool
}

func (w *work) Init(ui.Env) tea.Cmd { return nil }

func (w *work) Update(msg tea.Msg) (tea.Cmd, bool) {
	if w.panics {
		panic("boom in the background")
	}
	a, ok := msg.(ui.ActionMsg)
	if !ok {
		w.others++
		return nil, false
	}
	w.seen = append(w.seen, a)
	return nil, w.handles[a.Action]
}
func (w *work) Status() string    { return w.status }
func (w *work) Close()            { w.closed++ }
func (w *work) AtStake() []string { return w.stakes }

// clock is a hand-set clock.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// desk is a driven Root with a list, a detail screen and a background.
type desk struct {
	*uitest.Driver
	list, detail *fake
	work         *work
	clock        *clock
	panics       []string
}

func newDesk(t testing.TB, w, h int, change ...func(*ui.Options)) *desk {
	t.Helper()
	d := &desk{
		list:   &fake{title: "Sandboxes", contexts: []keymap.Context{keymap.List, keymap.Sandbox, keymap.Move}, on: map[keymap.Action]tea.Cmd{keymap.NavBack: nil}},
		detail: &fake{title: "web-agent-3", contexts: []keymap.Context{keymap.Overview, keymap.Detail, keymap.Sandbox, keymap.Move}},
		work:   &work{handles: map[keymap.Action]bool{}},
		clock:  &clock{time.Date(2031, 1, 1, 13, 58, 0, 0, time.UTC)},
	}
	d.list.on[keymap.ListOpen] = ui.Open("detail", nil)
	o := ui.Options{
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			"list":   func(ui.Params) ui.Screen { return d.list },
			"detail": func(ui.Params) ui.Screen { return d.detail },
		},
		Start: "list", Background: []ui.Background{d.work}, Now: d.clock.Now,
		OnPanic: func(where string, v any, _ []byte) { d.panics = append(d.panics, fmt.Sprint(where, ": ", v)) },
	}
	for _, c := range change {
		c(&o)
	}
	d.Driver = uitest.Start(t, o, w, h)
	return d
}

// rows is a screen with a table, for frames with many rows.
type rowsScreen struct {
	fake
	table *table.Table[int]
}

func newRows(n int) *rowsScreen {
	s := &rowsScreen{fake: fake{title: "Sandboxes", contexts: []keymap.Context{keymap.List, keymap.Sandbox, keymap.Move}}}
	cell := func(f string) func(int, int) []table.Span {
		return func(i, _ int) []table.Span { return []table.Span{{Text: fmt.Sprintf(f, i)}} }
	}
	s.table = table.New(table.Config[int]{
		ID: func(i int) string { return fmt.Sprint(i) }, Version: func(int) uint64 { return 1 },
		Columns: []table.Column[int]{
			{Key: "name", Title: "NAME", Min: 12, Weight: 1, Cell: cell("web-agent-%d")},
			{Title: "PROVIDER", Min: 10, Cell: cell("local")},
			{Title: "TEMPLATE", Min: 16, Cell: cell("py-data:v%d")},
			{Title: "STATE", Min: 10, Cell: func(i, _ int) []table.Span {
				st := s.env.Theme.State([]string{"running", "paused", "failed"}[i%3])
				return []table.Span{{Text: st.Symbol + " state", Style: st.Style}}
			}},
			{Title: "AGE", Min: 6, Align: table.Right, Cell: cell("%dm")},
			{Title: "TTL", Min: 6, Align: table.Right, Cell: cell("%ds")},
		},
	})
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	s.table.SetRows(all)
	return s
}

func (s *rowsScreen) Update(msg tea.Msg) tea.Cmd {
	if a, ok := msg.(ui.ActionMsg); ok && s.table.Do(a.Action) {
		return nil
	}
	if m, ok := msg.(tea.MouseMsg); ok {
		s.table.Mouse(m, time.Time{})
	}
	return nil
}

func (s *rowsScreen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	s.table.Draw(scr, draw.Box(scr, area, t, s.title, t.Border.Focused, t.Border.TitleFocused), t, true)
	return nil
}

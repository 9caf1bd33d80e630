// Package dialog has the small modal boxes: a message, a yes-or-no question, a
// menu, and a question that wants a number typed. Each is a [ui.Overlay]; what
// it decides comes back as the command that its owner gave it.
package dialog

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
)

// Line is one line of a box.
type Line struct {
	Text  string
	Style uv.Style
}

// Plain makes lines of ordinary text; untrusted text becomes safe.
func Plain(text string) []Line {
	var out []Line
	for _, s := range strings.Split(text, "\n") {
		out = append(out, Line{Text: draw.Clean(s)})
	}
	return out
}

// frame is what all boxes share.
type frame struct {
	title  string
	lines  []Line
	danger bool
	env    ui.Env
	top    int // first line shown when there are more than fit
	rows   int // lines that fitted at the last Draw
}

func (f *frame) setEnv(env ui.Env) { f.env = env }

// Title implements ui.Overlay.
func (f *frame) Title() string { return f.title }

// Close implements ui.Overlay.
func (f *frame) Close() {}

// maxWidth keeps lines of text readable in wide windows.
const maxWidth = 76

// wrapped is the text at a width.
func (f *frame) wrapped(width int) []Line {
	var out []Line
	for _, l := range f.lines {
		for _, s := range strings.Split(ansi.Wrap(l.Text, max(width, 1), " "), "\n") {
			out = append(out, Line{Text: s, Style: l.Style})
		}
	}
	return out
}

// size is the outer size for the text and extra rows below it.
func (f *frame) size(maxW, maxH, wide, extra int) (w, h int) {
	inner := max(wide, ansi.StringWidth(f.title)+4)
	for _, l := range f.lines {
		inner = max(inner, ansi.StringWidth(l.Text))
	}
	inner = min(inner, maxWidth, max(maxW-4, 1))
	return inner + 4, min(len(f.wrapped(inner))+extra+2, maxH)
}

// box draws frame and text and returns the room left below the text.
func (f *frame) box(scr uv.Screen, area uv.Rectangle, extra int) uv.Rectangle {
	t := f.env.Theme
	border, title := t.Border.Focused, t.Border.TitleFocused
	if f.danger {
		border, title = t.Border.Danger, theme.Over(t.Border.Title, uv.Style{Fg: t.Border.Danger.Fg})
	}
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, f.title, border, title)
	in = uv.Rect(in.Min.X+1, in.Min.Y, max(in.Dx()-2, 0), in.Dy())
	lines := f.wrapped(in.Dx())
	f.rows = max(in.Dy()-extra, 0)
	f.top = max(min(f.top, len(lines)-f.rows), 0)
	shown := lines[f.top:min(f.top+f.rows, len(lines))]
	for i, l := range shown {
		draw.Text(scr, in.Min.X, in.Min.Y+i, in.Dx(), l.Text, l.Style)
	}
	return uv.Rect(in.Min.X, in.Min.Y+len(shown), in.Dx(), in.Dy()-len(shown))
}

// hints draws keys and what they do into the last row of area.
func (f *frame) hints(scr uv.Screen, area uv.Rectangle, hints ...draw.Hint) {
	draw.Hints(scr, area, f.env.Theme, hints...)
}

func (f *frame) hint(c keymap.Context, a keymap.Action, what string) draw.Hint {
	return draw.Hint{Key: f.env.Keys.HintIn(c, a), What: what}
}

// move scrolls the text.
func (f *frame) move(a keymap.Action) {
	switch a {
	case keymap.MoveUp:
		f.top--
	case keymap.MoveDown:
		f.top++
	case keymap.MovePageUp, keymap.MoveHalfUp:
		f.top -= max(f.rows-1, 1)
	case keymap.MovePageDown, keymap.MoveHalfDown:
		f.top += max(f.rows-1, 1)
	case keymap.MoveTop:
		f.top = 0
	case keymap.MoveBottom:
		f.top = len(f.lines) * 4
	}
	f.top = max(f.top, 0)
}

// theme keeps the style of the box current.
func (f *frame) theme(msg tea.Msg) {
	if m, ok := msg.(ui.ThemeMsg); ok {
		f.env.Theme = m.Theme
	}
}

// MessageBox shows text until it is closed.
type MessageBox struct{ frame }

// Message makes a box that only informs.
func Message(title string, lines []Line) *MessageBox {
	return &MessageBox{frame{title: title, lines: lines}}
}

// Init implements ui.Overlay.
func (m *MessageBox) Init(env ui.Env) tea.Cmd {
	m.setEnv(env)
	return nil
}

// Keys implements ui.Overlay.
func (m *MessageBox) Keys() []keymap.Context { return []keymap.Context{keymap.Message, keymap.Move} }

// Update implements ui.Overlay.
func (m *MessageBox) Update(msg tea.Msg) tea.Cmd {
	m.theme(msg)
	if a, ok := msg.(ui.ActionMsg); ok {
		if a.Action == keymap.NavBack {
			return ui.CloseOverlay(m)
		}
		m.move(a.Action)
	}
	return nil
}

// Size implements ui.Overlay.
func (m *MessageBox) Size(maxW, maxH int) (w, h int) { return m.size(maxW, maxH, 0, 2) }

// Draw implements ui.Overlay.
func (m *MessageBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	rest := m.box(scr, area, 2)
	m.hints(scr, rest, m.hint(keymap.Message, keymap.NavBack, m.env.Lang.T("close")))
	return nil
}

// ConfirmOptions describe a yes-or-no question.
type ConfirmOptions struct {
	Title string
	Lines []Line
	// Yes and No are what the keys do, e.g. "delete"; "" is "yes" and "no".
	Yes, No string
	// Danger draws the box as a warning.
	Danger bool
	// OnYes runs after the box is closed by yes; OnNo, if set, after no or esc.
	OnYes, OnNo tea.Cmd
	// Count, if not 0, has to be typed before enter confirms; y alone does nothing.
	Count int
}

// ConfirmBox asks. Enter never confirms, except after the typed count.
type ConfirmBox struct {
	frame
	opts  ConfirmOptions
	input *form.Input
	wrong bool
}

// Confirm makes a question.
func Confirm(o ConfirmOptions) *ConfirmBox {
	return &ConfirmBox{frame: frame{title: o.Title, lines: o.Lines, danger: o.Danger}, opts: o}
}

// Init implements ui.Overlay.
func (c *ConfirmBox) Init(env ui.Env) tea.Cmd {
	c.setEnv(env)
	if c.opts.Yes == "" {
		c.opts.Yes = env.Lang.T("yes")
	}
	if c.opts.No == "" {
		c.opts.No = env.Lang.T("no")
	}
	if c.opts.Count > 0 {
		c.input = form.NewInput(env.Keys, keymap.Input, env.Lang.T("type %d to %s: ", c.opts.Count, c.opts.Yes))
	}
	return nil
}

// Captures implements ui.Capturer: a number is being typed.
func (c *ConfirmBox) Captures() bool { return c.opts.Count > 0 }

// Keys implements ui.Overlay.
func (c *ConfirmBox) Keys() []keymap.Context {
	if c.opts.Count > 0 {
		return []keymap.Context{keymap.Input}
	}
	return []keymap.Context{keymap.Confirm, keymap.Move}
}

// Update implements ui.Overlay.
func (c *ConfirmBox) Update(msg tea.Msg) tea.Cmd {
	c.theme(msg)
	switch msg := msg.(type) {
	case ui.ActionMsg:
		switch msg.Action {
		case keymap.ConfirmYes:
			return c.close(c.opts.OnYes)
		case keymap.ConfirmNo, keymap.NavBack:
			return c.close(c.opts.OnNo)
		}
		c.move(msg.Action)
	case tea.KeyPressMsg, tea.PasteMsg:
		if c.input == nil {
			return nil
		}
		switch c.input.Update(msg) {
		case form.Cancelled:
			return c.close(c.opts.OnNo)
		case form.Accepted:
			if strings.TrimSpace(c.input.Value()) == strconv.Itoa(c.opts.Count) {
				return c.close(c.opts.OnYes)
			}
			c.wrong = true
		case form.Changed:
			c.wrong = false
		}
	}
	return nil
}

func (c *ConfirmBox) close(then tea.Cmd) tea.Cmd { return tea.Sequence(ui.CloseOverlay(c), then) }

// Size implements ui.Overlay.
func (c *ConfirmBox) Size(maxW, maxH int) (w, h int) {
	wide := 30
	if c.input != nil {
		wide = ansi.StringWidth(c.input.Prompt) + 22
	}
	return c.size(maxW, maxH, wide, 2)
}

// Draw implements ui.Overlay.
func (c *ConfirmBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	rest := c.box(scr, area, 2)
	if rest.Dy() <= 0 {
		return nil
	}
	if c.input != nil {
		row := uv.Rect(rest.Min.X, rest.Max.Y-1, rest.Dx(), 1)
		if c.wrong {
			c.input.Suggestion = "  " + c.env.Lang.T("not that number")
		} else {
			c.input.Suggestion = ""
		}
		return c.input.Draw(scr, row, c.env.Theme)
	}
	c.hints(scr, rest,
		c.hint(keymap.Confirm, keymap.ConfirmYes, c.opts.Yes),
		c.hint(keymap.Confirm, keymap.ConfirmNo, c.opts.No),
		c.hint(keymap.Confirm, keymap.NavBack, c.env.Lang.T("back")))
	return nil
}

// Item is one entry of a menu.
type Item struct {
	Label string
	// Hint is shown dimly beside the label.
	Hint string
	// Disabled is why the entry cannot be chosen; "" means it can.
	Disabled string
	// Cmd runs when the entry is chosen.
	Cmd tea.Cmd
}

// MenuBox lets one of several things be chosen. Put what destroys last.
type MenuBox struct {
	frame
	items  []Item
	cursor int
	first  int // first item on screen
	rowsAt uv.Rectangle
}

// Menu makes a menu.
func Menu(title string, items []Item) *MenuBox {
	return &MenuBox{frame: frame{title: title}, items: items}
}

// Init implements ui.Overlay.
func (m *MenuBox) Init(env ui.Env) tea.Cmd {
	m.setEnv(env)
	return nil
}

// Keys implements ui.Overlay.
func (m *MenuBox) Keys() []keymap.Context { return []keymap.Context{keymap.Menu, keymap.Move} }

// Update implements ui.Overlay.
func (m *MenuBox) Update(msg tea.Msg) tea.Cmd {
	m.theme(msg)
	switch msg := msg.(type) {
	case ui.ActionMsg:
		return m.action(msg.Action)
	case tea.MouseClickMsg:
		if uv.Pos(msg.X, msg.Y).In(m.rowsAt) {
			if i := m.first + msg.Y - m.rowsAt.Min.Y; i < len(m.items) {
				m.cursor = i
				return m.choose()
			}
		}
	}
	return nil
}

func (m *MenuBox) action(a keymap.Action) tea.Cmd {
	page := max(m.rowsAt.Dy()-1, 1)
	switch a {
	case keymap.NavBack:
		return ui.CloseOverlay(m)
	case keymap.MenuChoose:
		return m.choose()
	case keymap.MoveUp:
		m.cursor--
	case keymap.MoveDown:
		m.cursor++
	case keymap.MovePageUp, keymap.MoveHalfUp:
		m.cursor -= page
	case keymap.MovePageDown, keymap.MoveHalfDown:
		m.cursor += page
	case keymap.MoveTop:
		m.cursor = 0
	case keymap.MoveBottom:
		m.cursor = len(m.items) - 1
	}
	m.cursor = max(min(m.cursor, len(m.items)-1), 0)
	return nil
}

func (m *MenuBox) choose() tea.Cmd {
	if m.cursor >= len(m.items) {
		return nil
	}
	it := m.items[m.cursor]
	if it.Disabled != "" {
		return ui.Toast(ui.ToastWarn, it.Label+": "+it.Disabled)
	}
	return tea.Sequence(ui.CloseOverlay(m), it.Cmd)
}

// Size implements ui.Overlay.
func (m *MenuBox) Size(maxW, maxH int) (w, h int) {
	wide := 20
	for _, it := range m.items {
		wide = max(wide, 2+ansi.StringWidth(it.Label)+2+max(ansi.StringWidth(it.Hint), ansi.StringWidth(it.Disabled)))
	}
	return m.size(maxW, maxH, wide, len(m.items))
}

// Draw implements ui.Overlay.
func (m *MenuBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	m.rowsAt = m.box(scr, area, area.Dy())
	t, r := m.env.Theme, m.rowsAt
	if r.Dy() <= 0 {
		return nil
	}
	m.first = max(min(m.first, m.cursor), m.cursor-r.Dy()+1)
	for y := 0; y < r.Dy() && m.first+y < len(m.items); y++ {
		it := m.items[m.first+y]
		label, hint, note, mark := t.Text.Normal, t.Text.Dim, it.Hint, " "
		if it.Disabled != "" {
			label, hint, note = t.Keys.Disabled, t.Keys.Reason, it.Disabled
		}
		if m.first+y == m.cursor {
			mark = t.Symbol.Cursor
			label, hint = theme.Over(label, t.Row.Selected), theme.Over(hint, t.Row.Selected)
			draw.Fill(scr, uv.Rect(r.Min.X, r.Min.Y+y, r.Dx(), 1), t.Row.Selected)
		}
		draw.Text(scr, r.Min.X, r.Min.Y+y, 1, mark, theme.Over(t.Text.Title, label))
		x := r.Min.X + 2
		x += draw.Text(scr, x, r.Min.Y+y, r.Max.X-x, it.Label, label)
		if w := ansi.StringWidth(note); x+2+w <= r.Max.X {
			draw.Text(scr, r.Max.X-w, r.Min.Y+y, w, note, hint)
		}
	}
	return nil
}

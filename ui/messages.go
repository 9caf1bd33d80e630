package ui

import (
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
)

// messagesBox shows lines: the messages so far, or what runs in the background.
type messagesBox struct {
	env    Env
	title  string
	none   string
	lines  []string
	styles []uv.Style
	top    int
	rows   int
}

func (r *Root) newMessages() *messagesBox {
	m := &messagesBox{title: r.opts.Lang.T("Messages"), none: r.opts.Lang.T("no messages yet")}
	for i := range r.toasts {
		t := &r.toasts[i]
		symbol, _ := r.toastLook(t.level)
		m.lines = append(m.lines, t.at.Format("15:04:05")+"  "+symbol+" "+t.label())
		m.styles = append(m.styles, messageStyle(r.env.Theme, t.level))
	}
	m.top = len(m.lines)
	return m
}

// newTasks lists what the backgrounds are doing.
func (r *Root) newTasks() *messagesBox {
	m := &messagesBox{title: r.opts.Lang.T("Tasks"), none: r.opts.Lang.T("nothing runs in the background")}
	for _, b := range r.back {
		if s := r.statusOf(b); s != "" {
			m.lines = append(m.lines, s)
			m.styles = append(m.styles, r.env.Theme.Text.Normal)
		}
	}
	return m
}

func messageStyle(t *theme.Theme, l ToastLevel) uv.Style {
	switch l {
	case ToastOK:
		return t.Text.OK
	case ToastWarn:
		return t.Text.Warn
	case ToastError:
		return t.Text.Error
	}
	return t.Text.Normal
}

// Init implements Overlay.
func (m *messagesBox) Init(env Env) tea.Cmd {
	m.env = env
	return nil
}

// Title implements Overlay.
func (m *messagesBox) Title() string { return m.title }

// Close implements Overlay.
func (m *messagesBox) Close() {}

// Keys implements Overlay.
func (m *messagesBox) Keys() []keymap.Context { return []keymap.Context{keymap.Message, keymap.Move} }

// Update implements Overlay.
func (m *messagesBox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ThemeMsg:
		m.env.Theme = msg.Theme
	case ActionMsg:
		switch msg.Action {
		case keymap.NavBack:
			return CloseOverlay(m)
		case keymap.MoveUp:
			m.top--
		case keymap.MoveDown:
			m.top++
		case keymap.MovePageUp, keymap.MoveHalfUp:
			m.top -= max(m.rows, 1)
		case keymap.MovePageDown, keymap.MoveHalfDown:
			m.top += max(m.rows, 1)
		case keymap.MoveTop:
			m.top = 0
		case keymap.MoveBottom:
			m.top = len(m.lines)
		}
		m.top = max(min(m.top, len(m.lines)-m.rows), 0)
	}
	return nil
}

// Size implements Overlay.
func (m *messagesBox) Size(maxW, maxH int) (w, h int) {
	return min(100, maxW-2), min(max(len(m.lines), 1)+2, maxH)
}

// Draw implements Overlay.
func (m *messagesBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := m.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, m.Title(), t.Border.Focused, t.Border.TitleFocused)
	m.rows = in.Dy()
	m.top = max(min(m.top, len(m.lines)-m.rows), 0)
	if len(m.lines) == 0 {
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, m.none, t.Text.Dim)
	}
	for y := 0; y < m.rows && m.top+y < len(m.lines); y++ {
		draw.Text(scr, in.Min.X+1, in.Min.Y+y, in.Dx()-2, m.lines[m.top+y], m.styles[m.top+y])
	}
	return nil
}

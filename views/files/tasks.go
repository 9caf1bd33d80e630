package files

import (
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/spark"
	"abxdash/views/present"
)

// tasks is the list of transfers, a modal box.
type tasks struct {
	env    ui.Env
	all    *Transfers
	cursor int
	top    int
}

// Init implements ui.Overlay.
func (b *tasks) Init(env ui.Env) tea.Cmd {
	b.env = env
	b.cursor = len(b.all.list) - 1
	return nil
}

// Title implements ui.Overlay.
func (b *tasks) Title() string { return b.env.Lang.T("Transfers") }

// Close implements ui.Overlay.
func (b *tasks) Close() {}

// Keys implements ui.Overlay.
func (b *tasks) Keys() []keymap.Context { return []keymap.Context{keymap.Tasks, keymap.Move} }

func (b *tasks) current() *transfer {
	if b.cursor < 0 || b.cursor >= len(b.all.list) {
		return nil
	}
	return b.all.list[b.cursor]
}

// Disabled implements ui.Disabler.
func (b *tasks) Disabled(a keymap.Action) string {
	t := b.current()
	switch a {
	case keymap.TaskCancel:
		if t == nil || t.state == done || t.state == cancelled {
			return b.env.Lang.T("nothing under way here")
		}
	case keymap.TaskPause:
		if t == nil || t.over() {
			return b.env.Lang.T("nothing under way here")
		}
	case keymap.TaskRetry:
		if t == nil || t.state != failed {
			return b.env.Lang.T("only what failed can be tried again")
		}
	}
	return ""
}

// Update implements ui.Overlay.
func (b *tasks) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		b.env.Theme = m.Theme
	case ui.ActionMsg:
		return b.act(m.Action)
	}
	return nil
}

func (b *tasks) act(a keymap.Action) tea.Cmd {
	t := b.current()
	var cmd tea.Cmd
	switch a {
	case keymap.NavBack:
		return ui.CloseOverlay(b)
	case keymap.MoveUp:
		b.cursor--
	case keymap.MoveDown:
		b.cursor++
	case keymap.MoveTop, keymap.MovePageUp, keymap.MoveHalfUp:
		b.cursor = 0
	case keymap.MoveBottom, keymap.MovePageDown, keymap.MoveHalfDown:
		b.cursor = len(b.all.list) - 1
	case keymap.TaskPause:
		t.pause()
	case keymap.TaskCancel:
		cmd = b.all.cancelOne(t)
	case keymap.TaskRetry:
		cmd = b.all.retry(t)
	case keymap.TaskClear:
		b.all.forget()
	}
	b.cursor = max(0, min(b.cursor, len(b.all.list)-1))
	return cmd
}

// Size implements ui.Overlay.
func (b *tasks) Size(maxW, maxH int) (w, h int) {
	return min(110, maxW-2), min(2*max(1, len(b.all.list))+3, maxH)
}

// Draw implements ui.Overlay: two lines for each transfer, then the keys.
func (b *tasks) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := b.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, b.Title(), t.Border.Focused, t.Border.TitleFocused)
	rows := max(0, in.Dy()-1)
	if in.Dy() > 0 {
		b.hints(scr, uv.Rect(in.Min.X+1, in.Max.Y-1, in.Dx()-2, 1))
	}
	if len(b.all.list) == 0 {
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, b.env.Lang.T("no transfers"), t.Text.Dim)
		return nil
	}
	per := 2
	if rows < 4 {
		per = 1
	}
	fit := max(1, rows/per)
	b.top = max(min(b.top, b.cursor), b.cursor-fit+1)
	for i := range fit {
		if b.top+i >= len(b.all.list) || (i+1)*per > rows {
			break
		}
		b.row(scr, uv.Rect(in.Min.X, in.Min.Y+i*per, in.Dx(), per), b.all.list[b.top+i], b.top+i == b.cursor)
	}
	return nil
}

func (b *tasks) row(scr uv.Screen, area uv.Rectangle, tr *transfer, here bool) {
	t := b.env.Theme
	symbol, st, note := t.Symbol.Busy, t.Text.Info, ""
	switch tr.state {
	case done:
		symbol, st, note = t.Symbol.OK, t.Text.OK, b.env.Lang.T("done")
	case failed:
		symbol, st, note = t.Symbol.Fail, t.Text.Error, present.ErrorLine(tr.err)
	case cancelled:
		symbol, st, note = t.Symbol.Fail, t.Text.Dim, b.env.Lang.T("cancelled")
	}
	if tr.state == done && len(tr.copy.skipped) > 0 {
		n := len(tr.copy.skipped)
		note += ", " + b.env.Lang.N(n, "%d entry left out", "%d entries left out", n)
	}
	base := t.Text.Normal
	if here {
		draw.Fill(scr, area, t.Row.Selected)
		base, st = theme.Over(base, t.Row.Selected), theme.Over(st, t.Row.Selected)
	}
	x, y := area.Min.X+1, area.Min.Y
	x += draw.Text(scr, x, y, area.Max.X-x, symbol+" ", st)
	draw.Text(scr, x, y, area.Max.X-x, tr.progress(b.env.Lang)+"  "+note, base)
	if area.Dy() < 2 {
		return
	}
	y++
	width := min(24, area.Dx()/3)
	if part, ok := tr.part(); ok && !tr.over() {
		spark.Gauge(scr, x, y, width, part, 0, t)
	}
	where := present.Clean(tr.from) + " → " + present.Clean(tr.to)
	x += width + 2
	draw.Text(scr, x, y, area.Max.X-x-1, present.Elide(where, max(8, area.Max.X-x-1)), theme.Over(t.Text.Dim, base))
}

func (b *tasks) hints(scr uv.Screen, row uv.Rectangle) {
	var hints []draw.Hint
	for _, bd := range b.env.Keys.Bindings([]keymap.Context{keymap.Tasks}) {
		if bd.Short != "" && b.Disabled(bd.Action) == "" {
			hints = append(hints, draw.Hint{Key: keymap.Label(bd.Keys[0]), What: bd.Short})
		}
	}
	draw.Hints(scr, row, b.env.Theme, hints...)
}

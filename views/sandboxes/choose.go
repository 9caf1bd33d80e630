package sandboxes

import (
	"slices"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// columnsBox chooses and orders the columns.
type columnsBox struct {
	env    ui.Env
	rows   []columnChoice
	cursor int
	usual  []string
}

type columnChoice struct {
	key, title, help string
	on               bool
}

// columnsMsg comes back from the box; empty means the usual columns.
type columnsMsg struct{ keys []string }

// newColumnsBox lists those shown first, in their order.
func newColumnsBox(shown, usual []string) *columnsBox {
	b := &columnsBox{usual: usual}
	b.fill(shown)
	return b
}

func (b *columnsBox) fill(shown []string) {
	b.rows = b.rows[:0]
	all := columnInfo()
	for _, k := range shown {
		if i := slices.IndexFunc(all, func(c columnChoice) bool { return c.key == k }); i >= 0 {
			c := all[i]
			c.on = true
			b.rows = append(b.rows, c)
		}
	}
	for _, c := range all {
		if !slices.Contains(shown, c.key) {
			b.rows = append(b.rows, c)
		}
	}
}

// Init implements ui.Overlay.
func (b *columnsBox) Init(env ui.Env) tea.Cmd {
	b.env = env
	return nil
}

// Keys implements ui.Overlay.
func (b *columnsBox) Keys() []keymap.Context { return []keymap.Context{keymap.Columns, keymap.Move} }

// Title implements ui.Overlay.
func (b *columnsBox) Title() string { return b.env.Lang.T("Columns") }

// Close implements ui.Overlay.
func (b *columnsBox) Close() {}

// Update implements ui.Overlay.
func (b *columnsBox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		b.env.Theme = msg.Theme
	case ui.ActionMsg:
		return b.act(msg.Action)
	}
	return nil
}

func (b *columnsBox) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		return ui.CloseOverlay(b)
	case keymap.MenuChoose:
		return tea.Sequence(ui.CloseOverlay(b), ui.Cmd(columnsMsg{b.chosen()}))
	case keymap.ColumnReset:
		b.fill(b.usual)
		b.cursor = 0
	case keymap.ColumnToggle:
		if r := &b.rows[b.cursor]; r.key != "name" {
			r.on = !r.on
		}
		b.move(1)
	case keymap.ColumnUp:
		b.swap(-1)
	case keymap.ColumnDown:
		b.swap(1)
	case keymap.MoveUp:
		b.move(-1)
	case keymap.MoveDown:
		b.move(1)
	case keymap.MoveTop:
		b.move(-len(b.rows))
	case keymap.MoveBottom:
		b.move(len(b.rows))
	}
	return nil
}

func (b *columnsBox) move(n int) { b.cursor = min(max(0, b.cursor+n), len(b.rows)-1) }

func (b *columnsBox) swap(n int) {
	if to := b.cursor + n; to >= 0 && to < len(b.rows) {
		b.rows[b.cursor], b.rows[to] = b.rows[to], b.rows[b.cursor]
		b.cursor = to
	}
}

// chosen are the keys to show; nil if they are the usual ones.
func (b *columnsBox) chosen() []string {
	var out []string
	for _, r := range b.rows {
		if r.on {
			out = append(out, r.key)
		}
	}
	if slices.Equal(out, b.usual) {
		return nil
	}
	return out
}

// Size implements ui.Overlay.
func (b *columnsBox) Size(maxW, maxH int) (int, int) { return min(maxW, 72), min(maxH, len(b.rows)+4) }

// Draw implements ui.Overlay.
func (b *columnsBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := b.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, b.Title(), t.Border.Focused, t.Border.TitleFocused)
	list := max(0, in.Dy()-2)
	top := max(0, b.cursor-list+1)
	for i := 0; i < list && top+i < len(b.rows); i++ {
		r := b.rows[top+i]
		st, mark := t.Text.Normal, " "
		if r.on {
			mark = t.Symbol.Mark
		} else {
			st = t.Text.Dim
		}
		if top+i == b.cursor {
			st = t.Row.Selected
		}
		row := uv.Rect(in.Min.X, in.Min.Y+i, in.Dx(), 1)
		draw.Fill(scr, row, st)
		draw.Text(scr, row.Min.X+1, row.Min.Y, 1, mark, st)
		draw.Text(scr, row.Min.X+3, row.Min.Y, 12, b.env.Lang.Word(r.title), st)
		draw.Text(scr, row.Min.X+16, row.Min.Y, row.Dx()-17, b.env.Lang.Word(r.help), st)
	}
	tr := b.env.Lang
	key := func(a keymap.Action, what string) draw.Hint {
		return draw.Hint{Key: present.KeyIn(b.env.Keys, keymap.Columns, a), What: what}
	}
	draw.Hints(scr, uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-1, in.Dy()), t,
		key(keymap.ColumnToggle, tr.T("show/hide")), key(keymap.ColumnUp, tr.T("left")), key(keymap.ColumnDown, tr.T("right")),
		key(keymap.ColumnReset, tr.T("usual")), key(keymap.MenuChoose, tr.T("take")), key(keymap.NavBack, tr.T("back")))
	return nil
}

var _ ui.Overlay = (*columnsBox)(nil)

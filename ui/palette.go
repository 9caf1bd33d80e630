package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/sahilm/fuzzy"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
	"abxdash/ui/form"
)

// choice is an action that the palette offers.
type choice struct {
	binding keymap.Binding
	reason  string
	match   []int // positions in text() that matched, in bytes
}

func (c *choice) text() string { return strings.TrimSuffix(c.binding.Help, ".") }

// choices are the named actions that hold here, one for each action.
func (r *Root) choices() []choice {
	var out []choice
	seen := make(map[keymap.Action]bool)
	for _, b := range r.opts.Keys.Bindings(r.contexts()) {
		if b.Command == "" || seen[b.Action] {
			continue
		}
		seen[b.Action] = true
		out = append(out, choice{binding: b, reason: r.disabled(b.Action)})
	}
	return out
}

// paletteBox finds an action by name (ctrl+k).
type paletteBox struct {
	env    Env
	all    []choice
	shown  []choice
	cursor int
	first  int
	input  *form.Input
	list   uv.Rectangle
}

func (r *Root) newPalette() *paletteBox { return &paletteBox{all: r.choices()} }

// Init implements Overlay.
func (p *paletteBox) Init(env Env) tea.Cmd {
	p.env = env
	p.input = form.NewInput(env.Keys, keymap.Palette, "> ")
	p.input.Placeholder = env.Lang.T("what do you want to do?")
	p.filter()
	return nil
}

// Title implements Overlay.
func (p *paletteBox) Title() string { return p.env.Lang.T("Find") }

// Close implements Overlay.
func (p *paletteBox) Close() {}

// Captures implements Capturer.
func (p *paletteBox) Captures() bool { return true }

// Keys implements Overlay.
func (p *paletteBox) Keys() []keymap.Context { return []keymap.Context{keymap.Palette} }

func (p *paletteBox) place(room uv.Rectangle, w, h int) uv.Rectangle {
	c := draw.Center(room, w, h)
	top := room.Min.Y + min(2, room.Dy()-h)
	return uv.Rect(c.Min.X, top, w, h)
}

// source makes choices searchable: what they do, then their command.
type source []choice

func (s source) String(i int) string { return s[i].text() + " " + s[i].binding.Command }
func (s source) Len() int            { return len(s) }

func (p *paletteBox) filter() {
	p.cursor, p.first = 0, 0
	q := strings.TrimSpace(p.input.Value())
	if q == "" {
		p.shown = p.all
		return
	}
	p.shown = nil
	for _, m := range fuzzy.FindFrom(q, source(p.all)) {
		c := p.all[m.Index]
		c.match = m.MatchedIndexes
		p.shown = append(p.shown, c)
	}
}

// Update implements Overlay.
func (p *paletteBox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ThemeMsg:
		p.env.Theme = msg.Theme
	case tea.MouseClickMsg:
		if uv.Pos(msg.X, msg.Y).In(p.list) {
			if i := p.first + msg.Y - p.list.Min.Y; i < len(p.shown) {
				p.cursor = i
				return p.run()
			}
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		switch p.input.Update(msg) {
		case form.Changed:
			p.filter()
		case form.Cancelled:
			return CloseOverlay(p)
		case form.Accepted:
			return p.run()
		case form.Prev:
			p.cursor = max(p.cursor-1, 0)
		case form.Next:
			p.cursor = max(min(p.cursor+1, len(p.shown)-1), 0)
		case form.Complete:
			if p.cursor < len(p.shown) {
				p.input.SetValue(p.shown[p.cursor].text())
				p.filter()
			}
		}
	}
	return nil
}

func (p *paletteBox) run() tea.Cmd {
	if p.cursor >= len(p.shown) {
		return nil
	}
	c := p.shown[p.cursor]
	if c.reason != "" {
		return Toast(ToastWarn, c.binding.Command+": "+c.reason)
	}
	return tea.Sequence(CloseOverlay(p), Do(c.binding.Action))
}

// Size implements Overlay.
func (p *paletteBox) Size(maxW, maxH int) (w, h int) { return min(70, maxW-2), min(18, maxH) }

// Draw implements Overlay.
func (p *paletteBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := p.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, p.Title(), t.Border.Focused, t.Border.TitleFocused)
	in = uv.Rect(in.Min.X+1, in.Min.Y, max(in.Dx()-2, 0), in.Dy())
	cur := p.input.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), min(in.Dy(), 1)), t)
	head := 2
	if in.Dy() < 8 {
		head = 1 // rows are few
	}
	p.list = uv.Rect(in.Min.X, in.Min.Y+head, in.Dx(), max(in.Dy()-head, 0))
	p.first = max(min(p.first, p.cursor), p.cursor-p.list.Dy()+1)
	for y := 0; y < p.list.Dy() && p.first+y < len(p.shown); y++ {
		row := uv.Rect(p.list.Min.X, p.list.Min.Y+y, p.list.Dx(), 1)
		p.drawChoice(scr, row, p.shown[p.first+y], p.first+y == p.cursor, t)
	}
	if len(p.shown) == 0 && p.list.Dy() > 0 {
		draw.Text(scr, p.list.Min.X, p.list.Min.Y, p.list.Dx(), p.env.Lang.T("nothing by that name here"), t.Text.Dim)
	}
	return cur
}

func (p *paletteBox) drawChoice(scr uv.Screen, row uv.Rectangle, c choice, selected bool, t *theme.Theme) {
	text, key, found := t.Text.Normal, t.Keys.Key, t.Text.Title
	right := ""
	if len(c.binding.Keys) > 0 {
		right = keymap.Label(c.binding.Keys[0])
	}
	if c.reason != "" {
		text, key, right = t.Keys.Disabled, t.Keys.Reason, draw.Clean(c.reason)
	}
	mark := " "
	if selected {
		mark = t.Symbol.Cursor
		text, key, found = theme.Over(text, t.Row.Selected), theme.Over(key, t.Row.Selected), theme.Over(found, t.Row.Selected)
		found.Underline = uv.UnderlineSingle
		draw.Fill(scr, row, t.Row.Selected)
	}
	draw.Text(scr, row.Min.X, row.Min.Y, 1, mark, found)
	x, y := row.Min.X+2, row.Min.Y
	s := ansi.Truncate(c.text(), max(row.Max.X-x, 0), "…")
	for i, at := draw.Clusters(s), 0; i.Next(); at += len(i.Text) {
		st := text
		if slices.Contains(c.match, at) {
			st = found
		}
		x += draw.Text(scr, x, y, row.Max.X-x, i.Text, st)
	}
	if w := draw.Width(right); x+2+w <= row.Max.X {
		draw.Text(scr, row.Max.X-w, y, w, right, key)
	}
}

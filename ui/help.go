package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
	"abxdash/ui/form"
)

// helpLine is one row of the help: a heading, or a binding.
type helpLine struct {
	heading string
	keys    string
	text    string
	reason  string // why it cannot be used now
	cut     bool   // the reason is in a row further down
	command string
}

// helpBox is "?": the keys that work here.
type helpBox struct {
	env   Env
	all   []helpLine
	shown []helpLine
	// lines are shown, wrapped for the width drawn last.
	lines  []helpLine
	top    int
	rows   int
	search *form.Input
	query  string
}

// newHelp lists the bindings of the screen below, with reasons for those that
// cannot be used now.
func (r *Root) newHelp() *helpBox {
	h := &helpBox{}
	cs := r.screenContexts()
	if o := r.topOverlay(); o != nil {
		cs = r.contexts()
	}
	var last keymap.Context
	for _, b := range r.opts.Keys.Bindings(cs) {
		if b.Context != last {
			if last != "" {
				h.all = append(h.all, helpLine{})
			}
			h.all = append(h.all, helpLine{heading: r.opts.Keys.Title(b.Context)})
			last = b.Context
		}
		labels := make([]string, len(b.Keys))
		for i, k := range b.Keys {
			labels[i] = keymap.Label(k)
		}
		l := helpLine{keys: strings.Join(labels, "  "), text: b.Help, reason: r.disabled(b.Action)}
		if b.Command != "" {
			l.command = ":" + b.Command
		}
		h.all = append(h.all, l)
	}
	h.filter()
	return h
}

// Init implements Overlay.
func (h *helpBox) Init(env Env) tea.Cmd {
	h.env = env
	return nil
}

// Title implements Overlay.
func (h *helpBox) Title() string { return h.env.Lang.T("Keys here") }

// Close implements Overlay.
func (h *helpBox) Close() {}

// Captures implements Capturer: a search is being typed.
func (h *helpBox) Captures() bool { return h.search != nil }

// Keys implements Overlay.
func (h *helpBox) Keys() []keymap.Context {
	if h.search != nil {
		return []keymap.Context{keymap.Input}
	}
	return []keymap.Context{keymap.Help, keymap.Move}
}

// filter keeps the lines that contain the query, with their headings.
func (h *helpBox) filter() {
	q := strings.ToLower(h.query)
	h.shown, h.top = h.shown[:0], 0
	if q == "" {
		h.shown = append(h.shown, h.all...)
		return
	}
	heading := ""
	for _, l := range h.all {
		switch {
		case l.heading != "":
			heading = l.heading
		case l.text != "" && strings.Contains(strings.ToLower(l.keys+" "+l.text+" "+l.command+" "+heading), q):
			if n := len(h.shown); heading != "" {
				if n > 0 {
					h.shown = append(h.shown, helpLine{})
				}
				h.shown = append(h.shown, helpLine{heading: heading})
				heading = ""
			}
			h.shown = append(h.shown, l)
		}
	}
}

// Update implements Overlay.
func (h *helpBox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ThemeMsg:
		h.env.Theme = msg.Theme
	case ActionMsg:
		return h.action(msg.Action)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			h.scroll(-3)
		} else {
			h.scroll(3)
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		if h.search == nil {
			return nil
		}
		switch h.search.Update(msg) {
		case form.Changed:
			h.query = h.search.Value()
			h.filter()
		case form.Accepted:
			h.search = nil
		case form.Cancelled:
			h.search, h.query = nil, ""
			h.filter()
		}
	}
	return nil
}

func (h *helpBox) action(a keymap.Action) tea.Cmd {
	page := max(h.rows-1, 1)
	switch a {
	case keymap.NavBack:
		return CloseOverlay(h)
	case keymap.HelpSearch:
		h.search = form.NewInput(h.env.Keys, keymap.Input, "/")
		h.search.SetValue(h.query)
	case keymap.MoveUp:
		h.scroll(-1)
	case keymap.MoveDown:
		h.scroll(1)
	case keymap.MovePageUp:
		h.scroll(-page)
	case keymap.MovePageDown:
		h.scroll(page)
	case keymap.MoveHalfUp:
		h.scroll(-page / 2)
	case keymap.MoveHalfDown:
		h.scroll(page / 2)
	case keymap.MoveTop:
		h.top = 0
	case keymap.MoveBottom:
		h.scroll(len(h.lines))
	}
	return nil
}

func (h *helpBox) scroll(n int) { h.top = max(min(h.top+n, len(h.lines)-h.rows), 0) }

// Size implements Overlay.
func (h *helpBox) Size(maxW, maxH int) (w, hh int) {
	return min(84, maxW-2), min(len(h.all)+4, maxH)
}

// Draw implements Overlay.
func (h *helpBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := h.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, h.Title(), t.Border.Focused, t.Border.TitleFocused)
	in = uv.Rect(in.Min.X+1, in.Min.Y, max(in.Dx()-2, 0), in.Dy())
	h.rows = max(in.Dy()-1, 0)
	keys := 6
	for _, l := range h.all {
		keys = min(max(keys, draw.Width(l.keys)), in.Dx()/3)
	}
	h.wrap(in.Dx() - keys - 2)
	h.scroll(0)
	for y := 0; y < h.rows && h.top+y < len(h.lines); y++ {
		h.drawLine(scr, uv.Rect(in.Min.X, in.Min.Y+y, in.Dx(), 1), keys, h.lines[h.top+y], t)
	}
	if len(h.shown) == 0 {
		draw.Text(scr, in.Min.X, in.Min.Y, in.Dx(), h.env.Lang.T("no key matches"), t.Text.Dim)
	}
	foot := uv.Rect(in.Min.X, in.Max.Y-1, in.Dx(), 1)
	if h.search != nil {
		return h.search.Draw(scr, foot, t)
	}
	k := h.env.Keys
	text := h.env.Lang.T("%s to search  %s closes", k.HintIn(keymap.Help, keymap.HelpSearch), k.HintIn(keymap.Help, keymap.NavBack))
	if len(h.lines)-h.top-h.rows > 0 {
		text += "  " + h.env.Lang.T("%s more below", k.HintIn(keymap.Move, keymap.MoveDown))
	}
	draw.Text(scr, foot.Min.X, foot.Min.Y, foot.Dx(), text, t.Text.Dim)
	return nil
}

// wrap breaks what a key does into rows of a width; a reason that does not fit
// behind it has a row of its own.
func (h *helpBox) wrap(width int) {
	h.lines = h.lines[:0]
	for _, l := range h.shown {
		parts := strings.Split(ansi.Wrap(l.text, max(width, 1), ""), "\n")
		last := parts[len(parts)-1]
		own := l.reason != "" && draw.Width(last)+4+draw.Width(draw.Clean(l.reason)) > width
		for i, part := range parts {
			row := helpLine{text: part, reason: l.reason, cut: own || i < len(parts)-1}
			if i == 0 {
				row.heading, row.keys = l.heading, l.keys
			}
			if len(parts) == 1 {
				row.command = l.command
			}
			h.lines = append(h.lines, row)
		}
		if own {
			h.lines = append(h.lines, helpLine{reason: l.reason})
		}
	}
}

func (h *helpBox) drawLine(scr uv.Screen, row uv.Rectangle, keys int, l helpLine, t *theme.Theme) {
	x, y := row.Min.X, row.Min.Y
	if l.heading != "" {
		draw.Text(scr, x, y, row.Dx(), l.heading, t.Text.Heading)
		return
	}
	key, text := t.Keys.Key, t.Text.Normal
	if l.reason != "" {
		key, text = t.Keys.Disabled, t.Keys.Disabled
	}
	draw.Text(scr, x, y, keys, l.keys, key)
	x += keys + 2
	end := row.Max.X
	if w := draw.Width(l.command); l.reason == "" && w > 0 && x+draw.Width(l.text)+2+w <= end {
		draw.Text(scr, end-w, y, w, l.command, t.Text.Dim)
	}
	x += draw.Text(scr, x, y, end-x, l.text, text)
	if l.reason != "" && !l.cut {
		draw.Text(scr, x+2, y, end-x-2, "- "+draw.Clean(l.reason), t.Keys.Reason)
	}
}

// Package textbox is a modal box over a long text: it scrolls, wraps, searches
// and copies. The text may come from outside; nothing in it is obeyed.
package textbox

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/logpane"
)

// MaxCopy is how much goes to the clipboard, in bytes: terminals refuse more.
const MaxCopy = 74_994

// Options describe a box.
type Options struct {
	// Title must be clean.
	Title string
	// Text is shown; colours in it (SGR) are kept only if Colors is set.
	Text   string
	Colors bool
	// Copy is what the copy key takes, Text if it is empty.
	Copy string
	// NoWrap begins without wrapping, for tables and code.
	NoWrap bool
}

// Box is the overlay.
type Box struct {
	opts  Options
	env   ui.Env
	lines Lines
	pane  *logpane.Pane
}

// New makes a box.
func New(o Options) *Box {
	text := o.Text
	if !o.Colors {
		text = Plain(text)
	}
	if o.Copy == "" {
		o.Copy = o.Text
	}
	return &Box{opts: o, lines: Split(text)}
}

// Init implements ui.Overlay.
func (b *Box) Init(env ui.Env) tea.Cmd {
	b.env = env
	b.pane = logpane.New(env.Keys, b.lines)
	b.pane.Lang = env.Lang
	b.pane.SetWrap(!b.opts.NoWrap)
	b.pane.Do(keymap.MoveTop)
	return nil
}

// Title implements ui.Overlay.
func (b *Box) Title() string { return b.opts.Title }

// Close implements ui.Overlay.
func (b *Box) Close() {}

// Captures implements ui.Capturer: a search is being typed.
func (b *Box) Captures() bool { return b.pane.Captures() }

// Keys implements ui.Overlay.
func (b *Box) Keys() []keymap.Context {
	if b.pane.Captures() {
		return b.pane.Keys()
	}
	return []keymap.Context{keymap.Box, keymap.Move}
}

// Update implements ui.Overlay.
func (b *Box) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		b.env.Theme = m.Theme
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseMsg:
		b.pane.Update(m)
	case ui.ActionMsg:
		switch m.Action {
		case keymap.NavBack:
			if !b.pane.Back() {
				return ui.CloseOverlay(b)
			}
		case keymap.LogCopy:
			if len(b.opts.Copy) > MaxCopy {
				return ui.Toast(ui.ToastWarn, b.env.Lang.T("too long for the clipboard"))
			}
			return tea.Batch(tea.SetClipboard(b.opts.Copy), ui.Toast(ui.ToastOK, b.env.Lang.T("copied")))
		default:
			b.pane.Do(m.Action)
		}
	}
	return nil
}

// Size implements ui.Overlay.
func (b *Box) Size(maxW, maxH int) (w, h int) {
	w = min(100, maxW-2)
	rows := 0
	for _, l := range b.lines {
		rows += max(1, (draw.Width(draw.Clean(l))+w-5)/max(w-4, 1))
		if rows > maxH {
			break
		}
	}
	return w, min(max(rows, 3)+3, maxH)
}

// Draw implements ui.Overlay.
func (b *Box) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := b.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, b.opts.Title, t.Border.Focused, t.Border.TitleFocused)
	if in.Dy() < 2 {
		return b.pane.Draw(scr, in, t)
	}
	cur := b.pane.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), in.Dy()-1), t)
	key := func(a keymap.Action, what string) draw.Hint {
		return draw.Hint{Key: b.env.Keys.HintIn(keymap.Box, a), What: what}
	}
	draw.Hints(scr, uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-1, in.Dy()), t,
		key(keymap.NavBack, b.env.Lang.T("close")), key(keymap.SearchOpen, b.env.Lang.T("search")),
		key(keymap.ViewWrap, b.env.Lang.T("wrap")), key(keymap.LogCopy, b.env.Lang.T("copy")))
	return cur
}

// Plain makes every escape of a text visible instead of obeyed. Line ends stay.
func Plain(text string) string {
	if !strings.ContainsAny(text, "\x1b\u009b") {
		return text
	}
	return strings.NewReplacer("\x1b", "␛", "\u009b", "<9B>").Replace(text)
}

// Lines is a text that does not change, for a log pane.
type Lines []string

// Split makes lines of a text; tabs become blanks. A line end at the very end
// begins no line.
func Split(text string) Lines {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    ")
	}
	return lines
}

// Len implements logpane.Lines.
func (t Lines) Len() int { return len(t) }

// At implements logpane.Lines.
func (t Lines) At(i int) (string, bool, time.Time) {
	if i < 0 || i >= len(t) {
		return "", false, time.Time{}
	}
	return t[i], false, time.Time{}
}

// Dropped implements logpane.Lines.
func (t Lines) Dropped() int { return 0 }

// Version implements logpane.Lines.
func (t Lines) Version() uint64 { return 1 }

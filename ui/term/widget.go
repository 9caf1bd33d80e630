package term

import (
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
)

// syncTimeout is how long synchronized output may hold the picture back.
const syncTimeout = time.Second

// Widget draws a Terminal and keeps the position in its scroll-back. It
// belongs to the goroutine that draws.
type Widget struct {
	term    *Terminal
	theme   *theme.Theme
	focused bool
	// back is how many rows the view is scrolled back, 0 at the bottom.
	back int
	// pushed is how many rows had ever left the screen when back was last valid.
	pushed uint64

	lines  []drawnLine
	drawn  drawnState
	cursor *tea.Cursor
	styles []drawnStyle
	gen    uint64
	text   map[rune]string

	browse browser
}

// drawnLine is a row as it was last turned into cells for drawing.
type drawnLine struct {
	row   *row
	stamp uint64
	cells []uv.Cell
}

// drawnState is everything besides the rows that the picture depends on.
type drawnState struct {
	ok         bool
	version    uint64
	back       int
	w, h       int
	cols, rows int
	first      int
	reverse    bool
	theme      *theme.Theme
	focused    bool
}

type drawnStyle struct {
	ok    bool
	style uv.Style
}

// NewWidget makes a widget for t.
func NewWidget(t *Terminal, th *theme.Theme) *Widget {
	return &Widget{term: t, theme: th, focused: true, text: map[rune]string{}}
}

// SetTheme changes the theme.
func (w *Widget) SetTheme(th *theme.Theme) { w.theme = th }

// SetFocused tells whether keys go to this terminal; without focus no cursor is shown.
func (w *Widget) SetFocused(on bool) { w.focused = on }

// Scroll moves the view by n rows, back for n > 0, and reports whether it moved.
func (w *Widget) Scroll(n int) bool {
	old := w.back
	w.term.View(func(v View) {
		w.follow(v)
		w.back = min(max(w.back+n, 0), v.ScrollRows())
		if b := &w.browse; b.on && w.drawn.h > 0 {
			// The browsing cursor stays in sight.
			top := v.base() + int64(w.drawn.first-w.back)
			b.pos.Line = min(max(b.pos.Line, top), top+int64(w.drawn.h)-1)
		}
	})
	return w.back != old
}

// ScrollPage moves the view by n pages less one row, back for n > 0.
func (w *Widget) ScrollPage(n int) bool { return w.Scroll(n * max(w.drawn.h-1, 1)) }

// ScrollTop goes to the oldest row.
func (w *Widget) ScrollTop() { w.Scroll(DefaultScrollRows * MaxRows) }

// ScrollBottom goes back to the live screen.
func (w *Widget) ScrollBottom() { w.back = 0 }

// Scrolled is how many rows the view is scrolled back, 0 for the live screen.
func (w *Widget) Scrolled() int { return w.back }

// ScrollPrompt moves the view to the previous prompt if older is set, else to
// the next, and reports whether the view moved. Prompts are known when the
// shell marks them (OSC 133).
func (w *Widget) ScrollPrompt(older bool) bool {
	old, step := w.back, -1
	if older {
		step = 1
	}
	w.term.View(func(v View) {
		w.follow(v)
		for back := w.back + step; back >= 0 && back <= v.ScrollRows(); back += step {
			if v.Row(-back).Mark == MarkPrompt {
				w.back = back
				return
			}
		}
		if !older {
			w.back = 0
		}
	})
	return w.back != old
}

// follow keeps the view on the same text while new rows come in.
func (w *Widget) follow(v View) {
	pushed := v.Dropped() + uint64(v.t.scroll.len())
	if w.back > 0 && pushed > w.pushed {
		w.back += int(min(pushed-w.pushed, uint64(v.ScrollRows())))
	}
	w.pushed = pushed
	w.back = min(w.back, v.ScrollRows())
}

// Draw paints the terminal into area and returns the cursor in screen
// coordinates, or nil. It does not resize the terminal; see Session.Resize.
func (w *Widget) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	w.term.View(func(v View) { w.refresh(v, area.Dx(), area.Dy()) })
	for y := range w.lines {
		cells := w.lines[y].cells
		for x := range cells {
			if cells[x].Width > 0 {
				scr.SetCell(area.Min.X+x, area.Min.Y+y, &cells[x])
			}
		}
	}
	w.overlay(scr, area)
	if w.cursor == nil {
		return nil
	}
	c := *w.cursor
	c.X += area.Min.X
	c.Y += area.Min.Y
	return &c
}

// refresh brings the cells up to date; rows that did not change are kept.
func (w *Widget) refresh(v View, width, height int) {
	t := v.t
	w.follow(v)
	now := drawnState{
		ok: true, version: t.version, back: w.back, w: width, h: height, cols: t.cols, rows: t.rows,
		reverse: t.modes.ReverseScr, theme: w.theme, focused: w.focused,
	}
	// A terminal higher than the area shows the part with the cursor.
	now.first = min(max(t.scr.cur.y-height+1, 0), max(t.rows-height, 0))
	w.browsed(v, now)
	if now == w.drawn {
		return
	}
	held := t.modes.Sync && t.clock().Sub(t.syncSince) < syncTimeout
	if old := w.drawn; held && old.ok && old.w == width && old.h == height && old.cols == t.cols && old.rows == t.rows && old.back == w.back {
		return
	}
	if w.gen != t.styles.gen || w.drawn.theme != w.theme || w.drawn.reverse != now.reverse {
		w.styles, w.lines, w.gen = nil, nil, t.styles.gen
	}
	if len(w.lines) != height || w.drawn.w != width {
		w.lines = make([]drawnLine, height)
	}
	for y := range w.lines {
		w.refreshLine(v, &w.lines[y], y+now.first-w.back, width)
	}
	w.cursor = w.cursorAt(v, now)
	w.drawn = now
	w.browsed(v, now)
}

// browsed puts the cursor where the text is read.
func (w *Widget) browsed(v View, s drawnState) {
	if !w.browse.on {
		return
	}
	x, y := w.browse.pos.Col, int(w.browse.pos.Line-v.base())-s.first+w.back
	w.cursor = nil
	if x < s.w && y >= 0 && y < s.h {
		w.cursor = tea.NewCursor(x, y)
		w.cursor.Blink = false
	}
	w.drawn.ok = false // the live cursor is computed anew when browsing ends
}

// refreshLine draws row y of the terminal into l unless it is there already.
func (w *Widget) refreshLine(v View, l *drawnLine, y, width int) {
	t := v.t
	if y >= 0 && y < t.rows {
		r := t.scr.rows[y]
		if l.row == r && l.stamp == r.stamp && l.cells != nil {
			return
		}
		l.row, l.stamp = r, r.stamp
	} else {
		l.row = nil
	}
	if len(l.cells) != width {
		l.cells = make([]uv.Cell, width)
	}
	cells := v.Row(y).Cells
	empty := w.style(v, 0)
	for x := range l.cells {
		if x >= len(cells) {
			l.cells[x] = uv.Cell{Content: " ", Width: 1, Style: empty}
			continue
		}
		c := cells[x]
		out := uv.Cell{Content: w.content(v, c), Width: int(c.Width), Style: w.style(v, c.Style)}
		if c.Width == 2 && x+1 >= width {
			out.Content, out.Width = " ", 1
		}
		l.cells[x] = out
	}
}

// content is the text of a cell without allocating for what was seen before.
func (w *Widget) content(v View, c Cell) string {
	if c.R < 128 {
		return v.Content(c)
	}
	s, ok := w.text[c.R]
	if !ok {
		if len(w.text) > 4096 {
			clear(w.text)
		}
		s = string(c.R)
		w.text[c.R] = s
	}
	return s
}

// style turns a style of the terminal into one for drawing.
func (w *Widget) style(v View, id StyleID) uv.Style {
	if int(id) >= len(w.styles) {
		w.styles = append(w.styles, make([]drawnStyle, int(id)+1-len(w.styles)+16)...)
	}
	d := &w.styles[id]
	if !d.ok {
		*d = drawnStyle{ok: true, style: w.drawStyle(v, v.Style(id))}
	}
	return d.style
}

// drawAttrs turns attributes into those of the drawing library.
func drawAttrs(a Attr) (out uint8) {
	for _, pair := range [...]struct {
		from Attr
		to   uint8
	}{
		{AttrBold, uv.AttrBold},
		{AttrFaint, uv.AttrFaint},
		{AttrItalic, uv.AttrItalic},
		{AttrBlink, uv.AttrBlink},
		{AttrRapidBlink, uv.AttrRapidBlink},
		{AttrReverse, uv.AttrReverse},
		{AttrConceal, uv.AttrConceal},
		{AttrStrike, uv.AttrStrikethrough},
	} {
		if a&pair.from != 0 {
			out |= pair.to
		}
	}
	return out
}

func (w *Widget) drawStyle(v View, s Style) uv.Style {
	if v.t.modes.ReverseScr {
		s.Attrs ^= AttrReverse
	}
	out := uv.Style{Underline: uv.Underline(s.Underline)}
	if w.theme == nil || !w.theme.NoColor {
		out.Fg = v.resolve(s.Fg, v.t.fg).Std()
		out.Bg = v.resolve(s.Bg, v.t.bg).Std()
		out.UnderlineColor = v.resolve(s.UnderlineColor, 0).Std()
	}
	out.Attrs = drawAttrs(s.Attrs)
	return out
}

// resolve applies what the program changed of the palette and the default colours.
func (v View) resolve(c, def Color) Color {
	if c.IsDefault() {
		return def
	}
	if i, ok := c.Index(); ok {
		if own, ok := v.t.palette[i]; ok {
			return own
		}
	}
	return c
}

// cursorAt is the cursor relative to the area, nil if it is not to be seen.
func (w *Widget) cursorAt(v View, s drawnState) *tea.Cursor {
	c := v.Cursor()
	x, y := c.X, c.Y-s.first+w.back
	if !c.Visible || !w.focused || x >= s.w || y < 0 || y >= s.h {
		return nil
	}
	out := tea.NewCursor(x, y)
	out.Blink = c.Blink
	out.Color = c.Color.Std()
	switch c.Shape {
	case CursorUnderline:
		out.Shape = tea.CursorUnderline
	case CursorBar:
		out.Shape = tea.CursorBar
	default:
		out.Shape = tea.CursorBlock
	}
	return out
}

// At is the cell of the terminal under a cell of the area, for mouse events;
// row is below 0 in the scroll-back. link is the hyperlink there, "" for none.
func (w *Widget) At(x, y int) (col, row int, link string) {
	col, row = x, y+w.drawn.first-w.back
	w.term.View(func(v View) {
		if cells := v.Row(row).Cells; x >= 0 && x < len(cells) {
			link = v.Link(v.Style(cells[x].Style).Link)
		}
	})
	return col, row, link
}

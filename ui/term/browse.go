package term

import (
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// Pos is a place in the text of a terminal. It stays with the text while rows
// scroll away; a change of the width may move the text elsewhere.
type Pos struct {
	// Line counts all rows that ever were, from 0; Col counts cells.
	Line int64
	Col  int
}

func (p Pos) before(q Pos) bool { return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col }

// base is the line of the first row of the screen.
func (v View) base() int64 { return int64(v.Dropped()) + int64(v.t.scroll.len()) }

// oldest is the line of the oldest row that can be shown.
func (v View) oldest() int64 { return v.base() - int64(v.ScrollRows()) }

// newest is the line of the last row of the screen.
func (v View) newest() int64 { return v.base() + int64(v.t.rows) - 1 }

// line is the row of a line.
func (v View) line(n int64) Row { return v.Row(int(n - v.base())) }

// browser is a cursor of its own in the text, and what is selected.
type browser struct {
	on  bool
	pos Pos
	// selecting is set while moving extends the selection.
	selecting bool
	// lines selects whole lines.
	lines    bool
	anchor   Pos
	selected bool
	query    string
}

// Browse starts or ends moving through the text with a cursor of its own.
// Ending goes back to the live screen and forgets selection and search.
func (w *Widget) Browse(on bool) {
	if on == w.browse.on {
		return
	}
	w.browse = browser{on: on}
	if !on {
		w.back = 0
		return
	}
	w.term.View(func(v View) {
		w.follow(v)
		c := v.Cursor()
		w.browse.pos = Pos{v.base() + int64(c.Y), min(c.X, v.t.cols-1)}
		w.show(v)
	})
}

// Browsing reports whether the text is moved through.
func (w *Widget) Browsing() bool { return w.browse.on }

// MoveCursor moves the browsing cursor by cells and rows; it stays within the text.
func (w *Widget) MoveCursor(dx, dy int) {
	w.term.View(func(v View) {
		w.follow(v)
		p := &w.browse.pos
		p.Line = min(max(p.Line+int64(dy), v.oldest()), v.newest())
		p.Col = min(max(p.Col+dx, 0), v.t.cols-1)
		// The cursor does not stand on the second half of a wide character.
		if cells := v.line(p.Line).Cells; p.Col < len(cells) && cells[p.Col].Width == 0 && p.Col > 0 {
			if dx > 0 && p.Col+1 < v.t.cols {
				p.Col++
			} else {
				p.Col--
			}
		}
		w.show(v)
	})
}

// MovePage moves the browsing cursor by n pages less one row.
func (w *Widget) MovePage(n int) { w.MoveCursor(0, -n*max(w.drawn.h-1, 1)) }

// MoveEdge goes to the oldest row, or to the end of the text.
func (w *Widget) MoveEdge(top bool) {
	w.term.View(func(v View) {
		w.browse.pos = Pos{Line: v.oldest()}
		if !top {
			w.browse.pos.Line = v.base() + int64(v.Cursor().Y)
		}
		w.show(v)
	})
}

// MoveInLine goes to the first cell of the row, or to its last character.
func (w *Widget) MoveInLine(end bool) {
	w.term.View(func(v View) {
		w.browse.pos.Col = 0
		if end {
			w.browse.pos.Col = max(usedLen(v.line(w.browse.pos.Line).Cells)-1, 0)
		}
	})
}

// MovePrompt goes to the previous or next row that a shell marked as a prompt
// (OSC 133), and reports whether there is one.
func (w *Widget) MovePrompt(older bool) (found bool) {
	w.term.View(func(v View) {
		step := int64(1)
		if older {
			step = -1
		}
		for n := w.browse.pos.Line + step; n >= v.oldest() && n <= v.newest(); n += step {
			if v.line(n).Mark == MarkPrompt {
				w.browse.pos = Pos{Line: n}
				w.show(v)
				found = true
				return
			}
		}
	})
	return found
}

// show scrolls so that the browsing cursor can be seen.
func (w *Widget) show(v View) {
	h := max(w.drawn.h, 1)
	y := int(w.browse.pos.Line-v.base()) - w.drawn.first + w.back
	if y < 0 {
		w.back -= y
	} else if y >= h {
		w.back -= y - h + 1
	}
	w.back = min(max(w.back, 0), v.ScrollRows())
}

// showMiddle is show, but what was out of sight comes to the middle.
func (w *Widget) showMiddle(v View) {
	old := w.back
	w.show(v)
	if w.back == old {
		return
	}
	y := int(w.browse.pos.Line-v.base()) - w.drawn.first + w.back
	w.back = min(max(w.back+max(w.drawn.h, 1)/2-y, 0), v.ScrollRows())
}

// ToggleSelect starts selecting at the browsing cursor, or ends it. lines
// selects whole lines; changing between both keeps the start.
func (w *Widget) ToggleSelect(lines bool) {
	b := &w.browse
	if b.selecting && b.lines == lines {
		b.selecting, b.selected = false, false
		return
	}
	if !b.selecting {
		b.anchor = b.pos
	}
	b.selecting, b.selected, b.lines = true, true, lines
}

// SelectFrom begins a selection at a cell of the area; SelectTo extends it to
// another, which may lie outside of the area and then scrolls.
func (w *Widget) SelectFrom(x, y int) {
	w.term.View(func(v View) {
		w.browse.anchor = w.posAt(v, x, y)
		w.browse.pos = w.browse.anchor
	})
	w.browse.selected, w.browse.lines, w.browse.selecting = false, false, false
}

// SelectTo extends the selection that SelectFrom began.
func (w *Widget) SelectTo(x, y int) {
	switch {
	case y <= 0:
		w.Scroll(1)
	case y >= w.drawn.h-1 && w.back > 0:
		w.Scroll(-1)
	}
	w.term.View(func(v View) {
		w.browse.pos = w.posAt(v, min(max(x, 0), max(w.drawn.w-1, 0)), min(max(y, 0), max(w.drawn.h-1, 0)))
	})
	w.browse.selected = true
}

// SelectWord selects the word under a cell of the area: what stands between blanks.
func (w *Widget) SelectWord(x, y int) {
	w.term.View(func(v View) {
		p := w.posAt(v, x, y)
		cells := v.line(p.Line).Cells
		word := func(i int) bool {
			return i >= 0 && i < len(cells) && strings.TrimSpace(v.Content(cells[i])) != "" || i >= 0 && i < len(cells) && cells[i].Width == 0
		}
		if !word(p.Col) {
			return
		}
		from, to := p.Col, p.Col
		for word(from - 1) {
			from--
		}
		for word(to + 1) {
			to++
		}
		b := &w.browse
		b.anchor, b.pos, b.selected, b.lines = Pos{p.Line, from}, Pos{p.Line, to}, true, false
	})
}

// SelectLine selects the line under a cell of the area, all rows of it.
func (w *Widget) SelectLine(_, y int) {
	w.term.View(func(v View) {
		from, to := v.logical(w.posAt(v, 0, y).Line)
		b := &w.browse
		b.anchor, b.pos, b.selected, b.lines = Pos{from, 0}, Pos{to, 0}, true, true
	})
}

// ClearSelection forgets what is selected.
func (w *Widget) ClearSelection() { w.browse.selected, w.browse.selecting = false, false }

// Selected reports whether something is selected.
func (w *Widget) Selected() bool { return w.browse.selected }

// posAt is the place under a cell of the area.
func (w *Widget) posAt(v View, x, y int) Pos {
	return Pos{v.base() + int64(y+w.drawn.first-w.back), min(max(x, 0), v.t.cols-1)}
}

// selection is the selected range in order, both ends included.
func (w *Widget) selection() (from, to Pos, ok bool) {
	b := &w.browse
	from, to = b.anchor, b.pos
	if to.before(from) {
		from, to = to, from
	}
	if b.lines {
		from.Col, to.Col = 0, MaxCols
	}
	return from, to, b.selected
}

// Text is what is selected: rows of one line are joined, blanks at the end of
// lines are left out. "" when nothing is selected.
func (w *Widget) Text() (text string) {
	w.term.View(func(v View) {
		if from, to, ok := w.selection(); ok {
			text = v.between(from, to)
			if w.browse.lines {
				text += "\n"
			}
		}
	})
	return text
}

// LineText is the text of the line under the browsing cursor.
func (w *Widget) LineText() (text string) {
	w.term.View(func(v View) {
		from, to := v.logical(w.browse.pos.Line)
		text = v.between(Pos{from, 0}, Pos{to, MaxCols})
	})
	return text
}

// between is the text of a range, both ends included.
func (v View) between(from, to Pos) string {
	var b strings.Builder
	for n := max(from.Line, v.oldest()); n <= min(to.Line, v.newest()); n++ {
		r := v.line(n)
		first, last := 0, len(r.Cells)
		if n == from.Line {
			first = min(max(from.Col, 0), len(r.Cells))
		}
		if n == to.Line {
			last = min(to.Col+1, len(r.Cells))
		}
		var row strings.Builder
		for x := first; x < last; x++ {
			if r.Cells[x].flags&flagPad == 0 {
				row.WriteString(v.Content(r.Cells[x]))
			}
		}
		joined := r.Wrapped && n < to.Line
		if joined {
			b.WriteString(row.String())
			continue
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		if n < to.Line {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// logical is the first and last row of the line that row n belongs to.
func (v View) logical(n int64) (from, to int64) {
	from, to = n, n
	for from > v.oldest() && v.line(from-1).Wrapped {
		from--
	}
	for to < v.newest() && v.line(to).Wrapped {
		to++
	}
	return from, to
}

// overlay marks selection and matches in what was drawn into area.
func (w *Widget) overlay(scr uv.Screen, area uv.Rectangle) {
	if !w.browse.selected && w.browse.query == "" {
		return
	}
	w.term.View(func(v View) {
		top := v.base() + int64(w.drawn.first-w.back)
		if w.browse.query != "" {
			for y := range area.Dy() {
				for _, m := range w.matchesIn(v, top+int64(y)) {
					w.highlight(scr, area, y, m.from, m.to, w.matchStyle)
				}
			}
		}
		from, to, ok := w.selection()
		if !ok {
			return
		}
		for y := range area.Dy() {
			n := top + int64(y)
			if n < from.Line || n > to.Line {
				continue
			}
			first, last := 0, area.Dx()
			if n == from.Line {
				first = from.Col
			}
			if n == to.Line {
				last = to.Col + 1
			}
			w.highlight(scr, area, y, first, last, reversed)
		}
	})
}

// highlight changes the style of cells first..last-1 of a row of the area.
func (w *Widget) highlight(scr uv.Screen, area uv.Rectangle, y, first, last int, style func(uv.Style) uv.Style) {
	for x := max(first, 0); x < min(last, area.Dx()); x++ {
		c := scr.CellAt(area.Min.X+x, area.Min.Y+y)
		if c == nil || c.Width == 0 {
			continue
		}
		changed := *c
		changed.Style = style(c.Style)
		scr.SetCell(area.Min.X+x, area.Min.Y+y, &changed)
	}
}

func reversed(s uv.Style) uv.Style {
	s.Attrs ^= uv.AttrReverse
	return s
}

// matchStyle is how a match looks: the theme's, else underlined.
func (w *Widget) matchStyle(s uv.Style) uv.Style {
	if w.theme != nil && (w.theme.Text.Match.Fg != nil || w.theme.Text.Match.Bg != nil || w.theme.Text.Match.Attrs != 0) {
		return w.theme.Text.Match
	}
	s.Underline = uv.UnderlineSingle
	return s
}

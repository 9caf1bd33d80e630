package logpane

import (
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
	"abxdash/ui/draw"
)

// Draw paints the visible rows, and the search line while one is typed. It
// returns the cursor of the search line.
func (p *Pane) Draw(scr uv.Screen, area uv.Rectangle, t *theme.Theme) *tea.Cursor {
	p.area = area
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	draw.Fill(scr, area, t.Text.Normal)
	clear(p.used)
	if p.lines != nil {
		p.drawRows(scr, t)
	}
	// Only what was looked at stays parsed.
	p.cache, p.used = p.used, p.cache
	if p.search != nil {
		return p.search.Draw(scr, uv.Rect(area.Min.X, area.Max.Y-1, area.Dx(), 1), t)
	}
	return nil
}

func (p *Pane) drawRows(scr uv.Screen, t *theme.Theme) {
	_, next := p.bounds()
	if p.follow {
		p.last = p.tail()
	} else {
		p.clampTop()
		p.last = p.top
	}
	at := p.last
	y, h := 0, p.height()
	n, row := at.line, at.row
	for ; n < next && y < h; n++ {
		count := p.rows(n)
		for ; row < count && y < h; row++ {
			p.drawRow(scr, p.area.Min.Y+y, n, row, t)
			y++
		}
		row = 0
	}
}

func (p *Pane) drawRow(scr uv.Screen, y, n, row int, t *theme.Theme) {
	l, ok := p.line(n)
	if !ok {
		return
	}
	x := p.area.Min.X
	_, isErr, at := p.lines.At(n - p.lines.Dropped())
	if row == 0 && p.gutter() > 0 {
		if p.times {
			stamp := "--:--:--.--- "
			if !at.IsZero() {
				stamp = at.Format("15:04:05.000 ")
			}
			draw.Text(scr, x, y, p.area.Dx(), stamp, t.Text.Dim)
		}
		if isErr {
			draw.Text(scr, x+p.gutter()-2, y, 1, t.Symbol.V, t.Text.Error)
		}
	}
	from, to := p.left, p.left+p.textWidth()
	if p.wrap {
		starts := p.wrapped(n)
		from, to = starts[row], l.width
		if row+1 < len(starts) {
			to = starts[row+1]
		}
		to = min(to, from+p.textWidth()) // a wide character may be wider than a tiny pane
	}
	c := canvas{scr: scr, x: x + p.gutter(), y: y, from: from, to: to, noColor: t.NoColor}
	c.paint(l, matches(l.plain, p.query), p.match(n, t))
	if !p.wrap && l.width > to {
		c.put(to-1, t.Symbol.Ellipsis, 1, t.Text.Dim)
	}
}

// match is the style of highlights; those of the current line stand out more.
func (p *Pane) match(n int, t *theme.Theme) uv.Style {
	st := t.Text.Match
	if n == p.found {
		st.Attrs |= uv.AttrBold
		st.Underline = uv.UnderlineSingle
	}
	return st
}

// canvas paints columns from … to of a line at (x, y).
type canvas struct {
	scr      uv.Screen
	x, y     int
	from, to int
	noColor  bool
}

func (c *canvas) put(col int, s string, w int, st uv.Style) {
	if col < c.from || col+w > c.to {
		return
	}
	c.scr.SetCell(c.x+col-c.from, c.y, &uv.Cell{Content: s, Width: w, Style: st})
}

// paint draws the segments with the marked byte ranges highlighted.
func (c *canvas) paint(l parsed, marks []span, mark uv.Style) {
	col, at := 0, 0
	for _, s := range l.segs {
		if col >= c.to {
			return
		}
		if col+s.width <= c.from {
			col, at = col+s.width, at+len(s.text)
			continue
		}
		st := s.style
		if c.noColor {
			st.Fg, st.Bg, st.UnderlineColor = nil, nil, nil
		}
		style := func(off int) uv.Style {
			for len(marks) > 0 && marks[0].to <= off {
				marks = marks[1:]
			}
			if len(marks) > 0 && marks[0].from <= off {
				return theme.Over(st, mark)
			}
			return st
		}
		if s.ascii {
			lo, hi := max(c.from-col, 0), min(c.to-col, len(s.text))
			for i := lo; i < hi; i++ {
				c.put(col+i, s.text[i:i+1], 1, style(at+i))
			}
		} else {
			x, off := col, at
			eachCluster(s.text, func(g string, w int) bool {
				c.put(x, g, w, style(off))
				x, off = x+w, off+len(g)
				return x < c.to
			})
		}
		col, at = col+s.width, at+len(s.text)
	}
}

// eachCluster calls f with each grapheme of a clean text and its width until it returns false.
func eachCluster(s string, f func(cluster string, width int) bool) {
	g := draw.Clusters(s)
	for g.Next() {
		if g.Width > 0 && !f(g.Text, g.Width) {
			return
		}
	}
}

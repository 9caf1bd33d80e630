// Package draw paints text, boxes and gauges into a rectangle of a screen
// buffer. Widths are cell widths by grapheme, and nothing is painted outside
// the rectangle that was given. Text passed in must already be clean; use
// [Clean] for anything that came from outside.
package draw

import (
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"

	"abxdash/theme"
)

// Text paints s at (x, y), at most width cells wide, cut with an ellipsis, and
// returns the number of cells used.
func Text(scr uv.Screen, x, y, width int, s string, st uv.Style) int {
	if width <= 0 || s == "" {
		return 0
	}
	if len(s) > width && ansi.StringWidth(s) > width {
		s = ansi.Truncate(s, width, "…")
	}
	used := 0
	b := scr.Bounds()
	row := y >= b.Min.Y && y < b.Max.Y
	cell := uv.Cell{Style: st}
	g := Clusters(s)
	for g.Next() {
		if g.Width == 0 {
			continue
		}
		if used+g.Width > width {
			break
		}
		if row && x+used >= b.Min.X && x+used+g.Width <= b.Max.X {
			cell.Content, cell.Width = g.Text, g.Width
			scr.SetCell(x+used, y, &cell)
		}
		used += g.Width
	}
	return used
}

// Cluster walks the graphemes of a text, quickly where it is ASCII.
type Cluster struct {
	// Text is the current grapheme and Width its cells.
	Text  string
	Width int

	rest  string
	state int
}

// Clusters begins a walk; call Next before looking.
func Clusters(s string) Cluster { return Cluster{rest: s, state: -1} }

// Next goes to the next grapheme and reports whether there is one.
func (c *Cluster) Next() bool {
	if c.rest == "" {
		return false
	}
	if c.rest[0] >= 0x20 && c.rest[0] < 0x7f && (len(c.rest) == 1 || c.rest[1] < utf8.RuneSelf) {
		c.Text, c.rest, c.Width, c.state = c.rest[:1], c.rest[1:], 1, -1
		return true
	}
	c.Text, c.rest, _, c.state = uniseg.FirstGraphemeClusterInString(c.rest, c.state)
	c.Width = ansi.StringWidth(c.Text)
	return true
}

// Line paints s at the start of a whole row of area and fills the rest of the row with the same style.
func Line(scr uv.Screen, area uv.Rectangle, row int, s string, st uv.Style) {
	y := area.Min.Y + row
	if row < 0 || y >= area.Max.Y {
		return
	}
	n := Text(scr, area.Min.X, y, area.Dx(), s, st)
	Fill(scr, uv.Rect(area.Min.X+n, y, area.Dx()-n, 1), st)
}

// Fill paints area with blanks of a style.
func Fill(scr uv.Screen, area uv.Rectangle, st uv.Style) { repeat(scr, area, " ", st) }

// repeat paints every cell of area with a symbol of one cell.
func repeat(scr uv.Screen, area uv.Rectangle, symbol string, st uv.Style) {
	area = area.Intersect(scr.Bounds())
	c := uv.Cell{Content: symbol, Width: 1, Style: st}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			scr.SetCell(x, y, &c)
		}
	}
}

// Box paints a frame around area with a title in its top edge and returns the inside.
func Box(scr uv.Screen, area uv.Rectangle, t *theme.Theme, title string, border, titleStyle uv.Style) uv.Rectangle {
	w, h := area.Dx(), area.Dy()
	if w < 2 || h < 2 {
		return uv.Rect(area.Min.X, area.Min.Y, 0, 0)
	}
	s := &t.Symbol
	x0, y0, x1, y1 := area.Min.X, area.Min.Y, area.Max.X-1, area.Max.Y-1
	Text(scr, x0, y0, 1, s.TL, border)
	Text(scr, x1, y0, 1, s.TR, border)
	Text(scr, x0, y1, 1, s.BL, border)
	Text(scr, x1, y1, 1, s.BR, border)
	repeat(scr, uv.Rect(x0+1, y0, w-2, 1), s.H, border)
	repeat(scr, uv.Rect(x0+1, y1, w-2, 1), s.H, border)
	repeat(scr, uv.Rect(x0, y0+1, 1, h-2), s.V, border)
	repeat(scr, uv.Rect(x1, y0+1, 1, h-2), s.V, border)
	if title != "" && w > 6 {
		Text(scr, x0+2, y0, w-4, " "+ansi.Truncate(title, w-6, "…")+" ", titleStyle)
	}
	return uv.Rect(x0+1, y0+1, w-2, h-2)
}

// Pad cuts or fills s to exactly width cells.
func Pad(s string, width int) string {
	w := ansi.StringWidth(s)
	if w > width {
		s = ansi.Truncate(s, width, "…")
		w = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(0, width-w))
}

// Center returns the rectangle of size w×h in the middle of area, clipped to it.
func Center(area uv.Rectangle, w, h int) uv.Rectangle {
	w, h = min(w, area.Dx()), min(h, area.Dy())
	return uv.Rect(area.Min.X+(area.Dx()-w)/2, area.Min.Y+(area.Dy()-h)/2, w, h)
}

// Width is the number of cells that s takes.
func Width(s string) int { return ansi.StringWidth(s) }

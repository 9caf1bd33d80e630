// Package draw paints text, boxes and gauges into a rectangle of a screen
// buffer. Widths are cell widths by grapheme, and nothing is painted outside
// the rectangle that was given. Text passed in must already be clean; use
// [Clean] for anything that came from outside.
package draw

import (
	"strings"

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
	if ansi.StringWidth(s) > width {
		s = ansi.Truncate(s, width, "…")
	}
	used := 0
	b := scr.Bounds()
	g := uniseg.NewGraphemes(s)
	for g.Next() {
		cluster := g.Str()
		w := ansi.StringWidth(cluster)
		if w == 0 {
			continue
		}
		if used+w > width {
			break
		}
		if y >= b.Min.Y && y < b.Max.Y && x+used >= b.Min.X && x+used+w <= b.Max.X {
			scr.SetCell(x+used, y, &uv.Cell{Content: cluster, Width: w, Style: st})
		}
		used += w
	}
	return used
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
func Fill(scr uv.Screen, area uv.Rectangle, st uv.Style) {
	area = area.Intersect(scr.Bounds())
	c := uv.Cell{Content: " ", Width: 1, Style: st}
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
	for x := x0 + 1; x < x1; x++ {
		Text(scr, x, y0, 1, s.H, border)
		Text(scr, x, y1, 1, s.H, border)
	}
	for y := y0 + 1; y < y1; y++ {
		Text(scr, x0, y, 1, s.V, border)
		Text(scr, x1, y, 1, s.V, border)
	}
	if title != "" && w > 6 {
		Text(scr, x0+2, y0, w-4, " "+title+" ", titleStyle)
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

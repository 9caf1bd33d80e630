// Package spark draws tiny charts of one row: a spark line and a gauge.
package spark

import (
	"math"

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
	"abxdash/ui/draw"
)

// Line is values as a text of at most width cells, the newest at the right,
// each scaled to top. A value that is not a number is a blank; zero is the
// lowest mark, so that "no use" differs from "not known". With top 0 the
// largest value is the top.
func Line(values []float64, top float64, width int, t *theme.Theme) string {
	if width <= 0 {
		return ""
	}
	if len(values) > width {
		values = values[len(values)-width:]
	}
	if top <= 0 {
		for _, v := range values {
			if v > top { // false for NaN
				top = v
			}
		}
	}
	levels := t.Symbol.Spark
	out := ""
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			out += " "
		case top <= 0:
			out += levels[0]
		default:
			i := int(math.Round(math.Min(math.Max(v/top, 0), 1) * float64(len(levels)-1)))
			out += levels[i]
		}
	}
	return out
}

// Gauge draws a bar of width cells, filled by part (0 to 1). A low part is
// drawn as a warning when low is above it.
func Gauge(scr uv.Screen, x, y, width int, part, low float64, t *theme.Theme) {
	if width <= 0 || math.IsNaN(part) {
		return
	}
	part = math.Min(math.Max(part, 0), 1)
	full := int(math.Round(part * float64(width)))
	if part > 0 && full == 0 {
		full = 1
	}
	st := t.Bar.GaugeFull
	if part <= low {
		st = t.Bar.GaugeLow
	}
	for i := range width {
		if i < full {
			draw.Text(scr, x+i, y, 1, t.Symbol.GaugeFull, st)
		} else {
			draw.Text(scr, x+i, y, 1, t.Symbol.GaugeEmpty, t.Bar.GaugeEmpty)
		}
	}
}

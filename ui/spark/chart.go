package spark

import (
	"math"

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
	"abxdash/ui/draw"
)

// Chart draws values as columns that fill area from below, the newest at the
// right, each scaled to top (0 means the largest). A value that is not a number
// leaves its column empty; zero is the lowest mark.
func Chart(scr uv.Screen, area uv.Rectangle, values []float64, top float64, st uv.Style, t *theme.Theme) {
	w, h := area.Dx(), area.Dy()
	if w <= 0 || h <= 0 {
		return
	}
	if len(values) > w {
		values = values[len(values)-w:]
	}
	if top <= 0 {
		for _, v := range values {
			if v > top { // false for NaN
				top = v
			}
		}
	}
	levels := t.Symbol.Spark
	n := len(levels)
	x := area.Max.X - len(values)
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		units := 1
		if top > 0 {
			units = max(1, int(math.Round(math.Min(math.Max(v/top, 0), 1)*float64(n*h))))
		}
		for row := range h {
			left := units - row*n
			if left <= 0 {
				break
			}
			draw.Text(scr, x+i, area.Max.Y-1-row, 1, levels[min(left, n)-1], st)
		}
	}
}

// Buckets spreads values at times (seconds, oldest first) over n columns of the
// range from…to, each the mean of what falls into it. A column into which
// nothing falls repeats the last value for hold seconds, so that rare values
// make no holes, and is NaN after that.
func Buckets(at, values []float64, from, to float64, n int, hold float64) []float64 {
	if n <= 0 || to <= from {
		return nil
	}
	sum, count := make([]float64, n), make([]int, n)
	last := make([]float64, n) // time of the last value in a column
	for i, x := range at {
		if x < from || x > to || i >= len(values) {
			continue
		}
		k := min(n-1, int((x-from)/(to-from)*float64(n)))
		sum[k] += values[i]
		count[k]++
		last[k] = x
	}
	width := (to - from) / float64(n)
	seen := math.NaN() // time of the last value so far
	for k := range sum {
		switch {
		case count[k] > 0:
			sum[k] /= float64(count[k])
			seen = last[k]
		case k > 0 && from+float64(k)*width-seen <= hold: // false while nothing was seen
			sum[k] = sum[k-1]
		default:
			sum[k] = math.NaN()
		}
	}
	return sum
}

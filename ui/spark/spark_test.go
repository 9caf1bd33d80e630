package spark

import (
	"math"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
)

func TestLine(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, false)
	nan := math.NaN()
	for _, tt := range []struct {
		values []float64
		top    float64
		width  int
		want   string
	}{
		{[]float64{0, 50, 100}, 100, 8, "▁▅█"},
		{[]float64{0, 1, 2, 4}, 0, 8, "▁▃▅█"},
		{[]float64{1, 2, 3, 4, 5}, 5, 2, "▇█"},
		{[]float64{nan, 200, -5}, 100, 8, " █▁"},
		{[]float64{0, 0}, 0, 8, "▁▁"},
		{nil, 100, 8, ""},
		{[]float64{1}, 1, 0, ""},
	} {
		if got := Line(tt.values, tt.top, tt.width, th); got != tt.want {
			t.Errorf("Line(%v, %v, %d) = %q, want %q", tt.values, tt.top, tt.width, got, tt.want)
		}
	}
}

func TestGauge(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, true)
	for _, tt := range []struct {
		part float64
		want string
	}{{0, "----"}, {0.01, "#---"}, {0.5, "##--"}, {1, "####"}, {7, "####"}, {-1, "----"}, {math.NaN(), ""}} {
		buf := uv.NewScreenBuffer(4, 1)
		Gauge(buf, 0, 0, 4, tt.part, 0.2, th)
		if got := uv.TrimSpace(buf.String()); got != tt.want {
			t.Errorf("Gauge(%v) = %q, want %q", tt.part, got, tt.want)
		}
	}
}

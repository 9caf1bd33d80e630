package spark

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"abxdash/theme"
)

func TestChart(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, false)
	buf := uv.NewScreenBuffer(6, 2)
	Chart(buf, buf.Bounds(), []float64{0, 50, 100, math.NaN(), 25}, 100, uv.Style{}, th)
	var got []string
	for _, l := range strings.Split(buf.String(), "\n") {
		got = append(got, strings.TrimRight(l, " \r"))
	}
	if d := cmp.Diff([]string{"   █", " ▁██ ▄"}, got); d != "" {
		t.Error(d)
	}
}

// Whatever the values, nothing is painted outside and nothing panics.
func TestChartStaysInside(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, true)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64(), 0, 30).Draw(t, "values")
		x, y := rapid.IntRange(0, 10).Draw(t, "x"), rapid.IntRange(0, 4).Draw(t, "y")
		w, h := rapid.IntRange(-1, 10).Draw(t, "w"), rapid.IntRange(-1, 4).Draw(t, "h")
		buf := uv.NewScreenBuffer(20, 8)
		area := uv.Rectangle{Min: uv.Pos(x, y), Max: uv.Pos(x+w, y+h)}
		Chart(buf, area, values, rapid.Float64Range(-1, 100).Draw(t, "top"), uv.Style{}, th)
		for cy := range 8 {
			for cx := range 20 {
				if *buf.CellAt(cx, cy) != uv.EmptyCell && !uv.Pos(cx, cy).In(area) {
					t.Fatalf("cell %d,%d was painted", cx, cy)
				}
			}
		}
	})
}

func TestBuckets(t *testing.T) {
	got := Buckets([]float64{-1, 0, 1, 5, 9, 10, 11}, []float64{9, 1, 3, 5, 7, 9, 9}, 0, 10, 5, 0)
	nan := math.NaN()
	want := []float64{2, nan, 5, nan, 8}
	for i := range want {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Errorf("column %d is %v, want %v", i, got[i], want[i])
		}
	}
	got = Buckets([]float64{1, 7}, []float64{4, 6}, 0, 10, 10, 3)
	want = []float64{nan, 4, 4, 4, 4, nan, nan, 6, 6, 6}
	for i := range want {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Errorf("holding 3 s, column %d is %v, want %v", i, got[i], want[i])
		}
	}
	if Buckets(nil, nil, 5, 5, 3, 0) != nil || Buckets(nil, nil, 0, 1, 0, 0) != nil {
		t.Error("an empty range has columns")
	}
}

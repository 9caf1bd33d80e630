package draw_test

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
	"abxdash/ui/draw"
)

// Hints are shown whole or not at all, in the last row, and a key that does
// nothing looks like it.
func TestHints(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, false)
	hints := []draw.Hint{{Key: "y", What: "yes"}, {What: "nothing"}, {Key: "esc", What: "back", Off: true}}
	for width, want := range map[int]string{
		30: "y yes   esc back              ", 16: "y yes   esc back", 15: "y yes          ", 4: "    ",
	} {
		scr := uv.NewScreenBuffer(width, 2)
		draw.Fill(scr, scr.Bounds(), th.Text.Normal)
		draw.Hints(scr, scr.Bounds(), th, hints...)
		got := ""
		for x := range width {
			got += scr.CellAt(x, 1).Content
			if c := scr.CellAt(x, 0).Content; c != " " {
				t.Errorf("%d wide: the first row has %q", width, c)
			}
		}
		if got != want {
			t.Errorf("%d wide: %q, want %q", width, got, want)
		}
		if width == 30 {
			key, off := scr.CellAt(0, 1).Style, scr.CellAt(8, 1).Style
			if !key.Equal(&th.Keys.Key) || !off.Equal(&th.Keys.Disabled) {
				t.Errorf("styles %v and %v", key, off)
			}
		}
	}
	scr := uv.NewScreenBuffer(10, 1)
	draw.Hints(scr, uv.Rect(0, 0, 10, 0), th, hints...)
}

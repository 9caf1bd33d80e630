package term

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// The shortcuts of runeWidth and simple agree with the width library.
func TestRuneWidthShortcuts(t *testing.T) {
	for r := rune(0xa0); r < 0x20000; r++ {
		if r >= 0xd800 && r < 0xe000 || r == 0xad {
			continue
		}
		if got, want := runeWidth(r), min(ansi.StringWidth(string(r)), 2); got != want {
			t.Errorf("%U is %d cells wide, the library says %d", r, got, want)
		}
	}
}

// What is drawn in a cell is as wide as the cell, whatever text came in, so
// that the real terminal cannot get out of step.
func TestCellsAreAsWideAsTheirText(t *testing.T) {
	piece := rapid.OneOf(
		rapid.Rune(),
		rapid.RuneFrom([]rune("ab 1#*©™❤☺漢字かな한\u0301\u0308\ufe0e\ufe0f\u200d\u200c\u20e3\u093f\u094d\u0915\u1100\u1161\u11a8\u0e33\U0001f3fd\U0001f469\U0001f1e9\U0001f1ea\U000e0067\U000e007f\u0600\u3099")),
	)
	rapid.Check(t, func(t *rapid.T) {
		x := New(rapid.IntRange(1, 12).Draw(t, "cols"), 4, Options{})
		for _, r := range rapid.SliceOf(piece).Draw(t, "text") {
			if r >= 0x20 {
				_, _ = x.Write([]byte(string(r)))
			}
		}
		x.View(func(v View) {
			for y := range v.Rows() {
				for _, c := range v.Row(y).Cells {
					if text := v.Content(c); text != "" && ansi.StringWidth(text) != int(c.Width) {
						t.Fatalf("%+q is %d cells wide, the cell %d", text, ansi.StringWidth(text), c.Width)
					}
				}
			}
		})
	})
}

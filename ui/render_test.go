package ui

import (
	"image/color"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// What is rendered reads back as the cells it was made of.
func TestRenderReadsBack(t *testing.T) {
	colours := []color.Color{nil, ansi.Red, ansi.IndexedColor(200), color.RGBA{1, 2, 3, 255}}
	contents := []string{" ", "a", "构", "e\u0301", "👍"}
	r := renderer{graphemes: true}
	rapid.Check(t, func(t *rapid.T) {
		const w, h = 12, 3
		in := uv.NewScreenBuffer(w, h)
		for y := range h {
			for x := 0; x < w; {
				s := rapid.SampledFrom(contents).Draw(t, "content")
				c := uv.Cell{Content: s, Width: ansi.StringWidth(s), Style: uv.Style{
					Fg: rapid.SampledFrom(colours).Draw(t, "fg"), Bg: rapid.SampledFrom(colours).Draw(t, "bg"),
					Attrs:     rapid.SampledFrom([]uint8{0, uv.AttrBold, uv.AttrReverse | uv.AttrItalic, uv.AttrFaint}).Draw(t, "attrs"),
					Underline: rapid.SampledFrom([]uv.Underline{uv.UnderlineNone, uv.UnderlineSingle}).Draw(t, "underline"),
				}}
				if rapid.IntRange(0, 9).Draw(t, "link") == 0 {
					c.Link = uv.Link{URL: "https://example.org/"}
				}
				if x+c.Width > w {
					break
				}
				in.SetCell(x, y, &c)
				x += c.Width
			}
		}
		out := uv.NewScreenBuffer(w, h)
		uv.NewStyledString(r.render(in.Lines)).Draw(out, out.Bounds())
		for y := range h {
			for x := range w {
				if a, b := in.CellAt(x, y), out.CellAt(x, y); !a.Equal(b) {
					t.Fatalf("cell %d,%d: %+v became %+v", x, y, *a, *b)
				}
			}
		}
	})
}

func TestRenderForgetsStyles(t *testing.T) {
	var r renderer
	line := uv.NewLine(2)
	for i := range 3 * maxMoves {
		line[0].Style.Fg = color.RGBA{uint8(i), uint8(i >> 8), 0, 255}
		r.render([]uv.Line{line})
	}
	if len(r.moves) > maxMoves {
		t.Errorf("%d styles are remembered", len(r.moves))
	}
}

// A grapheme that terminals measure differently takes exactly its cells by either measure.
func TestRenderSettlesWidths(t *testing.T) {
	for _, tt := range []struct {
		content string
		want    string
	}{
		{"a", "a"},
		{"构", "构"},
		{"👍", "👍"},
		{"e\u0301", "e\u0301"},
		{"👩\u200d💻", "👩"},
		{"👍🏽", "👍"},
		{"❤\ufe0f", "❤ "},
		{"1\ufe0f\u20e3", "1 "},
		{"─", "─"},
		{"e" + strings.Repeat("\u0301", 100), "e"},
	} {
		width := ansi.StringWidth(tt.content)
		var r renderer
		line := uv.NewLine(width)
		line.Set(0, &uv.Cell{Content: tt.content, Width: width})
		got := r.render([]uv.Line{line})
		if got != tt.want || ansi.StringWidthWc(got) != width {
			t.Errorf("%q is written as %q, want %q in %d cells", tt.content, got, tt.want, width)
		}
		r = renderer{graphemes: true}
		if got := r.render([]uv.Line{line}); got != tt.content && len(tt.content) <= maxGrapheme {
			t.Errorf("a terminal that measures graphemes gets %q for %q", got, tt.content)
		}
	}
}

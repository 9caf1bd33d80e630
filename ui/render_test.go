package ui

import (
	"image/color"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// What is rendered reads back as the cells it was made of.
func TestRenderReadsBack(t *testing.T) {
	colours := []color.Color{nil, ansi.Red, ansi.IndexedColor(200), color.RGBA{1, 2, 3, 255}}
	contents := []string{" ", "a", "构", "e\u0301", "👍"}
	var r renderer
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

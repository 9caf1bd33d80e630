//go:build linux

package e2e

import (
	"encoding/xml"
	"fmt"
	"strings"

	"abxdash/ui/term"
)

// Measures of a picture in its own units. A cell is as wide as a character of
// DejaVu Sans Mono in that size: what draws the picture may know no textLength.
const (
	cellW, cellH, baseline = 8.428, 16.3, 13.0
	fontSize               = 14
)

// ground is a terminal's own two colours.
type ground struct{ back, text string }

func darkGround() ground  { return ground{back: "#16161e", text: "#c8ccd4"} }
func lightGround() ground { return ground{back: "#fbfbf8", text: "#26292f"} }

// picture draws a terminal's screen as SVG. Runs of cells with one style are
// one text, stretched to the width of their cells, so that any monospaced font
// keeps the columns.
func picture(t *term.Terminal, g ground) []byte {
	var out strings.Builder
	t.View(func(v term.View) {
		w, h := float64(v.Cols())*cellW, float64(v.Rows())*cellH
		fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %.1f" font-family="'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace" font-size="%d" shape-rendering="crispEdges">`+"\n", w, h, fontSize)
		fmt.Fprintf(&out, `<rect width="%.1f" height="%.1f" fill="%s"/>`+"\n", w, h, g.back)
		for y := range v.Rows() {
			drawRow(&out, v, y, g)
		}
		if c := v.Cursor(); c.Visible {
			fmt.Fprintf(&out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="0.6"/>`+"\n", float64(c.X)*cellW, float64(c.Y)*cellH, cellW, cellH, g.text)
		}
		out.WriteString("</svg>\n")
	})
	return []byte(out.String())
}

func drawRow(out *strings.Builder, v term.View, y int, g ground) {
	cells := v.Row(y).Cells
	for x := 0; x < len(cells); {
		st := v.Style(cells[x].Style)
		var text strings.Builder
		from := x
		for x < len(cells) && v.Style(cells[x].Style) == st {
			// A wide character stands alone: its font may have another width.
			if wide := cells[x].Width == 2; wide && x > from {
				break
			} else if wide {
				text.WriteString(v.Content(cells[x]))
				x += 2
				break
			}
			text.WriteString(v.Content(cells[x]))
			x++
		}
		drawRun(out, text.String(), from, x-from, y, st, g)
	}
}

func drawRun(out *strings.Builder, text string, x, n, y int, st term.Style, g ground) {
	fg, bg := hex(st.Fg, g.text), hex(st.Bg, "")
	if st.Attrs&term.AttrReverse != 0 {
		if bg == "" {
			bg = g.back
		}
		fg, bg = bg, fg
	}
	left, top, width := float64(x)*cellW, float64(y)*cellH, float64(n)*cellW
	if bg != "" {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, left, top, width+0.3, cellH, bg)
	}
	if drawBlocks(out, text, left, top, fg) {
		return
	}
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="%s"%s>`, left, top+baseline, width, fg, attributes(st))
		_ = xml.EscapeText(out, []byte(text)) // a strings.Builder does not fail
		out.WriteString("</text>")
	}
	out.WriteByte('\n')
}

// drawBlocks draws block elements as what they are: fonts leave seams between
// them. It reports whether the text was one of them, repeated.
func drawBlocks(out *strings.Builder, text string, left, top float64, fill string) bool {
	runes := []rune(text)
	if len(runes) == 0 || strings.Trim(text, string(runes[0])) != "" {
		return false
	}
	width := float64(len(runes)) * cellW
	var from, height float64 // as parts of a cell
	switch r := runes[0]; {
	case r == '▀':
		height = 0.5
	case r >= '▁' && r <= '█': // in eighths from below
		height = float64(r-'▁'+1) / 8
		from = 1 - height
	default:
		return false
	}
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top+from*cellH, width+0.3, height*cellH, fill)
	return true
}

func attributes(st term.Style) string {
	var s string
	if st.Attrs&term.AttrBold != 0 {
		s += ` font-weight="bold"`
	}
	if st.Attrs&term.AttrItalic != 0 {
		s += ` font-style="italic"`
	}
	if st.Attrs&term.AttrFaint != 0 {
		s += ` fill-opacity="0.65"`
	}
	if st.Underline != term.UnderlineNone {
		s += ` text-decoration="underline"`
	}
	return s
}

// basic are the sixteen colours that a terminal's user chooses, as today's do:
// the old ones are unreadable on dark ground.
func basic() [16]string {
	return [16]string{
		"#3b4048", "#e06c75", "#7fa650", "#c99a3a", "#5c8fe6", "#b56edb", "#3f9fab", "#b9bec8",
		"#6b7280", "#ef7d86", "#93bd63", "#dcae4e", "#74a4f4", "#c886ea", "#57b4bf", "#e4e7ec",
	}
}

// hex is a colour for SVG; own stands for the terminal's own.
func hex(c term.Color, own string) string {
	if c.IsDefault() {
		return own
	}
	if i, ok := c.Index(); ok && i < 16 {
		return basic()[i]
	}
	r, g, b, _ := c.Std().RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

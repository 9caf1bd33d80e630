package ui

import (
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// renderer turns cells into the text that the program writes. It remembers the
// escape sequences between styles: a window has few of them, and making them
// anew for every cell is most of the cost of a frame.
type renderer struct {
	moves map[move]string
	size  int
}

// move is a change of style.
type move struct{ from, to uv.Style }

// maxMoves bounds the memory of styles; terminals may show any colour.
const maxMoves = 4096

func (r *renderer) render(lines []uv.Line) string {
	var out strings.Builder
	out.Grow(r.size + r.size/8)
	for y, line := range lines {
		if y > 0 {
			out.WriteByte('\n')
		}
		r.line(&out, line)
	}
	r.size = out.Len()
	return out.String()
}

func (r *renderer) line(out *strings.Builder, line uv.Line) {
	var pen uv.Style
	var link uv.Link
	for i := range line {
		c := &line[i]
		if c.Width == 0 && c.Content == "" {
			continue // the second half of a wide character
		}
		if c.Link != link {
			if link.URL != "" {
				out.WriteString(ansi.ResetHyperlink())
			}
			if link = c.Link; link.URL != "" {
				out.WriteString(ansi.SetHyperlink(link.URL, link.Params))
			}
		}
		if c.Style != pen {
			out.WriteString(r.change(pen, c.Style))
			pen = c.Style
		}
		out.WriteString(c.Content)
	}
	if link.URL != "" {
		out.WriteString(ansi.ResetHyperlink())
	}
	if pen != (uv.Style{}) {
		out.WriteString(ansi.ResetStyle)
	}
}

// change is the sequence that leads from one style to another.
func (r *renderer) change(from, to uv.Style) string {
	k := move{from, to}
	if s, ok := r.moves[k]; ok {
		return s
	}
	if r.moves == nil || len(r.moves) >= maxMoves {
		r.moves = make(map[move]string)
	}
	s := ansi.ResetStyle
	if to != (uv.Style{}) {
		s = to.Diff(&from)
	}
	r.moves[k] = s
	return s
}

package ui

import (
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// renderer turns cells into the text that the program writes. It remembers the
// escape sequences between styles: a window has few of them, and making them
// anew for every cell is most of the cost of a frame.
type renderer struct {
	moves map[move]string
	// graphemes says that the terminal measures whole graphemes, as we do.
	graphemes bool
	steady    map[sized]string
	size      int
}

// sized is a grapheme and the cells that it was given.
type sized struct {
	content string
	width   int
}

// move is a change of style.
type move struct{ from, to uv.Style }

// maxMoves bounds the memory of styles, maxSteady that of graphemes; sandboxes may show any.
const (
	maxMoves  = 4096
	maxSteady = 4096
	// maxGrapheme bounds one cell in bytes: nobody needs a letter with fifty accents.
	maxGrapheme = 64
)

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
		if len(c.Content) == 1 || (r.graphemes && len(c.Content) <= maxGrapheme) {
			out.WriteString(c.Content)
		} else {
			out.WriteString(r.settle(sized{c.Content, c.Width}))
		}
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

// settle is what is written for a grapheme. Most terminals measure rune by
// rune and disagree with us about joined emoji, skin tones and the like, which
// would push the rest of the row aside; such a grapheme is written as its first
// rune, padded to the cells that it was given.
func (r *renderer) settle(k sized) string {
	if s, ok := r.steady[k]; ok {
		return s
	}
	if r.steady == nil || len(r.steady) >= maxSteady {
		r.steady = make(map[sized]string)
	}
	s := k.content
	if len(s) > maxGrapheme || ansi.StringWidthWc(s) != k.width {
		_, n := utf8.DecodeRuneInString(s)
		s = s[:n]
		w := ansi.StringWidthWc(s)
		if w < 1 || w > k.width {
			s, w = "?", 1
		}
		s += strings.Repeat(" ", max(k.width-w, 0))
	}
	r.steady[k] = s
	return s
}

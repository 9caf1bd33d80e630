package logpane

import (
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"

	"abxdash/ui/draw"
)

// maxLine is how many bytes of a line are made ready for the screen. The rest
// is announced by a mark: a line of a megabyte must not cost more than one of a page.
const maxLine = 8 << 10

// segment is a piece of a line in one style.
type segment struct {
	text  string
	style uv.Style
	width int
	// ascii says that every byte is one cell.
	ascii bool
}

// parsed is one line made safe.
type parsed struct {
	segs  []segment
	width int
	// plain is the text of all segments, for searching and copying.
	plain string
}

// escapes that only make sense on a live screen and say nothing when read
// later: erase in line and switching of private modes.
func silent(seq string) bool {
	last := seq[len(seq)-1]
	return last == 'K' || ((last == 'h' || last == 'l') && strings.HasPrefix(seq, "\x1b[?"))
}

// parse turns a raw line into safe segments: SGR becomes style (without
// conceal and blink), everything else that a terminal would obey becomes
// visible symbols, tabs become blanks.
func parse(raw string) parsed {
	var b builder
	raw = strings.TrimSuffix(raw, "\r")
	rest := 0
	if len(raw) > maxLine {
		cut := maxLine
		for cut > 0 && !utf8.RuneStart(raw[cut]) {
			cut--
		}
		rest, raw = len(raw)-cut, raw[:cut]
	}
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == 0x1b:
			i += b.escape(raw[i:])
		case c == '\t':
			b.add(strings.Repeat(" ", 8-b.col%8), b.pen)
			i++
		case c < 0x20 || c == 0x7f:
			b.add(draw.Clean(raw[i:i+1]), b.control())
			i++
		case c < utf8.RuneSelf:
			j := i + 1
			for j < len(raw) && raw[j] >= 0x20 && raw[j] < 0x7f {
				j++
			}
			if j < len(raw) && raw[j] >= utf8.RuneSelf && j > i+1 {
				j-- // a combining mark may follow: leave its base to the next round
			}
			if j == i+1 && j < len(raw) && raw[j] >= utf8.RuneSelf {
				i += b.cluster(raw[i:])
				continue
			}
			b.add(raw[i:j], b.pen)
			i = j
		default:
			i += b.cluster(raw[i:])
		}
	}
	if rest > 0 {
		b.add(" …+"+size(rest), uv.Style{Attrs: uv.AttrReverse})
	}
	return b.done()
}

// builder collects segments, joining neighbours of one style.
type builder struct {
	out    parsed
	pen    uv.Style
	col    int
	text   strings.Builder // of the segment being built
	style  uv.Style
	width  int
	ascii  bool
	params *ansi.Parser
}

func (b *builder) control() uv.Style { return uv.Style{Attrs: uv.AttrFaint} }

func (b *builder) add(s string, st uv.Style) {
	ascii := len(s) < 2 || isASCII(s)
	if len(s) == 1 && s[0] >= utf8.RuneSelf {
		ascii = false
	}
	if b.text.Len() > 0 && (st != b.style || ascii != b.ascii) {
		b.flush()
	}
	w := len(s)
	if !ascii {
		w = ansi.StringWidth(s)
	}
	b.style, b.ascii = st, ascii
	b.text.WriteString(s)
	b.width += w
	b.col += w
}

func (b *builder) flush() {
	if b.text.Len() == 0 {
		return
	}
	b.out.segs = append(b.out.segs, segment{text: b.text.String(), style: b.style, width: b.width, ascii: b.ascii})
	b.out.width += b.width
	b.text.Reset()
	b.width = 0
}

func (b *builder) done() parsed {
	b.flush()
	if len(b.out.segs) == 1 {
		b.out.plain = b.out.segs[0].text
		return b.out
	}
	var p strings.Builder
	for _, s := range b.out.segs {
		p.WriteString(s.text)
	}
	b.out.plain = p.String()
	return b.out
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// cluster adds one grapheme and returns its length in bytes.
func (b *builder) cluster(s string) int {
	if r, n := utf8.DecodeRuneInString(s); r == utf8.RuneError && n == 1 {
		b.add("\uFFFD", b.pen)
		return 1
	}
	c, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	n := len(c)
	if i := strings.IndexFunc(c, func(r rune) bool { return r < 0x20 || r == 0x7f }); i > 0 {
		n = i
	}
	if !utf8.ValidString(c[:n]) {
		_, n = utf8.DecodeRuneInString(s)
	}
	if clean := draw.Clean(c[:n]); ansi.StringWidth(clean) > 0 {
		st := b.pen
		if clean != c[:n] {
			st = b.control()
		}
		b.add(clean, st)
	}
	return n
}

// escape handles an ESC at the start of s and returns how many bytes it took.
func (b *builder) escape(s string) int {
	n := csiLength(s)
	if n == 0 {
		b.add("␛", b.control())
		return 1
	}
	seq := s[:n]
	switch {
	case seq[n-1] == 'm' && isSGR(seq[2:n-1]):
		if b.params == nil {
			b.params = ansi.NewParser()
		}
		ansi.DecodeSequence(seq, ansi.NormalState, b.params)
		uv.ReadStyle(b.params.Params(), &b.pen)
		b.pen.Attrs &^= uv.AttrConceal | uv.AttrBlink | uv.AttrRapidBlink
	case silent(seq):
	default:
		b.add("␛"+seq[1:], b.control())
	}
	return n
}

// csiLength is the length of the complete CSI sequence that s begins with, or 0.
func csiLength(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s) && i < 128; i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 0
		}
	}
	return 0
}

// isSGR reports whether parameters are numbers only, not a private or intermediate form.
func isSGR(params string) bool {
	for i := range len(params) {
		if c := params[i]; (c < '0' || c > '9') && c != ';' && c != ':' {
			return false
		}
	}
	return true
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return itoa(n>>20) + " MiB"
	case n >= 1<<10:
		return itoa(n>>10) + " KiB"
	}
	return itoa(n) + " B"
}

// itoa writes a count with thin groups of three: 12,345.
func itoa(n int) string {
	s := []byte{}
	for i := 0; ; i++ {
		if i > 0 && i%3 == 0 {
			s = append(s, ',')
		}
		s = append(s, byte('0'+n%10))
		if n /= 10; n == 0 {
			break
		}
	}
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
	return string(s)
}

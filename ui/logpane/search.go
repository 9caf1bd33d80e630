package logpane

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a match within the plain text of a line, in bytes.
type span struct{ from, to int }

// matches finds the query in a text. It ignores case unless the query has a capital.
func matches(text, query string) []span {
	if query == "" {
		return nil
	}
	var out []span
	fold := !strings.ContainsFunc(query, unicode.IsUpper)
	for at := 0; at <= len(text)-len(query); {
		i := index(text[at:], query, fold)
		if i < 0 {
			break
		}
		n := len(query)
		out = append(out, span{at + i, at + i + n})
		at += i + n
	}
	return out
}

// index is strings.Index, optionally without regard to ASCII case. Other
// letters fold only where both cases have the same length in bytes.
func index(s, q string, fold bool) int {
	if !fold {
		return strings.Index(s, q)
	}
	for i := 0; i+len(q) <= len(s); i++ {
		if equalFold(s[i:i+len(q)], q) {
			return i
		}
	}
	return -1
}

// equalFold compares with q, which has no capitals.
func equalFold(s, q string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != q[i] {
			if c >= utf8.RuneSelf || q[i] >= utf8.RuneSelf {
				return strings.EqualFold(s, q)
			}
			return false
		}
	}
	return true
}

// find goes to the first match at or after what is on screen, for a query that is being typed.
func (p *Pane) find() {
	p.found, p.missed = -1, false
	if p.query == "" || p.lines == nil {
		return
	}
	from := p.last.line
	if !p.follow {
		from = p.top.line
	}
	p.seek(from, 1)
}

// next goes to the next match in a direction.
func (p *Pane) next(step int) {
	if p.query == "" || p.lines == nil {
		return
	}
	from := p.found
	if from < 0 {
		from = p.last.line - step
	}
	p.seek(from+step, step)
}

// seek looks for a line with a match from a number on, around the end once.
func (p *Pane) seek(from, step int) {
	first, next := p.bounds()
	count := next - first
	p.missed = true
	for i := range count {
		n := first + (((from+i*step-first)%count)+count)%count
		if p.visible(n) && p.hasMatch(n) {
			p.found, p.missed = n, false
			p.show(n)
			return
		}
	}
}

func (p *Pane) hasMatch(n int) bool {
	raw, _, _ := p.lines.At(n - p.lines.Dropped())
	fold := !strings.ContainsFunc(p.query, unicode.IsUpper)
	if !strings.ContainsRune(raw, 0x1b) {
		return index(raw, p.query, fold) >= 0
	}
	return index(parse(raw).plain, p.query, fold) >= 0
}

// show brings a line on screen, a third from the top if it was not there.
func (p *Pane) show(n int) {
	p.Pause()
	if n >= p.last.line && n < p.last.line+p.height()/2 && !p.wrap {
		return
	}
	p.top = pos{n, 0}
	for range p.height() / 3 {
		if !p.stepUp() {
			break
		}
	}
	if p.fits() {
		p.Follow()
	}
}

// FullLine is one line as it came: the one that the search found, else the
// first on screen that does not fit, else the first on screen.
func (p *Pane) FullLine() (raw string, ok bool) {
	if p.lines == nil {
		return "", false
	}
	first, next := p.bounds()
	if p.found >= first && p.found < next {
		raw, _, _ = p.lines.At(p.found - first)
		return raw, true
	}
	from := max(p.last.line, first)
	left := p.height()
	for n := from; n < next && left > 0; n++ {
		l, visible := p.line(n)
		if !visible {
			continue
		}
		left -= max(p.rows(n), 1)
		line, _, _ := p.lines.At(n - first)
		if !ok {
			raw, ok = line, true
		}
		if l.width > p.textWidth() || len(line) > maxLine {
			return line, true
		}
	}
	return raw, ok
}

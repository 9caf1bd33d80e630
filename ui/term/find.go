package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a range of cells in one row, from..to-1.
type span struct{ from, to int }

// lineText is the text of a line of the terminal, with the place of every byte.
type lineText struct {
	text  string
	cells []Pos // one for each byte of text, plus the end
}

// textOf joins the rows first..last.
func (v View) textOf(first, last int64) lineText {
	var b strings.Builder
	var cells []Pos
	for n := first; n <= last; n++ {
		for x, c := range v.line(n).Cells {
			if c.flags&flagPad != 0 {
				continue
			}
			s := v.Content(c)
			b.WriteString(s)
			for range len(s) {
				cells = append(cells, Pos{n, x})
			}
		}
	}
	return lineText{text: b.String(), cells: cells}
}

// find returns the byte ranges of a query in a text. Case counts only if the
// query has a capital.
func find(text, query string) [][2]int {
	if query == "" {
		return nil
	}
	if !strings.ContainsFunc(query, unicode.IsUpper) {
		text, query = lower(text), lower(query)
	}
	var out [][2]int
	for at := 0; ; {
		i := strings.Index(text[at:], query)
		if i < 0 {
			return out
		}
		out = append(out, [2]int{at + i, at + i + len(query)})
		at += i + len(query)
	}
}

// lower makes letters small whose two cases have the same length, so that
// places in the text stay the same.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if l := unicode.ToLower(r); utf8.RuneLen(l) == utf8.RuneLen(r) {
			return l
		}
		return r
	}, s)
}

// SetQuery changes what is searched for; matches that can be seen are marked.
func (w *Widget) SetQuery(q string) { w.browse.query = q }

// Query is what is searched for.
func (w *Widget) Query() string { return w.browse.query }

// FindNext moves the browsing cursor to the next match, back in time if older
// is set. around tells that it went on at the other end of the text.
func (w *Widget) FindNext(older bool) (found, around bool) {
	if w.browse.query == "" {
		return false, false
	}
	w.term.View(func(v View) {
		w.follow(v)
		var p Pos
		if p, found, around = w.nextMatch(v, older); found {
			w.browse.pos = p
			w.showMiddle(v)
		}
	})
	return found, around
}

func (w *Widget) nextMatch(v View, older bool) (p Pos, found, around bool) {
	at := w.browse.pos
	if p, found = w.scan(v, at, older, v.oldest(), v.newest()); found {
		return p, true, false
	}
	end := Pos{Line: v.oldest(), Col: -1}
	if older {
		end = Pos{Line: v.newest(), Col: MaxCols}
	}
	p, found = w.scan(v, end, older, v.oldest(), v.newest())
	return p, found, found
}

// scan looks for the first match after at, or the last before it.
func (w *Widget) scan(v View, at Pos, older bool, oldest, newest int64) (Pos, bool) {
	from, to := v.logical(min(max(at.Line, oldest), newest))
	for from <= newest && to >= oldest {
		t := v.textOf(from, to)
		hits := find(t.text, w.browse.query)
		for i := range hits {
			if older {
				i = len(hits) - 1 - i
			}
			p := t.cells[hits[i][0]]
			if older && p.before(at) || !older && at.before(p) {
				return p, true
			}
		}
		if older {
			if from == oldest {
				break
			}
			from, to = v.logical(from - 1)
		} else {
			if to == newest {
				break
			}
			from, to = v.logical(to + 1)
		}
	}
	return Pos{}, false
}

// matchesIn are the matches in one row.
func (w *Widget) matchesIn(v View, n int64) []span {
	if n < v.oldest() || n > v.newest() {
		return nil
	}
	t := v.textOf(v.logical(n))
	var out []span
	for _, hit := range find(t.text, w.browse.query) {
		s := span{-1, -1}
		for _, p := range t.cells[hit[0]:hit[1]] {
			if p.Line != n {
				continue
			}
			if s.from < 0 {
				s.from = p.Col
			}
			s.to = p.Col + 1
		}
		if s.from >= 0 {
			out = append(out, s)
		}
	}
	return out
}

package term

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// urlPattern finds addresses in running text; what may follow one is cut off by trimURL.
var urlPattern = regexp.MustCompile("https?://[^\\s<>\"'`\u0000-\u001f\u007f]+")

// trimURL leaves out punctuation that belongs to the sentence, and a bracket
// that was opened before the address.
func trimURL(s string) string {
	for s != "" {
		last := s[len(s)-1]
		switch last {
		case '.', ',', ';', ':', '!', '?', '*', '_', '|':
		case ')', ']', '}':
			open := map[byte]string{')': "(", ']': "[", '}': "{"}[last]
			if strings.Count(s, open) >= strings.Count(s, string(last)) {
				return s
			}
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// WebLink reports whether a target may be handed to a browser: http or https
// with a host, without control characters or a user name that hides the host.
func WebLink(target string) bool {
	u, err := url.Parse(target)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		cleanText([]byte(target), len(target)) == target
}

// LinkAt is the link under a cell of the area: a hyperlink of the program
// (OSC 8), else an address in the text; "" for none.
func (w *Widget) LinkAt(x, y int) (link string) {
	w.term.View(func(v View) { link = v.linkAt(w.posAt(v, x, y)) })
	return link
}

// CursorLink is the link under the browsing cursor.
func (w *Widget) CursorLink() (link string) {
	w.term.View(func(v View) { link = v.linkAt(w.browse.pos) })
	return link
}

func (v View) linkAt(p Pos) string {
	if cells := v.line(p.Line).Cells; p.Col >= 0 && p.Col < len(cells) {
		if l := v.Link(v.Style(cells[p.Col].Style).Link); l != "" {
			return l
		}
	}
	t := v.textOf(v.logical(p.Line))
	for _, m := range urlPattern.FindAllStringIndex(t.text, -1) {
		target := trimURL(t.text[m[0]:m[1]])
		if target == "" {
			continue
		}
		first, last := t.cells[m[0]], t.cells[m[0]+len(target)-1]
		if !p.before(first) && !last.before(p) {
			return target
		}
	}
	return ""
}

// maxLinksShown bounds a list of links.
const maxLinksShown = 100

// Links are the links in what the view shows, the lowest first, without repeats.
func (w *Widget) Links() (out []string) {
	add := func(l string) {
		if l != "" && len(out) < maxLinksShown && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	w.term.View(func(v View) {
		top := v.base() + int64(w.drawn.first-w.back)
		for n := min(top+int64(max(w.drawn.h, 1))-1, v.newest()); n >= top && n >= v.oldest(); n-- {
			from, to := v.logical(n)
			t := v.textOf(from, to)
			for _, m := range slices.Backward(urlPattern.FindAllString(t.text, -1)) {
				add(trimURL(m))
			}
			for r := to; r >= from; r-- {
				for _, c := range slices.Backward(v.line(r).Cells) {
					if id := v.Style(c.Style).Link; id != 0 {
						add(v.Link(id))
					}
				}
			}
			n = from
		}
	})
	return out
}

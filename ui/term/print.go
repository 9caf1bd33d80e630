package term

import (
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// runeWidth is 0, 1 or 2 cells.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		if r == 0xad {
			return 0
		}
		return 1
	case r >= 0x2500 && r < 0x25a0:
		return 1
	case r >= 0x3400 && r < 0xa000, r >= 0xac00 && r < 0xd7a4:
		return 2
	}
	return min(displaywidth.Options{}.Rune(r), 2)
}

// simple reports that r neither joins a neighbour nor is joined by one, apart
// from marks that follow it. It only has to be right for the common scripts.
func simple(r rune) bool {
	return r >= 0 && r < 0x300 && r != 0xad && r != 0xa9 && r != 0xae ||
		r >= 0x370 && r < 0x483 || r >= 0x2500 && r < 0x25a0 ||
		r >= 0x3041 && r < 0x3097 || r >= 0x30a1 && r < 0x30fb ||
		r >= 0x3400 && r < 0xa000 || r >= 0xac00 && r < 0xd7a4
}

// printASCII prints bytes from 0x20 to 0x7e.
func (t *Terminal) printASCII(p []byte) {
	c := &t.scr.cur
	if t.modes.Insert || c.shift != 0 || c.g[c.gl] != charsetASCII {
		for _, b := range p {
			t.printRune(rune(b))
		}
		return
	}
	style := t.pen()
	t.repeat = rune(p[len(p)-1])
	for len(p) > 0 {
		if c.pending {
			t.wrap()
		}
		limit := t.lineEnd()
		n := min(len(p), limit-c.x)
		r := t.scr.rows[c.y]
		t.writeASCII(r, c.x, p[:n], style)
		if !t.modes.AutoWrap && n < len(p) {
			// What does not fit overwrites the last column, one after the other.
			t.writeASCII(r, limit-1, p[len(p)-1:], style)
			n = len(p)
		}
		t.last = lastCell{x: min(c.x+n, limit) - 1, y: c.y, ok: true}
		t.advance(n, limit)
		p = p[n:]
	}
}

func (t *Terminal) writeASCII(r *row, x int, p []byte, style StyleID) {
	n := len(p)
	if r.cells[x].Width == 0 || x+n < len(r.cells) && r.cells[x+n].Width == 0 {
		t.cutWide(r, x, x+n)
	}
	r.stamp = t.version
	cells := r.cells[x : x+n]
	cell := Cell{Style: style, Width: 1}
	for i, b := range p {
		cell.R = rune(b)
		cells[i] = cell
	}
}

// advance moves the cursor right by n after printing.
func (t *Terminal) advance(n, limit int) {
	c := &t.scr.cur
	c.x += n
	if c.x >= limit {
		c.x = limit - 1
		c.pending = t.modes.AutoWrap
	}
}

// wrap goes to the next line because of a full one.
func (t *Terminal) wrap() {
	c := &t.scr.cur
	c.pending = false
	if t.fullWidth() {
		t.scr.rows[c.y].wrapped = true
	}
	if c.x > t.right {
		c.x = 0
	} else {
		c.x = t.left
	}
	t.index()
}

// printRune prints any character that is not a control.
func (t *Terminal) printRune(r rune) {
	c := &t.scr.cur
	if g := c.g[c.active()]; r < 0x80 && g != charsetASCII {
		r = g.translate(r)
	}
	c.shift = 0
	if r >= 0x80 && r < 0xa0 {
		// C1 controls written as UTF-8 are neither text nor controls here.
		return
	}
	if t.last.ok && t.joins(r) {
		return
	}
	w := runeWidth(r)
	if w == 0 {
		t.combine(r)
		return
	}
	t.put(r, w)
	t.repeat = r
}

// put writes a character of one or two cells at the cursor.
func (t *Terminal) put(r rune, w int) {
	c := &t.scr.cur
	if c.pending {
		t.wrap()
	}
	limit := t.lineEnd()
	if c.x+w > limit {
		if !t.modes.AutoWrap || limit-min(t.left, c.x) < w || t.cols < w {
			return
		}
		row := t.scr.rows[c.y]
		t.cutWide(row, c.x, c.x+1)
		row.cells[c.x] = Cell{Style: t.blankStyle(), Width: 1, flags: flagPad}
		row.stamp = t.version
		t.wrap()
		if limit = t.lineEnd(); c.x+w > limit {
			return
		}
	}
	if t.modes.Insert {
		t.insertBlanks(w)
	}
	row := t.scr.rows[c.y]
	t.cutWide(row, c.x, c.x+w)
	row.stamp = t.version
	style := t.pen()
	row.cells[c.x] = Cell{R: r, Style: style, Width: uint8(w)}
	if w == 2 {
		row.cells[c.x+1] = Cell{Style: style}
	}
	t.last = lastCell{x: c.x, y: c.y, ok: true}
	t.advance(w, limit)
}

// joins appends r to the character printed last if the two form one grapheme cluster.
func (t *Terminal) joins(r rune) bool {
	prev := &t.scr.rows[t.last.y].cells[t.last.x]
	if simple(r) && simple(prev.R) || !t.modes.Graphemes || r < 0x80 {
		return false
	}
	text := t.content(*prev) + string(r)
	first := graphemes.FromString(text)
	if !first.Next() || len(first.Value()) != len(text) {
		return false
	}
	t.extend(t.last.x, t.last.y, text)
	return true
}

// combine puts a mark that has no width on the character left of the cursor.
// Format characters are dropped: among them are those that reorder text.
func (t *Terminal) combine(r rune) {
	if r != 0x200c && r != 0x200d && !unicode.Is(unicode.M, r) && !unicode.Is(unicode.Lo, r) {
		return
	}
	c := &t.scr.cur
	x := c.x - 1
	if c.pending {
		x = c.x
	}
	if x < 0 {
		return
	}
	cells := t.scr.rows[c.y].cells
	if cells[x].Width == 0 && x > 0 {
		x--
	}
	if cells[x].R == 0 {
		return
	}
	t.extend(x, c.y, t.content(cells[x])+string(r))
}

// extend replaces the cell by a longer cluster, which may have become wide.
func (t *Terminal) extend(x, y int, text string) {
	if len(text) > maxClusterSize {
		return
	}
	c := &t.scr.cur
	row := t.scr.rows[y]
	cell := &row.cells[x]
	w := int(cell.Width)
	if t.modes.Graphemes {
		w = min(max(displaywidth.Options{}.String(text), w), 2)
	}
	limit := t.lineEnd()
	if w > int(cell.Width) && (x+2 > limit || c.pending) {
		return
	}
	r, ok := t.clusterRune(text)
	if !ok {
		return
	}
	row.stamp = t.version
	cell.R = r
	if w > int(cell.Width) {
		t.cutWide(row, x, x+2)
		cell.Width = 2
		row.cells[x+1] = Cell{Style: cell.Style}
		if c.y == y && c.x == x+1 {
			t.advance(1, limit)
		}
	}
}

// content is the text of a cell; "" for the second half of a wide one.
func (t *Terminal) content(c Cell) string {
	switch {
	case c.Width == 0:
		return ""
	case c.R < 0:
		return t.clusters.get(int(-c.R))
	case c.R < 128:
		return asciiChars[c.R : c.R+1]
	default:
		return string(c.R)
	}
}

// repeatLast is REP.
func (t *Terminal) repeatLast(n int) {
	if t.repeat == 0 {
		return
	}
	w := runeWidth(t.repeat)
	for range min(n, t.cols*t.rows) {
		t.put(t.repeat, w)
	}
}

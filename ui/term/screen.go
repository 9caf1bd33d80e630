package term

// cursor is the position and everything that DECSC saves.
type cursor struct {
	x, y int
	// pending means that the last column was written and the next character wraps.
	pending bool
	pen     Style
	// g are the designated charsets, gl is which of them is in use, shift is
	// the one for the next character only plus one, 0 for none.
	g      [4]charset
	gl     uint8
	shift  uint8
	origin bool
}

// screen is the main or the alternate screen.
type screen struct {
	rows       []*row
	cur, saved cursor
	kitty      []KittyFlags
	kittyFlags KittyFlags
}

func (t *Terminal) newRows(n int) []*row {
	out := make([]*row, n)
	for i := range out {
		out[i] = t.newRow(0)
	}
	return out
}

func (t *Terminal) newRow(s StyleID) *row {
	r := &row{cells: make([]Cell, t.cols), stamp: t.version}
	fill(r.cells, blank(s))
	return r
}

func fill(cells []Cell, c Cell) {
	for i := range cells {
		cells[i] = c
	}
}

// pen returns the interned style of the cursor.
func (t *Terminal) pen() StyleID {
	if !t.penOK {
		t.penID = t.styleID(t.scr.cur.pen)
		t.penOK = true
	}
	return t.penID
}

// penChanged drops the cached styles after the pen or the screen changed.
func (t *Terminal) penChanged() { t.penOK, t.blankOK = false, false }

// blankStyle is the style of erased cells: the background of the pen only.
func (t *Terminal) blankStyle() StyleID {
	if !t.blankOK {
		id := StyleID(0)
		if bg := t.scr.cur.pen.Bg; !bg.IsDefault() {
			id = t.styleID(Style{Bg: bg})
		}
		if len(t.blankRow) != t.cols || t.blankRow[0].Style != id {
			if len(t.blankRow) != t.cols {
				t.blankRow = make([]Cell, t.cols)
			}
			fill(t.blankRow, blank(id))
		}
		t.blankID, t.blankOK = id, true
	}
	return t.blankID
}

// clearRow erases a whole row.
func (t *Terminal) clearRow(r *row) {
	t.blankStyle()
	copy(r.cells, t.blankRow)
	r.stamp = t.version
	r.wrapped = false
	r.mark = MarkNone
}

// eraseRows erases rows from..to-1 of the current screen.
func (t *Terminal) eraseRows(from, to int) {
	for y := max(from, 0); y < min(to, t.rows); y++ {
		t.clearRow(t.scr.rows[y])
	}
}

// eraseCells erases cells from..to-1 of a row; wide characters that are cut become blanks.
func (t *Terminal) eraseCells(y, from, to int) {
	from, to = max(from, 0), min(to, t.cols)
	if from >= to {
		return
	}
	r := t.scr.rows[y]
	t.cutWide(r, from, to)
	s := t.blankStyle()
	fill(r.cells[from:to], blank(s))
	if to == t.cols {
		r.wrapped = false
	}
	r.stamp = t.version
}

// cutWide blanks the halves of wide characters that lie outside of from..to-1
// while the other half lies inside.
func (t *Terminal) cutWide(r *row, from, to int) {
	if from > 0 && from < len(r.cells) && r.cells[from].Width == 0 {
		r.cells[from-1] = blank(r.cells[from-1].Style)
		r.cells[from] = blank(r.cells[from].Style)
	}
	if to > 0 && to < len(r.cells) && r.cells[to].Width == 0 {
		r.cells[to] = blank(r.cells[to].Style)
		r.cells[to-1] = blank(r.cells[to-1].Style)
	}
}

// fullWidth reports whether the scroll region spans all columns.
func (t *Terminal) fullWidth() bool { return t.left == 0 && t.right == t.cols-1 }

// scrollUp moves the rows top..bottom of the region up by n. Rows that leave
// the top of the main screen go to the scroll-back.
func (t *Terminal) scrollUp(top, bottom, n int) {
	n = min(n, bottom-top+1)
	if n <= 0 {
		return
	}
	t.last.ok = false
	if !t.fullWidth() {
		t.shiftRect(top, bottom, n)
		return
	}
	keep := top == 0 && t.scr == &t.main
	rows := t.scr.rows
	if n == 1 {
		r := rows[top]
		if keep {
			t.scroll.push(r.cells, r.wrapped, r.mark)
		}
		copy(rows[top:bottom], rows[top+1:bottom+1])
		rows[bottom] = r
		t.clearRow(r)
		return
	}
	out := append([]*row(nil), rows[top:top+n]...)
	copy(rows[top:], rows[top+n:bottom+1])
	for i, r := range out {
		if keep {
			t.scroll.push(r.cells, r.wrapped, r.mark)
		}
		rows[bottom-n+1+i] = r
		t.clearRow(r)
	}
}

// scrollDown moves the rows top..bottom of the region down by n.
func (t *Terminal) scrollDown(top, bottom, n int) {
	n = min(n, bottom-top+1)
	if n <= 0 {
		return
	}
	t.last.ok = false
	if !t.fullWidth() {
		t.shiftRect(top, bottom, -n)
		return
	}
	rows := t.scr.rows
	out := append([]*row(nil), rows[bottom-n+1:bottom+1]...)
	copy(rows[top+n:bottom+1], rows[top:bottom-n+1])
	for i, r := range out {
		rows[top+i] = r
		t.clearRow(r)
	}
}

// shiftRect scrolls the part of the rows between the left and right margins, up for n > 0.
func (t *Terminal) shiftRect(top, bottom, n int) {
	from, to, step := top, bottom+1, 1
	if n < 0 {
		from, to, step = bottom, top-1, -1
	}
	s := t.blankStyle()
	rows := t.scr.rows
	for y := from; y != to; y += step {
		r := rows[y]
		t.cutWide(r, t.left, t.right+1)
		r.wrapped = false
		r.stamp = t.version
		dst := r.cells[t.left : t.right+1]
		src := y + n
		if src < top || src > bottom {
			fill(dst, blank(s))
			continue
		}
		t.cutWide(rows[src], t.left, t.right+1)
		copy(dst, rows[src].cells[t.left:t.right+1])
	}
}

// insertBlanks is ICH: n blanks at the cursor, the rest of the row up to the right margin moves right.
func (t *Terminal) insertBlanks(n int) {
	c := &t.scr.cur
	limit := t.lineEnd()
	n = min(n, limit-c.x)
	if n <= 0 {
		return
	}
	r := t.scr.rows[c.y]
	t.cutWide(r, c.x, limit)
	copy(r.cells[c.x+n:limit], r.cells[c.x:limit-n])
	if r.cells[limit-1].Width == 2 {
		r.cells[limit-1] = blank(r.cells[limit-1].Style)
	}
	fill(r.cells[c.x:c.x+n], blank(t.blankStyle()))
	r.stamp = t.version
	r.wrapped = r.wrapped && limit < t.cols
}

// deleteCells is DCH: the rest of the row moves left over n cells.
func (t *Terminal) deleteCells(n int) {
	c := &t.scr.cur
	limit := t.lineEnd()
	n = min(n, limit-c.x)
	if n <= 0 {
		return
	}
	r := t.scr.rows[c.y]
	t.cutWide(r, c.x, limit)
	if c.x+n < limit && r.cells[c.x+n].Width == 0 {
		r.cells[c.x+n] = blank(r.cells[c.x+n].Style)
	}
	copy(r.cells[c.x:], r.cells[c.x+n:limit])
	fill(r.cells[limit-n:limit], blank(t.blankStyle()))
	r.stamp = t.version
	r.wrapped = r.wrapped && limit < t.cols
}

// lineEnd is the column after the last one that text may use: the right
// margin if the cursor is not beyond it, else the edge.
func (t *Terminal) lineEnd() int {
	if t.scr.cur.x <= t.right {
		return t.right + 1
	}
	return t.cols
}

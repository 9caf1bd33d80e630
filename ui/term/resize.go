package term

import "fmt"

// Resize changes the size, clamped as in New. On the main screen, lines that
// were wrapped are wrapped anew; the alternate screen is cut or filled up,
// because the program in it draws itself again.
func (t *Terminal) Resize(cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cols, rows = clampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			t.failed(fmt.Sprint(r))
		}
	}()
	t.version++
	oldCols := t.cols
	t.cols, t.rows = cols, rows
	t.blankRow = nil
	t.blankOK = false
	t.last.ok = false
	t.resizeMain(oldCols)
	t.resizeAlt()
	t.top, t.bottom, t.left, t.right = 0, rows-1, 0, cols-1
	for len(t.tabs) < cols {
		t.tabs = append(t.tabs, len(t.tabs)%8 == 0 && len(t.tabs) > 0)
	}
	t.tabs = t.tabs[:cols]
}

// point is a place that has to be found again after wrapping anew.
type point struct{ x, y int }

func (t *Terminal) resizeMain(oldCols int) {
	s := &t.main
	cur := point{s.cur.x, s.cur.y}
	if t.scr == &t.alt {
		// The cursor that matters is the one that leaving restores.
		cur = point{s.saved.x, s.saved.y}
	}
	saved := point{s.saved.x, s.saved.y}
	if t.cols != oldCols {
		if t.scr == &t.main && s.cur.pending {
			// The cursor stands behind the last column.
			cur.x++
		}
		t.rewrap(&cur, &saved)
	}
	t.fitHeight(&cur, &saved)
	place := func(c *cursor, p point) {
		if t.cols != oldCols {
			c.pending = p.x >= t.cols
		}
		c.x, c.y = min(max(p.x, 0), t.cols-1), min(max(p.y, 0), t.rows-1)
	}
	if t.scr == &t.main {
		place(&s.cur, cur)
	} else {
		place(&s.cur, point{s.cur.x, s.cur.y})
	}
	place(&s.saved, saved)
	for _, r := range s.rows {
		r.stamp = t.version
	}
}

// fitHeight makes the main screen t.rows high: empty rows below the cursor go
// first, then rows at the top go to the scroll-back until the cursor's row is
// the last; a screen that grows takes rows back from there.
func (t *Terminal) fitHeight(points ...*point) {
	s := &t.main
	cur := points[0]
	for len(s.rows) > t.rows && len(s.rows)-1 > cur.y && usedLen(s.rows[len(s.rows)-1].cells) == 0 {
		s.rows = s.rows[:len(s.rows)-1]
	}
	shift := func(n int) {
		for _, p := range points {
			p.y += n
		}
	}
	for len(s.rows) > t.rows && cur.y > 0 {
		r := s.rows[0]
		t.scroll.push(r.cells, r.wrapped, r.mark)
		s.rows = s.rows[1:]
		shift(-1)
	}
	s.rows = s.rows[:min(len(s.rows), t.rows)]
	var back []*row
	for len(s.rows)+len(back) < t.rows {
		sr, ok := t.scroll.popLast()
		if !ok {
			break
		}
		back = append(back, t.screenRow(sr))
		shift(1)
	}
	rows := make([]*row, 0, t.rows)
	for i := range back {
		rows = append(rows, back[len(back)-1-i])
	}
	rows = append(rows, s.rows...)
	for len(rows) < t.rows {
		rows = append(rows, t.newRow(0))
	}
	s.rows = rows
}

// screenRow makes a row of full width from one of the scroll-back.
func (t *Terminal) screenRow(sr scrollRow) *row {
	r := t.newRow(0)
	n := copy(r.cells, sr.cells)
	if n > 0 && r.cells[n-1].Width == 2 && n == t.cols {
		r.cells[n-1] = blank(r.cells[n-1].Style)
	}
	r.wrapped, r.mark = sr.wrapped, sr.mark
	return r
}

func (t *Terminal) resizeAlt() {
	s := &t.alt
	if t.scr == s {
		for len(s.rows) > t.rows && s.cur.y > t.rows-1 {
			s.rows = s.rows[1:]
			s.cur.y--
		}
	}
	s.rows = s.rows[:min(len(s.rows), t.rows)]
	for _, r := range s.rows {
		r.resize(t.cols)
		r.stamp = t.version
	}
	for len(s.rows) < t.rows {
		s.rows = append(s.rows, t.newRow(0))
	}
	for _, c := range [...]*cursor{&s.cur, &s.saved} {
		if c.x >= t.cols || c.x != t.cols-1 {
			c.pending = false
		}
		c.x, c.y = min(c.x, t.cols-1), min(c.y, t.rows-1)
	}
}

// resize cuts a row or fills it up with blanks.
func (r *row) resize(cols int) {
	if cols < len(r.cells) {
		cells := append([]Cell(nil), r.cells[:cols]...)
		if cells[cols-1].Width == 2 {
			cells[cols-1] = blank(cells[cols-1].Style)
		}
		r.cells = cells
		r.wrapped = false
		return
	}
	for len(r.cells) < cols {
		r.cells = append(r.cells, blank(0))
	}
}

// rewrapper writes logical lines as rows of the new width.
type rewrapper struct {
	cols int
	out  []scrollRow
	// begins are the offsets in the last line of the rows it was written to.
	begins []int
}

// line wraps one logical line; place finds offsets in it until the next call.
func (w *rewrapper) line(line []Cell, mark Mark) {
	w.begins = append(w.begins[:0], 0)
	for from := 0; ; {
		n := min(w.cols, len(line)-from)
		if from+n < len(line) && n > 1 && line[from+n].Width == 0 {
			n--
		}
		pad := from+n < len(line) && n < w.cols
		cells := append(make([]Cell, 0, n+1), line[from:from+n]...)
		if n == 1 && cells[0].Width == 2 {
			cells[0] = blank(cells[0].Style)
		}
		if from += n; w.cols == 1 && from < len(line) && line[from].Width == 0 {
			// The second half of a wide character that found no room.
			from++
		}
		if pad {
			cells = append(cells, Cell{Width: 1, flags: flagPad})
		}
		w.out = append(w.out, scrollRow{cells: cells, wrapped: from < len(line), mark: mark})
		if from >= len(line) {
			return
		}
		mark = MarkNone
		w.begins = append(w.begins, from)
	}
}

// place is the row and column of an offset of the last line.
func (w *rewrapper) place(offset int) point {
	i := len(w.begins) - 1
	for i > 0 && w.begins[i] > offset {
		i--
	}
	return point{x: offset - w.begins[i], y: len(w.out) - len(w.begins) + i}
}

// rewrap puts scroll-back and main screen into rows of t.cols and moves the
// points with their text. Their y counts from the top of the screen before and after.
func (t *Terminal) rewrap(points ...*point) {
	s := &t.main
	hist := t.scroll.len()
	keep := len(s.rows)
	// Empty rows below all points have no text to keep their place for.
	lowest := 0
	for _, p := range points {
		lowest = max(lowest, p.y)
	}
	for keep > lowest+1 && usedLen(s.rows[keep-1].cells) == 0 {
		keep--
	}
	at := func(i int) scrollRow {
		if i < hist {
			return *t.scroll.at(i)
		}
		r := s.rows[i-hist]
		return scrollRow{cells: r.cells, wrapped: r.wrapped, mark: r.mark}
	}
	w := rewrapper{cols: t.cols, out: make([]scrollRow, 0, hist+keep)}
	places := make([]point, len(points))
	offsets := make([]int, len(points))
	var line []Cell
	for i := 0; i < hist+keep; {
		first := at(i)
		if i < hist && !first.wrapped && len(first.cells) <= t.cols {
			w.out = append(w.out, first)
			i++
			continue
		}
		line = line[:0]
		for k := range offsets {
			offsets[k] = -1
		}
		for more := true; more && i < hist+keep; i++ {
			r := at(i)
			more = r.wrapped
			for k, p := range points {
				if p.y+hist == i {
					offsets[k] = len(line) + p.x
				}
			}
			line = append(line, unpadded(r)...)
		}
		for _, o := range offsets {
			for len(line) < o {
				line = append(line, blank(0))
			}
		}
		w.line(line, first.mark)
		for k, o := range offsets {
			if o >= 0 {
				places[k] = w.place(o)
			}
		}
	}
	t.refill(w.out, places, points)
}

// unpadded is the text of a row as a part of its line.
func unpadded(r scrollRow) []Cell {
	n := len(r.cells)
	switch {
	case !r.wrapped:
		return r.cells[:usedLen(r.cells)]
	case n > 0 && r.cells[n-1].flags&flagPad != 0:
		return r.cells[:n-1]
	}
	return r.cells
}

// refill splits rows into scroll-back and screen so that the cursor's row and
// the last row are on the screen if they fit.
func (t *Terminal) refill(rows []scrollRow, places []point, points []*point) {
	top := max(0, len(rows)-t.rows)
	if len(places) > 0 && places[0].y < top {
		top = places[0].y
	}
	t.scroll.clear()
	for _, r := range rows[:top] {
		r.cells = r.cells[:usedLen(r.cells)]
		t.scroll.put(r)
	}
	t.main.rows = make([]*row, 0, max(t.rows, len(rows)-top))
	for _, r := range rows[top:] {
		t.main.rows = append(t.main.rows, t.screenRow(r))
	}
	for i, p := range points {
		*p = point{places[i].x, max(places[i].y-top, 0)}
	}
}

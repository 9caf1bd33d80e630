package term

// moveTo puts the cursor at a position counted from 0, clamped to the screen.
func (t *Terminal) moveTo(x, y int) {
	c := &t.scr.cur
	c.x = min(max(x, 0), t.cols-1)
	c.y = min(max(y, 0), t.rows-1)
	c.pending = false
	t.last.ok = false
}

// position is CUP: 0-based, relative to the margins in origin mode.
func (t *Terminal) position(x, y int) {
	if t.modes.Origin {
		x = min(max(x, 0)+t.left, t.right)
		y = min(max(y, 0)+t.top, t.bottom)
	}
	t.moveTo(x, y)
}

// home is the upper left of the screen, or of the region in origin mode.
func (t *Terminal) home() { t.position(0, 0) }

// up, down, right and left stop at the margins unless the cursor is beyond them.
func (t *Terminal) moveUp(n int) {
	c := &t.scr.cur
	limit := 0
	if c.y >= t.top {
		limit = t.top
	}
	t.moveTo(c.x, max(c.y-n, limit))
}

func (t *Terminal) moveDown(n int) {
	c := &t.scr.cur
	limit := t.rows - 1
	if c.y <= t.bottom {
		limit = t.bottom
	}
	t.moveTo(c.x, min(c.y+n, limit))
}

func (t *Terminal) moveRight(n int) {
	c := &t.scr.cur
	t.moveTo(min(c.x+n, t.lineEnd()-1), c.y)
}

func (t *Terminal) moveLeft(n int) {
	c := &t.scr.cur
	if t.modes.ReverseWrap && t.modes.AutoWrap {
		t.moveLeftWrapping(min(n, t.cols*t.rows))
		return
	}
	t.moveTo(max(c.x-n, t.lineStart()), c.y)
}

// moveLeftWrapping is moving left under reverse wrap: from the first column to
// the end of the row above, as long as that row was wrapped.
func (t *Terminal) moveLeftWrapping(n int) {
	c := &t.scr.cur
	if c.pending {
		// The cursor stands behind the last column.
		c.pending = false
		n--
	}
	for ; n > 0; n-- {
		switch {
		case c.x > t.lineStart():
			c.x--
		case c.y > 0 && t.scr.rows[c.y-1].wrapped:
			c.x, c.y = t.right, c.y-1
		default:
			n = 1
		}
	}
	t.last.ok = false
}

// lineStart is the first column that moving left reaches.
func (t *Terminal) lineStart() int {
	if t.scr.cur.x >= t.left {
		return t.left
	}
	return 0
}

func (t *Terminal) backspace() { t.moveLeft(1) }

func (t *Terminal) carriageReturn() { t.moveTo(t.lineStart(), t.scr.cur.y) }

func (t *Terminal) lineFeed() {
	x := t.scr.cur.x
	t.scr.cur.pending = false
	t.index()
	t.scr.cur.x = x
}

// index is IND: down, scrolling at the bottom margin.
func (t *Terminal) index() {
	c := &t.scr.cur
	t.last.ok = false
	c.pending = false
	switch {
	case c.y == t.bottom && c.x >= t.left && c.x <= t.right:
		t.scrollUp(t.top, t.bottom, 1)
	case c.y != t.bottom && c.y < t.rows-1:
		c.y++
	}
}

// reverseIndex is RI: up, scrolling at the top margin.
func (t *Terminal) reverseIndex() {
	c := &t.scr.cur
	t.last.ok = false
	c.pending = false
	switch {
	case c.y == t.top && c.x >= t.left && c.x <= t.right:
		t.scrollDown(t.top, t.bottom, 1)
	case c.y != t.top && c.y > 0:
		c.y--
	}
}

// shiftColumns is DECFI and DECBI: move sideways, scrolling at the margin.
func (t *Terminal) shiftColumns(forward bool) {
	c := &t.scr.cur
	edge, step := t.left, -1
	if forward {
		edge, step = t.right, 1
	}
	if c.x != edge || c.y < t.top || c.y > t.bottom {
		t.moveTo(c.x+step, c.y)
		return
	}
	t.editColumns(t.left, step > 0, 1)
}

// editColumns inserts or deletes n columns at x within the scroll region (DECIC, DECDC).
func (t *Terminal) editColumns(x int, remove bool, n int) {
	save := t.scr.cur
	for y := t.top; y <= t.bottom; y++ {
		t.scr.cur.x, t.scr.cur.y = x, y
		if remove {
			t.deleteCells(n)
		} else {
			t.insertBlanks(n)
		}
	}
	t.scr.cur = save
	t.last.ok = false
}

// inRegion reports whether the cursor is inside the margins, where line editing works.
func (t *Terminal) inRegion() bool {
	c := &t.scr.cur
	return c.y >= t.top && c.y <= t.bottom && c.x >= t.left && c.x <= t.right
}

func (t *Terminal) insertLines(n int) {
	if t.inRegion() {
		t.scrollDown(t.scr.cur.y, t.bottom, n)
		t.moveTo(t.left, t.scr.cur.y)
	}
}

// deleteLines is DL. The rows are gone: they do not go to the scroll-back.
func (t *Terminal) deleteLines(n int) {
	if t.inRegion() {
		y := t.scr.cur.y
		max := t.scroll.maxRows
		t.scroll.maxRows = 0
		t.scrollUp(y, t.bottom, n)
		t.scroll.maxRows = max
		t.moveTo(t.left, y)
	}
}

// setMargins is DECSTBM, 1-based; an empty region is ignored.
func (t *Terminal) setMargins(top, bottom int) {
	top, bottom = min(max(top, 1), t.rows), min(bottom, t.rows)
	if bottom <= top {
		return
	}
	t.top, t.bottom = top-1, bottom-1
	t.home()
}

// setSideMargins is DECSLRM, 1-based.
func (t *Terminal) setSideMargins(left, right int) {
	left, right = min(max(left, 1), t.cols), min(right, t.cols)
	if right <= left {
		return
	}
	t.left, t.right = left-1, right-1
	t.home()
}

// saveCursor is DECSC.
func (t *Terminal) saveCursor() {
	t.scr.saved = t.scr.cur
	t.scr.saved.origin = t.modes.Origin
}

// restoreCursor is DECRC.
func (t *Terminal) restoreCursor() {
	s := t.scr.saved
	t.modes.Origin = s.origin
	s.x, s.y = min(s.x, t.cols-1), min(s.y, t.rows-1)
	if t.modes.Origin {
		s.y = min(max(s.y, t.top), t.bottom)
	}
	t.scr.cur = s
	t.penChanged()
	t.last.ok = false
}

// defaultTabs is a stop every eight columns.
func defaultTabs(cols int) []bool {
	tabs := make([]bool, cols)
	for x := 8; x < cols; x += 8 {
		tabs[x] = true
	}
	return tabs
}

// tab moves n stops forward. Tabs do not clear a pending wrap.
func (t *Terminal) tab(n int) {
	c := &t.scr.cur
	limit := t.lineEnd() - 1
	for ; n > 0 && c.x < limit; n-- {
		c.x++
		for c.x < limit && !t.tabs[c.x] {
			c.x++
		}
	}
	t.last.ok = false
}

// backTab moves n stops back.
func (t *Terminal) backTab(n int) {
	c := &t.scr.cur
	start := t.lineStart()
	for ; n > 0 && c.x > start; n-- {
		c.x--
		for c.x > start && !t.tabs[c.x] {
			c.x--
		}
	}
	c.pending = false
	t.last.ok = false
}

// clearTabs is TBC.
func (t *Terminal) clearTabs(how int) {
	switch how {
	case 0:
		t.tabs[t.scr.cur.x] = false
	case 3:
		clear(t.tabs)
	}
}

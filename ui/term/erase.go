package term

// eraseDisplay is ED and, with selective set, DECSED.
func (t *Terminal) eraseDisplay(how int, selective bool) {
	c := &t.scr.cur
	switch how {
	case 0:
		t.eraseLine(0, selective)
		t.erase(c.y+1, t.rows, selective)
	case 1:
		t.erase(0, c.y, selective)
		t.eraseLine(1, selective)
	case 2:
		t.erase(0, t.rows, selective)
	case 3:
		t.scroll.clear()
	}
}

func (t *Terminal) erase(from, to int, selective bool) {
	if !selective {
		t.eraseRows(from, to)
		return
	}
	for y := from; y < to; y++ {
		t.eraseUnprotected(y, 0, t.cols)
	}
}

// eraseLine is EL and, with selective set, DECSEL. A cursor that waits to wrap
// stands behind the last column, so that nothing is right of it: programs end
// full lines with EL and do not mean to erase their last character.
func (t *Terminal) eraseLine(how int, selective bool) {
	c := &t.scr.cur
	from, to := 0, t.cols
	switch how {
	case 0:
		if c.pending {
			return
		}
		from = c.x
	case 1:
		to = c.x + 1
	case 2:
	default:
		return
	}
	if selective {
		t.eraseUnprotected(c.y, from, to)
		return
	}
	t.eraseCells(c.y, from, to)
}

// eraseUnprotected blanks what DECSCA does not protect and keeps the styles.
func (t *Terminal) eraseUnprotected(y, from, to int) {
	r := t.scr.rows[y]
	from, to = max(from, 0), min(to, t.cols)
	t.cutWide(r, from, to)
	for x := from; x < to; x++ {
		if c := &r.cells[x]; t.styles.get(c.Style).Attrs&AttrProtected == 0 {
			*c = blank(c.Style)
		}
	}
	r.stamp = t.version
}

// rect reads a rectangle from parameters i..i+3 as half-open 0-based bounds.
func (t *Terminal) rect(i int) (x0, y0, x1, y1 int) {
	ox, oy, mx, my := 0, 0, t.cols, t.rows
	if t.modes.Origin {
		ox, oy, mx, my = t.left, t.top, t.right+1, t.bottom+1
	}
	y0, x0 = min(t.arg(i, 1)-1+oy, my), min(t.arg(i+1, 1)-1+ox, mx)
	y1, x1 = min(t.arg(i+2, t.rows)+oy, my), min(t.arg(i+3, t.cols)+ox, mx)
	return x0, y0, x1, y1
}

// fillRect is DECFRA.
func (t *Terminal) fillRect() {
	r := rune(t.raw(0, 0))
	if r < 0x20 || r > 0x7e {
		return
	}
	x0, y0, x1, y1 := t.rect(1)
	for y := y0; y < y1 && x0 < x1; y++ {
		t.eraseCells(y, x0, x1)
		fill(t.scr.rows[y].cells[x0:x1], Cell{R: r, Style: t.pen(), Width: 1})
	}
}

// eraseRect is DECERA and DECSERA.
func (t *Terminal) eraseRect(selective bool) {
	x0, y0, x1, y1 := t.rect(0)
	for y := y0; y < y1; y++ {
		if selective {
			t.eraseUnprotected(y, x0, x1)
		} else {
			t.eraseCells(y, x0, x1)
		}
	}
}

// copyRect is DECCRA within the one page there is.
func (t *Terminal) copyRect() {
	x0, y0, x1, y1 := t.rect(0)
	dx, dy := t.arg(6, 1)-1, t.arg(5, 1)-1
	w, h := min(x1-x0, t.cols-dx), min(y1-y0, t.rows-dy)
	if w <= 0 || h <= 0 {
		return
	}
	lines := make([][]Cell, h)
	for i := range lines {
		lines[i] = append([]Cell(nil), t.scr.rows[y0+i].cells[x0:x0+w]...)
		halfWide(lines[i])
	}
	for i, line := range lines {
		r := t.scr.rows[dy+i]
		t.cutWide(r, dx, dx+w)
		copy(r.cells[dx:], line)
		r.stamp = t.version
	}
}

// halfWide blanks halves of wide characters at both ends of a slice of cells.
func halfWide(cells []Cell) {
	if cells[0].Width == 0 {
		cells[0] = blank(cells[0].Style)
	}
	if n := len(cells) - 1; cells[n].Width == 2 {
		cells[n] = blank(cells[n].Style)
	}
}

// alignment is DECALN: the screen full of E, margins reset.
func (t *Terminal) alignment() {
	t.top, t.bottom, t.left, t.right = 0, t.rows-1, 0, t.cols-1
	t.modes.Origin = false
	t.home()
	for _, r := range t.scr.rows {
		fill(r.cells, Cell{R: 'E', Width: 1})
		r.stamp = t.version
		r.wrapped = false
	}
}

// columnMode is what is left of DECCOLM: the screen is cleared, the size stays.
func (t *Terminal) columnMode() {
	t.top, t.bottom, t.left, t.right = 0, t.rows-1, 0, t.cols-1
	t.eraseRows(0, t.rows)
	t.home()
}

// softReset is DECSTR.
func (t *Terminal) softReset() {
	m := &t.modes
	m.AppCursor, m.AppKeypad, m.Insert, m.Origin, m.ReverseWrap = false, false, false, false, false
	m.CursorVisible, m.AutoWrap = true, true
	m.LeftRight = false
	m.ModifyOtherKeys = 0
	t.top, t.bottom, t.left, t.right = 0, t.rows-1, 0, t.cols-1
	c := &t.scr.cur
	c.pen, c.g, c.gl, c.shift, c.pending = Style{}, [4]charset{}, 0, 0, false
	t.scr.saved = cursor{}
	t.scr.kitty, t.scr.kittyFlags = nil, 0
	t.penChanged()
}

// fullReset is RIS. The scroll-back stays.
func (t *Terminal) fullReset() {
	t.scr = &t.main
	t.resetState()
	t.title, t.icon, t.titleStack = "", "", nil
	for _, s := range [...]*screen{&t.alt, &t.main} {
		t.scr = s
		t.eraseRows(0, t.rows)
	}
}

// escape runs a complete escape sequence.
func (t *Terminal) escape(inter, final byte) {
	t.last.ok = false
	switch inter {
	case 0:
		t.plainEscape(final)
	case '#':
		if final == '8' {
			t.alignment()
		}
	case '(', ')', '*', '+':
		t.designate(int(inter-'('), final)
	}
}

func (t *Terminal) plainEscape(final byte) {
	c := &t.scr.cur
	switch final {
	case '7':
		t.saveCursor()
	case '8':
		t.restoreCursor()
	case '6':
		t.shiftColumns(false)
	case '9':
		t.shiftColumns(true)
	case '=':
		t.modes.AppKeypad = true
	case '>':
		t.modes.AppKeypad = false
	case 'D':
		t.lineFeed()
	case 'E':
		t.lineFeed()
		t.carriageReturn()
	case 'H':
		t.tabs[c.x] = true
	case 'M':
		t.reverseIndex()
	case 'N':
		c.shift = 3
	case 'O':
		c.shift = 4
	case 'Z':
		t.reply("\x1b[?62;22c")
	case 'c':
		t.fullReset()
	case 'n':
		c.gl = 2
	case 'o':
		c.gl = 3
	}
}

package term

import "fmt"

// csi runs a complete control sequence.
func (t *Terminal) csi(final byte) {
	if final != 'm' {
		t.last.ok = false
	}
	switch {
	case t.inter != 0:
		t.csiInter(final)
	case t.private == '?':
		t.csiPrivate(final)
	case t.private != 0:
		t.csiOther(final)
	default:
		if !t.csiMove(final) {
			t.csiEdit(final)
		}
	}
}

// csiMove runs cursor movement and reports whether final was one.
func (t *Terminal) csiMove(final byte) bool {
	c := &t.scr.cur
	n := t.arg(0, 1)
	switch final {
	case 'A', 'k':
		t.moveUp(n)
	case 'B', 'e':
		t.moveDown(n)
	case 'C', 'a':
		t.moveRight(n)
	case 'D', 'j':
		t.moveLeft(n)
	case 'E':
		t.moveDown(n)
		t.carriageReturn()
	case 'F':
		t.moveUp(n)
		t.carriageReturn()
	case 'G', '`':
		y := c.y
		if t.modes.Origin {
			y -= t.top
		}
		t.position(n-1, y)
	case 'd':
		x := c.x
		if t.modes.Origin {
			x -= t.left
		}
		t.position(x, n-1)
	case 'H', 'f':
		t.position(t.arg(1, 1)-1, n-1)
	case 'I':
		t.tab(n)
	case 'Z':
		t.backTab(n)
	default:
		return false
	}
	return true
}

func (t *Terminal) csiEdit(final byte) {
	n := t.arg(0, 1)
	switch final {
	case '@', 'P', 'X', 'L', 'M':
		t.csiInsertDelete(final, n)
	case 'J':
		t.eraseDisplay(t.raw(0, 0), false)
	case 'K':
		t.eraseLine(t.raw(0, 0), false)
	case 'S':
		t.scrollUp(t.top, t.bottom, n)
	case 'T':
		if t.nparams <= 1 {
			t.scrollDown(t.top, t.bottom, n)
		}
	case '^':
		t.scrollDown(t.top, t.bottom, n)
	case 'b':
		t.repeatLast(n)
	case 'c':
		if t.raw(0, 0) == 0 {
			t.reply("\x1b[?62;22c")
		}
	case 'g':
		t.clearTabs(t.raw(0, 0))
	case 'h', 'l':
		for i := range t.nparams {
			t.setANSI(t.raw(i, 0), final == 'h')
		}
	case 'm':
		t.sgr()
	case 'n':
		t.deviceStatus(t.raw(0, 0))
	case 'r':
		t.setMargins(t.arg(0, 1), t.arg(1, t.rows))
	case 's':
		if t.modes.LeftRight {
			t.setSideMargins(t.arg(0, 1), t.arg(1, t.cols))
		} else {
			t.saveCursor()
		}
	case 'u':
		t.restoreCursor()
	case 't':
		t.windowOp(t.raw(0, 0), t.raw(1, 0))
	case 'x':
		if k := t.raw(0, 0); k <= 1 {
			t.reply(fmt.Sprintf("\x1b[%d;1;1;128;128;1;0x", k+2))
		}
	}
}

func (t *Terminal) csiInsertDelete(final byte, n int) {
	c := &t.scr.cur
	if final == 'X' && c.pending {
		return
	}
	c.pending = false
	switch final {
	case '@':
		if c.x >= t.left && c.x <= t.right {
			t.insertBlanks(n)
		}
	case 'P':
		if c.x >= t.left && c.x <= t.right {
			t.deleteCells(n)
		}
	case 'X':
		t.eraseCells(c.y, c.x, c.x+n)
	case 'L':
		t.insertLines(n)
	case 'M':
		t.deleteLines(n)
	}
}

func (t *Terminal) csiPrivate(final byte) {
	switch final {
	case 'h', 'l':
		for i := range t.nparams {
			t.setPrivate(t.raw(i, 0), final == 'h')
		}
	case 's':
		t.saveModes(t.args())
	case 'r':
		t.restoreModes(t.args())
	case 'J':
		t.eraseDisplay(t.raw(0, 0), true)
	case 'K':
		t.eraseLine(t.raw(0, 0), true)
	case 'n':
		t.privateStatus(t.raw(0, 0))
	case 'u':
		t.reply(fmt.Sprintf("\x1b[?%du", t.scr.kittyFlags))
	case 'm':
		if t.raw(0, 0) == 4 {
			t.reply(fmt.Sprintf("\x1b[>4;%dm", t.modes.ModifyOtherKeys))
		}
	case 'W':
		if t.raw(0, 0) == 5 {
			t.tabs = defaultTabs(t.cols)
		}
	}
}

// args copies the parameters.
func (t *Terminal) args() []int {
	out := make([]int, t.nparams)
	for i := range out {
		out[i] = t.raw(i, 0)
	}
	return out
}

// csiOther runs sequences with the prefixes < = >.
func (t *Terminal) csiOther(final byte) {
	switch {
	case final == 'u' && t.private == '>':
		t.kittyPush(KittyFlags(t.raw(0, 0) & 0xff))
	case final == 'u' && t.private == '<':
		t.kittyPop(t.arg(0, 1))
	case final == 'u' && t.private == '=':
		t.kittySet(KittyFlags(t.raw(0, 0)&0xff), t.arg(1, 1))
	case t.private == '>' && final == 'c':
		if t.raw(0, 0) == 0 {
			t.reply("\x1b[>41;354;0c")
		}
	case t.private == '=' && final == 'c':
		if t.raw(0, 0) == 0 {
			t.reply("\x1bP!|00000000\x1b\\")
		}
	case t.private == '>' && final == 'q':
		if t.raw(0, 0) == 0 {
			t.reply("\x1bP>|abxdash(1)\x1b\\")
		}
	case t.private == '>' && (final == 'm' || final == 'n'):
		t.keyModifiers(final)
	}
}

// keyModifiers is XTMODKEYS (m) and its reset (n); only resource 4, modifyOtherKeys, exists here.
func (t *Terminal) keyModifiers(final byte) {
	if what := t.raw(0, -1); what != 4 && what != -1 {
		return
	}
	t.modes.ModifyOtherKeys = 0
	if final == 'm' && t.raw(0, -1) == 4 {
		t.modes.ModifyOtherKeys = uint8(min(t.raw(1, 0), 2))
	}
}

// csiInter runs sequences with an intermediate byte.
func (t *Terminal) csiInter(final byte) {
	switch string([]byte{t.inter, final}) {
	case "!p":
		if t.private == 0 {
			t.softReset()
		}
	case "$p":
		t.reportMode()
	case " q":
		t.setCursorShape(t.raw(0, 0))
	case "\"q":
		p := &t.scr.cur.pen
		p.Attrs &^= AttrProtected
		if t.raw(0, 0) == 1 {
			p.Attrs |= AttrProtected
		}
		t.penChanged()
	case "'}":
		if t.inRegion() {
			t.editColumns(t.scr.cur.x, false, t.arg(0, 1))
		}
	case "'~":
		if t.inRegion() {
			t.editColumns(t.scr.cur.x, true, t.arg(0, 1))
		}
	case " @":
		if t.inRegion() {
			t.editColumns(t.left, true, t.arg(0, 1))
		}
	case " A":
		if t.inRegion() {
			t.editColumns(t.left, false, t.arg(0, 1))
		}
	case "$x":
		t.fillRect()
	case "$z", "${":
		t.eraseRect(final == '{')
	case "$v":
		t.copyRect()
	}
}

func (t *Terminal) reportMode() {
	n := t.raw(0, 0)
	switch t.private {
	case '?':
		t.reply(fmt.Sprintf("\x1b[?%d;%d$y", n, t.modeState(n, true)))
	case 0:
		t.reply(fmt.Sprintf("\x1b[%d;%d$y", n, t.modeState(n, false)))
	}
}

func (t *Terminal) setCursorShape(n int) {
	if n > 6 {
		return
	}
	t.cursorBlink = n == 0 || n%2 == 1
	t.cursorShape = CursorShape(max(n-1, 0) / 2)
}

func (t *Terminal) deviceStatus(n int) {
	switch n {
	case 5:
		t.reply("\x1b[0n")
	case 6:
		x, y := t.reportedPosition()
		t.reply(fmt.Sprintf("\x1b[%d;%dR", y, x))
	}
}

func (t *Terminal) reportedPosition() (x, y int) {
	c := &t.scr.cur
	x, y = c.x+1, c.y+1
	if t.modes.Origin {
		x, y = x-t.left, y-t.top
	}
	return x, y
}

func (t *Terminal) privateStatus(n int) {
	switch n {
	case 6:
		x, y := t.reportedPosition()
		t.reply(fmt.Sprintf("\x1b[?%d;%dR", y, x))
	case 15:
		t.reply("\x1b[?13n")
	case 25:
		t.reply("\x1b[?21n")
	case 26:
		t.reply("\x1b[?27;1;0;0n")
	case 996:
		scheme := 1
		if r, g, b := t.rgb(t.opt.Background); 299*int(r)+587*int(g)+114*int(b) > 127500 {
			scheme = 2
		}
		t.reply(fmt.Sprintf("\x1b[?997;%dn", scheme))
	}
}

// windowOp answers the XTWINOPS that only ask; those that move windows do nothing.
func (t *Terminal) windowOp(op, arg int) {
	w, h := t.opt.CellWidth, t.opt.CellHeight
	switch op {
	case 11:
		t.reply("\x1b[1t")
	case 13:
		t.reply("\x1b[3;0;0t")
	case 14:
		t.reply(fmt.Sprintf("\x1b[4;%d;%dt", h*t.rows, w*t.cols))
	case 16:
		t.reply(fmt.Sprintf("\x1b[6;%d;%dt", h, w))
	case 18:
		t.reply(fmt.Sprintf("\x1b[8;%d;%dt", t.rows, t.cols))
	case 19:
		t.reply(fmt.Sprintf("\x1b[9;%d;%dt", t.rows, t.cols))
	case 20:
		// A title can hold anything, so it is never typed into a program.
		t.reply("\x1b]L\x1b\\")
	case 21:
		t.reply("\x1b]l\x1b\\")
	case 22:
		if arg != 1 && len(t.titleStack) < maxTitleStack {
			t.titleStack = append(t.titleStack, t.title)
		}
	case 23:
		if n := len(t.titleStack); arg != 1 && n > 0 {
			t.title, t.titleStack = t.titleStack[n-1], t.titleStack[:n-1]
		}
	}
}

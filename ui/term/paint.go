package term

import (
	"bytes"
	"fmt"
)

// Paint is what brings a freshly reset real terminal of the same size to the
// state of t: both screens, modes, pen and cursor. Titles, links, palettes and
// the clipboard are left out.
func (t *Terminal) Paint() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := painter{t: t}
	p.b.WriteString("\x1b[?25l\x1b[m\x1b[H\x1b[2J")
	p.rows(&t.main)
	if t.scr == &t.alt {
		s := &t.main.saved
		fmt.Fprintf(&p.b, "\x1b[m\x1b[%d;%dH\x1b[?1049h\x1b[H\x1b[2J", s.y+1, s.x+1)
		p.rows(&t.alt)
	}
	p.modes()
	p.keyboard()
	p.cursor()
	return p.b.Bytes()
}

type painter struct {
	t   *Terminal
	b   bytes.Buffer
	pen StyleID
}

func (p *painter) setPen(id StyleID) {
	if id != p.pen {
		p.pen = id
		p.b.WriteString("\x1b[" + p.t.styles.get(id).sgrText() + "m")
	}
}

func (p *painter) rows(s *screen) {
	p.pen = 0
	p.b.WriteString("\x1b[m")
	for y, r := range s.rows {
		n := usedLen(r.cells)
		if n == 0 {
			continue
		}
		fmt.Fprintf(&p.b, "\x1b[%d;1H", y+1)
		sure := true
		for x, c := range r.cells[:n] {
			if c.Width == 0 {
				continue
			}
			p.setPen(c.Style)
			if !sure || !simple(c.R) {
				// The real terminal may see another width than we do, or join what stands side by side.
				fmt.Fprintf(&p.b, "\x1b[%dG", x+1)
			}
			sure = simple(c.R)
			p.b.WriteString(p.t.content(c))
		}
	}
}

// modes sets what differs from a reset terminal.
func (p *painter) modes() {
	m := &p.t.modes
	for range p.t.titleStack {
		p.b.WriteString("\x1b[22;2t")
	}
	set := func(on bool, n int) {
		if on {
			fmt.Fprintf(&p.b, "\x1b[?%dh", n)
		}
	}
	set(m.AppCursor, 1)
	set(m.ReverseScr, 5)
	set(m.ReverseWrap, 45)
	set(m.Focus, 1004)
	set(m.BracketedPaste, 2004)
	set(m.ColorReports, 2031)
	switch m.Mouse {
	case MouseX10:
		set(true, 9)
	case MouseNormal:
		set(true, 1000)
	case MouseButton:
		set(true, 1002)
	case MouseAny:
		set(true, 1003)
	}
	switch m.MouseEnc {
	case MouseEncodingUTF8:
		set(true, 1005)
	case MouseEncodingSGR:
		set(true, 1006)
	case MouseEncodingURXVT:
		set(true, 1015)
	}
	if !m.AutoWrap {
		p.b.WriteString("\x1b[?7l")
	}
	if m.AppKeypad {
		p.b.WriteString("\x1b=")
	}
	if m.Insert {
		p.b.WriteString("\x1b[4h")
	}
	if m.Newline {
		p.b.WriteString("\x1b[20h")
	}
}

func (p *painter) keyboard() {
	t := p.t
	if n := t.modes.ModifyOtherKeys; n > 0 {
		fmt.Fprintf(&p.b, "\x1b[>4;%dm", n)
	}
	stack := t.scr.kitty
	for i, f := range stack {
		if i > 0 {
			fmt.Fprintf(&p.b, "\x1b[>%du", f)
		} else if f != 0 {
			fmt.Fprintf(&p.b, "\x1b[=%du", f)
		}
	}
	switch {
	case len(stack) > 0:
		fmt.Fprintf(&p.b, "\x1b[>%du", t.scr.kittyFlags)
	case t.scr.kittyFlags != 0:
		fmt.Fprintf(&p.b, "\x1b[=%du", t.scr.kittyFlags)
	}
}

func (p *painter) cursor() {
	t := p.t
	c := &t.scr.cur
	if t.top > 0 || t.bottom < t.rows-1 {
		fmt.Fprintf(&p.b, "\x1b[%d;%dr", t.top+1, t.bottom+1)
	}
	if t.modes.LeftRight {
		fmt.Fprintf(&p.b, "\x1b[?69h\x1b[%d;%ds", t.left+1, t.right+1)
	}
	// Before origin mode, so that the position is absolute.
	fmt.Fprintf(&p.b, "\x1b[%d;%dH", c.y+1, c.x+1)
	if t.modes.Origin {
		fmt.Fprintf(&p.b, "\x1b[?6h\x1b[%d;%dH", c.y-t.top+1, c.x-t.left+1)
	}
	if c.pending {
		p.lastColumn(c)
	}
	p.b.WriteString("\x1b[" + c.pen.sgrText() + "m")
	for i, g := range c.g {
		if g == charsetGraphics {
			p.b.Write([]byte{0x1b, byte('(' + i), '0'})
		}
	}
	if c.gl == 1 {
		p.b.WriteByte(0x0e)
	}
	n := int(t.cursorShape)*2 + 2
	if t.cursorBlink {
		n--
	}
	if n != 1 {
		fmt.Fprintf(&p.b, "\x1b[%d q", n)
	}
	if t.modes.CursorVisible {
		p.b.WriteString("\x1b[?25h")
	}
}

// lastColumn writes the last character of the row again, so that the next one wraps.
func (p *painter) lastColumn(c *cursor) {
	cells := p.t.scr.rows[c.y].cells
	x := c.x
	if cells[x].Width == 0 && x > 0 {
		x--
		p.b.WriteByte(0x08)
	}
	p.pen = ^cells[x].Style
	p.setPen(cells[x].Style)
	p.b.WriteString(p.t.content(cells[x]))
}

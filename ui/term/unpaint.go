package term

import (
	"bytes"
	"fmt"
)

// leaveModes switches off whatever a program may have left on in a real
// terminal, modes that this emulator does not know included. It begins with ST,
// which ends a string or a sequence that was cut.
const leaveModes = "\x1b\\" +
	"\x1b[?2026l" +
	"\x1b[?9;1000;1001;1002;1003;1005;1006;1015;1016l" +
	"\x1b[?1004l\x1b[?2004l\x1b[?2031l\x1b[?2048l" +
	"\x1b[?1l\x1b>\x1b[>4m" +
	"\x1b[4l\x1b[20l" +
	"\x1b[?5l\x1b[?6l\x1b[?7h\x1b[?45l\x1b[?69l\x1b[r" +
	"\x1b(B\x1b)B\x1b*B\x1b+B\x0f" +
	"\x1b]8;;\x1b\\\x1b[0\"q\x1b[m" +
	"\x1b[0 q\x1b[?25h"

// Unpaint is what resets a real terminal that was given Paint and the output
// since: modes, keyboard protocols, colours, charsets, and the alternate
// screen last. The cursor ends on an empty line below the text.
func (t *Terminal) Unpaint() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	b.WriteString(leaveModes)
	for range t.titleStack {
		b.WriteString("\x1b[23;2t")
	}
	if t.palette != nil {
		b.WriteString("\x1b]104\x1b\\")
	}
	for n, c := range [...]Color{t.fg, t.bg, t.cursorColor} {
		if !c.IsDefault() {
			fmt.Fprintf(&b, "\x1b]%d\x1b\\", 110+n)
		}
	}
	keyboard := func(s *screen) {
		if n := len(s.kitty); n > 0 {
			fmt.Fprintf(&b, "\x1b[<%du", n)
		}
		b.WriteString("\x1b[=0u")
	}
	if t.scr == &t.alt {
		keyboard(&t.alt)
		b.WriteString("\x1b[?1049l\x1b[m")
	}
	keyboard(&t.main)
	last := t.main.cur.y
	if t.scr == &t.alt {
		last = t.main.saved.y
	}
	for y := last; y < t.rows; y++ {
		if usedLen(t.main.rows[y].cells) > 0 {
			last = y
		}
	}
	fmt.Fprintf(&b, "\x1b[%d;1H\r\n", last+1)
	return b.Bytes()
}

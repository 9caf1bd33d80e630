package term

import "unicode/utf8"

// Parser states, after the well-known state diagram of DEC's ANSI parser
// (vt100.net/emu/dec_ansi_parser). In UTF-8 the 8-bit controls do not exist, so
// bytes from 0x80 up are text in the ground state and data inside strings.
type parserState uint8

const (
	stGround parserState = iota
	stEscape
	stEscapeInter
	stCSI
	stCSIIgnore
	stOSC
	stDCSHead
	stDCS
	// stString is APC, PM, SOS and ignored DCS: skipped up to ST.
	stString
)

// Bounds of what the parser keeps.
const (
	maxParams = 32
	maxParam  = 1 << 16
	maxOSC    = 1 << 20
	maxDCS    = 4 << 10
	missing   = int32(-1)
)

// parser is the state that survives between two writes.
type parser struct {
	state parserState
	// private and inter are the last private prefix and intermediate byte, 0 if none.
	private, inter byte
	// junk is set by a second intermediate or a misplaced prefix: no such sequence exists.
	junk   bool
	params [maxParams]int32
	// nparams is the number of parameters seen, more is set for those followed by ':'.
	nparams int
	more    uint32
	// dcsFinal is the final byte of a DCS head.
	dcsFinal byte
	data     []byte
	overflow bool
	// part holds the first bytes of a character cut by the end of a write.
	part  [utf8.UTFMax]byte
	npart int
}

// atRest reports whether the next byte starts something new.
func (p *parser) atRest() bool { return p.state == stGround && p.npart == 0 }

func (p *parser) clear() {
	p.private, p.inter, p.junk = 0, 0, false
	p.params[0], p.nparams, p.more = missing, 0, 0
}

// parse consumes all of p.
func (t *Terminal) parse(p []byte) {
	for i := 0; i < len(p); {
		switch t.state {
		case stGround:
			i += t.ground(p[i:])
		case stCSI:
			i += t.csiBytes(p[i:])
		case stOSC, stDCS, stString:
			i += t.stringBytes(p[i:])
		default:
			t.escapeByte(p[i])
			i++
		}
	}
}

// ground handles text and controls and returns how many bytes it used, at least one.
func (t *Terminal) ground(p []byte) int {
	if t.npart > 0 {
		return t.continuePartial(p)
	}
	b := p[0]
	switch {
	case b >= 0x20 && b < 0x7f:
		n := 1
		for n < len(p) && p[n] >= 0x20 && p[n] < 0x7f {
			n++
		}
		t.printASCII(p[:n])
		return n
	case b < 0x20:
		t.control(b)
		return 1
	case b == 0x7f:
		return 1
	}
	r, n := utf8.DecodeRune(p)
	if r == utf8.RuneError && n == 1 {
		if !utf8.FullRune(p) {
			t.npart = copy(t.part[:], p)
			return len(p)
		}
		t.printRune(utf8.RuneError)
		return badPrefix(p)
	}
	t.printRune(r)
	return n
}

// badPrefix is the length of the longest start of p that could have become a
// character; it is replaced by one U+FFFD as Unicode recommends.
func badPrefix(p []byte) int {
	for n := min(len(p), utf8.UTFMax-1); n > 1; n-- {
		if !utf8.FullRune(p[:n]) {
			return n
		}
	}
	return 1
}

// continuePartial goes on with a character that an earlier write began.
func (t *Terminal) continuePartial(p []byte) int {
	for i, b := range p {
		if b&0xc0 != 0x80 {
			t.flushPartial()
			return i
		}
		t.part[t.npart] = b
		t.npart++
		full := t.part[:t.npart]
		if !utf8.FullRune(full) {
			continue
		}
		t.npart = 0
		r, n := utf8.DecodeRune(full)
		if r == utf8.RuneError && n == 1 {
			// The new byte does not belong to it: it stands for itself.
			t.printRune(utf8.RuneError)
			return i
		}
		t.printRune(r)
		return i + 1
	}
	return len(p)
}

func (t *Terminal) flushPartial() {
	if t.npart > 0 {
		t.npart = 0
		t.printRune(utf8.RuneError)
	}
}

// control executes a C0 control; it may come in the middle of a sequence.
func (t *Terminal) control(b byte) {
	switch b {
	case 0x1b:
		t.state = stEscape
		t.clear()
	case 0x18, 0x1a:
		t.state = stGround
	case 0x07:
		t.bell = true
	case 0x08:
		t.backspace()
	case 0x09:
		t.tab(1)
	case 0x0a, 0x0b, 0x0c:
		t.lineFeed()
		if t.modes.Newline {
			t.carriageReturn()
		}
	case 0x0d:
		t.carriageReturn()
	case 0x0e:
		t.scr.cur.gl = 1
	case 0x0f:
		t.scr.cur.gl = 0
	}
}

// escapeByte handles one byte after ESC, in the head of a DCS or in an ignored CSI.
func (t *Terminal) escapeByte(b byte) {
	if b < 0x20 {
		if t.state == stDCSHead && b != 0x1b && b != 0x18 && b != 0x1a {
			return
		}
		t.control(b)
		return
	}
	if b >= 0x7f {
		return
	}
	switch t.state {
	case stEscape:
		t.afterEscape(b)
	case stEscapeInter:
		if b < 0x30 {
			t.junk = true
			return
		}
		t.state = stGround
		if !t.junk {
			t.escape(t.inter, b)
		}
	case stCSIIgnore:
		if b >= 0x40 {
			t.state = stGround
		}
	case stDCSHead:
		switch {
		case b >= 0x40:
			t.startDCS(b)
		default:
			t.collect1(b)
		}
	}
}

func (t *Terminal) afterEscape(b byte) {
	switch {
	case b < 0x30:
		t.inter = b
		t.state = stEscapeInter
	case b == '[':
		t.state = stCSI
	case b == ']':
		t.startString(stOSC)
	case b == 'P':
		t.state = stDCSHead
	case b == 'X' || b == '^' || b == '_':
		t.startString(stString)
	default:
		t.state = stGround
		t.escape(0, b)
	}
}

// collect1 takes one byte of a parameter string: digits, separators, prefix, intermediate.
func (t *Terminal) collect1(b byte) {
	switch {
	case b >= '0' && b <= '9':
		if t.nparams < maxParams {
			v := max(t.params[t.nparams], 0)*10 + int32(b-'0')
			t.params[t.nparams] = min(v, maxParam)
		}
	case b == ';' || b == ':':
		if t.nparams < maxParams {
			if b == ':' {
				t.more |= 1 << t.nparams
			}
			if t.nparams++; t.nparams < maxParams {
				t.params[t.nparams] = missing
			}
		}
	case b >= 0x3c:
		if t.private != 0 || t.nparams > 0 || t.params[0] != missing || t.inter != 0 {
			t.junk = true
		}
		t.private = b
	default:
		if t.inter != 0 {
			t.junk = true
		}
		t.inter = b
	}
}

// csiBytes goes on with a CSI sequence and returns how many bytes it used.
func (t *Terminal) csiBytes(p []byte) int {
	for i, b := range p {
		switch {
		case b >= 0x40 && b < 0x7f:
			t.state = stGround
			if t.nparams < maxParams {
				t.nparams++
			}
			if !t.junk {
				t.csi(b)
			}
			return i + 1
		case b >= 0x20 && b < 0x40:
			if t.inter != 0 && b >= 0x30 {
				t.state = stCSIIgnore
				return i + 1
			}
			t.collect1(b)
		case b < 0x20:
			t.control(b)
			if t.state != stCSI {
				return i + 1
			}
		}
	}
	return len(p)
}

func (t *Terminal) startString(s parserState) {
	t.state = s
	t.data = t.data[:0]
	t.overflow = false
}

func (t *Terminal) startDCS(final byte) {
	if t.nparams < maxParams {
		t.nparams++
	}
	t.dcsFinal = final
	if t.junk || final != 'q' || (t.inter != '$' && t.inter != '+') {
		t.startString(stString)
		return
	}
	t.startString(stDCS)
}

// stringBytes goes on with OSC, DCS and the skipped strings. A string ends
// with ESC (of ESC \), BEL for OSC, or is thrown away by CAN and SUB.
func (t *Terminal) stringBytes(p []byte) int {
	limit := maxOSC
	if t.state == stDCS {
		limit = maxDCS
	}
	i := 0
	for i < len(p) && (p[i] >= 0x20 || !t.endsString(p[i])) {
		i++
	}
	if t.state != stString && !t.overflow {
		if len(t.data)+i > limit {
			t.overflow = true
		} else {
			t.data = append(t.data, p[:i]...)
		}
	}
	if i == len(p) {
		return i
	}
	state := t.state
	t.state = stGround
	if b := p[i]; b != 0x18 && b != 0x1a && !t.overflow {
		switch state {
		case stOSC:
			t.osc(t.data)
		case stDCS:
			t.dcs(t.inter, t.data)
		}
	}
	if cap(t.data) > maxDCS {
		t.data = nil
	}
	if p[i] == 0x1b {
		t.control(0x1b)
	}
	return i + 1
}

func (t *Terminal) endsString(b byte) bool {
	return b == 0x1b || b == 0x18 || b == 0x1a || b == 0x07 && t.state == stOSC
}

// arg returns parameter i, or def if it is missing or 0.
func (t *Terminal) arg(i, def int) int {
	if i >= t.nparams || t.params[i] <= 0 {
		return def
	}
	return int(t.params[i])
}

// raw returns parameter i, or def if it is missing.
func (t *Terminal) raw(i, def int) int {
	if i >= t.nparams || t.params[i] == missing {
		return def
	}
	return int(t.params[i])
}

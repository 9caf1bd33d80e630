package term

// CursorShape is the shape of the cursor (DECSCUSR).
type CursorShape uint8

// Cursor shapes.
const (
	CursorBlock CursorShape = iota
	CursorUnderline
	CursorBar
)

// MouseMode is which mouse events the program wants.
type MouseMode uint8

// Mouse modes; the number is that of the private mode.
const (
	MouseOff MouseMode = iota
	// MouseX10 is mode 9: presses only.
	MouseX10
	// MouseNormal is mode 1000: presses and releases.
	MouseNormal
	// MouseButton is mode 1002: also motion while a button is down.
	MouseButton
	// MouseAny is mode 1003: also motion without a button.
	MouseAny
)

// MouseEncoding is how mouse events are written.
type MouseEncoding uint8

// Mouse encodings.
const (
	// MouseEncodingX10 is three bytes after CSI M, coordinates up to 223.
	MouseEncodingX10 MouseEncoding = iota
	// MouseEncodingUTF8 is mode 1005.
	MouseEncodingUTF8
	// MouseEncodingSGR is mode 1006.
	MouseEncodingSGR
	// MouseEncodingURXVT is mode 1015.
	MouseEncodingURXVT
)

// Modes is what the program has switched on and off.
type Modes struct {
	AppCursor, AppKeypad          bool
	AutoWrap, Insert, Newline     bool
	Origin, LeftRight, ReverseScr bool
	ReverseWrap                   bool
	CursorVisible                 bool
	BracketedPaste, Focus         bool
	AltScreen, AltScroll          bool
	Sync, Graphemes, ColorReports bool
	Allow132                      bool
	BackarrowBS                   bool
	Mouse                         MouseMode
	MouseEnc                      MouseEncoding
	// ModifyOtherKeys is 0, 1 or 2.
	ModifyOtherKeys uint8
	// Kitty are the progressive enhancement flags of the current screen.
	Kitty KittyFlags
}

// KittyFlags are the progressive enhancements of the Kitty keyboard protocol.
type KittyFlags uint8

// Kitty keyboard flags.
const (
	KittyDisambiguate KittyFlags = 1 << iota
	KittyEvents
	KittyAlternates
	KittyAllKeys
	KittyText
	kittyKnown = KittyDisambiguate | KittyEvents | KittyAlternates | KittyAllKeys | KittyText
)

// maxKittyStack bounds the push/pop stack of each screen.
const maxKittyStack = 16

func defaultModes() Modes {
	return Modes{AutoWrap: true, CursorVisible: true, Graphemes: true, AltScroll: true}
}

// currentModes is modes with what lives elsewhere filled in.
func (t *Terminal) currentModes() Modes {
	m := t.modes
	m.AltScreen = t.scr == &t.alt
	m.Kitty = t.scr.kittyFlags
	return m
}

func mouseModeOf(n int) MouseMode {
	switch n {
	case 9:
		return MouseX10
	case 1000:
		return MouseNormal
	case 1002:
		return MouseButton
	default:
		return MouseAny
	}
}

func mouseEncodingOf(n int) MouseEncoding {
	switch n {
	case 1005:
		return MouseEncodingUTF8
	case 1006:
		return MouseEncodingSGR
	default:
		return MouseEncodingURXVT
	}
}

// boolMode returns where a private mode that is a plain switch is kept, or nil.
func (t *Terminal) boolMode(n int) *bool {
	m := &t.modes
	switch n {
	case 1:
		return &m.AppCursor
	case 5:
		return &m.ReverseScr
	case 7:
		return &m.AutoWrap
	case 12:
		return &t.cursorBlink
	case 25:
		return &m.CursorVisible
	case 40:
		return &m.Allow132
	case 45:
		return &m.ReverseWrap
	case 66:
		return &m.AppKeypad
	case 67:
		return &m.BackarrowBS
	case 1004:
		return &m.Focus
	case 1007:
		return &m.AltScroll
	case 2004:
		return &m.BracketedPaste
	case 2027:
		return &m.Graphemes
	case 2031:
		return &m.ColorReports
	}
	return nil
}

// setPrivate is DECSET and DECRST for one mode.
func (t *Terminal) setPrivate(n int, on bool) {
	if b := t.boolMode(n); b != nil {
		*b = on
		if n == 7 && !on {
			t.scr.cur.pending = false
		}
		return
	}
	switch n {
	case 3:
		if t.modes.Allow132 {
			t.columnMode()
		}
	case 6:
		t.modes.Origin = on
		t.home()
	case 69:
		t.modes.LeftRight = on
		if !on {
			t.left, t.right = 0, t.cols-1
		}
	case 9, 1000, 1002, 1003:
		t.modes.Mouse = MouseOff
		if on {
			t.modes.Mouse = mouseModeOf(n)
		}
	case 1005, 1006, 1015:
		if on {
			t.modes.MouseEnc = mouseEncodingOf(n)
		} else if t.modes.MouseEnc == mouseEncodingOf(n) {
			t.modes.MouseEnc = MouseEncodingX10
		}
	case 47, 1047, 1049, 1048:
		t.altMode(n, on)
	case 2026:
		t.modes.Sync = on
		if on {
			t.syncSince = t.clock()
		}
	}
}

// altMode is the alternate screen in its variants: 47 only switches, 1047
// clears the alternate screen on leaving, 1048 saves the cursor, 1049 does all.
func (t *Terminal) altMode(n int, on bool) {
	switch {
	case n == 1048 && on:
		t.saveCursor()
	case n == 1048:
		t.restoreCursor()
	case on && t.scr == &t.main:
		if n == 1049 {
			t.saveCursor()
		}
		t.switchScreen(&t.alt)
		if n == 1049 {
			t.eraseRows(0, t.rows)
		}
	case !on && t.scr == &t.alt:
		if n == 1047 {
			t.eraseRows(0, t.rows)
		}
		t.switchScreen(&t.main)
		if n == 1049 {
			t.restoreCursor()
		}
	case !on && n == 1049:
		t.restoreCursor()
	}
}

// switchScreen makes s the current screen; the cursor goes with it.
func (t *Terminal) switchScreen(s *screen) {
	s.cur = t.scr.cur
	t.scr = s
	t.last = lastCell{}
	for _, r := range s.rows {
		r.stamp = t.version
	}
}

// modeState answers DECRQM: 0 unknown, 1 set, 2 reset, 3 always set, 4 always reset.
func (t *Terminal) modeState(n int, private bool) int {
	state := func(on bool) int {
		if on {
			return 1
		}
		return 2
	}
	if !private {
		switch n {
		case 4:
			return state(t.modes.Insert)
		case 20:
			return state(t.modes.Newline)
		}
		return 0
	}
	if b := t.boolMode(n); b != nil {
		return state(*b)
	}
	switch n {
	case 3:
		return state(false)
	case 6:
		return state(t.modes.Origin)
	case 69:
		return state(t.modes.LeftRight)
	case 9, 1000, 1002, 1003:
		return state(t.modes.Mouse == mouseModeOf(n))
	case 1005, 1006, 1015:
		return state(t.modes.MouseEnc == mouseEncodingOf(n))
	case 47, 1047, 1049:
		return state(t.scr == &t.alt)
	case 1048:
		return state(true)
	case 2026:
		return state(t.modes.Sync)
	}
	return 0
}

// saveModes and restoreModes are XTSAVE and XTRESTORE.
func (t *Terminal) saveModes(list []int) {
	if t.savedModes == nil {
		t.savedModes = map[int]bool{}
	}
	for _, n := range list {
		if s := t.modeState(n, true); s == 1 || s == 2 {
			t.savedModes[n] = s == 1
		}
	}
}

func (t *Terminal) restoreModes(list []int) {
	for _, n := range list {
		if on, ok := t.savedModes[n]; ok {
			t.setPrivate(n, on)
		}
	}
}

// setANSI is SM and RM for one mode.
func (t *Terminal) setANSI(n int, on bool) {
	switch n {
	case 4:
		t.modes.Insert = on
	case 20:
		t.modes.Newline = on
	}
}

// kittyPush, kittyPop and kittySet manage the keyboard flags of the current screen.
func (t *Terminal) kittyPush(f KittyFlags) {
	s := t.scr
	if len(s.kitty) >= maxKittyStack {
		s.kitty = append(s.kitty[:0], s.kitty[1:]...)
	}
	s.kitty = append(s.kitty, s.kittyFlags)
	s.kittyFlags = f & kittyKnown
}

func (t *Terminal) kittyPop(n int) {
	s := t.scr
	for range min(n, maxKittyStack+1) {
		if len(s.kitty) == 0 {
			s.kittyFlags = 0
			return
		}
		s.kittyFlags = s.kitty[len(s.kitty)-1]
		s.kitty = s.kitty[:len(s.kitty)-1]
	}
}

func (t *Terminal) kittySet(f KittyFlags, how int) {
	f &= kittyKnown
	switch how {
	case 2:
		t.scr.kittyFlags |= f
	case 3:
		t.scr.kittyFlags &^= f
	default:
		t.scr.kittyFlags = f
	}
}

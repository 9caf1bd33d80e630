package term

import tea "charm.land/bubbletea/v2"

// keyForm is how a key without text is written: CSI 1;m LETTER, CSI n;m ~ or,
// in the Kitty protocol only, CSI n;m u.
type keyForm struct {
	// letter is the final byte of the first form, 0 if there is none.
	letter byte
	// number goes before ~.
	number int
	// kitty goes before u; 0 means that Kitty uses the other form too.
	kitty int
}

// specialKeys are the keys whose form is the same in xterm and Kitty, save for F13 and up.
var specialKeys = map[rune]keyForm{
	tea.KeyUp: {letter: 'A'}, tea.KeyDown: {letter: 'B'}, tea.KeyRight: {letter: 'C'}, tea.KeyLeft: {letter: 'D'},
	tea.KeyBegin: {letter: 'E'}, tea.KeyEnd: {letter: 'F'}, tea.KeyHome: {letter: 'H'},
	tea.KeyFind: {number: 1}, tea.KeyInsert: {number: 2}, tea.KeyDelete: {number: 3}, tea.KeySelect: {number: 4},
	tea.KeyPgUp: {number: 5}, tea.KeyPgDown: {number: 6},
	tea.KeyF1: {letter: 'P'}, tea.KeyF2: {letter: 'Q'}, tea.KeyF3: {letter: 'R'}, tea.KeyF4: {letter: 'S'},
	tea.KeyF5: {number: 15}, tea.KeyF6: {number: 17}, tea.KeyF7: {number: 18}, tea.KeyF8: {number: 19},
	tea.KeyF9: {number: 20}, tea.KeyF10: {number: 21}, tea.KeyF11: {number: 23}, tea.KeyF12: {number: 24},
	tea.KeyF13: {number: 25, kitty: 57376}, tea.KeyF14: {number: 26, kitty: 57377},
	tea.KeyF15: {number: 28, kitty: 57378}, tea.KeyF16: {number: 29, kitty: 57379},
	tea.KeyF17: {number: 31, kitty: 57380}, tea.KeyF18: {number: 32, kitty: 57381},
	tea.KeyF19: {number: 33, kitty: 57382}, tea.KeyF20: {number: 34, kitty: 57383},
	tea.KeyF21: {kitty: 57384}, tea.KeyF22: {kitty: 57385}, tea.KeyF23: {kitty: 57386}, tea.KeyF24: {kitty: 57387},
	tea.KeyF25: {kitty: 57388}, tea.KeyF26: {kitty: 57389}, tea.KeyF27: {kitty: 57390}, tea.KeyF28: {kitty: 57391},
	tea.KeyF29: {kitty: 57392}, tea.KeyF30: {kitty: 57393}, tea.KeyF31: {kitty: 57394}, tea.KeyF32: {kitty: 57395},
	tea.KeyF33: {kitty: 57396}, tea.KeyF34: {kitty: 57397}, tea.KeyF35: {kitty: 57398},
	tea.KeyCapsLock: {kitty: 57358}, tea.KeyScrollLock: {kitty: 57359}, tea.KeyNumLock: {kitty: 57360},
	tea.KeyPrintScreen: {kitty: 57361}, tea.KeyPause: {kitty: 57362}, tea.KeyMenu: {number: 29, kitty: 57363},
	tea.KeyMediaPlay: {kitty: 57428}, tea.KeyMediaPause: {kitty: 57429}, tea.KeyMediaPlayPause: {kitty: 57430},
	tea.KeyMediaReverse: {kitty: 57431}, tea.KeyMediaStop: {kitty: 57432}, tea.KeyMediaFastForward: {kitty: 57433},
	tea.KeyMediaRewind: {kitty: 57434}, tea.KeyMediaNext: {kitty: 57435}, tea.KeyMediaPrev: {kitty: 57436},
	tea.KeyMediaRecord: {kitty: 57437}, tea.KeyLowerVol: {kitty: 57438}, tea.KeyRaiseVol: {kitty: 57439},
	tea.KeyMute:      {kitty: 57440},
	tea.KeyLeftShift: {kitty: 57441}, tea.KeyLeftCtrl: {kitty: 57442}, tea.KeyLeftAlt: {kitty: 57443},
	tea.KeyLeftSuper: {kitty: 57444}, tea.KeyLeftHyper: {kitty: 57445}, tea.KeyLeftMeta: {kitty: 57446},
	tea.KeyRightShift: {kitty: 57447}, tea.KeyRightCtrl: {kitty: 57448}, tea.KeyRightAlt: {kitty: 57449},
	tea.KeyRightSuper: {kitty: 57450}, tea.KeyRightHyper: {kitty: 57451}, tea.KeyRightMeta: {kitty: 57452},
	tea.KeyIsoLevel3Shift: {kitty: 57453}, tea.KeyIsoLevel5Shift: {kitty: 57454},
}

// padKey is a key of the numeric keypad.
type padKey struct {
	// app is the letter after SS3 in application keypad mode.
	app byte
	// plain is what it types otherwise, or same is the key that it equals.
	plain rune
	same  rune
	kitty int
}

var padKeys = map[rune]padKey{
	tea.KeyKp0: {'p', '0', 0, 57399}, tea.KeyKp1: {'q', '1', 0, 57400}, tea.KeyKp2: {'r', '2', 0, 57401},
	tea.KeyKp3: {'s', '3', 0, 57402}, tea.KeyKp4: {'t', '4', 0, 57403}, tea.KeyKp5: {'u', '5', 0, 57404},
	tea.KeyKp6: {'v', '6', 0, 57405}, tea.KeyKp7: {'w', '7', 0, 57406}, tea.KeyKp8: {'x', '8', 0, 57407},
	tea.KeyKp9: {'y', '9', 0, 57408}, tea.KeyKpDecimal: {'n', '.', 0, 57409}, tea.KeyKpDivide: {'o', '/', 0, 57410},
	tea.KeyKpMultiply: {'j', '*', 0, 57411}, tea.KeyKpMinus: {'m', '-', 0, 57412}, tea.KeyKpPlus: {'k', '+', 0, 57413},
	tea.KeyKpEnter: {'M', '\r', 0, 57414}, tea.KeyKpEqual: {'X', '=', 0, 57415},
	tea.KeyKpComma: {'l', ',', 0, 57416}, tea.KeyKpSep: {'l', ',', 0, 57416},
	tea.KeyKpLeft: {0, 0, tea.KeyLeft, 57417}, tea.KeyKpRight: {0, 0, tea.KeyRight, 57418},
	tea.KeyKpUp: {0, 0, tea.KeyUp, 57419}, tea.KeyKpDown: {0, 0, tea.KeyDown, 57420},
	tea.KeyKpPgUp: {0, 0, tea.KeyPgUp, 57421}, tea.KeyKpPgDown: {0, 0, tea.KeyPgDown, 57422},
	tea.KeyKpHome: {0, 0, tea.KeyHome, 57423}, tea.KeyKpEnd: {0, 0, tea.KeyEnd, 57424},
	tea.KeyKpInsert: {0, 0, tea.KeyInsert, 57425}, tea.KeyKpDelete: {0, 0, tea.KeyDelete, 57426},
	tea.KeyKpBegin: {0, 0, tea.KeyBegin, 57427},
}

// controlByte is what ctrl makes of a character.
func controlByte(r rune) (byte, bool) {
	switch {
	case r >= 'a' && r <= 'z':
		return byte(r - 'a' + 1), true
	case r >= '@' && r <= '_':
		return byte(r - '@'), true
	case r == ' ', r == '2':
		return 0, true
	case r >= '3' && r <= '7':
		return byte(r-'3') + 0x1b, true
	case r == '8', r == '?':
		return 0x7f, true
	case r == '/':
		return 0x1f, true
	}
	return 0, false
}

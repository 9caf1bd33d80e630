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

// specialKey is the form of a key without text; it is the same in xterm and Kitty, save for F13 and up.
func specialKey(code rune) (keyForm, bool) {
	switch code {
	case tea.KeyUp:
		return keyForm{letter: 'A'}, true
	case tea.KeyDown:
		return keyForm{letter: 'B'}, true
	case tea.KeyRight:
		return keyForm{letter: 'C'}, true
	case tea.KeyLeft:
		return keyForm{letter: 'D'}, true
	case tea.KeyBegin:
		return keyForm{letter: 'E'}, true
	case tea.KeyEnd:
		return keyForm{letter: 'F'}, true
	case tea.KeyHome:
		return keyForm{letter: 'H'}, true
	case tea.KeyFind:
		return keyForm{number: 1}, true
	case tea.KeyInsert:
		return keyForm{number: 2}, true
	case tea.KeyDelete:
		return keyForm{number: 3}, true
	case tea.KeySelect:
		return keyForm{number: 4}, true
	case tea.KeyPgUp:
		return keyForm{number: 5}, true
	case tea.KeyPgDown:
		return keyForm{number: 6}, true
	case tea.KeyF1:
		return keyForm{letter: 'P'}, true
	case tea.KeyF2:
		return keyForm{letter: 'Q'}, true
	case tea.KeyF3:
		return keyForm{letter: 'R'}, true
	case tea.KeyF4:
		return keyForm{letter: 'S'}, true
	case tea.KeyF5:
		return keyForm{number: 15}, true
	case tea.KeyF6:
		return keyForm{number: 17}, true
	case tea.KeyF7:
		return keyForm{number: 18}, true
	case tea.KeyF8:
		return keyForm{number: 19}, true
	case tea.KeyF9:
		return keyForm{number: 20}, true
	case tea.KeyF10:
		return keyForm{number: 21}, true
	case tea.KeyF11:
		return keyForm{number: 23}, true
	case tea.KeyF12:
		return keyForm{number: 24}, true
	case tea.KeyF13:
		return keyForm{number: 25, kitty: 57376}, true
	case tea.KeyF14:
		return keyForm{number: 26, kitty: 57377}, true
	case tea.KeyF15:
		return keyForm{number: 28, kitty: 57378}, true
	case tea.KeyF16:
		return keyForm{number: 29, kitty: 57379}, true
	case tea.KeyF17:
		return keyForm{number: 31, kitty: 57380}, true
	case tea.KeyF18:
		return keyForm{number: 32, kitty: 57381}, true
	case tea.KeyF19:
		return keyForm{number: 33, kitty: 57382}, true
	case tea.KeyF20:
		return keyForm{number: 34, kitty: 57383}, true
	case tea.KeyF21:
		return keyForm{kitty: 57384}, true
	case tea.KeyF22:
		return keyForm{kitty: 57385}, true
	case tea.KeyF23:
		return keyForm{kitty: 57386}, true
	case tea.KeyF24:
		return keyForm{kitty: 57387}, true
	case tea.KeyF25:
		return keyForm{kitty: 57388}, true
	case tea.KeyF26:
		return keyForm{kitty: 57389}, true
	case tea.KeyF27:
		return keyForm{kitty: 57390}, true
	case tea.KeyF28:
		return keyForm{kitty: 57391}, true
	case tea.KeyF29:
		return keyForm{kitty: 57392}, true
	case tea.KeyF30:
		return keyForm{kitty: 57393}, true
	case tea.KeyF31:
		return keyForm{kitty: 57394}, true
	case tea.KeyF32:
		return keyForm{kitty: 57395}, true
	case tea.KeyF33:
		return keyForm{kitty: 57396}, true
	case tea.KeyF34:
		return keyForm{kitty: 57397}, true
	case tea.KeyF35:
		return keyForm{kitty: 57398}, true
	case tea.KeyCapsLock:
		return keyForm{kitty: 57358}, true
	case tea.KeyScrollLock:
		return keyForm{kitty: 57359}, true
	case tea.KeyNumLock:
		return keyForm{kitty: 57360}, true
	case tea.KeyPrintScreen:
		return keyForm{kitty: 57361}, true
	case tea.KeyPause:
		return keyForm{kitty: 57362}, true
	case tea.KeyMenu:
		return keyForm{number: 29, kitty: 57363}, true
	case tea.KeyMediaPlay:
		return keyForm{kitty: 57428}, true
	case tea.KeyMediaPause:
		return keyForm{kitty: 57429}, true
	case tea.KeyMediaPlayPause:
		return keyForm{kitty: 57430}, true
	case tea.KeyMediaReverse:
		return keyForm{kitty: 57431}, true
	case tea.KeyMediaStop:
		return keyForm{kitty: 57432}, true
	case tea.KeyMediaFastForward:
		return keyForm{kitty: 57433}, true
	case tea.KeyMediaRewind:
		return keyForm{kitty: 57434}, true
	case tea.KeyMediaNext:
		return keyForm{kitty: 57435}, true
	case tea.KeyMediaPrev:
		return keyForm{kitty: 57436}, true
	case tea.KeyMediaRecord:
		return keyForm{kitty: 57437}, true
	case tea.KeyLowerVol:
		return keyForm{kitty: 57438}, true
	case tea.KeyRaiseVol:
		return keyForm{kitty: 57439}, true
	case tea.KeyMute:
		return keyForm{kitty: 57440}, true
	case tea.KeyLeftShift:
		return keyForm{kitty: 57441}, true
	case tea.KeyLeftCtrl:
		return keyForm{kitty: 57442}, true
	case tea.KeyLeftAlt:
		return keyForm{kitty: 57443}, true
	case tea.KeyLeftSuper:
		return keyForm{kitty: 57444}, true
	case tea.KeyLeftHyper:
		return keyForm{kitty: 57445}, true
	case tea.KeyLeftMeta:
		return keyForm{kitty: 57446}, true
	case tea.KeyRightShift:
		return keyForm{kitty: 57447}, true
	case tea.KeyRightCtrl:
		return keyForm{kitty: 57448}, true
	case tea.KeyRightAlt:
		return keyForm{kitty: 57449}, true
	case tea.KeyRightSuper:
		return keyForm{kitty: 57450}, true
	case tea.KeyRightHyper:
		return keyForm{kitty: 57451}, true
	case tea.KeyRightMeta:
		return keyForm{kitty: 57452}, true
	case tea.KeyIsoLevel3Shift:
		return keyForm{kitty: 57453}, true
	case tea.KeyIsoLevel5Shift:
		return keyForm{kitty: 57454}, true
	}
	return keyForm{}, false
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

// keypadKey finds a key of the numeric keypad.
func keypadKey(code rune) (padKey, bool) {
	switch code {
	case tea.KeyKp0:
		return padKey{'p', '0', 0, 57399}, true
	case tea.KeyKp1:
		return padKey{'q', '1', 0, 57400}, true
	case tea.KeyKp2:
		return padKey{'r', '2', 0, 57401}, true
	case tea.KeyKp3:
		return padKey{'s', '3', 0, 57402}, true
	case tea.KeyKp4:
		return padKey{'t', '4', 0, 57403}, true
	case tea.KeyKp5:
		return padKey{'u', '5', 0, 57404}, true
	case tea.KeyKp6:
		return padKey{'v', '6', 0, 57405}, true
	case tea.KeyKp7:
		return padKey{'w', '7', 0, 57406}, true
	case tea.KeyKp8:
		return padKey{'x', '8', 0, 57407}, true
	case tea.KeyKp9:
		return padKey{'y', '9', 0, 57408}, true
	case tea.KeyKpDecimal:
		return padKey{'n', '.', 0, 57409}, true
	case tea.KeyKpDivide:
		return padKey{'o', '/', 0, 57410}, true
	case tea.KeyKpMultiply:
		return padKey{'j', '*', 0, 57411}, true
	case tea.KeyKpMinus:
		return padKey{'m', '-', 0, 57412}, true
	case tea.KeyKpPlus:
		return padKey{'k', '+', 0, 57413}, true
	case tea.KeyKpEnter:
		return padKey{'M', '\r', 0, 57414}, true
	case tea.KeyKpEqual:
		return padKey{'X', '=', 0, 57415}, true
	case tea.KeyKpComma:
		return padKey{'l', ',', 0, 57416}, true
	case tea.KeyKpSep:
		return padKey{'l', ',', 0, 57416}, true
	case tea.KeyKpLeft:
		return padKey{0, 0, tea.KeyLeft, 57417}, true
	case tea.KeyKpRight:
		return padKey{0, 0, tea.KeyRight, 57418}, true
	case tea.KeyKpUp:
		return padKey{0, 0, tea.KeyUp, 57419}, true
	case tea.KeyKpDown:
		return padKey{0, 0, tea.KeyDown, 57420}, true
	case tea.KeyKpPgUp:
		return padKey{0, 0, tea.KeyPgUp, 57421}, true
	case tea.KeyKpPgDown:
		return padKey{0, 0, tea.KeyPgDown, 57422}, true
	case tea.KeyKpHome:
		return padKey{0, 0, tea.KeyHome, 57423}, true
	case tea.KeyKpEnd:
		return padKey{0, 0, tea.KeyEnd, 57424}, true
	case tea.KeyKpInsert:
		return padKey{0, 0, tea.KeyInsert, 57425}, true
	case tea.KeyKpDelete:
		return padKey{0, 0, tea.KeyDelete, 57426}, true
	case tea.KeyKpBegin:
		return padKey{0, 0, tea.KeyBegin, 57427}, true
	}
	return padKey{}, false
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

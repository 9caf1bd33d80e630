package term

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// KeyEvent is what happened to a key.
type KeyEvent uint8

// Key events; the numbers are those of the Kitty keyboard protocol.
const (
	KeyPress   KeyEvent = 1
	KeyRepeat  KeyEvent = 2
	KeyRelease KeyEvent = 3
)

// EncodeKey is what a terminal in modes m sends for a key, nil for nothing.
// Outside of the Kitty protocol only presses are sent.
func EncodeKey(k tea.Key, ev KeyEvent, m Modes) []byte {
	if ev == KeyPress && k.IsRepeat {
		ev = KeyRepeat
	}
	if m.Kitty != 0 {
		return encodeKitty(k, ev, m)
	}
	if ev == KeyRelease {
		return nil
	}
	return encodeLegacy(k, m)
}

// xtermModifiers is the modifier parameter of xterm, 1 for none.
func xtermModifiers(mod tea.KeyMod) int {
	n := 1
	for i, b := range [...]tea.KeyMod{tea.ModShift, tea.ModAlt, tea.ModCtrl, tea.ModMeta} {
		if mod.Contains(b) {
			n += 1 << i
		}
	}
	return n
}

func encodeLegacy(k tea.Key, m Modes) []byte {
	mods := xtermModifiers(k.Mod)
	if pad, ok := keypadKey(k.Code); ok {
		if pad.same == 0 {
			return encodePad(k, pad, mods, m)
		}
		k.Code = pad.same
	}
	if form, ok := specialKey(k.Code); ok {
		return specialBytes(form, mods, m.AppCursor)
	}
	if b := encodeC0Key(k, mods, m); b != nil {
		return b
	}
	return encodeText(k, mods, m)
}

func encodePad(k tea.Key, pad padKey, mods int, m Modes) []byte {
	switch {
	case m.AppKeypad && mods > 1:
		return fmt.Appendf(nil, "\x1bO%d%c", mods, pad.app)
	case m.AppKeypad:
		return []byte{0x1b, 'O', pad.app}
	case pad.plain == '\r':
		k.Code = tea.KeyEnter
		return encodeC0Key(k, mods, m)
	case k.Text == "":
		k.Text, k.Code = string(pad.plain), pad.plain
	}
	return encodeText(k, mods, m)
}

// specialBytes is a key without text in the forms of xterm.
func specialBytes(f keyForm, mods int, appCursor bool) []byte {
	switch {
	case f.letter != 0 && mods > 1:
		return fmt.Appendf(nil, "\x1b[1;%d%c", mods, f.letter)
	case f.letter >= 'P' && f.letter <= 'S', f.letter != 0 && appCursor:
		return []byte{0x1b, 'O', f.letter}
	case f.letter != 0:
		return []byte{0x1b, '[', f.letter}
	case f.number != 0 && mods > 1:
		return fmt.Appendf(nil, "\x1b[%d;%d~", f.number, mods)
	case f.number != 0:
		return fmt.Appendf(nil, "\x1b[%d~", f.number)
	}
	return nil
}

// otherKey is a key in the form of modifyOtherKeys.
func otherKey(mods int, code rune) []byte {
	return fmt.Appendf(nil, "\x1b[27;%d;%d~", mods, code)
}

// encodeC0Key is Enter, Tab, Backspace and Escape; nil for another key.
func encodeC0Key(k tea.Key, mods int, m Modes) []byte {
	var b byte
	ctrl := k.Mod.Contains(tea.ModCtrl)
	switch k.Code {
	case tea.KeyEnter:
		b = '\r'
	case tea.KeyTab:
		b = '\t'
	case tea.KeyEscape:
		b = 0x1b
	case tea.KeyBackspace:
		b = 0x7f
		if ctrl != m.BackarrowBS {
			b = 0x08
		}
	default:
		return nil
	}
	if k.Code == tea.KeyTab && mods == 2 && m.ModifyOtherKeys < 2 {
		return []byte("\x1b[Z")
	}
	special := mods > 1 && (m.ModifyOtherKeys == 2 || m.ModifyOtherKeys == 1 && mods != 3 && k.Code != tea.KeyBackspace)
	if special {
		return otherKey(mods, k.Code)
	}
	out := []byte{b}
	switch {
	case k.Code == tea.KeyTab && k.Mod.Contains(tea.ModShift):
		out = []byte("\x1b[Z")
	case k.Code == tea.KeyEnter && m.Newline:
		out = []byte("\r\n")
	}
	if k.Mod.Contains(tea.ModAlt) {
		out = append([]byte{0x1b}, out...)
	}
	return out
}

// typed is the text of a key under shift alone.
func typed(k tea.Key) string {
	switch {
	case k.Text != "":
		return k.Text
	case k.Mod.Contains(tea.ModShift) && k.ShiftedCode != 0:
		return string(k.ShiftedCode)
	case k.Mod.Contains(tea.ModShift):
		return string(unicode.ToUpper(k.Code))
	}
	return string(k.Code)
}

// isChar reports whether a key code is a character, not one of the library's special keys.
func isChar(code rune) bool {
	return code >= ' ' && code != 0x7f && code <= unicode.MaxRune && code != tea.KeyExtended
}

// encodeText is a key that types characters.
func encodeText(k tea.Key, mods int, m Modes) []byte {
	ctrl, alt := k.Mod.Contains(tea.ModCtrl), k.Mod.Contains(tea.ModAlt) || k.Mod.Contains(tea.ModMeta)
	if !ctrl && !alt {
		if k.Text == "" && !isChar(k.Code) {
			return nil
		}
		return []byte(typed(k))
	}
	if !isChar(k.Code) {
		return []byte(k.Text)
	}
	if m.ModifyOtherKeys == 2 {
		r, _ := utf8.DecodeRuneInString(typed(k))
		return otherKey(mods, r)
	}
	out := []byte(typed(k))
	if ctrl {
		b, ok := controlByte(k.Code)
		if !ok {
			r, _ := utf8.DecodeRuneInString(typed(k))
			b, ok = controlByte(r)
		}
		switch {
		case ok:
			out = []byte{b}
		case m.ModifyOtherKeys == 1:
			return otherKey(mods, k.Code)
		}
	}
	if alt {
		out = append([]byte{0x1b}, out...)
	}
	return out
}

// kittyModifiers is the modifier parameter of the Kitty protocol, 1 for none.
func kittyModifiers(mod tea.KeyMod) int {
	n := 1
	for i, b := range [...]tea.KeyMod{
		tea.ModShift, tea.ModAlt, tea.ModCtrl, tea.ModSuper, tea.ModHyper, tea.ModMeta, tea.ModCapsLock, tea.ModNumLock,
	} {
		if mod.Contains(b) {
			n += 1 << i
		}
	}
	return n
}

const lockModifiers = tea.ModCapsLock | tea.ModNumLock | tea.ModScrollLock

func encodeKitty(k tea.Key, ev KeyEvent, m Modes) []byte {
	f := m.Kitty
	all := f&KittyAllKeys != 0
	if f&KittyEvents == 0 {
		if ev == KeyRelease {
			return nil
		}
		ev = KeyPress
	}
	mods := kittyModifiers(k.Mod)
	plain := k.Mod&^lockModifiers == 0
	shiftOnly := k.Mod&^(lockModifiers|tea.ModShift) == 0
	if form, ok := specialKey(k.Code); ok {
		return kittySpecial(form, mods, ev)
	}
	if pad, ok := keypadKey(k.Code); ok {
		if k.Text != "" && shiftOnly && !all {
			return textPress(k.Text, ev)
		}
		return kittyBytes(strconv.Itoa(pad.kitty), mods, ev, "")
	}
	switch k.Code {
	case tea.KeyEnter, tea.KeyTab, tea.KeyBackspace:
		if !all && (plain || ev == KeyRelease) {
			if ev == KeyRelease {
				return nil
			}
			return []byte{byte(k.Code)}
		}
	case tea.KeyEscape:
	default:
		if !isChar(k.Code) {
			return textPress(k.Text, ev)
		}
		if !all && shiftOnly {
			return textPress(typed(k), ev)
		}
	}
	return kittyBytes(kittyCode(k, f), mods, ev, kittyText(k, ev, f))
}

// textPress is a key that is reported as its text; its release is not reported.
func textPress(text string, ev KeyEvent) []byte {
	if ev == KeyRelease {
		return nil
	}
	return []byte(text)
}

// kittyCode is the unshifted key and, when asked for, the shifted and the US layout one.
func kittyCode(k tea.Key, f KittyFlags) string {
	code := strconv.Itoa(int(unicode.ToLower(k.Code)))
	if f&KittyAlternates == 0 {
		return code
	}
	shifted := k.ShiftedCode
	if shifted == 0 && unicode.IsLetter(k.Code) {
		shifted = unicode.ToUpper(k.Code)
	}
	if k.Mod.Contains(tea.ModShift) && shifted != 0 && shifted != k.Code {
		code += ":" + strconv.Itoa(int(shifted))
	}
	if k.BaseCode != 0 && k.BaseCode != k.Code {
		if !strings.Contains(code, ":") {
			code += ":"
		}
		code += ":" + strconv.Itoa(int(k.BaseCode))
	}
	return code
}

// kittyText is the associated text as code points, "" if it is not reported.
func kittyText(k tea.Key, ev KeyEvent, f KittyFlags) string {
	if f&KittyText == 0 || f&KittyAllKeys == 0 || ev == KeyRelease {
		return ""
	}
	var parts []string
	for _, r := range k.Text {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return ""
		}
		parts = append(parts, strconv.Itoa(int(r)))
	}
	return strings.Join(parts, ":")
}

// kittyParams is the modifier and event part, "" when both are the default.
func kittyParams(mods int, ev KeyEvent) string {
	switch {
	case ev != KeyPress:
		return fmt.Sprintf("%d:%d", mods, ev)
	case mods > 1:
		return strconv.Itoa(mods)
	}
	return ""
}

func kittyBytes(code string, mods int, ev KeyEvent, text string) []byte {
	p := kittyParams(mods, ev)
	switch {
	case text != "":
		return []byte("\x1b[" + code + ";" + p + ";" + text + "u")
	case p != "":
		return []byte("\x1b[" + code + ";" + p + "u")
	}
	return []byte("\x1b[" + code + "u")
}

// kittySpecial is a key without text; F3 differs from xterm because its letter
// would read as a cursor report.
func kittySpecial(f keyForm, mods int, ev KeyEvent) []byte {
	p := kittyParams(mods, ev)
	switch {
	case f.kitty != 0:
		return kittyBytes(strconv.Itoa(f.kitty), mods, ev, "")
	case f.letter == 'R':
		f = keyForm{number: 13}
	}
	switch {
	case f.letter != 0 && p != "":
		return []byte("\x1b[1;" + p + string(rune(f.letter)))
	case f.letter != 0:
		return []byte{0x1b, '[', f.letter}
	case p != "":
		return fmt.Appendf(nil, "\x1b[%d;%s~", f.number, p)
	}
	return fmt.Appendf(nil, "\x1b[%d~", f.number)
}

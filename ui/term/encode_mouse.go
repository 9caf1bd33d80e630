package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// EncodePaste is what a terminal in modes m sends for pasted text. Line ends
// become carriage returns; bracketed text cannot contain the end marker.
func EncodePaste(text string, m Modes) []byte {
	text = strings.ReplaceAll(text, "\r\n", "\r")
	text = strings.ReplaceAll(text, "\n", "\r")
	if !m.BracketedPaste {
		return []byte(text)
	}
	return []byte("\x1b[200~" + stripPasteEnd(text) + "\x1b[201~")
}

// stripPasteEnd removes end markers, those included that appear only once
// another one between their parts is gone.
func stripPasteEnd(text string) string {
	pasteEnds := [...]string{"\x1b[201~", "\u009b201~", "\x9b201~"}
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		out = append(out, text[i])
		for _, end := range pasteEnds {
			if text[i] == '~' && bytes.HasSuffix(out, []byte(end)) {
				out = out[:len(out)-len(end)]
				break
			}
		}
	}
	return string(out)
}

// EncodeFocus is what a terminal in modes m sends when it gets or loses the focus.
func EncodeFocus(in bool, m Modes) []byte {
	switch {
	case !m.Focus:
		return nil
	case in:
		return []byte("\x1b[I")
	default:
		return []byte("\x1b[O")
	}
}

// EncodeMouse is what a terminal in modes m sends for a mouse event at cell
// x, y counted from 0; nil if the program does not want it.
func EncodeMouse(msg tea.MouseMsg, x, y int, m Modes) []byte {
	ev := msg.Mouse()
	if m.Mouse == MouseOff {
		return wheelKeys(ev.Button, m)
	}
	_, release := msg.(tea.MouseReleaseMsg)
	_, motion := msg.(tea.MouseMotionMsg)
	if !wantsMouse(ev, release, motion, m) || x < 0 || y < 0 {
		return nil
	}
	code, ok := mouseButton(ev.Button)
	if !ok {
		return nil
	}
	if motion {
		code += 32
	}
	if m.Mouse != MouseX10 {
		code += mouseModifiers(ev.Mod)
	}
	return mouseBytes(code, x+1, y+1, release, m.MouseEnc)
}

// wheelLines is how many lines one step of the wheel moves under alternate scroll.
const wheelLines = 3

// wheelKeys is alternate scroll (mode 1007): on the alternate screen the wheel
// types arrow keys into a program that does not want the mouse.
func wheelKeys(b tea.MouseButton, m Modes) []byte {
	if !m.AltScreen || !m.AltScroll {
		return nil
	}
	var key tea.Key
	switch b {
	case tea.MouseWheelUp:
		key.Code = tea.KeyUp
	case tea.MouseWheelDown:
		key.Code = tea.KeyDown
	default:
		return nil
	}
	return bytes.Repeat(EncodeKey(key, KeyPress, m), wheelLines)
}

func wantsMouse(ev tea.Mouse, release, motion bool, m Modes) bool {
	switch m.Mouse {
	case MouseX10:
		return !release && !motion && ev.Button >= tea.MouseLeft && ev.Button <= tea.MouseRight
	case MouseNormal:
		return !motion
	case MouseButton:
		return !motion || ev.Button != tea.MouseNone
	}
	return true
}

// mouseButton is the button part of a mouse report.
func mouseButton(b tea.MouseButton) (int, bool) {
	switch {
	case b == tea.MouseNone:
		return 3, true
	case b >= tea.MouseLeft && b <= tea.MouseRight:
		return int(b - tea.MouseLeft), true
	case b >= tea.MouseWheelUp && b <= tea.MouseWheelRight:
		return 64 + int(b-tea.MouseWheelUp), true
	case b >= tea.MouseBackward && b <= tea.MouseButton11:
		return 128 + int(b-tea.MouseBackward), true
	}
	return 0, false
}

func mouseModifiers(mod tea.KeyMod) int {
	n := 0
	if mod.Contains(tea.ModShift) {
		n += 4
	}
	if mod.Contains(tea.ModAlt) || mod.Contains(tea.ModMeta) {
		n += 8
	}
	if mod.Contains(tea.ModCtrl) {
		n += 16
	}
	return n
}

func mouseBytes(code, x, y int, release bool, enc MouseEncoding) []byte {
	if enc == MouseEncodingSGR {
		final := 'M'
		if release {
			final = 'm'
		}
		return fmt.Appendf(nil, "\x1b[<%d;%d;%d%c", code, x, y, final)
	}
	if release {
		// Only SGR says which button was released.
		code = code&^0xc3 | 3
	}
	code += 32
	if enc == MouseEncodingURXVT {
		return fmt.Appendf(nil, "\x1b[%d;%d;%dM", code, x, y)
	}
	limit := 223
	if enc == MouseEncodingUTF8 {
		limit = 2015
	}
	if x > limit || y > limit {
		return nil
	}
	out := []byte("\x1b[M")
	for _, v := range [...]int{code, x + 32, y + 32} {
		if enc == MouseEncodingUTF8 {
			out = utf8.AppendRune(out, rune(v))
		} else {
			out = append(out, byte(v))
		}
	}
	return out
}

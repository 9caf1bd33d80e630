package term

import (
	"bytes"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// fuzzedModes spreads bits over what decides how input is encoded.
func fuzzedModes(bits uint32) Modes {
	on := func(n int) bool { return bits>>n&1 != 0 }
	return Modes{
		AppCursor: on(0), AppKeypad: on(1), Newline: on(2), BracketedPaste: on(3), Focus: on(4), AltScreen: on(5), AltScroll: on(6),
		BackarrowBS: on(7), Mouse: MouseMode(bits >> 8 % 5), MouseEnc: MouseEncoding(bits >> 11 % 5), ModifyOtherKeys: uint8(bits >> 14 % 3),
		Kitty: KittyFlags(bits>>16) & kittyKnown,
	}
}

// Whatever is pressed, clicked or pasted, what is sent stays small, a mouse
// that nobody asked for sends nothing of its own, and a paste stays inside of
// its brackets.
func FuzzEncode(f *testing.F) {
	f.Add(uint32(0), int32('a'), "a", uint16(0), uint8(1), 3, 4, "pasted\x1b[201~")
	f.Add(uint32(0x1f0000), tea.KeyUp, "", uint16(5), uint8(3), -1, 70000, "\x9b201~")
	f.Add(uint32(0xffff), int32(-1), "漢", uint16(0xffff), uint8(2), 223, 95, "")
	f.Fuzz(func(t *testing.T, bits uint32, code int32, text string, mod uint16, ev uint8, x, y int, paste string) {
		m := fuzzedModes(bits)
		k := tea.Key{Code: code, Text: text, Mod: tea.KeyMod(mod), BaseCode: rune(x), ShiftedCode: rune(y), IsRepeat: bits>>31 != 0}
		// A cluster as text becomes one number a character in the Kitty protocol.
		if p := EncodeKey(k, KeyEvent(ev%3)+KeyPress, m); len(p) > 64+16*len(text) {
			t.Fatalf("a key became %d bytes: %q", len(p), p)
		}
		ms := tea.Mouse{X: x, Y: y, Button: tea.MouseButton(code), Mod: tea.KeyMod(mod)}
		for _, msg := range []tea.MouseMsg{tea.MouseClickMsg(ms), tea.MouseReleaseMsg(ms), tea.MouseMotionMsg(ms), tea.MouseWheelMsg(ms)} {
			p := EncodeMouse(msg, x, y, m)
			if len(p) > 64 || m.Mouse == MouseOff && (bytes.Contains(p, []byte("\x1b[M")) || bytes.Contains(p, []byte("\x1b[<"))) {
				t.Fatalf("%T became %q", msg, p)
			}
		}
		out := string(EncodePaste(paste, m))
		if len(out) > len(paste)+12 {
			t.Fatalf("a paste of %d bytes became %d", len(paste), len(out))
		}
		if m.BracketedPaste && strings.Index(out, "\x1b[201~") != len(out)-6 {
			t.Fatalf("%q became %q", paste, out)
		}
		if p := EncodeFocus(bits%2 == 0, m); (len(p) > 0) != m.Focus {
			t.Fatalf("the focus became %q", p)
		}
	})
}

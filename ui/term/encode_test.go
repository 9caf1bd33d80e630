package term

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"
)

func char(r rune, mod tea.KeyMod) tea.Key {
	k := tea.Key{Code: r, Mod: mod}
	if mod&^tea.ModShift == 0 {
		k.Text = string(r)
		if mod == tea.ModShift {
			k.Text = strings.ToUpper(k.Text)
		}
	}
	return k
}

func special(code rune, mod tea.KeyMod) tea.Key { return tea.Key{Code: code, Mod: mod} }

var (
	legacy    = Modes{}
	app       = Modes{AppCursor: true, AppKeypad: true}
	other1    = Modes{ModifyOtherKeys: 1}
	other2    = Modes{ModifyOtherKeys: 2}
	kitty1    = Modes{Kitty: KittyDisambiguate}
	kitty1app = Modes{Kitty: KittyDisambiguate, AppCursor: true}
	kitty3    = Modes{Kitty: KittyDisambiguate | KittyEvents}
	kitty5    = Modes{Kitty: KittyDisambiguate | KittyAlternates}
	kitty9    = Modes{Kitty: KittyDisambiguate | KittyAllKeys}
	kitty31   = Modes{Kitty: kittyKnown}
)

var keyCases = []struct {
	name  string
	key   tea.Key
	event KeyEvent
	modes Modes
	want  string
}{
	{"letter", char('a', 0), KeyPress, legacy, "a"},
	{"capital", char('a', tea.ModShift), KeyPress, legacy, "A"},
	{"text of several runes", tea.Key{Code: tea.KeyExtended, Text: "né"}, KeyPress, legacy, "né"},
	{"utf-8", char('é', 0), KeyPress, legacy, "é"},
	{"space", tea.Key{Code: tea.KeySpace, Text: " "}, KeyPress, legacy, " "},
	{"ctrl a", char('a', tea.ModCtrl), KeyPress, legacy, "\x01"},
	{"ctrl shift a", char('a', tea.ModCtrl|tea.ModShift), KeyPress, legacy, "\x01"},
	{"ctrl space", char(' ', tea.ModCtrl), KeyPress, legacy, "\x00"},
	{"ctrl @", char('@', tea.ModCtrl), KeyPress, legacy, "\x00"},
	{"ctrl ]", char(']', tea.ModCtrl), KeyPress, legacy, "\x1d"},
	{"ctrl \\", char('\\', tea.ModCtrl), KeyPress, legacy, "\x1c"},
	{"ctrl _", char('_', tea.ModCtrl), KeyPress, legacy, "\x1f"},
	{"ctrl /", char('/', tea.ModCtrl), KeyPress, legacy, "\x1f"},
	{"ctrl 3", char('3', tea.ModCtrl), KeyPress, legacy, "\x1b"},
	{"ctrl 8", char('8', tea.ModCtrl), KeyPress, legacy, "\x7f"},
	{"ctrl .", char('.', tea.ModCtrl), KeyPress, legacy, "."},
	{"alt x", char('x', tea.ModAlt), KeyPress, legacy, "\x1bx"},
	{"alt X", char('x', tea.ModAlt|tea.ModShift), KeyPress, legacy, "\x1bX"},
	{"ctrl alt x", char('x', tea.ModCtrl|tea.ModAlt), KeyPress, legacy, "\x1b\x18"},
	{"release is nothing", char('a', 0), KeyRelease, legacy, ""},
	{"enter", special(tea.KeyEnter, 0), KeyPress, legacy, "\r"},
	{"enter in newline mode", special(tea.KeyEnter, 0), KeyPress, Modes{Newline: true}, "\r\n"},
	{"alt enter", special(tea.KeyEnter, tea.ModAlt), KeyPress, legacy, "\x1b\r"},
	{"shift enter", special(tea.KeyEnter, tea.ModShift), KeyPress, legacy, "\r"},
	{"tab", special(tea.KeyTab, 0), KeyPress, legacy, "\t"},
	{"shift tab", special(tea.KeyTab, tea.ModShift), KeyPress, legacy, "\x1b[Z"},
	{"backspace", special(tea.KeyBackspace, 0), KeyPress, legacy, "\x7f"},
	{"ctrl backspace", special(tea.KeyBackspace, tea.ModCtrl), KeyPress, legacy, "\x08"},
	{"backspace in decbkm", special(tea.KeyBackspace, 0), KeyPress, Modes{BackarrowBS: true}, "\x08"},
	{"alt backspace", special(tea.KeyBackspace, tea.ModAlt), KeyPress, legacy, "\x1b\x7f"},
	{"escape", special(tea.KeyEscape, 0), KeyPress, legacy, "\x1b"},
	{"up", special(tea.KeyUp, 0), KeyPress, legacy, "\x1b[A"},
	{"up in application mode", special(tea.KeyUp, 0), KeyPress, app, "\x1bOA"},
	{"ctrl up in application mode", special(tea.KeyUp, tea.ModCtrl), KeyPress, app, "\x1b[1;5A"},
	{"shift alt ctrl left", special(tea.KeyLeft, tea.ModShift|tea.ModAlt|tea.ModCtrl), KeyPress, legacy, "\x1b[1;8D"},
	{"home", special(tea.KeyHome, 0), KeyPress, legacy, "\x1b[H"},
	{"end in application mode", special(tea.KeyEnd, 0), KeyPress, app, "\x1bOF"},
	{"f1", special(tea.KeyF1, 0), KeyPress, legacy, "\x1bOP"},
	{"shift f3", special(tea.KeyF3, tea.ModShift), KeyPress, legacy, "\x1b[1;2R"},
	{"f5", special(tea.KeyF5, 0), KeyPress, legacy, "\x1b[15~"},
	{"ctrl f12", special(tea.KeyF12, tea.ModCtrl), KeyPress, legacy, "\x1b[24;5~"},
	{"f20", special(tea.KeyF20, 0), KeyPress, legacy, "\x1b[34~"},
	{"delete", special(tea.KeyDelete, 0), KeyPress, legacy, "\x1b[3~"},
	{"shift page up", special(tea.KeyPgUp, tea.ModShift), KeyPress, legacy, "\x1b[5;2~"},
	{"keypad 5", tea.Key{Code: tea.KeyKp5, Text: "5"}, KeyPress, legacy, "5"},
	{"keypad 5 in application mode", tea.Key{Code: tea.KeyKp5, Text: "5"}, KeyPress, app, "\x1bOu"},
	{"keypad enter", special(tea.KeyKpEnter, 0), KeyPress, legacy, "\r"},
	{"keypad enter in application mode", special(tea.KeyKpEnter, 0), KeyPress, app, "\x1bOM"},
	{"keypad up", special(tea.KeyKpUp, 0), KeyPress, legacy, "\x1b[A"},
	{"caps lock alone", special(tea.KeyCapsLock, 0), KeyPress, legacy, ""},
	{"media key", special(tea.KeyMediaPlay, 0), KeyPress, legacy, ""},

	{"mok1 ctrl .", char('.', tea.ModCtrl), KeyPress, other1, "\x1b[27;5;46~"},
	{"mok1 ctrl a", char('a', tea.ModCtrl), KeyPress, other1, "\x01"},
	{"mok1 shift enter", special(tea.KeyEnter, tea.ModShift), KeyPress, other1, "\x1b[27;2;13~"},
	{"mok1 shift tab", special(tea.KeyTab, tea.ModShift), KeyPress, other1, "\x1b[Z"},
	{"mok1 alt x", char('x', tea.ModAlt), KeyPress, other1, "\x1bx"},
	{"mok2 ctrl a", char('a', tea.ModCtrl), KeyPress, other2, "\x1b[27;5;97~"},
	{"mok2 alt x", char('x', tea.ModAlt), KeyPress, other2, "\x1b[27;3;120~"},
	{"mok2 capital", char('a', tea.ModShift), KeyPress, other2, "A"},
	{"mok2 shift tab", special(tea.KeyTab, tea.ModShift), KeyPress, other2, "\x1b[27;2;9~"},
	{"mok2 enter", special(tea.KeyEnter, 0), KeyPress, other2, "\r"},
	{"mok2 ctrl up", special(tea.KeyUp, tea.ModCtrl), KeyPress, other2, "\x1b[1;5A"},

	{"kitty letter", char('a', 0), KeyPress, kitty1, "a"},
	{"kitty capital", char('a', tea.ModShift), KeyPress, kitty1, "A"},
	{"kitty ctrl a", char('a', tea.ModCtrl), KeyPress, kitty1, "\x1b[97;5u"},
	{"kitty ctrl shift a", char('a', tea.ModCtrl|tea.ModShift), KeyPress, kitty1, "\x1b[97;6u"},
	{"kitty alt x", char('x', tea.ModAlt), KeyPress, kitty1, "\x1b[120;3u"},
	{"kitty super x", char('x', tea.ModSuper), KeyPress, kitty1, "\x1b[120;9u"},
	{"kitty escape", special(tea.KeyEscape, 0), KeyPress, kitty1, "\x1b[27u"},
	{"kitty enter", special(tea.KeyEnter, 0), KeyPress, kitty1, "\r"},
	{"kitty shift enter", special(tea.KeyEnter, tea.ModShift), KeyPress, kitty1, "\x1b[13;2u"},
	{"kitty tab", special(tea.KeyTab, 0), KeyPress, kitty1, "\t"},
	{"kitty shift tab", special(tea.KeyTab, tea.ModShift), KeyPress, kitty1, "\x1b[9;2u"},
	{"kitty backspace", special(tea.KeyBackspace, 0), KeyPress, kitty1, "\x7f"},
	{"kitty up ignores application mode", special(tea.KeyUp, 0), KeyPress, kitty1app, "\x1b[A"},
	{"kitty ctrl up", special(tea.KeyUp, tea.ModCtrl), KeyPress, kitty1, "\x1b[1;5A"},
	{"kitty f1", special(tea.KeyF1, 0), KeyPress, kitty1, "\x1b[P"},
	{"kitty f3", special(tea.KeyF3, 0), KeyPress, kitty1, "\x1b[13~"},
	{"kitty shift f3", special(tea.KeyF3, tea.ModShift), KeyPress, kitty1, "\x1b[13;2~"},
	{"kitty f13", special(tea.KeyF13, 0), KeyPress, kitty1, "\x1b[57376u"},
	{"kitty keypad 5", tea.Key{Code: tea.KeyKp5, Text: "5"}, KeyPress, kitty1, "5"},
	{"kitty keypad up", special(tea.KeyKpUp, 0), KeyPress, kitty1, "\x1b[57419u"},
	{"kitty release without events", char('a', tea.ModCtrl), KeyRelease, kitty1, ""},
	{"kitty release", char('a', tea.ModCtrl), KeyRelease, kitty3, "\x1b[97;5:3u"},
	{"kitty release of text", char('a', 0), KeyRelease, kitty3, ""},
	{"kitty release of enter", special(tea.KeyEnter, 0), KeyRelease, kitty3, ""},
	{"kitty repeat", tea.Key{Code: tea.KeyUp, IsRepeat: true}, KeyPress, kitty3, "\x1b[1;1:2A"},
	{"kitty alternates", tea.Key{Code: 'a', ShiftedCode: 'A', Mod: tea.ModCtrl | tea.ModShift}, KeyPress, kitty5, "\x1b[97:65;6u"},
	{"kitty base layout", tea.Key{Code: 'я', BaseCode: 'z', Mod: tea.ModCtrl}, KeyPress, kitty5, "\x1b[1103::122;5u"},
	{"kitty all keys", char('a', 0), KeyPress, kitty9, "\x1b[97u"},
	{"kitty all keys capital", char('a', tea.ModShift), KeyPress, kitty9, "\x1b[97;2u"},
	{"kitty all keys enter", special(tea.KeyEnter, 0), KeyPress, kitty9, "\x1b[13u"},
	{"kitty all keys modifier", special(tea.KeyLeftShift, tea.ModShift), KeyPress, kitty9, "\x1b[57441;2u"},
	{"kitty text", char('a', tea.ModShift), KeyPress, kitty31, "\x1b[97:65;2;65u"},
	{"kitty text without modifiers", char('a', 0), KeyPress, kitty31, "\x1b[97;;97u"},
	{"kitty text release", char('a', 0), KeyRelease, kitty31, "\x1b[97;1:3u"},
	{"kitty caps lock is no modifier of text", tea.Key{Code: 'a', Text: "A", Mod: tea.ModCapsLock}, KeyPress, kitty1, "A"},
	{"kitty pasted text", tea.Key{Code: tea.KeyExtended, Text: "né"}, KeyPress, kitty9, "né"},
}

func TestEncodeKey(t *testing.T) {
	for _, c := range keyCases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(EncodeKey(c.key, c.event, c.modes)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

var mouseCases = []struct {
	name  string
	msg   tea.MouseMsg
	x, y  int
	modes Modes
	want  string
}{
	{"off", tea.MouseClickMsg{Button: tea.MouseLeft}, 0, 0, Modes{}, ""},
	{"x10 press", tea.MouseClickMsg{Button: tea.MouseRight}, 2, 3, Modes{Mouse: MouseX10}, "\x1b[M\x22\x23\x24"},
	{"x10 modifiers are dropped", tea.MouseClickMsg{Button: tea.MouseLeft, Mod: tea.ModCtrl}, 0, 0, Modes{Mouse: MouseX10}, "\x1b[M\x20\x21\x21"},
	{"x10 release", tea.MouseReleaseMsg{Button: tea.MouseLeft}, 0, 0, Modes{Mouse: MouseX10}, ""},
	{"x10 wheel", tea.MouseWheelMsg{Button: tea.MouseWheelUp}, 0, 0, Modes{Mouse: MouseX10}, ""},
	{"normal press", tea.MouseClickMsg{Button: tea.MouseLeft}, 0, 0, Modes{Mouse: MouseNormal}, "\x1b[M\x20\x21\x21"},
	{"normal release", tea.MouseReleaseMsg{Button: tea.MouseLeft}, 0, 0, Modes{Mouse: MouseNormal}, "\x1b[M\x23\x21\x21"},
	{"normal release with ctrl", tea.MouseReleaseMsg{Button: tea.MouseRight, Mod: tea.ModCtrl}, 0, 0, Modes{Mouse: MouseNormal}, "\x1b[M\x33\x21\x21"},
	{"normal has no motion", tea.MouseMotionMsg{Button: tea.MouseLeft}, 0, 0, Modes{Mouse: MouseNormal}, ""},
	{"normal too far", tea.MouseClickMsg{Button: tea.MouseLeft}, 223, 0, Modes{Mouse: MouseNormal}, ""},
	{"drag", tea.MouseMotionMsg{Button: tea.MouseLeft}, 1, 1, Modes{Mouse: MouseButton, MouseEnc: MouseEncodingSGR}, "\x1b[<32;2;2M"},
	{"button mode has no bare motion", tea.MouseMotionMsg{}, 1, 1, Modes{Mouse: MouseButton, MouseEnc: MouseEncodingSGR}, ""},
	{"bare motion", tea.MouseMotionMsg{}, 1, 1, Modes{Mouse: MouseAny, MouseEnc: MouseEncodingSGR}, "\x1b[<35;2;2M"},
	{"sgr press", tea.MouseClickMsg{Button: tea.MouseMiddle, Mod: tea.ModAlt}, 299, 99, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingSGR}, "\x1b[<9;300;100M"},
	{"sgr release", tea.MouseReleaseMsg{Button: tea.MouseMiddle}, 0, 0, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingSGR}, "\x1b[<1;1;1m"},
	{"sgr wheel", tea.MouseWheelMsg{Button: tea.MouseWheelDown, Mod: tea.ModShift}, 0, 0, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingSGR}, "\x1b[<69;1;1M"},
	{"sgr back", tea.MouseClickMsg{Button: tea.MouseBackward}, 0, 0, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingSGR}, "\x1b[<128;1;1M"},
	{"urxvt", tea.MouseClickMsg{Button: tea.MouseLeft}, 299, 1, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingURXVT}, "\x1b[32;300;2M"},
	{"urxvt release", tea.MouseReleaseMsg{Button: tea.MouseLeft}, 0, 0, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingURXVT}, "\x1b[35;1;1M"},
	{"utf-8", tea.MouseClickMsg{Button: tea.MouseLeft}, 299, 1, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingUTF8}, "\x1b[M\x20\u014c\x22"},
	{"utf-8 too far", tea.MouseClickMsg{Button: tea.MouseLeft}, 2015, 1, Modes{Mouse: MouseNormal, MouseEnc: MouseEncodingUTF8}, ""},
	{"alternate scroll", tea.MouseWheelMsg{Button: tea.MouseWheelUp}, 0, 0, Modes{AltScreen: true, AltScroll: true, AppCursor: true}, "\x1bOA\x1bOA\x1bOA"},
	{"alternate scroll is for the alternate screen", tea.MouseWheelMsg{Button: tea.MouseWheelUp}, 0, 0, Modes{AltScroll: true}, ""},
	{"alternate scroll can be off", tea.MouseWheelMsg{Button: tea.MouseWheelUp}, 0, 0, Modes{AltScreen: true}, ""},
	{"outside", tea.MouseClickMsg{Button: tea.MouseLeft}, -1, 1, Modes{Mouse: MouseNormal}, ""},
}

func TestEncodeMouse(t *testing.T) {
	for _, c := range mouseCases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(EncodeMouse(c.msg, c.x, c.y, c.modes)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEncodePaste(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "ls\n", "\x1b[200~ls\r\x1b[201~"},
		{"crlf", "a\r\nb", "\x1b[200~a\rb\x1b[201~"},
		{"end marker", "a\x1b[201~; rm -rf ~\n", "\x1b[200~a; rm -rf ~\r\x1b[201~"},
		{"hidden end marker", "\x1b[20\x1b[201~1~x", "\x1b[200~x\x1b[201~"},
		{"8-bit end marker", "\u009b201~x", "\x1b[200~x\x1b[201~"},
	} {
		if got := string(EncodePaste(c.in, Modes{BracketedPaste: true})); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := string(EncodePaste("a\nb", Modes{})); got != "a\rb" {
		t.Errorf("unbracketed: %q", got)
	}
}

// Nothing pasted can end the bracket early.
func TestPasteStaysInside(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\x1b", "[", "2", "0", "1", "~", "\x1b[201~", "\x1b[20", "1~", "\x9b", "\u009b", "x", "\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(piece).Draw(t, "in"), "")
		out := string(EncodePaste(in, Modes{BracketedPaste: true}))
		body, ok := strings.CutSuffix(out, "\x1b[201~")
		if !ok || strings.Contains(body, "\x1b[201~") || strings.Contains(body, "\x9b201~") {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func TestEncodeFocus(t *testing.T) {
	if got := EncodeFocus(true, Modes{}); got != nil {
		t.Errorf("not asked for: %q", got)
	}
	if in, out := EncodeFocus(true, Modes{Focus: true}), EncodeFocus(false, Modes{Focus: true}); string(in) != "\x1b[I" || string(out) != "\x1b[O" {
		t.Errorf("%q and %q", in, out)
	}
}

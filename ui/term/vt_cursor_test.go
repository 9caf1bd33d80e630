package term

import "testing"

// vtGroups are the synthetic cases. They are written from ECMA-48, DEC STD 070
// and xterm's ctlseqs; where tmux can show them, tmux_test.go compares.
func vtGroups() map[string][]vtCase {
	return map[string][]vtCase{
		"cursor": vtCursor, "erase": vtErase, "scroll": vtScroll, "margins": vtMargins, "edit": vtEdit,
		"wrap": vtWrap, "wide": vtWide, "clusters": vtClusters, "charset": vtCharset, "tabs": vtTabs,
		"modes": vtModes, "sgr": vtSGR, "osc": vtOSC, "queries": vtQueries, "resize": vtResize, "alt": vtAlt,
		"parser": vtParser, "utf8": vtUTF8,
	}
}

var vtCursor = []vtCase{
	{name: "text", in: "hello", want: "hello", at: "5,0"},
	{name: "crlf", in: "a\r\nb", want: "a\nb", at: "1,1"},
	{name: "lf keeps the column", in: "ab\nc", want: "ab\n  c", at: "3,1"},
	{name: "vt and ff are lf", in: "a\vb\fc", want: "a\n b\n  c", at: "3,2"},
	{name: "backspace", in: "abc\b\bX", want: "aXc", at: "2,0"},
	{name: "backspace at the left edge", in: "\b\bA", want: "A", at: "1,0"},
	{name: "cup", in: "\x1b[3;4HX", want: "\n\n   X", at: "4,2"},
	{name: "cup defaults", in: "abc\x1b[HX", want: "Xbc", at: "1,0"},
	{name: "cup zero", in: "abc\x1b[0;0HX", want: "Xbc", at: "1,0"},
	{name: "cup clamps", in: "\x1b[99;99HX", want: "\n\n\n\n         X", at: "9,4+"},
	{name: "hvp", in: "\x1b[2;2fX", want: "\n X", at: "2,1"},
	{name: "cuu stops at the top", in: "\x1b[3;1H\x1b[9AX", want: "X", at: "1,0"},
	{name: "cuu 0 is 1", in: "\x1b[3;1H\x1b[0AX", want: "\nX"},
	{name: "cud stops at the bottom", in: "\x1b[99BX", want: "\n\n\n\nX"},
	{name: "cuf stops at the edge", in: "\x1b[99CX", want: "         X", at: "9,0+"},
	{name: "cub stops at the edge", in: "abc\x1b[99DX", want: "Xbc"},
	{name: "cnl", in: "abc\x1b[2EX", want: "abc\n\nX"},
	{name: "cpl", in: "\x1b[3;3Hx\x1b[1FX", want: "\nX\n  x"},
	{name: "cha", in: "abcdef\x1b[3GX", want: "abXdef"},
	{name: "hpa", in: "abcdef\x1b[2`X", want: "aXcdef"},
	{name: "hpr", in: "ab\x1b[3aX", want: "ab   X"},
	{name: "vpa", in: "ab\x1b[4dX", want: "ab\n\n\n  X"},
	{name: "vpr", in: "ab\x1b[2eX", want: "ab\n\n  X"},
	{name: "huge parameter", in: "\x1b[99999999999999999999CX", want: "         X"},
	{name: "decsc decrc", in: "ab\x1b7\x1b[4;4Hx\x1b8C", want: "abC\n\n\n   x", at: "3,0"},
	{name: "decrc keeps style", in: "\x1b[31m\x1b7\x1b[m\x1b8X", want: "X", style: "0,0=0;31"},
	{name: "scosc scorc", in: "ab\x1b[s\x1b[4;4Hx\x1b[uC", want: "abC\n\n\n   x"},
	{name: "decrc without decsc is home", in: "\x1b[3;3H\x1b8X", want: "X"},
	{name: "nel", in: "abc\x1bEX", want: "abc\nX"},
	{name: "ind", in: "ab\x1bDX", want: "ab\n  X"},
	{name: "ri", in: "\x1b[2;3H\x1bMX", want: "  X"},
	{name: "pending survives decsc", in: "0123456789\x1b7\x1b[3;1H\x1b8X", want: "0123456789\nX"},
	{name: "cursor movement clears pending", in: "0123456789\x1b[AX", want: "012345678X"},
	{name: "backspace from pending", in: "0123456789\bX", want: "01234567X9"},
}

var vtTabs = []vtCase{
	{name: "default stops", cols: 20, rows: 3, in: "\tA\tB", want: "        A       B"},
	{name: "tab at the edge", cols: 20, rows: 3, in: "\t\t\t\tX", want: "                   X", at: "19,0+"},
	{name: "hts", cols: 20, rows: 3, in: "\x1b[4G\x1bH\r\tX", want: "   X"},
	{name: "tbc", cols: 20, rows: 3, in: "\x1b[9G\x1b[g\r\tX", want: "                X"},
	{name: "tbc all", cols: 20, rows: 3, in: "\x1b[3g\tX", want: "                   X"},
	{name: "cht", cols: 30, rows: 3, in: "\x1b[2IX", want: "                X"},
	{name: "cbt", cols: 30, rows: 3, in: "\x1b[20G\x1b[ZX", want: "                X"},
	{name: "cbt twice", cols: 30, rows: 3, in: "\x1b[20G\x1b[2ZX", want: "        X"},
	{name: "tab does not erase", cols: 20, rows: 3, in: "abcdefghij\r\tX", want: "abcdefghXj"},
	{name: "decst8c", cols: 20, rows: 3, in: "\x1b[3g\x1b[?5W\tX", want: "        X"},
	{name: "ris restores stops", cols: 20, rows: 3, in: "\x1b[3g\x1bc\tX", want: "        X"},
}

var vtWrap = []vtCase{
	{name: "wraps", in: "0123456789ab", want: "0123456789\nab", at: "2,1"},
	{name: "pending", in: "0123456789", want: "0123456789", at: "9,0+"},
	{name: "pending cr lf", in: "0123456789\r\nX", want: "0123456789\nX"},
	{name: "pending cr", in: "0123456789\rX", want: "X123456789"},
	{name: "pending lf", in: "0123456789\nX", want: "0123456789\n         X"},
	{name: "pending and sgr", in: "0123456789\x1b[1mX", want: "0123456789\nX"},
	{name: "no autowrap", in: "\x1b[?7l0123456789abc", want: "012345678c", at: "9,0"},
	{name: "autowrap off drops pending", in: "0123456789\x1b[?7lX", want: "012345678X"},
	{name: "wraps at the bottom", in: "\x1b[5;1H0123456789X", want: "\n\n\n0123456789\nX", scroll: []string{""}},
	{name: "reverse wrap", in: "\x1b[?45h0123456789a\b\bX", want: "012345678X\na"},
	{name: "reverse wrap needs a wrapped row", in: "\x1b[?45habc\r\n\b\bX", want: "abc\nX"},
	{name: "rep wraps", in: "x\x1b[11b", want: "xxxxxxxxxx\nxx"},
	{name: "rep repeats the last character", in: "ab\x1b[2b", want: "abbb"},
	{name: "rep without a character", in: "\x1b[3bX", want: "X"},
	{name: "rep is bounded", in: "a\x1b[999999999b", want: "aaaaaaaaaa\naaaaaaaaaa\naaaaaaaaaa\naaaaaaaaaa\na"},
}

var vtModes = []vtCase{
	{name: "insert", in: "abc\r\x1b[4hXY", want: "XYabc"},
	{name: "insert pushes off the edge", in: "0123456789\r\x1b[4hXY", want: "XY01234567"},
	{name: "insert off", in: "abc\r\x1b[4hX\x1b[4lY", want: "XYbc"},
	{name: "newline mode", in: "\x1b[20hab\nc", want: "ab\nc"},
	{name: "origin", in: "\x1b[2;4r\x1b[?6hX", want: "\nX", at: "1,1"},
	{name: "origin clamps", in: "\x1b[2;4r\x1b[?6h\x1b[9;1HX", want: "\n\n\nX"},
	{name: "origin off homes", in: "\x1b[2;4r\x1b[?6h\x1b[?6lX", want: "X"},
	{name: "decaln", cols: 3, rows: 2, in: "\x1b#8", want: "EEE\nEEE", at: "0,0"},
	{name: "decstr", in: "\x1b[2;3r\x1b[?6h\x1b[4h\x1b[1m\x1b[!pab\rX", want: "\nXb", style: "0,1=0"},
	{name: "ris", in: "abc\x1b[2;3r\x1b[1m\x1b[?7l\x1bcX", want: "X", at: "1,0", style: "0,0=0"},
	{name: "deccolm needs mode 40", in: "abc\x1b[?3hX", want: "abcX"},
	{name: "deccolm with mode 40", in: "abc\x1b[?40h\x1b[?3hX", want: "X"},
	{name: "cursor visible", in: "\x1b[?25l", check: func(t *testing.T, x *Terminal) {
		if x.Cursor().Visible {
			t.Error("cursor is visible")
		}
	}},
	{name: "cursor shape", in: "\x1b[5 q", check: func(t *testing.T, x *Terminal) {
		if c := x.Cursor(); c.Shape != CursorBar || !c.Blink {
			t.Errorf("cursor %+v", c)
		}
	}},
	{name: "cursor shape steady underline", in: "\x1b[4 q", check: func(t *testing.T, x *Terminal) {
		if c := x.Cursor(); c.Shape != CursorUnderline || c.Blink {
			t.Errorf("cursor %+v", c)
		}
	}},
	{name: "many modes at once", in: "\x1b[?1;1000;1006;2004;1004h\x1b=", check: func(t *testing.T, x *Terminal) {
		m := x.Modes()
		if !m.AppCursor || m.Mouse != MouseNormal || m.MouseEnc != MouseEncodingSGR || !m.BracketedPaste || !m.Focus || !m.AppKeypad {
			t.Errorf("modes %+v", m)
		}
	}},
	{name: "mouse off by any mode", in: "\x1b[?1003h\x1b[?1000l", check: func(t *testing.T, x *Terminal) {
		if m := x.Modes(); m.Mouse != MouseOff {
			t.Errorf("mouse %v", m.Mouse)
		}
	}},
	{name: "xtsave xtrestore", in: "\x1b[?2004h\x1b[?2004s\x1b[?2004l\x1b[?2004r", check: func(t *testing.T, x *Terminal) {
		if !x.Modes().BracketedPaste {
			t.Error("mode 2004 was not restored")
		}
	}},
	{name: "kitty stack", in: "\x1b[>1u\x1b[>3u\x1b[<u", check: kittyIs(KittyDisambiguate)},
	{name: "kitty pops below the bottom", in: "\x1b[>1u\x1b[<9u", check: kittyIs(0)},
	{name: "kitty set, add, remove", in: "\x1b[=5u\x1b[=2;2u\x1b[=1;3u", check: kittyIs(KittyEvents | KittyAlternates)},
	{name: "kitty unknown flags", in: "\x1b[=255u", check: kittyIs(kittyKnown)},
	{name: "kitty per screen", in: "\x1b[>1u\x1b[?1049h\x1b[>8u\x1b[?1049l", check: kittyIs(KittyDisambiguate)},
	{name: "kitty stack is bounded", in: "\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>1u\x1b[>2u", check: kittyIs(KittyEvents)},
	{name: "modify other keys", in: "\x1b[>4;2m", check: func(t *testing.T, x *Terminal) {
		if n := x.Modes().ModifyOtherKeys; n != 2 {
			t.Errorf("modifyOtherKeys %d", n)
		}
	}},
	{name: "modify other keys reset", in: "\x1b[>4;2m\x1b[>4m", check: func(t *testing.T, x *Terminal) {
		if n := x.Modes().ModifyOtherKeys; n != 0 {
			t.Errorf("modifyOtherKeys %d", n)
		}
	}},
	{name: "private sgr is not sgr", in: "\x1b[>4;1m\x1b[?4mX", want: "X", style: "0,0=0", reply: "\x1b[>4;1m"},
}

func kittyIs(want KittyFlags) func(*testing.T, *Terminal) {
	return func(t *testing.T, x *Terminal) {
		t.Helper()
		if got := x.Modes().Kitty; got != want {
			t.Errorf("kitty flags %d, want %d", got, want)
		}
	}
}

var vtAlt = []vtCase{
	{name: "1049 saves and restores", in: "main\x1b[?1049halt\x1b[?1049l!", want: "main!", at: "5,0"},
	{name: "1049 clears", in: "\x1b[?1049hone\x1b[?1049l\x1b[?1049h", want: ""},
	{name: "1049 keeps the cursor column", in: "ab\x1b[?1049hX", want: "  X"},
	{name: "47 keeps", in: "\x1b[?47hone\x1b[?47l\x1b[?47h", want: "one"},
	{name: "1047 clears on leaving", in: "\x1b[?1047hone\x1b[?1047l\x1b[?1047h", want: ""},
	{name: "1048", in: "ab\x1b[?1048h\x1b[3;3H\x1b[?1048lX", want: "abX"},
	{name: "no scroll-back", in: "\x1b[?1049h1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[?1049l", want: "", scroll: []string{}},
	{name: "twice is once", in: "main\x1b[?1049h\x1b[?1049hX\x1b[?1049l", want: "main"},
	{name: "saved cursor per screen", in: "\x1b[2;2H\x1b7\x1b[?47h\x1b[4;4H\x1b7\x1b[?47l\x1b8X", want: "\n X"},
	{name: "ris leaves", in: "\x1b[?1049hX\x1bcY", want: "Y", check: func(t *testing.T, x *Terminal) {
		if x.Modes().AltScreen {
			t.Error("still on the alternate screen")
		}
	}},
}

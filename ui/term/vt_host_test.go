package term

import (
	"strings"
	"testing"
)

func titleIs(want string) func(*testing.T, *Terminal) {
	return func(t *testing.T, x *Terminal) {
		t.Helper()
		if got := x.Title(); got != want {
			t.Errorf("title %q, want %q", got, want)
		}
	}
}

func linkAt(col int, want string) func(*testing.T, *Terminal) {
	return func(t *testing.T, x *Terminal) {
		t.Helper()
		x.View(func(v View) {
			if got := v.Link(v.Style(v.Row(0).Cells[col].Style).Link); got != want {
				t.Errorf("link %q, want %q", got, want)
			}
		})
	}
}

var vtOSC = []vtCase{
	{name: "title", in: "\x1b]0;hello\x07", check: titleIs("hello")},
	{name: "title with st", in: "\x1b]2;hello\x1b\\x", want: "x", check: titleIs("hello")},
	{name: "title with a semicolon", in: "\x1b]2;a;b\x07", check: titleIs("a;b")},
	{name: "title utf-8", in: "\x1b]2;日本\u009cX\x07", check: titleIs("日本X")},
	{name: "title is cleaned", in: "\x1b]2;a\tb\x01c\u202ed\xffe\x07", check: titleIs("abcde")},
	{name: "title is bounded", in: "\x1b]2;" + strings.Repeat("x", 5000) + "\x07", check: titleIs(strings.Repeat("x", maxTitle))},
	{name: "title stack", in: "\x1b]2;a\x07\x1b[22t\x1b]2;b\x07\x1b[23t", check: titleIs("a")},
	{name: "title stack underflow", in: "\x1b]2;a\x07\x1b[23t", check: titleIs("a")},
	{name: "cancelled", in: "\x1b]2;no\x18X", want: "X", check: titleIs("")},
	{name: "unknown", in: "\x1b]9999;x\x07X", want: "X"},
	{name: "not a number", in: "\x1b]x;y\x07X", want: "X"},
	{name: "cwd", in: "\x1b]7;file://host/home/user/a%20b\x07", check: func(t *testing.T, x *Terminal) {
		if got := x.Cwd(); got != "/home/user/a b" {
			t.Errorf("cwd %q", got)
		}
	}},
	{name: "cwd of another scheme", in: "\x1b]7;http://host/x\x07", check: func(t *testing.T, x *Terminal) {
		if got := x.Cwd(); got != "" {
			t.Errorf("cwd %q", got)
		}
	}},
	{name: "link", in: "\x1b]8;;https://example.com/a\x1b\\X\x1b]8;;\x1b\\Y", want: "XY", check: linkAt(0, "https://example.com/a")},
	{name: "link ends", in: "\x1b]8;;https://example.com/a\x1b\\X\x1b]8;;\x1b\\Y", want: "XY", check: linkAt(1, "")},
	{name: "link survives sgr 0", in: "\x1b]8;id=1;https://example.com\x07\x1b[mX", want: "X", check: linkAt(0, "https://example.com")},
	{name: "link with controls is refused", in: "\x1b]8;;https://x/\x01y\x07X", want: "X", check: linkAt(0, "")},
	{name: "link too long", in: "\x1b]8;;https://x/" + strings.Repeat("y", 3000) + "\x07X", want: "X", check: linkAt(0, "")},
	{name: "palette query", in: "\x1b]4;1;?\x07", reply: "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\"},
	{name: "palette cube query", in: "\x1b]4;16;?;231;?;244;?\x07", reply: "\x1b]4;16;rgb:0000/0000/0000\x1b\\\x1b]4;231;rgb:ffff/ffff/ffff\x1b\\\x1b]4;244;rgb:8080/8080/8080\x1b\\"},
	{name: "palette set", in: "\x1b]4;1;#102030\x07\x1b]4;1;?\x07", reply: "\x1b]4;1;rgb:1010/2020/3030\x1b\\"},
	{name: "palette reset", in: "\x1b]4;1;#102030\x07\x1b]104;1\x07\x1b]4;1;?\x07", reply: "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\"},
	{name: "palette out of range", in: "\x1b]4;256;?;-1;?\x07"},
	{name: "foreground query", in: "\x1b]10;?\x07", reply: "\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"},
	{name: "both colour queries", in: "\x1b]10;?;?\x07", reply: "\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"},
	{name: "background set and reset", in: "\x1b]11;rgb:12/34/56\x07\x1b]11;?\x07\x1b]111\x07\x1b]11;?\x07", reply: "\x1b]11;rgb:1212/3434/5656\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"},
	{name: "cursor colour", in: "\x1b]12;#f00\x07\x1b]12;?\x07", reply: "\x1b]12;rgb:f0f0/0000/0000\x1b\\"},
	{name: "clipboard is never answered", in: "\x1b]52;c;?\x07X", want: "X"},
	{name: "prompt marks", in: "\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;C\x07out", want: "$ ls\nout", check: func(t *testing.T, x *Terminal) {
		x.View(func(v View) {
			if a, c := v.Row(0).Mark, v.Row(1).Mark; a != MarkPrompt || c != MarkOutput {
				t.Errorf("marks %d and %d", a, c)
			}
		})
	}},
	{name: "apc, pm and sos are skipped", in: "\x1b_Gf=1;AAAA\x1b\\a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", want: "abc"},
	{name: "sixel is skipped", in: "\x1bPq#0;2;0;0;0~~\x1b\\X", want: "X"},
}

var vtQueries = []vtCase{
	{name: "da1", in: "\x1b[c", reply: "\x1b[?62;22c"},
	{name: "da1 with zero", in: "\x1b[0c", reply: "\x1b[?62;22c"},
	{name: "decid", in: "\x1bZ", reply: "\x1b[?62;22c"},
	{name: "da2", in: "\x1b[>c", reply: "\x1b[>41;354;0c"},
	{name: "da3", in: "\x1b[=c", reply: "\x1bP!|00000000\x1b\\"},
	{name: "dsr", in: "\x1b[5n", reply: "\x1b[0n"},
	{name: "cpr", in: "\x1b[3;4H\x1b[6n", reply: "\x1b[3;4R"},
	{name: "cpr at pending", in: "0123456789\x1b[6n", want: "0123456789", reply: "\x1b[1;10R"},
	{name: "cpr in origin mode", in: "\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[6n", reply: "\x1b[2;3R"},
	{name: "decxcpr", in: "\x1b[3;4H\x1b[?6n", reply: "\x1b[?3;4R"},
	{name: "printer, keys, keyboard", in: "\x1b[?15n\x1b[?25n\x1b[?26n", reply: "\x1b[?13n\x1b[?21n\x1b[?27;1;0;0n"},
	{name: "colour scheme", in: "\x1b[?996n", reply: "\x1b[?997;1n"},
	{name: "decrqm", in: "\x1b[?7$p\x1b[?1000$p\x1b[?9999$p\x1b[4$p", reply: "\x1b[?7;1$y\x1b[?1000;2$y\x1b[?9999;0$y\x1b[4;2$y"},
	{name: "decrqm of synchronized output", in: "\x1b[?2026$p", reply: "\x1b[?2026;2$y"},
	{name: "decrqm of the alternate screen", in: "\x1b[?1049h\x1b[?1049$p", reply: "\x1b[?1049;1$y"},
	{name: "decrqm of clusters", in: "\x1b[?2027$p", reply: "\x1b[?2027;1$y"},
	{name: "decrqss sgr", in: "\x1b[1;31m\x1bP$qm\x1b\\", reply: "\x1bP1$r0;1;31m\x1b\\"},
	{name: "decrqss margins", in: "\x1b[2;4r\x1bP$qr\x1b\\", reply: "\x1bP1$r2;4r\x1b\\"},
	{name: "decrqss cursor", in: "\x1b[3 q\x1bP$q q\x1b\\", reply: "\x1bP1$r3 q\x1b\\"},
	{name: "decrqss unknown", in: "\x1bP$qz\x1b\\", reply: "\x1bP0$r\x1b\\"},
	{name: "xtversion", in: "\x1b[>q", reply: "\x1bP>|abxdash(1)\x1b\\"},
	{name: "xtgettcap", in: "\x1bP+q544e\x1b\\", reply: "\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\"},
	{name: "xtgettcap unknown", in: "\x1bP+q6b6b\x1b\\", reply: "\x1bP0+r6b6b\x1b\\"},
	{name: "xtgettcap not hex", in: "\x1bP+qzz\x1b\\", reply: "\x1bP0+r\x1b\\"},
	{name: "size in pixels", in: "\x1b[14t", reply: "\x1b[4;100;100t"},
	{name: "size of a cell", in: "\x1b[16t", reply: "\x1b[6;20;10t"},
	{name: "size in cells", in: "\x1b[18t", reply: "\x1b[8;5;10t"},
	{name: "title is not read back", in: "\x1b]2;rm -rf\x07\x1b[21t", reply: "\x1b]l\x1b\\"},
	{name: "kitty query", in: "\x1b[?u\x1b[>5u\x1b[?u", reply: "\x1b[?0u\x1b[?5u"},
	{name: "modify other keys query", in: "\x1b[?4m", reply: "\x1b[>4;0m"},
	{name: "window moves are ignored", in: "\x1b[3;5;5t\x1b[8;50;50t\x1b[2tX", want: "X"},
	{name: "enq", in: "\x05X", want: "X"},
}

var vtParser = []vtCase{
	{name: "control inside csi", in: "ab\x1b[\r3CX", want: "ab X"},
	{name: "escape inside csi", in: "\x1b[3\x1b[2CX", want: "  X"},
	{name: "can", in: "\x1b[3\x18CX", want: "CX"},
	{name: "sub", in: "\x1b[3\x1aCX", want: "CX"},
	{name: "private marker in the wrong place", in: "\x1b[1?2hX", want: "X"},
	{name: "two intermediates", in: "\x1b[1 !pX", want: "X"},
	{name: "parameter after an intermediate", in: "\x1b[1 2CX", want: "X"},
	{name: "unknown csi", in: "\x1b[5yX", want: "X"},
	{name: "unknown escape", in: "\x1b%GX", want: "X"},
	{name: "escape escape", in: "\x1b\x1b[2CX", want: "  X"},
	{name: "del is ignored", in: "a\x7fb", want: "ab"},
	{name: "nul is ignored", in: "a\x00b", want: "ab"},
	{name: "del inside csi", in: "\x1b[\x7f2CX", want: "  X"},
	{name: "osc ended by another escape", in: "\x1b]2;t\x1b[2CX", want: "  X", check: titleIs("t")},
	{name: "dcs without end", in: "\x1bP$qm", want: ""},
	{name: "st alone", in: "\x1b\\X", want: "X"},
	{name: "many parameters", in: "\x1b[" + strings.Repeat("1;", 100) + "HX", want: "X"},
	{name: "bell", in: "a\x07b", want: "ab"},
	{name: "ps1 with title", cols: 40, rows: 3, in: "\x1b]0;u@h: ~\x07\x1b[01;32mu@h\x1b[00m:\x1b[01;34m~\x1b[00m$ ", want: "u@h:~$", at: "7,0"},
}

var vtUTF8 = []vtCase{
	{name: "two, three and four bytes", in: "é漢😀", want: "é漢😀", at: "5,0"},
	{name: "lone continuation", in: "a\x80b", want: "a\ufffdb"},
	{name: "raw c1 is not csi", in: "a\x9b2Cb", want: "a\ufffd2Cb"},
	{name: "c1 in utf-8 is dropped", in: "a\u009b2Cb", want: "a2Cb"},
	{name: "cut short", in: "a\xe6\xbcb", want: "a\ufffdb"},
	{name: "cut short by an escape", in: "a\xe6\xbc\x1b[2CX", want: "a\ufffd  X"},
	{name: "overlong", in: "\xc0\xafX", want: "\ufffd\ufffdX"},
	{name: "surrogate", in: "\xed\xa0\x80X", want: "\ufffd\ufffd\ufffdX"},
	{name: "too big", in: "\xf5\x80\x80\x80X", want: "\ufffd\ufffd\ufffd\ufffdX"},
	{name: "two starts", in: "\xe6\xe6\xbc\xa2X", want: "\ufffd漢X"},
	{name: "four bytes cut", in: "\xf0\x9f\x98X", want: "\ufffdX"},
	{name: "nothing is printed for the unfinished", in: "a\xe6\xbc", want: "a"},
	{name: "noncharacter", in: "\uffffX", want: "X"},
}

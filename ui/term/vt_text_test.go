package term

import (
	"strings"
	"testing"
)

func regionIs(top, bottom, left, right int) func(*testing.T, *Terminal) {
	return func(t *testing.T, x *Terminal) {
		t.Helper()
		if x.top != top || x.bottom != bottom || x.left != left || x.right != right {
			t.Errorf("region %d-%d %d-%d, want %d-%d %d-%d", x.top, x.bottom, x.left, x.right, top, bottom, left, right)
		}
	}
}

var vtWide = []vtCase{
	{name: "two cells", in: "漢字x", want: "漢字x", at: "5,0"},
	{name: "wraps whole", in: "012345678漢", want: "012345678\n漢", at: "2,1"},
	{name: "fits exactly", in: "01234567漢X", want: "01234567漢\nX"},
	{name: "overwriting the first half", in: "漢字\rX", want: "X 字"},
	{name: "overwriting the second half", in: "漢字\x1b[2GX", want: " X字"},
	{name: "wide over the middle of two", in: "漢字\x1b[2G語", want: " 語"},
	{name: "erasing one half", in: "漢字\x1b[2G\x1b[X", want: "  字"},
	{name: "el in the middle", in: "漢字\x1b[4G\x1b[K", want: "漢"},
	{name: "el 1 in the middle", in: "漢字\x1b[3G\x1b[1K", want: ""},
	{name: "dch of one half", in: "漢字\x1b[1G\x1b[P", want: " 字"},
	{name: "dch in the middle", in: "漢字x\x1b[2G\x1b[P", want: " 字x"},
	{name: "ich in the middle", in: "漢字\x1b[2G\x1b[@", want: "   字"},
	{name: "ich cuts at the edge", in: "01234567漢\x1b[1G\x1b[@", want: " 01234567"},
	{name: "insert mode", in: "abc\r\x1b[4h漢", want: "漢abc"},
	{name: "no autowrap at the edge", in: "\x1b[?7l012345678漢X", want: "012345678X"},
	{name: "one column", cols: 1, rows: 3, in: "漢x", want: "x"},
	{name: "rep", in: "漢\x1b[2b", want: "漢漢漢", at: "6,0"},
	{name: "margins", in: "\x1b[?69h\x1b[3;5s\x1b[1;3H漢字", want: "  漢\n  字"},
	{name: "margin scroll cuts", in: "a漢b\x1b[?69h\x1b[3;4s\x1b[S", want: "a"},
	{name: "full width latin", in: "ＡＢ", want: "ＡＢ", at: "4,0"},
	{name: "hangul", in: "한글", want: "한글", at: "4,0"},
	{name: "backspace over wide", in: "漢\b\bX", want: "X"},
	{name: "half of a wide one moved by il", in: "漢\r\n字\x1b[1;1H\x1b[L", want: "\n漢\n字"},
}

var vtClusters = []vtCase{
	{name: "combining", in: "e\u0301x", want: "e\u0301x", at: "2,0"},
	{name: "two marks", in: "o\u0308\u0304x", want: "o\u0308\u0304x", at: "2,0"},
	{name: "at the left edge", in: "\u0301x", want: "x"},
	{name: "on a wide one", in: "漢\u3099x", want: "漢\u3099x", at: "3,0"},
	{name: "at the right edge", in: "012345678e\u0301X", want: "012345678e\u0301\nX"},
	{name: "after a colour", in: "e\x1b[31m\u0301x", want: "e\u0301x", at: "2,0"},
	{name: "joined family", in: "👨‍👩‍👧x", want: "👨‍👩‍👧x", at: "3,0"},
	{name: "skin tone", in: "👍🏽x", want: "👍🏽x", at: "3,0"},
	{name: "flag", in: "🇩🇪x", want: "🇩🇪x", at: "3,0"},
	{name: "two flags", in: "🇩🇪🇫🇷", want: "🇩🇪🇫🇷", at: "4,0"},
	{name: "emoji presentation", in: "❤\ufe0fx", want: "❤\ufe0fx", at: "3,0"},
	{name: "keycap", in: "1\ufe0f\u20e3x", want: "1\ufe0f\u20e3x", at: "3,0"},
	{name: "emoji presentation without room", in: "012345678❤\ufe0fX", want: "012345678❤\nX"},
	{name: "hangul jamo", in: "\u1112\u1161\u11abx", want: "\u1112\u1161\u11abx", at: "3,0"},
	{name: "moving away ends a cluster", in: "👨\x1b[1;3H\u200d👩", want: "👨\u200d👩", at: "4,0"},
	{name: "without mode 2027", in: "\x1b[?2027l👍🏽x", want: "👍🏽x", at: "5,0"},
	{name: "direction marks are dropped", in: "a\u202eb\u2066c", want: "abc", at: "3,0"},
	{name: "zero width space is dropped", in: "a\u200bb\ufeffc", want: "abc"},
	{name: "long cluster is bounded", in: "a" + strings.Repeat("\u0301", 200) + "x", want: "a" + strings.Repeat("\u0301", 31) + "x"},
	{name: "rep does not repeat marks", in: "e\u0301\x1b[b", want: "e\u0301e"},
	{name: "devanagari", in: "क्षि", want: "क्षि"},
	{name: "overwritten cluster", in: "🇩🇪\rx", want: "x"},
}

var vtCharset = []vtCase{
	{name: "line drawing", in: "\x1b(0lqk\x1b(Bq", want: "┌─┐q"},
	{name: "shift out and in", in: "\x1b)0a\x0eqx\x0fq", want: "a─│q"},
	{name: "uk", in: "\x1b(A#\x1b(B#", want: "£#"},
	{name: "single shift 2", in: "\x1b*0\x1bNqq", want: "─q"},
	{name: "single shift 3", in: "\x1b+0\x1bOqq", want: "─q"},
	{name: "locking shift 2", in: "\x1b*0\x1bnqq\x0fq", want: "──q"},
	{name: "saved with the cursor", in: "\x1b(0\x1b7\x1b(B\x1b8q", want: "─"},
	{name: "ris resets", in: "\x1b(0\x1bcq", want: "q"},
	{name: "upper case is untouched", in: "\x1b(0AZ", want: "AZ"},
	{name: "utf-8 is untouched", in: "\x1b(0é", want: "é"},
	{name: "all of the graphics set", cols: 40, rows: 2, in: "\x1b(0_`abcdefghijklmnopqrstuvwxyz{|}~", want: " ◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"},
}

var vtSGR = []vtCase{
	{name: "attributes", in: "\x1b[1;2;3;4;5;7;8;9mX", want: "X", style: "0,0=0;1;2;3;5;7;8;9;4"},
	{name: "attributes off", in: "\x1b[1;2;3;4;5;6;7;8;9;53m\x1b[22;23;24;25;27;28;29;55mX", want: "X", style: "0,0=0"},
	{name: "reset", in: "\x1b[1;31;44m\x1b[mX", want: "X", style: "0,0=0"},
	{name: "empty is zero", in: "\x1b[1;;31mX", want: "X", style: "0,0=0;31"},
	{name: "16 colours", in: "\x1b[31;42mX\x1b[91;102mY", want: "XY", style: "0,0=0;31;42 1,0=0;91;102"},
	{name: "default colours", in: "\x1b[31;42;39;49mX", want: "X", style: "0,0=0"},
	{name: "256 colours", in: "\x1b[38;5;200;48;5;100mX", want: "X", style: "0,0=0;38:5:200;48:5:100"},
	{name: "256 colours with colons", in: "\x1b[38:5:200mX", want: "X", style: "0,0=0;38:5:200"},
	{name: "256 colours out of range", in: "\x1b[38;5;300;1mX", want: "X", style: "0,0=0;1"},
	{name: "low of 256 are basic", in: "\x1b[38;5;1mX", want: "X", style: "0,0=0;31"},
	{name: "true colour", in: "\x1b[38;2;1;2;3;1mX", want: "X", style: "0,0=0;1;38:2::1:2:3"},
	{name: "true colour with colons", in: "\x1b[38:2::1:2:3mX", want: "X", style: "0,0=0;38:2::1:2:3"},
	{name: "true colour without a colour space", in: "\x1b[48:2:1:2:3mX", want: "X", style: "0,0=0;48:2::1:2:3"},
	{name: "true colour cut short", in: "\x1b[38;2;1mX", want: "X"},
	{name: "underline styles", in: "\x1b[4:3mX\x1b[4:2mY\x1b[21mZ\x1b[4:0mW", want: "XYZW", style: "0,0=0;4:3 1,0=0;4:2 2,0=0;4:2 3,0=0"},
	{name: "underline colour", in: "\x1b[4;58:5:9mX\x1b[59mY", want: "XY", style: "0,0=0;4;58:5:9 1,0=0;4"},
	{name: "unknown subparameters are one item", in: "\x1b[1:2:3;31mX", want: "X", style: "0,0=0;1;31"},
	{name: "unknown number", in: "\x1b[999;1mX", want: "X", style: "0,0=0;1"},
	{name: "32 parameters", in: "\x1b[1" + strings.Repeat(";1", 60) + "mX", want: "X", style: "0,0=0;1"},
	{name: "faint and bold go together", in: "\x1b[1;2m\x1b[22mX", want: "X", style: "0,0=0"},
	{name: "overline", in: "\x1b[53mX", want: "X", style: "0,0=0;53"},
	{name: "protection survives sgr 0", in: "\x1b[1\"q\x1b[mX\x1b[?2J", want: "X"},
}

package draw

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"abxdash/theme"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain text", "plain text"},
		{"", ""},
		{"a\x1b[31mb", "a␛[31mb"},
		{"a\x00\a\x7f", "a␀␇␡"},
		{"a\tb\nc\r", "a b␊c␍"},
		{"\u009b2J", "<9B>2J"},
		{"\x9b2J", "\uFFFD2J"},
		{"\xff\xfe", "\uFFFD\uFFFD"},
		{"x\u202ey", "x<202E>y"}, // FIL-03
		{"\ufeffx", "<FEFF>x"},
		{"a\u2028b", "a<2028>b"},
		{"构建 한국어 e\u0301", "构建 한국어 e\u0301"},
		{"👩\u200d💻👍🏽🇨🇳❤\ufe0f", "👩\u200d💻👍🏽🇨🇳❤\ufe0f"},
		{"\U000e0041", "<E0041>"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b]0;x\a", "\xc3\x28", "\u202e", "构", "e\u0301", "\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if !utf8.ValidString(c) {
			t.Fatalf("%q is not UTF-8", c)
		}
		for _, r := range c {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				t.Fatalf("control %#x in %q", r, c)
			}
		}
		if Clean(c) != c {
			t.Fatalf("cleaning %q twice gives %q", c, Clean(c))
		}
	})
}

// Nothing is painted outside the given width or the screen, and what is
// painted is what is reported.
func TestTextStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Clean(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"构建机器人", "e\u0301e\u0301", "👍🏽👍🏽", "plain"})).Draw(t, "text"))
		x, y := rapid.IntRange(-5, 25).Draw(t, "x"), rapid.IntRange(-2, 5).Draw(t, "y")
		w := rapid.IntRange(-2, 30).Draw(t, "width")
		buf := uv.NewScreenBuffer(20, 3)
		n := Text(buf, x, y, w, s, uv.Style{})
		if n < 0 || n > max(w, 0) {
			t.Fatalf("used %d of %d", n, w)
		}
		for cy := range 3 {
			for cx := range 20 {
				if *buf.CellAt(cx, cy) != uv.EmptyCell && (cy != y || cx < x || cx >= x+n) {
					t.Fatalf("cell %d,%d was painted", cx, cy)
				}
			}
		}
	})
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		s    string
		w    int
		want string
		used int
	}{
		{"hello", 10, "hello", 5},
		{"hello", 5, "hello", 5},
		{"hello", 4, "hel…", 4},
		{"构建机器", 5, "构建…", 5},
		{"构建机器", 4, "构…", 3},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301", 2},
	} {
		buf := uv.NewScreenBuffer(12, 1)
		used := Text(buf, 0, 0, tt.w, tt.s, uv.Style{})
		if got := strings.TrimRight(buf.String(), " "); got != tt.want || used != tt.used {
			t.Errorf("Text(%q, %d) = %q, %d; want %q, %d", tt.s, tt.w, got, used, tt.want, tt.used)
		}
	}
}

func TestBox(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, false)
	for _, tt := range []struct {
		w, h  int
		title string
		want  string
	}{
		{12, 3, "Title", "╭─ Title ──╮\n│          │\n╰──────────╯"},
		{12, 3, "A long title", "╭─ A lon… ─╮\n│          │\n╰──────────╯"},
		{6, 2, "x", "╭────╮\n╰────╯"},
		{1, 5, "x", ""},
	} {
		buf := uv.NewScreenBuffer(tt.w, tt.h)
		in := Box(buf, buf.Bounds(), th, tt.title, uv.Style{}, uv.Style{})
		if got := strings.TrimRight(buf.String(), "\n "); got != tt.want {
			t.Errorf("%dx%d:\n%s\nwant\n%s", tt.w, tt.h, got, tt.want)
		}
		if in.Dx() > max(tt.w-2, 0) || in.Dy() > max(tt.h-2, 0) {
			t.Errorf("inside is %v", in)
		}
	}
}

func TestPad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Clean(rapid.String().Draw(t, "text"))
		w := rapid.IntRange(0, 30).Draw(t, "width")
		if got := ansi.StringWidth(Pad(s, w)); got != w {
			t.Fatalf("Pad(%q, %d) is %d cells", s, w, got)
		}
	})
}

func TestCenter(t *testing.T) {
	area := uv.Rect(10, 5, 20, 10)
	if got := Center(area, 10, 4); got != uv.Rect(15, 8, 10, 4) {
		t.Errorf("Center = %v", got)
	}
	if got := Center(area, 100, 100); got != area {
		t.Errorf("a box larger than the area is %v", got)
	}
}

func BenchmarkText(b *testing.B) {
	buf := uv.NewScreenBuffer(200, 1)
	s := strings.Repeat("abcdefghij", 20)
	b.ReportAllocs()
	for b.Loop() {
		Text(buf, 0, 0, 200, s, uv.Style{})
	}
}

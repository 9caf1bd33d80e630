package logpane

import (
	"os"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"abxdash/keymap"
	"abxdash/ui/uitest"
)

// STR-07, STR-08: what a terminal would obey is seen instead.
func TestNothingActsOnTheTerminal(t *testing.T) {
	for name, want := range map[string]string{
		"ansi-inject": "ok␛]0;pwned␇ ␛]52;c;ZWNobyBoaQ==␇ ␛[2J␛[H hid red ␛P1$r␛\\ ␛c end",
		"nul-c1":      "a␀b\uFFFD31mc\uFFFDd<9B>2Je␇f␡g",
	} {
		data, err := os.ReadFile("testdata/" + name + ".bin")
		if err != nil {
			t.Fatal(err)
		}
		p, _ := newPane(lineEnds(data)...)
		buf := uv.NewScreenBuffer(100, 1)
		p.Draw(buf, uv.Rect(0, 0, 100, 1), uitest.Dark())
		if got := strings.TrimSpace(buf.String()); got != want {
			t.Errorf("%s shows\n%q, want\n%q", name, got, want)
		}
		// What is written to the terminal has no control but SGR, and conceals nothing.
		out := ansi.Strip(buf.Render())
		if strings.ContainsFunc(out, func(r rune) bool { return r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%s writes controls: %q", name, out)
		}
		for x := range 100 {
			if buf.CellAt(x, 0).Style.Attrs&(uv.AttrConceal|uv.AttrBlink) != 0 {
				t.Errorf("%s: cell %d is concealed or blinks", name, x)
			}
		}
	}
}

// STR-09: blank lines are kept.
func TestBlankLines(t *testing.T) {
	data, err := os.ReadFile("testdata/blank-lines.bin")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := newPane(lineEnds(data)...)
	want := []string{"", "", "a", "", "", "b", "", "d", "last-without-newline"}
	if d := cmp.Diff(want, rows(p, 40, 9)); d != "" {
		t.Error(d)
	}
}

// STR-02: a progress bar is one line.
func TestProgress(t *testing.T) {
	data, err := os.ReadFile("testdata/cr-progress.bin")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := newPane(lineEnds(data)...)
	got := rows(p, 40, 5)
	if len(got) != 2 || got[0] != "fetch 100%" || got[1] != "done" {
		t.Errorf("shows %q", got)
	}
}

func TestParse(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"plain", "hello", "hello"},
		{"colour", "\x1b[31mred\x1b[0m \x1b[1;38;5;200mx\x1b[m", "red x"},
		{"rgb", "\x1b[38;2;1;2;3mx\x1b[48:2::1:2:3my", "xy"},
		{"erase in line is silent", "a\x1b[Kb\x1b[0K", "ab"},
		{"cursor switches are silent", "\x1b[?25la\x1b[?25h", "a"},
		{"cursor moves are shown", "a\x1b[2Ab", "a␛[2Ab"},
		{"private SGR is shown", "\x1b[>4;2ma", "␛[>4;2ma"},
		{"incomplete escape", "a\x1b[31", "a␛[31"},
		{"lone escape", "a\x1b", "a␛"},
		{"tabs", "a\tb\t\tc", "a       b               c"},
		{"CR at the end", "a\r", "a"},
		{"CR inside", "a\rb", "a␍b"},
		{"combining", "e\u0301x", "e\u0301x"},
		{"combining alone", "\u0301x", "x"},
		{"wide", "构建 ok", "构建 ok"},
		{"emoji", "👩\u200d💻 ok", "👩\u200d💻 ok"},
		{"broken utf-8", "a\xff\xc3b", "a\uFFFD\uFFFDb"},
		{"half a rune at the end", "a\xe6\x9e", "a\uFFFD\uFFFD"},
		{"bidi override", "a\u202eb", "a<202E>b"},
		{"OSC 8", "\x1b]8;;http://x\x1b\\t\x1b]8;;\x1b\\", "␛]8;;http://x␛\\t␛]8;;␛\\"},
		{"no-break space", "a\u00a0b", "a\u00a0b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parse(tt.raw).plain; got != tt.want {
				t.Errorf("parse(%q) = %q, want %q", tt.raw, got, tt.want)
			}
		})
	}
}

func TestParseStyles(t *testing.T) {
	l := parse("a\x1b[31;8;5mb\x1b[0mc")
	if len(l.segs) != 3 || l.segs[0].style != (uv.Style{}) || l.segs[1].style != (uv.Style{Fg: ansi.Red}) || l.segs[2].style != (uv.Style{}) {
		t.Errorf("segments %+v", l.segs)
	}
}

// STR-10 and the line of 90,000 characters: cut with a mark, the next line shows, and it stays cheap.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("0123456789", 30_000)
	p, _ := newPane(long, "after")
	for _, wrap := range []bool{false, true} {
		p.SetWrap(wrap)
		got := rows(p, 80, 10)
		if got[len(got)-1] != "after" {
			t.Errorf("wrap %v: last row is %q", wrap, got[len(got)-1])
		}
	}
	p.Do(keymap.MoveUp)
	if got := strings.Join(rows(p, 80, 10), "\n"); !strings.Contains(got, "…+284 KiB") {
		t.Errorf("the cut is not shown:\n%s", got)
	}
	if n := len(parse(long).plain); n > maxLine+100 {
		t.Errorf("%d bytes are made ready", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "\x1b]0;x\a", "e\u0301", "\xff\x9b", "构\t建", "👩\u200d💻", "\x1b[?25h\x1b[K", "\r", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l := parse(s)
		width := 0
		for _, g := range l.segs {
			if g.text == "" || g.width != ansi.StringWidth(g.text) && g.ascii {
				t.Fatalf("segment %+v", g)
			}
			width += g.width
			for _, r := range g.text {
				if r < 0x20 || r >= 0x7f && r < 0xa0 {
					t.Fatalf("control %#x in %q", r, g.text)
				}
			}
		}
		if width != l.width {
			t.Fatalf("width %d, segments %d", l.width, width)
		}
		for _, w := range []int{1, 2, 7} {
			starts := rowStarts(l, w)
			for i := 1; i < len(starts); i++ {
				if starts[i] <= starts[i-1] {
					t.Fatalf("rows %v at width %d", starts, w)
				}
			}
		}
	})
}

// BenchmarkLongLines is a screen full of lines of 64 KiB.
func BenchmarkLongLines(b *testing.B) {
	lines := make([]string, 60)
	for i := range lines {
		lines[i] = strings.Repeat("x\x1b[31my\x1b[0m", 6000)
	}
	p, _ := newPane(lines...)
	th := uitest.Dark()
	buf := uv.NewScreenBuffer(200, 60)
	for b.Loop() {
		clear(p.cache)
		p.Draw(buf, uv.Rect(0, 0, 200, 60), th)
	}
}

// lineEnds splits as a ring does: LF or CRLF ends a line, after a lone CR the text starts over.
func lineEnds(data []byte) (out []string) {
	for l := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
		l = strings.TrimSuffix(l, "\r")
		if i := strings.LastIndexByte(l, '\r'); i >= 0 {
			l = l[i+1:]
		}
		out = append(out, l)
	}
	return out
}

package term

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func readCase(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// PTY-10: scroll margins larger than the screen.
func TestMarginsTooBig(t *testing.T) {
	data := readCase(t, "margins-too-big.bin")
	x := New(40, 10, Options{})
	_, _ = x.Write(data)
	if !strings.Contains(text(x), "still here") {
		t.Errorf("screen %q", text(x))
	}
	y := New(40, 14, Options{})
	_, _ = y.Write(data[:8])
	y.Resize(40, 10)
	_, _ = y.Write(data[8:])
	if !strings.Contains(text(y), "still here") {
		t.Errorf("screen after shrinking %q", text(y))
	}
	for _, z := range []*Terminal{x, y} {
		checkInvariants(t, z)
		if f, n := z.Failure(); n > 0 {
			t.Errorf("failed inside: %v", f)
		}
	}
}

// PTY-03: what a program left on is off after Unpaint, the alternate screen last.
func TestUnpaintResetsTheModes(t *testing.T) {
	x := New(40, 10, Options{})
	_, _ = x.Write([]byte("before\r\n"))
	_, _ = x.Write(readCase(t, "leave-modes-on.bin"))
	if m := x.Modes(); !m.AltScreen || m.Mouse != MouseAny || m.Kitty == 0 || !m.BracketedPaste {
		t.Fatalf("modes %+v", m)
	}
	reset := x.Unpaint()
	_, _ = x.Write(reset)
	if m := x.Modes(); m != defaultModes() {
		t.Errorf("left on: %+v", m)
	}
	if c := &x.scr.cur; c.pen != (Style{}) || c.g != [4]charset{} || c.gl != 0 {
		t.Errorf("cursor %+v", c)
	}
	if i, j := bytes.Index(reset, []byte("\x1b[?1049l")), bytes.LastIndex(reset, []byte("?2004l")); i < j {
		t.Error("the alternate screen is left before the modes are reset")
	}
	if got := text(x); got != "before" {
		t.Errorf("screen %q", got)
	}
}

// STR-08: nothing is lost after NUL, and C1 never acts as CSI.
func TestNulAndC1(t *testing.T) {
	x := New(60, 10, Options{})
	_, _ = x.Write(readCase(t, "nul-c1.bin"))
	checkInvariants(t, x)
	for y, r := range x.scr.rows {
		for _, c := range r.cells {
			if c.R > 0 && c.R < 0x20 || c.R >= 0x7f && c.R < 0xa0 {
				t.Errorf("control %U in row %d", c.R, y)
			}
			if c.Style != 0 {
				t.Errorf("row %d was styled by a C1 control", y)
			}
		}
	}
}

func TestScrollbackIsBounded(t *testing.T) {
	x := New(100, 10, Options{ScrollRows: 50})
	for i := range 1000 {
		fmt.Fprintf(x, "line %d\r\n", i)
	}
	got := scrollLines(x)
	if len(got) != 50 || got[49] != "line 990" {
		t.Errorf("%d rows, last %q", len(got), got[len(got)-1])
	}
	x.View(func(v View) {
		if v.Dropped() != 941 {
			t.Errorf("dropped %d", v.Dropped())
		}
	})
	y := New(100, 10, Options{ScrollBytes: 10_000})
	for range 1000 {
		fmt.Fprintf(y, "%s\r\n", strings.Repeat("x", 100))
	}
	if y.scroll.bytes > 10_000 || y.scroll.len() < 5 {
		t.Errorf("%d bytes in %d rows", y.scroll.bytes, y.scroll.len())
	}
	checkInvariants(t, y)
	z := New(10, 2, Options{ScrollRows: -1})
	_, _ = z.Write([]byte("1\r\n2\r\n3"))
	if len(scrollLines(z)) != 0 {
		t.Error("scroll-back was kept")
	}
}

// More colours than the style table holds: old ones are dropped, new ones degrade, nothing breaks.
func TestStylesAreBounded(t *testing.T) {
	x := New(200, 60, Options{ScrollRows: -1})
	var b bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm█", i>>16, i>>8&0xff, i&0xff)
	}
	_, _ = x.Write(b.Bytes())
	if n := len(x.styles.list); n > maxStyles {
		t.Errorf("%d styles", n)
	}
	checkInvariants(t, x)
	last := x.scr.rows[x.last.y].cells[x.last.x]
	if got, want := x.styles.get(last.Style).Fg, RGB(199_999>>16, 199_999>>8&0xff, 199_999&0xff); got != want {
		t.Errorf("last colour %x, want %x", got, want)
	}
	if x.collections == 0 || x.collections > 20 {
		t.Errorf("%d collections", x.collections)
	}
}

func TestClustersAreBounded(t *testing.T) {
	x := New(100, 30, Options{ScrollRows: -1})
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		s := string(rune('a' + rnd.IntN(26)))
		for range 4 {
			s += string(rune(0x300 + rnd.IntN(0x60)))
		}
		_, _ = x.Write([]byte(s))
	}
	if n := len(x.clusters.list); n > maxClusters {
		t.Errorf("%d clusters", n)
	}
	checkInvariants(t, x)
}

func TestLinksAreBounded(t *testing.T) {
	x := New(20, 5, Options{ScrollRows: -1})
	for i := range 3 * maxLinks {
		fmt.Fprintf(x, "\x1b]8;;https://example.com/%d\x07x", i)
	}
	if n := len(x.links.list); n > maxLinks {
		t.Errorf("%d links", n)
	}
	x.View(func(v View) {
		c := v.Row(v.Cursor().Y).Cells[max(v.Cursor().X-1, 0)]
		if got, want := v.Link(v.Style(c.Style).Link), fmt.Sprintf("https://example.com/%d", 3*maxLinks-1); got != want {
			t.Errorf("link %q, want %q", got, want)
		}
	})
}

func TestRepliesAreBounded(t *testing.T) {
	n := 0
	x := New(20, 5, Options{Reply: func(p []byte) { n = max(n, len(p)) }})
	_, _ = x.Write(bytes.Repeat([]byte("\x1b[>q"), 100_000))
	if n == 0 || n > maxReplyBytes {
		t.Errorf("%d bytes in one reply", n)
	}
}

func TestSuppressReplies(t *testing.T) {
	replies := 0
	x := New(20, 5, Options{Reply: func([]byte) { replies++ }})
	x.SuppressReplies(true)
	_, _ = x.Write([]byte("\x1b[c\x1b[6n"))
	if replies != 0 || x.Queries() != 2 {
		t.Errorf("%d replies, %d queries", replies, x.Queries())
	}
	x.SuppressReplies(false)
	_, _ = x.Write([]byte("\x1b[c"))
	if replies != 1 {
		t.Errorf("%d replies", replies)
	}
}

func TestCallbacks(t *testing.T) {
	var got []string
	var x *Terminal
	x = New(20, 5, Options{
		Bell:      func() { got = append(got, "bell "+x.Title()) },
		Clipboard: func(sel string, p []byte) { got = append(got, "clip "+sel+" "+string(p)) },
		Notify:    func(s string) { got = append(got, "notify "+s) },
	})
	_, _ = x.Write([]byte("\x07\x07\x1b]2;t\x07\x1b]52;c;aGVsbG8=\x07\x1b]9;done\x07\x1b]9;4;1;50\x07\x1b]52;c;?\x07\x1b]52;c;%%%\x07"))
	want := []string{"bell t", "clip c hello", "notify done"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	silent := New(20, 5, Options{})
	_, _ = silent.Write([]byte("\x07\x1b]52;c;aGVsbG8=\x07\x1b]9;done\x07"))
	if len(silent.events) != 0 {
		t.Error("events without a listener")
	}
}

// A failure inside resets this terminal, is recorded, and does not leave Write.
func TestFailureResets(t *testing.T) {
	x := New(20, 5, Options{})
	_, _ = x.Write([]byte("\x1b[1mhello"))
	x.scroll.push([]Cell{{R: 'x', Style: 1, Width: 1}}, false, MarkNone)
	x.scr.rows[0] = nil
	if n, err := x.Write([]byte("world")); n != 5 || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
	}
	f, n := x.Failure()
	if f == nil || n != 1 || f.Text == "" {
		t.Errorf("failure %+v, %d", f, n)
	}
	_, _ = x.Write([]byte("after"))
	if got := text(x); got != "after" {
		t.Errorf("screen %q", got)
	}
	checkInvariants(t, x)
	x.scr.rows[0] = nil
	x.Resize(30, 6)
	if _, n := x.Failure(); n != 2 {
		t.Errorf("%d failures, want 2", n)
	}
	checkInvariants(t, x)
}

func TestTooLongStringsAreDropped(t *testing.T) {
	x := New(10, 5, Options{Clipboard: func(string, []byte) { t.Error("clipboard") }})
	_, _ = x.Write([]byte("\x1b]52;c;" + strings.Repeat("A", maxOSC+8) + "\x07X\x1bP$q" + strings.Repeat("m", maxDCS+8) + "\x1b\\Y"))
	if got := text(x); got != "XY" {
		t.Errorf("screen %q", got)
	}
	if cap(x.data) > maxOSC {
		t.Errorf("%d bytes are kept", cap(x.data))
	}
}

func TestReset(t *testing.T) {
	x := New(10, 2, Options{})
	_, _ = x.Write([]byte("1\r\n2\r\n3\x1b[1;31m\x1b[?1049h"))
	x.Reset()
	fresh := New(10, 2, Options{})
	if got, want := dump(x), dump(fresh); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Writing does not change the caller's bytes.
func TestWriteKeepsTheInput(t *testing.T) {
	in := []byte("\x1b[?7l0123456789abcdef漢\x1b[31mx")
	keep := bytes.Clone(in)
	_, _ = New(5, 2, Options{}).Write(in)
	if !bytes.Equal(in, keep) {
		t.Errorf("input became %q", in)
	}
}

// One lock hold does not take much longer than asked, whatever the input.
func TestFeedStops(t *testing.T) {
	x := New(MaxCols, MaxRows, Options{})
	data := bytes.Repeat([]byte("\x1b[2J\x1b[L\x1b[99999b"), 10_000)
	calls := 0
	n := x.feed(data, func() bool { calls++; return calls == 2 })
	if n != 2*parseSlice {
		t.Errorf("%d bytes were used before stopping, want %d", n, 2*parseSlice)
	}
}

func TestSyncHoldsThePicture(t *testing.T) {
	now := time.Unix(0, 0)
	x := New(10, 2, Options{})
	x.clock = func() time.Time { return now }
	w := NewWidget(x, nil)
	_, _ = x.Write([]byte("old"))
	if got := drawnText(w, 10, 2); got != "old" {
		t.Fatalf("drawn %q", got)
	}
	_, _ = x.Write([]byte("\x1b[?2026h\r\x1b[Kne"))
	if got := drawnText(w, 10, 2); got != "old" {
		t.Errorf("half a picture was drawn: %q", got)
	}
	_, _ = x.Write([]byte("w\x1b[?2026l"))
	if got := drawnText(w, 10, 2); got != "new" {
		t.Errorf("drawn %q", got)
	}
	_, _ = x.Write([]byte("\x1b[?2026h never ends"))
	now = now.Add(2 * syncTimeout)
	if got := drawnText(w, 20, 2); !strings.HasPrefix(got, "new") {
		t.Errorf("drawn %q", got)
	}
}

// Random resizing never breaks the grid, and no text is lost or torn.
func TestResizeKeepsText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := New(rapid.IntRange(2, 40).Draw(rt, "cols"), rapid.IntRange(1, 20).Draw(rt, "rows"), Options{})
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "word", "漢字", "e\u0301", "👍🏽", "-----"}), 1, 60).Draw(rt, "words")
		line := strings.Join(words, "")
		_, _ = x.Write([]byte(line))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			x.Resize(rapid.IntRange(2, 60).Draw(rt, "cols"), rapid.IntRange(1, 30).Draw(rt, "rows"))
			checkInvariants(t, x)
		}
		if all := strings.Join(scrollLines(x), "") + strings.ReplaceAll(text(x), "\n", ""); all != line {
			rt.Fatalf("text %q became %q", line, all)
		}
		_, _ = x.Write([]byte("!"))
		x.Resize(MaxCols, 5)
		if got := text(x); got != line+"!" {
			rt.Fatalf("text %q became %q on one line", line+"!", got)
		}
	})
}

func shownText(x *Terminal, rows int) string { return strings.Join(shown(x, rows), "\n") }

// STR-07: escapes in output change this pane's picture at most; what is drawn
// has colours and attributes, and nothing else that a terminal would act on.
func TestInjectedEscapesStayInside(t *testing.T) {
	x := New(60, 5, Options{})
	_, _ = x.Write(readCase(t, "ansi-inject.bin"))
	_, _ = x.Write([]byte("\x1b]8;;https://example.com\x07link\x1b]8;;\x07"))
	buf, _ := drawn(NewWidget(x, nil), 60, 5)
	if out := buf.Render(); regexp.MustCompile("\x1b\\[[0-9;:]*m").ReplaceAllString(out, "") != ansi.Strip(out) || strings.ContainsAny(ansi.Strip(out), "\x07\x1b\u009b") {
		t.Errorf("drawn %q", out)
	}
}

func FuzzTerminal(f *testing.F) {
	for _, group := range vtGroups() {
		for _, c := range group {
			f.Add([]byte(c.in), uint16(10), uint16(5))
		}
	}
	f.Add(readCase(f, "margins-too-big.bin"), uint16(40), uint16(10))
	f.Add(readCase(f, "leave-modes-on.bin"), uint16(1), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, a, b uint16) {
		if len(in) > 64<<10 {
			return
		}
		cols, rows := int(a%130)+1, int(b%60)+1
		whole := New(cols, rows, Options{ScrollRows: 100})
		cut := New(cols, rows, Options{ScrollRows: 100})
		half := len(in) / 2
		_, _ = whole.Write(in[:half])
		whole.Resize(int(b%90)+1, int(a%40)+1)
		_, _ = whole.Write(in[half:])
		for i := range in {
			if i == half {
				cut.Resize(int(b%90)+1, int(a%40)+1)
			}
			_, _ = cut.Write(in[i : i+1])
		}
		if half == len(in) {
			cut.Resize(int(b%90)+1, int(a%40)+1)
		}
		if w, n := whole.Failure(); n > 0 {
			t.Fatalf("failed inside: %s", w.Text)
		}
		checkInvariants(t, whole)
		if x, y := dump(whole), dump(cut); x != y {
			t.Fatalf("byte by byte differs:\n%s\n--- whole:\n%s", y, x)
		}
		// Painting the state into another terminal and resetting that one must work too.
		painted, rows2 := New(whole.cols, whole.rows, Options{}), whole.rows
		_, _ = painted.Write(whole.Paint())
		if x, y := painted.scr.cur, whole.scr.cur; x.x != y.x || x.y != y.y {
			t.Fatalf("painted cursor at %d,%d, want %d,%d", x.x, x.y, y.x, y.y)
		}
		// Clusters that mode 2027 kept apart cannot be painted apart.
		if a, b := shownText(painted, rows2), shownText(whole, rows2); whole.Modes().Graphemes && a != b {
			t.Fatalf("painted:\n%s\nwant:\n%s", a, b)
		}
		_, _ = painted.Write(whole.Unpaint())
		if m := painted.Modes(); m != defaultModes() {
			t.Fatalf("modes left on after Unpaint: %+v", m)
		}
		// More of the same does not pile up.
		for range 20 {
			_, _ = whole.Write(in)
		}
		checkInvariants(t, whole)
	})
}

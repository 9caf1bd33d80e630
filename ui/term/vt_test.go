package term

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vtCase feeds in to a terminal of cols×rows (10×5 if 0) and compares.
type vtCase struct {
	name       string
	cols, rows int
	in         string
	// want are the lines without trailing blanks and without empty lines at the end.
	want string
	// at is the cursor as "x,y", with "+" behind it for a pending wrap; "" is not compared.
	at string
	// style are "x,y=SGR parameters" separated by blanks.
	style string
	// reply is all that the terminal answered.
	reply string
	// then are sizes to change to, each with more input.
	then []vtStep
	// scroll are the lines of the scroll-back, compared if not nil.
	scroll []string
	check  func(t *testing.T, x *Terminal)
}

type vtStep struct {
	cols, rows int
	in         string
}

// vtRun plays a case, cutting the input into pieces.
func (c *vtCase) vtRun(cut func(string) []string) (*Terminal, string) {
	cols, rows := c.cols, c.rows
	if cols == 0 {
		cols, rows = 10, 5
	}
	var reply strings.Builder
	x := New(cols, rows, Options{Reply: func(p []byte) { reply.Write(p) }})
	for _, p := range cut(c.in) {
		_, _ = x.Write([]byte(p))
	}
	for _, s := range c.then {
		x.Resize(s.cols, s.rows)
		for _, p := range cut(s.in) {
			_, _ = x.Write([]byte(p))
		}
	}
	return x, reply.String()
}

func whole(s string) []string { return []string{s} }

func byByte(s string) []string {
	out := make([]string, len(s))
	for i := range out {
		out[i] = s[i : i+1]
	}
	return out
}

func bySlices(seed uint64) func(string) []string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return func(s string) (out []string) {
		for len(s) > 0 {
			n := 1 + rnd.IntN(min(len(s), 7))
			out = append(out, s[:n])
			s = s[n:]
		}
		return out
	}
}

func text(x *Terminal) string {
	return strings.TrimRight(strings.Join(x.Lines(), "\n"), "\n")
}

func cursorText(x *Terminal) string {
	s := fmt.Sprintf("%d,%d", x.scr.cur.x, x.scr.cur.y)
	if x.scr.cur.pending {
		s += "+"
	}
	return s
}

func scrollLines(x *Terminal) []string {
	out := []string{}
	x.View(func(v View) {
		for y := -v.ScrollRows(); y < 0; y++ {
			out = append(out, v.Text(y))
		}
	})
	return out
}

// dump is everything that can be seen or asked, independent of the ids of styles and clusters.
func dump(x *Terminal) string {
	var b strings.Builder
	line := func(cells []Cell, wrapped bool, mark Mark) {
		last := StyleID(0)
		for _, c := range cells {
			if c.Style != last {
				last = c.Style
				fmt.Fprintf(&b, "{%s%s}", x.styles.get(c.Style).sgrText(), x.links.get(int(x.styles.get(c.Style).Link)))
			}
			switch {
			case c.Width == 0:
				b.WriteByte('<')
			case c.R == 0:
				b.WriteByte('.')
			default:
				b.WriteString(x.content(c))
			}
		}
		fmt.Fprintf(&b, "|%v%d\n", wrapped, mark)
	}
	for i := range x.scroll.len() {
		r := x.scroll.at(i)
		line(r.cells, r.wrapped, r.mark)
	}
	for _, s := range [...]*screen{&x.main, &x.alt} {
		b.WriteString("--\n")
		for _, r := range s.rows {
			line(r.cells, r.wrapped, r.mark)
		}
		fmt.Fprintf(&b, "cur %+v saved %+v kitty %v %d\n", plainCursor(s.cur), plainCursor(s.saved), s.kitty, s.kittyFlags)
	}
	fmt.Fprintf(&b, "modes %+v region %d-%d %d-%d shape %d %v title %q cwd %q failures %d\n",
		x.currentModes(), x.top, x.bottom, x.left, x.right, x.cursorShape, x.cursorBlink, x.title, x.cwd, x.failures)
	return b.String()
}

func plainCursor(c cursor) string {
	return fmt.Sprintf("%d,%d %v %s %v %d %d %v", c.x, c.y, c.pending, c.pen.sgrText(), c.g, c.gl, c.shift, c.origin)
}

func TestTerminal(t *testing.T) {
	groups := vtGroups()
	total := 0
	for group, cases := range groups {
		for _, c := range cases {
			total++
			t.Run(group+"/"+c.name, func(t *testing.T) { c.run(t) })
		}
	}
	if total < 150 {
		t.Errorf("%d cases, want at least 150", total)
	}
}

func (c *vtCase) run(t *testing.T) {
	x, reply := c.vtRun(whole)
	if diff := cmp.Diff(c.want, text(x)); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
	if c.at != "" && c.at != cursorText(x) {
		t.Errorf("cursor at %s, want %s", cursorText(x), c.at)
	}
	if reply != c.reply {
		t.Errorf("replied %q, want %q", reply, c.reply)
	}
	for _, s := range strings.Fields(c.style) {
		var px, py int
		pos, want, _ := strings.Cut(s, "=")
		if _, err := fmt.Sscanf(pos, "%d,%d", &px, &py); err != nil {
			t.Fatal(err)
		}
		if got := x.styles.get(x.scr.rows[py].cells[px].Style).sgrText(); got != want {
			t.Errorf("style at %s is %s, want %s", pos, got, want)
		}
	}
	if c.scroll != nil {
		if diff := cmp.Diff(c.scroll, scrollLines(x)); diff != "" {
			t.Errorf("scroll-back (-want +got):\n%s", diff)
		}
	}
	if c.check != nil {
		c.check(t, x)
	}
	if x.failures != 0 {
		t.Errorf("failed inside: %v", x.failure.Text)
	}
	checkInvariants(t, x)
	cuts := map[string]func(string) []string{"byte by byte": byByte}
	for seed := range uint64(5) {
		cuts[fmt.Sprint("slices ", seed)] = bySlices(seed)
	}
	for name, cut := range cuts {
		y, r := c.vtRun(cut)
		if diff := cmp.Diff(dump(x), dump(y)); diff != "" {
			t.Errorf("%s differs (-whole +cut):\n%s", name, diff)
		}
		if r != reply {
			t.Errorf("%s replied %q, want %q", name, r, reply)
		}
	}
}

// checkInvariants fails if the grid contradicts itself.
func checkInvariants(t *testing.T, x *Terminal) {
	t.Helper()
	for _, s := range [...]*screen{&x.main, &x.alt} {
		if len(s.rows) != x.rows {
			t.Fatalf("%d rows, want %d", len(s.rows), x.rows)
		}
		seen := map[*row]bool{}
		for y, r := range s.rows {
			if seen[r] {
				t.Fatalf("row %d is there twice", y)
			}
			seen[r] = true
			checkRow(t, x, r.cells, y)
			if len(r.cells) != x.cols {
				t.Fatalf("row %d has %d cells, want %d", y, len(r.cells), x.cols)
			}
		}
		for _, c := range [...]cursor{s.cur, s.saved} {
			if c.x < 0 || c.x >= x.cols || c.y < 0 || c.y >= x.rows {
				t.Fatalf("cursor %d,%d is outside of %d×%d", c.x, c.y, x.cols, x.rows)
			}
		}
		if len(s.kitty) > maxKittyStack {
			t.Fatalf("kitty stack of %d", len(s.kitty))
		}
	}
	if x.top < 0 || x.top > x.bottom || x.bottom >= x.rows || x.left < 0 || x.left > x.right || x.right >= x.cols {
		t.Fatalf("margins %d-%d %d-%d", x.top, x.bottom, x.left, x.right)
	}
	bytes := 0
	for i := range x.scroll.len() {
		r := x.scroll.at(i)
		bytes += rowOverhead + cap(r.cells)*cellBytes
		checkRow(t, x, r.cells, i-x.scroll.len())
	}
	if bytes != x.scroll.bytes || bytes > x.scroll.maxBytes || x.scroll.len() > x.scroll.maxRows {
		t.Fatalf("scroll-back of %d rows counts %d bytes, has %d", x.scroll.len(), x.scroll.bytes, bytes)
	}
	checkBounds(t, x)
}

// checkBounds fails when something that grows with the input is over its bound.
func checkBounds(t *testing.T, x *Terminal) {
	t.Helper()
	for _, c := range []struct {
		what      string
		have, max int
	}{
		{"styles", len(x.styles.list), maxStyles},
		{"clusters", len(x.clusters.list), maxClusters},
		{"links", len(x.links.list), maxLinks},
		{"bytes of a string", len(x.data), maxOSC},
		{"bytes of answers", len(x.out), maxReplyBytes},
		{"titles", len(x.titleStack), maxTitleStack},
		{"characters of a title", len([]rune(x.title)), maxTitle},
		{"colours", len(x.palette), 256},
	} {
		if c.have > c.max {
			t.Fatalf("%d %s, at most %d", c.have, c.what, c.max)
		}
	}
}

func checkRow(t *testing.T, x *Terminal, cells []Cell, y int) {
	t.Helper()
	for i, c := range cells {
		switch {
		case c.Width == 2 && (i+1 >= len(cells) || cells[i+1].Width != 0):
			t.Fatalf("wide character without its second half at %d,%d", i, y)
		case c.Width == 0 && (i == 0 || cells[i-1].Width != 2):
			t.Fatalf("second half without a wide character at %d,%d", i, y)
		case c.Width > 2:
			t.Fatalf("width %d at %d,%d", c.Width, i, y)
		case c.R < 0 && x.clusters.get(int(-c.R)) == "":
			t.Fatalf("unknown cluster at %d,%d", i, y)
		case int(c.Style) >= len(x.styles.list):
			t.Fatalf("unknown style at %d,%d", i, y)
		}
	}
}

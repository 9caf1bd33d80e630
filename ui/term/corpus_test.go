package term

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown is the screen as text with the style in braces where it changes.
// Trailing blanks of default style are left out, erased cells are blanks.
func shown(x *Terminal, rows int) []string {
	out := make([]string, 0, rows)
	x.View(func(v View) {
		for y := range rows {
			var b strings.Builder
			last := "0"
			cells := v.Row(y).Cells
			for len(cells) > 0 && isPlainBlank(v, cells[len(cells)-1]) {
				cells = cells[:len(cells)-1]
			}
			for _, c := range cells {
				s := v.Style(c.Style)
				s.Link, s.Attrs = 0, s.Attrs&^AttrProtected
				if now := s.sgrText(); now != last {
					fmt.Fprintf(&b, "{%s}", now)
					last = now
				}
				b.WriteString(v.Content(c))
			}
			out = append(out, b.String())
		}
	})
	return out
}

func isPlainBlank(v View, c Cell) bool {
	s := v.Style(c.Style)
	s.Link, s.Fg, s.Attrs = 0, 0, s.Attrs&^(AttrProtected|AttrBold|AttrFaint|AttrItalic|AttrBlink)
	return c.Width == 1 && (c.R == 0 || c.R == ' ') && s == Style{}
}

// differences reads testdata/differences.txt: where we differ from tmux on
// purpose. A line is "what: why"; a corpus line is "corpus/name row: why".
func differences(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "differences.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		what, why, ok := strings.Cut(line, ": ")
		if !ok || why == "" {
			t.Fatalf("differences.txt: %q has no reason", line)
		}
		out[what] = why
	}
	return out
}

// trimBlanks cuts blanks of any style at the end of a row of shown: what
// capture-pane prints for cells that were erased with a background varies.
func trimBlanks(s string) string {
	for {
		t := strings.TrimRight(s, " ")
		if i := strings.LastIndexByte(t, '{'); i >= 0 && strings.HasSuffix(t, "}") && strings.Trim(t[i+1:len(t)-1], "0123456789;:") == "" {
			t = t[:i]
		}
		if t == s {
			return s
		}
		s = t
	}
}

// TestCorpus replays recorded sessions and compares with what tmux showed
// after each step.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", "*.bin"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	allowed := differences(t)
	used := map[string]bool{}
	for _, file := range files {
		name := "corpus/" + strings.TrimSuffix(filepath.Base(file), ".bin")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			expected, err := os.ReadFile(strings.TrimSuffix(file, ".bin") + ".tmux")
			if err != nil {
				t.Fatal(err)
			}
			x := New(80, 24, Options{})
			fed := 0
			for i, step := range strings.Split(string(expected), "== ")[1:] {
				want := strings.Split(strings.TrimSuffix(step, "\n"), "\n")
				n, err := strconv.Atoi(want[0])
				if err != nil {
					t.Fatal(err)
				}
				_, _ = x.Write(data[fed:n])
				fed = n
				checkInvariants(t, x)
				compareStep(t, fmt.Sprintf("%s#%d", name, i), want[1:], x, allowed, used)
			}
			sameInPieces(t, data, dump(x))
		})
	}
	for key := range allowed {
		if strings.HasPrefix(key, "corpus/") && !used[key] {
			t.Errorf("differences.txt allows %s, which is not in the corpus", key)
		}
	}
}

func compareStep(t *testing.T, step string, want []string, x *Terminal, allowed map[string]string, used map[string]bool) {
	t.Helper()
	at := fmt.Sprintf("cursor %d,%d", x.scr.cur.x, x.scr.cur.y)
	if x.scr.cur.pending {
		// tmux counts the place behind the last column.
		at = fmt.Sprintf("cursor %d,%d", x.scr.cur.x+1, x.scr.cur.y)
	}
	got := append(shown(x, 24), at)
	if len(want) != len(got) {
		t.Fatalf("%s: %d lines expected, got %d", step, len(want), len(got))
	}
	for y := range got {
		key := fmt.Sprintf("%s %d", step, y)
		if _, ok := allowed[key]; ok {
			used[key] = true
			continue
		}
		if diff := cmp.Diff(trimBlanks(want[y]), trimBlanks(got[y])); diff != "" {
			t.Errorf("%s (-tmux +got):\n%s", key, diff)
		}
	}
}

// sameInPieces replays data byte by byte and in random slices.
func sameInPieces(t *testing.T, data []byte, want string) {
	t.Helper()
	single := New(80, 24, Options{})
	for i := range data {
		_, _ = single.Write(data[i : i+1])
	}
	if diff := cmp.Diff(want, dump(single)); diff != "" {
		t.Errorf("byte by byte differs (-whole +cut):\n%s", diff)
	}
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		x := New(80, 24, Options{})
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(40))
			_, _ = x.Write(rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, dump(x)); diff != "" {
			t.Errorf("slices of seed %d differ (-whole +cut):\n%s", seed, diff)
		}
	}
}

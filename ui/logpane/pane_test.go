package logpane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"abxdash/keymap"
	"abxdash/ui/uitest"
)

// text is Lines over a slice; lines with the prefix "E:" are standard error.
type text struct {
	lines   []string
	dropped int
	max     int
	version uint64
}

func (t *text) Len() int        { return len(t.lines) }
func (t *text) Dropped() int    { return t.dropped }
func (t *text) Version() uint64 { return t.version }

func (t *text) At(i int) (string, bool, time.Time) {
	if i < 0 || i >= len(t.lines) {
		return "", false, time.Time{}
	}
	s, isErr := strings.CutPrefix(t.lines[i], "E:")
	return s, isErr, time.Date(2031, 1, 1, 13, 58, 0, 0, time.UTC).Add(time.Duration(t.dropped+i) * 1234 * time.Millisecond)
}

func (t *text) add(lines ...string) {
	t.version++
	t.lines = append(t.lines, lines...)
	if t.max > 0 && len(t.lines) > t.max {
		t.dropped += len(t.lines) - t.max
		t.lines = t.lines[len(t.lines)-t.max:]
	}
}

func numbered(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("line %d", i))
	}
	return out
}

func newPane(lines ...string) (*Pane, *text) {
	t := &text{lines: lines}
	return New(keymap.Default(), t), t
}

// rows draws the pane and returns its rows without the gutter and trailing blanks.
func rows(p *Pane, w, h int) []string {
	buf := uv.NewScreenBuffer(w, h)
	p.Draw(buf, uv.Rect(0, 0, w, h), uitest.Dark())
	out := strings.Split(strings.TrimRight(uitest.Text(buf), "\n"), "\n")
	for i, s := range out {
		r := []rune(s)
		out[i] = string(r[min(len(r), p.gutter()):])
	}
	return out
}

func TestFollowAndPause(t *testing.T) {
	p, l := newPane(numbered(0, 10)...)
	if d := cmp.Diff([]string{"line 7", "line 8", "line 9"}, rows(p, 30, 3)); d != "" {
		t.Error(d)
	}
	l.add(numbered(10, 12)...)
	if d := cmp.Diff([]string{"line 9", "line 10", "line 11"}, rows(p, 30, 3)); d != "" {
		t.Error(d)
	}
	p.Do(keymap.MoveUp)
	if p.Following() {
		t.Error("still following after moving up")
	}
	if d := cmp.Diff([]string{"line 8", "line 9", "line 10"}, rows(p, 30, 3)); d != "" {
		t.Error(d)
	}
	l.add(numbered(12, 15)...)
	if d := cmp.Diff([]string{"line 8", "line 9", "line 10"}, rows(p, 30, 3)); d != "" {
		t.Error("new lines moved a paused pane:", d)
	}
	if p.Behind() != 3 || !strings.Contains(p.Status(), "PAUSED +3") {
		t.Errorf("behind %d, status %q", p.Behind(), p.Status())
	}
	p.Do(keymap.MoveTop)
	if d := cmp.Diff([]string{"line 0", "line 1", "line 2"}, rows(p, 30, 3)); d != "" {
		t.Error(d)
	}
	p.Do(keymap.MoveBottom)
	if !p.Following() || !strings.Contains(p.Status(), "FOLLOWING") {
		t.Errorf("not following at the end: %q", p.Status())
	}
	for range 5 {
		p.Do(keymap.MoveUp)
		rows(p, 30, 3)
	}
	for range 5 {
		p.Do(keymap.MoveDown)
		rows(p, 30, 3)
	}
	if !p.Following() {
		t.Error("moving down to the end does not follow again")
	}
}

func TestShortLogStaysWhole(t *testing.T) {
	p, _ := newPane(numbered(0, 2)...)
	rows(p, 30, 5)
	p.Do(keymap.MoveUp)
	p.Do(keymap.MovePageDown)
	if d := cmp.Diff([]string{"line 0", "line 1"}, rows(p, 30, 5)); d != "" {
		t.Error(d)
	}
	empty, _ := newPane()
	for _, a := range []keymap.Action{keymap.MoveUp, keymap.MoveDown, keymap.MoveTop, keymap.MovePageDown, keymap.ViewWrap, keymap.SearchNext} {
		empty.Do(a)
		rows(empty, 30, 5)
	}
	none := New(keymap.Default(), nil)
	none.Do(keymap.MoveDown)
	rows(none, 30, 5)
	if none.Text() != "" {
		t.Error("text without lines")
	}
}

// The view stays on its lines while the ring drops older ones, until they are dropped too.
func TestDropping(t *testing.T) {
	p, l := newPane(numbered(0, 10)...)
	l.max = 10
	rows(p, 30, 3)
	p.Do(keymap.MoveTop)
	p.Do(keymap.MoveDown)
	p.Do(keymap.MoveDown)
	p.Do(keymap.MoveDown)
	rows(p, 30, 3)
	l.add(numbered(10, 12)...)
	if d := cmp.Diff([]string{"line 3", "line 4", "line 5"}, rows(p, 30, 3)); d != "" {
		t.Error(d)
	}
	l.add(numbered(12, 20)...)
	if d := cmp.Diff([]string{"line 10", "line 11", "line 12"}, rows(p, 30, 3)); d != "" {
		t.Error(d)
	}
	if s := p.Status(); !strings.Contains(s, "10 dropped") || !strings.Contains(s, "20 lines") {
		t.Errorf("status %q", s)
	}
}

func TestWrap(t *testing.T) {
	p, _ := newPane("abcdefghij", "短い行です", "x")
	rows(p, 8, 10)
	p.Do(keymap.ViewWrap)
	want := []string{"abcdef", "ghij", "短い行", "です", "x"}
	if d := cmp.Diff(want, rows(p, 8, 10)); d != "" {
		t.Error(d)
	}
	// A wide character is not split at an odd width.
	if d := cmp.Diff([]string{"abcde", "fghij", "短い", "行で", "す", "x"}, rows(p, 7, 10)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"です", "x"}, rows(p, 8, 2)); d != "" {
		t.Error("the end of a wrapped log:", d)
	}
	p.Do(keymap.MoveUp)
	if d := cmp.Diff([]string{"短い行", "です"}, rows(p, 8, 2)); d != "" {
		t.Error("one row up:", d)
	}
	p.Do(keymap.ViewWrap)
	if d := cmp.Diff([]string{"短い行です", "x"}, rows(p, 20, 2)); d != "" {
		t.Error("wrapping off:", d)
	}
}

func TestHorizontal(t *testing.T) {
	p, _ := newPane("0123456789abcdefghij")
	if d := cmp.Diff([]string{"01234567…"}, rows(p, 11, 1)); d != "" {
		t.Error(d)
	}
	p.Do(keymap.MoveRight)
	if d := cmp.Diff([]string{"456789ab…"}, rows(p, 11, 1)); d != "" {
		t.Error(d)
	}
	p.Do(keymap.MoveLeft)
	p.Do(keymap.MoveLeft)
	if d := cmp.Diff([]string{"01234567…"}, rows(p, 11, 1)); d != "" {
		t.Error(d)
	}
}

func TestErrorsOnly(t *testing.T) {
	p, l := newPane("a", "E:b", "c", "E:d", "e")
	p.Do(keymap.LogErrors)
	if d := cmp.Diff([]string{"b", "d"}, rows(p, 20, 5)); d != "" {
		t.Error(d)
	}
	if got := p.Text(); got != "b\nd\n" {
		t.Errorf("copied %q", got)
	}
	for i := range 20 {
		l.add(fmt.Sprintf("E:%d", i), "noise")
	}
	if d := cmp.Diff([]string{"18", "19"}, rows(p, 20, 2)); d != "" {
		t.Error(d)
	}
	p.Do(keymap.MoveUp)
	if d := cmp.Diff([]string{"17", "18"}, rows(p, 20, 2)); d != "" {
		t.Error(d)
	}
	p.Do(keymap.LogErrors)
	if got := rows(p, 20, 2); got[0] != "17" || got[1] != "noise" {
		t.Errorf("everything again: %q", got)
	}
}

func press(p *Pane, keys ...string) {
	for _, k := range keys {
		p.Update(uitest.Key(k))
	}
}

func TestSearch(t *testing.T) {
	lines := numbered(0, 50)
	lines[10], lines[20] = "an Error here", "another \x1b[31mER\x1b[0mROR"
	p, _ := newPane(lines...)
	rows(p, 30, 5)
	p.Do(keymap.SearchOpen)
	if !p.Captures() || p.Keys()[0] != keymap.Input {
		t.Error("a search that is typed does not capture")
	}
	press(p, "e", "r", "r", "o", "r")
	if got := rows(p, 30, 6); !strings.Contains(strings.Join(got, "\n"), "an Error here") {
		t.Errorf("not found while typing: %q", got)
	}
	press(p, "enter")
	if p.Captures() {
		t.Error("captures after enter")
	}
	p.Do(keymap.SearchNext)
	if p.found != 20 {
		t.Errorf("next match is line %d, want 20 (its escapes are not part of the text)", p.found)
	}
	p.Do(keymap.SearchNext)
	if p.found != 10 {
		t.Errorf("search does not wrap around: %d", p.found)
	}
	p.Do(keymap.SearchPrev)
	if p.found != 20 {
		t.Errorf("previous match is line %d, want 20", p.found)
	}
	if !p.Back() || p.query != "" || p.Back() {
		t.Error("Back does not leave the search, or leaves it twice")
	}
	// A capital in the query makes it exact.
	p.Do(keymap.SearchOpen)
	press(p, "E", "r", "r", "enter")
	p.Do(keymap.SearchNext)
	if p.found != 10 {
		t.Errorf("exact search found line %d", p.found)
	}
	p.Do(keymap.SearchOpen)
	press(p, "z", "z", "z")
	if s := p.Status(); !strings.Contains(s, "not found") {
		t.Errorf("status %q", s)
	}
	press(p, "esc")
	if p.Captures() || p.query != "" {
		t.Error("esc does not leave the search")
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		text, query string
		want        []span
	}{
		{"abcabc", "bc", []span{{1, 3}, {4, 6}}},
		{"aaaa", "aa", []span{{0, 2}, {2, 4}}},
		{"ABC", "b", []span{{1, 2}}},
		{"abc", "B", nil},
		{"ÄÖÜ", "öü", []span{{2, 6}}},
		{"abc", "", nil},
		{"", "x", nil},
	}
	for _, tt := range tests {
		got := matches(tt.text, tt.query)
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(span{})); d != "" {
			t.Errorf("%q in %q: %s", tt.query, tt.text, d)
		}
	}
}

func TestGolden(t *testing.T) {
	lines := []string{
		"collecting ... \x1b[32mok\x1b[0m", "E:\x1b[31mE   AssertionError: 3 != 4\x1b[0m", "\x1b]0;owned\a",
		"构建机器人 👍", "a very long line that does not fit into a narrow window and goes on and on", "last",
	}
	for _, th := range uitest.Themes() {
		for _, size := range [][2]int{{40, 10}, {80, 24}} {
			p, _ := newPane(lines...)
			p.SetTimes(true)
			p.query = "ok"
			got := uitest.Draw(th, size[0], size[1], func(scr uv.Screen, area uv.Rectangle) *tea.Cursor { return p.Draw(scr, area, th) })
			uitest.Golden(t, fmt.Sprintf("log-%s-%dx%d", th.Name, size[0], size[1]), got)
		}
	}
}

// Whatever is done, drawing stays inside and shows lines that exist.
func TestInvariants(t *testing.T) {
	acts := []keymap.Action{
		keymap.MoveUp, keymap.MoveDown, keymap.MovePageUp, keymap.MovePageDown, keymap.MoveHalfUp, keymap.MoveHalfDown,
		keymap.MoveTop, keymap.MoveBottom, keymap.MoveLeft, keymap.MoveRight,
		keymap.LogFollow, keymap.ViewWrap, keymap.LogTime, keymap.LogErrors, keymap.SearchNext, keymap.SearchPrev,
	}
	rapid.Check(t, func(t *rapid.T) {
		p, l := newPane()
		l.max = rapid.IntRange(1, 30).Draw(t, "max")
		p.query = rapid.SampledFrom([]string{"", "a", "1"}).Draw(t, "query")
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "append") {
				l.add(rapid.SampledFrom([]string{"a", "E:b", "", strings.Repeat("构x", 40), "1\x1b[31m2"}).Draw(t, "line"))
			} else {
				p.Do(rapid.SampledFrom(acts).Draw(t, "action"))
			}
			w, h := rapid.IntRange(0, 50).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h")
			buf := uv.NewScreenBuffer(60, 20)
			p.Draw(buf, uv.Rect(3, 3, w, h), uitest.Dark())
			for y := range 20 {
				for x := range 60 {
					if c := buf.CellAt(x, y); !uv.Pos(x, y).In(uv.Rect(3, 3, w, h)) && *c != uv.EmptyCell {
						t.Fatalf("cell %d,%d outside %dx%d is %q", x, y, w, h, c.Content)
					}
				}
			}
			if w > 20 && h > 0 && l.Len() > 0 && !p.errors && uitest.Text(buf) == strings.Repeat("\n", 20) && strings.Join(l.lines, "") != "" && p.left == 0 {
				first := p.last.line - l.dropped
				if first < 0 || first >= l.Len() {
					t.Fatalf("nothing is shown; top is line %d of %d", first, l.Len())
				}
			}
		}
	})
}

func BenchmarkDraw(b *testing.B) {
	p, l := newPane(numbered(0, 10_000)...)
	buf := uv.NewScreenBuffer(200, 60)
	b.ReportAllocs()
	for b.Loop() {
		l.lines[len(l.lines)-1] = "\x1b[32mgrows\x1b[0m"
		p.Draw(buf, uv.Rect(0, 0, 200, 60), uitest.Dark())
	}
}

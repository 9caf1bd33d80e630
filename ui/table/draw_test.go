package table

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/ui/uitest"
)

// TUI-06: CJK, emoji and combining marks.
func TestWideRows(t *testing.T) {
	data, err := os.ReadFile("testdata/wide-rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var in []struct {
		SandboxID string `json:"sandboxID"`
		Alias     string `json:"alias"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	var rows []item
	for _, r := range in {
		rows = append(rows, item{id: r.SandboxID, name: r.Alias}, item{id: r.SandboxID + "-long", name: strings.Repeat(r.Alias, 12)})
	}
	tb := New(config())
	tb.SetRows(rows)
	for _, w := range []int{10, 13, 20, 21, 22, 23, 60, 61, 79} {
		buf := uv.NewScreenBuffer(w, 20)
		tb.Draw(buf, uv.Rect(0, 0, w, 20), uitest.Dark(), true)
		for y, line := range strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n") {
			// String leaves trailing plain blanks out; what is there must not be wider than the window.
			if got := ansi.StringWidth(line); got > w {
				t.Errorf("width %d: row %d is %d cells: %q", w, y, got, line)
			}
		}
		for y := range 20 {
			cells := 0
			for x := range w {
				c := buf.CellAt(x, y)
				if c.Width > 0 && ansi.StringWidth(c.Content) != c.Width {
					t.Errorf("width %d: cell %q says %d cells", w, c.Content, c.Width)
				}
				cells += c.Width
			}
			if cells != w {
				t.Errorf("width %d: row %d has %d cells", w, y, cells)
			}
		}
	}
	// The column after the wide one begins in the same cell in all rows.
	buf := uv.NewScreenBuffer(60, 20)
	tb.Draw(buf, uv.Rect(0, 0, 60, 20), uitest.Dark(), true)
	for y := 1; y <= len(rows); y++ {
		if got := buf.CellAt(50, y).Content; got != "s" {
			t.Errorf("row %d: the id column begins with %q", y, got)
		}
	}
}

func TestControlsNeverReachTheScreen(t *testing.T) {
	tb := New(config())
	tb.SetRows([]item{{id: "x", name: "a\x1b]0;t\ab\nc\u202ed"}})
	if got := paint(tb, 60, 4); strings.ContainsAny(got, "\x1b\a\u202e") {
		t.Errorf("controls in %q", got)
	}
}

func TestElideMiddle(t *testing.T) {
	tests := []struct {
		in   string
		w    int
		want string
	}{
		{"i4dct03zur9x2abcdefgh", 11, "i4dct…defgh"},
		{"short", 11, "short"},
		{"构建机器人一号服务", 9, "构建…服务"},
		{"abcdef", 3, "abcdef"},
	}
	for _, tt := range tests {
		if got := elideMiddle(tt.in, tt.w); got != tt.want {
			t.Errorf("elideMiddle(%q, %d) = %q, want %q", tt.in, tt.w, got, tt.want)
		}
	}
}

// A row is formatted once while it looks the same, and again when its version changes.
func TestRowsAreCached(t *testing.T) {
	cfg := config()
	formatted := 0
	cfg.Columns[0].Cell = func(r item, _ int) []Span {
		formatted++
		return plain(r.name)
	}
	tb := New(cfg)
	rows := items("a", "b", "c", "d", "e", "f", "g", "h")
	tb.SetRows(rows)
	th := uitest.Dark()
	buf := uv.NewScreenBuffer(60, 6)
	frame := func() int {
		formatted = 0
		tb.Draw(buf, uv.Rect(0, 0, 60, 6), th, true)
		return formatted
	}
	if n := frame(); n != 5 {
		t.Errorf("first frame formats %d rows, want the 5 on screen", n)
	}
	if n := frame(); n != 0 {
		t.Errorf("second frame formats %d rows", n)
	}
	tb.Move(1)
	if n := frame(); n != 2 {
		t.Errorf("moving the cursor formats %d rows, want 2", n)
	}
	rows[2].version++
	tb.SetRows(rows)
	if n := frame(); n != 1 {
		t.Errorf("one changed row formats %d", n)
	}
	tb.Invalidate()
	if n := frame(); n != 5 {
		t.Errorf("after Invalidate %d rows are formatted", n)
	}
	if len(tb.cache) > 5 {
		t.Errorf("the cache holds %d rows, only 5 are on screen", len(tb.cache))
	}
}

func TestGolden(t *testing.T) {
	rows := items("a", "b", "c", "d", "e", "f")
	rows[1].name = "构建机器人一号"
	rows[2].kind = RowStale
	rows[3].kind = RowTombstone
	for _, th := range uitest.Themes() {
		for _, size := range [][2]int{{40, 10}, {80, 24}} {
			tb := New(config())
			tb.SetRows(rows)
			tb.SetSort("name", false)
			tb.Mark("c", true)
			tb.SetCursor("b")
			got := uitest.Draw(th, size[0], size[1], func(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
				tb.Draw(scr, area, th, true)
				return nil
			})
			uitest.Golden(t, fmt.Sprintf("rows-%s-%dx%d", th.Name, size[0], size[1]), got)
		}
	}
	tb := New(config())
	uitest.Golden(t, "empty", paint(tb, 40, 6))
	tb.SetRows(rows)
	tb.SetFilter(func(item) bool { return false })
	uitest.Golden(t, "filtered", paint(tb, 40, 6))
}

func TestTinySizes(t *testing.T) {
	tb := New(config())
	tb.SetRows(items("a", "b", "c"))
	for w := range 30 {
		for h := range 5 {
			paint(tb, w, h)
		}
	}
}

func bench(b *testing.B, move bool) {
	tb := New(config())
	rows := make([]item, 10_000)
	for i := range rows {
		rows[i] = item{id: fmt.Sprintf("i%020d", i), name: fmt.Sprintf("web-agent-%d", i), n: i}
	}
	tb.SetRows(rows)
	tb.SetSort("name", false)
	th := uitest.Dark()
	buf := uv.NewScreenBuffer(200, 60)
	area := uv.Rect(0, 0, 200, 60)
	b.ReportAllocs()
	for b.Loop() {
		if move {
			tb.Page(1)
			if tb.CursorIndex() == tb.Len()-1 {
				tb.Top()
			}
		}
		tb.Draw(buf, area, th, true)
	}
}

func BenchmarkFrame(b *testing.B) { bench(b, false) }

func BenchmarkPage(b *testing.B) { bench(b, true) }

// BenchmarkRefresh is a new list of ten thousand rows, sorted.
func BenchmarkRefresh(b *testing.B) {
	tb := New(config())
	rows := make([]item, 10_000)
	for i := range rows {
		rows[i] = item{id: fmt.Sprintf("i%020d", i), name: fmt.Sprintf("web-agent-%d", i), n: i}
	}
	tb.SetSort("name", false)
	b.ReportAllocs()
	for b.Loop() {
		tb.SetRows(rows)
	}
}

// The budget of a frame holds: 2,000 allocations with every row formatted anew.
func TestFrameAllocations(t *testing.T) {
	tb := New(config())
	rows := make([]item, 10_000)
	for i := range rows {
		rows[i] = item{id: fmt.Sprintf("i%020d", i), name: fmt.Sprintf("web-agent-%d", i), n: i}
	}
	tb.SetRows(rows)
	th := uitest.Dark()
	buf := uv.NewScreenBuffer(200, 60)
	got := testing.AllocsPerRun(5, func() {
		tb.Invalidate()
		tb.Draw(buf, uv.Rect(0, 0, 200, 60), th, true)
	})
	if got > 2000 {
		t.Errorf("a frame makes %.0f allocations", got)
	}
}

package table

import (
	"fmt"
	"slices"
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

type item struct {
	id, name string
	n        int
	version  uint64
	kind     RowKind
}

func plain(s string) []Span { return []Span{{Text: s}} }

func config() Config[item] {
	return Config[item]{
		ID:      func(r item) string { return r.id },
		Version: func(r item) uint64 { return r.version },
		Kind:    func(r item) RowKind { return r.kind },
		Columns: []Column[item]{
			{
				Key: "name", Title: "NAME", Min: 8, Weight: 1, ElideMiddle: true,
				Compare: func(a, b item) int { return strings.Compare(a.name, b.name) },
				Cell:    func(r item, _ int) []Span { return plain(r.name) },
			},
			{
				Key: "n", Title: "N", Min: 5, Align: Right, Priority: 2,
				Compare: func(a, b item) int { return a.n - b.n },
				Cell:    func(r item, _ int) []Span { return plain(fmt.Sprint(r.n)) },
			},
			{
				Key: "id", Title: "ID", Min: 10, Priority: 1,
				Cell: func(r item, _ int) []Span { return plain(r.id) },
			},
		},
		Empty: "Nothing here.", EmptyFiltered: "No row matches.",
	}
}

func items(ids ...string) []item {
	out := make([]item, len(ids))
	for i, id := range ids {
		out[i] = item{id: id, name: "name-" + id, n: i}
	}
	return out
}

func paint(t *Table[item], w, h int) string {
	return uitest.Draw(uitest.Dark(), w, h, func(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
		t.Draw(scr, area, uitest.Dark(), true)
		return nil
	})
}

// LST-07: rows shrink under the cursor.
func TestRowsShrinkUnderTheCursor(t *testing.T) {
	tb := New(config())
	tb.SetRows(items("a", "b", "c", "d", "e"))
	tb.Bottom()
	steps := []struct {
		rows  []item
		index int
		id    string
	}{
		{items("a", "b", "c"), 2, "c"},
		{nil, -1, ""},
		{items("x", "y"), 0, "x"},
	}
	for _, s := range steps {
		tb.SetRows(s.rows)
		paint(tb, 60, 10)
		if tb.CursorIndex() != s.index || tb.CursorID() != s.id {
			t.Errorf("after %d rows the cursor is %d %q, want %d %q", len(s.rows), tb.CursorIndex(), tb.CursorID(), s.index, s.id)
		}
		if len(s.rows) == 0 {
			if got := tb.Targets(); len(got) != 0 {
				t.Errorf("an empty table has targets %v", got)
			}
			for _, a := range []keymap.Action{keymap.MoveDown, keymap.MovePageUp, keymap.MarkToggle, keymap.MarkAll, keymap.MarkRange, keymap.MoveBottom} {
				tb.Do(a)
			}
			if _, ok := tb.Cursor(); ok || tb.MarkedCount() != 0 {
				t.Error("keys on an empty table did something")
			}
			tb.CancelRange()
		}
	}
}

func TestCursorFollowsItsRow(t *testing.T) {
	tb := New(config())
	tb.SetRows(items("a", "b", "c"))
	tb.SetCursor("b")
	// a goes, the order turns around, new rows come.
	tb.SetRows(items("z", "c", "b"))
	if tb.CursorID() != "b" || tb.CursorIndex() != 2 {
		t.Errorf("cursor on %q at %d", tb.CursorID(), tb.CursorIndex())
	}
	// The row under the cursor goes: its neighbour is next.
	tb.SetRows(items("z", "c", "d", "e"))
	if tb.CursorIndex() != 2 || tb.CursorID() != "d" {
		t.Errorf("cursor on %q at %d, want d at 2", tb.CursorID(), tb.CursorIndex())
	}
	// It does not jump back when a flapping list shows the row again.
	tb.SetRows(items("b", "z", "c", "d", "e"))
	if tb.CursorID() != "d" {
		t.Errorf("cursor jumped to %q", tb.CursorID())
	}
}

func TestFilterGivesTheCursorBack(t *testing.T) {
	tb := New(config())
	tb.SetRows(items("a", "b", "c", "d"))
	tb.SetCursor("d")
	tb.SetFilter(func(r item) bool { return r.id < "c" })
	if tb.CursorID() != "b" || tb.Len() != 2 || tb.Total() != 4 {
		t.Fatalf("filtered: cursor %q, %d of %d", tb.CursorID(), tb.Len(), tb.Total())
	}
	tb.SetFilter(nil)
	if tb.CursorID() != "d" {
		t.Errorf("cursor is %q after the filter is gone, want d", tb.CursorID())
	}
	tb.SetFilter(func(r item) bool { return r.id == "none" })
	if tb.CursorID() != "" || len(tb.Targets()) != 0 {
		t.Error("something is under the cursor though nothing is shown")
	}
	tb.SetFilter(nil)
	if tb.CursorID() != "d" {
		t.Errorf("cursor is %q, want d", tb.CursorID())
	}
	// A filter typed letter by letter: rows go, then all of them, then some come
	// back. What was under the cursor at the start is what it returns to.
	tb.SetCursor("a")
	for _, keep := range []string{"bcd", "d", "", "abcd"} {
		tb.SetFilter(func(r item) bool { return strings.Contains(keep, r.id) })
	}
	if tb.CursorID() != "a" {
		t.Errorf("cursor is %q after a filter that hid everything for a moment, want a", tb.CursorID())
	}
	tb.SetCursor("d")
	tb.SetFilter(func(r item) bool { return r.id < "c" })
	tb.Top()
	tb.SetFilter(nil)
	if tb.CursorID() != "a" {
		t.Errorf("cursor is %q though it was moved to a", tb.CursorID())
	}
}

func TestMarks(t *testing.T) {
	ids := func(rs []item) (out []string) {
		for _, r := range rs {
			out = append(out, r.id)
		}
		return out
	}
	tb := New(config())
	tb.SetRows(items("a", "b", "c", "d", "e"))
	tb.Do(keymap.MarkToggle)
	tb.Do(keymap.MarkToggle)
	if d := cmp.Diff([]string{"a", "b"}, ids(tb.Targets())); d != "" {
		t.Errorf("after marking two: %s", d)
	}
	if tb.CursorID() != "c" {
		t.Errorf("cursor is %q", tb.CursorID())
	}
	tb.SetFilter(func(r item) bool { return r.id > "b" })
	tb.SetSort("name", true)
	if tb.MarkedCount() != 2 {
		t.Error("filter or sort lost marks")
	}
	tb.Do(keymap.MarkAll)
	if d := cmp.Diff([]string{"a", "b", "c", "d", "e"}, ids(tb.Marked())); d != "" {
		t.Errorf("after marking all: %s", d)
	}
	tb.Do(keymap.MarkAll)
	if d := cmp.Diff([]string{"a", "b"}, ids(tb.Marked())); d != "" {
		t.Errorf("marking all again unmarks what is shown: %s", d)
	}
	tb.SetFilter(nil)
	tb.SetRows(items("b", "c"))
	if d := cmp.Diff([]string{"b"}, ids(tb.Marked())); d != "" {
		t.Errorf("marks of rows that are gone: %s", d)
	}
	tb.Do(keymap.MarkClear)
	if d := cmp.Diff([]string{tb.CursorID()}, ids(tb.Targets())); d != "" {
		t.Errorf("without marks the cursor's row is meant: %s", d)
	}
}

func TestRange(t *testing.T) {
	tb := New(config())
	tb.SetRows(items("a", "b", "c", "d", "e"))
	tb.SetCursor("d")
	tb.Do(keymap.MarkRange)
	tb.Move(-2)
	if tb.MarkedCount() != 0 || !tb.Ranging() {
		t.Error("an open range marks already")
	}
	tb.Do(keymap.MarkRange)
	for id, want := range map[string]bool{"a": false, "b": true, "c": true, "d": true, "e": false} {
		if tb.IsMarked(id) != want {
			t.Errorf("%s marked: %v", id, !want)
		}
	}
	tb.ClearMarks()
	tb.Do(keymap.MarkRange)
	tb.SetRows(items("x", "y"))
	if tb.Ranging() {
		t.Error("the range goes on though its beginning is gone")
	}
}

func TestSort(t *testing.T) {
	order := func(tb *Table[item]) (out []string) {
		for i := range tb.Len() {
			r, _ := tb.Row(i)
			out = append(out, r.id)
		}
		return out
	}
	tb := New(config())
	rows := []item{{id: "c", n: 1}, {id: "a", n: 1}, {id: "b", n: 0}}
	tb.SetRows(rows)
	tb.SortBy("n")
	want := []string{"b", "a", "c"}
	if d := cmp.Diff(want, order(tb)); d != "" {
		t.Error(d)
	}
	// Equal rows keep their places whatever order a refresh has.
	slices.Reverse(rows)
	tb.SetRows(rows)
	if d := cmp.Diff(want, order(tb)); d != "" {
		t.Error(d)
	}
	tb.SortBy("n")
	if key, desc := tb.Sort(); key != "n" || !desc {
		t.Errorf("sorted by %q, %v", key, desc)
	}
	if d := cmp.Diff([]string{"a", "c", "b"}, order(tb)); d != "" {
		t.Error(d)
	}
	tb.SortBy("id") // cannot be sorted by
	if key, _ := tb.Sort(); key != "n" {
		t.Errorf("sorted by %q", key)
	}
}

func TestDoubleIDs(t *testing.T) {
	tb := New(config())
	tb.SetRows([]item{{id: "a", name: "old"}, {id: "b"}, {id: "a", name: "new"}})
	if r, _ := tb.Get("a"); tb.Total() != 2 || r.name != "new" {
		t.Errorf("%d rows, a is %q", tb.Total(), r.name)
	}
}

func TestMouse(t *testing.T) {
	tb := New(config())
	tb.SetRows(items("a", "b", "c", "d"))
	paint(tb, 60, 10)
	now := time.Unix(0, 0)
	click := func(x, y int) HitKind {
		return tb.Mouse(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}, now)
	}
	if k := click(5, 3); k != HitRow || tb.CursorID() != "c" {
		t.Errorf("click is %d on %q", k, tb.CursorID())
	}
	if k := click(9, 3); k != HitDouble {
		t.Errorf("second click is %d", k)
	}
	if k := click(9, 3); k != HitRow {
		t.Errorf("third click is %d, a double click needs two new ones", k)
	}
	now = now.Add(time.Second)
	if k := click(9, 3); k != HitRow {
		t.Errorf("slow second click is %d", k)
	}
	if k := click(5, 9); k != HitNothing {
		t.Errorf("click below the rows is %d", k)
	}
	if k := click(5, 0); k != HitHeader {
		t.Errorf("click on the header is %d", k)
	}
	if key, _ := tb.Sort(); key != "name" {
		t.Errorf("sorted by %q", key)
	}
	if k := tb.Mouse(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelUp}, now); k != HitWheel || tb.CursorID() != "a" {
		t.Errorf("wheel is %d, cursor on %q", k, tb.CursorID())
	}
	if k := tb.Mouse(tea.MouseClickMsg{X: 70, Y: 5, Button: tea.MouseLeft}, now); k != HitNothing {
		t.Errorf("click outside is %d", k)
	}
}

func TestFit(t *testing.T) {
	cols := []sizing{{min: 10, weight: 2}, {min: 8, max: 12, weight: 1, priority: 1}, {min: 6, priority: 3}, {min: 6, priority: 2}}
	tests := []struct {
		room  int
		cols  []int
		sizes []int
	}{
		{100, []int{0, 1, 2, 3}, []int{70, 12, 6, 6}},
		{36, []int{0, 1, 2, 3}, []int{10, 8, 6, 6}},
		{35, []int{0, 1, 3}, []int{15, 10, 6}},
		{27, []int{0, 1}, []int{15, 10}},
		{19, []int{0}, []int{19}},
		{5, []int{0}, []int{5}},
		{0, []int{0}, []int{1}},
	}
	for _, tt := range tests {
		l := fit(cols, tt.room)
		if !slices.Equal(l.cols, tt.cols) || !slices.Equal(l.sizes, tt.sizes) {
			t.Errorf("room %d: columns %v sizes %v, want %v %v", tt.room, l.cols, l.sizes, tt.cols, tt.sizes)
		}
	}
}

func TestFitStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sizing {
			m := rapid.IntRange(1, 30).Draw(t, "min")
			s := sizing{min: m, weight: rapid.IntRange(0, 3).Draw(t, "weight"), priority: rapid.IntRange(0, 4).Draw(t, "priority")}
			if rapid.Bool().Draw(t, "bounded") {
				s.max = m + rapid.IntRange(0, 20).Draw(t, "more")
			}
			return s
		}), 1, 8).Draw(t, "columns")
		room := rapid.IntRange(0, 250).Draw(t, "room")
		l := fit(cols, room)
		kept := 0
		for i, c := range l.cols {
			if l.sizes[i] < 1 || (cols[c].max > 0 && l.sizes[i] > cols[c].max) {
				t.Fatalf("column %d is %d wide, bounds %+v", c, l.sizes[i], cols[c])
			}
			kept++
		}
		needed := kept + gap*(kept-1) // every column shrunk to one cell
		if l.total > room && l.total > needed {
			t.Fatalf("total %d in room %d", l.total, room)
		}
		for c := range cols {
			if cols[c].priority == 0 && !slices.Contains(l.cols, c) {
				t.Fatalf("column %d of priority 0 was dropped", c)
			}
		}
	})
}

// Whatever happens, the cursor is on a row that is shown and marks are of rows that exist.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := New(config())
		id := rapid.StringMatching(`[a-f]`)
		t.Repeat(map[string]func(*rapid.T){
			"rows": func(t *rapid.T) {
				tb.SetRows(items(rapid.SliceOfN(id, 0, 8).Draw(t, "ids")...))
			},
			"filter": func(t *rapid.T) {
				min := id.Draw(t, "min")
				tb.SetFilter(func(r item) bool { return r.id >= min })
			},
			"unfilter": func(*rapid.T) { tb.SetFilter(nil) },
			"sort":     func(t *rapid.T) { tb.SortBy(rapid.SampledFrom([]string{"name", "n", ""}).Draw(t, "key")) },
			"move":     func(t *rapid.T) { tb.Move(rapid.IntRange(-10, 10).Draw(t, "n")) },
			"page":     func(t *rapid.T) { tb.Page(rapid.IntRange(-2, 2).Draw(t, "n")) },
			"mark":     func(*rapid.T) { tb.ToggleMark() },
			"all":      func(*rapid.T) { tb.MarkAll() },
			"range":    func(*rapid.T) { tb.Range() },
			"clear":    func(*rapid.T) { tb.ClearMarks() },
			"goto":     func(t *rapid.T) { tb.SetCursor(id.Draw(t, "id")) },
			"targets":  func(*rapid.T) { tb.Targets() },
			"draw": func(t *rapid.T) {
				paint(tb, rapid.IntRange(0, 60).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h"))
			},
			"": func(t *rapid.T) {
				r, ok := tb.Cursor()
				if ok != (tb.Len() > 0) || ok && r.id != tb.CursorID() || !ok && (tb.CursorID() != "" || tb.CursorIndex() != -1) {
					t.Fatalf("cursor %d %q in %d rows", tb.CursorIndex(), tb.CursorID(), tb.Len())
				}
				if got := len(tb.Marked()); got != tb.MarkedCount() {
					t.Fatalf("%d marks, %d marked rows", tb.MarkedCount(), got)
				}
				if tb.offset < 0 || (tb.Len() > 0 && tb.offset >= tb.Len()) {
					t.Fatalf("offset %d of %d rows", tb.offset, tb.Len())
				}
			},
		})
	})
}

// Package table is a virtual table: it holds any number of rows, formats only
// those on screen, and keeps cursor and marks by the rows' ids through
// refresh, sort and filter.
package table

import (
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// Span is a piece of text in one style. Text must be clean (see draw.Clean)
// except for what the table guards against itself: controls are never painted.
type Span struct {
	Text  string
	Style uv.Style
}

// Align is where a cell's text goes when it is narrower than its column.
type Align uint8

// Alignments.
const (
	Left Align = iota
	Right
)

// Column describes one column of a table of T.
type Column[T any] struct {
	// Key names the column for sorting; Title heads it.
	Key, Title string
	// Min and Max bound its width in cells; Max 0 is unbounded. The title's width counts as at least Min.
	Min, Max int
	// Weight is its share of the width that is left over; 0 takes none.
	Weight int
	// Priority orders dropping in narrow windows: the highest goes first, 0 never goes.
	Priority int
	Align    Align
	// Compare orders two rows by this column; nil means it cannot be sorted by.
	Compare func(a, b T) int
	// Cell formats a row for a column of the given width.
	Cell func(row T, width int) []Span
	// ElideMiddle cuts long text in its middle instead of at its end: for
	// identities, whose both ends tell them apart.
	ElideMiddle bool
	// Hidden columns are never drawn, but can be sorted by.
	Hidden bool
}

// RowKind is how a whole row is shown.
type RowKind uint8

// Kinds of row.
const (
	// RowNormal keeps the colours of its cells.
	RowNormal RowKind = iota
	// RowStale is from a source that does not answer now.
	RowStale
	// RowTombstone is gone or going.
	RowTombstone
)

// Config is what a table needs to know about T.
type Config[T any] struct {
	Columns []Column[T]
	// ID identifies a row for good; two rows of one id are one row, the later wins.
	ID func(T) string
	// Version changes when the row would be painted differently; nil means always.
	Version func(T) uint64
	// Kind is how the row is shown; nil means RowNormal.
	Kind func(T) RowKind
	// Empty is shown instead of rows when there are none, EmptyFiltered when the filter hides all.
	Empty, EmptyFiltered string
}

// Table is the state of one table on screen. It is used by one goroutine.
type Table[T any] struct {
	cfg  Config[T]
	rows []T            // as set, one per id
	at   map[string]int // id → position in rows
	view []int          // positions in rows that the filter lets through, sorted

	filter  func(T) bool
	sortKey string
	desc    bool

	cursor   int    // position in view; -1 when the view is empty
	cursorID string // id under the cursor, "" when the view is empty
	wantID   string // where the cursor was before a filter hid it
	offset   int    // first row of view on screen
	height   int    // rows on screen at the last Draw

	marks  map[string]bool
	anchor string // id where a range began, "" when none is open

	layout  layout
	cache   map[cacheKey][]uv.Cell
	spare   map[cacheKey][]uv.Cell
	free    [][]uv.Cell // cells of rows that left the screen
	area    uv.Rectangle
	lastHit hitMemory
	epoch   uint64
}

// New makes an empty table, unsorted.
func New[T any](cfg Config[T]) *Table[T] {
	return &Table[T]{
		cfg: cfg, at: make(map[string]int), marks: make(map[string]bool),
		cache: make(map[cacheKey][]uv.Cell), spare: make(map[cacheKey][]uv.Cell), cursor: -1,
	}
}

// SetRows replaces all rows. The cursor stays on its id; if that is gone it
// stays at its place, or on the last row. Marks of ids that are gone are dropped.
func (t *Table[T]) SetRows(rows []T) {
	t.rows = t.rows[:0]
	clear(t.at)
	for _, r := range rows {
		id := t.cfg.ID(r)
		if i, ok := t.at[id]; ok {
			t.rows[i] = r
			continue
		}
		t.at[id] = len(t.rows)
		t.rows = append(t.rows, r)
	}
	for id := range t.marks {
		if _, ok := t.at[id]; !ok {
			delete(t.marks, id)
		}
	}
	if _, ok := t.at[t.anchor]; !ok {
		t.anchor = ""
	}
	if _, ok := t.at[t.wantID]; !ok {
		t.wantID = ""
	}
	t.rebuild(false)
}

// SetFilter shows only rows for which keep is true; nil shows all. When the
// filter hides the row under the cursor and the cursor is not moved, a later
// filter that shows it again brings the cursor back to it.
func (t *Table[T]) SetFilter(keep func(T) bool) {
	t.filter = keep
	t.rebuild(true)
}

// SetSort sorts by the column of that key; "" keeps the order of SetRows.
func (t *Table[T]) SetSort(key string, desc bool) {
	t.sortKey, t.desc = key, desc
	t.rebuild(false)
}

// SortBy sorts by a column, or reverses the order if it is sorted by it already.
func (t *Table[T]) SortBy(key string) {
	if t.column(key) == nil {
		return
	}
	t.SetSort(key, key == t.sortKey && !t.desc)
}

// Sort tells the order.
func (t *Table[T]) Sort() (key string, desc bool) { return t.sortKey, t.desc }

func (t *Table[T]) column(key string) *Column[T] {
	for i := range t.cfg.Columns {
		if c := &t.cfg.Columns[i]; c.Key == key && c.Compare != nil {
			return c
		}
	}
	return nil
}

// rebuild makes the view anew and finds the cursor's row in it.
func (t *Table[T]) rebuild(filtering bool) {
	t.view = t.view[:0]
	for i, r := range t.rows {
		if t.filter == nil || t.filter(r) {
			t.view = append(t.view, i)
		}
	}
	if c := t.column(t.sortKey); c != nil {
		// Rows that compare equal go by id, so that a refresh in another order
		// does not make them swap places.
		slices.SortFunc(t.view, func(x, y int) int {
			n := c.Compare(t.rows[x], t.rows[y])
			if n == 0 {
				return strings.Compare(t.cfg.ID(t.rows[x]), t.cfg.ID(t.rows[y]))
			}
			if t.desc {
				return -n
			}
			return n
		})
	}
	t.place(filtering)
	t.scroll()
}

// place puts the cursor on its id, or where it was.
func (t *Table[T]) place(filtering bool) {
	if len(t.view) == 0 {
		if filtering && t.cursorID != "" && t.wantID == "" {
			t.wantID = t.cursorID
		}
		t.cursor, t.cursorID, t.offset = -1, "", 0
		return
	}
	if t.wantID != "" {
		if i := t.find(t.wantID); i >= 0 {
			t.cursor, t.cursorID, t.wantID = i, t.wantID, ""
			return
		}
	}
	if i := t.find(t.cursorID); i >= 0 {
		t.cursor = i
		return
	}
	if filtering && t.cursorID != "" && t.wantID == "" {
		t.wantID = t.cursorID
	}
	t.put(t.cursor)
}

// find is the position of an id in the view, or -1.
func (t *Table[T]) find(id string) int {
	i, ok := t.at[id]
	if !ok || id == "" {
		return -1
	}
	return slices.Index(t.view, i)
}

// put moves the cursor to a position of the view, as near as there is one.
func (t *Table[T]) put(i int) {
	if len(t.view) == 0 {
		t.cursor, t.cursorID = -1, ""
		return
	}
	t.cursor = min(max(i, 0), len(t.view)-1)
	t.cursorID = t.cfg.ID(t.rows[t.view[t.cursor]])
}

// Len is the number of rows that the filter shows, Total that of all rows.
func (t *Table[T]) Len() int { return len(t.view) }

// Total is the number of all rows.
func (t *Table[T]) Total() int { return len(t.rows) }

// Row is the row at a position of the view.
func (t *Table[T]) Row(i int) (row T, ok bool) {
	if i < 0 || i >= len(t.view) {
		return row, false
	}
	return t.rows[t.view[i]], true
}

// Get is the row of an id, whether the filter shows it or not.
func (t *Table[T]) Get(id string) (row T, ok bool) {
	i, ok := t.at[id]
	if !ok {
		return row, false
	}
	return t.rows[i], true
}

// Cursor is the row under the cursor; ok is false when no row is shown.
func (t *Table[T]) Cursor() (row T, ok bool) { return t.Row(t.cursor) }

// CursorID is the id under the cursor, "" when no row is shown.
func (t *Table[T]) CursorID() string { return t.cursorID }

// CursorIndex is the position of the cursor in the view, -1 when no row is shown.
func (t *Table[T]) CursorIndex() int { return t.cursor }

// SetCursor puts the cursor on an id. If the filter hides it now, the cursor
// goes there once it is shown.
func (t *Table[T]) SetCursor(id string) bool {
	i := t.find(id)
	if i < 0 {
		if _, ok := t.at[id]; ok {
			t.wantID = id
		}
		return false
	}
	t.wantID = ""
	t.put(i)
	return true
}

// Move moves the cursor by n rows, stopping at the ends.
func (t *Table[T]) Move(n int) {
	t.wantID = ""
	t.put(t.cursor + n)
}

// Page moves by n pages of what is on screen; HalfPage by half ones.
func (t *Table[T]) Page(n int) { t.Move(n * max(t.height-1, 1)) }

// HalfPage moves by n half pages.
func (t *Table[T]) HalfPage(n int) { t.Move(n * max(t.height/2, 1)) }

// Top and Bottom go to the ends.
func (t *Table[T]) Top() { t.Move(-len(t.view)) }

// Bottom goes to the last row.
func (t *Table[T]) Bottom() { t.Move(len(t.view)) }

// Invalidate forgets formatted rows: call it when cells change without a new
// version, such as ages once a second, or with a new theme.
func (t *Table[T]) Invalidate() { t.epoch++ }

// Visible returns the rows that were on screen at the last Draw.
func (t *Table[T]) Visible() []T {
	n := min(t.height, len(t.view)-t.offset)
	if n <= 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = t.rows[t.view[t.offset+i]]
	}
	return out
}

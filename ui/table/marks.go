package table

import "abxdash/keymap"

// ToggleMark marks or unmarks the row under the cursor and goes to the next one.
func (t *Table[T]) ToggleMark() {
	if t.cursorID == "" {
		return
	}
	t.Mark(t.cursorID, !t.marks[t.cursorID])
	t.Move(1)
}

// Mark marks or unmarks a row by id. Unknown ids are ignored.
func (t *Table[T]) Mark(id string, on bool) {
	if _, ok := t.at[id]; !ok {
		return
	}
	if on {
		t.marks[id] = true
	} else {
		delete(t.marks, id)
	}
}

// MarkAll marks every row that the filter shows; if all are marked already, it unmarks them.
func (t *Table[T]) MarkAll() {
	all := len(t.view) > 0
	for _, i := range t.view {
		all = all && t.marks[t.cfg.ID(t.rows[i])]
	}
	for _, i := range t.view {
		t.Mark(t.cfg.ID(t.rows[i]), !all)
	}
}

// ClearMarks unmarks everything and ends an open range.
func (t *Table[T]) ClearMarks() {
	clear(t.marks)
	t.anchor = ""
}

// Range begins a range at the cursor, or ends the open one and marks it.
func (t *Table[T]) Range() {
	if t.anchor == "" {
		t.anchor = t.cursorID
		return
	}
	if from, to, ok := t.span(); ok {
		for _, i := range t.view[from : to+1] {
			t.marks[t.cfg.ID(t.rows[i])] = true
		}
	}
	t.anchor = ""
}

// Ranging reports whether a range is open; CancelRange gives it up.
func (t *Table[T]) Ranging() bool { return t.anchor != "" }

// CancelRange gives up an open range without marking anything.
func (t *Table[T]) CancelRange() { t.anchor = "" }

// span is the open range in positions of the view.
func (t *Table[T]) span() (from, to int, ok bool) {
	a := t.find(t.anchor)
	if a < 0 || t.cursor < 0 {
		return 0, 0, false
	}
	return min(a, t.cursor), max(a, t.cursor), true
}

// IsMarked reports whether a row is marked.
func (t *Table[T]) IsMarked(id string) bool { return t.marks[id] }

// Marked returns the marked rows in the order of SetRows, those that the filter hides too.
func (t *Table[T]) Marked() []T {
	out := make([]T, 0, len(t.marks))
	for _, r := range t.rows {
		if t.marks[t.cfg.ID(r)] {
			out = append(out, r)
		}
	}
	return out
}

// MarkedCount is the number of marked rows.
func (t *Table[T]) MarkedCount() int { return len(t.marks) }

// Targets is what an action applies to: the marked rows (an open range
// included), or else the row under the cursor, or nothing.
func (t *Table[T]) Targets() []T {
	if t.anchor != "" {
		t.Range()
	}
	if len(t.marks) > 0 {
		return t.Marked()
	}
	if r, ok := t.Cursor(); ok {
		return []T{r}
	}
	return nil
}

// Do carries out an action that means the same in every table: moving,
// marking, reversing the order. It reports whether the action was one.
func (t *Table[T]) Do(a keymap.Action) bool {
	switch a {
	case keymap.MoveUp:
		t.Move(-1)
	case keymap.MoveDown:
		t.Move(1)
	case keymap.MovePageUp:
		t.Page(-1)
	case keymap.MovePageDown:
		t.Page(1)
	case keymap.MoveHalfUp:
		t.HalfPage(-1)
	case keymap.MoveHalfDown:
		t.HalfPage(1)
	case keymap.MoveTop:
		t.Top()
	case keymap.MoveBottom:
		t.Bottom()
	case keymap.MarkToggle:
		t.ToggleMark()
	case keymap.MarkRange:
		t.Range()
	case keymap.MarkAll:
		t.MarkAll()
	case keymap.MarkClear:
		t.ClearMarks()
	case keymap.SortReverse:
		t.SetSort(t.sortKey, !t.desc)
	default:
		return false
	}
	return true
}

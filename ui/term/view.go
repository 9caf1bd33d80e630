package term

import "strings"

// Cursor is the cursor as it should be drawn.
type Cursor struct {
	// X and Y count from 0.
	X, Y    int
	Visible bool
	Shape   CursorShape
	Blink   bool
	// Color is the default if the program did not set one.
	Color Color
}

// Row is one row seen through a View. Cells must not be kept or changed.
type Row struct {
	// Cells may be shorter than the view for rows of the scroll-back; the rest is blank.
	Cells []Cell
	// Wrapped means that the text goes on in the next row.
	Wrapped bool
	Mark    Mark
}

// View reads a terminal while its lock is held. It is valid only inside the function it was passed to.
type View struct{ t *Terminal }

// View runs fn with the terminal locked; fn must be short and must not call methods of the terminal.
func (t *Terminal) View(fn func(v View)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(View{t})
}

// Cols and Rows are the size of the screen.
func (v View) Cols() int { return v.t.cols }

// Rows is the height of the screen.
func (v View) Rows() int { return v.t.rows }

// ScrollRows is the number of rows in the scroll-back; 0 while the alternate screen is shown.
func (v View) ScrollRows() int {
	if v.t.scr == &v.t.alt {
		return 0
	}
	return v.t.scroll.len()
}

// Dropped counts the rows that fell out of the scroll-back.
func (v View) Dropped() uint64 { return v.t.scroll.dropped }

// Row returns row y of the screen; negative rows are the scroll-back, -1 the
// newest. A row that does not exist is empty.
func (v View) Row(y int) Row {
	if y >= 0 && y < v.t.rows {
		r := v.t.scr.rows[y]
		return Row{Cells: r.cells, Wrapped: r.wrapped, Mark: r.mark}
	}
	if i := v.ScrollRows() + y; y < 0 && i >= 0 {
		r := v.t.scroll.at(i)
		return Row{Cells: r.cells, Wrapped: r.wrapped, Mark: r.mark}
	}
	return Row{}
}

// Content is the text of a cell: one grapheme cluster, " " for an empty cell,
// "" for the second half of a wide character.
func (v View) Content(c Cell) string { return v.t.content(c) }

// Style is the style of a cell.
func (v View) Style(id StyleID) Style { return v.t.styles.get(id) }

// Link is the target of a hyperlink, "" for none.
func (v View) Link(id LinkID) string { return v.t.links.get(int(id)) }

// Version changes whenever the screen may have changed.
func (v View) Version() uint64 { return v.t.version }

// Modes returns what the program has switched on.
func (v View) Modes() Modes { return v.t.currentModes() }

// Cursor returns where and how the cursor is.
func (v View) Cursor() Cursor {
	t := v.t
	return Cursor{
		X: t.scr.cur.x, Y: t.scr.cur.y, Visible: t.modes.CursorVisible,
		Shape: t.cursorShape, Blink: t.cursorBlink, Color: t.cursorColor,
	}
}

// Text is the text of a row without trailing blanks.
func (v View) Text(y int) string {
	var b strings.Builder
	for _, c := range v.Row(y).Cells {
		b.WriteString(v.t.content(c))
	}
	return strings.TrimRight(b.String(), " ")
}

// Lines is the text of the screen, one string a row, without trailing blanks.
func (t *Terminal) Lines() []string {
	var out []string
	t.View(func(v View) {
		for y := range v.Rows() {
			out = append(out, v.Text(y))
		}
	})
	return out
}

// Cursor returns where and how the cursor is.
func (t *Terminal) Cursor() (c Cursor) {
	t.View(func(v View) { c = v.Cursor() })
	return c
}

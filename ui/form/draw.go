package form

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/theme"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
)

// maxNote is how many rows help or an error takes at most.
const maxNote = 3

// Height is how many rows the form needs in so many columns.
func (f *Form) Height(width int) int {
	h := 0
	for i := range f.fields {
		h += f.fields[i].rows()
	}
	return h + f.noteRows(width)
}

// noteRows are kept for help and errors: what the longest of them takes, so
// that the form does not change its size while the focus goes through it.
func (f *Form) noteRows(width int) int {
	rows := 1
	for i := range f.fields {
		e := &f.fields[i]
		texts := []string{e.Help, e.err}
		for _, o := range e.Options {
			texts = append(texts, f.optionNote(e, o, width))
		}
		for _, text := range texts {
			rows = max(rows, len(noteLines(text, width)))
		}
	}
	return rows
}

// optionNote is the help of a choice if there is no room for it beside the
// choice, else "".
func (f *Form) optionNote(e *field, option string, width int) string {
	if e.OptionHelp == nil {
		return ""
	}
	help := draw.Clean(e.OptionHelp(option))
	word := draw.Clean(option)
	if e.Words {
		word = f.Lang.Word(word)
	}
	// The mark, two gaps, "< " and " >", and the gap before the help.
	if 4+f.labelWidth(width)+4+draw.Width(word)+2+draw.Width(help) <= width {
		return ""
	}
	return help
}

// noteRoom is how many rows the note gets in an area: all of its own if there
// are that many, else what is said now, as long as the field with the focus is seen.
func (f *Form) noteRoom(area uv.Rectangle) int {
	fields := 0
	for i := range f.fields {
		fields += f.fields[i].rows()
	}
	text, _ := f.note(area.Dx())
	rows := max(area.Dy()-fields, len(noteLines(text, area.Dx())))
	return max(0, min(rows, f.noteRows(area.Dx()), area.Dy()-f.fields[f.focus].rows()))
}

// noteLines breaks a text of the note; what does not fit into the last line is cut.
func noteLines(text string, width int) []string {
	if width <= 2 || text == "" {
		return nil
	}
	lines := strings.Split(ansi.Wrap(draw.Clean(text), width-2, ""), "\n")
	if len(lines) > maxNote {
		lines = append(lines[:maxNote-1:maxNote-1], strings.Join(lines[maxNote-1:], " "))
	}
	return lines
}

func (e *field) rows() int {
	if e.Kind == Area {
		return max(e.Rows, 3)
	}
	return 1
}

// Draw paints the form: labels left, values right, and help or an error under
// the last field. It scrolls so that the focus stays visible; in a low area the
// note gives way to the field.
func (f *Form) Draw(scr uv.Screen, area uv.Rectangle, t *theme.Theme) *tea.Cursor {
	f.placed = f.placed[:0]
	if area.Dx() < 4 || area.Dy() < 1 || len(f.fields) == 0 {
		return nil
	}
	labels := f.labelWidth(area.Dx())
	note := f.noteRoom(area)
	body := uv.Rect(area.Min.X, area.Min.Y, area.Dx(), area.Dy()-note)
	f.scroll(body.Dy())
	var cur *tea.Cursor
	y := -f.top
	for i := range f.fields {
		e := &f.fields[i]
		h := e.rows()
		r := uv.Rect(body.Min.X, body.Min.Y+y, body.Dx(), h)
		f.placed = append(f.placed, r.Intersect(body))
		if y >= 0 && y+h <= body.Dy() {
			if c := f.drawField(scr, r, labels, i, t); c != nil {
				cur = c
			}
		}
		y += h
	}
	f.drawNote(scr, uv.Rect(area.Min.X, body.Max.Y, area.Dx(), note), t)
	return cur
}

func (f *Form) labelWidth(room int) int {
	w := 0
	for i := range f.fields {
		w = max(w, ansi.StringWidth(f.fields[i].Label))
	}
	return min(w, room/3)
}

func (f *Form) scroll(room int) {
	from := 0
	for i := range f.focus {
		from += f.fields[i].rows()
	}
	to := from + f.fields[f.focus].rows()
	if to-f.top > room {
		f.top = to - room
	}
	f.top = max(min(f.top, from), 0)
}

func (f *Form) drawField(scr uv.Screen, r uv.Rectangle, labels, i int, t *theme.Theme) *tea.Cursor {
	e := &f.fields[i]
	has := i == f.focus
	mark, label := " ", t.Text.Dim
	if has {
		mark, label = t.Symbol.Cursor, t.Text.Title
	}
	if e.err != "" {
		mark, label = t.Symbol.Warn, t.Text.Error
	}
	draw.Text(scr, r.Min.X, r.Min.Y, 1, mark, label)
	draw.Text(scr, r.Min.X+2, r.Min.Y, labels, e.Label, label)
	v := uv.Rect(r.Min.X+2+labels+2, r.Min.Y, r.Dx()-labels-4, r.Dy())
	if v.Dx() <= 0 {
		return nil
	}
	switch e.Kind {
	case Text, Secret:
		return onlyIf(has, e.input.Draw(scr, v, t))
	case Area:
		return onlyIf(has, e.drawArea(scr, v, t))
	case Check:
		e.drawCheck(scr, v, t, f.Lang)
	case Choice:
		f.drawChoice(e, scr, v, r.Dx(), t)
	}
	return nil
}

func onlyIf(has bool, c *tea.Cursor) *tea.Cursor {
	if has {
		return c
	}
	return nil
}

func (e *field) drawCheck(scr uv.Screen, v uv.Rectangle, t *theme.Theme, l *lang.Catalog) {
	box, word := "[ ]", l.T("off")
	if e.on {
		box, word = "["+t.Symbol.Mark+"]", l.T("on")
	}
	n := draw.Text(scr, v.Min.X, v.Min.Y, v.Dx(), box, t.Text.Strong)
	draw.Text(scr, v.Min.X+n+1, v.Min.Y, v.Dx()-n-1, word, t.Text.Dim)
}

func (f *Form) drawChoice(e *field, scr uv.Screen, v uv.Rectangle, width int, t *theme.Theme) {
	x, has, l := v.Min.X, e == &f.fields[f.focus], f.Lang
	room := func() int { return v.Max.X - x }
	if has {
		x += draw.Text(scr, x, v.Min.Y, room(), "< ", t.Text.Dim)
	}
	st := t.Text.Normal
	if has {
		st = t.Text.Strong
	}
	val := draw.Clean(e.value())
	if e.Words {
		val = l.Word(val)
	}
	x += draw.Text(scr, x, v.Min.Y, room(), val, st)
	if has {
		x += draw.Text(scr, x, v.Min.Y, room(), " >", t.Text.Dim)
	}
	if e.OptionHelp != nil && (!has || f.optionNote(e, e.value(), width) == "") {
		draw.Text(scr, x+2, v.Min.Y, room()-2, draw.Clean(e.OptionHelp(e.value())), t.Text.Dim)
	}
}

func (e *field) drawArea(scr uv.Screen, v uv.Rectangle, t *theme.Theme) *tea.Cursor {
	lines := strings.Split(e.area.Value(), "\n")
	if e.area.Value() == "" {
		for i, p := range strings.Split(e.Placeholder, "\n") {
			if i < v.Dy() {
				draw.Text(scr, v.Min.X, v.Min.Y+i, v.Dx(), p, t.Text.Placeholder)
			}
		}
		return tea.NewCursor(v.Min.X, v.Min.Y)
	}
	row, col := e.area.Line(), e.area.Column()
	top := max(0, row-v.Dy()+1)
	at := 0
	if row < len(lines) {
		r := []rune(lines[row])
		at = ansi.StringWidth(draw.Clean(string(r[:min(col, len(r))])))
	}
	from := max(0, at-v.Dx()+1)
	for i := 0; i < v.Dy() && top+i < len(lines); i++ {
		draw.Line(scr, v, i, cutLeft(draw.Clean(lines[top+i]), from), t.Text.Input)
	}
	return tea.NewCursor(v.Min.X+at-from, v.Min.Y+row-top)
}

// note is the error of the field with the focus, else the first error
// elsewhere, else help: of the choice made, if it does not fit beside it, or of
// the field.
func (f *Form) note(width int) (text string, isError bool) {
	e := &f.fields[f.focus]
	if e.err != "" {
		return e.err, true
	}
	for i := range f.fields {
		if o := &f.fields[i]; o.err != "" {
			return o.Label + ": " + o.err, true
		}
	}
	if e.Kind == Choice {
		if help := f.optionNote(e, e.value(), width); help != "" {
			return help, false
		}
	}
	return e.Help, false
}

func (f *Form) drawNote(scr uv.Screen, r uv.Rectangle, t *theme.Theme) {
	text, isError := f.note(r.Dx())
	st := t.Text.Dim
	if isError {
		st = t.Text.Error
	}
	for i, l := range noteLines(text, r.Dx()) {
		if i < r.Dy() {
			draw.Text(scr, r.Min.X+2, r.Min.Y+i, r.Dx()-2, l, st)
		}
	}
}

package kill

import (
	"slices"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// row of the list part: a heading or a line.
type row struct {
	heading string
	line    int
}

// headings is how many groups get a heading: those that deserve a second look,
// if they are not alone.
func (s *sheet) headings() int {
	n := 0
	for _, r := range s.rows() {
		if r.heading != "" {
			n++
		}
	}
	return n
}

func (s *sheet) rows() []row {
	mixed := len(s.lines) > 0 && s.lines[0].group != s.lines[len(s.lines)-1].group
	out := make([]row, 0, len(s.lines)+3)
	for i := range s.lines {
		g := s.lines[i].group
		if mixed && (i == 0 || s.lines[i-1].group != g) {
			if h := s.heading(g); h != "" {
				out = append(out, row{heading: h})
			}
		}
		out = append(out, row{line: i})
	}
	return out
}

func (s *sheet) heading(g group) string {
	switch g {
	case groupRunning:
		return s.env.Lang.T("running")
	case groupAttached:
		return s.env.Lang.T("your shell is attached")
	case groupProtected:
		return s.env.Lang.T("protected")
	default:
		return ""
	}
}

// visible returns the window of n rows that holds the cursor.
func (s *sheet) visible(rows []row, n int) []row {
	at := 0
	for i, r := range rows {
		if r.heading == "" && r.line == s.cursor {
			at = i
		}
	}
	if at < s.top {
		s.top = at
		// A heading right above the cursor belongs to it.
		if at > 0 && rows[at-1].heading != "" {
			s.top--
		}
	}
	if at >= s.top+n {
		s.top = at - n + 1
	}
	s.top = max(0, min(s.top, len(rows)-n))
	return rows[s.top:min(len(rows), s.top+max(0, n))]
}

func (s *sheet) paint(scr uv.Screen, area uv.Rectangle) {
	t := s.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, s.Title(), t.Border.Danger, t.Border.TitleFocused)
	if in.Dx() < 4 || in.Dy() < 1 {
		return
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy())
	const foot = 4
	list := max(1, in.Dy()-foot)
	rows := s.rows()
	shown := s.visible(rows, list)
	for i, r := range shown {
		s.paintRow(scr, uv.Rect(in.Min.X, in.Min.Y+i, in.Dx(), 1), r)
	}
	y := in.Min.Y + list
	for _, part := range []func(uv.Rectangle){
		func(r uv.Rectangle) { s.paintRule(scr, r, len(rows), len(shown)) },
		func(r uv.Rectangle) { s.paintDetail(scr, r) },
		func(r uv.Rectangle) { draw.Text(scr, r.Min.X, r.Min.Y, r.Dx(), s.totals(), t.Text.Dim) },
		func(r uv.Rectangle) { s.paintKeys(scr, r) },
	} {
		if y >= in.Max.Y {
			return
		}
		part(uv.Rect(in.Min.X, y, in.Dx(), 1))
		y++
	}
}

func (s *sheet) paintRule(scr uv.Screen, r uv.Rectangle, all, shown int) {
	t := s.env.Theme
	for x := r.Min.X; x < r.Max.X; x++ {
		draw.Text(scr, x, r.Min.Y, 1, t.Symbol.H, t.Text.Dim)
	}
	if all > shown {
		text := " " + s.env.Lang.N(all-shown, "%d row more, j k move", "%d rows more, j k move", all-shown) + " "
		draw.Text(scr, r.Max.X-ansi.StringWidth(text)-1, r.Min.Y, r.Dx(), text, t.Text.Dim)
	}
}

// noteOnly is the width below which a row has no provider and state: what
// speaks against the kill says more than half a word of each.
const noteOnly = 50

// paintRow paints mark, identity, provider, template, state and note. The id
// is always whole where it fits at all: it is what will be killed.
func (s *sheet) paintRow(scr uv.Screen, r uv.Rectangle, row row) {
	t := s.env.Theme
	if row.heading != "" {
		draw.Text(scr, r.Min.X, r.Min.Y, r.Dx(), row.heading, t.Text.Heading)
		return
	}
	l := &s.lines[row.line]
	st := t.Row.Normal
	switch {
	case row.line == s.cursor:
		st = t.Row.Selected
	case !l.dies():
		st = t.Row.Tombstone
	}
	draw.Fill(scr, r, st)
	x := r.Min.X
	cell := func(width int, text string, style uv.Style) {
		if width = min(width, r.Max.X-x); width > 0 {
			draw.Text(scr, x, r.Min.Y, width, text, style)
			x += width + 1
		}
	}
	mark := " "
	if l.dies() {
		mark = t.Symbol.Mark
	}
	cell(1, mark, st)
	wide := r.Dx() >= 90
	idWidth := 36
	if r.Dx() < 70 {
		idWidth = max(12, r.Dx()/2)
	}
	cell(idWidth, identity(l, idWidth), st)
	if r.Dx() < noteOnly {
		cell(r.Max.X-x, s.note(l), st)
		return
	}
	cell(9, present.Clean(l.Sandbox.Provider), st)
	if wide {
		cell(10, present.Template(l.Sandbox), st)
	}
	state := st
	if row.line != s.cursor && l.dies() {
		state = s.stateStyle(t, l)
	}
	cell(9, s.env.Lang.Word(present.StateWord(l.Sandbox)), state)
	cell(r.Max.X-x, s.note(l), st)
}

func (s *sheet) stateStyle(t *theme.Theme, l *line) uv.Style {
	return t.State(string(l.Sandbox.State)).Style
}

// identity is "name id" with the id whole as long as there is room for it.
func identity(l *line, width int) string {
	id := present.Clean(string(l.Sandbox.ID))
	if l.Sandbox.Name == "" {
		return present.Elide(id, width)
	}
	room := width - ansi.StringWidth(id) - 1
	if room < 4 {
		return present.Elide(present.Label(l.Sandbox), width)
	}
	return draw.Pad(present.Elide(present.Label(l.Sandbox), room), room) + " " + id
}

// paintDetail says everything about the row under the cursor.
func (s *sheet) paintDetail(scr uv.Screen, r uv.Rectangle) {
	l := &s.lines[s.cursor]
	text := present.LongLabel(l.Sandbox) + "  " + s.note(l)
	draw.Text(scr, r.Min.X, r.Min.Y, r.Dx(), text, s.env.Theme.Text.Normal)
}

// roomForBack is the width from which on the way out is told in full.
const roomForBack = 60

func (s *sheet) paintKeys(scr uv.Screen, r uv.Rectangle) {
	t, keys, tr := s.env.Theme, s.env.Keys, s.env.Lang
	x := r.Min.X
	put := func(text string, st uv.Style) { x += draw.Text(scr, x, r.Min.Y, r.Max.X-x, text, st) }
	if p := s.prompt(); p != "" {
		st := t.Text.Strong
		if s.nudge {
			st = t.Text.Warn
		}
		put(p, st)
		put("   ", t.Text.Normal)
	}
	keep, back := tr.T("keep this one"), tr.T("back, nothing dies")
	if s.lines[s.cursor].keep {
		keep = tr.T("kill this one too")
	}
	if r.Dx() < roomForBack {
		back = tr.T("back")
	}
	key := func(a keymap.Action, what string) draw.Hint {
		return draw.Hint{Key: present.KeyIn(keys, keymap.Sheet, a), What: what}
	}
	// The way out comes first where there is no room for all.
	hints := []draw.Hint{key(keymap.NavBack, back), key(keymap.SheetKeep, keep)}
	if s.prompt() == "" { // else that names the key
		hints = slices.Insert(hints, 0, key(keymap.SheetConfirm, tr.T("kill in 5 s")))
	}
	if s.pausable() > 0 {
		hints = append(hints, key(keymap.SheetPause, tr.T("pause instead")))
	}
	draw.Hints(scr, uv.Rect(x, r.Min.Y, r.Max.X-x, 1), t, hints...)
}

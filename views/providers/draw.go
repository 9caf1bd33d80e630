package providers

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/theme"
	"abxdash/ui/draw"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// detailRows is the height of the part below the table, frame included, and
// minDetail the window height from which there is one.
const (
	detailRows = 9
	minDetail  = 18
)

func (s *Screen) newTable() *table.Table[row] {
	tr := s.env.Lang
	text := func(f func(row) string) func(row, int) []table.Span {
		return func(r row, _ int) []table.Span { return []table.Span{{Text: f(r)}} }
	}
	dim := func(f func(row) string) func(row, int) []table.Span {
		return func(r row, _ int) []table.Span { return []table.Span{{Text: f(r), Style: s.env.Theme.Text.Dim}} }
	}
	return table.New(table.Config[row]{
		ID: func(r row) string { return r.Name },
		Columns: []table.Column[row]{
			{Key: "shown", Min: 1, Cell: text(func(r row) string {
				if r.used && s.shown(r.Name) {
					return s.env.Theme.Symbol.OK
				}
				return ""
			})},
			{Key: "name", Title: tr.T("NAME"), Min: 10, Max: 36, Weight: 2, ElideMiddle: true, Cell: s.nameCell},
			{Key: "state", Title: tr.T("STATE"), Min: 12, Max: 18, Weight: 1, Cell: s.stateCell},
			{Key: "boxes", Title: tr.T("BOXES"), Min: 5, Align: table.Right, Cell: text(boxes)},
			{Key: "seen", Title: tr.T("SEEN"), Min: 7, Max: 9, Priority: 2, Align: table.Right, Cell: dim(s.seen)},
			{Key: "caps", Title: tr.T("CAPS"), Min: 9, Priority: 1, Cell: dim(func(r row) string { return present.Badges(r.Capabilities) })},
			{Key: "key", Title: tr.T("KEY OR WHAT IS MISSING"), Min: 20, Weight: 4, Priority: 3, Cell: dim(s.keyOf)},
		},
		Empty: tr.T("There is no provider."),
	})
}

func (s *Screen) nameCell(r row, width int) []table.Span {
	t := s.env.Theme
	st := t.Text.Strong
	if !r.used {
		st = t.Text.Dim
	}
	out := []table.Span{{Text: present.Clean(r.Name), Style: st}}
	if r.Name == s.def {
		mark := " " + s.env.Lang.T("default")
		if ansi.StringWidth(out[0].Text)+ansi.StringWidth(mark) > width {
			mark = " *"
		}
		out = append(out, table.Span{Text: mark, Style: t.Text.Info})
	}
	return out
}

// state words how a provider is.
func (s *Screen) state(r row) (string, present.Health) {
	switch {
	case s.testing[r.Name]:
		return s.env.Lang.T("testing"), present.HealthIdle
	case r.used:
		return r.health.WordIn(s.env.Lang, s.env.Now())
	case noKey(r):
		return s.env.Lang.T("no key"), present.HealthIdle
	default:
		return s.env.Lang.T("not in use"), present.HealthIdle
	}
}

// noKey reports that a key is all that is missing, as far as is known.
func noKey(r row) bool { return !r.used && r.Key == "" && r.Problem != "" && r.Address == "" }

func (s *Screen) stateCell(r row, _ int) []table.Span {
	word, h := s.state(r)
	st, symbol := look(s.env.Theme, h)
	return []table.Span{{Text: symbol + " " + word, Style: st}}
}

// look is the style and the symbol of a state of health.
func look(t *theme.Theme, h present.Health) (uv.Style, string) {
	switch h {
	case present.HealthOK:
		return t.Text.OK, t.Symbol.OK
	case present.HealthWarn:
		return t.Text.Warn, t.Symbol.Warn
	case present.HealthBad:
		return t.Text.Error, t.Symbol.Fail
	default:
		return t.Text.Dim, t.Symbol.Busy
	}
}

func boxes(r row) string {
	if !r.used || !r.health.Loaded && r.health.Sandboxes == 0 {
		return present.TTLUnset
	}
	out := strconv.Itoa(r.health.Sandboxes)
	if r.health.More {
		out += "+"
	}
	return out
}

func (s *Screen) seen(r row) string {
	if !r.used {
		return present.TTLUnset
	}
	return r.health.SeenIn(s.env.Lang, s.env.Now())
}

// keyOf says where the key is from, never the key, or what is missing.
func (s *Screen) keyOf(r row) string {
	tr := s.env.Lang
	switch {
	case r.Key != "":
		return present.Clean(tr.Word(r.Key))
	case noKey(r) && r.Needs != "":
		return tr.T("needs %s", present.Clean(tr.Word(r.Needs)))
	case r.Problem != "":
		return present.Clean(tr.Word(r.Problem))
	default:
		return tr.T("no key needed")
	}
}

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	list := area
	if area.Dy() >= minDetail {
		list = uv.Rect(area.Min.X, area.Min.Y, area.Dx(), area.Dy()-detailRows)
		s.drawDetail(scr, uv.Rect(area.Min.X, list.Max.Y, area.Dx(), detailRows))
	}
	in := draw.Box(scr, list, t, s.frameTitle(), t.Border.Focused, t.Border.TitleFocused)
	if s.err != nil && in.Dy() > 1 {
		draw.Line(scr, in, 0, " "+present.ErrorLine(s.err), t.Text.Error)
		in = uv.Rect(in.Min.X, in.Min.Y+1, in.Dx(), in.Dy()-1)
	}
	s.area = in
	s.table.Draw(scr, in, t, true)
	return nil
}

// frameTitle says what the list shows.
func (s *Screen) frameTitle() string {
	out := s.Title()
	if s.opt.Shown != nil {
		if only := s.opt.Shown(); len(only) > 0 {
			return out + " " + s.env.Theme.Symbol.H + " " + s.env.Lang.T("the list shows %s", present.CleanMax(strings.Join(only, ", "), 60))
		}
	}
	return out + " " + s.env.Theme.Symbol.H + " " + s.env.Lang.T("the list shows all")
}

func (s *Screen) drawDetail(scr uv.Screen, area uv.Rectangle) {
	t := s.env.Theme
	r, ok := s.table.Cursor()
	title := s.env.Lang.T("Provider")
	if ok {
		title = present.Clean(r.Name)
	}
	in := draw.Box(scr, area, t, title, t.Border.Normal, t.Border.Title)
	if !ok {
		return
	}
	y := in.Min.Y
	for _, f := range s.facts(r) {
		name := f.name
		lines := strings.Split(ansi.Wrap(f.value, max(in.Dx()-13, 1), ""), "\n")
		for i, l := range lines {
			switch {
			case y >= in.Max.Y:
				return
			case y == in.Max.Y-1: // no room for the rest, which is cut visibly
				l = strings.Join(lines[i:], " ")
			}
			draw.Text(scr, in.Min.X+1, y, 10, name, t.Text.Dim)
			draw.Text(scr, in.Min.X+12, y, in.Dx()-13, l, f.style)
			name = ""
			y++
		}
	}
}

// fact is one line about a provider; clean.
type fact struct {
	name, value string
	style       uv.Style
}

// facts are what is known of a provider, what matters most first.
func (s *Screen) facts(r row) []fact {
	t, tr := s.env.Theme, s.env.Lang
	var out []fact
	add := func(name, value string, st uv.Style) {
		if value != "" {
			out = append(out, fact{name, value, st})
		}
	}
	if r.health.Err != nil {
		add(tr.T("failing"), present.ErrorLine(r.health.Err), t.Text.Error)
		add(tr.T("try"), tr.Word(present.Hint(r.health.Err)), t.Text.Normal)
	}
	add(tr.T("problem"), present.Clean(tr.Word(r.Problem)), t.Text.Warn)
	add(tr.T("try"), present.Clean(tr.Word(r.Hint)), t.Text.Normal)
	add(tr.T("what"), present.Clean(tr.Word(r.Title)), t.Text.Normal)
	add(tr.T("needs"), present.Clean(tr.Word(r.Needs)), t.Text.Normal)
	add(tr.T("key"), present.Clean(tr.Word(r.Key)), t.Text.Normal)
	add(tr.T("address"), present.Clean(r.Address), t.Text.Normal)
	can, cannot := present.BadgeWords(r.Capabilities, tr)
	add(tr.T("can"), strings.Join(can, ", "), t.Text.Normal)
	add(tr.T("lacks"), strings.Join(cannot, "; "), t.Text.Dim)
	for _, n := range r.Notes {
		add(tr.T("note"), present.Clean(tr.Word(n)), t.Text.Dim)
	}
	return out
}

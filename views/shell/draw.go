package shell

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// sideBySide is the least width at which two shells stand beside each other
// instead of above each other.
const sideBySide = 100

// layout divides the room for n panes; gap is the line between two.
func layout(area uv.Rectangle, n int) (panes []uv.Rectangle, gap uv.Rectangle) {
	switch {
	case n < 2:
		return []uv.Rectangle{area}, uv.Rectangle{}
	case area.Dx() >= sideBySide:
		w := (area.Dx() - 1) / 2
		left := uv.Rect(area.Min.X, area.Min.Y, w, area.Dy())
		gap = uv.Rect(left.Max.X, area.Min.Y, 1, area.Dy())
		return []uv.Rectangle{left, uv.Rect(gap.Max.X, area.Min.Y, area.Max.X-gap.Max.X, area.Dy())}, gap
	}
	h := max((area.Dy()-1)/2, 1)
	top := uv.Rect(area.Min.X, area.Min.Y, area.Dx(), h)
	gap = uv.Rect(area.Min.X, top.Max.Y, area.Dx(), 1)
	return []uv.Rectangle{top, uv.Rect(area.Min.X, gap.Max.Y, area.Dx(), max(area.Max.Y-gap.Max.Y, 0))}, gap
}

// Draw implements ui.Screen: the terminals, and one line that names the shells.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	body := uv.Rect(area.Min.X, area.Min.Y, area.Dx(), max(0, area.Dy()-1))
	if body.Dx() <= 0 || body.Dy() <= 0 {
		return nil
	}
	areas, gap := layout(body, len(s.panes))
	var cur *tea.Cursor
	for i, p := range s.panes {
		p.area = areas[i]
		if p.s != nil && !s.opts.Fixed && p.area.Dx() > 0 && p.area.Dy() > 0 {
			size := p.area
			if s.raw {
				size = scr.Bounds() // it is about to get the whole terminal
			}
			p.s.fit(size.Dx(), size.Dy())
		}
		if c := s.drawPane(scr, p, i == s.focus); i == s.focus {
			cur = c
		}
	}
	s.drawGap(scr, gap)
	row := uv.Rect(area.Min.X, area.Max.Y-1, area.Dx(), 1)
	draw.Line(scr, row, 0, "", s.env.Theme.Bar.Status)
	if s.search != nil {
		return s.search.Draw(scr, uv.Rect(row.Min.X+1, row.Min.Y, row.Dx()-1, 1), s.env.Theme)
	}
	s.drawBar(scr, row)
	return cur
}

// drawGap draws the line between two panes; it points to the one typed into.
func (s *Screen) drawGap(scr uv.Screen, gap uv.Rectangle) {
	t := s.env.Theme
	for y := gap.Min.Y; y < gap.Max.Y; y++ {
		for x := gap.Min.X; x < gap.Max.X; x++ {
			sym := t.Symbol.V
			if gap.Dy() == 1 {
				sym = t.Symbol.H
			}
			draw.Text(scr, x, y, 1, sym, t.Border.Normal)
		}
	}
	if gap.Empty() {
		return
	}
	arrow := "<"
	switch {
	case gap.Dy() == 1 && s.focus == 0:
		arrow = "^"
	case gap.Dy() == 1:
		arrow = "v"
	case s.focus == 1:
		arrow = ">"
	}
	draw.Text(scr, gap.Min.X, gap.Min.Y, 1, arrow, t.Border.Focused)
}

func (s *Screen) drawPane(scr uv.Screen, p *pane, focused bool) *tea.Cursor {
	t, tr := s.env.Theme, s.env.Lang
	say := func(text string, st uv.Style) {
		draw.Text(scr, p.area.Min.X+1, p.area.Min.Y, p.area.Dx()-2, text, st)
	}
	switch {
	case focused && s.confirm:
		say(tr.T("This sandbox is %s, not running. enter tries a shell all the same, esc goes back.", tr.Word(present.StateWord(s.sb))), t.Text.Warn)
		return nil
	case p.s == nil && s.opts.Manager.opts.ReadOnly != "":
		say(tr.T("No shell: %s.", s.opts.Manager.opts.ReadOnly), t.Text.Warn)
		return nil
	case p.s == nil:
		if s.looking {
			say(tr.T("looking for your shells …"), t.Text.Dim)
		}
		return nil
	case p.s.err != nil:
		say(p.s.ending(tr), t.Text.Error)
		return nil
	case p.s.live == nil:
		say(tr.T("starting a shell …"), t.Text.Dim)
		return nil
	}
	w := s.view(p)
	p.s.drawn = true
	// Not while the terminal is about to be given away: the framework writes the
	// cursor of its last frame after the one of the next, so that it would stay.
	w.SetFocused(focused && s.Captures() && !s.raw)
	return w.Draw(scr, p.area)
}

// drawBar names the shells and their state on the left; recording and the
// remaining lifetime are on the right and are the last to go.
func (s *Screen) drawBar(scr uv.Screen, row uv.Rectangle) {
	t := s.env.Theme
	left, ok := s.sb.Remaining(s.env.Now())
	soon := ok && left < 5*time.Minute
	right, st := s.env.Lang.T("TTL %s", s.env.Lang.Word(present.TTL(s.sb, s.env.Now())))+" ", t.Bar.Status
	if soon {
		st = t.Text.Warn
		if key := present.KeyIn(s.env.Keys, keymap.Shell, keymap.ShellExtend); key != "" {
			right = s.env.Lang.T("%s extends", key) + "  " + right
		}
	}
	if s.extended != "" && s.env.Now().Sub(s.extendedAt) < extendedTime {
		right = s.extended + " "
	}
	w := row.Dx()
	put := func(text string, st uv.Style) {
		if n := draw.Width(text); n+10 < w {
			draw.Text(scr, row.Min.X+w-n, row.Min.Y, n, text, st)
			w -= n + 1
		}
	}
	if !s.opts.Fixed { // a shell alone, without its sandbox
		put(right, st)
	}
	if x := s.cur(); x != nil {
		if mark := x.rec.mark(); mark != "" {
			put(mark, t.Text.Error)
		}
	}
	draw.Text(scr, row.Min.X+1, row.Min.Y, w-1, s.barText(), t.Bar.Status)
}

func (s *Screen) barText() string {
	switch {
	case s.confirm:
		return s.env.Lang.T("enter shell · esc back")
	case s.cur() == nil:
		return s.env.Lang.T("esc back")
	}
	var tabs strings.Builder
	for _, x := range s.shells() {
		name := x.name
		if x.rec.on() {
			name += "●"
		}
		if x == s.cur() {
			tabs.WriteString("[" + name + "] ")
		} else {
			tabs.WriteString(name + " ")
		}
	}
	return tabs.String() + s.stateText()
}

// stateText says what the shell that is typed into is doing.
func (s *Screen) stateText() string {
	x, tr := s.cur(), s.env.Lang
	switch {
	case x.over():
		return tr.T("%s · enter new shell · esc back", x.ending(tr))
	case s.browsing():
		return s.browseText()
	case s.released:
		return tr.T("detached, the shell goes on · enter attach · esc back")
	case x.live == nil:
		return tr.T("starting")
	case x.live.InputError() != nil:
		return tr.T("not sent: %s", present.ErrorLine(x.live.InputError()))
	}
	if title := present.CleanMax(x.live.Terminal().Title(), 60); title != "" {
		return title
	}
	return tr.T("attached")
}

func (s *Screen) browseText() string {
	w, tr := s.pane().widget, s.env.Lang
	key := func(a keymap.Action) string { return present.KeyIn(s.env.Keys, keymap.Scrollback, a) }
	switch {
	case w.Selected():
		return tr.T("selecting · %s copy · %s live", key(keymap.ScrollCopy), key(keymap.NavBack))
	case w.Query() != "":
		return tr.T("/%s · %s/%s next, previous · %s live", present.CleanMax(w.Query(), 30), key(keymap.SearchNext), key(keymap.SearchPrev), key(keymap.NavBack))
	}
	return tr.T("scrolled back · %s search · %s select · %s live", key(keymap.SearchOpen), key(keymap.ScrollSelect), key(keymap.NavBack))
}

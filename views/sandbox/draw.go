package sandbox

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// The least room for provider and template, and for an ID in brackets after the name.
const (
	restLeast = 12
	shortID   = 12
)

// Draw implements ui.Screen: one line of identity, one of tabs, then the tab.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	top := 2
	if area.Dy() < 8 {
		top = 1
	}
	s.drawIdentity(scr, uv.Rect(area.Min.X, area.Min.Y, area.Dx(), 1))
	if top == 2 {
		s.drawTabs(scr, uv.Rect(area.Min.X, area.Min.Y+1, area.Dx(), 1))
	}
	body := uv.Rect(area.Min.X, area.Min.Y+top, area.Dx(), area.Dy()-top)
	if body.Dy() <= 0 {
		return nil
	}
	return s.tabs[s.active].screen.Draw(scr, body)
}

// drawIdentity shows who this is, its state and its remaining time; on a
// narrow screen the right-hand parts go first.
func (s *Screen) drawIdentity(scr uv.Screen, row uv.Rectangle) {
	t := s.env.Theme
	x, w := row.Min.X+1, row.Dx()-2
	now := s.clock.At(s.env.Now())
	state, word := t.State(string(s.sb.State)), s.env.Lang.Word(present.StateWord(s.sb))
	if s.gone {
		word, state.Style, state.Symbol = s.env.Lang.T("no longer exists"), t.Text.Error, t.Symbol.Fail
	}
	right := s.env.Lang.T("TTL %s", s.env.Lang.Word(present.TTL(s.sb, now)))
	if s.gone {
		right = ""
	} else if s.err != nil {
		right = present.CleanMax(present.ErrorLine(s.err), max(10, w/2))
	}
	rw := ansi.StringWidth(right)
	if rw+12 <= w {
		st := t.Text.Normal
		switch left, ok := s.sb.Remaining(now); {
		case s.err != nil:
			st = t.Text.Error
		case ok && left < lowTime:
			st = t.Text.Warn
		}
		draw.Text(scr, x+w-rw, row.Min.Y, rw, right, st)
		w -= rw + 2
	}
	used := draw.Text(scr, x, row.Min.Y, w, present.Elide(s.who(max(8, w/2)), max(8, w/2)), t.Text.Strong)
	used += draw.Text(scr, x+used, row.Min.Y, w-used, "  "+state.Symbol+" "+word, state.Style)
	rest := "  " + present.Clean(s.sb.Provider) + " · " + present.Template(s.sb)
	if s.sb.Isolation != "" && s.sb.Isolation != client.IsolationProvider {
		rest += " · " + present.Clean(string(s.sb.Isolation))
	}
	if w-used >= min(draw.Width(rest), restLeast) { // a letter or two would say nothing
		draw.Text(scr, x+used, row.Min.Y, w-used, rest, t.Text.Dim)
	}
}

// who names the sandbox in about so many cells: where name and ID together
// would both be cut beyond recognition, it is the short name alone.
func (s *Screen) who(width int) string {
	long, short := present.LongLabel(s.sb), present.Label(s.sb)
	if draw.Width(long) > width && width < draw.Width(short)+shortID {
		return short
	}
	return long
}

// drawTabs shows the tabs; where they do not fit, the others by number only, so
// that the one shown is always named.
func (s *Screen) drawTabs(scr uv.Screen, row uv.Rectangle) {
	t := s.env.Theme
	x := row.Min.X
	all := 0
	for _, tb := range s.tabs {
		all += ansi.StringWidth(s.env.Lang.Word(tb.Title)) + 5
	}
	for i := range s.tabs {
		tb := &s.tabs[i]
		st := t.Bar.Tab
		switch {
		case i == s.active:
			st = t.Bar.TabActive
		case s.missing(tb.Tab) != "":
			st = t.Bar.TabDisabled
		}
		label := fmt.Sprintf(" %d %s ", i+1, s.env.Lang.Word(tb.Title))
		if all-1 > row.Dx() && i != s.active {
			label = fmt.Sprintf(" %d ", i+1)
		}
		tb.spot = uv.Rectangle{}
		n := draw.Text(scr, x, row.Min.Y, row.Max.X-x, label, st)
		tb.spot = uv.Rect(x, row.Min.Y, n, 1)
		x += n + 1
		if x >= row.Max.X {
			return
		}
	}
}

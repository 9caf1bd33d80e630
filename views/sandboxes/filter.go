package sandboxes

import (
	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui/form"
	"abxdash/views/present"
)

// applyFilter shows what the filter and the stray switch let through.
func (s *Screen) applyFilter() {
	f, strays := s.filter, s.strayOnly
	s.only = s.store.only
	if f.Empty() && !strays && len(s.only) == 0 {
		s.table.SetFilter(nil)
		return
	}
	s.table.SetFilter(func(e *entry) bool {
		if s.store.hides(e.src) {
			return false
		}
		if strays && len(e.stray) == 0 {
			return false
		}
		if f.Empty() {
			return true
		}
		now := s.at(e)
		r := present.NewFilterRow(present.Row{Sandbox: e.sb, Now: now, Stray: e.stray, Owner: s.opt.Owner, IdleFor: e.idleFor(now)})
		return f.Match(&r)
	})
}

// typed edits the filter line; every change filters at once.
func (s *Screen) typed(msg tea.Msg) tea.Cmd {
	if s.input == nil {
		return nil
	}
	switch s.input.Update(msg) {
	case form.Changed:
		s.setFilter(s.input.Value())
	case form.Accepted:
		s.history = s.input.Remember(s.filter.String())
		s.input, s.filterErr = nil, ""
	case form.Cancelled:
		s.setFilter(s.before)
		s.input, s.filterErr = nil, ""
	}
	return nil
}

// setFilter parses text; what cannot be read yet leaves the rows as they are.
func (s *Screen) setFilter(text string) {
	f, err := present.ParseFilter(text)
	if err != nil {
		s.filterErr = s.env.Lang.Err(err)
		return
	}
	s.filter, s.filterErr = f, ""
	s.applyFilter()
}

func (s *Screen) editFilter() {
	s.before = s.filter.String()
	s.input = form.NewInput(s.env.Keys, keymap.Input, "/")
	s.input.Placeholder = s.env.Lang.T("text  !not  ~regex  -f fuzzy  key=value  state:paused  stray  ttl<5m")
	s.input.SetHistory(s.history)
	s.input.SetValue(s.before)
}

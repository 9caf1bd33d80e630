package sandbox

import (
	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// raw shows what the provider says about the sandbox, with a copy key.
func (s *Screen) raw() tea.Cmd {
	title := s.env.Lang.T("%s as %s reports it", present.Label(s.sb), present.Clean(s.sb.Provider))
	if s.sb.Raw == nil {
		title = s.env.Lang.T("%s as abxdash reports it", present.Label(s.sb))
	}
	return ui.OpenOverlay(textbox.New(textbox.Options{Title: title, Text: present.RawJSON(s.sb)}))
}

package sandbox

import (
	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// raw shows what the provider says about the sandbox, with a copy key.
func (s *Screen) raw() tea.Cmd {
	title := present.Label(s.sb) + " as " + present.Clean(s.sb.Provider) + " reports it"
	if s.sb.Raw == nil {
		title = present.Label(s.sb) + " as abxdash reports it"
	}
	return ui.OpenOverlay(textbox.New(textbox.Options{Title: title, Text: present.RawJSON(s.sb)}))
}

package sandboxes

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Health is what is known of every provider, in their order.
func (s *Store) Health() []present.ProviderHealth {
	counts := map[string]int{}
	for _, e := range s.entries() {
		counts[e.src.name]++
	}
	out := make([]present.ProviderHealth, 0, len(s.sources))
	for _, src := range s.sources {
		h := present.ProviderHealth{
			Name: src.name, Loaded: src.loaded, LastOK: src.lastOK, PausedUntil: src.pausedUntil, Err: src.err,
			Sandboxes: counts[src.name], More: src.incomplete,
		}
		if src.inFlight {
			h.AskedAt = src.startAt
		}
		out = append(out, h)
	}
	return out
}

// Shown are the providers whose sandboxes are shown; none means all.
func (s *Store) Shown() []string { return slices.Clone(s.only) }

// showOnly narrows the list to some providers. Those that are not there are
// left out, and all of them or none mean every one.
func (s *Store) showOnly(names []string) {
	var only []string
	for _, src := range s.sources {
		if slices.Contains(names, src.name) {
			only = append(only, src.name)
		}
	}
	if len(only) == len(s.sources) {
		only = nil
	}
	if !slices.Equal(only, s.only) {
		s.only = only
		s.structure++
	}
}

// hides reports whether the rows of a provider are not shown now.
func (s *Store) hides(src *source) bool {
	return len(s.only) > 0 && !slices.Contains(s.only, src.name)
}

// goProviders opens the screen of providers, or narrows the list to those named
// after a ":" command: names or the beginnings of names, or "all".
func (s *Store) goProviders(arg string) tea.Cmd {
	words := strings.FieldsFunc(arg, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 0 {
		return ui.Open(present.RouteProviders, nil)
	}
	if len(words) == 1 && words[0] == "all" {
		return s.choose(nil)
	}
	var names []string
	for _, w := range words {
		name, err := s.named(w)
		if err != nil {
			return ui.Toast(ui.ToastWarn, s.env.Lang.Err(err))
		}
		names = append(names, name)
	}
	return s.choose(names)
}

func (s *Store) choose(names []string) tea.Cmd {
	text := s.env.Lang.T("the list shows all providers")
	if len(names) > 0 {
		text = s.env.Lang.T("the list shows only %s", present.CleanMax(strings.Join(names, ", "), 60))
	}
	return tea.Batch(ui.Cmd(present.ShowProvidersMsg{Names: names}), ui.Toast(ui.ToastOK, text))
}

// named is the provider of a name, or the only one that begins with it.
func (s *Store) named(text string) (string, error) {
	var found []string
	for _, src := range s.sources {
		if src.name == text {
			return text, nil
		}
		if strings.HasPrefix(src.name, text) {
			found = append(found, src.name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", lang.Errorf("no provider in use is called %s", present.CleanMax(text, 40))
	default:
		return "", lang.Errorf("%s fits %s", present.CleanMax(text, 40), present.CleanMax(strings.Join(found, ", "), 80))
	}
}

package lang_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// converted are the packages whose texts all go through a catalogue.
func converted() []string {
	return []string{
		"ui", "ui/attach", "ui/dialog", "ui/form", "ui/logpane", "ui/textbox",
		"views/kill", "views/create", "views/broadcast", "views/exec", "views/logs", "views/metrics", "views/ports",
		"views/sandbox", "views/sandboxes", "views/shell", "views/replay",
		"views/files", "views/providers", "views/templates",
	}
}

// asTheyAre are literals that look like texts and are none.
func asTheyAre() []string {
	return []string{
		"as the provider does",                      // the value of a choice; the form shows it by Word
		"as declared",                               // likewise
		"template", "template check", "my-template", // names and the tag of an owner
		"./Dockerfile",          // a path
		"v2, stable",            // what is to be typed
		"Dockerfile",            // a file's name
		"ABX_REGISTRY_PASSWORD", // a variable
		"Origin",                // a header of HTTP
		"30m, 2h, 1d",           // what is to be typed
		".mine",                 // the end of a file's name
	}
}

// TestNoTextIsForgotten looks for literals that are drawn, put into a box or a
// message, or returned as a title without having gone through a catalogue.
func TestNoTextIsForgotten(t *testing.T) {
	s := parseSource(t)
	for name, f := range s.files {
		if !slices.Contains(converted(), path.Dir(name)) {
			continue
		}
		for _, x := range s.untranslated(f) {
			if !slices.Contains(asTheyAre(), x.id) && !strings.HasPrefix(x.id, "abxdash ") {
				t.Errorf("%s: %q is shown as it is: ask Env.Lang for it, or list it in asTheyAre", x.at, x.id)
			}
		}
	}
}

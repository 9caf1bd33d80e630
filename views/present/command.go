package present

import (
	"strings"

	"abxdash/client"
)

// ShellQuote is [client.ShellQuote].
func ShellQuote(s string) string { return client.ShellQuote(s) }

// CommandLine is the abxdash command of a verb on some sandboxes. Sandboxes are
// named by provider and id, which stays right when names change.
func CommandLine(verb string, boxes []client.Sandbox, flags ...string) string {
	words := []string{"abxdash", verb}
	for _, b := range boxes {
		words = append(words, ShellQuote(KeyOf(b).String()))
	}
	for _, f := range flags {
		words = append(words, ShellQuote(f))
	}
	return strings.Join(words, " ")
}

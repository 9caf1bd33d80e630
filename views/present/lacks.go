package present

import (
	"abxdash/client"
	"abxdash/ui/lang"
)

// Lacks says why a provider does not offer something, for people and in the
// language of l: "no logs with demo", or "no metrics: " and the provider's own
// reason. It is "" for what is offered. The commands' error lines, which
// programs read, are those of [client.Capabilities.Missing].
func Lacks(p client.Provider, need client.Capability, l *lang.Catalog) string {
	c := p.Capabilities()
	if c.Has(need) {
		return ""
	}
	word := l.Word(wordOf(need))
	if why := c.Why[need]; why != "" {
		return l.T("no %s: %s", word, CleanMax(l.Word(why), 160))
	}
	return l.T("no %s with %s", word, Clean(p.Name()))
}

// wordOf is what people call a capability; its name where there is no word.
func wordOf(need client.Capability) string {
	if need == client.CapCommands {
		return lang.Mark("commands") // "run" does not follow "no"
	}
	for _, b := range badges() {
		if b.need == need {
			return b.word
		}
	}
	return string(need)
}

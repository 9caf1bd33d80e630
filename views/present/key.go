package present

import (
	"strings"

	"abxdash/client"
)

// Key names one sandbox over all providers.
type Key struct {
	Provider string
	ID       client.ID
}

// KeyOf returns the key of s.
func KeyOf(s client.Sandbox) Key { return Key{Provider: s.Provider, ID: s.ID} }

// String is "provider/id", the long form every command takes.
func (k Key) String() string { return k.Provider + "/" + string(k.ID) }

// ParseKey splits "provider/id"; ok is false without a provider.
func ParseKey(s string) (k Key, ok bool) {
	p, id, found := strings.Cut(s, "/")
	if !found || p == "" || id == "" {
		return Key{}, false
	}
	return Key{Provider: p, ID: client.ID(id)}, true
}

// Label is what people call s: its name, else its id; clean.
func Label(s client.Sandbox) string {
	if s.Name != "" {
		return Clean(s.Name)
	}
	return Clean(string(s.ID))
}

// LongLabel is "name (id)", or the id alone; clean.
func LongLabel(s client.Sandbox) string {
	if s.Name == "" || s.Name == string(s.ID) {
		return Clean(string(s.ID))
	}
	return Clean(s.Name) + " (" + Clean(string(s.ID)) + ")"
}

// StateWord is the state as the provider says it, "?" for none; clean.
func StateWord(s client.Sandbox) string {
	if s.State == "" {
		return string(client.StateUnknown)
	}
	return CleanMax(string(s.State), 40)
}

// IsolationWord is the level that separates s from the machine, "—" where the
// provider does not say; clean.
func IsolationWord(s client.Sandbox) string {
	if s.Isolation == "" || s.Isolation == client.IsolationProvider {
		return TTLUnset
	}
	return CleanMax(string(s.Isolation), 20)
}

// Template is the template's name, "—" for none; clean.
func Template(s client.Sandbox) string {
	switch {
	case s.Template != "":
		return Clean(s.Template)
	case s.TemplateID != "":
		return Clean(s.TemplateID)
	default:
		return TTLUnset
	}
}

// Providers is the configured set, in the order in which it is shown.
type Providers []client.Provider

// Get returns the provider of that name, or nil.
func (p Providers) Get(name string) client.Provider {
	for _, x := range p {
		if x.Name() == name {
			return x
		}
	}
	return nil
}

// Names lists the providers' names in order.
func (p Providers) Names() []string {
	out := make([]string, len(p))
	for i, x := range p {
		out[i] = x.Name()
	}
	return out
}

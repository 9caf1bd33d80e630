package present

import (
	"errors"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
)

// RouteProviders is the screen of all providers.
const RouteProviders ui.Route = "providers"

// Messages about providers as a whole.
type (
	// ShowProvidersMsg makes the list show only the sandboxes of these; none means all.
	ShowProvidersMsg struct{ Names []string }
	// DefaultProviderMsg makes a provider the one that creates, for this run.
	DefaultProviderMsg struct{ Name string }
)

// ProviderHealth is what polling a provider's list has shown so far.
type ProviderHealth struct {
	Name string
	// Loaded is set once a list was read, LastOK when that was last.
	Loaded bool
	LastOK time.Time
	// AskedAt is when the list that is under way was asked for, zero if none is.
	AskedAt time.Time
	// PausedUntil is the end of the wait a provider asked for (429).
	PausedUntil time.Time
	Err         error
	// Sandboxes is how many rows it has, More that there may be others.
	Sandboxes int
	More      bool
}

// Health is how well a provider answers.
type Health uint8

// How well a provider answers.
const (
	HealthIdle Health = iota
	HealthOK
	HealthWarn
	HealthBad
)

// Late is when an answer that has not come is said to be late.
const Late = 4 * time.Second

// WordIn says how the provider is in a word or two of a language; nil is English.
func (h ProviderHealth) WordIn(l *lang.Catalog, now time.Time) (string, Health) {
	switch {
	case now.Before(h.PausedUntil):
		return "429, " + Duration(h.PausedUntil.Sub(now)+time.Second-1), HealthWarn
	case h.Err != nil:
		return h.failure(l), HealthBad
	case !h.AskedAt.IsZero() && now.Sub(h.AskedAt) > Late:
		return l.T("silent for %s", Duration(now.Sub(h.AskedAt))), HealthWarn
	case !h.AskedAt.IsZero():
		return l.T("refreshing"), HealthIdle
	case !h.Loaded:
		return l.T("not asked yet"), HealthIdle
	default:
		return l.T("ok"), HealthOK
	}
}

func (h ProviderHealth) failure(l *lang.Catalog) string {
	code := client.CodeOf(h.Err)
	switch {
	case errors.Is(h.Err, client.ErrUnauthorized), code == client.CodeAuth, code == client.CodeAuthExpired, code == client.CodeAuthAKSK:
		return l.T("401, key refused")
	case code == client.CodeNetwork, code == client.CodeConnect, code == client.CodeLocalServer:
		return l.T("offline")
	default:
		return l.T("failing %s", string(code))
	}
}

// SeenIn says when the provider answered last, "never" if it has not.
func (h ProviderHealth) SeenIn(l *lang.Catalog, now time.Time) string {
	if h.LastOK.IsZero() {
		return l.T("never")
	}
	return l.T("%s ago", Duration(now.Sub(h.LastOK)))
}

// badge is a capability with the letter that stands for it and what people call it.
type badge struct {
	need   client.Capability
	letter string
	word   string
}

func badges() []badge {
	return []badge{
		{client.CapCommands, "r", "run"},
		{client.CapPTY, "t", "terminal"},
		{client.CapFiles, "f", "files"},
		{client.CapPorts, "o", "ports"},
		{client.CapPause, "p", "pause"},
		{client.CapSnapshot, "s", "snapshots"},
		{client.CapMetrics, "m", "metrics"},
		{client.CapLogs, "l", "logs"},
		{client.CapCode, "c", "code"},
	}
}

// Badges is what a provider can do, a letter each in a fixed order and "-" for
// what it cannot: "rtfop-m-c".
func Badges(c client.Capabilities) string {
	var b strings.Builder
	for _, x := range badges() {
		if c.Has(x.need) {
			b.WriteString(x.letter)
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// BadgeWords lists what a provider can do in words, and what it cannot with the
// reason where there is one, in the language of l; clean. A reason that a
// provider words itself stays as it is.
func BadgeWords(c client.Capabilities, l *lang.Catalog) (can, cannot []string) {
	for _, x := range badges() {
		if c.Has(x.need) {
			can = append(can, l.Word(x.word))
			continue
		}
		text := l.T("no %s", l.Word(x.word))
		if why := c.Why[x.need]; why != "" {
			text = l.T("no %s: %s", l.Word(x.word), CleanMax(l.Word(why), 160))
		}
		cannot = append(cannot, text)
	}
	return can, cannot
}

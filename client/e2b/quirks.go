package e2b

import (
	"slices"
	"strings"

	"abxdash/client"
)

// Quirks are the ways in which services differ from E2B's own. They are data:
// presets and the configuration file set them by name (see [Quirks.Set]).
type Quirks struct {
	// NoPaging: the service never sends a next-page token, so that a full page
	// proves nothing (LST-02).
	NoPaging bool
	// IgnoreVersion: envdVersion is a constant there and gates nothing.
	IgnoreVersion bool
	// TrafficToken: the traffic token goes on agent requests too.
	TrafficToken bool
	// NoStateFilter: a list asked for paused sandboxes alone answers nothing;
	// the filter is then left to the caller's [client.ListAll].
	NoStateFilter bool
	// NoTemplateFilter: the list takes an unknown parameter for something else
	// (alicloud-container §5); templates are then filtered here.
	NoTemplateFilter bool
	// V1List: the service may lack GET /v2/sandboxes; once it says so, the
	// deprecated list takes its place.
	V1List bool
	// CamelInternet: network updates name their field allowInternetAccess
	// (alicloud-express §6) instead of allow_internet_access.
	CamelInternet bool
	// Lifecycle: what happens at the end of life is sent in the newer form
	// `lifecycle` beside `autoPause` (cubesandbox §6).
	Lifecycle bool
	// UnsetIsNever: a sandbox without an end, or with one in year 1, does not
	// expire (alicloud-container §5, cubesandbox §5).
	UnsetIsNever bool
	// KeepDomain: the configured domain wins over the one in answers
	// (alicloud-container §2).
	KeepDomain bool
	// PauseAgainOK: the service answers a second pause with success; the state
	// is asked for first (alicloud-container §5).
	PauseAgainOK bool
	// PauseSettles: a pause is over only when the state says so (cubesandbox §5).
	PauseSettles bool
	// BusyKill: a kill may be refused for a moment, with 503 and Retry-After
	// (cubesandbox §5).
	BusyKill bool
	// QualifiedKeys: metadata keys are Kubernetes qualified names
	// (alicloud-container §6); others are refused before any call.
	QualifiedKeys bool
	// RetcodeGone: X-Cube-Retcode 310507 on the data plane means that the
	// sandbox, or its port, is not there (cubesandbox §4).
	RetcodeGone bool
}

// named are the quirks by the names that configuration uses.
func (q *Quirks) named() map[string]*bool {
	return map[string]*bool{
		"no_paging": &q.NoPaging, "ignore_version": &q.IgnoreVersion, "traffic_token": &q.TrafficToken,
		"no_state_filter": &q.NoStateFilter, "no_template_filter": &q.NoTemplateFilter, "v1_list": &q.V1List,
		"camel_internet": &q.CamelInternet, "lifecycle": &q.Lifecycle, "unset_is_never": &q.UnsetIsNever,
		"keep_domain": &q.KeepDomain, "pause_again_ok": &q.PauseAgainOK, "pause_settles": &q.PauseSettles,
		"busy_kill": &q.BusyKill, "qualified_keys": &q.QualifiedKeys, "retcode_gone": &q.RetcodeGone,
	}
}

// QuirkNames lists the names that [Quirks.Set] knows, sorted.
func QuirkNames() []string {
	var out []string
	for name := range new(Quirks).named() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Set switches one quirk by name.
func (q *Quirks) Set(name string, on bool) error {
	p := q.named()[name]
	if p == nil {
		return client.Usagef("set quirk", "there is no quirk %q; known are %s", client.OneLine(name, 40), strings.Join(QuirkNames(), ", "))
	}
	*p = on
	return nil
}

// qualified reports whether key is a Kubernetes qualified name: an optional DNS
// prefix, then up to 63 of letters, digits and "-_." with an alphanumeric at
// both ends (alicloud-container §6).
func qualified(key string) bool {
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		if prefix == "" || len(prefix) > 253 || strings.ContainsFunc(prefix, func(r rune) bool { return !alnum(r) && r != '-' && r != '.' }) {
			return false
		}
		name = rest
	}
	if name == "" || len(name) > 63 || !alnum(rune(name[0])) || !alnum(rune(name[len(name)-1])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return !alnum(r) && r != '-' && r != '_' && r != '.' })
}

func alnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

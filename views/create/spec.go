package create

import (
	"regexp"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Default lifetimes (product.md §2): what is local costs nothing.
const (
	localLifetime  = time.Hour
	remoteLifetime = 300 * time.Second
)

func defaultLifetime(provider string) time.Duration {
	if provider == "local" {
		return localLifetime
	}
	return remoteLifetime
}

// Choices of the network field.
const (
	netDefault = "as the provider does"
	netOn      = "on"
	netOff     = "off"
)

// values is what the dialog holds, as text.
type values struct {
	provider, template, name, lifetime, network, env, metadata string
}

// spec turns the values into a request. The fields were validated one by one,
// so an error here names what the form did not catch.
func (v values) spec(owner present.Owner) (client.CreateSpec, error) {
	life, err := lifetime(v.lifetime)
	if err != nil {
		return client.CreateSpec{}, err
	}
	env, err := pairs(v.env, envKey)
	if err != nil {
		return client.CreateSpec{}, err
	}
	meta, err := pairs(v.metadata, metaKey)
	if err != nil {
		return client.CreateSpec{}, err
	}
	out := client.CreateSpec{
		Template: strings.TrimSpace(v.template),
		Lifetime: life,
		Env:      env,
		Metadata: owner.Tags("dashboard", strings.TrimSpace(v.name), meta),
	}
	if v.network == netOn || v.network == netOff {
		on := v.network == netOn
		out.Internet = &on
	}
	return out, nil
}

// lifetime reads "30m", "2h", "1d"; zero and less is refused, never turned into a default.
func lifetime(s string) (time.Duration, error) {
	d, err := present.ParseDuration(strings.TrimSpace(s))
	switch {
	case err != nil:
		return 0, lang.Errorf("a duration such as 30m, 2h or 1d")
	case d < time.Second:
		return 0, lang.Errorf("must be at least one second")
	default:
		return d, nil
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func envKey(k string) error {
	if !envName.MatchString(k) {
		return lang.Errorf("%q is not a name of an environment variable", present.CleanMax(k, 40))
	}
	return nil
}

func metaKey(k string) error {
	if strings.HasPrefix(k, "abxdash.") {
		return lang.Errorf("%s is set by abxdash itself", present.CleanMax(k, 40))
	}
	return nil
}

// pairs reads KEY=VALUE lines. Blank lines are skipped; the value is kept as
// it is, and errors name the line without its value, which may be a secret.
func pairs(text string, check func(key string) error) (map[string]string, error) {
	out := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		k = strings.TrimSpace(k)
		if !ok || k == "" {
			return nil, lang.Errorf("line %d is not KEY=VALUE", i+1)
		}
		if err := check(k); err != nil {
			return nil, lang.Errorf("line %d: %s", i+1, err)
		}
		if _, twice := out[k]; twice {
			return nil, lang.Errorf("line %d: %s is there twice", i+1, present.CleanMax(k, 40))
		}
		out[k] = v
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

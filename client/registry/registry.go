// Package registry turns configuration and keys into providers: the local one
// always (where the system has it), every remote one that has a key.
package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/local"
	"abxdash/client/services"
)

// known are the built-in providers (product.md §3).
func known() []string {
	var out []string
	for _, s := range services.BuiltIn() {
		out = append(out, s.ID)
	}
	return out
}

// Options say what to make.
type Options struct {
	Config config.Config
	Keys   *credentials.Set
	// Only restricts the result to one provider; "" is all.
	Only string
	// RequestTimeout bounds one call; 0 is the provider's default.
	RequestTimeout time.Duration
	Version        string
	Logger         *slog.Logger
	// StateDir holds installed plug-ins and small secrets of this machine; "" is none.
	StateDir string
}

// Result is what was made.
type Result struct {
	Providers []client.Provider
	// Local is the local provider, nil where there is none or it was not asked for.
	Local *local.Provider
	// Default names the provider that creates when nothing else was said.
	Default string
	// Notes are remarks for people, one line each, without any value.
	Notes []string
}

// Close gives up connections.
func (r *Result) Close() {
	for _, p := range r.Providers {
		if c, ok := p.(interface{ Close() }); ok {
			c.Close()
		}
	}
}

// Open makes the providers. Nothing is called and nothing is started.
func Open(o Options) (*Result, error) {
	r := &Result{}
	if o.Only == "" || o.Only == local.Name {
		p, err := NewLocal(o.Config, o.Version, o.Logger)
		switch {
		case err == nil:
			r.Local = p
			r.Providers = append(r.Providers, p)
		case o.Only != "" || !errors.Is(err, client.ErrUnsupported):
			return nil, err
		}
	}
	for _, name := range remotes(o) {
		p, err := o.remote(name)
		switch {
		case err == nil:
			r.Providers = append(r.Providers, p)
		case o.Only != "":
			return nil, err
		case client.CodeOf(err) != client.CodeAuthMissing:
			r.Notes = append(r.Notes, fmt.Sprintf("provider %s is left out: %s", name, err))
		}
	}
	if o.Only != "" && len(r.Providers) == 0 {
		return nil, o.unknown()
	}
	r.Default = o.pick(r.Providers)
	r.Notes = append(r.Notes, o.problems()...)
	return r, nil
}

// NewLocal makes the local provider.
func NewLocal(c config.Config, version string, log *slog.Logger) (*local.Provider, error) {
	return local.New(local.Config{Version: version, MinIsolation: c.MinIsolation, Image: c.LocalImage, Logger: log})
}

// remotes names the remote providers to try, in a stable order.
func remotes(o Options) []string {
	list := slices.Sorted(maps.Keys(o.Config.Providers))
	for _, name := range known() {
		if name != local.Name && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, p := range o.plugins() {
		if !slices.Contains(list, p.Manifest.ID) && p.Manifest.ID != local.Name {
			list = append(list, p.Manifest.ID)
		}
	}
	if o.Only == "" {
		return list
	}
	return slices.DeleteFunc(list, func(name string) bool { return name != o.Only })
}

// unknown is the error of a --provider that is none.
func (o Options) unknown() error {
	e := client.Usagef("choose provider", "there is no provider %q", client.OneLine(o.Only, 60))
	all := o
	all.Only = ""
	e.Hint = "known are: " + strings.Join(append(remotes(all), local.Name), ", ")
	return e
}

// pick chooses the default: what was asked for, what is configured, Express if
// it has a key, else local, else the only one there is.
func (o Options) pick(list []client.Provider) string {
	for _, want := range []string{o.Only, o.Config.DefaultProvider, credentials.Express, local.Name} {
		if slices.ContainsFunc(list, func(p client.Provider) bool { return p.Name() == want }) {
			return want
		}
	}
	if len(list) > 0 {
		return list[0].Name()
	}
	return ""
}

// problems are remarks about environment files that concern us: a bad line of
// a project's own .env matters only if it may hide one of our variables.
func (o Options) problems() []string {
	var out []string
	for _, p := range o.Keys.Problems() {
		if p.Name == "" || ours(p.Name) {
			out = append(out, client.OneLine(p.String(), 300))
		}
	}
	return out
}

func ours(name string) bool {
	return strings.HasPrefix(name, "ABX_") || strings.HasPrefix(name, "ALICLOUD_") || strings.HasPrefix(name, "OPEN_SANDBOX_")
}

// KeyState tells, for `doctor`, whether a provider has a key and where it is
// from. It never shows the key.
type KeyState struct {
	Provider string
	// Source is empty when there is none; Err says what is wrong.
	Source string
	Hint   string
	Err    error
}

// KeyStates lists the providers that need a key.
func KeyStates(o Options) []KeyState {
	var out []KeyState
	o.Only = ""
	for _, name := range remotes(o) {
		if _, ok := o.plugin(name); ok {
			continue // plug-ins name their own variables; `provider doctor` looks at them
		}
		acc, err := o.account(name)
		k := KeyState{Provider: name, Hint: acc.Hint, Err: err}
		switch {
		case acc.Key.Set():
			k.Source = acc.Key.String()
		case acc.AccessKeyID.Set():
			k.Source = acc.AccessKeyID.String()
		}
		out = append(out, k)
	}
	return out
}

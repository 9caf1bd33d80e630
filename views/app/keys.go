package app

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"abxdash/client/acs"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/express"
	"abxdash/client/registry"
	"abxdash/views/cli"
)

// typedKeys are keys by variable. The dashboard may add one while commands of
// the screens before still read them.
type typedKeys struct {
	mu   sync.Mutex
	keys map[string]string
}

func (t *typedKeys) add(variable, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := maps.Clone(t.keys)
	if keys == nil {
		keys = map[string]string{}
	}
	keys[variable] = key
	t.keys = keys
}

// all is never changed afterwards.
func (t *typedKeys) all() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys
}

// admin describes providers and tries keys.
func (w *world) admin(f cli.Flags) *registry.Admin {
	return &registry.Admin{
		Load: func() (registry.Options, error) { return w.registryOptions(f) },
		File: w.folders.File(), KeyFile: w.keyStore().File,
	}
}

func (w *world) keys() *credentials.Set {
	return credentials.Load(credentials.Options{Flags: w.typed.all(), FlagsFrom: "what was entered here", LookupEnv: os.LookupEnv, ProjectFile: ".env", HomeFile: w.folders.HomeEnv(), SavedFile: w.keyStore().File})
}

// keyStore keeps keys that the user asks to be kept.
func (w *world) keyStore() *credentials.Store {
	return &credentials.Store{File: filepath.Join(w.folders.Config, "keys.env"), NameOf: func(provider string) (string, error) {
		to, err := w.admin(cli.Flags{}).KeyTarget(context.Background(), provider)
		return to.Variable, err
	}}
}

// expressAccount is whose API keys are managed, and how.
func (w *world) expressAccount() (credentials.Account, acs.Config, error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return credentials.Account{}, acs.Config{}, err
	}
	a, err := w.keys().Account(express.Name)
	p := conf.Providers[express.Name]
	if a.RegionName.Set() || a.Domain.Set() {
		p.Region = ""
	}
	return a, acs.Config{Region: p.Region, Legacy: p.Legacy, UserAgent: "abxdash/" + w.version}, err
}

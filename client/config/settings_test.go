package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "below", "config.yaml")
	s := &Settings{File: file}
	for _, c := range [][2]string{
		{"theme", "no"}, // text stays text
		{"ascii", "true"},
		{"kill_limit", "50"},
		{"strays.idle", "30m"},
		{"attention.mute", "[strays, done]"},
		{"rates.providers.e2b.cpu_hour", "0.05"},
		{"rates.providers.e2b.sizes.0.5x512", "0.01"},
		{"providers.team.b@alicloud-express.region", "cn-beijing"},
		{"providers.lab.type", "e2b"},
		{"providers.lab.lacks", "[pty]"},
		{"providers.lab.min_lifetime", "90s"},
		{"keys.list.kill", "[K, ctrl+k]"},
	} {
		if err := s.Set(c[0], c[1]); err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		if got, err := s.Get(c[0]); err != nil || got.Value != c[1] || !got.Set {
			t.Errorf("%s: %+v %v", c[0], got, err)
		}
	}
	c, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Theme != "no" || !c.ASCII || c.KillLimit != 50 || c.Rates.Providers["e2b"].Sizes["0.5x512"] != 0.01 ||
		c.Providers["team.b@alicloud-express"].Region != "cn-beijing" || c.Providers["lab"].MinLifetime.Std().Seconds() != 90 || len(c.Keys["list.kill"]) != 2 {
		t.Errorf("%+v", c)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	list, err := s.All()
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, x := range list {
		set[x.Key] = x.Set
	}
	for key, want := range map[string]bool{"theme": true, "rates.providers.e2b.sizes.0.5x512": true, "no_mouse": false, "attention.no_bell": false} {
		if got, ok := set[key]; !ok || got != want {
			t.Errorf("%s: %v %v", key, ok, got)
		}
	}
}

func TestSettingsKeepComments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	before := "# head\ntheme: dark # why\n# the lab\nproviders:\n  lab: # ours\n    type: e2b\nstrays:\n  idle: 1h\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Settings{File: file}
	if err := errors.Join(s.Set("theme", "light"), s.Set("providers.lab.user", "me"), s.Unset("strays.idle")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "# head\ntheme: light # why\n# the lab\nproviders:\n  lab: # ours\n    type: e2b\n    user: me\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	// What empties the entry of a provider leaves the entry.
	if err := errors.Join(s.Unset("providers.lab.user"), s.Unset("providers.lab.type")); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(file); err != nil || len(c.Providers) != 1 {
		t.Errorf("%+v %v", c.Providers, err)
	}
}

func TestSettingsRefuse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	before := "theme: dark\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Settings{File: file, Check: func(c Config) error {
		if c.Leader == "bad" {
			return &client.Error{Op: "read it", Code: client.CodeConfig, Message: "no such key"}
		}
		return nil
	}}
	for _, c := range [][2]string{
		{"", "1"},
		{"nonsense", "1"},
		{"theme.x", "1"},
		{"providers..type", "e2b"},
		{"attention.nonsense", "1"},
		{"ascii", "perhaps"},
		{"ascii", "[1"},
		{"kill_limit", "-1"},
		{"min_isolation", "steel"},
		{"providers.local.type", "e2b"},
		{"providers.lab.nonsense.x", "1"},
		{"leader", "bad"},
	} {
		if err := s.Set(c[0], c[1]); err == nil || client.CodeOf(err) != client.CodeConfig && client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%q=%q: %v", c[0], c[1], err)
		} else if strings.Contains(err.Error(), ".config-") || strings.HasPrefix(err.Error(), "read") {
			t.Errorf("%q: %v", c[0], err)
		}
	}
	if err := s.Unset("ascii"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if err := s.Unset("rates.providers.x.hour"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if got, _ := os.ReadFile(file); string(got) != before {
		t.Errorf("changed to %q", got)
	}
}

func TestSettingsHidePasswords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("providers:\n  lab:\n    type: e2b\n    api_url: https://u:hush@lab.test\n    rewrite: {\"a\": \"http://u:hush@b\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Settings{File: file}
	list, err := s.All()
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.Get("providers.lab")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range append(list, one) {
		if strings.Contains(x.Value, "hush") || strings.Contains(x.Value, "\n") {
			t.Errorf("%+v", x)
		}
	}
}

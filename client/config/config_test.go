package config

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		home string
		want Folders
		fail bool
	}{
		"home":          {home: "/h", want: Folders{"/h/.config/abxdash", "/h/.local/state/abxdash", "/h/.cache/abxdash", "/h"}},
		"xdg":           {env: map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "rel", "XDG_CACHE_HOME": "/k"}, home: "/h", want: Folders{"/c/abxdash", "/h/.local/state/abxdash", "/k/abxdash", "/h"}},
		"moved":         {env: map[string]string{"ABXDASH_HOME": "/m", "XDG_CONFIG_HOME": "/c"}, home: "/h", want: Folders{"/m/config", "/m/state", "/m/cache", "/h"}},
		"relative home": {env: map[string]string{"ABXDASH_HOME": "m"}, home: "/h", fail: true},
		"no home":       {fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(func(k string) string { return c.env[k] }, c.home)
			if c.fail {
				if client.CodeOf(err) != client.CodeConfig {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRead(t *testing.T) {
	for text, c := range map[string]struct {
		want Config
		says string
	}{
		"":                         {},
		"# nothing\n":              {},
		"theme: dark\nascii: true": {want: Config{Theme: "dark", ASCII: true}},
		"keys:\n  sandbox.kill: [K]\nproviders:\n  team-a@e2b:\n    api_url: https://x.test": {
			want: Config{Keys: map[string][]string{"sandbox.kill": {"K"}}, Providers: map[string]Provider{"team-a@e2b": {APIURL: "https://x.test"}}},
		},
		"theem: dark":                    {says: "theem"},
		"theme: Pink!":                   {says: "theme is a name"},
		"keymap: vim\nkill_limit: 5":     {want: Config{Keymap: "vim", KillLimit: 5}},
		"kill_limit: -1":                 {says: "kill_limit"},
		"attention: {mute: [noise]}":     {says: "mute knows"},
		"strays: {idle: -1s, stuck: 5m}": {want: Config{Strays: Strays{Idle: -time.Second, Stuck: 5 * time.Minute}}},
		"strays: {stuck: -5m}":           {says: "not negative"},
		"rates: {date: d, providers: {e2b: {cpu_hour: 0.05, sizes: {2x4096: 0.1}}}}": {
			want: Config{Rates: Rates{Date: "d", Providers: map[string]Rate{"e2b": {CPUHour: 0.05, Sizes: map[string]float64{"2x4096": 0.1}}}}},
		},
		"rates: {providers: {e2b: {hour: -1}}}":                     {says: "not negative"},
		"rates: {providers: {e2b: {sizes: {large: 0.1}}}}":          {says: "2x4096"},
		"min_isolation: vm":                                         {says: "min_isolation"},
		"providers: {local: {}}":                                    {says: "cannot be changed"},
		"providers: {\"A b\": {}}":                                  {says: "no name"},
		"providers: {x: {type: exec}}":                              {says: "not known"},
		"providers: {x: {type: local}}":                             {says: "one local provider"},
		"providers: {x: {key_env: ABX_SANDBOX_API_KEY}}":            {says: "goes nowhere else"},
		"providers: {x: {api_url: 'https://a', routing: post}}":     {says: "routing is host"},
		"providers: {x: {api_url: 'https://a', quirks: {a: true}}}": {says: "no quirk"},
		"providers: {x: {endpoint: near}}":                          {says: "endpoint is auto"},
		"providers: {x: {api_key: hush}}":                           {says: "api_key"},
		"theme: [":                                                  {says: "config.yaml"},
		"theme: dark\ntheme: light":                                 {says: "theme"},
		"keys: {a: 1}\nproviders: [1,2,3]":                          {says: "config.yaml"},
	} {
		t.Run(text, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Read(path)
			if c.says != "" {
				if client.CodeOf(err) != client.CodeConfig || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Errorf("error %v does not say %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if c, err := Read(filepath.Join(t.TempDir(), "none")); err != nil || c.Theme != "" {
		t.Errorf("a missing file: %+v, %v", c, err)
	}
}

func TestLogIsMadeWhenFirstWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "abxdash.log")
	log, file := NewLog(path, slog.LevelInfo)
	log.Debug("not this")
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Fatal("a folder was made for nothing")
	}
	log.Info("this", "n", 1)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	log.Info("too late")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data); !strings.Contains(got, "msg=this n=1") || strings.Contains(got, "not this") || strings.Contains(got, "too late") {
		t.Errorf("log holds %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, level := range []string{"debug", "info", "", "warn", "ERROR"} {
		if _, err := ParseLevel(level); err != nil {
			t.Errorf("%q: %v", level, err)
		}
	}
	if _, err := ParseLevel("loud"); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("loud: %v", err)
	}
}

func TestBigLogIsSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "abxdash.log")
	if err := os.WriteFile(path, make([]byte, maxLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	log, file := NewLog(path, slog.LevelInfo)
	log.Info("new")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
		t.Errorf("the log was not set aside: %v", err)
	}
	if _, err := os.Stat(path + ".old"); err != nil {
		t.Error(err)
	}
}

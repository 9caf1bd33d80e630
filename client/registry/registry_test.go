package registry

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
)

// options are those of a home and a project without anything in them.
func options(t *testing.T, env map[string]string, conf config.Config, only string) Options {
	t.Helper()
	t.Setenv("ABXDASH_HOME", t.TempDir())
	keys := credentials.Load(credentials.Options{LookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	return Options{Config: conf, Keys: keys, Only: only, Version: "test"}
}

func TestOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no local provider on windows")
	}
	own := config.Config{Providers: map[string]config.Provider{"team@e2b": {APIURL: "https://api.test", Domain: "test"}}}
	second := own
	second.DefaultProvider = "team@e2b"
	for name, c := range map[string]struct {
		env  map[string]string
		conf config.Config
		only string
		want []string
		def  string
		note string
	}{
		"nothing":             {want: []string{"local"}, def: "local"},
		"e2b key":             {env: map[string]string{"ABX_E2B_API_KEY": "k"}, want: []string{"local", "e2b"}, def: "local"},
		"own service, no key": {conf: own, want: []string{"local"}, def: "local"},
		"own service":         {conf: own, env: map[string]string{"ABX_TEAM_E2B_API_KEY": "k"}, want: []string{"local", "team@e2b"}, def: "local"},
		"configured default":  {conf: second, env: map[string]string{"ABX_TEAM_E2B_API_KEY": "k"}, want: []string{"local", "team@e2b"}, def: "team@e2b"},
		"only local":          {env: map[string]string{"ABX_E2B_API_KEY": "k"}, only: "local", want: []string{"local"}, def: "local"},
		"only e2b":            {env: map[string]string{"ABX_E2B_API_KEY": "k"}, only: "e2b", want: []string{"e2b"}, def: "e2b"},
		"cube by its address": {env: map[string]string{"ABX_CUBESANDBOX_API_URL": "http://127.0.0.1:3000", "ABX_CUBESANDBOX_DATA_URL": "http://127.0.0.1/sandbox/{id}/{port}"}, want: []string{"local", "cubesandbox"}, def: "local"},
		"cube without one":    {env: map[string]string{"ABX_CUBESANDBOX_API_KEY": "hush-hush"}, want: []string{"local"}, def: "local", note: "plain http"},
		"open sandbox":        {env: map[string]string{"OPEN_SANDBOX_DOMAIN": "localhost:8080"}, want: []string{"local", "opensandbox"}, def: "local"},
		"far open sandbox":    {env: map[string]string{"OPEN_SANDBOX_DOMAIN": "far.test:8080"}, want: []string{"local"}, def: "local", note: "plain http"},
		"express is default":  {env: map[string]string{"ABX_SANDBOX_API_KEY": "hush-hush"}, want: []string{"local", "alicloud-express"}, def: "alicloud-express"},
		"half a pair":         {env: map[string]string{"ALICLOUD_ACCESS_KEY_ID": "hush"}, want: []string{"local"}, def: "local", note: "ALICLOUD_ACCESS_KEY_SECRET is not"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(options(t, c.env, c.conf, c.only))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for _, p := range r.Providers {
				got = append(got, p.Name())
			}
			if d := cmp.Diff(c.want, got); d != "" || r.Default != c.def {
				t.Errorf("default %q, %s", r.Default, d)
			}
			notes := strings.Join(r.Notes, "\n")
			if !strings.Contains(notes, c.note) || c.note == "" && notes != "" || strings.Contains(notes, "hush") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestOpenRefused(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		only string
		code client.Code
		kind error
	}{
		"unknown":     {nil, "nonsense", client.CodeUsage, nil},
		"no key":      {nil, "alicloud-express", client.CodeAuthMissing, client.ErrUnauthorized},
		"no domain":   {map[string]string{"ABX_ALICLOUD_CONTAINER_API_KEY": "k"}, "alicloud-container", client.CodeConfig, nil},
		"bad address": {map[string]string{"ABX_E2B_API_KEY": "k", "ABX_E2B_API_URL": "http://far.test"}, "e2b", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(options(t, c.env, config.Config{}, c.only))
			if err == nil || c.code != "" && client.CodeOf(err) != c.code || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("%v (%s)", err, client.CodeOf(err))
			}
		})
	}
}

func TestKeyStates(t *testing.T) {
	states := KeyStates(options(t, map[string]string{"ABX_E2B_API_KEY": "sk_e2b_hush", "ABX_SANDBOX_API_KEY": "hu\nsh"}, config.Config{}, "local"))
	seen := map[string]KeyState{}
	for _, k := range states {
		seen[k.Provider] = k
		text := k.Source + k.Hint
		if k.Err != nil {
			text += k.Err.Error()
		}
		if strings.Contains(text, "hush") || strings.Contains(text, "hu\n") {
			t.Errorf("%q shows a key", text)
		}
	}
	if len(states) != 5 || seen["e2b"].Hint == "" || seen["e2b"].Source != "ABX_E2B_API_KEY from the process environment" || client.CodeOf(seen["alicloud-express"].Err) != client.CodeConfig {
		t.Errorf("%+v", states)
	}
}

func TestLeftovers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux can look")
	}
	root := t.TempDir()
	id := client.ID("i0123456789abcdefghij")
	found, checked, err := Leftovers(t.Context(), []string{root, filepath.Join(root, "none")}, id, "mark-that-nobody-has-77")
	if err != nil || !checked || len(found) != 0 {
		t.Errorf("%q, %v, %v", found, checked, err)
	}
	if err := os.MkdirAll(filepath.Join(root, "inst", "sandboxes", string(id), "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	found, _, err = Leftovers(t.Context(), []string{root}, id, "mark-that-nobody-has-77")
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0], "folder ") {
		t.Errorf("%q, %v", found, err)
	}
	found, _, err = Leftovers(t.Context(), nil, id, "\x00") // every command line has one
	if err != nil || len(found) == 0 || !strings.HasPrefix(found[0], "process ") {
		t.Errorf("%q, %v", found, err)
	}
}

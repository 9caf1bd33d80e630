package registry

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
)

// keyed is an administration over one service that knows one key.
func keyed(t *testing.T, env map[string]string) (a *Admin, seen func() []string) {
	t.Helper()
	var mu sync.Mutex
	var keys []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("X-API-Key"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-API-Key") != "good-key" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":401,"message":"no"}`))
			return
		}
		_, _ = w.Write([]byte("[]"))
	}))
	t.Cleanup(srv.Close)
	t.Setenv("ABXDASH_HOME", t.TempDir())
	home := filepath.Join(t.TempDir(), ".abx", ".env")
	conf := config.Config{Providers: map[string]config.Provider{"lab": {APIURL: srv.URL, DataURL: srv.URL, AllowHTTP: true}}}
	load := func() (Options, error) {
		keys := credentials.Load(credentials.Options{LookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }, SavedFile: home})
		return Options{Config: conf, Keys: keys, Version: "test"}, nil
	}
	asked := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), keys...)
	}
	return &Admin{KeyFile: home, Load: load}, asked
}

func TestKeysAreTriedAndKept(t *testing.T) {
	a, seen := keyed(t, nil)
	to, err := a.KeyTarget(t.Context(), "lab")
	if err != nil || to.Variable != "ABX_LAB_API_KEY" || to.File != a.KeyFile || !strings.HasPrefix(to.Address, "http://127.0.0.1:") || to.Covered != "" {
		t.Fatalf("%+v, %v", to, err)
	}
	if n := len(seen()); n != 0 {
		t.Fatalf("%d calls to find out where a key goes", n)
	}
	if info, err := a.Provider(t.Context(), "lab"); err != nil || info.Needs != "ABX_LAB_API_KEY" {
		t.Errorf("it needs %q, %v", info.Needs, err)
	}
	c, err := a.TestKey(t.Context(), "lab", "bad-key")
	if err != nil || c.OK || strings.Contains(c.Detail+c.Hint, "bad-key") {
		t.Errorf("a wrong key: %+v, %v", c, err)
	}
	c, err = a.TestKey(t.Context(), "lab", "good-key")
	if err != nil || !c.OK {
		t.Errorf("the right key: %+v, %v", c, err)
	}
	if _, err := os.Stat(a.KeyFile); err == nil {
		t.Error("a test wrote a file")
	}
	where, err := a.KeepKey(t.Context(), "lab", "good-key")
	if err != nil || where != a.KeyFile {
		t.Fatalf("%q, %v", where, err)
	}
	list, err := a.Check(t.Context(), "lab")
	if err != nil || len(list) != 1 || !list[0].OK {
		t.Errorf("with the kept key: %+v, %v", list, err)
	}
	for _, k := range seen() {
		if k != "good-key" && k != "bad-key" {
			t.Errorf("the service was sent %q", k)
		}
	}
}

func TestKeysOfOthersStayWhereTheyAre(t *testing.T) {
	a, seen := keyed(t, map[string]string{"ABX_LAB_API_KEY": "from-the-environment"})
	to, err := a.KeyTarget(t.Context(), "lab")
	if err != nil || to.Covered != "the process environment" {
		t.Errorf("%+v, %v", to, err)
	}
	for name, code := range map[string]client.Code{"local": client.CodeUnsupported, "nobody": client.CodeUsage} {
		if _, err := a.KeyTarget(t.Context(), name); client.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := a.KeepKey(t.Context(), name, "k"); client.CodeOf(err) != code {
			t.Errorf("%s was kept: %v", name, err)
		}
	}
	if to, err := a.KeyTarget(t.Context(), "alicloud-express"); err != nil || to.Variable != "ABX_SANDBOX_API_KEY" {
		t.Errorf("%+v, %v", to, err)
	}
	if _, err := a.TestKey(t.Context(), "lab", "two words"); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("a key with a blank: %v", err)
	}
	if n := len(seen()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

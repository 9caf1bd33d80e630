package registry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/plugin"
)

// host is a server that records everything it is sent and answers something.
type host struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var all strings.Builder
		fmt.Fprintf(&all, "%s %s\n", r.Method, r.RequestURI)
		_ = r.Header.Write(&all)
		h.mu.Lock()
		h.seen = append(h.seen, all.String()+string(body))
		h.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/sandboxes"):
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"sandboxID":"i1","id":"i1","templateID":"t","state":"running","envdAccessToken":"agent-token-0123456789","status":{"state":"Running"},"createdAt":"2026-01-01T00:00:00Z"}`)
		case strings.HasSuffix(r.URL.Path, "/sandboxes") && strings.HasPrefix(r.URL.Path, "/v1"):
			_, _ = io.WriteString(w, `{"items":[],"pagination":{}}`)
		case strings.HasSuffix(r.URL.Path, "/sandboxes"):
			_, _ = io.WriteString(w, `[]`)
		case strings.Contains(r.URL.Path, "/endpoints/"):
			_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, r.Host)
		case strings.HasSuffix(r.URL.Path, "/i1"):
			_, _ = io.WriteString(w, `{"sandboxID":"i1","id":"i1","templateID":"t","state":"running","envdAccessToken":"agent-token-0123456789","status":{"state":"Running"},"createdAt":"2026-01-01T00:00:00Z"}`)
		case strings.HasSuffix(r.URL.Path, "/ping"):
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":404,"message":"no such thing"}`)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *host) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.seen...)
}

// exercise calls everything of a provider; what comes of it does not matter.
func exercise(ctx context.Context, p client.Provider) {
	s := p.Sandboxes()
	_, _ = s.List(ctx, client.Query{})
	_, _ = s.Create(ctx, client.CreateSpec{Template: "t", Lifetime: time.Minute})
	_, _ = s.Get(ctx, "i1")
	_ = s.SetLifetime(ctx, "i1", time.Minute)
	if c, ok := client.Find[client.Connector](p); ok {
		_, _ = c.Connect(ctx, "i1", time.Minute)
	}
	if c, ok := client.Find[client.Pauser](p); ok {
		_ = c.Pause(ctx, "i1")
		_ = c.Resume(ctx, "i1", time.Minute)
	}
	if c, ok := client.Find[client.Snapshotter](p); ok {
		_, _, _ = c.Snapshots(ctx, client.SnapshotQuery{})
	}
	if c, ok := client.Find[client.Ports](p); ok {
		_, _ = c.ResolvePort(ctx, "i1", 8080)
	}
	if proc, err := p.Commands().Start(ctx, "i1", client.Command{Argv: []string{"true"}}); err == nil {
		_ = proc.Close()
	}
	_, _ = p.Commands().Processes(ctx, "i1")
	_, _ = p.Files().ReadDir(ctx, "i1", "/tmp")
	_, _ = p.Files().Put(ctx, "i1", "/tmp/x", strings.NewReader("x"), 1)
	_ = s.Kill(ctx, "i1")
}

// TestKeysStayHome configures every provider at once, a preset, a profile and a
// plug-in too, and records every request: a key reaches its own host only. In
// the environment stand poison values of other tools, which nobody reads.
func TestKeysStayHome(t *testing.T) {
	const poison = "poison-0123456789"
	asked := map[string]bool{}
	var mu sync.Mutex
	hosts := map[string]*host{}
	for _, name := range []string{"express", "opensandbox", "container", "cube", "e2b", "lab", "profile", "plugin"} {
		hosts[name] = newHost(t)
	}
	key := func(name string) string { return "key-of-" + name + "-0123456789abcdef" }
	env := map[string]string{
		"ABX_SANDBOX_API_KEY": key("express"), "ABX_SANDBOX_API_URL": hosts["express"].URL, "ABX_SANDBOX_DATA_URL": hosts["express"].URL,
		"OPEN_SANDBOX_API_KEY": key("opensandbox"), "OPEN_SANDBOX_DOMAIN": strings.TrimPrefix(hosts["opensandbox"].URL, "http://"),
		"ABX_ALICLOUD_CONTAINER_API_KEY": key("container"), "ABX_ALICLOUD_CONTAINER_API_URL": hosts["container"].URL, "ABX_ALICLOUD_CONTAINER_DATA_URL": hosts["container"].URL,
		"ABX_CUBESANDBOX_API_KEY": key("cube"), "ABX_CUBESANDBOX_API_URL": hosts["cube"].URL, "ABX_CUBESANDBOX_DATA_URL": hosts["cube"].URL,
		"ABX_E2B_API_KEY": key("e2b"), "ABX_E2B_API_URL": hosts["e2b"].URL, "ABX_E2B_DATA_URL": hosts["e2b"].URL,
		"ABX_LAB_API_KEY": key("lab"), "ABX_EU_ALICLOUD_EXPRESS_API_KEY": key("profile"), "PLUGIN_KEY": key("plugin"),
	}
	for _, name := range []string{"E2B_API_KEY", "E2B_ACCESS_TOKEN", "E2B_DOMAIN", "E2B_API_URL", "E2B_SANDBOX_URL", "SANDBOX_API_KEY", "SANDBOX_DOMAIN", "E2B_DEBUG"} {
		t.Setenv(name, poison)
		env[name] = poison
	}
	state := t.TempDir()
	installREST(t, state, hosts["plugin"].URL)
	conf := config.Config{Providers: map[string]config.Provider{
		"lab":                 {Type: "novita", APIURL: hosts["lab"].URL, DataURL: hosts["lab"].URL},
		"eu@alicloud-express": {APIURL: hosts["profile"].URL, DataURL: hosts["profile"].URL},
	}}
	t.Setenv("ABXDASH_HOME", t.TempDir())
	keys := credentials.Load(credentials.Options{LookupEnv: func(k string) (string, bool) {
		mu.Lock()
		asked[k] = true
		mu.Unlock()
		v, ok := env[k]
		return v, ok
	}})
	r, err := Open(Options{Config: conf, Keys: keys, Version: "test", StateDir: state, RequestTimeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) > 0 || len(r.Providers) < len(hosts) {
		t.Errorf("%d providers, notes %q", len(r.Providers), r.Notes)
	}
	var wg sync.WaitGroup
	for _, p := range r.Providers {
		if p.Name() != "local" {
			wg.Go(func() { exercise(t.Context(), p) })
		}
	}
	wg.Wait()
	r.Close()
	for name, h := range hosts {
		got := h.requests()
		if len(got) < 3 {
			t.Errorf("%s got only %d requests", name, len(got))
		}
		all := strings.Join(got, "\n")
		if !strings.Contains(all, key(name)) {
			t.Errorf("%s never got its own key", name)
		}
		if strings.Contains(all, poison) {
			t.Errorf("%s got a value of another tool", name)
		}
		for other := range hosts {
			if other != name && strings.Contains(all, key(other)) {
				t.Errorf("the key of %s reached %s", other, name)
			}
		}
	}
	for k := range asked {
		if strings.HasPrefix(k, "E2B_") || strings.HasPrefix(k, "SANDBOX_") {
			t.Errorf("%s was asked for", k)
		}
	}
}

func installREST(t *testing.T, state, url string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "id: far\nversion: 1\nkind: rest\nbase_url: " + url + "\nkey: PLUGIN_KEY\n"
	if err := os.WriteFile(filepath.Join(dir, "provider.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := plugin.Stage(t.Context(), PluginDir(state), plugin.Source{Ref: dir, AllowUnpinned: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Commit(PluginDir(state), time.Now()); err != nil {
		t.Fatal(err)
	}
}

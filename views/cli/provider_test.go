package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/fake"
	"abxdash/client/registry"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// world runs the commands on the providers of a configuration.
type world struct {
	app      *cli.App
	out, err bytes.Buffer
	folders  config.Folders
	env      map[string]string
}

func newWorld(t *testing.T, conf string, env map[string]string) *world {
	t.Helper()
	home := t.TempDir()
	t.Setenv("ABXDASH_HOME", home)
	folders, err := config.Find(os.Getenv, home)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{folders: folders, env: env}
	if conf != "" {
		if err := os.MkdirAll(folders.Config, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folders.File(), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(f cli.Flags) (registry.Options, error) {
		c, err := config.Read(folders.File())
		keys := credentials.Load(credentials.Options{LookupEnv: func(k string) (string, bool) { v, ok := w.env[k]; return v, ok }})
		return registry.Options{Config: c, Keys: keys, Only: f.Provider, RequestTimeout: f.RequestTimeout, Version: "test", StateDir: folders.State}, err
	}
	w.app = &cli.App{
		Version: "test", In: strings.NewReader(""), Out: &w.out, Err: &w.err,
		IsTerminal: func(any) bool { return false },
		Open: func(_ context.Context, f cli.Flags) (*cli.Session, error) {
			o, err := load(f)
			if err != nil {
				return nil, err
			}
			r, err := registry.Open(o)
			if err != nil {
				return nil, err
			}
			return &cli.Session{Providers: r.Providers, Default: r.Default, Notes: r.Notes, Close: r.Close}, nil
		},
		Providers: &registry.Admin{Load: func() (registry.Options, error) { return load(cli.Flags{}) }, File: folders.File()},
	}
	return w
}

func (w *world) run(t *testing.T, args ...string) int {
	t.Helper()
	w.out.Reset()
	w.err.Reset()
	return cli.Run(t.Context(), w.app, args)
}

func TestProviderLs(t *testing.T) {
	w := newWorld(t, "", map[string]string{"ABX_E2B_API_KEY": "e2b_key-of-the-user"})
	if rc := w.run(t, "provider", "ls", "--json"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, w.err.String())
	}
	var list []cli.ProviderJSON
	if err := json.Unmarshal(w.out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
		if p.Needs == "" || p.Title == "" || !p.BuiltIn || len(p.Capabilities) != len(client.AllCapabilities()) {
			t.Errorf("%+v does not say enough", p)
		}
	}
	want := []string{"alicloud-express", "opensandbox", "alicloud-container", "cubesandbox", "e2b", "local"}
	if !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if i := slices.Index(names, "e2b"); i < 0 || !list[i].Ready || list[i].Key != "ABX_E2B_API_KEY from the process environment" {
		t.Errorf("e2b: %+v", list)
	}
	if strings.Contains(w.out.String(), "key-of-the-user") {
		t.Error("a key is shown")
	}
	if rc := w.run(t, "provider", "ls"); rc != 0 || !strings.Contains(w.out.String(), "ABX_CUBESANDBOX_API_URL") {
		t.Errorf("exit %d: %s", rc, w.out.String())
	}
	if rc := w.run(t, "provider", "ls", "--all"); rc != 0 || !strings.Contains(w.out.String(), "tencent-ags") {
		t.Errorf("exit %d: %s", rc, w.out.String())
	}
	if rc := w.run(t, "provider", "info", "cubesandbox"); rc != 0 || !strings.Contains(w.out.String(), "sandbox.metrics") {
		t.Errorf("exit %d: %s", rc, w.out.String())
	}
	if rc := w.run(t, "provider", "info", "nonsense"); rc != cli.ExitNotFound && rc != cli.ExitUsage {
		t.Errorf("exit %d", rc)
	}
}

// TestProviderInstallBuiltIn: the four names of the catalogue, in both
// spellings, are built in: nothing is fetched, the exit code is 0.
func TestProviderInstallBuiltIn(t *testing.T) {
	w := newWorld(t, "", nil)
	for _, id := range []string{"opensandbox", "alicloud-container", "cubesandbox", "e2b"} {
		for _, ref := range []string{"registry:" + id, "alibaba-agent-sandbox/awesome-providers//" + id} {
			rc := w.run(t, "provider", "install", ref, "--allow-unpinned", "--yes")
			if rc != 0 || !strings.Contains(w.out.String(), "built in") || !strings.Contains(w.out.String(), "It needs ") {
				t.Errorf("%s: exit %d, %q %q", ref, rc, w.out.String(), w.err.String())
			}
		}
	}
	if _, err := os.Stat(filepath.Join(w.folders.State, "plugins")); err == nil {
		t.Error("a folder was made for nothing")
	}
}

func TestProviderPlugins(t *testing.T) {
	w := newWorld(t, "", map[string]string{"SAMPLE_KEY": "sample-key-0123"})
	dir := filepath.Join(t.TempDir(), "rest")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	manifest := "id: far\nversion: 1.2.3\nkind: rest\ntitle: far away\nbase_url: https://far.test\nkey: SAMPLE_KEY\n"
	if err := os.WriteFile(filepath.Join(dir, "provider.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		rc   int
		says string
	}{
		{[]string{"provider", "install", dir, "--yes"}, cli.ExitError, "nothing vouches"},
		{[]string{"provider", "install", dir, "--allow-unpinned"}, cli.ExitUsage, "no terminal to ask on"},
		{[]string{"provider", "install", dir, "--allow-unpinned", "--yes"}, 0, "installed far"},
		{[]string{"provider", "info", "far"}, 0, "SAMPLE_KEY"},
		{[]string{"provider", "remove", "far"}, cli.ExitUsage, "no terminal to ask on"},
		{[]string{"--read-only", "provider", "remove", "far", "--yes"}, cli.ExitError, "read-only"},
		{[]string{"provider", "remove", "far", "--yes"}, 0, "removed the plug-in far"},
		{[]string{"provider", "remove", "far", "--yes"}, cli.ExitNotFound, "no provider"},
		{[]string{"provider", "remove", "e2b", "--yes"}, cli.ExitUsage, "built in"},
		{[]string{"provider", "install", "registry:other", "--yes"}, cli.ExitError, "no catalogue"},
	} {
		rc := w.run(t, c.args...)
		if all := w.out.String() + w.err.String(); rc != c.rc || !strings.Contains(all, c.says) {
			t.Errorf("%v: exit %d, %q", c.args, rc, all)
		}
	}
}

func TestProviderAddAndRemove(t *testing.T) {
	w := newWorld(t, "# mine\ntheme: dark # and dark\n", map[string]string{"ABX_LAB_API_KEY": "lab-key-0123456"})
	for _, c := range []struct {
		args []string
		rc   int
		says string
	}{
		{[]string{"provider", "add", "lab", "api_url=https://api.lab.test", "domain=lab.test", "lacks=[sandbox.logs]", "quirks={no_paging: true}"}, 0, "added lab"},
		{[]string{"provider", "add", "lab", "api_url=https://api.lab.test"}, cli.ExitError, "already"},
		{[]string{"provider", "add", "bad", "routing=post", "domain=x.test"}, cli.ExitError, "routing is host"},
		{[]string{"provider", "add", "bad", "api_key=secret"}, cli.ExitError, "api_key"},
		{[]string{"provider", "info", "lab"}, 0, "https://api.lab.test"},
		{[]string{"provider", "remove", "lab", "--yes"}, 0, "removed the entry"},
	} {
		rc := w.run(t, c.args...)
		if all := w.out.String() + w.err.String(); rc != c.rc || !strings.Contains(all, c.says) {
			t.Errorf("%v: exit %d, %q", c.args, rc, all)
		}
	}
	data, err := os.ReadFile(w.folders.File())
	if err != nil || !strings.Contains(string(data), "# mine") || !strings.Contains(string(data), "and dark") || strings.Contains(string(data), "lab") {
		t.Errorf("%s, %v", data, err)
	}
}

// fine answers lists in the E2B dialect with one sandbox.
func fine(id string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v2/sandboxes" {
			_, _ = fmt.Fprintf(w, `[{"sandboxID":%q,"templateID":"base","state":"running","startedAt":"2026-01-01T00:00:00Z","endAt":"2099-01-01T00:00:00Z"}]`, id)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":404,"message":"no such thing"}`))
	}
}

// TestLsOverThree: one provider hangs, one answers 401, one is fine. The five
// lines of configuration a provider are all that it takes to add one.
func TestLsOverThree(t *testing.T) {
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(release)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":401,"message":"bad key"}`))
	}))
	defer refusing.Close()
	good := httptest.NewServer(fine("i0123456789abcdefghij"))
	defer good.Close()
	conf := "providers:\n"
	env := map[string]string{}
	for name, url := range map[string]string{"hang": hanging.URL, "refuse": refusing.URL, "good": good.URL} {
		conf += fmt.Sprintf("  %s:\n    type: e2b\n    api_url: %s\n    data_url: %s\n", name, url, url)
		env["ABX_"+strings.ToUpper(name)+"_API_KEY"] = "key-of-" + name + "-0123456789"
	}
	w := newWorld(t, conf, env)
	for _, partial := range []bool{true, false} {
		args := []string{"ls", "--json"}
		want := cli.ExitError
		if partial {
			args, want = append(args, "--partial-ok"), 0
		}
		var rc int
		took := time.Hour
		// One of three, because a busy machine may stand still for a while.
		for tries := 0; tries < 3 && took > 3*time.Second; tries++ {
			began := time.Now()
			rc = w.run(t, args...)
			took = time.Since(began)
		}
		if rc != want {
			t.Errorf("partial %v: exit %d; %s", partial, rc, w.err.String())
		}
		if took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
		var rows []present.SandboxJSON
		if err := json.Unmarshal(w.out.Bytes(), &rows); err != nil || len(rows) != 1 || rows[0].Provider != "good" {
			t.Errorf("rows %+v, %v", rows, err)
		}
		for _, says := range []string{"no answer in time", "bad key"} {
			if !strings.Contains(w.err.String(), says) {
				t.Errorf("standard error %q does not say %q", w.err.String(), says)
			}
		}
	}
}

// TestProfiles: two Express accounts are in one list at once, each with its own key.
func TestProfiles(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]string{}
	server := func(name, id string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			keys[name] = r.Header.Get("X-Api-Key")
			mu.Unlock()
			fine(id)(w, r)
		}))
	}
	first, second := server("first", "i0000000000000000000a"), server("second", "i0000000000000000000b")
	defer first.Close()
	defer second.Close()
	w := newWorld(t, fmt.Sprintf("providers:\n  eu@alicloud-express:\n    api_url: %s\n    data_url: %s\n", second.URL, second.URL), map[string]string{
		"ABX_SANDBOX_API_KEY": "first-key-0123456789", "ABX_SANDBOX_API_URL": first.URL, "ABX_SANDBOX_DATA_URL": first.URL,
		"ABX_EU_ALICLOUD_EXPRESS_API_KEY": "second-key-0123456789",
	})
	if rc := w.run(t, "ls", "--json"); rc != 0 {
		t.Fatalf("exit %d: %s", rc, w.err.String())
	}
	for _, want := range []string{"i0000000000000000000a", "i0000000000000000000b", "eu@alicloud-express"} {
		if !strings.Contains(w.out.String(), want) {
			t.Errorf("%s is not in the list: %s", want, w.out.String())
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if keys["first"] != "first-key-0123456789" || keys["second"] != "second-key-0123456789" {
		t.Errorf("keys went to %v", keys)
	}
}

// TestKillOverProviders: partial failure is told per row, and nothing is sent twice.
func TestKillOverProviders(t *testing.T) {
	good, bad := fake.New(fake.Options{Name: "good"}), fake.New(fake.Options{Name: "bad"})
	defer good.Close()
	defer bad.Close()
	a, b := good.Add(client.Sandbox{})[0], bad.Add(client.Sandbox{})[0]
	bad.Script(fake.OpKill, b, fake.Step{Err: &client.Error{Op: "kill", Code: client.CodeServer, Kind: client.ErrUnavailable, Message: "boom"}, Repeat: true})
	w := newWorld(t, "", nil)
	w.app.Open = func(context.Context, cli.Flags) (*cli.Session, error) {
		return &cli.Session{Providers: present.Providers{good, bad}, Default: "good"}, nil
	}
	if rc := w.run(t, "kill", "--yes", "good/"+string(a), "bad/"+string(b)); rc == 0 {
		t.Errorf("exit 0: %s %s", w.out.String(), w.err.String())
	}
	if all := w.out.String() + w.err.String(); !strings.Contains(all, "boom") || !strings.Contains(all, string(a)) {
		t.Errorf("%q does not tell about both", all)
	}
	kills := 0
	for _, c := range bad.Calls() {
		if c.Op == fake.OpKill {
			kills++
		}
	}
	if kills != 1 {
		t.Errorf("the failing kill was sent %d times", kills)
	}
	if _, err := good.Get(t.Context(), a); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the other one was not killed: %v", err)
	}
}

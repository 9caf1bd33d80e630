package plugin_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/contract"
	"abxdash/client/fake"
	"abxdash/client/plugin"
	"abxdash/client/plugin/serve"
)

// TestMain is also the program of the sample plug-in of kind exec: the test
// binary under another name, so that nothing has to be built.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "provider" {
		os.Exit(sample())
	}
	goleak.VerifyTestMain(m)
}

// sample is the whole of a plug-in of kind exec.
func sample() int {
	switch os.Getenv("SAMPLE_MODE") {
	case "babble":
		os.Stdout.WriteString("hello, I am not JSON\n")
		time.Sleep(time.Hour) // it is killed
	case "die":
		return 3
	}
	p := fake.New(fake.Options{Name: "sample"})
	defer p.Close()
	p.Add(client.Sandbox{ID: "env", Metadata: map[string]string{"environ": strings.Join(os.Environ(), "\n")}})
	if serve.Exec(context.Background(), p, os.Stdin, os.Stdout) != nil {
		return 1
	}
	return 0
}

// folder copies a sample and gives the one of kind exec its program.
func folder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	if name == "sample-exec" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "provider"), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install puts a sample in its place below root.
func install(t *testing.T, root, name string) plugin.Installed {
	t.Helper()
	s, err := plugin.Stage(t.Context(), root, plugin.Source{Ref: folder(t, name), AllowUnpinned: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := s.Commit(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func env(m map[string]string) plugin.Options {
	return plugin.Options{Lookup: func(name string) (string, error) { return m[name], nil }, RequestTimeout: 30 * time.Second}
}

func open(t *testing.T, in plugin.Installed, o plugin.Options) *plugin.Provider {
	t.Helper()
	p, err := plugin.Open(in, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestContractExec(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Setup {
		return contract.Setup{Provider: open(t, install(t, t.TempDir(), "sample-exec"), env(nil))}
	})
}

func TestContractREST(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Setup {
		p := fake.New(fake.Options{Name: "sample"})
		t.Cleanup(p.Close)
		srv := httptest.NewServer(serve.Handler(p, "rest-key-0123456789"))
		t.Cleanup(srv.Close)
		in := install(t, t.TempDir(), "sample-rest")
		in.Manifest.BaseURL = srv.URL
		return contract.Setup{Provider: open(t, in, env(map[string]string{"SAMPLE_REST_KEY": "rest-key-0123456789"}))}
	})
}

func TestRESTWrongKey(t *testing.T) {
	p := fake.New(fake.Options{})
	defer p.Close()
	srv := httptest.NewServer(serve.Handler(p, "right-key-0123456789"))
	defer srv.Close()
	in := install(t, t.TempDir(), "sample-rest")
	in.Manifest.BaseURL = srv.URL
	_, err := open(t, in, env(map[string]string{"SAMPLE_REST_KEY": "wrong-key-0123456789"})).List(t.Context(), client.Query{})
	if !errors.Is(err, client.ErrUnauthorized) || client.CodeOf(err) != client.CodeAuthMissing || strings.Contains(err.Error(), "wrong-key") {
		t.Errorf("%v", err)
	}
}

// TestOnlyDeclaredEnvironment: a plug-in sees what it declared and nothing else.
func TestOnlyDeclaredEnvironment(t *testing.T) {
	t.Setenv("NOT_DECLARED", "secret-of-the-user")
	o := env(map[string]string{"SAMPLE_TOKEN": "declared", "NOT_DECLARED": "secret-of-the-user"})
	sb, err := open(t, install(t, t.TempDir(), "sample-exec"), o).Get(t.Context(), "env")
	if err != nil {
		t.Fatal(err)
	}
	if got := sb.Metadata["environ"]; got != "SAMPLE_TOKEN=declared" {
		t.Errorf("it sees %q", got)
	}
}

func TestBrokenPrograms(t *testing.T) {
	in := install(t, t.TempDir(), "sample-exec")
	for mode, says := range map[string]string{"babble": "not JSON lines", "die": "ended"} {
		p := open(t, in, env(map[string]string{"SAMPLE_MODE": mode}))
		for range 2 { // it is started again, and fails again
			_, err := p.List(t.Context(), client.Query{})
			if err == nil || !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "does not take calls") {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
}

// TestPinned: a file that changes after the installation stops the plug-in.
func TestPinned(t *testing.T) {
	root := t.TempDir()
	in := install(t, root, "sample-exec")
	if err := in.Verify(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in.Dir, "extra"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := plugin.List(root)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := plugin.Open(list[0], env(nil)); err == nil || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("opened although changed: %v", err)
	}
	if err := plugin.Uninstall(root, "sample-exec"); err != nil {
		t.Fatal(err)
	}
	if list, _ := plugin.List(root); len(list) != 0 {
		t.Errorf("left: %+v", list)
	}
	if err := plugin.Uninstall(root, "sample-exec"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("second removal: %v", err)
	}
}

// archive packs files as .tar.gz.
func archive(t *testing.T, files map[string]string, link string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plug-in.tar.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	gz := gzip.NewWriter(f)
	tw := tar.NewWriter(gz)
	for name, text := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		_, _ = tw.Write([]byte(text))
	}
	if link != "" {
		_ = tw.WriteHeader(&tar.Header{Name: link, Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})
	}
	for _, c := range []interface{ Close() error }{tw, gz, f} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

const rest = "id: far\nversion: 1\nkind: rest\nbase_url: https://far.test\n"

// wantSum is the checksum of a plug-in of one manifest, computed apart from the code.
func wantSum(name, text string) string {
	one := sha256.Sum256([]byte(text))
	all := sha256.Sum256([]byte(name + "\x00" + hex.EncodeToString(one[:]) + "\n"))
	return "sha256:" + hex.EncodeToString(all[:])
}

func TestStage(t *testing.T) {
	good := archive(t, map[string]string{"far-1.0/provider.yaml": rest}, "")
	sum := wantSum("provider.yaml", rest)
	bytes, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/far.tar.gz" {
			_, _ = w.Write(bytes)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"providers": []map[string]string{
			{"id": "far", "url": "http://" + r.Host + "/far.tar.gz", "checksum": sum},
			{"id": "forged", "url": "http://" + r.Host + "/far.tar.gz", "checksum": "sha256:00"},
			{"id": "loose", "url": "http://" + r.Host + "/far.tar.gz"},
		}})
	}))
	defer srv.Close()
	for name, c := range map[string]struct {
		src  plugin.Source
		says string
	}{
		"pinned archive": {src: plugin.Source{Ref: good, Checksum: sum}},
		"unpinned":       {src: plugin.Source{Ref: good}, says: "nothing vouches"},
		"allowed":        {src: plugin.Source{Ref: good, AllowUnpinned: true}},
		"wrong checksum": {src: plugin.Source{Ref: good, Checksum: "sha256:11", AllowUnpinned: true}, says: "not the one that was promised"},
		"catalogue":      {src: plugin.Source{Ref: "registry:far", Catalog: srv.URL}},
		"other spelling": {src: plugin.Source{Ref: "someone/awesome-providers//far", Catalog: srv.URL}},
		"forged":         {src: plugin.Source{Ref: "registry:forged", Catalog: srv.URL}, says: "not the one that was promised"},
		"loose":          {src: plugin.Source{Ref: "registry:loose", Catalog: srv.URL}, says: "nothing vouches"},
		"not there":      {src: plugin.Source{Ref: "registry:other", Catalog: srv.URL}, says: "does not have it"},
		"no catalogue":   {src: plugin.Source{Ref: "registry:far"}, says: "no catalogue"},
		"plain http":     {src: plugin.Source{Ref: "registry:far", Catalog: "http://far.test/list"}, says: "only https"},
		"no manifest":    {src: plugin.Source{Ref: archive(t, map[string]string{"x": "y"}, "")}, says: "no provider.toml"},
		// FIL-07
		"leads out":          {src: plugin.Source{Ref: archive(t, map[string]string{"../provider.yaml": rest}, "")}, says: "leads out"},
		"link":               {src: plugin.Source{Ref: archive(t, map[string]string{"provider.yaml": rest}, "x")}, says: "no regular file"},
		"no such place":      {src: plugin.Source{Ref: "/no/such/place"}, says: "no such file"},
		"python":             {src: plugin.Source{Ref: archive(t, map[string]string{"provider.toml": "id='p'\nversion='1'\nkind='python'\n"}, "")}, says: `kind "python", which cannot be installed`},
		"unknown kind":       {src: plugin.Source{Ref: archive(t, map[string]string{"provider.toml": "id='p'\nversion='1'\nkind='wasm'\n"}, "")}, says: "exec, rest and node are known"},
		"asks for their key": {src: plugin.Source{Ref: archive(t, map[string]string{"provider.yaml": rest + "key: ABX_SANDBOX_API_KEY\n"}, "")}, says: "never get"},
		"asks for E2B's":     {src: plugin.Source{Ref: archive(t, map[string]string{"provider.yaml": rest + "environment: [{name: E2B_API_KEY}]\n"}, "")}, says: "never get"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s, err := plugin.Stage(t.Context(), root, c.src)
			if c.says != "" {
				var e *client.Error
				if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v does not say %q", err, c.says)
				}
				if left, _ := os.ReadDir(root); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			in, err := s.Commit(root, time.Now())
			if err != nil || in.Manifest.ID != "far" || in.Record.Checksum != sum || in.Record.Unpinned != (name == "allowed") {
				t.Errorf("%+v, %v", in, err)
			}
			left, _ := os.ReadDir(filepath.Join(root, "far"))
			if len(left) != 2 {
				t.Errorf("in its place: %v", left)
			}
		})
	}
}

func TestNode(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node on this machine")
	}
	root := t.TempDir()
	s, err := plugin.Stage(t.Context(), root, plugin.Source{Ref: folder(t, "sample-node"), AllowUnpinned: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Greet(t.Context(), env(nil)); err != nil {
		t.Fatal(err)
	}
	in, err := s.Commit(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, in, env(nil))
	page, err := p.List(t.Context(), client.Query{})
	if err != nil || len(page.Sandboxes) != 1 || page.Sandboxes[0].ID != "box-1" {
		t.Errorf("%+v, %v", page, err)
	}
	if err := p.Kill(t.Context(), "box-1"); err != nil {
		t.Error(err)
	}
	if err := p.Kill(t.Context(), "box-1"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("second kill: %v", err)
	}
	if err := p.Mkdir(t.Context(), "box-1", "x"); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("mkdir: %v", err)
	}
	f, err := plugin.Stage(t.Context(), root, plugin.Source{Ref: folder(t, "foreign-node"), AllowUnpinned: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.Greet(t.Context(), env(nil))
	if !errors.Is(err, client.ErrUnsupported) || !strings.Contains(err.Error(), "does not speak") {
		t.Errorf("a plug-in of another protocol: %v", err)
	}
}

func TestRegistryID(t *testing.T) {
	for ref, want := range map[string]string{
		"registry:e2b": "e2b", "alibaba-agent-sandbox/awesome-providers//opensandbox": "opensandbox", "awesome-providers//x": "x",
		"./folder": "", "a/b//c": "", "x.tar.gz": "",
	} {
		got, ok := plugin.RegistryID(ref)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", ref, got, ok)
		}
	}
}

func FuzzManifest(f *testing.F) {
	for _, dir := range []string{"sample-exec/provider.toml", "sample-rest/provider.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", dir))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Base(dir), data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		m, err := plugin.ParseManifest(name, data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q is no line", err)
			}
			return
		}
		for _, v := range m.Environment {
			if strings.HasPrefix(v.Name, "E2B_") || strings.HasPrefix(v.Name, "ABX_SANDBOX_") {
				t.Errorf("%s was let through", v.Name)
			}
		}
		if !slices.Contains([]string{"exec", "rest", "node"}, m.Kind) || m.ID == "" {
			t.Errorf("%+v was let through", m)
		}
	})
}

func TestTemplateProfile(t *testing.T) {
	manifest := func(base string) (plugin.Manifest, error) {
		return plugin.ParseManifest("provider.toml", []byte("id = \"p\"\nversion = \"1\"\nkind = \"exec\"\ncommand = [\"./p\"]\n[template]\nformat = \"other\"\nbase = "+base+"\n"))
	}
	m, err := manifest(`"registry.test:5000/team/base:v1@sha256:00"`)
	if err != nil || m.Template == nil || m.Template.Base != "registry.test:5000/team/base:v1@sha256:00" {
		t.Errorf("%+v, %v", m.Template, err)
	}
	for _, base := range []string{`"a b"`, `"a\nRUN id"`, `"-x"`, `"a\u001b"`} {
		if _, err := manifest(base); client.CodeOf(err) != client.CodeConfig {
			t.Errorf("base %s: %v", base, err)
		}
	}
}

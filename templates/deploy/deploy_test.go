package deploy

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/docker"
	"abxdash/client/docker/dockertest"
	"abxdash/client/local"
	"abxdash/templates"
	"abxdash/templates/scaffold"
)

func TestMain(m *testing.M) {
	// The test's own binary plays the local server and its helpers.
	if local.Reexec() {
		return
	}
	goleak.VerifyTestMain(m)
}

// folder is a scaffolded Express template with some files more.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	list, err := scaffold.New(scaffold.Options{Kind: scaffold.Python, Name: "demo", Target: templates.NewTarget("", "", nil)})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := scaffold.Compare(dir, list)
	if err != nil {
		t.Fatal(err)
	}
	if err := scaffold.Write(dir, changes); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listing is everything in a folder, to hold that a deploy leaves it alone.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		out = append(out, path+" "+info.Mode().String()+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fakeEngine builds and pushes nothing.
type fakeEngine struct {
	files         []string
	wheel         []byte
	built, pushed int
	down          error
	buildErr      error
	pushErr       error
	onBuild       func()
}

func (f *fakeEngine) Ping(context.Context) error { return f.down }

func (f *fakeEngine) Build(ctx context.Context, b docker.Build, _ func(docker.Event)) (string, error) {
	f.built++
	f.files = nil
	if f.onBuild != nil {
		f.onBuild()
		return "", context.Cause(ctx)
	}
	r := tar.NewReader(b.Context)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		f.files = append(f.files, h.Name)
		if strings.HasPrefix(h.Name, "agent_") {
			f.wheel, _ = io.ReadAll(r)
		}
	}
	return "sha256:1", f.buildErr
}

func (f *fakeEngine) Push(context.Context, string, docker.Login, func(docker.Event)) (string, error) {
	f.pushed++
	return "sha256:2", f.pushErr
}

func options(t *testing.T, dir string, e Engine, m client.TemplateMaker) Options {
	t.Helper()
	return Options{
		Dir: dir, Lint: templates.LintOptions{Target: templates.NewTarget("", "", nil), Python: templates.Interpreter()},
		Place:  Place{Registry: "127.0.0.1:1", Namespace: "team"},
		Engine: func() (Engine, error) { return e, nil }, Maker: m, Poll: time.Millisecond,
	}
}

func stepsOf(r Result) string {
	var out []string
	for _, s := range r.Steps {
		word := string(s.Step)
		if !s.OK {
			word += "! " + string(s.Code)
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func TestBothWaysToReady(t *testing.T) {
	for name, maker := range map[string]func(*testing.T, string) client.TemplateMaker{"key": overKey, "native": natively} {
		t.Run(name, func(t *testing.T) {
			c, url := newCloud(t)
			o := options(t, folder(t, nil), &fakeEngine{}, maker(t, url))
			o.Login = &client.RegistryLogin{Username: "ada", Password: "right-password"}
			var said []string
			o.Say = func(e Event) { said = append(said, e.Text) }
			before := listing(t, o.Dir)
			r, err := Run(t.Context(), o)
			if err != nil || !r.OK || r.State != "ready" || stepsOf(r) != "lint login build push create ready" {
				t.Fatalf("%+v, %v", r, err)
			}
			if diff := cmp.Diff(before, listing(t, o.Dir)); diff != "" {
				t.Errorf("the folder changed:\n%s", diff)
			}
			if !strings.HasPrefix(r.Image, "127.0.0.1:1/team/demo:1.0.0-") {
				t.Errorf("image %s", r.Image)
			}
			for _, text := range said {
				if strings.ContainsAny(text, "\x1b") || strings.Contains(text, "right-password") {
					t.Errorf("said %q", text)
				}
			}
			body := c.bodies["POST /v2/templates/tpl1/builds/b1"]
			want := `"startCmd":"agent-sandbox-server serve --port 9000 --commands /home/user/app/commands.py"`
			if name == "native" {
				body = c.bodies["POST /pop/2026-08-20/templates"]
				want = `"startCommand":"agent-sandbox-server serve --port 9000 --commands /home/user/app/commands.py"`
			}
			if !strings.Contains(body, want) || !strings.Contains(body, `"password":"right-password"`) || !strings.Contains(body, r.Image) {
				t.Errorf("sent %s", body)
			}
			if name == "key" && !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "line 2") }) {
				t.Errorf("the build's log is missing: %q", said)
			}
		})
	}
}

func TestPrivateImageHeaders(t *testing.T) {
	c, url := newCloud(t)
	o := options(t, folder(t, nil), &fakeEngine{}, overKey(t, url))
	o.Image = "my-registry.cn-hangzhou.cr.aliyuncs.com/team/demo:1"
	o.Place.Instance = "cri-1"
	o.Login = &client.RegistryLogin{Username: "ada", Password: "right-password"}
	if r, err := Run(t.Context(), o); err != nil || stepsOf(r) != "lint login create ready" {
		t.Fatalf("%+v, %v", r, err)
	}
	h := c.headers["POST /v2/templates/tpl1/builds/b1"]
	got := []string{h.Get("X-E2B-Template-Source-Registry-Type"), h.Get("X-E2B-Template-Source-ACREE-Instance-ID"), h.Get("X-E2B-Template-Source-Username"), h.Get("X-E2B-Template-Build-Mode")}
	if diff := cmp.Diff([]string{"acree", "cri-1", "ada", "builder"}, got); diff != "" {
		t.Error(diff)
	}
	if body := c.bodies["POST /v2/templates/tpl1/builds/b1"]; !strings.Contains(body, "my-registry-vpc.cn-hangzhou.cr.aliyuncs.com/team/demo:1") {
		t.Errorf("sent %s", body)
	}
}

func TestUpdateAfterConflict(t *testing.T) {
	c, url := newCloud(t)
	c.taken = true
	o := options(t, folder(t, nil), &fakeEngine{}, natively(t, url))
	r, err := Run(t.Context(), o)
	if err != nil || !r.Updated || r.TemplateID != "nat1" || r.State != "ready" {
		t.Errorf("%+v, %v", r, err)
	}
	if body := c.bodies["PUT /pop/2026-08-20/templates/nat1"]; !strings.Contains(body, r.Image) || strings.Contains(body, "generation") {
		t.Errorf("sent %s", body)
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(o *Options, e *fakeEngine, c *cloud)
		steps string
		calls int // of the cloud
	}{
		{"lint", func(o *Options, _ *fakeEngine, _ *cloud) { o.Alias = " Codex" }, "lint! E2004", 0},
		{"repository", func(o *Options, _ *fakeEngine, _ *cloud) { o.Place.Repository = "openclaw" }, "lint! E2004", 0},
		{"no engine", func(_ *Options, e *fakeEngine, _ *cloud) {
			e.down = &client.Error{Code: client.CodeDockerBuild, Message: "none"}
		}, "lint build! E7020", 0},
		{"build", func(_ *Options, e *fakeEngine, _ *cloud) {
			e.buildErr = &client.Error{Code: client.CodeDockerBuild, Message: "RUN failed"}
		}, "lint build! E7020", 0},
		{"push", func(_ *Options, e *fakeEngine, _ *cloud) {
			e.pushErr = &client.Error{Code: client.CodeDockerPush, Message: "no route"}
		}, "lint build push! E7021", 0},
		{"login", func(o *Options, _ *fakeEngine, _ *cloud) {
			o.Ask = func(context.Context) (client.RegistryLogin, error) {
				return client.RegistryLogin{}, &client.Error{Code: client.CodeRegistryLogin}
			}
		}, "lint login! E7022", 0},
		{"provider's build", func(_ *Options, _ *fakeEngine, c *cloud) { c.end = "error" }, "lint build push create ready! E7010", -1},
		{"too slow", func(o *Options, _ *fakeEngine, c *cloud) { c.polls = 1 << 30; o.Patience = 50 * time.Millisecond }, "lint build push create ready! E7011", -1},
		{"nowhere to push", func(o *Options, _ *fakeEngine, _ *cloud) { o.Place = Place{} }, "lint! E9002", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, url := newCloud(t)
			e := &fakeEngine{}
			o := options(t, folder(t, nil), e, overKey(t, url))
			tc.set(&o, e, c)
			before := listing(t, o.Dir)
			r, err := Run(t.Context(), o)
			if err == nil || r.OK || stepsOf(r) != tc.steps {
				t.Errorf("steps %s, %v", stepsOf(r), err)
			}
			if got := c.called(""); tc.calls >= 0 && got != tc.calls {
				t.Errorf("%d calls of the provider", got)
			}
			if diff := cmp.Diff(before, listing(t, o.Dir)); diff != "" {
				t.Errorf("the folder changed:\n%s", diff)
			}
		})
	}
}

// When the second call fails, what the first one made goes again, and no
// password is in the error.
func TestHalfMadeTemplateGoes(t *testing.T) {
	c, url := newCloud(t)
	c.refuseStart = true
	o := options(t, folder(t, nil), &fakeEngine{}, overKey(t, url))
	o.Image = "registry.example.com/a:1"
	o.Login = &client.RegistryLogin{Username: "ada", Password: "right-password"}
	_, err := Run(t.Context(), o)
	if err == nil || strings.Contains(err.Error(), "right-password") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"tpl1"}, c.deleted); diff != "" {
		t.Error(diff)
	}
}

func TestEveryStepAlone(t *testing.T) {
	for from, want := range map[Step]string{
		StepBuild: "lint build push create ready", StepPush: "lint push create ready", StepCreate: "lint create ready", StepReady: "lint ready",
	} {
		_, url := newCloud(t)
		o := options(t, folder(t, nil), &fakeEngine{}, overKey(t, url))
		o.From, o.Resume = from, client.TemplateBuild{TemplateID: "tpl1", BuildID: "b1"}
		if r, err := Run(t.Context(), o); err != nil || stepsOf(r) != want {
			t.Errorf("from %s: %s, %v", from, stepsOf(r), err)
		}
	}
	o := options(t, folder(t, nil), &fakeEngine{}, nil)
	o.Last = StepBuild
	if r, err := Run(t.Context(), o); err != nil || stepsOf(r) != "lint build" {
		t.Errorf("%s, %v", stepsOf(r), err)
	}
}

func TestCancelledBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &fakeEngine{onBuild: cancel}
	o := options(t, folder(t, nil), e, nil)
	before := listing(t, o.Dir)
	if r, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(before, listing(t, o.Dir)); diff != "" {
		t.Error(diff)
	}
}

// A service that cannot end builds goes on, and the hint says how to follow it.
func TestCancelledWhileFollowing(t *testing.T) {
	c, url := newCloud(t)
	c.polls = 1 << 30
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(t, folder(t, nil), &fakeEngine{}, overKey(t, url))
	o.Say = func(e Event) {
		if strings.HasPrefix(e.Text, "state:") {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r.Cancelled || r.Hint != "follow it again: --from ready --template-id tpl1 --build-id b1" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWheelGoesIntoTheCopyOnly(t *testing.T) {
	wheel := filepath.Join(t.TempDir(), "agent_sandbox_server-9.9-py3-none-any.whl")
	if err := os.WriteFile(wheel, []byte("wheel"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &fakeEngine{}
	o := options(t, folder(t, nil), e, nil)
	r, err := Run(t.Context(), o)
	if err != nil || !strings.Contains(r.Wheel, "published") || !slices.Contains(e.files, placeholder) {
		t.Errorf("%q %v %v", r.Wheel, e.files, err)
	}
	plain := r.Image
	before := listing(t, o.Dir)
	o.Wheel = wheel
	r, err = Run(t.Context(), o)
	if err != nil || string(e.wheel) != "wheel" || slices.Contains(e.files, placeholder) || r.Image == plain {
		t.Errorf("%+v %v %v", r, e.files, err)
	}
	if diff := cmp.Diff(before, listing(t, o.Dir)); diff != "" {
		t.Errorf("the folder changed:\n%s", diff)
	}
	inside := folder(t, map[string]string{"agent_sandbox_server-1.0-py3-none-any.whl": "inside"})
	o = options(t, inside, e, nil)
	if _, err = Run(t.Context(), o); err != nil || string(e.wheel) != "inside" {
		t.Errorf("%q %v", e.wheel, err)
	}
	if n := len(slices.DeleteFunc(e.files, func(s string) bool { return !strings.HasSuffix(s, ".whl") })); n != 1 {
		t.Errorf("%d wheels", n)
	}
	o.Wheel = filepath.Join(t.TempDir(), "none.whl")
	if _, err = Run(t.Context(), o); client.CodeOf(err) != client.CodeFileNotFound {
		t.Errorf("got %v", err)
	}
}

// The same files give the same image name, others another one.
func TestImageNameFollowsTheContent(t *testing.T) {
	name := func(dir string) string {
		r, err := Run(t.Context(), options(t, dir, &fakeEngine{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		return r.Image
	}
	a, b := folder(t, nil), folder(t, nil)
	if name(a) != name(b) {
		t.Error("the same content has two names")
	}
	if name(a) == name(folder(t, map[string]string{"x.txt": "y"})) {
		t.Error("two contents have one name")
	}
}

// TPL-08: a linked Dockerfile is sent as a file, other links as links.
func TestArchiveOfLinks(t *testing.T) {
	dir := folder(t, nil)
	if err := os.Rename(filepath.Join(dir, "Dockerfile"), filepath.Join(dir, "Dockerfile.plain")); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"Dockerfile": "Dockerfile.plain", "host": "/etc/hostname"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	c, _, err := templates.ScanContext(dir, "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := archive(t.Context(), &b, c, Wheel{}); err != nil {
		t.Fatal(err)
	}
	types := map[string]byte{}
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		types[h.Name] = h.Typeflag
	}
	if types["Dockerfile"] != tar.TypeReg || types["host"] != tar.TypeSymlink {
		t.Errorf("%v", types)
	}
}

func TestWithoutDockerfile(t *testing.T) {
	_, url := newCloud(t)
	o := options(t, folder(t, map[string]string{"template.yaml": "name: demo\nbase:\n  image: python:3.12\n"}), &fakeEngine{}, overKey(t, url))
	if err := os.Remove(filepath.Join(o.Dir, "Dockerfile")); err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), o); err != nil || r.Image != "python:3.12" || stepsOf(r) != "lint create ready" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "template.yaml"), []byte("name: demo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); client.CodeOf(err) != client.CodeTemplateParse || client.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

// The whole way with a real engine and a real registry.
func TestRealDeploy(t *testing.T) {
	host := dockertest.Start(t)
	dockertest.Base(t, host, templates.NewTarget("", "", nil).BaseImage())
	registry, pushed := dockertest.Registry(t, "ada", "right-password")
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	e, err := docker.New(docker.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, url := newCloud(t)
	o := options(t, folder(t, nil), e, overKey(t, url))
	o.Place.Registry = registry
	o.Login = &client.RegistryLogin{Username: "ada", Password: "wr0ng-password"}
	r, err := Run(t.Context(), o)
	if stepsOf(r) != "lint login! E7022" || strings.Contains(err.Error(), "wr0ng") || len(pushed()) != 0 {
		t.Errorf("wrong login: %s, %v", stepsOf(r), err)
	}
	o.Login = &client.RegistryLogin{Username: "ada", Password: "right-password"}
	var said []string
	o.Say = func(ev Event) { said = append(said, ev.Text) }
	r, err = Run(t.Context(), o)
	if err != nil || !r.OK || stepsOf(r) != "lint login build push create ready" {
		t.Fatalf("%s, %v\n%s", stepsOf(r), err, strings.Join(said, "\n"))
	}
	if got := pushed(); len(got) != 1 || !strings.HasPrefix(got[0], "/v2/team/demo/manifests/1.0.0-") {
		t.Errorf("pushed %v", got)
	}
	if !slices.Contains(said, "pip install --no-cache-dir agent-sandbox-server") {
		t.Errorf("without a wheel the published package is to be installed:\n%s", strings.Join(said, "\n"))
	}
	wheel := filepath.Join(t.TempDir(), "agent_sandbox_server-9.9-py3-none-any.whl")
	if err := os.WriteFile(wheel, []byte("wheel"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Wheel, o.Last, said = wheel, StepBuild, nil
	if r, err = Run(t.Context(), o); err != nil || !slices.Contains(said, "pip install --no-cache-dir /tmp/agent_sandbox_server-9.9-py3-none-any.whl") {
		t.Errorf("with a wheel: %s, %v\n%s", stepsOf(r), err, strings.Join(said, "\n"))
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "Dockerfile"), []byte("FROM "+templates.NewTarget("", "", nil).BaseImage()+"\nCOPY commands.py /home/user/app/commands.py\nEXPOSE 9000\nRUN echo no; false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = Run(t.Context(), o); stepsOf(r) != "lint login build! E7020" || !strings.Contains(err.Error(), "RUN echo no; false") {
		t.Errorf("failed RUN: %s, %v", stepsOf(r), err)
	}
}

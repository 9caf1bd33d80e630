package deploy

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/e2b"
	"abxdash/templates"
	"abxdash/templates/scaffold"
)

// stepCloud is a service that builds of steps: E2B's, as far as a deploy uses it.
type stepCloud struct {
	*httptest.Server
	mu sync.Mutex
	// archives are the files of each upload by hash, calls what was asked.
	archives map[string]string
	calls    []string
	start    string
	// refuse makes the second call answer 400, fail names a step that fails.
	refuse bool
	fail   string
}

func newStepCloud(t *testing.T) (*stepCloud, client.TemplateMaker) {
	t.Helper()
	s := &stepCloud{archives: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	c, err := e2b.New(e2b.Config{Name: "e2b", APIURL: s.URL, DataURL: s.URL, APIKey: "key-0123456789", RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return s, c
}

func (s *stepCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := r.Method + " " + r.URL.Path
	s.calls = append(s.calls, call)
	switch {
	case call == "GET /v2/templates":
		_, _ = io.WriteString(w, `[]`)
	case call == "POST /v3/templates":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"templateID":"tpl1","buildID":"b1"}`)
	case strings.HasPrefix(call, "GET /templates/tpl1/files/"):
		hash := strings.TrimPrefix(call, "GET /templates/tpl1/files/")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"present": s.archives[hash] != "", "url": s.URL + "/store/" + hash})
	case strings.HasPrefix(call, "PUT /store/"):
		s.archives[strings.TrimPrefix(call, "PUT /store/")] = list(r.Body)
	case call == "POST /v2/templates/tpl1/builds/b1" && s.refuse:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":400,"message":"steps are not supported"}`)
	case call == "POST /v2/templates/tpl1/builds/b1":
		body, _ := io.ReadAll(r.Body)
		s.start = string(body)
		w.WriteHeader(http.StatusAccepted)
	case call == "GET /templates/tpl1/builds/b1/status" && s.fail != "":
		_, _ = io.WriteString(w, `{"templateID":"tpl1","buildID":"b1","status":"error","logEntries":[],"logs":[],"reason":{"message":"exit status 1","step":"`+s.fail+`"}}`)
	case call == "GET /templates/tpl1/builds/b1/status":
		_, _ = io.WriteString(w, `{"templateID":"tpl1","buildID":"b1","status":"ready","logEntries":[],"logs":[]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":404,"message":"no"}`)
	}
}

// list names what is in an archive.
func list(r io.Reader) string {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return err.Error()
	}
	var out []string
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " ")
		}
		if err != nil {
			return err.Error()
		}
		text := h.Name
		if h.Linkname != "" {
			text += "->" + h.Linkname
		}
		if h.Mode&0o111 != 0 && h.Typeflag == tar.TypeReg {
			text += "*"
		}
		out = append(out, text)
	}
}

// stepFolder is a scaffolded folder for a target that builds of steps.
func stepFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	list, err := scaffold.New(scaffold.Options{Kind: scaffold.Minimal, Name: "demo", Target: templates.NewTarget("e2b", "", nil)})
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
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func stepOptions(t *testing.T, dir string, e Engine, m client.TemplateMaker) Options {
	t.Helper()
	o := options(t, dir, e, m)
	o.Lint.Target, o.Place, o.Steps = templates.NewTarget("e2b", "", nil), Place{}, true
	return o
}

// The vector of e2b-protocol §15.11.
func TestFilesHash(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte("hi\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, _, err := templates.ScanContext(dir, "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	all, err := tree(c, Wheel{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := copyStep(t.Context(), dir, all, "f.txt", []string{"f.txt", "/app/", "", ""})
	if err != nil || s.FilesHash != "5000c057a8a637685c3a980051d2051cee0169e912bdf988674e5b17a4f800c5" {
		t.Errorf("%s, %v", s.FilesHash, err)
	}
}

func TestPlatformBuild(t *testing.T) {
	s, m := newStepCloud(t)
	dir := stepFolder(t, map[string]string{"src/a.txt": "a", "src/deep/b.txt": "b"})
	if err := os.Symlink("a.txt", filepath.Join(dir, "src", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "run.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	docker, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), append(docker, "COPY src /srv/src\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	o := stepOptions(t, dir, &fakeEngine{down: errors.New("must not be asked")}, m)
	o.Login = &client.RegistryLogin{Username: "ada", Password: "right-password"}
	r, err := Run(t.Context(), o)
	if err != nil || !r.OK || r.Build != BuildPlatform || stepsOf(r) != "lint login create ready" || r.Image != "python:3.12-slim" {
		t.Fatalf("%+v, %v", r, err)
	}
	var got []string
	for _, files := range s.archives {
		got = append(got, files)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"commands.py", "src/ src/a.txt src/deep/ src/deep/b.txt src/link->a.txt src/run.sh*"}, got); diff != "" {
		t.Error(diff)
	}
	var sent struct {
		FromImage         string
		StartCmd          string
		ReadyCmd          string
		FromImageRegistry any
		Steps             []struct {
			Type string
			Args []string
		}
	}
	if err := json.Unmarshal([]byte(s.start), &sent); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, st := range sent.Steps {
		kinds = append(kinds, st.Type)
	}
	// No wheel: `COPY *.whl` is no step, and the RUN behind it installs the published package.
	if diff := cmp.Diff("USER WORKDIR RUN WORKDIR COPY COPY USER", strings.Join(kinds, " ")); diff != "" {
		t.Errorf("%s\n%s", diff, s.start)
	}
	if sent.FromImage != "python:3.12-slim" || sent.StartCmd != "python3 commands.py" || !strings.Contains(sent.ReadyCmd, "9000") {
		t.Errorf("%+v", sent)
	}
	if sent.FromImageRegistry != nil || strings.Contains(s.start, "right-password") {
		t.Error("the push registry's login was sent for another registry's image")
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("the folder changed:\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "abxdash-copy-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	// A second time nothing is uploaded again.
	s.calls = nil
	if r, err = Run(t.Context(), o); err != nil || slices.ContainsFunc(s.calls, func(c string) bool { return strings.HasPrefix(c, "PUT") }) {
		t.Errorf("%v, %v, %v", stepsOf(r), err, s.calls)
	}
}

// The server's wheel goes as a COPY of its own, wherever it lies.
func TestPlatformBuildWithWheel(t *testing.T) {
	s, m := newStepCloud(t)
	wheel := filepath.Join(t.TempDir(), "agent_sandbox_server-9.9-py3-none-any.whl")
	if err := os.WriteFile(wheel, []byte("wheel"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := stepOptions(t, stepFolder(t, nil), &fakeEngine{}, m)
	o.WheelSetting = wheel
	if r, err := Run(t.Context(), o); err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	if !strings.Contains(s.start, `"args":["agent_sandbox_server-9.9-py3-none-any.whl","/tmp/","",""]`) {
		t.Errorf("sent %s", s.start)
	}
}

// Which way is taken, and what is refused before anything is sent.
func TestBuildModes(t *testing.T) {
	down := &client.Error{Code: client.CodeDockerBuild, Message: "no Docker engine answers"}
	registry := Place{Registry: "127.0.0.1:1", Namespace: "team"}
	for _, tc := range []struct {
		name  string
		set   func(o *Options, e *fakeEngine)
		build BuildMode
		steps string
	}{
		{"nowhere to push", func(*Options, *fakeEngine) {}, BuildPlatform, "lint create ready"},
		{"a registry and an engine", func(o *Options, _ *fakeEngine) { o.Place = registry }, BuildDocker, "lint build push create ready"},
		{"a registry and no engine", func(o *Options, e *fakeEngine) { o.Place, e.down = registry, down }, BuildPlatform, "lint create ready"},
		{"docker and no engine", func(o *Options, e *fakeEngine) { o.Place, o.Build, e.down = registry, BuildDocker, down }, BuildDocker, "lint build! E7020"},
		{"platform in spite of an engine", func(o *Options, _ *fakeEngine) { o.Place, o.Build = registry, BuildPlatform }, BuildPlatform, "lint create ready"},
		{"platform where it is not taken", func(o *Options, _ *fakeEngine) { o.Build, o.Steps = BuildPlatform, false }, "", "lint! E8004"},
		{"no engine where steps are not taken", func(o *Options, e *fakeEngine) { o.Place, o.Steps, e.down = registry, false, down }, BuildDocker, "lint build! E7020"},
		{"create again", func(o *Options, _ *fakeEngine) { o.From = StepCreate }, BuildPlatform, "lint create ready"},
		{"an image", func(o *Options, _ *fakeEngine) { o.Image, o.Build = "a/b:1", BuildPlatform }, BuildImage, "lint create ready"},
	} {
		s, m := newStepCloud(t)
		e := &fakeEngine{}
		o := stepOptions(t, stepFolder(t, nil), e, m)
		tc.set(&o, e)
		r, err := Run(t.Context(), o)
		if r.Build != tc.build || stepsOf(r) != tc.steps {
			t.Errorf("%s: %s %s, %v", tc.name, r.Build, stepsOf(r), err)
		}
		if err != nil && (client.HintOf(err) == "" && r.Hint == "" && e.down == nil || len(s.calls) > 0) {
			t.Errorf("%s: no hint, or something was sent: %v %v", tc.name, err, s.calls)
		}
	}
}

// What steps cannot say stops before anything is sent, with its line; a server
// that takes no steps in spite of what was known is quoted with the same advice.
func TestPlatformRefuses(t *testing.T) {
	s, m := newStepCloud(t)
	for text, want := range map[string]string{
		"FROM a\nFROM b\nCMD [\"python3\",\"commands.py\"]\n":                     "Dockerfile:2:1",
		"FROM a\nCOPY nothing.txt /x\nCMD [\"python3\",\"commands.py\"]\n":        "Dockerfile:2: COPY nothing.txt: there is no such file",
		"FROM a\n\nRUN --mount=type=secret,id=x true\nCMD python3 commands.py\n":  "Dockerfile:3:1",
		"FROM a\nCOPY commands.py /app/\nUSER $WHO\nCMD [\"python3\",\"x.py\"]\n": "Dockerfile:3:1",
	} {
		r, err := Run(t.Context(), stepOptions(t, stepFolder(t, map[string]string{"Dockerfile": text}), &fakeEngine{}, m))
		if err == nil || !strings.Contains(err.Error(), want) || client.CodeOf(err) != client.CodeTemplateParse || len(s.calls) > 0 {
			t.Errorf("%q: %s, %v", text, stepsOf(r), err)
		}
	}
	s.refuse = true
	_, err := Run(t.Context(), stepOptions(t, stepFolder(t, nil), &fakeEngine{}, m))
	if err == nil || !strings.Contains(err.Error(), "steps are not supported") || !strings.Contains(client.HintOf(err), "ready image") {
		t.Errorf("got %v, %s", err, client.HintOf(err))
	}
}

// A step that fails is named by its line of the Dockerfile.
func TestFailedStepHasItsLine(t *testing.T) {
	s, m := newStepCloud(t)
	for step, want := range map[string]string{"3": "Dockerfile:3: RUN: exit status 1", "2": "step 2: exit status 1", "99": "step 99: ", "base": "step base: "} {
		s.fail = step
		_, err := Run(t.Context(), stepOptions(t, stepFolder(t, nil), &fakeEngine{}, m))
		if client.CodeOf(err) != client.CodeTemplateBuild || !strings.Contains(err.Error(), want) {
			t.Errorf("step %s: %v", step, err)
		}
	}
}

// For the local server no image stands behind FROM.
func TestOnThisMachine(t *testing.T) {
	s, m := newStepCloud(t)
	o := stepOptions(t, stepFolder(t, nil), &fakeEngine{}, m)
	o.Lint.Target = templates.NewTarget("local", "", nil)
	s.fail = "4"
	r, err := Run(t.Context(), o)
	if r.Image != "base" || !strings.Contains(s.start, `"fromImage":"base"`) || err == nil || !strings.Contains(err.Error(), "Dockerfile:3: RUN") {
		t.Errorf("%s, %v, %s", r.Image, err, s.start)
	}
}

// A build that is cancelled during its upload leaves no file behind.
func TestCancelledUpload(t *testing.T) {
	_, m := newStepCloud(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := stepOptions(t, stepFolder(t, nil), &fakeEngine{}, m)
	o.Say = func(e Event) {
		if strings.HasPrefix(e.Text, "uploading") {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "abxdash-copy-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	moby "github.com/moby/moby/client"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/docker"
	"abxdash/client/docker/dockertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func engine(t *testing.T, host string) *docker.Engine {
	t.Helper()
	e, err := docker.New(docker.Config{Host: host, UserAgent: "abxdash/test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func contextOf(t *testing.T, files map[string]string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// The same with BuildKit, whose progress comes in another form.
func TestRealBuildKit(t *testing.T) {
	host := dockertest.StartBuildKit(t)
	dockertest.Base(t, host, "tiny:1")
	e := engine(t, host)
	var events []docker.Event
	id, err := e.Build(t.Context(), docker.Build{
		Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nCOPY *.whl /tmp/\nCOPY a /a\nRUN echo hello from RUN\n", "a": "x"}), Tags: []string{"demo:1"}, Network: "none",
	}, func(ev docker.Event) { events = append(events, ev) })
	if err != nil || !strings.HasPrefix(id, "sha256:") {
		t.Fatalf("%q, %v\n%+v", id, err, events)
	}
	step := slices.IndexFunc(events, func(ev docker.Event) bool {
		return ev.Kind == docker.KindStep && strings.Contains(ev.Text, "RUN echo hello")
	})
	line := slices.IndexFunc(events, func(ev docker.Event) bool { return ev.Kind == docker.KindLog && ev.Text == "hello from RUN" })
	if step < 0 || line < 0 {
		t.Errorf("events: %+v", events)
	}
	_, err = e.Build(t.Context(), docker.Build{Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nRUN echo broken; false\n"}), Network: "none"}, nil)
	if client.CodeOf(err) != client.CodeDockerBuild || !strings.Contains(err.Error(), "RUN echo broken; false") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = e.Build(ctx, docker.Build{Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nRUN echo started; sleep 600\n"}), Network: "none"}, func(ev docker.Event) {
		if ev.Text == "started" {
			cancel()
		}
	})
	if client.CodeOf(err) != client.CodeDockerBuild || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("got %v", err)
	}
}

// One engine for all tests: starting it is most of the time.
func TestRealEngine(t *testing.T) {
	host := dockertest.Start(t)
	dockertest.Base(t, host, "tiny:1")
	e := engine(t, host)
	if err := e.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("build and push", func(t *testing.T) { buildAndPush(t, e) })
	t.Run("failed RUN", func(t *testing.T) {
		_, err := e.Build(t.Context(), docker.Build{Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nRUN echo before\nRUN echo broken; false\n"})}, nil)
		if client.CodeOf(err) != client.CodeDockerBuild || !strings.Contains(err.Error(), "3/3") || !strings.Contains(err.Error(), "echo broken") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("missing file", func(t *testing.T) {
		_, err := e.Build(t.Context(), docker.Build{Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nCOPY nothing /x\n"})}, nil)
		if client.CodeOf(err) != client.CodeDockerBuild {
			t.Errorf("got %v", err)
		}
	})
	t.Run("bad Dockerfile", func(t *testing.T) {
		_, err := e.Build(t.Context(), docker.Build{Context: contextOf(t, map[string]string{"Dockerfile": "FRM tiny:1\n"})}, nil)
		if client.CodeOf(err) != client.CodeDockerBuild {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancel", func(t *testing.T) { cancelBuild(t, e, host) })
	t.Run("no such image", func(t *testing.T) {
		_, err := e.Push(t.Context(), "127.0.0.1:1/a/nothing:1", docker.Login{}, nil)
		if client.CodeOf(err) != client.CodeDockerPush {
			t.Errorf("got %v", err)
		}
		if err := e.Remove(t.Context(), "nothing:1"); err != nil {
			t.Error(err)
		}
	})
}

func buildAndPush(t *testing.T, e *docker.Engine) {
	registry, pushed := dockertest.Registry(t, "ada", "right-password")
	ref := registry + "/team/demo:v1"
	var events []docker.Event
	id, err := e.Build(t.Context(), docker.Build{
		Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nRUN echo hello from RUN\nCOPY a /a\n", "a": "x"}), Tags: []string{ref},
	}, func(ev docker.Event) { events = append(events, ev) })
	if err != nil || !strings.HasPrefix(id, "sha256:") {
		t.Fatalf("%q, %v", id, err)
	}
	step := slices.IndexFunc(events, func(ev docker.Event) bool { return ev.Kind == docker.KindStep && ev.Step == 2 && ev.Steps == 3 })
	line := slices.IndexFunc(events, func(ev docker.Event) bool {
		return strings.Contains(ev.Text, "hello from RUN") && ev.Kind == docker.KindLog
	})
	if step < 0 || line < step {
		t.Errorf("events: %+v", events)
	}
	digest, err := e.Push(t.Context(), ref, docker.Login{Username: "ada", Password: "right-password"}, nil)
	if err != nil || !strings.HasPrefix(digest, "sha256:") {
		t.Fatalf("%q, %v", digest, err)
	}
	if got := pushed(); !slices.Contains(got, "/v2/team/demo/manifests/v1") {
		t.Errorf("pushed %v", got)
	}
	if err := e.Tag(t.Context(), ref, registry+"/team/demo:v2"); err != nil {
		t.Error(err)
	}
}

func TestCheckLogin(t *testing.T) {
	registry, pushed := dockertest.Registry(t, "ada", "right-password")
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for login, want := range map[docker.Login]client.Code{
		{}: client.CodeRegistryLogin,
		{Username: "ada", Password: "wr0ng-secret"}:   client.CodeRegistryLogin,
		{Username: "ada", Password: "right-password"}: "",
	} {
		err := docker.CheckLogin(t.Context(), registry+"/team/demo:v1", login)
		if client.CodeOf(err) != want || err != nil && (!strings.Contains(err.Error(), registry) || strings.Contains(err.Error(), "wr0ng")) {
			t.Errorf("%v: got %v", login, err)
		}
	}
	if err := docker.CheckLogin(t.Context(), "127.0.0.1:1/a/b:1", docker.Login{}); err != nil {
		t.Errorf("out of reach: %v", err)
	}
	if err := docker.CheckLogin(t.Context(), "a b", docker.Login{}); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("bad name: %v", err)
	}
	if got := pushed(); len(got) > 0 {
		t.Errorf("pushed %v", got)
	}
}

// cancelBuild holds that nothing of a cancelled build goes on in the engine.
func cancelBuild(t *testing.T, e *docker.Engine, host string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := e.Build(ctx, docker.Build{Context: contextOf(t, map[string]string{"Dockerfile": "FROM tiny:1\nRUN echo started; sleep 600\n"})}, func(ev docker.Event) {
		if ev.Text == "started" {
			cancel()
		}
	})
	if client.CodeOf(err) != client.CodeDockerBuild || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("got %v", err)
	}
	api, err := moby.New(moby.WithHost(host))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	deadline := time.Now().Add(time.Minute)
	for {
		list, err := api.ContainerList(t.Context(), moby.ContainerListOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d containers are left", len(list.Items))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TPL-11
func TestNoEngine(t *testing.T) {
	e := engine(t, "unix://"+filepath.Join(t.TempDir(), "none"))
	err := e.Ping(t.Context())
	if client.CodeOf(err) != client.CodeDockerBuild || !strings.Contains(err.Error(), "no Docker engine answers at unix://") || client.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	if _, err := e.Build(t.Context(), docker.Build{}, nil); client.CodeOf(err) != client.CodeDockerBuild {
		t.Errorf("got %v", err)
	}
}

// TestErrorsInsideTheStream: a 200 whose stream says otherwise, or breaks off.
func TestErrorsInsideTheStream(t *testing.T) {
	body := ""
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		if !strings.HasSuffix(r.URL.Path, "/_ping") {
			_, _ = io.WriteString(w, body)
		}
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	e := engine(t, "unix://"+filepath.Join(dir, "s"))
	for _, tc := range []struct {
		body string
		code client.Code
		want string
	}{
		{`{"stream":"Step 1/1 : FROM a\n"}{"errorDetail":{"code":1,"message":"boom"},"error":"boom"}`, client.CodeDockerBuild, "step 1/1 FROM a: boom"},
		{`{"stream":"Step 1/1 : FROM a\n"}`, client.CodeDockerBuild, "ended without"},
		{`{"stream":"Step 1/`, client.CodeDockerBuild, "broke off"},
		{`<html>`, client.CodeDockerBuild, "broke off"},
		{`{"error":"unauthorized: authentication required"}`, client.CodeRegistryLogin, "unauthorized"},
	} {
		body = tc.body
		_, err := e.Build(t.Context(), docker.Build{Context: strings.NewReader("")}, nil)
		if client.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("build %s: %v", tc.body, err)
		}
	}
	for _, tc := range []struct {
		body string
		code client.Code
	}{
		{`{"status":"Preparing","id":"a"}{"errorDetail":{"message":"denied: requested access"},"error":"denied: requested access"}`, client.CodeRegistryLogin},
		{`{"status":"Pushed"}`, client.CodeDockerPush},
		{`{"status":`, client.CodeDockerPush},
		{`{"error":"received unexpected HTTP status: 500 Internal Server Error"}`, client.CodeDockerPush},
	} {
		body = tc.body
		if _, err := e.Push(t.Context(), "example.com/a/b:1", docker.Login{}, nil); client.CodeOf(err) != tc.code {
			t.Errorf("push %s: %v", tc.body, err)
		}
	}
}

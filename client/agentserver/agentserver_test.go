package agentserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/agentserver/agentservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tok-0123456789abcdef"

// newClient serves h and makes a client of it.
func newClient(t *testing.T, h http.Handler) *agentserver.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	return agentserver.New(agentserver.Config{
		HTTP: hc, Provider: "test",
		Resolve: func(_ context.Context, port int) (client.Address, error) {
			if port != agentserver.Port {
				return client.Address{}, fmt.Errorf("port %d", port)
			}
			return client.Address{URL: srv.URL, Header: http.Header{"X-Access-Token": {token}}}, nil
		},
	})
}

func newServer(t *testing.T, on ...string) (*agentserver.Client, *agentservertest.Server) {
	t.Helper()
	s := agentservertest.New(t.TempDir(), on...)
	s.Token = token
	return newClient(t, s), s
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return c
}

func TestNamedCommands(t *testing.T) {
	c, _ := newServer(t)
	if err := c.Health(ctx(t)); err != nil {
		t.Fatal(err)
	}
	got, err := c.Run(ctx(t), "hello", map[string]any{"name": "Ada"})
	if err != nil || string(got) != `"Hello, Ada!"` {
		t.Errorf("%s %v", got, err)
	}
	if got, err = c.Run(ctx(t), "hello", nil); err != nil || string(got) != `"Hello, World!"` {
		t.Errorf("%s %v", got, err)
	}
	if got, err = c.Run(ctx(t), "nothing", nil); err != nil || string(got) != `null` {
		t.Errorf("%s %v", got, err)
	}
	list, err := c.Commands(ctx(t))
	if err != nil || len(list) != 2 || list[0].Args[0].Name != "name" || !list[1].Args[0].Required {
		t.Errorf("%+v %v", list, err)
	}
	for name, want := range map[string]client.Code{"none": client.CodeRunCommand, "crash": client.CodeRun, "add": client.CodeUsage, "": client.CodeUsage, "..": client.CodeUsage} {
		if _, err := c.Run(ctx(t), name, map[string]any{"a": "x"}); client.CodeOf(err) != want {
			t.Errorf("%q: %v (%s), want %s", name, err, client.CodeOf(err), want)
		}
	}
	if _, err := c.Run(ctx(t), "crash", nil); !strings.Contains(err.Error(), "ZeroDivisionError: division by zero") {
		t.Error(err)
	}
}

func TestCapabilities(t *testing.T) {
	c, s := newServer(t, "agents")
	want := map[agentserver.Group]bool{
		"core": true, "commands": true, "file_ops": true, "process": true, "terminal": true, "system": true,
		"dev_tools": false, "browser": false, "agents": true,
	}
	got, err := c.Capabilities(ctx(t))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	// Without the route each group is asked; the browser stays unknown.
	s.Set("core", false)
	delete(want, agentserver.GroupBrowser)
	got, err = c.Capabilities(ctx(t))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

// Every route but the two confirmed ones may be missing.
func TestEveryRouteIsOptional(t *testing.T) {
	c, s := newServer(t)
	s.Confirmed = true
	if _, err := c.Run(ctx(t), "hello", nil); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"commands": func() error { _, err := c.Commands(ctx(t)); return err },
		"list":     func() error { _, err := c.ListFiles(ctx(t), ".", true, 5); return err },
		"stat":     func() error { _, err := c.StatFile(ctx(t), "x"); return err },
		"mkdir":    func() error { return c.MakeDir(ctx(t), "x") },
		"remove":   func() error { return c.RemoveFile(ctx(t), "x") },
		"move":     func() error { return c.MoveFile(ctx(t), "x", "y") },
		"search":   func() error { _, err := c.SearchFiles(ctx(t), ".", "*"); return err },
		"write":    func() error { return c.WriteFile(ctx(t), "x", nil) },
		"read":     func() error { _, err := c.ReadFile(ctx(t), "x"); return err },
		"open":     func() error { _, err := c.OpenFile(ctx(t), "x"); return err },
		"archive":  func() error { _, err := c.Archive(ctx(t), []string{"x"}, "zip"); return err },
		"shell":    func() error { _, err := c.Shell(ctx(t), "x"); return err },
		"start":    func() error { _, err := c.StartProcess(ctx(t), "x", ""); return err },
		"procs":    func() error { _, err := c.Processes(ctx(t)); return err },
		"proc":     func() error { _, err := c.Process(ctx(t), 1); return err },
		"signal":   func() error { return c.SignalProcess(ctx(t), 1, 15) },
		"pty":      func() error { _, err := c.OpenPTY(ctx(t), "", client.Size{}, nil); return err },
		"ptys":     func() error { _, err := c.PTYSessions(ctx(t)); return err },
		"info":     func() error { _, err := c.SystemInfo(ctx(t)); return err },
		"metrics":  func() error { _, err := c.SystemMetrics(ctx(t)); return err },
		"env":      func() error { _, err := c.Env(ctx(t), "A"); return err },
		"set env":  func() error { return c.SetEnv(ctx(t), nil) },
		"ports":    func() error { _, err := c.Listeners(ctx(t)); return err },
		"packages": func() error { _, err := c.Packages(ctx(t), "pip"); return err },
		"code":     func() error { _, err := c.RunCode(ctx(t), "1", "python", 0); return err },
		"git":      func() error { _, err := c.GitStatus(ctx(t), "."); return err },
		"diff":     func() error { _, err := c.GitDiff(ctx(t), ".", "f", true); return err },
		"browser":  func() error { _, err := c.Browser(ctx(t), agentserver.BrowserClick, nil); return err },
		"picture":  func() error { _, err := c.Screenshot(ctx(t)); return err },
		"content":  func() error { _, err := c.BrowserContent(ctx(t), "text"); return err },
		"console":  func() error { _, err := c.BrowserConsole(ctx(t)); return err },
		"session":  func() error { _, err := c.CreateSession(ctx(t), agentserver.AgentSpec{}); return err },
		"sessions": func() error { _, err := c.Sessions(ctx(t)); return err },
	} {
		if err := call(); !errors.Is(err, client.ErrUnsupported) || client.CodeOf(err) != client.CodeUnsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesAndProcesses(t *testing.T) {
	c, _ := newServer(t)
	content := []byte("\x00\xffabc")
	if err := c.MakeDir(ctx(t), "d"); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteFile(ctx(t), "a", content); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveFile(ctx(t), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ReadFile(ctx(t), "b"); err != nil || string(got) != string(content) {
		t.Errorf("%q %v", got, err)
	}
	r, err := c.OpenFile(ctx(t), "b")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if _ = r.Close(); err != nil || string(got) != string(content) {
		t.Errorf("%q %v", got, err)
	}
	list, err := c.ListFiles(ctx(t), ".", false, 0)
	if err != nil || len(list) != 2 || list[0].Name != "b" || list[0].Size != 5 || list[1].Type != "directory" {
		t.Errorf("%+v %v", list, err)
	}
	if f, err := c.StatFile(ctx(t), "gone"); err != nil || f.Exists {
		t.Errorf("%+v %v", f, err)
	}
	if found, err := c.SearchFiles(ctx(t), ".", "b*"); err != nil || len(found.Matches) != 1 {
		t.Errorf("%+v %v", found, err)
	}
	if err := c.RemoveFile(ctx(t), "b"); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadFile(ctx(t), "../x"); client.CodeOf(err) != client.CodeUsage {
		t.Error(err)
	}
	if out, err := c.Shell(ctx(t), "ls"); err != nil || out.Stdout != "ls\n" || out.ExitCode != 3 {
		t.Errorf("%+v %v", out, err)
	}
	p, err := c.StartProcess(ctx(t), "sleep 9", "")
	if err != nil || p.PID == 0 {
		t.Fatal(err)
	}
	if list, err := c.Processes(ctx(t)); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	if got, err := c.Process(ctx(t), p.PID); err != nil || got.State != "running" {
		t.Errorf("%+v %v", got, err)
	}
	if err := c.SignalProcess(ctx(t), p.PID, 15); err != nil {
		t.Error(err)
	}
	if err := c.SignalProcess(ctx(t), p.PID, 1); client.CodeOf(err) != client.CodeUsage {
		t.Error(err)
	}
}

func TestShellStream(t *testing.T) {
	c, _ := newServer(t)
	var got []string
	for ev, err := range c.ShellStream(ctx(t), "hi") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintln(ev.Stream, ev.Data, ev.Ended, ev.ExitCode))
	}
	if d := cmp.Diff([]string{"1 hi false 0\n", "2 err false 0\n", "0  true 4\n"}, got); d != "" {
		t.Error(d)
	}
	var last error
	for _, err := range c.ShellStream(ctx(t), "cut") {
		last = err
	}
	if !errors.Is(last, client.ErrStreamBroken) {
		t.Errorf("a cut stream: %v", last)
	}
	for range c.ShellStream(ctx(t), "hi") {
		break // leaving early must leave nothing behind
	}
}

func TestTools(t *testing.T) {
	c, _ := newServer(t, "dev_tools", "browser")
	if got, err := c.SystemInfo(ctx(t)); err != nil || got.OS != "Linux" || got.CPUCount != 2 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := c.SystemMetrics(ctx(t)); err != nil || got.Load1 != 0.5 {
		t.Errorf("%+v %v", got, err)
	}
	if err := c.SetEnv(ctx(t), map[string]string{"A": "1"}); err != nil {
		t.Error(err)
	}
	if err := c.SetEnv(ctx(t), map[string]string{"PATH": "1"}); client.CodeOf(err) != client.CodeAuth {
		t.Error(err)
	}
	if got, err := c.Env(ctx(t), ""); err != nil || got["A"] != "1" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := c.Listeners(ctx(t)); err != nil || got[0].Port != 9000 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := c.Packages(ctx(t), "pip"); err != nil || len(got) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := c.RunCode(ctx(t), "1", "bash", time.Second); err != nil || got.Stdout != "ran bash" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.RunCode(ctx(t), "1", "bash", time.Hour); client.CodeOf(err) != client.CodeUsage {
		t.Error(err)
	}
	if got, err := c.GitDiff(ctx(t), ".", "", false); err != nil || got != "-a\n+b\n" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := c.Browser(ctx(t), agentserver.BrowserNavigate, map[string]any{"url": "x"}); !errors.Is(err, client.ErrUnavailable) {
		t.Error(err)
	}
	if got, err := c.Screenshot(ctx(t)); err != nil || string(got) != "\x89PNG" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := c.PDF(ctx(t)); client.CodeOf(err) != client.CodeBadAnswer {
		t.Error(err)
	}
}

func TestAgents(t *testing.T) {
	c, _ := newServer(t, "agents")
	s, err := c.CreateSession(ctx(t), agentserver.AgentSpec{Model: "m"})
	if err != nil || s.Model != "m" {
		t.Fatalf("%+v %v", s, err)
	}
	said, names := "", []string{}
	for ev, err := range c.Send(ctx(t), s.ID, "hi") {
		if err != nil {
			t.Fatal(err)
		}
		said += ev.Delta
		names = append(names, ev.Name)
	}
	if said != "You said hi" || names[0] != agentserver.AgentTurnStarted || names[len(names)-1] != agentserver.AgentTurnCompleted {
		t.Errorf("%q %q", said, names)
	}
	for input, want := range map[string]error{"busy": client.ErrConflict, "cut": client.ErrStreamBroken} {
		var last error
		for _, err := range c.Send(ctx(t), s.ID, input) {
			last = err
		}
		if !errors.Is(last, want) {
			t.Errorf("%s: %v", input, last)
		}
	}
	for _, err := range c.Follow(ctx(t), "none") {
		if !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
	}
	if got, err := c.Sessions(ctx(t)); err != nil || len(got) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := c.Items(ctx(t), s.ID); err != nil || len(got) != 2 {
		t.Errorf("%s %v", got, err)
	}
	if err := c.DeleteSession(ctx(t), s.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Session(ctx(t), s.ID); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func TestPTY(t *testing.T) {
	c, _ := newServer(t)
	p, err := c.OpenPTY(ctx(t), "", client.Size{Cols: 80, Rows: 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := func(text string) {
		t.Helper()
		b := make([]byte, len(text))
		if _, err := io.ReadFull(p, b); err != nil || string(b) != text {
			t.Fatalf("%q %v", b, err)
		}
	}
	if _, err := p.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	want("HELLO")
	if err := p.Resize(client.Size{Cols: 10, Rows: 5}); err != nil {
		t.Fatal(err)
	}
	want("10x5")
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	want("SIGINT")
	if _, err := p.Write([]byte("exit")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the exit: %v", err)
	}
	_ = p.Close()
	_ = p.Close()
	if list, err := c.PTYSessions(ctx(t)); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	if err := c.ClosePTY(ctx(t), p.ID); err != nil {
		t.Error(err)
	}
}

// No server in the template: the edge's 502 about the port, in words.
func TestNoServer(t *testing.T) {
	for body, want := range map[string]error{
		`{"sandboxId":"i1","message":"The sandbox is running but port is not open","port":9000,"code":502}`: client.ErrUnavailable,
		`{"sandboxId":"i1","message":"The sandbox was not found","code":502}`:                               client.ErrNotFound,
	} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, body)
		}))
		if err := c.Health(ctx(t)); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTokenIsNotRepeated(t *testing.T) {
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"token %s is wrong","type":"AuthError"}`, r.Header.Get("X-Access-Token"))
	}))
	_, err := c.Run(ctx(t), "hello", nil)
	if err == nil || strings.Contains(err.Error(), token) || !errors.Is(err, client.ErrUnauthorized) {
		t.Error(err)
	}
}

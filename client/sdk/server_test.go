//go:build unix

package sdk_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

func newRequest(ctx context.Context, a client.Address, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, a.Method, a.URL, body)
	if err == nil {
		req.Header = a.Header.Clone()
	}
	return req, err
}

func TestNamedCommand(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	v, err := sb.RunNamed(ctx(t), "hello", map[string]any{"name": "Ada"})
	if err != nil || v.String() != "Hello, Ada!" {
		t.Errorf("%s %v", v, err)
	}
	v, err = sb.RunNamed(ctx(t), "add", map[string]any{"a": 2, "b": 3})
	var n int
	if err != nil || v.Into(&n) != nil || n != 5 || v.String() != "5" {
		t.Errorf("%s %v", v, err)
	}
	wantCode(t, "another type", v.Into(&struct{ A []int }{}), client.CodeBadAnswer, nil)
	_, err = sb.RunNamed(ctx(t), "none", nil)
	wantCode(t, "unknown", err, client.CodeRunCommand, client.ErrNotFound)
	s.Set(func(sw *expresstest.Switches) { sw.NoServer = true })
	_, err = sb.RunNamed(ctx(t), "hello", nil)
	wantCode(t, "no server", err, client.CodeConnect, client.ErrUnavailable)
	if !strings.Contains(err.Error(), "9000") || !strings.Contains(client.HintOf(err), "agent-sandbox-server") {
		t.Errorf("%v, %s", err, client.HintOf(err))
	}
	if err := sb.Kill(ctx(t)); err != nil {
		t.Fatal(err)
	}
	_, err = sb.RunNamed(ctx(t), "hello", nil)
	wantCode(t, "killed", err, client.CodeNotFound, client.ErrNotFound)
}

// The server is reached through the edge, terminal and agents too, with a
// traffic token where ports are closed.
func TestServer(t *testing.T) {
	p, _ := provider(t, expresstest.Switches{})
	no := false
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{Network: &client.Network{Public: &no}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := sb.Server()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Health(ctx(t)); err != nil {
		t.Fatal(err)
	}
	groups, err := server.Capabilities(ctx(t))
	if err != nil || !groups[agentserver.GroupAgents] {
		t.Errorf("%v %v", groups, err)
	}
	term, err := server.OpenPTY(ctx(t), "", client.Size{Cols: 80, Rows: 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(term, b); err != nil || string(b) != "ABC" {
		t.Errorf("%q %v", b, err)
	}
	_ = term.Close()
	session, err := server.CreateSession(ctx(t), agentserver.AgentSpec{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for ev, err := range server.Send(ctx(t), session.ID, "hi") {
		if err != nil {
			t.Fatal(err)
		}
		said += ev.Delta
	}
	if said != "You said hi" {
		t.Errorf("%q", said)
	}
}

func TestNetwork(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	want := "http://9000-" + string(sb.ID()) + "." + expresstest.Domain
	if got, err := sb.GetURL(9000); err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	h, err := sb.AccessHeaders(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(http.Header{"X-Access-Token": {s.Token(string(sb.ID()))}}, h); d != "" {
		t.Error(d)
	}
	a, err := sb.Resolve(ctx(t), 9000)
	if err != nil || a.URL != want {
		t.Errorf("%s %v", a.URL, err)
	}
	for _, port := range []int{0, -1, 65536} {
		_, err := sb.GetURL(port)
		wantCode(t, "port", err, client.CodeUsage, nil)
		_, err = sb.Resolve(ctx(t), port)
		wantCode(t, "port", err, client.CodeUsage, nil)
	}
	none, err := sdk.Open(ctx(t), &patched{Provider: sb.Provider(), lacks: []client.Capability{client.CapPorts, client.CapPTY, client.CapReconnect, client.CapWatch}}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	_, urlErr := none.GetURL(9000)
	_, termErr := none.GetTerminal(ctx(t), client.Size{}, sdk.RunOptions{})
	_, attachErr := none.Attach(ctx(t), 1, sdk.RunOptions{})
	_, watchErr := none.Files().Watch(ctx(t), "", false)
	_, serverErr := none.Server()
	for what, err := range map[string]error{"url": urlErr, "terminal": termErr, "attach": attachErr, "watch": watchErr, "server": serverErr} {
		wantCode(t, what, err, client.CodeUnsupported, client.ErrUnsupported)
	}
}

func TestRunCode(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	var seen []string
	x, err := sb.RunCode(ctx(t), `print("x"); 1+1`, sdk.CodeOptions{OnEvent: func(e sdk.CodeEvent) { seen = append(seen, e.Type+":"+e.Text) }})
	if err != nil || x.Stdout != "x\n" || x.Text() != "2" || x.Count != 1 || x.Error != nil {
		t.Errorf("%+v %v", x, err)
	}
	if d := cmp.Diff([]string{"stdout:x\n", "result:2"}, seen); d != "" {
		t.Error(d)
	}
	x, err = sb.RunCode(ctx(t), "1/0", sdk.CodeOptions{})
	if err != nil || x.Error == nil || x.Error.Name != "ZeroDivisionError" {
		t.Errorf("%+v %v", x, err)
	}
	x, err = sb.RunCode(ctx(t), "odd", sdk.CodeOptions{})
	if err != nil || x.Stderr != "warn" || len(x.Results) != 1 || string(x.Results[0].PNG[:4]) != "\x89PNG" || string(x.Results[0].JSON) != `{"a": 1}` || x.Text() != "" {
		t.Errorf("%+v %v", x, err)
	}
	x, err = sb.RunCode(ctx(t), "env", sdk.CodeOptions{Env: map[string]string{"A": "1"}})
	if err != nil || x.Stdout != "1" {
		t.Errorf("%+v %v", x, err)
	}
	for code, kind := range map[string]error{"cut": client.ErrStreamBroken, "unended": client.ErrStreamBroken} {
		_, err := sb.RunCode(ctx(t), code, sdk.CodeOptions{})
		wantCode(t, code, err, client.CodeRunCode, kind)
	}
	_, err = sb.RunCode(ctx(t), "hang", sdk.CodeOptions{Timeout: 200 * time.Millisecond})
	wantCode(t, "hang", err, client.CodeRunTimeout, context.DeadlineExceeded)
	c, cancel := context.WithCancel(ctx(t))
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err = sb.RunCode(c, "hang", sdk.CodeOptions{Timeout: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	before := len(s.Requests("/execute"))
	shellOnly, err := sdk.Open(ctx(t), sb.Provider(), sb.ID(), sdk.TemplateCapabilities("shell", "files"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = shellOnly.RunCode(ctx(t), "1", sdk.CodeOptions{})
	wantCode(t, "template without code", err, client.CodeRunCapability, client.ErrUnsupported)
	lacking, err := sdk.Open(ctx(t), &patched{Provider: sb.Provider(), lacks: []client.Capability{client.CapCode}}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	_, err = lacking.RunCode(ctx(t), "1", sdk.CodeOptions{})
	wantCode(t, "provider without code", err, client.CodeUnsupported, client.ErrUnsupported)
	_, err = sb.RunCode(ctx(t), "1", sdk.CodeOptions{Language: "bash", Context: "c"})
	wantCode(t, "both", err, client.CodeUsage, nil)
	if got := len(s.Requests("/execute")); got != before {
		t.Errorf("%d calls for what was refused", got-before)
	}
}

func TestCodeContexts(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	c, err := sb.CreateContext(ctx(t), "javascript", "/tmp")
	if err != nil || c.Language != "javascript" || c.ID == "" {
		t.Fatalf("%+v %v", c, err)
	}
	for want := 1; want < 3; want++ {
		if x, err := sb.RunCode(ctx(t), "1", sdk.CodeOptions{Context: c.ID}); err != nil || x.Count != want {
			t.Errorf("%+v %v", x, err)
		}
	}
	if err := sb.RestartContext(ctx(t), c.ID); err != nil {
		t.Error(err)
	}
	if x, err := sb.RunCode(ctx(t), "1", sdk.CodeOptions{Context: c.ID}); err != nil || x.Count != 1 {
		t.Errorf("%+v %v", x, err)
	}
	if list, err := sb.Contexts(ctx(t)); err != nil || len(list) != 1 || list[0] != c {
		t.Errorf("%+v %v", list, err)
	}
	if err := sb.RemoveContext(ctx(t), c.ID); err != nil {
		t.Error(err)
	}
	_, err = sb.RunCode(ctx(t), "1", sdk.CodeOptions{Context: c.ID})
	wantCode(t, "removed", err, client.CodeRunCode, client.ErrNotFound)
	_, err = sb.CreateContext(ctx(t), "r", "")
	if err == nil || !strings.Contains(err.Error(), "language r is not supported") {
		t.Errorf("%v", err)
	}
}

func TestRunProgram(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	here := t.TempDir()
	script := filepath.Join(here, "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"got $1\"; cat; mkdir -p out; echo r > out/result; echo log > job.log; exit ${2:-0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(here, "results")
	r, err := sdk.RunProgram(ctx(t), p, sdk.Program{
		Path: script, Args: []string{"a b", "4"}, Run: sdk.RunOptions{Stdin: strings.NewReader("in\n")},
		Results: []string{"out", "job.log"}, ResultsDir: results,
	})
	if err != nil || r.Stdout != "got a b\nin\n" || r.Exit.Code != 4 || len(r.Reports) != 2 || s.Live() != 0 {
		t.Errorf("%+v %v, %d live", r, err, s.Live())
	}
	if d := cmp.Diff([]string{"job.log", "out/", "out/result"}, tree(t, results)); d != "" {
		t.Error(d)
	}
	r, err = sdk.RunProgram(ctx(t), p, sdk.Program{Path: script, Interpreter: []string{"sh"}, Results: []string{"none", "job.log"}, ResultsDir: filepath.Join(here, "again")})
	wantCode(t, "a missing result", err, client.CodeFileNotFound, client.ErrNotFound)
	if r.Exit.Code != 0 || s.Live() != 0 {
		t.Errorf("%+v, %d live", r, s.Live())
	}
	if d := cmp.Diff([]string{"job.log"}, tree(t, filepath.Join(here, "again"))); d != "" {
		t.Error(d)
	}
	_, err = sdk.RunProgram(ctx(t), p, sdk.Program{Path: filepath.Join(here, "none")})
	wantCode(t, "no program", err, client.CodeFiles, os.ErrNotExist)
}

// A sandbox that is to be kept stays when the program has ended, a timeout
// included, and its results are fetched all the same.
func TestRunProgramKeeps(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	here := t.TempDir()
	script := filepath.Join(here, "slow.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho r > result; exec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var made client.Sandbox
	prog := sdk.Program{
		Path: script, Keep: true, Created: func(sb client.Sandbox) { made = sb }, Run: sdk.RunOptions{Timeout: time.Second},
		Results: []string{"result"}, ResultsDir: filepath.Join(here, "out"),
	}
	r, err := sdk.RunProgram(ctx(t), p, prog)
	wantCode(t, "too slow", err, client.CodeRunTimeout, nil)
	if !r.Kept || r.Sandbox.ID != made.ID || made.ID == "" || !r.Exit.TimedOut || s.Live() != 1 {
		t.Errorf("%+v, %d live", r, s.Live())
	}
	if d := cmp.Diff([]string{"result"}, tree(t, prog.ResultsDir)); d != "" {
		t.Error(d)
	}
	// Called off, it is not kept.
	off, cancel := context.WithCancel(ctx(t))
	prog.Created = func(client.Sandbox) { cancel() }
	if r, err = sdk.RunProgram(off, p, prog); err == nil || r.Kept || s.Live() != 1 {
		t.Errorf("%+v %v, %d live", r, err, s.Live())
	}
}

// One address for all sandboxes, told apart by headers, works alike.
func TestSharedDataURL(t *testing.T) {
	s := expresstest.New(t, expresstest.Switches{})
	p, err := express.New(express.Config{APIKey: expresstest.Key, APIURL: s.URL, DataURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	err = sdk.With(ctx(t), p, client.CreateSpec{}, func(ctx context.Context, sb *sdk.Sandbox) error {
		if r, err := sb.Run(ctx, "echo hi", sdk.RunOptions{}); err != nil || r.Stdout != "hi\n" {
			t.Errorf("%+v %v", r, err)
		}
		v, err := sb.RunNamed(ctx, "hello", map[string]any{"name": "Ada"})
		if err != nil || v.String() != "Hello, Ada!" {
			t.Errorf("%s %v", v, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

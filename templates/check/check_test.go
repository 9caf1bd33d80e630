//go:build linux

package check

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
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

const patience = 2 * time.Minute

// provider is a local provider with folders of its own; its server ends with the test.
func provider(t *testing.T) client.Provider {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	root, err := os.MkdirTemp("", "abxdash-check")
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(local.Config{Root: root, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Stop(ctx, true); err != nil {
			t.Errorf("stop the local server: %v", err)
		}
		p.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return p
}

// demo is a scaffolded folder with some files replaced.
func demo(t *testing.T, target templates.Target, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	list, err := scaffold.New(scaffold.Options{Kind: scaffold.Python, Name: "demo", Target: target})
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

func options(t *testing.T, p client.Provider, target templates.Target, files map[string]string) Options {
	t.Helper()
	return Options{
		Provider: p, Dir: demo(t, target, files),
		Lint: templates.LintOptions{Target: target, Python: templates.Interpreter()},
	}
}

func TestCheck(t *testing.T) {
	p := provider(t)
	express, other := templates.NewTarget("", "", nil), templates.NewTarget("opensandbox", "", nil)
	const head = "import os\nfrom agent_sandbox.server import command, start\n"
	const tail = "\nif __name__ == '__main__':\n    start(int(os.environ['ABX_SERVER_PORT']))\n"
	for _, tc := range []struct {
		name   string
		target templates.Target
		files  map[string]string
		ok     bool
		// calls are "command result", failure is in Error or the call's.
		calls   []string
		failure string
	}{
		{name: "express", target: express, ok: true, calls: []string{`hello "Hello, Ada!"`, "add 2"}},
		{name: "other", target: other, ok: true, calls: []string{`hello "Hello, Ada!"`, "add 2"}},
		{
			name: "reads its own files", target: express, ok: true, calls: []string{`read "text"`},
			files: map[string]string{"commands.py": head + "@command()\ndef read(): return open('data.txt').read()" + tail, "data.txt": "text"},
		},
		{
			name: "fails when it is imported", target: express, failure: "commands.py:3: ValueError: broken",
			files: map[string]string{"commands.py": head + "raise ValueError('broken')\n@command()\ndef f(): pass" + tail},
		},
		{
			name: "start found at run time only", target: express, failure: "start() ran while the platform imported the file",
			files: map[string]string{"commands.py": head + "@command()\ndef f(): pass\nfor go in [start]: go(9000)\n" + tail},
		},
		{
			name: "a command that raises", target: express, failure: "KeyError: 'gone'",
			files: map[string]string{"commands.py": head + "@command()\ndef f(): raise KeyError('gone')" + tail},
		},
		{
			name: "a missing module", target: express, failure: "No module named 'numpy_is_not_here'",
			files: map[string]string{"commands.py": head + "import numpy_is_not_here\n@command()\ndef f(): pass" + tail},
		},
		{
			name: "ends at once", target: other, failure: "it ended: exit 0",
			files: map[string]string{"commands.py": head + "@command()\ndef f(): pass\nif __name__ == '__main__':\n    x = start\n    if x is None: start(1)\n"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Run(t.Context(), options(t, p, tc.target, tc.files))
			if err != nil {
				t.Fatal(err)
			}
			if r.OK != tc.ok || r.Server != ServerStandIn && r.Server != ServerReal {
				t.Errorf("ok %v, server %q, error %q, lint %v\n%s", r.OK, r.Server, r.Error, r.Lint.Problems, strings.Join(r.Logs, "\n"))
			}
			failure := r.Error
			var calls []string
			for _, c := range r.Calls {
				failure += c.Error
				if c.OK {
					calls = append(calls, c.Command+" "+string(c.Result))
				}
			}
			if strings.Join(calls, ",") != strings.Join(tc.calls, ",") {
				t.Errorf("calls %v, want %v", calls, tc.calls)
			}
			if !strings.Contains(failure, tc.failure) || tc.failure == "" && failure != "" {
				t.Errorf("failure %q, want %q", failure, tc.failure)
			}
		})
	}
	nothingLeft(t, p)
}

// nothingLeft holds that no check leaves a sandbox.
func nothingLeft(t *testing.T, p client.Provider) {
	t.Helper()
	page, err := p.Sandboxes().List(t.Context(), client.Query{})
	if err != nil || len(page.Sandboxes) > 0 {
		t.Errorf("left: %v, %v", page.Sandboxes, err)
	}
}

func TestOneCallWithArguments(t *testing.T) {
	p := provider(t)
	o := options(t, p, templates.NewTarget("", "", nil), nil)
	o.Call, o.Args = "add", map[string]string{"a": "40", "b": "2"}
	r, err := Run(t.Context(), o)
	if err != nil || !r.OK || len(r.Calls) != 1 || string(r.Calls[0].Result) != "42" {
		t.Errorf("%+v, %v", r.Calls, err)
	}
	o.Args = map[string]string{"a": "x"}
	if r, err = Run(t.Context(), o); err != nil || r.OK || r.Code != client.CodeUsage {
		t.Errorf("%+v, %v", r, err)
	}
	o.Call, o.Args = "nope", nil
	if r, err = Run(t.Context(), o); err != nil || r.OK || r.Calls[0].Code != client.CodeRunCommand {
		t.Errorf("%+v, %v", r.Calls, err)
	}
	o.Call, o.NoCalls = "", true
	if r, err = Run(t.Context(), o); err != nil || !r.OK || len(r.Calls) != 0 || len(r.Commands) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	nothingLeft(t, p)
}

// At level process the port is one that nobody else has.
func TestPortAtLevelProcess(t *testing.T) {
	for level, fixed := range map[client.Isolation]bool{
		client.IsolationProcess: false, client.IsolationLandlock: false, client.IsolationNamespace: true, client.IsolationProvider: true, "": true,
	} {
		if got := portFor(level); got == templates.ServerPort != fixed || got < 1024 {
			t.Errorf("%q: %d", level, got)
		}
	}
}

// A lint error stops before anything is made.
func TestLintStopsTheCheck(t *testing.T) {
	target := templates.NewTarget("", "", nil)
	o := Options{Dir: demo(t, target, map[string]string{"template.yaml": "name: codex\n"}), Lint: templates.LintOptions{Target: target}}
	r, err := Run(t.Context(), o) // without a provider: none may be needed
	if err != nil || r.OK || r.Server != "" || r.Lint.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCancelledCheckLeavesNothing(t *testing.T) {
	p := provider(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, p, templates.NewTarget("", "", nil), map[string]string{
		"commands.py": "import os, time\nfrom agent_sandbox.server import command, start\n@command()\ndef f(): time.sleep(600)\nif __name__ == '__main__': start(9000)\n",
	})
	o.Say = func(line string) {
		if strings.HasPrefix(line, "GET /health") {
			cancel()
		}
	}
	if _, err := Run(ctx, o); err == nil {
		t.Error("no error")
	}
	nothingLeft(t, p)
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	changed := make(chan struct{}, 10)
	done := make(chan error, 1)
	go func() { done <- Watch(ctx, dir, func() { changed <- struct{}{} }) }()
	// The watch may not have begun yet: save until it is seen.
	see := func(name string) {
		t.Helper()
		deadline := time.After(patience)
		for {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
				return
			case <-deadline:
				t.Fatalf("%s was not seen", name)
			case <-time.After(2 * settle):
			}
		}
	}
	see("a")
	see("sub/b")
	cancel()
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

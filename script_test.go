package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"abxdash/client/local"
)

func TestMain(m *testing.M) {
	// The test's own binary plays the local server and its helpers, like the real one.
	if local.Reexec() {
		return
	}
	testscript.Main(m, map[string]func(){"abxdash": main})
}

// TestE2EScripts runs the commands as processes of their own, with real local
// sandboxes. Each script has a home of its own, and whatever it leaves running
// is ended.
func TestE2EScripts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("local sandboxes are tested on linux")
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("ABXDASH_HOME", filepath.Join(home, "abxdash"))
			env.Setenv("TERM", "xterm-256color")
			env.Defer(func() { stopServer(t, filepath.Join(home, "abxdash")) })
			return os.MkdirAll(home, 0o700)
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"code": codeCmd},
		RequireExplicitExec: true,
	})
}

// stopServer ends the local server of a script, so that no sandbox survives a failed one.
func stopServer(t *testing.T, root string) {
	p, err := local.New(local.Config{Root: root})
	if err != nil {
		t.Error(err)
		return
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Stop(ctx, true); err != nil {
		t.Errorf("stop the local server: %v", err)
	}
}

// codeCmd is `code N COMMAND…`: the command must end with that exit code.
func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

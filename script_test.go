package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": codeCmd, "procs": procsCmd, "killserver": killServerCmd,
		},
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

// procsCmd is `procs N MARK`: so many processes of this machine come to have
// MARK as the last word of their command line.
func procsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: procs N MARK")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := -1
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		if got = countProcs(args[1]); got == want {
			return
		}
	}
	ts.Fatalf("%d processes with %s, want %d", got, args[1], want)
}

func countProcs(mark string) int {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return -1
	}
	n := 0
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(strings.TrimRight(string(line), "\x00"), "; : "+mark) {
			n++
		}
	}
	return n
}

// killServerCmd ends the script's local server with SIGKILL.
func killServerCmd(ts *testscript.TestScript, _ bool, _ []string) {
	p, err := local.New(local.Config{Root: ts.Getenv("ABXDASH_HOME")})
	ts.Check(err)
	defer p.Close()
	st, err := p.Status(context.Background())
	ts.Check(err)
	proc, err := os.FindProcess(st.PID)
	ts.Check(err)
	ts.Check(proc.Kill())
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"abxdash/client/local"
)

// pkg is what `go list -json` says about one package.
type pkg struct {
	ImportPath   string
	Deps         []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// arrow is one forbidden direction: a package under from may not depend on one under to.
type arrow struct {
	from, to string
	// except lists packages below `to` that are allowed.
	except []string
	why    string
}

// arrows are the import rules of docs/architecture.md.
var arrows = []arrow{
	{"abxdash/client", "charm.land/", nil, "the client must be usable without a terminal"},
	{"abxdash/client", "abxdash/ui", nil, "the client knows no screens"},
	{"abxdash/client", "abxdash/views", nil, "the client knows no screens"},
	{"abxdash/templates", "charm.land/", nil, "templates must be usable without a terminal"},
	{"abxdash/templates", "abxdash/ui", nil, "templates know no screens"},
	{"abxdash/templates", "abxdash/views", nil, "templates know no screens"},
	{"abxdash/ui", "abxdash/client", nil, "widgets know nothing about sandboxes"},
	{"abxdash/ui", "abxdash/views", nil, "the shell is handed its screens"},
	{"abxdash/keymap", "abxdash/", []string{"abxdash/keymap"}, "keymap stands at the bottom"},
	{"abxdash/theme", "abxdash/", []string{"abxdash/theme"}, "theme stands at the bottom"},
	// Bubble Tea v1 blocks the first frame on terminals that do not answer a colour query.
	{"abxdash", "github.com/charmbracelet/bubbletea", nil, "only version 2 (charm.land/bubbletea/v2)"},
	{"abxdash", "github.com/charmbracelet/bubbles", nil, "only version 2 (charm.land/bubbles/v2)"},
	{"abxdash", "github.com/charmbracelet/lipgloss", nil, "only version 2 (charm.land/lipgloss/v2)"},
}

func TestImportsPointOneWay(t *testing.T) {
	pkgs := listPackages(t)
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	for _, p := range pkgs {
		for _, a := range arrows {
			if !under(p.ImportPath, a.from) {
				continue
			}
			for _, d := range p.Deps {
				if under(d, a.to) && !underAny(d, a.except) {
					t.Errorf("%s depends on %s: %s", p.ImportPath, d, a.why)
				}
			}
		}
		checkView(t, p)
	}
}

// checkView holds the rules for screens: a view imports interfaces of the
// client only, and no other view but views/present. The commands in views/cli
// are handed their providers too. Package views/app puts all together and is
// known to main alone.
func checkView(t *testing.T, p pkg) {
	t.Helper()
	const whole = "abxdash/views/app"
	if slices.Contains(p.Imports, whole) && p.ImportPath != "abxdash" {
		t.Errorf("%s imports %s: only main may", p.ImportPath, whole)
	}
	if !under(p.ImportPath, "abxdash/views") || p.ImportPath == whole {
		return
	}
	for _, d := range p.Imports {
		switch {
		case under(d, "abxdash/views/present"), d == p.ImportPath, under(d, p.ImportPath):
		case under(d, "abxdash/views"):
			t.Errorf("%s imports %s: views ask for one another by message", p.ImportPath, d)
		case p.ImportPath == "abxdash/views/cli" && d == "abxdash/client/sdk": // objects over any provider
		case under(d, "abxdash/client") && d != "abxdash/client" && d != "abxdash/client/stream":
			t.Errorf("%s imports %s: views see the client's interfaces only", p.ImportPath, d)
		}
	}
}

func under(path, prefix string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func underAny(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if under(path, p) {
			return true
		}
	}
	return false
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Deps,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

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
		Dir: filepath.Join("views", "cli", "testdata", "script"),
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

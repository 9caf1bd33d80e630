//go:build linux

package isolate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/local/envd"
)

func allLevels() []client.Isolation {
	return []client.Isolation{client.IsolationNamespace, client.IsolationLandlock, client.IsolationProcess}
}

// levelsHere are those that can be tested: root has namespace only.
func levelsHere(t *testing.T, f func(t *testing.T, b *box)) {
	t.Helper()
	for _, level := range allLevels() {
		t.Run(string(level), func(t *testing.T) {
			l := newLauncher(t)
			if _, err := l.Probe(context.Background(), level); err != nil {
				t.Skip("not to be had here: ", err)
			}
			f(t, startBox(t, l, Config{Level: level}))
		})
	}
}

func TestExits(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		b.sh(t, "printf 'echo from script $1\\n' >noshebang && chmod +x noshebang && echo hi >plain && mkdir -p sub bin && cp noshebang bin/tool")
		cases := []struct {
			name           string
			in             runRequest
			stdout, stderr string
			exit           envd.Exit
		}{
			{"success", runRequest{Argv: []string{"echo", "hi"}}, "hi\n", "", envd.Exit{Exited: true, Status: "exit status 0"}},
			{"code", runRequest{Argv: []string{"sh", "-c", "echo bad >&2; exit 3"}}, "", "bad\n", envd.Exit{Code: 3, Exited: true, Status: "exit status 3"}},
			{"killed", runRequest{Argv: []string{"sh", "-c", "kill -9 $$"}}, "", "", envd.Exit{Code: -1, Status: "signal: killed"}},
			{"terminated", runRequest{Argv: []string{"sh", "-c", "kill $$"}}, "", "", envd.Exit{Code: -1, Status: "signal: terminated"}},
			{"stdin", runRequest{Argv: []string{"cat"}, Stdin: "a\x00b"}, "a\x00b", "", envd.Exit{Exited: true, Status: "exit status 0"}},
			{"missing", runRequest{Argv: []string{"no-such-tool"}}, "", "no-such-tool: command not found\n", envd.Exit{Code: 127, Exited: true, Status: "exit status 127"}},
			{"empty", runRequest{Argv: []string{""}}, "", ": command not found\n", envd.Exit{Code: 127, Exited: true, Status: "exit status 127"}},
			{"missing path", runRequest{Argv: []string{"./no%s-such"}}, "", "./no%s-such: no such file or directory\n", envd.Exit{Code: 127, Exited: true, Status: "exit status 127"}},
			{"not executable", runRequest{Argv: []string{"./plain"}}, "", "./plain: permission denied\n", envd.Exit{Code: 126, Exited: true, Status: "exit status 126"}},
			{"directory", runRequest{Argv: []string{"./sub"}}, "", "./sub: permission denied\n", envd.Exit{Code: 126, Exited: true, Status: "exit status 126"}},
			{"no shebang", runRequest{Argv: []string{"./noshebang", "x"}}, "from script x\n", "", envd.Exit{Exited: true, Status: "exit status 0"}},
			{"relative PATH", runRequest{Argv: []string{"tool", "y"}, Env: []string{"PATH=bin"}}, "from script y\n", "", envd.Exit{Exited: true, Status: "exit status 0"}},
			{"other directory", runRequest{Argv: []string{"pwd"}, Dir: "/usr"}, "/usr\n", "", envd.Exit{Exited: true, Status: "exit status 0"}},
			{"not UTF-8", runRequest{Argv: []string{"printf", `\377\200`}}, "\xff\x80", "", envd.Exit{Exited: true, Status: "exit status 0"}},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				got := b.do(t, c.in)
				if got.Err != "" {
					t.Fatal(got.Err)
				}
				if diff := cmp.Diff(c.exit, got.Exit); diff != "" {
					t.Error(diff)
				}
				if string(got.Stdout) != c.stdout || string(got.Stderr) != c.stderr {
					t.Errorf("stdout %q, stderr %q; want %q, %q", got.Stdout, got.Stderr, c.stdout, c.stderr)
				}
			})
		}
	})
}

func TestRefusals(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		b.sh(t, "echo >file")
		cases := []struct {
			name string
			in   runRequest
			want string
		}{
			{"other user", runRequest{User: "root", Argv: []string{"true"}}, "invalid username: 'root'"},
			{"no directory", runRequest{Dir: "/no/such", Argv: []string{"true"}}, "working directory: no such file or directory"},
			{"file as directory", runRequest{Dir: "/etc/passwd", Argv: []string{"true"}}, "working directory: not a directory"},
		}
		for _, c := range cases {
			if got := b.do(t, c.in); !strings.Contains(got.Err, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got.Err, c.want)
			}
		}
	})
}

// CMD-05: the pipes may be held by a grandchild for as long as it lives.
func TestEndDespiteGrandchild(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		start := time.Now()
		out := b.do(t, runRequest{Argv: []string{"sh", "-c", "sleep 300 & echo hi"}})
		if string(out.Stdout) != "hi\n" || out.Exit.Code != 0 || !out.Exit.Exited {
			t.Errorf("%+v", out)
		}
		if d := time.Since(start); d > 60*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// Whatever state the launcher is in, commands start from a clean one.
func TestCleanStart(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		status := map[string]string{}
		for line := range strings.Lines(b.sh(t, "exec cat /proc/self/status")) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
			status[k] = strings.TrimSpace(v)
		}
		const none = "0000000000000000"
		wanted := map[string]string{"SigBlk": none, "SigIgn": none, "CapAmb": none, "NoNewPrivs": "1"}
		if b.Level() == client.IsolationNamespace || os.Geteuid() != 0 {
			wanted["CapEff"], wanted["CapPrm"] = none, none
		}
		for k, want := range wanted {
			if status[k] != want {
				t.Errorf("%s is %s, want %s", k, status[k], want)
			}
		}
		if got := b.sh(t, "exec ls -1 /proc/self/fd"); got != "0\n1\n2\n3\n" { // 3 is ls's own
			t.Errorf("open descriptors: %q", got)
		}
		if got := b.sh(t, "exec cat /proc/self/oom_score_adj"); got != "0\n" {
			t.Errorf("oom score %q", got)
		}
		if got := b.sh(t, "ulimit -c; umask"); got != "0\n0022\n" {
			t.Errorf("core limit and umask: %q", got)
		}
		got := b.do(t, runRequest{Argv: []string{"env"}})
		for line := range strings.Lines(string(got.Stdout)) {
			switch name, _, _ := strings.Cut(line, "="); name {
			case "PATH", "HOME", "USER", "LOGNAME":
			default:
				t.Errorf("unexpected variable %q", line)
			}
		}
	})
}

// Every command gets its own output and its own exit, however many run at once.
func TestManyAtOnce(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				out := b.do(t, runRequest{Argv: []string{"sh", "-c", "echo $0; (exit 9) & exit $0", strconv.Itoa(i)}, TTY: i%5 == 0})
				if strings.TrimSpace(string(out.Stdout)) != strconv.Itoa(i) || out.Exit.Code != i {
					t.Errorf("%d: %+v %q %q", i, out.Exit, out.Stdout, out.Err)
				}
			})
		}
		wg.Wait()
	})
}

func TestOrphansAreReaped(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		b.sh(t, "for i in 1 2 3 4 5; do (setsid sh -c 'exec sh -c true' &) ; done")
		eventually(t, "no zombie is left", func() bool {
			parents, err := processParents()
			if err != nil {
				t.Fatal(err)
			}
			for p, parent := range parents {
				if parent == b.PID() && zombie(p) {
					return false
				}
			}
			return true
		})
	})
}

func TestTerminal(t *testing.T) {
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("no bash here")
	}
	levelsHere(t, func(t *testing.T, b *box) {
		out := b.do(t, runRequest{
			Argv: []string{"bash", "-i", "-l"}, TTY: true,
			Env:   []string{"TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"},
			Stdin: "PS1=\nstty -echo\ntty\nstty size\nsleep 100 &\njobs\nkill %1; wait\nfg\ntest -t 0 && echo IS-TTY\nexit 5\n",
		})
		text := string(out.Stdout)
		if out.Exit.Code != 5 {
			t.Errorf("exit %+v", out.Exit)
		}
		for _, want := range []string{"/dev/pts/", "24 80", "Running", "IS-TTY"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %q", want, text)
			}
		}
		for _, noise := range []string{"no job control", "cannot set terminal", "setlocale", "warning", "cannot find name"} {
			if strings.Contains(text, noise) {
				t.Errorf("%q in %q", noise, text)
			}
		}
	})
}

// Programs that people start first.
func TestProgramsRun(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	for _, c := range []struct {
		tool  string
		argv  []string
		stdin string
		want  string
	}{
		{"vim", []string{"vim", "-c", "normal ihello-vim", "-c", "wq", "v.txt"}, "", "v.txt"},
		{"less", []string{"less", "/etc/passwd"}, "q", "user:x:1000"},
		{"python3", []string{"/usr/bin/python3", "-c", "import getpass,ssl,tempfile,os;print('py',getpass.getuser(),os.path.expanduser('~'),os.cpu_count()>0,tempfile.gettempdir())"}, "", "py user /home/user True /tmp"},
		{"git", []string{"sh", "-c", "git init -q g && cd g && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline | wc -l"}, "", "1"},
		{"ps", []string{"ps", "-o", "pid,user,args"}, "", "user"},
		{"id", []string{"id", "-un"}, "", "user"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			if b.do(t, runRequest{Argv: []string{"sh", "-c", "command -v " + c.argv[0]}}).Exit.Code != 0 {
				t.Skip("not installed")
			}
			out := b.do(t, runRequest{Argv: c.argv, TTY: true, Stdin: c.stdin, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}})
			if out.Exit.Code != 0 || !strings.Contains(string(out.Stdout), c.want) {
				t.Errorf("%+v %q", out.Exit, out.Stdout)
			}
		})
	}
}

// `kill -9 -1` takes the starter of commands along; the next command starts another.
func TestCommandsAfterKillAll(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	for range 3 {
		// The starter may die before it has said that it started this one: an error, then.
		b.do(t, runRequest{Argv: []string{"sh", "-c", "sleep 200 & kill -9 -1"}})
		// Whether its end was noticed yet or not, the next one works.
		if got := b.sh(t, "echo alive"); got != "alive\n" {
			t.Errorf("%q", got)
		}
	}
	if out := b.do(t, runRequest{Argv: []string{"sh", "-c", "unshare -Ur true"}}); out.Exit.Code == 0 {
		t.Error("a user namespace could be made after a restart")
	}
}

// Neither does stopping everything keep the next command from starting.
func TestCommandsAfterStopAll(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	b.sh(t, "kill -STOP -1; true")
	if got := b.sh(t, "echo alive"); got != "alive\n" {
		t.Errorf("%q", got)
	}
}

// A command sees the others' /proc entries and can trace them.
func TestCommandsSeeEachOther(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	first := b.do(t, runRequest{Argv: []string{"sleep", "300"}, Leave: true})
	if got := b.sh(t, fmt.Sprintf("readlink /proc/%d/exe /proc/%d/cwd; kill %d", first.PID, first.PID, first.PID)); !strings.Contains(got, "sleep") || !strings.Contains(got, HomePath) {
		t.Errorf("%q", got)
	}
}

func TestHomeIsTheHostsFolder(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		b.sh(t, "cd && echo content >f && mkdir d && echo $HOME")
		got, err := os.ReadFile(filepath.Join(b.home, "f"))
		if err != nil || string(got) != "content\n" {
			t.Errorf("%q %v", got, err)
		}
	})
}

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The main job with keys alone: create, run a command and see its lines come
// one by one, read a file, work in a shell with vim, detach, kill with review,
// undo, kill again, quit.
func TestE2EMainJob(t *testing.T) {
	users(t, func(t *testing.T, u *user) {
		p := u.open(120, 40)
		p.untilShows("No sandboxes yet.")
		if u.status().Running {
			t.Error("opening the dashboard started the local server")
		}
		p.typ("n")
		p.untilShows("New sandbox")
		p.typ("box\r")
		p.untilShows("● running")
		l := u.list()
		if len(l) != 1 || l[0].Name != "box" || l[0].Isolation != "namespace" {
			t.Fatalf("the list is %+v, want one sandbox named box at level namespace", l)
		}
		runLines(p)
		readFile(t, p, u)
		workInShell(p)
		killAndUndo(t, p, u)
		p.typ("q")
		p.leaves()
	})
}

// runLines runs a command that takes three seconds and sees its lines arrive one by one.
func runLines(p *program) {
	p.typ("!")
	p.untilShows("a shell line, run in the sandbox")
	p.typ("for i in 1 2 3; do echo line-$i; sleep 1; done\r")
	// The command itself is on the screen too, so whole lines are looked for.
	row := func(text string) bool {
		for _, l := range p.term.Lines() {
			if strings.Trim(l, "│ ") == text {
				return true
			}
		}
		return false
	}
	p.until("the first line alone", func() bool { return row("line-1") && !row("line-3") })
	p.until("the second line", func() bool { return row("line-2") })
	p.until("the third line", func() bool { return row("line-3") })
	p.untilShows("exit 0")
	p.typ("exit 3\r")
	p.untilShows("exit 3")
	p.typ("\x1b")
	p.untilShows("! types a command")
}

// readFile makes a file and sees it in the Files tab.
func readFile(t *testing.T, p *program, u *user) {
	t.Helper()
	src := filepath.Join(u.home, "note.txt")
	if err := os.WriteFile(src, []byte("written outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.must("cp", src, u.list()[0].ID+":note.txt")
	p.typ("3")
	p.untilShows("note.txt")
	p.typ("G")
	p.untilShows("written outside")
}

// workInShell attaches, edits a file with vim, and detaches.
func workInShell(p *program) {
	p.typ("4")
	p.untilShows("user@sandbox:~$")
	p.typ("stty size\r")
	p.untilShows("34 120") // 40 rows less header, identity, tabs, bar, status and footer
	p.typ("vim edited.txt\r")
	p.until("vim", func() bool { return strings.Count(p.screen(), "\n~") > 10 })
	p.typ("i")
	p.untilShows("-- INSERT --")
	p.typ("from vim")
	p.untilShows("from vim")
	p.typ("\x1b")
	p.untilGone("-- INSERT --")
	p.typ(":wq\r")
	p.until("the end of vim", func() bool { return strings.Count(p.screen(), "\n~") < 3 })
	p.typ("cat edited.txt; echo done-$((1+1))\r")
	p.untilShows("done-2")
	p.untilShows("from vim")
	p.typ("\x1dd")
	p.untilShows("detached, the shell goes on")
	p.typ("\x1b")
	p.untilShows("NAME/ID")
}

// killAndUndo opens the sheet, confirms, undoes, and does it again for good.
func killAndUndo(t *testing.T, p *program, u *user) {
	t.Helper()
	p.typ("x")
	p.untilShows("Kill 1 sandbox")
	p.typ("\r") // enter does nothing on the sheet
	p.untilShows("Kill 1 sandbox")
	p.typ("y")
	p.untilShows("z undo")
	p.typ("z")
	p.untilShows("undone")
	if n := len(u.list()); n != 1 {
		t.Fatalf("%d sandboxes after the undo, want 1", n)
	}
	p.typ("x")
	p.untilShows("Kill 1 sandbox")
	p.typ("y")
	p.untilShows("killed box")
	wait(t, "an empty list", func() bool { return len(u.list()) == 0 })
}

// A shell opened from the list comes back to the list, cursor on its row.
func TestE2EShellFromTheList(t *testing.T) {
	u := newUser(t, os.Getuid())
	u.must("create", "--name", "one")
	u.must("create", "--name", "two")
	p := u.open(100, 30)
	p.untilShows("2 running")
	p.typ("g")
	p.untilShows("▌  two") // newest first
	p.typ("j")
	p.untilShows("▌  one")
	p.typ("s")
	p.untilShows("user@sandbox:~$")
	p.typ("\x1dd")
	p.untilShows("NAME/ID")
	p.untilShows("▌  one")
	// The shell survives, so q asks nothing and names it.
	p.typ("q")
	p.leaves()
	p.untilShows("still running: 1 shell in ")
}

// Signals leave the terminal clean.
func TestE2ESignalsLeaveTheTerminalClean(t *testing.T) {
	u := newUser(t, os.Getuid())
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		p := u.open(80, 24)
		p.untilShows("Sandboxes")
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		p.clean()
	}
}

// ctrl+c asks, and a second one quits; a resize is followed; no size is fatal.
func TestE2EResizeAndInterrupt(t *testing.T) {
	u := newUser(t, os.Getuid())
	p := u.open(80, 24)
	p.untilShows("No sandboxes yet.")
	p.resize(20, 5)
	p.untilShows("need 40x10")
	p.resize(1, 1)
	p.resize(100, 30)
	p.untilShows("No sandboxes yet.")
	p.typ("\x03")
	p.untilShows("Quit?")
	p.typ("\x03")
	p.leaves()
}

// Without a terminal the program says in one line what to use instead (TUI-02, TUI-03).
func TestE2ENoTerminal(t *testing.T) {
	u := newUser(t, os.Getuid())
	out, errs, code := u.run()
	if code != 2 || out != "" || strings.Contains(errs, "\x1b") || !strings.Contains(errs, "abxdash ls") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, errs)
	}
	for _, line := range []string{`"$0" </dev/null | head -1`, `cat <("$0")`, `timeout 10 "$0" </dev/null`, `setsid "$0" </dev/null | cat`} {
		cmd := exec.Command("timeout", "20", "bash", "-c", line, binary)
		u.become(cmd)
		got, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() == 124 || strings.Contains(string(got), "\x1b") || strings.Contains(string(got), "panic") {
			t.Errorf("%s: code %d, %q", line, cmd.ProcessState.ExitCode(), got)
		}
	}
}

// NO_COLOR draws no colour, and the selection is still visible.
func TestE2ENoColor(t *testing.T) {
	u := newUser(t, os.Getuid())
	u.must("create", "--name", "grey")
	p := u.open(100, 30, "--no-color")
	p.untilShows("grey")
	if !p.shows("▌") {
		t.Errorf("the cursor's row is not marked:\n%s", p.screen())
	}
	p.typ("q")
	p.leaves()
}

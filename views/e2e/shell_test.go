//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/ui/term"
)

// rss is the resident memory of the program in bytes.
func (p *program) rss() int64 {
	p.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// A shell that floods: 200 MB of output in a tab. The dashboard answers keys,
// typing in another tab is quick, ctrl-c arrives, memory stays bounded.
func TestE2EFlood(t *testing.T) {
	p := flooder(t)
	control := newEcho(t)
	quiet := typing(p, control)
	t.Logf("typing into a quiet dashboard: %v", quiet)
	p.typ("\x15")
	start := time.Now()
	p.typ("cat big.txt; echo whole-$((1+1))\r")
	p.untilShows("whole-2")
	took := time.Since(start)
	t.Logf("cat of 200 MB: %.1f s, %.0f MB/s, resident memory %d MB", took.Seconds(), 200/took.Seconds(), p.rss()>>20)
	floodBeside(p)
	beside := typing(p, control)
	t.Logf("typing while another tab floods: %v", beside)
	beside.hold(t, quiet)
	p.typ("\x03\x1dn")
	p.untilShows("[1] 2")
	p.untilShows("0123456789abcdefghijklmnopqrstuvwxyz")
	var worst time.Duration
	for range 5 {
		p.typ("\x03")
		d := p.poll("the prompt after ctrl-c", func() bool {
			lines := strings.Split(strings.TrimRight(p.screen(), "\n"), "\n")
			for _, l := range lines {
				if strings.HasSuffix(strings.TrimRight(l, " "), "user@sandbox:~$") {
					return true
				}
			}
			return false
		})
		worst = max(worst, d)
		p.typ("clear; while :; do cat big.txt; done\r")
		p.until("the flood again", func() bool { return strings.Count(p.screen(), "0123456789abcdefghijklmnopqrstuvwxyz") > 20 })
	}
	t.Logf("ctrl-c to the prompt on the screen: slowest of 5 %v; resident memory %d MB", worst.Round(time.Millisecond), p.rss()>>20)
	if limit := 200*time.Millisecond*slack + 2*quiet.keys.at(1); worst > limit {
		t.Errorf("ctrl-c takes %v; a key without the flood up to %v", worst, quiet.keys.at(1))
	}
	if m := p.rss(); m > 300<<20 {
		t.Errorf("resident memory is %d MB", m>>20)
	}
	p.typ("\x03")
	p.typ("\x1dd")
	p.untilShows("NAME/ID")
	p.typ("q")
	p.leaves()
}

// slack is what a busy test machine may take longer than the budget.
const slack = 5

// rawShell opens a raw shell from the list.
func rawShell(u *user, name string) *program {
	p := u.open(100, 30)
	p.untilShows(name)
	p.typ("A")
	p.untilTitle(name + " — TTL")
	p.untilShows("user@sandbox:~$")
	return p
}

// leaveOn switches on what a program may forget to switch off.
const leaveOn = `printf '\033[?1049h\033[?1000h\033[?1003h\033[?1006h\033[?1004h\033[?2004h\033[?25l\033[>1u\033[?1h\033=\033[>4;2m'; echo modes-$((1+1))` + "\r"

// The whole terminal for a shell, and back to the row of the list; nothing that
// the shell switched on is left.
func TestE2ERawAttach(t *testing.T) {
	u := newUser(t, os.Getuid())
	u.must("create", "--name", "rawbox", "--timeout", "20m")
	p := u.open(100, 30)
	p.untilShows("rawbox")
	// A frame may be under way, here and at the end: that is not a mode left on.
	modes := func() term.Modes {
		m := p.term.Modes()
		m.Sync = false
		return m
	}
	before := modes()
	p.typ("A")
	// The title is set by raw attach only: the pane shows the same prompt before it.
	p.untilTitle("rawbox — TTL")
	p.untilShows("user@sandbox:~$")
	alts := p.alts.Load()
	p.typ("stty size\r")
	p.untilShows("30 100")
	p.typ("\x1d")
	p.untilTitle("ctrl+] … d detach")
	p.typ("t")
	p.untilTitle("→")
	// What is typed behind two keys goes to the shell that the second one opens.
	p.typ("\x1dr\x1dcecho in-two-$((1+1))\r")
	p.untilTitle("[2]")
	p.untilShows("in-two-2")
	p.typ("\x1dp")
	p.untilTitle("● rec")
	p.typ("\x1dr")
	p.untilTitle("recorded ")
	p.typ("\x1d]")
	p.untilTitle("nothing was copied yet")
	p.typ("\x1dn")
	p.untilTitle("[2]")
	p.typ("\x1dn")
	p.untilTitle("[1]")
	p.untilShows("30 100")
	p.untilGone("in-two-2")
	if n := p.alts.Load(); n != alts {
		t.Errorf("the dashboard took the terminal back %d times in between", n-alts)
	}
	p.typ(leaveOn)
	p.untilShows("modes-2")
	p.typ("\x1dd")
	p.untilShows("Sandboxes")
	p.untilShows("rawbox")
	waitWith(t, "the modes of before", func() bool { return modes() == before }, func() string { return cmp.Diff(before, modes()) })
	p.typ("q")
	p.leaves()
}

// Signals, a killed sandbox and exit leave the terminal clean, whatever the
// program in it had switched on.
func TestE2ERawEndsClean(t *testing.T) {
	u := newUser(t, os.Getuid())
	parent := u.t
	defer func() { u.t = parent }()
	for i, c := range []struct {
		name string
		end  func(p *program)
	}{
		{"SIGTERM", func(p *program) { _ = p.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGHUP", func(p *program) { _ = p.cmd.Process.Signal(syscall.SIGHUP) }},
		{"two signals", func(p *program) {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
		}},
		{"killed sandbox", func(p *program) {
			u.must("kill", "--yes", u.list()[0].ID)
			p.untilShows("esc back") // what happened stays to be read
			p.typ("\x1b")
			p.untilShows("NAME/ID")
			p.typ("q")
		}},
		{"exit", func(p *program) {
			p.typ("exit\r")
			p.untilShows("NAME/ID")
			p.typ("q")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The list remembers the sandboxes of before for a moment: a name of its own.
			u.t = t
			name := fmt.Sprintf("box%d", i)
			u.must("create", "--name", name)
			p := rawShell(u, name)
			p.typ(leaveOn)
			p.untilShows("modes-2")
			c.end(p)
			_ = p.end()
			p.clean()
			if m := p.term.Modes(); m.Kitty != 0 || m.ModifyOtherKeys != 0 {
				t.Errorf("keyboard modes are left on: %+v", m)
			}
			for _, l := range u.list() {
				u.must("kill", "--yes", l.ID)
			}
		})
	}
}

// Shells outlive the dashboard and are found again, by the dashboard and by attach.
func TestE2EShellsOutliveTheDashboard(t *testing.T) {
	u := newUser(t, os.Getuid())
	u.must("create", "--name", "home")
	p := u.open(100, 30)
	p.untilShows("home")
	p.typ("s")
	p.untilShows("user@sandbox:~$")
	p.typ("kept=yes; clear\r")
	p.typ("\x1d,")
	p.untilShows("Name the shell")
	p.typ("\x7fwork\r")
	p.untilShows("[work]")
	p.typ("\x1dd")
	p.untilShows("NAME/ID")
	p.typ("q")
	p.leaves()

	p = u.open(100, 30)
	p.untilShows("home")
	p.typ("s")
	p.untilShows("[work]")
	p.untilShows("user@sandbox:~$") // it draws itself again
	p.typ("echo $kept-$((1+1))\r")
	p.untilShows("yes-2")
	p.typ("\x1dd")
	p.untilShows("NAME/ID")
	p.typ("q")
	p.leaves()

	a := u.open(80, 24, "attach", "home", "--record", "rec")
	a.untilShows("user@sandbox:~$")
	a.typ("echo $kept-$((1+3))\r")
	a.untilShows("yes-4")
	a.typ("\x1dd")
	<-a.ended
	a.clean()
	if _, err := os.Stat(filepath.Join(u.home, "rec.cast")); err != nil {
		t.Error(err)
	}
	r := u.open(80, 24, "record", "play", "rec.cast", "--speed", "16")
	r.untilShows("yes-4")
	r.untilShows("ended")
	r.typ("q")
	r.leaves()
	b := u.open(80, 24, "attach", "home", "--new")
	b.untilShows("user@sandbox:~$")
	b.typ("echo new-$kept-$((1+4))\r")
	b.untilShows("new--5")
	b.typ("exit\r")
	b.leaves()
}

// The keys of attach without a dashboard: more shells, a recording, the
// scroll-back with search and copying, pasting, the list of keys, and a reason
// for what it does not have.
func TestE2EAttachKeys(t *testing.T) {
	u := newUser(t, os.Getuid())
	u.must("create", "--name", "box", "--timeout", "20m")
	a := u.open(90, 24, "attach", "box")
	a.untilTitle("[1] box — TTL")
	a.untilShows("user@sandbox:~$")
	a.typ("seq 100 160; echo needle-$((40+2)); seq 200 260\r")
	a.untilShows("260")
	a.typ("\x1d[")
	a.untilShows("scrolled back")
	a.typ("/needle-42\r")
	a.untilShows("needle-42")
	a.typ("y")
	a.untilShows("copied 9 characters")
	a.typ("\x1b")
	a.untilTitle("detaches")
	a.typ("echo \x1d]\r")
	a.until("the pasted text", func() bool { return strings.Contains(a.screen(), "$ echo needle-42") })
	a.typ("\x1d?")
	a.untilShows("Keys while attached")
	a.typ(" ")
	a.untilTitle("detaches")
	a.typ("\x1du")
	a.untilTitle("in the dashboard")
	a.typ("\x1dr")
	a.untilTitle("● rec 00:0")
	a.typ("\x1dcecho in-two-$((1+1))\r")
	a.untilTitle("[2]")
	a.untilShows("in-two-2")
	a.typ("\x1dn")
	a.untilTitle("[1]")
	a.untilShows("needle-42") // it is as it was left
	a.typ("\x1dr")
	a.untilTitle("recorded ")
	a.typ("\x1dd")
	a.leaves()
	files, _ := filepath.Glob(filepath.Join(u.home, ".local/state/abxdash/recordings/*.cast"))
	if len(files) != 1 {
		t.Fatalf("recordings: %v", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in-two-2", "needle-42"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the recording lacks %q", want)
		}
	}
}

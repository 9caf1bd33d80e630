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

// poll waits like until, but looks often: for what is measured.
func (p *program) poll(what string, cond func() bool) time.Duration {
	p.t.Helper()
	start := time.Now()
	for !cond() {
		if time.Since(start) > patience {
			p.t.Fatalf("waited in vain for %s; the screen shows:\n%s", what, p.screen())
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(start)
}

// A shell that floods: 200 MB of output in a tab. The dashboard answers keys,
// typing in another tab is quick, ctrl-c arrives, memory stays bounded.
func TestE2EFlood(t *testing.T) {
	u := newUser(t, os.Getuid())
	u.must("create", "--name", "flood")
	big := filepath.Join(u.home, "big.txt")
	line := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456\n"), 1<<10)
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	for range 200_000_000/len(line) + 1 {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	u.must("cp", big, u.list()[0].ID+":big.txt")
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	p := u.open(120, 40)
	p.untilShows("flood")
	p.typ("s")
	p.untilShows("user@sandbox:~$")
	p.typ("stty -echoctl; clear; echo ready\r")
	p.untilShows("ready")
	start := time.Now()
	p.typ("cat big.txt; echo whole-$((1+1))\r")
	p.untilShows("whole-2")
	took := time.Since(start)
	t.Logf("cat of 200 MB: %.1f s, %.0f MB/s, resident memory %d MB", took.Seconds(), 200/took.Seconds(), p.rss()>>20)
	p.typ("while :; do cat big.txt; done\r")
	p.untilShows("0123456789abcdefghijklmnopqrstuvwxyz")
	p.typ("\x1dc")
	p.untilShows("1 [2]")
	p.untilShows("user@sandbox:~$")
	p.typ("clear\r")
	p.until("an empty screen", func() bool { return strings.Count(p.screen(), "$") == 1 })
	var slowest, sum time.Duration
	const keys = 40
	for i := range keys {
		p.typ("x")
		want := "$ " + strings.Repeat("x", i+1)
		d := p.poll("a typed character", func() bool { return p.shows(want) })
		slowest, sum = max(slowest, d), sum+d
	}
	t.Logf("typing while another tab floods: %v a key, slowest %v", (sum / keys).Round(100*time.Microsecond), slowest.Round(100*time.Microsecond))
	if mean := sum / keys; mean > 30*time.Millisecond*slack {
		t.Errorf("a typed character takes %v to the screen", mean)
	}
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
	if worst > 200*time.Millisecond*slack {
		t.Errorf("ctrl-c takes %v", worst)
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
	p.until("the raw shell", func() bool { return p.shows("user@sandbox:~$") && !p.shows("Sandboxes") })
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
	before := p.term.Modes()
	p.typ("A")
	p.until("the raw shell", func() bool { return p.shows("user@sandbox:~$") && !p.shows("Sandboxes") })
	p.until("the title", func() bool { return strings.Contains(p.term.Title(), "rawbox — TTL") })
	p.typ("stty size\r")
	p.untilShows("30 100")
	p.typ("\x1dt")
	p.until("the extension in the title", func() bool { return strings.Contains(p.term.Title(), "→") })
	p.typ("\x1dc")
	p.until("the second shell", func() bool { return strings.Contains(p.term.Title(), "[2]") })
	p.typ("echo in-two-$((1+1))\r")
	p.untilShows("in-two-2")
	p.typ("\x1dn")
	p.untilShows("30 100")
	p.typ(leaveOn)
	p.untilShows("modes-2")
	p.typ("\x1dd")
	p.untilShows("Sandboxes")
	p.untilShows("rawbox")
	waitWith(t, "the modes of before", func() bool { return p.term.Modes() == before }, func() string { return cmp.Diff(before, p.term.Modes()) })
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
			select {
			case <-p.ended:
			case <-time.After(patience):
				t.Fatalf("the program does not end; the screen shows:\n%s", p.screen())
			}
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

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"
)

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

// delays are what keys took to the screen, sorted.
type delays []time.Duration

// at is a quantile, such as 0.5 for the median.
func (d delays) at(q float64) time.Duration { return d[int(q*float64(len(d)-1))] }

// ms is a quantile in milliseconds.
func (d delays) ms(q float64) float64 { return float64(d.at(q)) / float64(time.Millisecond) }

func (d delays) String() string {
	return fmt.Sprintf("p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, slowest %.1f ms", d.ms(0.5), d.ms(0.9), d.ms(0.99), d.ms(1))
}

// echo is a chain of programs in a terminal that returns what is typed: what as
// many turns at the processor take on this machine, as busy as it is, with
// nothing of ours in between.
type echo struct {
	t   testing.TB
	pty *os.File
	got chan byte
}

func newEcho(t testing.TB) *echo {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := xterm.MakeRaw(tty.Fd()); err != nil {
		t.Fatal(err)
	}
	// A key in a shell crosses about as many: dashboard, local server, agent,
	// shell, and back.
	cmd := exec.Command("sh", "-c", "cat | cat | cat | cat | cat | cat | cat | cat")
	cmd.Stdin, cmd.Stdout = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close() // the chain has it
	e := &echo{t: t, pty: master, got: make(chan byte, 16)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 1)
		for {
			if n, err := master.Read(buf); err != nil || n == 0 {
				return
			}
			e.got <- buf[0]
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // killed
		<-read         // nobody has the other end any more
		_ = master.Close()
	})
	return e
}

// key types one character and waits for it.
func (e *echo) key() time.Duration {
	e.t.Helper()
	start := time.Now()
	if _, err := e.pty.WriteString("x"); err != nil {
		e.t.Fatal(err)
	}
	select {
	case <-e.got:
	case <-time.After(patience):
		e.t.Fatal("the control does not answer")
	}
	return time.Since(start)
}

// typed is what keys took in the dashboard, and in the control beside it.
type typed struct{ keys, control delays }

func (d typed) String() string {
	return fmt.Sprintf("%d keys, %v; through eight times cat %v", len(d.keys), d.keys, d.control)
}

// typingKeys fill most of a line.
const typingKeys = 100

// typing types at an empty prompt, as quickly as people at their quickest, and
// measures each key until it is on the screen.
func typing(p *program, control *echo) typed {
	p.t.Helper()
	var out typed
	for i := range typingKeys {
		// No gap is like the one before, so that the paces of frames and keys do not
		// fall into step. The control has its turn in it.
		gap := time.NewTimer(time.Duration(20+i*7%23) * time.Millisecond)
		out.control = append(out.control, control.key())
		<-gap.C
		want := "$ " + strings.Repeat("x", i+1)
		p.typ("x")
		out.keys = append(out.keys, p.poll("a typed character", func() bool { return p.shows(want) }))
	}
	slices.Sort(out.keys)
	slices.Sort(out.control)
	return out
}

// typingLimit is what nine of ten keys may take to the screen while another tab
// floods. Where the control is slower than busyControl for one of ten, other
// work has the processors, and then typing without the flood is the measure.
const (
	typingLimit = 30 * time.Millisecond
	busyControl = time.Millisecond
)

// hold fails the test when nine of ten keys take too long. The slowest ones are
// reported only: on a busy machine they say more about its other work.
func (d typed) hold(t *testing.T, quiet typed) {
	t.Helper()
	for _, q := range []float64{0.5, 0.9} {
		limit := typingLimit
		if max(d.control.at(0.9), quiet.control.at(0.9)) > busyControl {
			limit += 3 * quiet.keys.at(q)
		}
		if d.keys.at(q) > limit {
			t.Errorf("%.0f %% of the keys take up to %v to the screen, want %v; %v", 100*q, d.keys.at(q), limit, d)
		}
	}
}

// flooder opens a dashboard with a shell at an empty prompt, and big.txt of 200 MB.
func flooder(t testing.TB) *program {
	t.Helper()
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
	p.empty()
	return p
}

// empty clears the screen of a shell.
func (p *program) empty() {
	p.t.Helper()
	p.typ("clear\r")
	p.until("an empty screen", func() bool { return strings.Count(p.screen(), "$") == 1 })
}

// floodBeside lets the shell flood and opens another one.
func floodBeside(p *program) {
	p.t.Helper()
	p.typ("while :; do cat big.txt; done\r")
	p.untilShows("0123456789abcdefghijklmnopqrstuvwxyz")
	p.typ("\x1dc")
	p.untilShows("1 [2]")
	p.untilShows("user@sandbox:~$")
	p.empty()
}

// BenchmarkTyping prints what a key takes to the screen of the real program, in
// a quiet dashboard and while another tab floods, and through a chain of cat.
func BenchmarkTyping(b *testing.B) {
	p, control := flooder(b), newEcho(b)
	report := func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			var d typed
			for range 3 { // a line each
				one := typing(p, control)
				d.keys, d.control = append(d.keys, one.keys...), append(d.control, one.control...)
				p.typ("\x15")
				p.until("an empty line", func() bool { return !p.shows("$ x") })
			}
			slices.Sort(d.keys)
			slices.Sort(d.control)
			b.ReportMetric(d.keys.ms(0.5), "p50-ms")
			b.ReportMetric(d.keys.ms(0.9), "p90-ms")
			b.ReportMetric(d.keys.ms(0.99), "p99-ms")
			b.ReportMetric(d.control.ms(0.9), "cat-p90-ms")
			b.ReportMetric(d.control.ms(0.99), "cat-p99-ms")
		}
		b.ReportMetric(0, "ns/op") // a round is three hundred keys, and waits in between
	}
	b.Run("quiet", report)
	floodBeside(p)
	b.Run("flood", report)
	p.typ("\x03")
}

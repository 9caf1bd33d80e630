package attach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"abxdash/ui/term"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is a fake program in a sandbox.
type program struct {
	out    chan []byte
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	in     []byte
	size   [2]int
}

func (p *program) Next() ([]byte, error) {
	select {
	case b, ok := <-p.out:
		if !ok {
			return nil, io.EOF
		}
		return b, nil
	case <-p.closed:
		return nil, errors.New("closed")
	}
}

func (p *program) Write(_ context.Context, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in = append(p.in, b...)
	return nil
}

func (p *program) Resize(_ context.Context, cols, rows int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = [2]int{cols, rows}
	return nil
}

func (p *program) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *program) input() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.in)
}

// rig is a program, its session, and a pty that stands for the real terminal,
// whose output feeds an emulator of its own.
type rig struct {
	t        *testing.T
	prog     *program
	session  *term.Session
	ptm, pts *os.File
	screen   *term.Terminal
	mu       sync.Mutex
	raw      bytes.Buffer
	before   *xterm.State
	result   chan Result
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Skipf("no pty: %v", err)
	}
	if err := pty.Setsize(ptm, &pty.Winsize{Cols: 60, Rows: 12}); err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, ptm: ptm, pts: pts, screen: term.New(60, 12, term.Options{}), result: make(chan Result, 1),
		prog: &program{out: make(chan []byte), closed: make(chan struct{})},
	}
	r.session = term.NewSession(r.prog, 20, 5, term.SessionOptions{})
	if r.before, err = xterm.GetState(pts.Fd()); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := ptm.Read(buf)
			r.mu.Lock()
			r.raw.Write(buf[:n])
			r.mu.Unlock()
			_, _ = r.screen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = r.session.Close()
		_ = pts.Close()
		<-read
		_ = ptm.Close()
	})
	o.In, o.Out = pts, pts
	go func() { r.result <- Run(t.Context(), r.session, o) }()
	r.until("the attach", func() bool { return strings.Contains(r.output(), "\x1b[2J") })
	return r
}

func (r *rig) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw.String()
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	limit := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(limit) {
			r.t.Fatalf("waited too long for %s; output %q", what, r.output())
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *rig) say(s string) {
	r.t.Helper()
	select {
	case r.prog.out <- []byte(s):
	case <-time.After(20 * time.Second):
		r.t.Fatal("output was not read")
	}
}

func (r *rig) typeKeys(s string) {
	r.t.Helper()
	if _, err := io.WriteString(r.ptm, s); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) wait() Result {
	r.t.Helper()
	select {
	case res := <-r.result:
		return res
	case <-time.After(20 * time.Second):
		r.t.Fatal("attach did not end")
		return Result{}
	}
}

// clean fails unless the real terminal is as it was before.
func (r *rig) clean() {
	r.t.Helper()
	now, err := xterm.GetState(r.pts.Fd())
	if err != nil {
		r.t.Fatal(err)
	}
	if *now != *r.before {
		r.t.Errorf("termios differs: %+v, was %+v", now, r.before)
	}
	fresh := term.New(1, 1, term.Options{}).Modes()
	r.until("a clean mode table", func() bool { return r.screen.Modes() == fresh })
	if c := r.screen.Cursor(); !c.Visible || c.Shape != term.CursorBlock {
		r.t.Errorf("cursor %+v", c)
	}
}

const leaveModesOn = "\x1b[?1049h\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?25l\x1b[>1u\x1b[?1h\x1b=\x1b[>4;2m\x1b[4:3m\x1b[5 q\x1b(0half drawn"

// PTY-03: whatever the program left on is off after the detach key.
func TestDetachResetsEverything(t *testing.T) {
	r := newRig(t, Options{Status: func() string { return "i7f3 — TTL 17m" }})
	r.say(leaveModesOn)
	r.until("the modes", func() bool { return r.screen.Modes().AltScreen && r.screen.Modes().Kitty != 0 })
	r.until("the title", func() bool { return strings.HasPrefix(r.screen.Title(), "i7f3 — TTL 17m") })
	r.typeKeys("\x1b[93;5ud")
	if res := r.wait(); res.Reason != Detached || res.Key != 'd' || res.Err != nil {
		t.Errorf("ended with %+v", res)
	}
	r.clean()
	if r.prog.input() != "" {
		t.Errorf("the program got %q", r.prog.input())
	}
	out := r.output()
	r.say("MORE output after detaching")
	r.until("the emulator", func() bool { return strings.Contains(strings.Join(r.session.Terminal().Lines(), ""), "MORE") })
	if r.output() != out {
		t.Error("something was written after the restore")
	}
}

// PTY-03: the same when the connection is cut.
func TestEndResetsEverything(t *testing.T) {
	r := newRig(t, Options{})
	r.say(leaveModesOn + "\x1b]2;unfinished")
	close(r.prog.out)
	if res := r.wait(); res.Reason != Ended {
		t.Errorf("ended with %+v", res)
	}
	r.clean()
}

// PTY-04: these keys go to the sandbox.
func TestControlKeysPass(t *testing.T) {
	r := newRig(t, Options{})
	r.typeKeys("\x03\x04\x1a\x1c\x10\x11\x13")
	r.until("the keys", func() bool { return r.prog.input() == "\x03\x04\x1a\x1c\x10\x11\x13" })
	r.typeKeys("\x1dd")
	r.wait()
	r.clean()
}

// PTY-05: the leader is shown as pending, twice sends one, another key sends both.
func TestLeader(t *testing.T) {
	handled := make(chan rune, 1)
	r := newRig(t, Options{Keys: "n", Handle: func(k rune) Verdict {
		if k == 'u' {
			handled <- k
			return Used
		}
		return Unknown
	}, Hint: "n next"})
	r.typeKeys("\x1d")
	r.until("the pending leader", func() bool { return strings.Contains(r.screen.Title(), "ctrl+] … n next") })
	r.typeKeys("\x1d")
	r.until("one leader", func() bool { return r.prog.input() == "\x1d" })
	r.typeKeys("\x1dx")
	r.until("both", func() bool { return r.prog.input() == "\x1d\x1dx" })
	r.typeKeys("\x1du")
	if k := <-handled; k != 'u' {
		t.Errorf("handled %q", k)
	}
	r.typeKeys("\x1dn")
	if res := r.wait(); res.Key != 'n' || res.Reason != Detached {
		t.Errorf("ended with %+v", res)
	}
}

// A leader that is followed at once does not show in the title.
func TestLeaderDoesNotFlicker(t *testing.T) {
	r := newRig(t, Options{Handle: func(rune) Verdict { return Used }, Hint: "x", Status: func() string { return "box" }})
	r.until("the title", func() bool { return r.screen.Title() == "box  ctrl+] d detaches" })
	slow := 0
	for range 20 {
		start := time.Now()
		r.typeKeys("\x1d")
		r.until("the leader to be read", func() bool {
			n, err := unix.IoctlGetInt(int(r.pts.Fd()), unix.TIOCINQ)
			return err == nil && n == 0
		})
		r.typeKeys("x")
		if time.Since(start) > pendingTime/2 {
			slow++
		}
	}
	r.typeKeys("end")
	r.until("the keys", func() bool { return r.prog.input() == "end" })
	r.typeKeys("\x1dd")
	r.wait()
	// On a busy machine one may have waited long enough to be shown.
	if n := strings.Count(r.output(), "…"); n > 2*slow {
		t.Errorf("the leader was shown %d times, %d of them were slow: %q", n, slow, r.output())
	}
}

// A call shows another session in place of this one: nothing of the old one is
// left, what was typed behind the key goes to the new one, and so does the size.
func TestCallShowsAnotherSession(t *testing.T) {
	calls := make(chan func() *term.Session, 1)
	asked := make(chan struct{}, 1)
	r := newRig(t, Options{Calls: calls, Handle: func(k rune) Verdict {
		asked <- struct{}{}
		return Wait
	}})
	r.say(leaveModesOn + "\x1b[cOLD")
	r.until("the modes", func() bool { return r.screen.Modes().AltScreen && strings.Contains(r.output(), "OLD") })
	other := &program{out: make(chan []byte), closed: make(chan struct{})}
	next := term.NewSession(other, 20, 5, term.SessionOptions{})
	defer next.Close()
	other.out <- []byte("NEW here")
	r.until("the new one's text", func() bool { return strings.Contains(strings.Join(next.Terminal().Lines(), ""), "NEW") })
	r.typeKeys("\x1b[93;5unls\r")
	<-asked
	calls <- func() *term.Session { return next }
	r.until("the new one on the screen", func() bool { return strings.HasPrefix(strings.Join(r.screen.Lines(), ""), "NEW here") })
	r.typeKeys("\x1b[?62c") // the answer that the old one asked for
	r.until("what was typed", func() bool { return strings.Contains(other.input(), "ls\r") })
	r.until("the size", func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		return other.size == [2]int{60, 12}
	})
	r.typeKeys("more")
	r.until("the rest", func() bool { return other.input() == "ls\rmore" })
	if in := r.prog.input(); in != "" {
		t.Errorf("the old one got %q", in)
	}
	r.say("late output")
	r.typeKeys("\x1dd")
	if res := r.wait(); res.Reason != Detached || res.Session != next {
		t.Errorf("ended with %+v", res)
	}
	r.clean()
	if strings.Contains(r.output(), "late") {
		t.Error("the old one still writes")
	}
}

func TestSizeFollowsTheTerminal(t *testing.T) {
	r := newRig(t, Options{})
	is := func(cols, rows int) func() bool {
		return func() bool {
			r.prog.mu.Lock()
			defer r.prog.mu.Unlock()
			return r.prog.size == [2]int{cols, rows}
		}
	}
	r.until("the first size", is(60, 12))
	if err := pty.Setsize(r.ptm, &pty.Winsize{Cols: 70, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	r.until("the new size", is(70, 20))
	r.typeKeys("\x1dd")
	r.wait()
}

// PTY-08: a signal restores the terminal first.
func TestSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		r := newRig(t, Options{})
		r.say(leaveModesOn)
		r.until("the modes", func() bool { return r.screen.Modes().AltScreen })
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		if res := r.wait(); res.Reason != Signalled || res.Signal != sig {
			t.Errorf("ended with %+v", res)
		}
		r.clean()
	}
}

// A program that asked something just before: the answer is not left for the next reader.
func TestLateAnswersAreReadAway(t *testing.T) {
	r := newRig(t, Options{})
	r.say("\x1b[c\x1b[6n")
	r.until("the queries", func() bool { return strings.Contains(r.output(), "\x1b[6n") })
	r.typeKeys("\x1dd")
	r.until("the reset", func() bool { return strings.Contains(r.output(), "\x1b[23;0t") })
	r.typeKeys("\x1b[?62;22c\x1b[1;1R")
	r.wait()
	if n, err := unix.IoctlGetInt(int(r.pts.Fd()), unix.TIOCINQ); err != nil || n > 0 {
		t.Errorf("%d bytes were left, %v", n, err)
	}
	r.clean()
}

// A panic below Run, in a callback for instance, leaves the terminal clean too.
func TestPanicRestores(t *testing.T) {
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Skipf("no pty: %v", err)
	}
	defer ptm.Close()
	defer pts.Close()
	before, err := xterm.GetState(pts.Fd())
	if err != nil {
		t.Fatal(err)
	}
	s := term.NewSession(&program{out: make(chan []byte), closed: make(chan struct{})}, 20, 5, term.SessionOptions{})
	defer s.Close()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		Run(t.Context(), s, Options{In: pts, Out: pts, Status: func() string { panic("bug") }})
	}()
	now, err := xterm.GetState(pts.Fd())
	if err != nil || *now != *before {
		t.Errorf("termios differs: %v", err)
	}
}

func TestNotATerminal(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	s := term.NewSession(&program{out: make(chan []byte), closed: make(chan struct{})}, 20, 5, term.SessionOptions{})
	defer s.Close()
	if res := Run(t.Context(), s, Options{In: in, Out: out}); res.Reason != Failed || res.Err == nil {
		t.Errorf("ended with %+v", res)
	}
}

// A warning rings the bell, and the title tells what remains.
func TestAlertRings(t *testing.T) {
	rang := false
	r := newRig(t, Options{
		Status: func() string { return "ENDS SOON: box — TTL 4m" },
		Alert: func() bool {
			due := !rang
			rang = true
			return due
		},
	})
	r.until("the title", func() bool { return strings.HasPrefix(r.screen.Title(), "ENDS SOON: box — TTL 4m") })
	bells := func() int { return strings.Count(r.output(), "\x07") - strings.Count(r.output(), "\x1b]2;") }
	r.until("the bell", func() bool { return bells() == 1 })
	r.typeKeys("\x1dd")
	r.wait()
	if n := bells(); n != 1 {
		t.Errorf("%d bells, want 1", n)
	}
}

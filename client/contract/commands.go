package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func (s *suite) commands(t *testing.T) {
	sb := s.create(t, func(c *client.CreateSpec) { c.Env = map[string]string{"FROM_CREATE": "global"} })
	for name, f := range map[string]func(*testing.T, client.ID){
		"exit and output":      s.exits,
		"cwd and user refused": s.refused,
		"signals":              s.signals,
		"standard input":       s.stdin,
		"timeout":              s.timeout,
		"detach and attach":    s.detach,
		"cancel detaches":      s.cancelDetaches,
		"close unblocks":       s.closeUnblocks,
		"big output":           s.bigOutput,
		"many at once":         s.manyAtOnce,
		"processes":            s.processes,
	} {
		t.Run(name, func(t *testing.T) { f(t, sb.ID) })
	}
}

func (s *suite) exits(t *testing.T, id client.ID) {
	for name, c := range map[string]struct {
		cmd         client.Command
		out, stderr string
		code        int
	}{
		"success":        {cmd: client.Command{Argv: []string{"true"}}},
		"failure":        {cmd: client.Command{Argv: []string{"false"}}, code: 1},
		"own code":       {cmd: client.Command{Argv: []string{"sh", "-c", "echo hi; exit 3"}}, out: "hi\n", code: 3},
		"two streams":    {cmd: client.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2"}}, out: "out\n", stderr: "err\n"},
		"no final end":   {cmd: client.Command{Argv: []string{"printf", "%s", "abc"}}, out: "abc"},
		"no shell":       {cmd: client.Command{Argv: []string{"echo", "$HOME", "a  b", "*", "x|y", ""}}, out: "$HOME a  b * x|y \n"},
		"working dir":    {cmd: client.Command{Argv: []string{"pwd"}, Dir: "/tmp"}, out: "/tmp\n"},
		"default dir":    {cmd: client.Command{Argv: []string{"sh", "-c", `test "$(pwd)" = "$HOME" && echo home`}}, out: "home\n"},
		"environment":    {cmd: client.Command{Argv: []string{"sh", "-c", `echo "$A"`}, Env: map[string]string{"A": "1 = ä"}}, out: "1 = ä\n"},
		"of the sandbox": {cmd: client.Command{Argv: []string{"sh", "-c", `echo "$FROM_CREATE"`}}, out: "global\n"},
		"overridden":     {cmd: client.Command{Argv: []string{"sh", "-c", `echo "$FROM_CREATE"`}, Env: map[string]string{"FROM_CREATE": "mine"}}, out: "mine\n"},
		"shell line":     {cmd: client.ShellCommand(`for i in 1 2 3; do echo $i; done | wc -l; exit 4`), out: "3\n", code: 4},
		"no input":       {cmd: client.Command{Argv: []string{"cat"}}},
		"bytes":          {cmd: client.Command{Argv: []string{"printf", `a\000b\033c`}}, out: "a\x00b\x1bc"},
	} {
		t.Run(name, func(t *testing.T) {
			if s.Lines && (name == "no final end" || name == "bytes") {
				t.Skip("output comes by lines")
			}
			got := s.run(t, id, c.cmd)
			if d := cmp.Diff(c.out, string(got.Stdout)); d != "" {
				t.Errorf("stdout: %s", d)
			}
			if d := cmp.Diff(c.stderr, string(got.Stderr)); d != "" {
				t.Errorf("stderr: %s", d)
			}
			if got.Exit.Code != c.code || got.Exit.Signal != 0 || got.Exit.ShellCode() != c.code {
				t.Errorf("exit %+v, want code %d", got.Exit, c.code)
			}
		})
	}
	t.Run("no such program", func(t *testing.T) {
		got := s.run(t, id, client.Command{Argv: []string{"no-such-program-here"}})
		if got.Exit.Code != 127 || len(got.Stderr) == 0 {
			t.Errorf("exit %+v, stderr %q; want 127 and a word about it", got.Exit, got.Stderr)
		}
	})
}

// refused: CMD-07, the command is not run and the error names the cause.
func (s *suite) refused(t *testing.T, id client.ID) {
	for want, c := range map[string]client.Command{
		"/no/such/dir": {Argv: []string{"true"}, Dir: "/no/such/dir"},
		"/etc/hostname": {
			Argv: []string{"true"}, Dir: "/etc/hostname",
		},
		"nobody-here": {Argv: []string{"true"}, User: "nobody-here"},
	} {
		p, err := s.Provider.Commands().Start(ctx(t), id, c)
		if err == nil {
			closeLater(t, p)
		}
		wantErr(t, want, err, nil)
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	_, err := s.Provider.Commands().Start(ctx(t), id, client.Command{})
	wantErr(t, "empty command", err, nil)
}

func (s *suite) signals(t *testing.T, id client.ID) {
	for _, sig := range []client.Signal{client.SIGTERM, client.SIGKILL} {
		if s.Lines && sig == client.SIGKILL {
			continue
		}
		p := s.start(t, id, client.Command{Argv: []string{"sleep", "1000"}})
		if err := p.Signal(ctx(t), sig); err != nil {
			t.Fatal(err)
		}
		if got := drain(t, p).Exit; got.Signal != int(sig) || got.ShellCode() != 128+int(sig) || got.OK() {
			t.Errorf("signal %d: exit %+v", sig, got)
		}
	}
	if got := s.sh(t, id, "kill -KILL $$").Exit; got.Signal != 9 || got.ShellCode() != 137 {
		t.Errorf("killed by itself: exit %+v", got)
	}
}

// stdin: CMD-04.
func (s *suite) stdin(t *testing.T, id client.ID) {
	p := s.start(t, id, client.Command{Argv: []string{"cat"}, Stdin: true})
	for _, part := range []string{"abc", "\x00", "d\n"} {
		if err := p.Write(ctx(t), []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.CloseStdin(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, p); string(got.Stdout) != "abc\x00d\n" || !got.Exit.OK() {
		t.Errorf("cat gave %q, %+v", got.Stdout, got.Exit)
	}

	big := s.start(t, id, client.Command{Argv: []string{"wc", "-c"}, Stdin: true})
	if err := big.Write(ctx(t), bytes.Repeat([]byte("x"), 1_000_000)); err != nil {
		t.Fatal(err)
	}
	if err := big.CloseStdin(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(drain(t, big).Stdout)); got != "1000000" {
		t.Errorf("wc counted %s of 1000000 bytes", got)
	}
}

// timeout: CMD-06.
func (s *suite) timeout(t *testing.T, id client.ID) {
	p := s.start(t, id, client.Command{Argv: []string{"sh", "-c", "echo begun; sleep 1000"}, Timeout: 500 * time.Millisecond})
	pid := p.PID()
	got := drain(t, p)
	if !got.Exit.TimedOut || got.Exit.OK() || string(got.Stdout) != "begun\n" {
		t.Errorf("exit %+v, output %q", got.Exit, got.Stdout)
	}
	eventually(t, "the end of the timed-out process", func() bool { return !s.listed(t, id, pid) })
}

func (s *suite) listed(t *testing.T, id client.ID, pid int) bool {
	t.Helper()
	list, err := s.Provider.Commands().Processes(ctx(t), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if x.PID == pid {
			return true
		}
	}
	return false
}

func (s *suite) needs(t *testing.T, c client.Capability) {
	t.Helper()
	if err := s.Provider.Capabilities().Missing(s.Provider.Name(), c); err != nil {
		t.Skip(err)
	}
}

func (s *suite) detach(t *testing.T, id client.ID) {
	s.needs(t, client.CapReconnect)
	p := s.start(t, id, client.Command{Argv: []string{"sh", "-c", "echo ready; read x; echo got $x; exit 6"}, Stdin: true})
	pid := p.PID()
	expect(t, p, "ready\n")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if !s.listed(t, id, pid) {
		t.Fatal("the process ended when its reader went away")
	}
	q, err := s.Provider.Commands().Attach(ctx(t), id, pid)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, q)
	if q.PID() != pid {
		t.Errorf("attached to %d, want %d", q.PID(), pid)
	}
	if err := q.Write(ctx(t), []byte("it\n")); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, q); string(got.Stdout) != "got it\n" || got.Exit.Code != 6 {
		t.Errorf("after attaching: %q, %+v", got.Stdout, got.Exit)
	}
	_, err = s.Provider.Commands().Attach(ctx(t), id, 999_999)
	wantErr(t, "attach to nothing", err, client.ErrNotFound)
}

func (s *suite) cancelDetaches(t *testing.T, id client.ID) {
	c, cancel := context.WithCancel(t.Context())
	p, err := s.Provider.Commands().Start(c, id, client.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, p)
	cancel()
	if !s.listed(t, id, p.PID()) {
		t.Error("cancelling the start's context killed the process")
	}
	if !s.Provider.Capabilities().Has(client.CapReconnect) {
		if err := p.Signal(ctx(t), client.SIGKILL); err != nil {
			t.Error(err)
		}
		drain(t, p)
		return
	}
	s.stop(t, id, p.PID())
}

// stop kills a process through a handle of its own.
func (s *suite) stop(t *testing.T, id client.ID, pid int) {
	t.Helper()
	q, err := s.Provider.Commands().Attach(ctx(t), id, pid)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, q)
	if err := q.Signal(ctx(t), client.SIGKILL); err != nil {
		t.Error(err)
	}
	drain(t, q)
}

func (s *suite) closeUnblocks(t *testing.T, id client.ID) {
	p := s.start(t, id, client.Command{Argv: []string{"sleep", "1000"}})
	ended := make(chan error, 1)
	go func() {
		_, err := p.Next()
		ended <- err
	}()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("Next after Close = %v; it must not look like an end", err)
		}
	case <-time.After(limit):
		t.Fatal("Close did not unblock Next")
	}
	if !s.Provider.Capabilities().Has(client.CapReconnect) {
		// Nobody could join it again, so it has to end.
		eventually(t, "the end of a command that nobody reads", func() bool { return !s.listed(t, id, p.PID()) })
		return
	}
	s.stop(t, id, p.PID())
}

func (s *suite) bigOutput(t *testing.T, id client.ID) {
	size := 20 << 20
	if testing.Short() {
		size = 2 << 20
	}
	p := s.start(t, id, client.Command{Argv: []string{"sh", "-c", fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo END`, size)}})
	got := drain(t, p)
	if !got.Exit.OK() || len(got.Stdout) != size+4 || bytes.Count(got.Stdout, []byte("x")) != size || !bytes.HasSuffix(got.Stdout, []byte("xEND\n")) {
		t.Errorf("%d bytes of %d, exit %+v", len(got.Stdout), size+4, got.Exit)
	}
}

func (s *suite) manyAtOnce(t *testing.T, id client.ID) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			p, err := s.Provider.Commands().Start(ctx(t), id, client.Command{Argv: []string{"sh", "-c", fmt.Sprintf("echo %d; exit %d", i, i)}})
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			out, err := client.Collect(p)
			if err != nil || string(out.Stdout) != fmt.Sprintln(i) || out.Exit.Code != i {
				t.Errorf("%d: %q, %+v, %v", i, out.Stdout, out.Exit, err)
			}
			_ = p.Close()
		})
	}
	wg.Wait()
}

func (s *suite) processes(t *testing.T, id client.ID) {
	p := s.start(t, id, client.Command{Argv: []string{"sleep", "1234"}, Tag: "nap", Dir: "/tmp"})
	list, err := s.Provider.Commands().Processes(ctx(t), id)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, x := range list {
		if x.PID != p.PID() {
			continue
		}
		found = true
		if !strings.Contains(strings.Join(x.Argv, " "), "sleep 1234") || x.Tag != "nap" {
			t.Errorf("process is shown as %+v", x)
		}
	}
	if !found {
		t.Errorf("pid %d is not in %+v", p.PID(), list)
	}
	if err := p.Signal(ctx(t), client.SIGKILL); err != nil {
		t.Fatal(err)
	}
	drain(t, p)
	eventually(t, "the process leaving the list", func() bool { return !s.listed(t, id, p.PID()) })
	_ = p.Signal(ctx(t), client.SIGTERM) // of an ended process: any answer, but no crash
}

func (s *suite) terminal(t *testing.T) {
	s.needs(t, client.CapPTY)
	sb := s.create(t, nil)
	t.Run("size at the start", func(t *testing.T) {
		got := s.run(t, sb.ID, client.Command{Argv: []string{"stty", "size"}, PTY: &client.Size{Cols: 91, Rows: 17}})
		if string(got.Stdout) != "17 91\r\n" || !got.Exit.OK() {
			t.Errorf("stty size gave %q, %+v", got.Stdout, got.Exit)
		}
	})
	t.Run("shell round trip and resize", func(t *testing.T) {
		p := s.start(t, sb.ID, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
		s.typeLine(t, p, "stty size")
		expect(t, p, "24 80\r\n")
		if err := p.Resize(ctx(t), client.Size{Cols: 132, Rows: 50}); err != nil {
			t.Fatal(err)
		}
		s.typeLine(t, p, "stty size")
		expect(t, p, "50 132\r\n")
		s.typeLine(t, p, "exit 7")
		if got := drain(t, p).Exit; got.Code != 7 {
			t.Errorf("exit %+v, want 7", got)
		}
	})
	t.Run("ctrl+c ends the command, not the shell", func(t *testing.T) {
		p := s.start(t, sb.ID, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
		// The word comes from the process that the key must end: a shell that is
		// only just starting one may miss the interrupt.
		s.typeLine(t, p, "sh -c \"echo be''gun; exec sleep 1000\"")
		expect(t, p, "begun\r\n")
		if err := p.Write(ctx(t), []byte{3}); err != nil {
			t.Fatal(err)
		}
		// What is typed while the shell recovers from the interrupt may be flushed
		// with it, as on any terminal; so it is typed until it is heard.
		stop := typeAgain(p, "echo al''ive\r")
		expect(t, p, "alive\r\n")
		stop()
		stop = typeAgain(p, "exit 0\r")
		drain(t, p)
		stop()
	})
	t.Run("end of input", func(t *testing.T) {
		p := s.start(t, sb.ID, client.Command{Argv: []string{"cat"}, PTY: &client.Size{Cols: 80, Rows: 24}})
		s.typeLine(t, p, "hello")
		expect(t, p, "hello\r\nhello\r\n")
		if err := p.CloseStdin(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if got := drain(t, p).Exit; !got.OK() {
			t.Errorf("exit %+v", got)
		}
	})
	t.Run("detach and attach", func(t *testing.T) {
		s.needs(t, client.CapReconnect)
		p := s.start(t, sb.ID, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
		s.typeLine(t, p, "X=kept; echo se''t")
		expect(t, p, "set\r\n")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		q, err := s.Provider.Commands().Attach(ctx(t), sb.ID, p.PID())
		if err != nil {
			t.Fatal(err)
		}
		closeLater(t, q)
		s.typeLine(t, q, "echo $X")
		expect(t, q, "kept\r\n")
		s.typeLine(t, q, "exit 0")
		drain(t, q)
	})
}

// typeAgain types text now and every second until the returned function is called.
func typeAgain(p client.Process, text string) (stop func()) {
	c, cancel := context.WithTimeout(context.Background(), limit)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			_ = p.Write(c, []byte(text)) // fails when the process has just ended
			select {
			case <-tick.C:
			case <-c.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (s *suite) typeLine(t *testing.T, p client.Process, line string) {
	t.Helper()
	if err := p.Write(ctx(t), []byte(line+"\r")); err != nil {
		t.Fatal(err)
	}
}

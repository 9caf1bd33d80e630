//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// CMD-03 end to end: no shell but for an unquoted pipe, redirect or `&&`.
func TestRunWrapsOnlyWhatNeedsAShell(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	for line, want := range map[string]string{
		`echo hello`:             "hello\n",
		`echo $HOME *`:           "$HOME *\n",
		"echo `id`":              "`id`\n",
		`echo a | tr a b`:        "b\n",
		`true && echo yes`:       "yes\n",
		`echo 'a | b' "c && d"`:  "a | b c && d\n",
		`sh -c 'echo $((1+1))'`:  "2\n",
		`printf '%s\n' 'x  y'`:   "x  y\n",
		`echo ünï > f; cat f`:    "",
		`echo ünï > f && cat f`:  "ünï\n",
		`sh -c 'echo "a" | cat'`: "a\n",
	} {
		got, err := sb.Run(ctx(t), line, sdk.RunOptions{})
		if err != nil || line != `echo ünï > f; cat f` && got.Stdout != want {
			t.Errorf("%s: %+v %v", line, got, err)
		}
	}
	for _, line := range []string{"", "  ", `echo "a`, `a\`, "a\x00b"} {
		_, err := sb.Run(ctx(t), line, sdk.RunOptions{})
		wantCode(t, line, err, client.CodeUsage, nil)
	}
}

func TestResults(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	got, err := sb.Run(ctx(t), `sh -c 'echo out; echo err >&2; exit 3'`, sdk.RunOptions{Env: map[string]string{"A": "1"}, Dir: "/tmp"})
	if err != nil || got.Stdout != "out\n" || got.Stderr != "err\n" || got.Exit.Code != 3 {
		t.Errorf("%+v %v", got, err)
	}
	wantCode(t, "result", got.Err(), client.CodeRunExit, nil)
	// The default of 60 s goes over the wire; a negative one does not.
	last := func() string {
		r := s.Requests("/Start")
		return r[len(r)-1].Header.Get("Connect-Timeout-Ms")
	}
	if last() != "60000" {
		t.Errorf("timeout sent: %q", last())
	}
	if _, err := sb.Run(ctx(t), "true", sdk.RunOptions{Timeout: -1}); err != nil || last() != "" {
		t.Errorf("timeout sent: %q, %v", last(), err)
	}
	c, err := sb.Start(ctx(t), "true", sdk.RunOptions{})
	if err != nil || last() != "" {
		t.Fatalf("timeout sent: %q, %v", last(), err)
	}
	if r, err := c.Wait(ctx(t)); err != nil || r.Err() != nil {
		t.Errorf("%+v %v", r, err)
	}
	_ = c.Close()
	// CMD-06: what was written before the timeout is kept.
	got, err = sb.Run(ctx(t), `sh -c 'echo begun; exec sleep 1000'`, sdk.RunOptions{Timeout: 500 * time.Millisecond})
	wantCode(t, "timeout", err, client.CodeRunTimeout, context.DeadlineExceeded)
	if got.Stdout != "begun\n" || !got.Exit.TimedOut || !strings.Contains(err.Error(), "500ms") || strings.Contains(err.Error(), "default") {
		t.Errorf("%+v %v", got, err)
	}
	// CMD-02.
	got, err = sb.Run(ctx(t), `sh -c 'kill -KILL $$'`, sdk.RunOptions{})
	if err != nil || got.Exit.ShellCode() != 137 || !strings.Contains(got.Err().Error(), "killed (SIGKILL), possibly out of memory") {
		t.Errorf("%+v %v", got, err)
	}
	// CMD-07.
	_, err = sb.Run(ctx(t), "true", sdk.RunOptions{Dir: "/no/such"})
	if err == nil || !strings.Contains(err.Error(), "/no/such") {
		t.Errorf("%v", err)
	}
}

func TestStreams(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	const line = `sh -c 'echo one; echo two >&2; echo three'`
	var out, errs output
	got, err := sb.Run(ctx(t), line, sdk.RunOptions{Stdout: &out, Stderr: &errs})
	if err != nil || out.String() != "one\nthree\n" || errs.String() != "two\n" || got.Stdout != "" {
		t.Errorf("%q %q %+v %v", out.String(), errs.String(), got, err)
	}
	var called bytes.Buffer
	got, err = sb.Run(ctx(t), line, sdk.RunOptions{OnStdout: func(b []byte) { called.Write(b) }})
	if err != nil || called.String() != "one\nthree\n" || got.Stderr != "two\n" {
		t.Errorf("%q %+v %v", called.String(), got, err)
	}
	c, err := sb.Start(ctx(t), `sh -c 'printf abc; sleep 0.1; printf def'`, sdk.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil || string(all) != "abcdef" || !c.Exit().OK() {
		t.Errorf("%q %v", all, err)
	}
	_ = c.Close()
	got, err = sb.Run(ctx(t), `sh -c 'yes | head -c 100000'`, sdk.RunOptions{MaxOutput: 1000})
	if err != nil || len(got.Stdout) != 1000 || !got.Truncated {
		t.Errorf("%d bytes, truncated %v, %v", len(got.Stdout), got.Truncated, err)
	}
	got, err = sb.Run(ctx(t), "cat", sdk.RunOptions{Stdin: strings.NewReader("abc\x00" + strings.Repeat("x", 200_000))})
	if err != nil || len(got.Stdout) != 200_004 || !got.Exit.OK() {
		t.Errorf("%d bytes, %v", len(got.Stdout), err)
	}
	got, err = sb.Run(ctx(t), "cat", sdk.RunOptions{})
	if err != nil || got.Stdout != "" {
		t.Errorf("%+v %v", got, err)
	}
	wantCode(t, "a full disk here", func() error {
		_, err := sb.Run(ctx(t), "echo x", sdk.RunOptions{Stdout: full{}})
		return err
	}(), client.CodeRun, errFull)
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestBackground(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	c, err := sb.Start(ctx(t), `sh -c 'read x; echo got $x; read y; exit 6'`, sdk.RunOptions{OpenStdin: true, Tag: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := sb.Processes(ctx(t))
	if err != nil || len(list) != 1 || list[0].PID != c.PID() || list[0].Tag != "mine" {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := c.Write([]byte("it\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 7)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "got it\n" {
		t.Fatalf("%q %v", b, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sb.Attach(ctx(t), c.PID(), sdk.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Write([]byte("more\n")); err != nil {
		t.Fatal(err)
	}
	if r, err := again.Wait(ctx(t)); err != nil || r.Exit.Code != 6 {
		t.Errorf("%+v %v", r, err)
	}
	_ = again.Close()
	_, err = sb.Attach(ctx(t), 999_999, sdk.RunOptions{})
	wantCode(t, "attach to nothing", err, client.CodeRPC, client.ErrNotFound)
}

func TestSignals(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	for _, sig := range []client.Signal{client.SIGTERM, client.SIGKILL} {
		c, err := sb.Start(ctx(t), "sleep 1000", sdk.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []client.Signal{0, 1, 2, 19, -9} {
			wantCode(t, "signal", c.SendSignal(ctx(t), bad), client.CodeUsage, nil)
			wantCode(t, "signal", sb.SendSignal(ctx(t), c.PID(), bad), client.CodeUsage, nil)
		}
		if len(s.Requests("/SendSignal")) != 0 && sig == client.SIGTERM {
			t.Error("a refused signal was sent")
		}
		if err := sb.SendSignal(ctx(t), c.PID(), sig); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Wait(ctx(t)); err != nil || r.Exit.Signal != int(sig) {
			t.Errorf("%+v %v", r, err)
		}
		_ = c.Close()
	}
}

// A context that ends gives up and kills nothing.
func TestCancelDoesNotKill(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	c, cancel := context.WithCancel(ctx(t))
	var pid int
	_, err := func() (sdk.Result, error) {
		cmd, err := sb.Start(c, `sh -c 'echo up; exec sleep 1000'`, sdk.RunOptions{OnStdout: func([]byte) { cancel() }})
		if err != nil {
			t.Fatal(err)
		}
		pid = cmd.PID()
		defer func() { _ = cmd.Close() }()
		return cmd.Wait(c)
	}()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	list, err := sb.Processes(ctx(t))
	if err != nil || len(list) != 1 || list[0].PID != pid {
		t.Errorf("%+v %v", list, err)
	}
	if err := sb.SendSignal(ctx(t), pid, client.SIGKILL); err != nil {
		t.Error(err)
	}
}

// A dead sandbox ends a running command with an error within seconds.
func TestDeadSandboxEndsCommand(t *testing.T) {
	for name, end := range map[string]func(*sdk.Sandbox, *expresstest.Server) error{
		"killed":   func(sb *sdk.Sandbox, _ *expresstest.Server) error { return sb.Kill(context.Background()) },
		"vanished": func(sb *sdk.Sandbox, s *expresstest.Server) error { return s.Vanish(string(sb.ID())) },
	} {
		t.Run(name, func(t *testing.T) {
			sb, s := sandbox(t, expresstest.Switches{}, sdk.Guard(200*time.Millisecond))
			c, err := sb.Start(ctx(t), `sh -c 'echo up; exec sleep 1000'`, sdk.RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := c.Next(); err != nil {
				t.Fatal(err)
			}
			if err := end(sb, s); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = c.Wait(ctx(t))
			if err == nil || time.Since(began) > 30*time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
			if name == "vanished" {
				wantCode(t, name, err, client.CodeNotFound, client.ErrNotFound)
			}
			if !errors.Is(err, client.ErrStreamBroken) {
				t.Errorf("%v", err)
			}
		})
	}
}

// The guard leaves a slow, silent command of a live sandbox alone.
func TestGuardIsPatient(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{SlowStream: 20 * time.Millisecond}, sdk.Guard(20*time.Millisecond))
	r, err := sb.Run(ctx(t), `sh -c 'sleep 0.5; echo late'`, sdk.RunOptions{})
	if err != nil || r.Stdout != "late\n" {
		t.Errorf("%+v %v", r, err)
	}
	if len(s.Requests("/List")) == 0 {
		t.Error("the guard never looked")
	}
}

// STR-04: a cut stream is never success.
func TestCutStream(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	for _, at := range []int{100, 2000, 3999} {
		s.Set(func(sw *expresstest.Switches) { sw.CutStream = at })
		r, err := sb.Run(ctx(t), `sh -c 'yes | head -c 4000'`, sdk.RunOptions{})
		if !errors.Is(err, client.ErrStreamBroken) || r.Exit.OK() {
			t.Errorf("cut at %d: %+v %v", at, r, err)
		}
	}
}

func TestTerminal(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	term, err := sb.GetTerminal(ctx(t), client.Size{Cols: 80, Rows: 24}, sdk.RunOptions{Env: map[string]string{"PS1": "$ "}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = term.Close() }()
	var got bytes.Buffer
	until := func(want string) {
		t.Helper()
		b := make([]byte, 4096)
		for !strings.Contains(got.String(), want) {
			n, err := term.Read(b)
			if err != nil {
				t.Fatalf("%v after %q", err, got.String())
			}
			got.Write(b[:n])
		}
		got.Reset()
	}
	type line string
	say := func(l line) {
		t.Helper()
		if _, err := term.Write([]byte(l + "\r")); err != nil {
			t.Fatal(err)
		}
	}
	say("stty size")
	until("24 80")
	if err := term.Resize(ctx(t), client.Size{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	say("stty size")
	until("30 100")
	say("exit 5")
	for {
		if _, err := term.Next(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
	}
	if d := cmp.Diff(5, term.Exit().Code); d != "" {
		t.Error(d)
	}
}

// A command of generation 2 that writes nothing may have lost its output: the
// result says so, and for no other command.
func TestSilenceHint(t *testing.T) {
	for generation, want := range map[int]bool{0: false, 1: false, 2: true} {
		p, _ := provider(t, expresstest.Switches{}, func(c *express.Config) { c.Generation = generation })
		sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
		if err != nil {
			t.Fatal(err)
		}
		quiet, err := sb.Run(ctx(t), "true", sdk.RunOptions{})
		if err != nil || (quiet.Hint != "") != want {
			t.Errorf("generation %d: %+v %v", generation, quiet, err)
		}
		if loud, err := sb.Run(ctx(t), "echo hi", sdk.RunOptions{}); err != nil || loud.Hint != "" {
			t.Errorf("generation %d: %+v %v", generation, loud, err)
		}
	}
}

package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/present"
)

// CMD-01, CMD-02, CMD-03, CMD-06, CMD-07: the command's own code passes through, our own failures are 125.
func TestExecCodes(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		out    string
		stderr string // part of it
	}{
		"success":          {[]string{"--", "echo", "hi"}, 0, "hi\n", ""},
		"own code":         {[]string{"--", "sh", "-c", "echo hi; exit 3"}, 3, "hi\n", ""},
		"false":            {[]string{"--", "false"}, 1, "", ""},
		"its own 125":      {[]string{"--", "sh", "-c", "exit 125"}, 125, "", ""},
		"both streams":     {[]string{"--", "sh", "-c", "echo o; echo e >&2"}, 0, "o\n", "e\n"},
		"no shell":         {[]string{"--", "echo", "$HOME | x"}, 0, "$HOME | x\n", ""},
		"words, no dash":   {[]string{"echo", "a", "b"}, 0, "a b\n", ""},
		"one string":       {[]string{"echo  a   'b  c'"}, 0, "a b  c\n", ""},
		"one with a pipe":  {[]string{"echo a|wc -c"}, 0, "2\n", ""},
		"open quote":       {[]string{"echo 'open"}, 125, "", "unterminated quote"},
		"empty string":     {[]string{"  "}, 125, "", "empty command"},
		"empty word":       {[]string{"--", ""}, 125, "", "empty"},
		"not found":        {[]string{"--", "no-such"}, 127, "", "no-such"},
		"killed":           {[]string{"--", "sh", "-c", "kill -9 $$"}, 137, "", "killed (SIGKILL), possibly out of memory"},
		"terminated":       {[]string{"--", "sh", "-c", "kill $$"}, 143, "", "SIGTERM"},
		"timed out":        {[]string{"--timeout", "50ms", "--", "sleep", "1000"}, 125, "", "timed out after 50ms (E3001)"},
		"negative timeout": {[]string{"--timeout", "-1s", "--", "true"}, 125, "", "negative"},
		"cwd":              {[]string{"--cwd", "/tmp", "--", "pwd"}, 0, "/tmp\n", ""},
		"bad cwd":          {[]string{"--cwd", "/no/such", "--", "true"}, 125, "", "/no/such"},
		"bad user":         {[]string{"--user", "bob", "--", "true"}, 125, "", "bob"},
		"environment":      {[]string{"-e", "A=1=2", "--", "printenv", "A"}, 0, "1=2\n", ""},
		"bad environment":  {[]string{"-e", "A", "--", "true"}, 125, "", "KEY=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add(rows()[0])
			code, out, errs := b.run(append([]string{"exec", "web"}, c.args...)...)
			if code != c.code || out != c.out || !strings.Contains(errs, c.stderr) {
				t.Errorf("code %d, out %q, err %q", code, out, errs)
			}
			if c.stderr == "" && errs != "" {
				t.Errorf("surplus words: %q", errs)
			}
		})
	}
}

func TestExecOfNothing(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"nothing", "izzzzzzzzzzzzzzzzzzzz"} {
		code, out, errs := b.run("exec", id, "--", "true")
		if code != 125 || out != "" || !strings.HasPrefix(errs, "abxdash: ") {
			t.Errorf("%s: %d %q %q", id, code, out, errs)
		}
	}
}

func TestExecJSON(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	code, out, _ := b.run("exec", "web", "--json", "--", "sh", "-c", "echo o; echo e >&2; exit 4")
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"stdout": "o\n", "stderr": "e\n", "exit_code": 4.0, "signal": 0.0, "timed_out": false}
	if d := cmp.Diff(want, got); d != "" || code != 4 {
		t.Errorf("code %d %s", code, d)
	}
}

// CMD-04: the end of standard input comes after the last byte.
func TestExecInput(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.in = strings.NewReader("abc")
	if got := b.ok("exec", "web", "--", "cat"); got != "abc" {
		t.Errorf("cat gave %q", got)
	}
	var ops []string
	for _, c := range b.p.Calls() {
		if c.Op == fake.OpWrite || c.Op == fake.OpClose {
			ops = append(ops, c.Op+" "+c.Arg)
		}
	}
	if d := cmp.Diff([]string{"write abc", "closestdin "}, ops); d != "" {
		t.Error(d)
	}
	b.in = strings.NewReader("")
	if got := b.ok("exec", "web", "--", "wc", "-c"); got != "0\n" {
		t.Errorf("wc gave %q", got)
	}
	big := strings.Repeat("x", 3<<20)
	b.in = strings.NewReader(big)
	if got := b.ok("exec", "web", "--", "wc", "-c"); got != "3145728\n" {
		t.Errorf("wc gave %q", got)
	}
}

func TestExecInputThatIsNotForwarded(t *testing.T) {
	for name, args := range map[string][]string{
		"terminal": {"exec", "web", "--", "cat"},
		"flag":     {"exec", "web", "--no-stdin", "--", "cat"},
	} {
		b := newBench(t)
		b.add(rows()[0])
		b.terminal = name == "terminal"
		b.in = strings.NewReader("must not be read")
		if got := b.ok(args...); got != "" {
			t.Errorf("%s: cat gave %q", name, got)
		}
		if rest, err := io.ReadAll(b.in); err != nil || len(rest) != 16 {
			t.Errorf("%s: %q is left of the input, %v", name, rest, err)
		}
	}
}

// A closed descriptor is an end like any other.
func TestExecInputClosed(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_ = r.Close()
	b.in = r
	if got := b.ok("exec", "web", "--", "cat"); got != "" {
		t.Errorf("cat gave %q", got)
	}
}

// The input that a command did not want does not keep exec.
func TestExecDoesNotWaitForInput(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close(); _ = r.Close() }()
	b.in = r
	if got := b.ok("exec", "web", "--", "echo", "done"); got != "done\n" {
		t.Errorf("%q", got)
	}
}

// waitFor polls a condition of the fake, which offers no event for it.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Error("the condition was not met")
			return
		}
	}
}

func TestExecSignals(t *testing.T) {
	for name, c := range map[string]struct {
		sig  os.Signal
		code int
	}{
		"interrupt": {os.Interrupt, 130},
		"terminate": {syscall.SIGTERM, 143},
		"hang up":   {syscall.SIGHUP, 129},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add(rows()[0])
			done := make(chan struct{})
			go func() {
				defer close(done)
				waitFor(t, func() bool { return len(b.p.CallsOf(fake.OpStart)) > 0 })
				b.signals <- c.sig
			}()
			code, _, errs := b.run("exec", "web", "--", "sleep", "1000")
			<-done
			if code != c.code || errs != "" {
				t.Errorf("code %d, %q", code, errs)
			}
			if got := b.p.CallsOf(fake.OpSignal); len(got) != 1 || got[0].Arg != "15" {
				t.Errorf("signals sent: %+v", got)
			}
		})
	}
}

// A second signal kills, and a third gives up on a provider that does not answer.
func TestExecSignalsAgain(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.p.Script(fake.OpSignal, "", fake.Step{Err: fake.ServerError("deaf"), Repeat: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		waitFor(t, func() bool { return len(b.p.CallsOf(fake.OpStart)) > 0 })
		b.signals <- os.Interrupt
		waitFor(t, func() bool { return len(b.p.CallsOf(fake.OpSignal)) > 0 })
		b.signals <- os.Interrupt
	}()
	code, _, _ := b.run("exec", "web", "--", "sleep", "1000")
	<-done
	if code != 130 {
		t.Errorf("code %d", code)
	}
	var sent []string
	for _, c := range b.p.CallsOf(fake.OpSignal) {
		sent = append(sent, c.Arg)
	}
	if d := cmp.Diff([]string{"15", "9"}, sent); d != "" {
		t.Error(d)
	}
}

// A stream that breaks is our failure, never the command's success.
func TestExecStreamBroken(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.providers[0] = brokenProvider{b.p}
	code, out, errs := b.run("exec", "web", "--", "true")
	if code != 125 || out != "so far" || !strings.Contains(errs, "exit code unknown") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

type brokenProvider struct{ *fake.Provider }

func (p brokenProvider) Commands() client.Commands { return brokenCommands(p) }

type brokenCommands struct{ *fake.Provider }

func (c brokenCommands) Start(_ ctxType, id client.ID, cmd client.Command) (client.Process, error) {
	return &brokenProcess{frames: []client.Frame{{Stream: client.Stdout, Data: []byte("so far")}}}, nil
}

type brokenProcess struct {
	client.Process
	frames []client.Frame
}

func (p *brokenProcess) Next() (client.Frame, error) {
	if len(p.frames) == 0 {
		return client.Frame{}, client.ErrStreamBroken
	}
	f := p.frames[0]
	p.frames = p.frames[1:]
	return f, nil
}

func (p *brokenProcess) Write(ctxType, []byte) error { return nil }
func (p *brokenProcess) CloseStdin(ctxType) error    { return nil }
func (p *brokenProcess) Close() error                { return nil }

func TestExecOutputIsExact(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	var got bytes.Buffer
	b.out = &got
	if code, _, errs := b.run("exec", "web", "--", "sh", "-c", `head -c 3000000 /dev/zero; printf 'a\033[2Jb'`); code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	if want := append(make([]byte, 3000000), "a\x1b[2Jb"...); !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, want %d", got.Len(), len(want))
	}
}

// losing is a provider that is known to lose output.
type losing struct{ *fake.Provider }

func (losing) SilenceHint() string { return "some get lost" }

// Nothing written is told where it may have been lost, and only there.
func TestExecSilence(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	if _, _, errs := b.run("exec", "web", "--", "true"); errs != "" {
		t.Errorf("surplus words: %q", errs)
	}
	b.providers = present.Providers{losing{b.p}}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--", "true"}, "hint: some get lost\n"},
		{[]string{"--", "false"}, "hint: some get lost\n"},
		{[]string{"-q", "--", "true"}, ""},
		{[]string{"--", "echo", "hi"}, ""},
		{[]string{"--", "sh", "-c", "echo hi >&2"}, "hi\n"},
	} {
		if _, _, errs := b.run(append([]string{"exec", "web"}, c.args...)...); errs != c.want {
			t.Errorf("%q: %q", c.args, errs)
		}
	}
}

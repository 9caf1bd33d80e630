package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// Limits of try.
const (
	tryLimit    = 2 * time.Minute
	tryLifetime = 10 * time.Minute
)

func (c *cli) tryCmd() *cobra.Command {
	return &cobra.Command{
		Use: "try", Short: "Do the main job once, in plain lines",
		Long: `try creates a sandbox, streams a command, writes, lists and reads a file, opens a
terminal, kills the sandbox and checks that nothing is left. It succeeds only if
all of that worked.`,
		Args: argCount(0, 0, "try takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error { return c.try(ctx) }),
	}
}

// trial is one run of try.
type trial struct {
	*cli
	p    client.Provider
	sb   client.Sandbox
	mark string
}

// tryStep is one line.
type tryStep struct {
	name string
	// run returns what is worth saying.
	run func(context.Context) (string, error)
}

func (c *cli) try(ctx context.Context) error {
	if err := c.writable("try"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	if c.flags.Provider == "" {
		// try promises to work without an account.
		c.flags.Provider = "local"
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := creator(s)
	if err != nil {
		return err
	}
	t := &trial{cli: c, p: p, mark: strings.ToLower(rand.Text()[:12])}
	begun := c.Now()
	err = t.all(ctx)
	if err != nil {
		return err
	}
	c.say("all of it worked, in %s", round(c.Now().Sub(begun)))
	return nil
}

func (t *trial) all(ctx context.Context) error {
	if err := t.step(ctx, tryStep{"create", t.create}); err != nil {
		return err
	}
	var failed error
	for _, s := range []tryStep{
		{"stream", t.stream},
		{"exit code", t.exitCode},
		{"write", t.write},
		{"list", t.list},
		{"read", t.read},
		{"terminal", t.terminal},
		{"background", t.background},
	} {
		if failed = t.step(ctx, s); failed != nil {
			break
		}
	}
	// The sandbox goes whatever happened, even after a signal.
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryLimit)
	defer cancel()
	if err := t.step(cleanup, tryStep{"kill", t.kill}); err != nil {
		return errors.Join(failed, err)
	}
	if failed != nil {
		return failed
	}
	return t.step(cleanup, tryStep{"nothing left", t.left})
}

// step runs one step and prints its line.
func (t *trial) step(ctx context.Context, s tryStep) error {
	begun := t.Now()
	text, err := s.run(ctx)
	took := round(t.Now().Sub(begun))
	word := "ok"
	if err != nil {
		word, text = "FAILED", present.ErrorLine(err)
	}
	if !t.flags.Quiet || err != nil {
		if _, werr := fmt.Fprintf(t.Out, "%-6s  %-12s  %8s  %s\n", word, s.name, took, present.Clean(text)); werr != nil && err == nil {
			return werr
		}
	}
	return err
}

func round(d time.Duration) string {
	if d < time.Second {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// wrong is the error of a step that worked but gave something else.
func wrong(step, format string, args ...any) error {
	return &client.Error{Op: step, Code: client.CodeInternal, Message: client.OneLine(fmt.Sprintf(format, args...), 300)}
}

func (t *trial) create(ctx context.Context) (string, error) {
	sb, err := t.p.Sandboxes().Create(ctx, client.CreateSpec{Lifetime: tryLifetime, Metadata: t.Owner.Tags("try", "try-"+t.mark, nil)})
	if err != nil {
		return "", err
	}
	sb.Provider = t.p.Name()
	t.sb = sb
	return fmt.Sprintf("%s on %s, isolation %s", sb.ID, t.p.Name(), orDash(string(sb.Isolation))), nil
}

// start starts a command whose stream ends with the step.
func (t *trial) start(ctx context.Context, c client.Command) (client.Process, func(), error) {
	proc, err := t.p.Commands().Start(ctx, t.sb.ID, c)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = proc.Close() })
	return proc, func() { stop(); _ = proc.Close() }, nil
}

func (t *trial) stream(ctx context.Context) (string, error) {
	const step = "stream output"
	begun := t.Now()
	proc, end, err := t.start(ctx, client.ShellCommand("for i in 1 2 3; do echo line $i; sleep 0.2; done"))
	if err != nil {
		return "", err
	}
	defer end()
	var got bytes.Buffer
	var arrivals []time.Duration
	for {
		f, err := proc.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		got.Write(f.Data)
		if f.Stream == client.Stdout {
			arrivals = append(arrivals, t.Now().Sub(begun))
		}
	}
	switch {
	case !proc.Exit().OK():
		return "", wrong(step, "the command ended with %s", proc.Exit())
	case got.String() != "line 1\nline 2\nline 3\n":
		return "", wrong(step, "got %q", got.String())
	case len(arrivals) < 2:
		return "", wrong(step, "all lines came at once")
	}
	return fmt.Sprintf("three lines as they were written, the first after %s", round(arrivals[0])), nil
}

func (t *trial) exitCode(ctx context.Context) (string, error) {
	proc, end, err := t.start(ctx, client.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}})
	if err != nil {
		return "", err
	}
	defer end()
	out, err := client.Collect(proc)
	if err != nil {
		return "", err
	}
	if out.Exit.Code != 3 || string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" {
		return "", wrong("exit code", "got %s, %q, %q", out.Exit, out.Stdout, out.Stderr)
	}
	return "3 as the command said, both streams apart", nil
}

const (
	tryDir  = "try"
	tryFile = tryDir + "/hello ä.txt"
)

func (t *trial) content() string { return "written by abxdash try " + t.mark + "\n" }

func (t *trial) write(ctx context.Context) (string, error) {
	text := t.content()
	e, err := t.p.Files().Put(ctx, t.sb.ID, tryFile, strings.NewReader(text), int64(len(text)))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d bytes", e.Path, len(text)), nil
}

func (t *trial) list(ctx context.Context) (string, error) {
	entries, err := t.p.Files().ReadDir(ctx, t.sb.ID, tryDir)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 || entries[0].Name != "hello ä.txt" || entries[0].Size != int64(len(t.content())) {
		return "", wrong("list files", "got %+v", entries)
	}
	return entries[0].Permissions + " " + entries[0].Name, nil
}

func (t *trial) read(ctx context.Context) (string, error) {
	r, err := t.p.Files().Open(ctx, t.sb.ID, tryFile)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }() // read to its end below
	got, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	if string(got) != t.content() {
		return "", wrong("read file", "got %q", got)
	}
	return "the same bytes came back", nil
}

func (t *trial) terminal(ctx context.Context) (string, error) {
	const step = "terminal"
	if err := unsupported(t.p, client.CapPTY); err != nil {
		return "", err
	}
	proc, end, err := t.start(ctx, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
	if err != nil {
		return "", err
	}
	defer end()
	if err := proc.Resize(ctx, client.Size{Cols: 132, Rows: 43}); err != nil {
		return "", err
	}
	if err := proc.Write(ctx, []byte("stty size; echo round''trip\r")); err != nil {
		return "", err
	}
	var got bytes.Buffer
	for !bytes.Contains(got.Bytes(), []byte("roundtrip")) {
		f, err := proc.Next()
		if err != nil {
			return "", fmt.Errorf("the shell ended early: %w", err)
		}
		got.Write(f.Data)
	}
	if !bytes.Contains(got.Bytes(), []byte("43 132")) {
		return "", wrong(step, "the size did not arrive: %q", got.String())
	}
	if err := proc.Write(ctx, []byte("exit 0\r")); err != nil {
		return "", err
	}
	out, err := client.Collect(proc)
	if err != nil {
		return "", err
	}
	if !out.Exit.OK() {
		return "", wrong(step, "the shell ended with %s", out.Exit)
	}
	return "a shell answered and has the size 132x43", nil
}

// background leaves a daemon behind, so that the kill has something to prove.
func (t *trial) background(ctx context.Context) (string, error) {
	proc, end, err := t.start(ctx, client.ShellCommand("(setsid sh -c 'sleep 7654321; : "+t.tag()+"' >/dev/null 2>&1 </dev/null &); exit 0"))
	if err != nil {
		return "", err
	}
	defer end()
	out, err := client.Collect(proc)
	if err != nil {
		return "", err
	}
	if !out.Exit.OK() {
		return "", wrong("background", "the command ended with %s: %s", out.Exit, out.Stderr)
	}
	if err := t.seen(ctx); err != nil {
		return "", err
	}
	return "a daemon was left running inside", nil
}

// tag marks the daemon's command line.
func (t *trial) tag() string { return "abxdash-" + t.mark }

// leftovers looks for traces of the sandbox on this machine, where that can be done.
func (t *trial) leftovers(ctx context.Context) (found []string, checked bool, err error) {
	if t.p.Name() != "local" || t.Local == nil {
		return nil, false, nil
	}
	l, err := t.Local(t.flags)
	if err != nil {
		return nil, false, err
	}
	return l.Leftovers(ctx, t.sb.ID, t.tag())
}

// seen waits until the daemon can be seen from outside: otherwise not seeing it
// after the kill would prove nothing.
func (t *trial) seen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		found, checked, err := t.leftovers(ctx)
		if err != nil || !checked {
			return err
		}
		if slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, "process ") }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return wrong("background", "the daemon cannot be seen from outside the sandbox")
		}
	}
}

func (t *trial) kill(ctx context.Context) (string, error) {
	if err := t.p.Sandboxes().Kill(ctx, t.sb.ID); err != nil {
		return "", err
	}
	return string(t.sb.ID), nil
}

// left checks that the sandbox is gone for the provider and on this machine.
func (t *trial) left(ctx context.Context) (string, error) {
	const step = "look for leftovers"
	if _, err := t.p.Sandboxes().Get(ctx, t.sb.ID); !errors.Is(err, client.ErrNotFound) {
		return "", wrong(step, "the provider still knows the sandbox (%v)", err)
	}
	page, err := present.ListAll(ctx, t.p, client.Query{})
	if err != nil {
		return "", err
	}
	for _, s := range page.Sandboxes {
		if s.ID == t.sb.ID {
			return "", wrong(step, "it is still listed")
		}
	}
	found, checked, err := t.leftovers(ctx)
	switch {
	case err != nil:
		return "", err
	case len(found) > 0:
		return "", wrong(step, "%s", strings.Join(found, "; "))
	case !checked:
		return "not known and not listed any more", nil
	}
	return "no process, mount or folder of it on this machine", nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/muesli/cancelreader"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// signalTimeout bounds sending one signal to a command.
const signalTimeout = 10 * time.Second

func (c *cli) execCmd() *cobra.Command {
	var (
		timeout time.Duration
		env     []string
		dir     string
		user    string
		noStdin bool
	)
	cmd := &cobra.Command{
		Use:   "exec SANDBOX -- COMMAND ARGS… | exec SANDBOX 'COMMAND LINE'",
		Short: "Run a command in a sandbox",
		Long: `exec runs a command and passes its output, input and exit code through.

After -- the words are the command and its arguments as they are, without a
shell. One string is split like a shell would; it runs in sh only if it holds an
unquoted pipe, redirect or &&.

A command ended by signal n gives 128+n. When exec itself fails, a timeout
included, it says so on standard error and gives 125.`,
		Args: func(cmd *cobra.Command, args []string) error {
			return own(argCount(2, -1, "exec needs a sandbox and a command")(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			argv, err := execArgv(args[1:], cmd.ArgsLenAtDash() >= 0)
			if err != nil {
				return own(err)
			}
			envs, err := pairs("env", env)
			if err != nil {
				return own(err)
			}
			if timeout < 0 {
				return own(client.Usagef("exec", "--timeout must not be negative; 0 is no limit"))
			}
			return own(c.exec(cmd.Context(), args[0], client.Command{
				Argv: argv, Env: envs, Dir: dir, User: user, Timeout: timeout,
				Stdin: !noStdin && c.In != nil && !c.IsTerminal(c.In),
			}))
		},
	}
	f := cmd.Flags()
	f.DurationVar(&timeout, "timeout", 0, "kill the command after this long (default no limit)")
	f.StringArrayVarP(&env, "env", "e", nil, "environment variable KEY=VALUE; may be repeated")
	f.StringVarP(&dir, "cwd", "w", "", "working directory (default the user's home)")
	f.StringVarP(&user, "user", "u", "", "user inside the sandbox")
	f.BoolVar(&noStdin, "no-stdin", false, "do not forward standard input")
	return cmd
}

// execArgv is what to run: the words behind --, or one string by the wrapping rule.
func execArgv(words []string, dash bool) ([]string, error) {
	if dash || len(words) > 1 {
		if words[0] == "" {
			return nil, client.Usagef("exec", "the command is empty, nothing run")
		}
		return words, nil
	}
	return client.CommandLine(words[0])
}

func (c *cli) exec(ctx context.Context, name string, cmd client.Command) error {
	if err := c.writable("exec"); err != nil {
		return err
	}
	// Signals are caught before the command exists, so that none is lost.
	sigs, stop := c.Signals()
	defer stop()
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	sb, p, err := c.find(ctx, s, name)
	if err != nil {
		return err
	}
	startCtx, cancel := c.call(ctx)
	defer cancel()
	proc, err := p.Commands().Start(startCtx, sb.ID, cmd)
	if err != nil {
		return err
	}
	defer func() { _ = proc.Close() }() // detaching has no failure to act on
	heard := &heardProcess{Process: proc}
	err = c.pass(ctx, heard, cmd, sigs)
	if h := client.SilenceHint(p); h != "" && heard.ended && !heard.any {
		c.say("hint: %s", present.Clean(h))
	}
	return err
}

// heardProcess knows whether a command wrote anything until it ended.
type heardProcess struct {
	client.Process
	any, ended bool
}

// Next implements [client.Process].
func (h *heardProcess) Next() (client.Frame, error) {
	f, err := h.Process.Next()
	h.any = h.any || len(f.Data) > 0
	h.ended = h.ended || errors.Is(err, io.EOF)
	return f, err
}

// pass moves input, output and signals until the command has ended.
func (c *cli) pass(ctx context.Context, proc client.Process, cmd client.Command, sigs <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	if cmd.Stdin {
		in, stopInput := cancellable(c.In)
		if stopInput != nil {
			defer stopInput()
			wg.Go(func() { forwardInput(ctx, proc, in) })
		} else {
			go forwardInput(ctx, proc, in) // ends with its reader
		}
	}
	f := &forwarder{proc: proc}
	wg.Go(func() { f.run(ctx, sigs) })
	defer cancel()

	var out client.Output
	write := c.stream
	if c.flags.JSON {
		write = func(f client.Frame) error { return keep(&out, f) }
	}
	for {
		frame, err := proc.Next()
		switch {
		case errors.Is(err, io.EOF):
			out.Exit = proc.Exit()
			return c.ended(cmd, out, f)
		case err != nil && f.gaveUp():
			return &exitError{code: f.code()}
		case err != nil:
			return err
		}
		if err := write(frame); err != nil {
			// Nobody reads any more: end the command as SIGPIPE would have.
			stopCtx, stopCancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
			_ = proc.Signal(stopCtx, client.SIGTERM) // it may just have ended
			stopCancel()
			return err
		}
	}
}

// maxKept bounds the output that exec --json collects.
const maxKept = 64 << 20

// keep collects one frame for exec --json.
func keep(out *client.Output, f client.Frame) error {
	to := &out.Stdout
	if f.Stream == client.Stderr {
		to = &out.Stderr
	}
	if len(*to)+len(f.Data) > maxKept {
		return &client.Error{
			Op: "exec --json", Code: client.CodeRun, Message: "the command wrote more than 64 MiB, it was ended",
			Hint: "leave out --json to stream output of any size",
		}
	}
	*to = append(*to, f.Data...)
	return nil
}

// stream writes one frame as it came.
func (c *cli) stream(f client.Frame) error {
	w := c.Out
	if f.Stream == client.Stderr {
		w = c.Err
	}
	_, err := w.Write(f.Data)
	return err
}

// ended words the end and makes the exit code.
func (c *cli) ended(cmd client.Command, out client.Output, f *forwarder) error {
	exit := out.Exit
	if c.flags.JSON {
		err := c.printJSON(struct {
			Stdout   string `json:"stdout"`
			Stderr   string `json:"stderr"`
			ExitCode int    `json:"exit_code"`
			Signal   int    `json:"signal"`
			TimedOut bool   `json:"timed_out"`
		}{string(out.Stdout), string(out.Stderr), exit.ShellCode(), exit.Signal, exit.TimedOut})
		if err != nil {
			return err
		}
	}
	switch {
	case exit.TimedOut:
		return &client.Error{Op: "exec", Code: client.CodeRunTimeout, Message: fmt.Sprintf("timed out after %s", cmd.Timeout)}
	case f.code() != 0 && exit.Signal != 0:
		return &exitError{code: f.code()}
	case exit.Signal != 0:
		c.say("abxdash: the command was %s", present.Clean(exit.String()))
	}
	if code := exit.ShellCode(); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// forwarder turns signals to this program into signals to the command:
// the first asks it to end, the second kills it, the third gives up on it.
type forwarder struct {
	proc client.Process

	mu    sync.Mutex
	first os.Signal
	count int
}

func (f *forwarder) run(ctx context.Context, sigs <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-sigs:
			f.mu.Lock()
			if f.count++; f.count == 1 {
				f.first = sig
			}
			n := f.count
			f.mu.Unlock()
			f.send(ctx, n)
		}
	}
}

func (f *forwarder) send(ctx context.Context, n int) {
	sig := client.SIGTERM
	switch {
	case n == 2:
		sig = client.SIGKILL
	case n > 2:
		_ = f.proc.Close() // unblocks the reader
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signalTimeout)
	defer cancel()
	if err := f.proc.Signal(ctx, sig); err != nil && !errors.Is(err, client.ErrNotFound) && n > 1 {
		_ = f.proc.Close()
	}
}

func (f *forwarder) gaveUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count > 1
}

// code is 128+n of the first signal, 0 if there was none.
func (f *forwarder) code() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.first.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 0
}

// forwardInput copies standard input and closes the command's when it ends (CMD-04).
func forwardInput(ctx context.Context, proc client.Process, in io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if werr := proc.Write(ctx, buf[:n]); werr != nil {
				return // the command has ended or does not read any more
			}
		}
		switch {
		case errors.Is(err, cancelreader.ErrCanceled):
			return
		case err != nil:
			// A closed descriptor is an end like any other.
			_ = proc.CloseStdin(ctx) // it may just have ended
			return
		}
	}
}

// cancellable makes reading a file stoppable, so that a command that ends
// before its input does not leave a reader behind. Without a stop function it cannot be stopped.
func cancellable(r io.Reader) (io.Reader, func()) {
	f, ok := r.(*os.File)
	if !ok {
		return r, nil
	}
	cr, err := cancelreader.NewReader(f)
	if err != nil {
		return r, nil
	}
	return cr, func() { cr.Cancel() }
}

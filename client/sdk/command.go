package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"abxdash/client"
)

// DefaultTimeout is how long [Sandbox.Run] lets a command run.
const DefaultTimeout = 60 * time.Second

// DefaultMaxOutput is how many bytes of each stream a [Result] keeps.
const DefaultMaxOutput = 16 << 20

// RunOptions say how a command runs. The zero value is usable.
type RunOptions struct {
	// Timeout kills the command after that long. 0 is 60 s for Run and no limit
	// for Start; negative is no limit. It is not the lifetime of the sandbox and
	// not the request timeout.
	Timeout time.Duration
	Env     map[string]string
	// Dir is the working directory; "" is the home.
	Dir string
	// User is "" for the sandbox's own default.
	User string
	// Tag is a label shown in lists of processes.
	Tag string
	// Stdin is sent to the command, which then gets an end of input; nil is an
	// empty input. A Read that never returns outlives the command.
	Stdin io.Reader
	// OpenStdin keeps the input open for [Command.Write]; it excludes Stdin.
	OpenStdin bool
	// Stdout and Stderr get the output as it comes, instead of the Result. One
	// that blocks slows the command. An error of theirs ends the reading.
	Stdout, Stderr io.Writer
	// OnStdout and OnStderr are called with each piece, in the order it came.
	OnStdout, OnStderr func([]byte)
	// MaxOutput bounds what the Result keeps of each stream, in bytes; 0 is
	// [DefaultMaxOutput].
	MaxOutput int
	// PTY runs the command on a terminal of that size; all output is stdout.
	PTY *client.Size
}

// Result is a finished command.
type Result struct {
	// Stdout and Stderr are empty where RunOptions took the output elsewhere.
	Stdout, Stderr string
	// Truncated is set when there was more output than MaxOutput.
	Truncated bool
	Exit      client.Exit
	// Hint is a line for people where the command wrote nothing and the provider
	// is known to lose output, else "".
	Hint string
}

// Err is nil for an exit code of 0, else an error with code E3002.
func (r Result) Err() error {
	if r.Exit.OK() {
		return nil
	}
	return &client.Error{Op: "run command", Code: client.CodeRunExit, Message: r.Exit.String()}
}

// Run runs a command line and waits for its end. The line is run without a
// shell, unless it holds an unquoted pipe, redirect or `&&`, which make it
// `sh -c LINE` (client.CommandLine); a variable, a backtick or a glob needs an
// explicit `sh -c '…'`.
//
// A command that fails is no error, see [Result.Err]. One that was stopped by
// its timeout is E3001, with the output so far in the Result. When ctx ends,
// Run gives up and the command runs on until its timeout.
func (sb *Sandbox) Run(ctx context.Context, line string, opts RunOptions) (Result, error) {
	argv, err := client.CommandLine(line)
	if err != nil {
		return Result{}, err
	}
	return sb.RunArgs(ctx, argv, opts)
}

// RunArgs is [Sandbox.Run] for arguments that are taken as they are.
func (sb *Sandbox) RunArgs(ctx context.Context, argv []string, opts RunOptions) (Result, error) {
	byDefault := opts.Timeout == 0
	if byDefault {
		opts.Timeout = DefaultTimeout
	}
	c, err := sb.StartArgs(ctx, argv, opts)
	if err != nil {
		return Result{}, err
	}
	c.byDefault = byDefault
	defer func() { _ = c.Close() }()
	return c.Wait(ctx)
}

// Start starts a command line in the background, by the rule of [Sandbox.Run].
// The caller ends with Wait or Close.
func (sb *Sandbox) Start(ctx context.Context, line string, opts RunOptions) (*Command, error) {
	argv, err := client.CommandLine(line)
	if err != nil {
		return nil, err
	}
	return sb.StartArgs(ctx, argv, opts)
}

// StartArgs is [Sandbox.Start] for arguments that are taken as they are.
func (sb *Sandbox) StartArgs(ctx context.Context, argv []string, opts RunOptions) (*Command, error) {
	if opts.Stdin != nil && opts.OpenStdin {
		return nil, client.Usagef("start command", "Stdin and OpenStdin exclude each other")
	}
	opts.Timeout = max(opts.Timeout, 0)
	p, err := sb.p.Commands().Start(ctx, sb.id, client.Command{
		Argv: argv, Env: opts.Env, Dir: opts.Dir, User: opts.User, Tag: opts.Tag, Timeout: opts.Timeout,
		Stdin: opts.Stdin != nil || opts.OpenStdin, PTY: opts.PTY,
	})
	if err != nil {
		return nil, err
	}
	return sb.follow(ctx, p, opts), nil
}

// Attach joins a running command by its pid. Output made before is not
// replayed. Of opts only where the output goes counts.
func (sb *Sandbox) Attach(ctx context.Context, pid int, opts RunOptions) (*Command, error) {
	if err := sb.p.Capabilities().Missing(sb.p.Name(), client.CapReconnect); err != nil {
		return nil, err
	}
	p, err := sb.p.Commands().Attach(ctx, sb.id, pid)
	if err != nil {
		return nil, err
	}
	opts.Stdin = nil
	return sb.follow(ctx, p, opts), nil
}

// Processes lists the live commands that were started through the provider.
func (sb *Sandbox) Processes(ctx context.Context) ([]client.ProcessInfo, error) {
	return sb.p.Commands().Processes(ctx, sb.id)
}

// SendSignal sends SIGTERM (15) or SIGKILL (9), nothing else, to a command by
// its pid.
func (sb *Sandbox) SendSignal(ctx context.Context, pid int, s client.Signal) error {
	if err := checkSignal(s); err != nil {
		return err
	}
	p, err := sb.p.Commands().Attach(ctx, sb.id, pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return p.Signal(ctx, s)
}

func checkSignal(s client.Signal) error {
	if s != client.SIGTERM && s != client.SIGKILL {
		return client.Usagef("send signal", "only SIGTERM (15) and SIGKILL (9) can be sent, not %d", int(s))
	}
	return nil
}

// Command is a running command. One goroutine reads it, by Next, Read or Wait;
// the other methods may be called from anywhere.
type Command struct {
	sb        *Sandbox
	p         client.Process
	opts      RunOptions
	byDefault bool

	// seen is when the command last showed life, in Unix nanoseconds.
	seen atomic.Int64
	rest []byte

	mu   sync.Mutex
	gone error // why the guard gave up

	stop context.CancelFunc // ends the helpers
	done sync.WaitGroup
}

// follow starts the helpers of a command: the sender of its input, and the guard.
func (sb *Sandbox) follow(ctx context.Context, p client.Process, opts RunOptions) *Command {
	if opts.MaxOutput <= 0 {
		opts.MaxOutput = DefaultMaxOutput
	}
	c := &Command{sb: sb, p: p, opts: opts}
	c.seen.Store(time.Now().UnixNano())
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.done.Go(func() { c.guard(own) })
	if opts.Stdin != nil {
		// Not waited for: a Read of the caller's may never return.
		go c.feed(own, opts.Stdin)
	}
	return c
}

// feed sends input and then its end. A command that ends first is no error.
func (c *Command) feed(ctx context.Context, r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && c.p.Write(ctx, buf[:n]) != nil {
			return
		}
		if err != nil {
			// A broken source ends the input too: the command must not wait for more.
			_ = c.p.CloseStdin(ctx)
			return
		}
	}
}

// guard looks at the sandbox while the command is silent, so that one that has
// gone without a word ends the command within seconds.
func (c *Command) guard(ctx context.Context) {
	every := c.sb.opts.guard
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(time.Unix(0, c.seen.Load())) < every {
			continue
		}
		look, cancel := context.WithTimeout(ctx, max(every, time.Second))
		_, err := c.sb.p.Commands().Processes(look, c.sb.id)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, client.ErrNotFound):
			c.give(&client.Error{
				Op: "run command", Provider: c.sb.p.Name(), Code: client.CodeNotFound, Kind: client.ErrNotFound, Err: client.ErrStreamBroken,
				Message: "the sandbox has gone; the exit code is not known",
			})
			return
		case errors.Is(err, client.ErrUnavailable):
			if failed++; failed >= 3 {
				c.give(&client.Error{
					Op: "run command", Provider: c.sb.p.Name(), Code: client.CodeNetwork, Kind: client.ErrStreamBroken, Err: err,
				})
				return
			}
		default:
			failed = 0
		}
	}
}

// give ends the reading with an error.
func (c *Command) give(err error) {
	c.mu.Lock()
	c.gone = err
	c.mu.Unlock()
	_ = c.p.Close()
}

// PID is the process id inside the sandbox.
func (c *Command) PID() int { return c.p.PID() }

// Next returns the next piece of output, io.EOF once the exit is known
// (see Exit), or the error that broke the stream.
func (c *Command) Next() (client.Frame, error) {
	f, err := c.p.Next()
	c.seen.Store(time.Now().UnixNano())
	if err == nil {
		return f, nil
	}
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil && !errors.Is(err, io.EOF) {
		return f, c.gone
	}
	return f, err
}

// Read reads the output, both streams in the order they came. It returns io.EOF
// when the command has ended and its exit is known.
func (c *Command) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		f, err := c.Next()
		if err != nil {
			return 0, err
		}
		c.rest = f.Data
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Exit is how the command ended; it is valid after io.EOF.
func (c *Command) Exit() client.Exit { return c.p.Exit() }

// Wait reads the output to its end, into the places that the options name, else
// into the Result. When ctx ends it gives up, and the command runs on.
func (c *Command) Wait(ctx context.Context) (Result, error) {
	release := context.AfterFunc(ctx, func() {
		c.give(&client.Error{Op: "run command", Provider: c.sb.p.Name(), Code: client.CodeOf(ctx.Err()), Err: context.Cause(ctx), Message: "gave up waiting; the command may still run"})
	})
	defer release()
	out := sink{max: c.opts.MaxOutput, writer: c.opts.Stdout, call: c.opts.OnStdout}
	errs := sink{max: c.opts.MaxOutput, writer: c.opts.Stderr, call: c.opts.OnStderr}
	silent := true
	result := func() Result {
		r := Result{Stdout: out.kept.String(), Stderr: errs.kept.String(), Truncated: out.cut || errs.cut, Exit: c.p.Exit()}
		if silent {
			r.Hint = client.SilenceHint(c.sb.p)
		}
		return r
	}
	for {
		f, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return result(), c.timedOut()
		case err != nil:
			r := result()
			r.Exit = client.Exit{Code: -1}
			return r, err
		}
		silent = silent && len(f.Data) == 0
		to := &out
		if f.Stream == client.Stderr {
			to = &errs
		}
		if err := to.put(f.Data); err != nil {
			return result(), &client.Error{Op: "run command", Code: client.CodeRun, Err: err, Message: "the output could not be written here: " + client.OneLine(err.Error(), 200)}
		}
	}
}

// timedOut is the error of a command that its timeout stopped, else nil.
func (c *Command) timedOut() error {
	if !c.p.Exit().TimedOut {
		return nil
	}
	msg := fmt.Sprintf("timed out after %s", c.opts.Timeout)
	if c.byDefault {
		msg += ", the default; give a longer one to wait longer"
	}
	return &client.Error{Op: "run command", Provider: c.sb.p.Name(), Code: client.CodeRunTimeout, Message: msg, Err: context.DeadlineExceeded}
}

// sink is where one stream goes.
type sink struct {
	max    int
	writer io.Writer
	call   func([]byte)
	kept   bytes.Buffer
	cut    bool
}

func (s *sink) put(b []byte) error {
	if s.call != nil {
		s.call(b)
	}
	if s.writer != nil {
		_, err := s.writer.Write(b)
		return err
	}
	if s.call == nil {
		n := min(len(b), s.max-s.kept.Len())
		s.kept.Write(b[:n])
		s.cut = s.cut || n < len(b)
	}
	return nil
}

// Write sends input to a command started with OpenStdin, or to its terminal.
func (c *Command) Write(b []byte) (int, error) {
	if err := c.p.Write(context.Background(), b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseStdin sends the end of input.
func (c *Command) CloseStdin(ctx context.Context) error { return c.p.CloseStdin(ctx) }

// Resize changes the size of the command's terminal.
func (c *Command) Resize(ctx context.Context, s client.Size) error { return c.p.Resize(ctx, s) }

// SendSignal sends SIGTERM (15) or SIGKILL (9), nothing else.
func (c *Command) SendSignal(ctx context.Context, s client.Signal) error {
	if err := checkSignal(s); err != nil {
		return err
	}
	return c.p.Signal(ctx, s)
}

// Kill ends the command at once.
func (c *Command) Kill(ctx context.Context) error { return c.p.Signal(ctx, client.SIGKILL) }

// Close detaches: the command runs on. It may be called twice.
func (c *Command) Close() error {
	c.stop()
	err := c.p.Close()
	c.done.Wait()
	return err
}

// GetTerminal opens an interactive shell on a terminal of a size: read it for
// what the terminal shows, write it for what is typed. The caller closes it; a
// shell that is to end must be told `exit` or be killed.
func (sb *Sandbox) GetTerminal(ctx context.Context, size client.Size, opts RunOptions) (*Command, error) {
	if err := sb.p.Capabilities().Missing(sb.p.Name(), client.CapPTY); err != nil {
		return nil, err
	}
	shell := client.InteractiveShell(size)
	opts.PTY = shell.PTY
	env := shell.Env
	for k, v := range opts.Env {
		env[k] = v
	}
	opts.Env = env
	return sb.StartArgs(ctx, shell.Argv, opts)
}

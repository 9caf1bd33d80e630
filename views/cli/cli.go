package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// Exit codes of every command but exec and attach (product.md §4).
const (
	ExitOK       = 0
	ExitError    = 1
	ExitUsage    = 2
	ExitAuth     = 3
	ExitNotFound = 4
	ExitTimeout  = 5
	ExitQuota    = 6
	// ExitOwn is the code of exec and attach when they fail themselves.
	ExitOwn = 125
	// exitPipe is what a program that SIGPIPE ended reports.
	exitPipe = 128 + 13
)

// cli is one run of the program.
type cli struct {
	*App
	flags Flags
}

// Run runs the command line and returns the exit code.
func Run(ctx context.Context, app *App, args []string) int {
	if app.Now == nil {
		app.Now = time.Now
	}
	if app.Signals == nil {
		app.Signals = signals
	}
	c := &cli{App: app}
	root := c.root()
	// Nil would mean this process's own arguments to the library.
	root.SetArgs(append([]string{}, args...))
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	return c.finish(root.ExecuteContext(ctx))
}

// signals are those that end a command.
func signals() (<-chan os.Signal, func()) {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return ch, func() { signal.Stop(ch) }
}

// exitError ends the program with a code of its own; err may be nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// own makes an error one of exec or attach themselves.
func own(err error) error {
	var e *exitError
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &exitError{ExitOwn, err}
}

// finish words the error and returns the exit code.
func (c *cli) finish(err error) int {
	if err == nil {
		return ExitOK
	}
	if brokenPipe(err) {
		return exitPipe
	}
	var e *exitError
	if errors.As(err, &e) {
		if e.err != nil {
			c.complain(e.err)
		}
		return e.code
	}
	c.complain(err)
	return exitCode(err)
}

// complain prints one line, and one with a hint if there is any.
func (c *cli) complain(err error) {
	fmt.Fprintf(c.Err, "abxdash: %s\n", present.ErrorLine(err))
	if h := present.Hint(err); h != "" {
		fmt.Fprintf(c.Err, "hint: %s\n", h)
	}
}

// brokenPipe reports whether err is only that nobody reads our output any more.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// exitCode is the code for an error (product.md §4).
func exitCode(err error) int {
	code := client.CodeOf(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), code == client.CodeRunTimeout:
		return ExitTimeout
	case errors.Is(err, client.ErrUnauthorized), strings.HasPrefix(string(code), "E1"):
		return ExitAuth
	case errors.Is(err, client.ErrNotFound):
		return ExitNotFound
	case errors.Is(err, client.ErrRateLimited), code == client.CodeQuota:
		return ExitQuota
	case code == client.CodeUsage, code == client.CodeTerminal, code == client.CodeAmbiguous:
		return ExitUsage
	default:
		return ExitError
	}
}

// root builds the command tree.
func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "abxdash",
		Short: "A terminal dashboard for Agent Sandbox",
		Long: `abxdash lists live sandboxes over every provider, streams command output,
browses files, attaches shells and kills strays safely. Without an account it
gives real local sandboxes. Without a command it opens the dashboard.

SANDBOX may be provider/id, an id, a unique prefix of one, or a name.

Exit codes: 0 ok, 1 error, 2 usage, 3 authentication, 4 not found, 5 timeout,
6 quota or rate. exec and attach give the command's own code (128+n for signal
n); when they fail themselves it is 125.`,
		Args:              rootArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: c.prepare,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.flags.Plain {
				return c.plain(cmd.Context())
			}
			return c.dashboard(cmd.Context(), c.Dashboard)
		},
	}
	root.SuggestionsMinimumDistance = 2
	f := root.PersistentFlags()
	f.StringVar(&c.flags.Provider, "provider", "", "only this provider; for create, the one to use")
	f.BoolVar(&c.flags.JSON, "json", false, "print JSON")
	f.BoolVarP(&c.flags.Quiet, "quiet", "q", false, "print less: only ids, or nothing")
	f.BoolVarP(&c.flags.Yes, "yes", "y", false, "do not ask")
	f.DurationVar(&c.flags.RequestTimeout, "request-timeout", 0, "limit for one call to a provider, such as 30s")
	f.BoolVar(&c.flags.NoColor, "no-color", false, "no colours")
	f.BoolVar(&c.flags.ReadOnly, "read-only", false, "refuse everything that changes something")
	f.BoolVar(&c.flags.PartialOK, "partial-ok", false, "succeed although some providers failed")
	f.StringVar(&c.flags.Lang, "lang", "", "language of the dashboard: en or zh; else the locale's")
	f.StringVar(&c.flags.LogLevel, "log-level", "", "level of the log file: debug, info, warn, error")
	root.Flags().BoolVar(&c.flags.NoTour, "no-tour", false, "leave out the line for newcomers")
	root.Flags().BoolVar(&c.flags.Plain, "plain", false, "append lines only, for screen readers")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := "see: " + cmd.CommandPath() + " --help"
		if strings.HasPrefix(cmd.CommandPath(), "abxdash exec") {
			hint = "put -- before the command: abxdash exec SANDBOX -- COMMAND ARGS…"
		}
		return &client.Error{Op: "read the flags", Code: client.CodeUsage, Message: client.OneLine(err.Error(), 200), Hint: hint}
	})
	root.AddCommand(
		c.tryCmd(), c.lsCmd(), c.createCmd(), c.infoCmd(), c.execCmd(), c.attachCmd(), c.recordCmd(), c.cpCmd(), c.killCmd(),
		c.templateCmd(), c.localCmd(), c.doctorCmd(), c.versionCmd(),
	)
	root.AddCommand(c.programCmd(), c.codeCmd(), c.filesCmd(), c.psCmd(), c.signalCmd())
	root.AddCommand(c.watchCmd())
	root.AddCommand(c.sandboxCmds()...)
	if c.Providers != nil {
		root.AddCommand(c.providerCmd())
	}
	if c.Demo != nil {
		root.AddCommand(c.demoCmd())
	}
	if c.Settings != nil {
		root.AddCommand(c.configCmd())
	}
	root.AddCommand(c.keysCmd(), c.mcpCmd())
	c.completions(root)
	return root
}

func rootArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := client.Usagef("run command", "there is no command %q", client.OneLine(args[0], 40))
	e.Hint = "see: abxdash --help"
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		e.Hint = "did you mean: abxdash " + likeliest(args[0], s)
	}
	return e
}

// likeliest is the first suggestion that begins like what was typed, else the first.
func likeliest(typed string, suggestions []string) string {
	for _, s := range suggestions {
		if strings.HasPrefix(typed, s) || strings.HasPrefix(s, typed) {
			return s
		}
	}
	return suggestions[0]
}

// prepare checks the global flags before any command runs.
func (c *cli) prepare(cmd *cobra.Command, _ []string) error {
	if c.flags.RequestTimeout < 0 {
		return client.Usagef("read the flags", "--request-timeout must not be negative")
	}
	if c.Defaults != nil {
		c.Defaults(&c.flags)
	}
	if c.LogLevel == nil || cmd.Name() == cobra.ShellCompRequestCmd {
		return nil
	}
	return c.LogLevel(c.flags.LogLevel)
}

// argCount checks how many arguments a command got.
func argCount(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		e := client.Usagef(cmd.Name(), "%s", want)
		e.Hint = "usage: " + cmd.UseLine()
		return e
	}
}

// dashboard runs a dashboard if there is a terminal for it (TUI-02).
func (c *cli) dashboard(ctx context.Context, run func(context.Context, Flags) error) error {
	if !c.IsTerminal(c.In) || !c.IsTerminal(c.Out) {
		return &client.Error{
			Op: "open the dashboard", Code: client.CodeTerminal,
			Message: "it needs a terminal; without one use `abxdash ls`, `abxdash exec`, `abxdash try`",
		}
	}
	return run(ctx, c.flags)
}

// run is a command that a signal ends.
func (c *cli) run(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancelCause(cmd.Context())
		defer cancel(nil)
		ch, stop := c.Signals()
		defer stop()
		done, waited := make(chan struct{}), make(chan struct{})
		defer func() { close(done); <-waited }() // a signal after the end is the next one's
		go func() {
			defer close(waited)
			select {
			case sig := <-ch:
				cancel(signalError{sig})
			case <-done:
			}
		}()
		err := f(ctx, args)
		var sig signalError
		if err != nil && errors.As(context.Cause(ctx), &sig) {
			return &exitError{code: sig.code()}
		}
		return err
	}
}

// Signalled is the error of a dashboard that a signal ended: the exit code is
// 128+n and nothing is printed.
func Signalled(sig os.Signal) error { return &exitError{code: signalError{sig}.code()} }

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (s signalError) Error() string { return s.sig.String() }

func (s signalError) code() int {
	if n, ok := s.sig.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return ExitError
}

// open makes the session and prints its notes.
func (c *cli) open(ctx context.Context) (*Session, error) {
	s, err := c.Open(ctx, c.flags)
	if err != nil {
		return nil, err
	}
	if !c.flags.Quiet {
		for _, n := range s.Notes {
			fmt.Fprintf(c.Err, "note: %s\n", n)
		}
	}
	if s.Close == nil {
		s.Close = func() {}
	}
	return s, nil
}

// call bounds one call to a provider by --request-timeout.
func (c *cli) call(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.flags.RequestTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.flags.RequestTimeout)
}

// find resolves a name and returns the sandbox with its provider.
func (c *cli) find(ctx context.Context, s *Session, text string) (client.Sandbox, client.Provider, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	sb, err := present.Resolve(ctx, s.Providers, text)
	if err != nil {
		return sb, nil, err
	}
	return sb, s.Providers.Get(sb.Provider), nil
}

// writable refuses a command that changes something in read-only mode.
func (c *cli) writable(op string) error {
	if !c.flags.ReadOnly {
		return nil
	}
	return &client.Error{Op: op, Code: client.CodeReadOnly, Message: "refused by --read-only"}
}

// say prints a remark for people on standard error.
func (c *cli) say(format string, args ...any) {
	if !c.flags.Quiet {
		fmt.Fprintf(c.Err, format+"\n", args...)
	}
}

package cli

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/ui/attach"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// expiryEvery is how often the remaining lifetime in the title is read again.
const expiryEvery = 30 * time.Second

func (c *cli) attachCmd() *cobra.Command {
	var pid int
	cmd := &cobra.Command{
		Use: "attach SANDBOX [-- COMMAND ARGS…]", Aliases: []string{"connect"}, Short: "Open a shell in a sandbox on this terminal",
		Long: `attach opens a shell (or the command) in a sandbox on this terminal.
ctrl+] d detaches and leaves it running; --pid comes back to it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			return own(argCount(1, -1, "attach needs a sandbox")(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if pid < 0 || pid > 0 && len(args) > 1 {
				return own(client.Usagef("attach", "give a positive --pid or a command, not both"))
			}
			return own(c.attach(cmd.Context(), args[0], args[1:], pid))
		},
	}
	cmd.Flags().IntVar(&pid, "pid", 0, "attach to this running process instead of a new shell")
	return cmd
}

func (c *cli) attach(ctx context.Context, name string, argv []string, pid int) error {
	if err := c.writable("attach"); err != nil {
		return err
	}
	in, inOK := c.In.(*os.File)
	out, outOK := c.Out.(*os.File)
	if !inOK || !outOK || !c.IsTerminal(c.In) || !c.IsTerminal(c.Out) {
		return &client.Error{Op: "attach", Code: client.CodeTerminal, Message: "it needs a terminal; without one use `abxdash exec`"}
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	sb, p, err := c.find(ctx, s, name)
	if err != nil {
		return err
	}
	if err := unsupported(p, client.CapPTY); err != nil {
		return err
	}
	size := terminalSize(out)
	proc, err := c.startShell(ctx, p, sb, argv, pid, size)
	if err != nil {
		return err
	}
	live := term.NewSession(stream{proc}, size.Cols, size.Rows, term.SessionOptions{})
	defer func() { _ = live.Close() }() // detaching has no failure to act on
	watch := newWatch(ctx, p, sb, c.Now)
	defer watch.stop()
	res := attach.Run(ctx, live, attach.Options{In: in, Out: out, Status: watch.status})
	return c.attachEnded(res, live, proc, sb)
}

func (c *cli) startShell(ctx context.Context, p client.Provider, sb client.Sandbox, argv []string, pid int, size client.Size) (client.Process, error) {
	callCtx, cancel := c.call(ctx)
	defer cancel()
	if pid > 0 {
		return p.Commands().Attach(callCtx, sb.ID, pid)
	}
	cmd := client.InteractiveShell(size)
	if len(argv) > 0 {
		cmd.Argv = argv
	}
	return p.Commands().Start(callCtx, sb.ID, cmd)
}

func terminalSize(f *os.File) client.Size {
	cols, rows, err := xterm.GetSize(f.Fd())
	if err != nil || cols <= 0 || rows <= 0 {
		return client.Size{Cols: 80, Rows: 24}
	}
	return client.Size{Cols: cols, Rows: rows}
}

// attachEnded words why the terminal is the user's again.
func (c *cli) attachEnded(res attach.Result, live *term.Session, proc client.Process, sb client.Sandbox) error {
	again := fmt.Sprintf("abxdash attach %s --pid %d", present.Clean(present.KeyOf(sb).String()), proc.PID())
	switch res.Reason {
	case attach.Ended:
		if end := live.End(); end != nil && end.Err != nil {
			return end.Err
		}
		if code := proc.Exit().ShellCode(); code != 0 {
			return &exitError{code: code}
		}
		return nil
	case attach.Detached:
		c.say("detached; it goes on running. Come back with: %s", again)
		return nil
	case attach.Signalled, attach.Cancelled:
		c.say("left by a signal; it goes on running. Come back with: %s", again)
		if n, ok := res.Signal.(syscall.Signal); ok {
			return &exitError{code: 128 + int(n)}
		}
		return &exitError{code: ExitOwn}
	default:
		return &client.Error{Op: "attach", Code: client.CodeTerminal, Err: res.Err}
	}
}

// stream makes a process what a terminal session reads.
type stream struct{ proc client.Process }

func (s stream) Next() ([]byte, error) {
	f, err := s.proc.Next()
	return f.Data, err
}

func (s stream) Write(ctx context.Context, p []byte) error { return s.proc.Write(ctx, p) }

func (s stream) Resize(ctx context.Context, cols, rows int) error {
	return s.proc.Resize(ctx, client.Size{Cols: cols, Rows: rows})
}

func (s stream) Close() error { return s.proc.Close() }

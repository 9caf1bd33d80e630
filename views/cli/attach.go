package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/ui/attach"
	"abxdash/ui/record"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// attachFlags are the flags of attach.
type attachFlags struct {
	pid   int
	fresh bool
	shell string
	// record is a file to record into.
	record string
}

func (c *cli) attachCmd() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use: "attach SANDBOX [-- COMMAND ARGS…]", Aliases: []string{"connect"}, Short: "Open a shell in a sandbox on this terminal",
		Long: `attach opens a shell (or the command) in a sandbox on this terminal. A shell
that you left running there is joined again; --new starts another one, --shell
joins or starts the one of that name.

ctrl+] d detaches and leaves it running. After ctrl+] also: n, p next and
previous shell, c a new one, t extends the remaining time, twice sends ctrl+].`,
		Args: func(cmd *cobra.Command, args []string) error {
			return own(argCount(1, -1, "attach needs a sandbox")(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			given := 0
			for _, on := range []bool{f.pid != 0, f.fresh, f.shell != "", len(args) > 1} {
				if on {
					given++
				}
			}
			if f.pid < 0 || given > 1 {
				return own(client.Usagef("attach", "give one of a positive --pid, --new, --shell, or a command"))
			}
			return own(c.attach(cmd.Context(), args[0], args[1:], f))
		},
	}
	cmd.Flags().IntVar(&f.pid, "pid", 0, "attach to this running process instead of a shell")
	cmd.Flags().BoolVar(&f.fresh, "new", false, "start another shell even if one is running")
	cmd.Flags().StringVar(&f.shell, "shell", "", "join the shell of this name, or start it")
	cmd.Flags().StringVar(&f.record, "record", "", "record into this file (asciicast v2); secrets of the environment are masked")
	return cmd
}

// attacher is one run of attach.
type attacher struct {
	c        *cli
	provider client.Provider
	sb       client.Sandbox
	in, out  *os.File
	leader   attach.Leader
	expiry   *present.Expiry
	file     *record.File
	// proc and live are what is on the terminal now.
	proc client.Process
	live *term.Session
	// shell is its name, "" for a command.
	shell string
}

func (c *cli) attach(ctx context.Context, name string, argv []string, f attachFlags) error {
	if err := c.writable("attach"); err != nil {
		return err
	}
	a := &attacher{c: c, leader: attach.DefaultLeader()}
	var inOK, outOK bool
	a.in, inOK = c.In.(*os.File)
	a.out, outOK = c.Out.(*os.File)
	if !inOK || !outOK || !c.IsTerminal(c.In) || !c.IsTerminal(c.Out) {
		return &client.Error{Op: "attach", Code: client.CodeTerminal, Message: "it needs a terminal; without one use `abxdash exec`"}
	}
	if c.Leader != nil {
		if l, err := attach.ParseLeader(c.Leader()); err == nil {
			a.leader = l
		}
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if a.sb, a.provider, err = c.find(ctx, s, name); err != nil {
		return err
	}
	if err := unsupported(a.provider, client.CapPTY); err != nil {
		return err
	}
	if a.proc, err = a.begin(ctx, argv, f); err != nil {
		return err
	}
	if err := a.record(ctx, f.record); err != nil {
		_ = a.proc.Close() // detaching has no failure to act on
		return err
	}
	a.expiry = present.FollowExpiry(ctx, a.provider, a.sb, c.Now, "")
	defer a.expiry.Stop()
	err = a.run(ctx)
	if a.file != nil {
		if e := a.file.Close(); e != nil {
			c.complain(e)
		} else {
			c.say("recorded %s", present.Clean(a.file.Path()))
		}
	}
	return err
}

// run shows one shell after the other until they are left.
func (a *attacher) run(ctx context.Context) error {
	for {
		size := terminalSize(a.out)
		o := term.SessionOptions{}
		if a.file != nil {
			o.OnOutput, o.OnResize = a.file.Output, a.file.Resize
		}
		a.live = term.NewSession(stream{a.proc}, size.Cols, size.Rows, o)
		res := attach.Run(ctx, a.live, attach.Options{
			In: a.in, Out: a.out, Leader: a.leader, Keys: "npc", Status: a.status, Alert: a.expiry.Alert,
			Handle: func(key rune) bool {
				if key == 't' {
					a.expiry.Extend()
				}
				return key == 't'
			},
		})
		err := a.ended(res)
		if res.Reason != attach.Detached || res.Key == 'd' {
			_ = a.live.Close() // detaching has no failure to act on
			return err
		}
		next, err := a.other(ctx, res.Key)
		_ = a.live.Close()
		if err != nil {
			return err
		}
		a.proc = next
	}
}

func (a *attacher) status() string {
	text := a.expiry.Status()
	if a.shell != "" {
		text = "[" + present.Clean(a.shell) + "] " + text
	}
	if a.file == nil {
		return text
	}
	d := a.file.Elapsed().Truncate(time.Second)
	text = fmt.Sprintf("● rec %02d:%02d %s", int(d.Minutes()), int(d.Seconds())%60, text)
	if a.file.Err() != nil {
		text = "RECORDING STOPPED " + text
	}
	return text
}

// begin finds or starts what is asked for.
func (a *attacher) begin(ctx context.Context, argv []string, f attachFlags) (client.Process, error) {
	switch {
	case f.pid > 0:
		return a.join(ctx, present.FoundShell{PID: f.pid})
	case len(argv) > 0:
		return a.start(ctx, argv, "")
	case f.fresh:
		return a.start(ctx, nil, "")
	}
	own := a.shells(ctx)
	for _, s := range slices.Backward(own) {
		if f.shell != "" && s.Name != f.shell {
			continue
		}
		proc, err := a.join(ctx, s)
		if errors.Is(err, client.ErrNotFound) {
			continue // it has ended meanwhile
		}
		if err == nil {
			a.c.say("back in shell %s (pid %d); --new starts another one", s.Name, s.PID)
		}
		return proc, err
	}
	return a.start(ctx, nil, f.shell)
}

// shells are those of this user that run in the sandbox; none where that cannot be known.
func (a *attacher) shells(ctx context.Context) []present.FoundShell {
	if !a.provider.Capabilities().Has(client.CapReconnect) {
		return nil
	}
	ctx, cancel := a.c.call(ctx)
	defer cancel()
	ps, err := a.provider.Commands().Processes(ctx, a.sb.ID)
	if err != nil {
		return nil // starting a shell says what is wrong
	}
	return present.OwnShells(a.c.Owner, ps)
}

func (a *attacher) join(ctx context.Context, s present.FoundShell) (client.Process, error) {
	ctx, cancel := a.c.call(ctx)
	defer cancel()
	proc, err := a.provider.Commands().Attach(ctx, a.sb.ID, s.PID)
	if err != nil {
		return nil, err
	}
	a.shell = s.Name
	// A program draws itself again when its size changes; what it wrote before is not sent again.
	size := terminalSize(a.out)
	_ = proc.Resize(ctx, client.Size{Cols: size.Cols, Rows: max(size.Rows-1, 1)})
	return proc, nil
}

// start starts a command, or a shell under a name, the first free number if it is "".
func (a *attacher) start(ctx context.Context, argv []string, name string) (client.Process, error) {
	if name == "" && len(argv) == 0 {
		own := a.shells(ctx)
		for n := 1; name == ""; n++ {
			if text := strconv.Itoa(n); !slices.ContainsFunc(own, func(s present.FoundShell) bool { return s.Name == text }) {
				name = text
			}
		}
	}
	cmd := present.ShellCommand(terminalSize(a.out), present.ShellTag(a.c.Owner, name))
	if len(argv) > 0 {
		cmd = client.InteractiveShell(terminalSize(a.out))
		cmd.Argv = argv
	}
	a.shell = name
	ctx, cancel := a.c.call(ctx)
	defer cancel()
	return a.provider.Commands().Start(ctx, a.sb.ID, cmd)
}

// other is the shell that a key asks for: the next, the previous, or a new one.
func (a *attacher) other(ctx context.Context, key rune) (client.Process, error) {
	own := a.shells(ctx)
	if key == 'c' || len(own) == 0 {
		return a.start(ctx, nil, "")
	}
	at := slices.IndexFunc(own, func(s present.FoundShell) bool { return s.PID == a.proc.PID() })
	step := 1
	if key == 'p' {
		step = -1
	}
	return a.join(ctx, own[((at+step)%len(own)+len(own))%len(own)])
}

// record begins a recording before anything is shown.
func (a *attacher) record(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	secrets, err := present.EnvSecrets(ctx, a.provider, a.sb.ID)
	if err != nil {
		return fmt.Errorf("not recording, because the secrets to mask cannot be read: %w", err)
	}
	if filepath.Ext(path) == "" {
		path += record.Extension
	}
	size := terminalSize(a.out)
	a.file, err = record.Create(path, record.Header{Width: size.Cols, Height: size.Rows, Title: present.Label(a.sb)}, record.Options{Secrets: secrets})
	return err
}

func terminalSize(f *os.File) client.Size {
	cols, rows, err := xterm.GetSize(f.Fd())
	if err != nil || cols <= 0 || rows <= 0 {
		return client.Size{Cols: 80, Rows: 24}
	}
	return client.Size{Cols: cols, Rows: rows}
}

// ended words why the terminal is the user's again.
func (a *attacher) ended(res attach.Result) error {
	again := fmt.Sprintf("abxdash attach %s --pid %d", present.Clean(present.KeyOf(a.sb).String()), a.proc.PID())
	switch res.Reason {
	case attach.Ended:
		if end := a.live.End(); end != nil && end.Err != nil {
			return end.Err
		}
		if code := a.proc.Exit().ShellCode(); code != 0 {
			return &exitError{code: code}
		}
		return nil
	case attach.Detached:
		if res.Key == 'd' {
			a.c.say("detached; it goes on running. Come back with: %s", again)
		}
		return nil
	case attach.Signalled, attach.Cancelled:
		a.c.say("left by a signal; it goes on running. Come back with: %s", again)
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

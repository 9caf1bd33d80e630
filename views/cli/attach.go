package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui/attach"
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
previous shell, c a new one, t extends the remaining time, r records (R what is
typed too), [ scrolls back, searches and copies, ] pastes, ? lists the keys,
twice sends ctrl+].`,
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
	keymap   *keymap.Map
	keys     attach.SecondKeys
	expiry   *present.Expiry
	tape     *tape
	// shells are those that were shown, and at is the one that is shown now.
	shells []*attached
	at     *attached
	calls  chan func() *term.Session
	// under counts what keys have under way.
	under sync.WaitGroup
	// note is the last thing to tell in the title, and noteAt when it was told.
	note   string
	noteAt time.Time
	// clip is what was copied last.
	clip string
}

// attached is one shell with its terminal.
type attached struct {
	proc client.Process
	live *term.Session
	// name is the shell's, "" for a command.
	name string
}

func (c *cli) attach(ctx context.Context, name string, argv []string, f attachFlags) error {
	if err := c.writable("attach"); err != nil {
		return err
	}
	a := &attacher{c: c, keymap: keymap.Default(), tape: &tape{}, calls: make(chan func() *term.Session, maxCalls)}
	var inOK, outOK bool
	a.in, inOK = c.In.(*os.File)
	a.out, outOK = c.Out.(*os.File)
	if !inOK || !outOK || !c.IsTerminal(c.In) || !c.IsTerminal(c.Out) {
		return &client.Error{Op: "attach", Code: client.CodeTerminal, Message: "it needs a terminal; without one use `abxdash exec`"}
	}
	if c.Keymap != nil {
		a.keymap = c.Keymap()
	}
	var err error
	if a.keys, err = attach.KeysOf(a.keymap); err != nil {
		return &client.Error{Op: "attach", Code: client.CodeConfig, Err: err}
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
	first, err := a.begin(ctx, argv, f)
	if err != nil {
		return err
	}
	if f.record != "" {
		if err := a.record(ctx, f.record, false); err != nil {
			_ = first.proc.Close() // detaching has no failure to act on
			return err
		}
	}
	a.expiry = present.FollowExpiry(ctx, a.provider, a.sb, c.Now, "")
	defer a.expiry.Stop()
	err = a.run(ctx, first)
	if path, e := a.tape.stop(); e != nil {
		c.complain(e)
	} else if path != "" {
		c.say("recorded %s", present.Clean(path))
	}
	return err
}

// run shows shells until they are left.
func (a *attacher) run(ctx context.Context, first *attached) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		a.under.Wait()
		for len(a.calls) > 0 {
			(<-a.calls)() // a shell that came too late is closed with the others
		}
		for _, x := range a.shells {
			_ = x.live.Close() // detaching has no failure to act on
		}
	}()
	a.open(first)
	for {
		res := attach.Run(ctx, a.at.live, attach.Options{
			In: a.in, Out: a.out, Leader: a.keys.Leader, Detach: a.keys.Detach, Keys: a.keys.For(leavesAttach), Hint: a.keys.Hint(a.keymap, inAttach),
			Status: a.status, Alert: a.expiry.Alert, Handle: func(key rune) attach.Verdict { return a.key(ctx, key) }, Calls: a.calls,
		})
		if res.Reason != attach.Detached || res.Key == a.keys.Detach {
			return a.ended(res)
		}
		if err := a.scrollBack(ctx, a.keys.Actions[res.Key] == keymap.ShellHelp); err != nil {
			return err
		}
	}
}

// open gives a process its terminal and makes it the one that is shown.
func (a *attacher) open(x *attached) {
	size, own := terminalSize(a.out), a.tape.of()
	x.live = term.NewSession(stream{x.proc}, size.Cols, size.Rows, term.SessionOptions{OnOutput: own.output, OnInput: own.input, OnResize: own.resize})
	own.is(x.live)
	a.shells = append(a.shells, x)
	a.show(x)
}

// show makes x the one that is shown, and recorded.
func (a *attacher) show(x *attached) {
	a.at = x
	a.tape.show(x.live)
}

func (a *attacher) status() string {
	text := a.expiry.Status()
	if a.at.name != "" {
		text = "[" + present.Clean(a.at.name) + "] " + text
	}
	if mark := a.tape.mark(); mark != "" {
		text = mark + " " + text
	}
	if a.note != "" && a.c.Now().Sub(a.noteAt) < noteTime {
		text += " (" + a.note + ")"
	}
	return text
}

// begin finds or starts what is asked for.
func (a *attacher) begin(ctx context.Context, argv []string, f attachFlags) (*attached, error) {
	switch {
	case f.pid > 0:
		return a.join(ctx, present.FoundShell{PID: f.pid})
	case len(argv) > 0:
		return a.start(ctx, argv, "")
	case f.fresh:
		return a.start(ctx, nil, "")
	}
	own := a.found(ctx)
	for _, s := range slices.Backward(own) {
		if f.shell != "" && s.Name != f.shell {
			continue
		}
		x, err := a.join(ctx, s)
		if errors.Is(err, client.ErrNotFound) {
			continue // it has ended meanwhile
		}
		if err == nil {
			a.c.say("back in shell %s (pid %d); --new starts another one", s.Name, s.PID)
		}
		return x, err
	}
	return a.start(ctx, nil, f.shell)
}

// found are those of this user that run in the sandbox; none where that cannot be known.
func (a *attacher) found(ctx context.Context) []present.FoundShell {
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

func (a *attacher) join(ctx context.Context, s present.FoundShell) (*attached, error) {
	ctx, cancel := a.c.call(ctx)
	defer cancel()
	proc, err := a.provider.Commands().Attach(ctx, a.sb.ID, s.PID)
	if err != nil {
		return nil, err
	}
	// A program draws itself again when its size changes; what it wrote before is not sent again.
	size := terminalSize(a.out)
	_ = proc.Resize(ctx, client.Size{Cols: size.Cols, Rows: max(size.Rows-1, 1)})
	return &attached{proc: proc, name: s.Name}, nil
}

// start starts a command, or a shell under a name, the first free number if it is "".
func (a *attacher) start(ctx context.Context, argv []string, name string) (*attached, error) {
	if name == "" && len(argv) == 0 {
		own := a.found(ctx)
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
	ctx, cancel := a.c.call(ctx)
	defer cancel()
	proc, err := a.provider.Commands().Start(ctx, a.sb.ID, cmd)
	if err != nil {
		return nil, err
	}
	return &attached{proc: proc, name: name}, nil
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
	again := fmt.Sprintf("abxdash attach %s --pid %d", present.Clean(present.KeyOf(a.sb).String()), a.at.proc.PID())
	switch res.Reason {
	case attach.Ended:
		if end := a.at.live.End(); end != nil && end.Err != nil {
			return end.Err
		}
		if code := a.at.proc.Exit().ShellCode(); code != 0 {
			return &exitError{code: code}
		}
		return nil
	case attach.Detached:
		if res.Key == a.keys.Detach {
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

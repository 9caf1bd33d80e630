package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// Commands starts and finds processes inside a sandbox.
type Commands interface {
	// Start runs c and returns once the sandbox has said that it started.
	// Cancelling ctx detaches; it never kills the remote process (use
	// Process.Signal). A missing working directory or user is an error here.
	Start(ctx context.Context, id ID, c Command) (Process, error)
	// Attach joins a process that is already running, by pid. Output made
	// before the call is not replayed.
	Attach(ctx context.Context, id ID, pid int) (Process, error)
	// Processes lists live processes that were started through this API.
	Processes(ctx context.Context, id ID) ([]ProcessInfo, error)
}

// Command describes a process to start. Argv[0] is looked up on the sandbox's PATH; no shell is involved.
type Command struct {
	Argv []string
	Env  map[string]string
	// Dir is the working directory; "" is the user's home.
	Dir string
	// User is "" for the sandbox's default user.
	User string
	// Timeout kills the remote process after that long; 0 means no limit.
	Timeout time.Duration
	// Stdin keeps standard input open for Process.Write; otherwise it is /dev/null.
	Stdin bool
	// PTY, when set, runs the command on a terminal of that size; output is then one stream.
	PTY *Size
	// Tag is a free label shown in lists.
	Tag string
}

// ShellCommand is what a person types into a command line: it runs in the
// sandbox's login shell (bash, else sh).
func ShellCommand(line string) Command {
	return Command{Argv: []string{"/bin/sh", "-c", `if command -v bash >/dev/null 2>&1; then exec bash -lc "$1"; else exec sh -lc "$1"; fi`, "sh", line}}
}

// InteractiveShell is the PTY command of an attached shell: `bash -i -l`, else
// `sh -i -l` (e2b-protocol §14). TERM is xterm-256color and the locale C.UTF-8;
// where the sandbox knows them not, it gets the nearest that it has.
func InteractiveShell(size Size) Command {
	return Command{
		Argv: []string{"/bin/sh", "-c", interactiveShell},
		Env:  map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
		PTY:  &size,
	}
}

// interactiveShell looks for the description of the terminal in the usual
// folders, under a letter or under its hexadecimal code. A sandbox without any
// keeps TERM, because programs with descriptions of their own know it. Without
// the command locale (musl, busybox) every locale is UTF-8.
const interactiveShell = `known() {
  for d in "$HOME/.terminfo" /etc/terminfo /lib/terminfo /usr/share/terminfo /usr/lib/terminfo /usr/local/share/terminfo; do
    [ -e "$d/$1/$2" ] && return 0
    [ -e "$d/$3/$2" ] && return 0
  done
  return 1
}
if ! known x xterm-256color 78; then
  if known x xterm-color 78; then TERM=xterm-color
  elif known x xterm 78; then TERM=xterm
  elif known s screen 73; then TERM=screen
  elif known l linux 6c; then TERM=linux
  elif known v vt100 76; then TERM=vt100
  fi
fi
if command -v locale >/dev/null 2>&1; then
  have=; any=
  for l in $(locale -a 2>/dev/null); do
    case $l in
      C.utf8|C.UTF-8) have=$l ;;
      *.utf8|*.UTF-8) any=${any:-$l} ;;
    esac
  done
  if [ -z "$have" ]; then
    if [ -n "$any" ]; then LANG=$any LC_ALL=$any; else LANG=C; unset LC_ALL; fi
  fi
fi
export TERM LANG
if command -v bash >/dev/null 2>&1; then exec bash -i -l; else exec sh -i -l; fi`

// Size is a terminal size in cells.
type Size struct{ Cols, Rows int }

// StreamKind says where a frame of output came from.
type StreamKind uint8

// Output streams.
const (
	Stdout StreamKind = iota + 1
	Stderr
	Terminal
)

// Frame is one chunk of output. Borders are arbitrary and may split a rune.
// Data belongs to the receiver.
type Frame struct {
	Stream StreamKind
	Data   []byte
}

// Signal is the only two signals sandboxes accept (e2b-protocol §9.1).
type Signal int

// Signals.
const (
	SIGKILL Signal = 9
	SIGTERM Signal = 15
)

// Process is one running command. Exactly one goroutine reads it with Next;
// all other methods may be called at any time from anywhere.
type Process interface {
	// PID is the process id inside the sandbox.
	PID() int
	// Next returns the next chunk of output. After the last one it returns
	// io.EOF if the process ended and its exit is known, else the error that
	// broke the stream (see ErrStreamBroken). Not reading slows the sender.
	Next() (Frame, error)
	// Write sends standard input, or terminal input for a PTY. It splits large writes itself.
	Write(ctx context.Context, p []byte) error
	// CloseStdin sends end of input. On a PTY it sends byte 0x04.
	CloseStdin(ctx context.Context) error
	Resize(ctx context.Context, s Size) error
	Signal(ctx context.Context, s Signal) error
	// Exit is valid after Next returned io.EOF.
	Exit() Exit
	// Close detaches. The remote process goes on. It is safe to call twice and unblocks Next.
	Close() error
}

// Exit is how a process ended.
type Exit struct {
	// Code is the exit code, or -1 when a signal ended the process.
	Code int
	// Signal is the signal number that ended it, 0 if none or unknown.
	Signal int
	// Status is the provider's text, such as "exit status 3" or "signal: killed".
	Status string
	// TimedOut is set when Command.Timeout ended it.
	TimedOut bool
}

// ShellCode is the exit code a shell would report: 128+n for signals.
func (e Exit) ShellCode() int {
	if e.Signal > 0 {
		return 128 + e.Signal
	}
	if e.Code < 0 {
		return 255
	}
	return e.Code
}

// OK reports success: exit code 0 without a signal or time-out.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == 0 && !e.TimedOut }

// String words the exit for people, e.g. "exit 3" or "killed (SIGKILL), possibly out of memory".
func (e Exit) String() string {
	switch {
	case e.TimedOut:
		return "timed out"
	case e.Signal == int(syscall.SIGKILL):
		return "killed (SIGKILL), possibly out of memory"
	case e.Signal == int(syscall.SIGTERM):
		return "ended (SIGTERM)"
	case e.Signal > 0:
		return fmt.Sprintf("ended by signal %d", e.Signal)
	case e.Code < 0 && e.Status != "":
		return e.Status
	default:
		return fmt.Sprintf("exit %d", e.Code)
	}
}

// ProcessInfo describes a live process.
type ProcessInfo struct {
	PID  int
	Argv []string
	Env  map[string]string
	Dir  string
	Tag  string
}

// Output collects everything a finished process wrote.
type Output struct {
	Stdout, Stderr []byte
	Exit           Exit
}

// Collect reads p to its end. For a PTY all output is in Stdout.
func Collect(p Process) (Output, error) {
	var o Output
	for {
		f, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			o.Exit = p.Exit()
			return o, nil
		case err != nil:
			return o, err
		case f.Stream == Stderr:
			o.Stderr = append(o.Stderr, f.Data...)
		default:
			o.Stdout = append(o.Stdout, f.Data...)
		}
	}
}

// RunToEnd runs c and collects what it says. The end of ctx gives its cause and
// leaves the command alone, which c.Timeout should bound.
func RunToEnd(ctx context.Context, p Provider, id ID, c Command) (Output, error) {
	proc, err := p.Commands().Start(ctx, id, c)
	if err != nil {
		return Output{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = proc.Close() }) // unblocks the reader
	defer stop()
	defer func() { _ = proc.Close() }() // it has ended, or is let go
	out, err := Collect(proc)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

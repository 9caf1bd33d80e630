//go:build linux || darwin

package isolate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/creack/pty"

	"abxdash/client/local/envd"
)

// command is a process to start, as the part that forks sees it.
type command struct {
	argv []string
	env  []string
	dir  string
	tty  bool
}

// forker starts processes that become children of this process.
type forker interface {
	// fork starts c with the three given descriptors. A *forkError says that
	// this command cannot be started; any other error that none can.
	fork(c command, stdio [3]*os.File) (pid int, err error)
}

// forkStage says which step of a start failed.
type forkStage uint32

const (
	stageExec forkStage = iota + 1 // the program
	stageDir                       // the working directory
	stageFork                      // no process was made at all
)

// forkError is why one command was not started.
type forkError struct {
	stage forkStage
	errno syscall.Errno
}

func (e *forkError) Error() string {
	switch e.stage {
	case stageDir:
		return "working directory: " + e.errno.Error()
	case stageFork:
		return "start a process: " + e.errno.Error()
	}
	return e.errno.Error()
}

// Unwrap makes errors.Is work with fs.ErrNotExist and the like.
func (e *forkError) Unwrap() error { return e.errno }

var errEnding = errors.New("the sandbox is ending")

// spawner is the sandbox's [envd.Spawner] and the one owner of every exit
// status: nothing else in its process may wait for a child.
type spawner struct {
	fork forker
	user envd.User

	// mu is held from before a fork until its child is in the map, and while
	// statuses are collected, so that no status comes before its child.
	mu       sync.Mutex
	children map[int]*child
	ending   bool
	paused   bool
	// starter is the pid of the fork server, if there is one. It is called with mu held.
	starter func() int
	// others gets the exits of processes that were not spawned here.
	others func(pid int)
	// none is closed, and replaced, each time there is no child at all.
	none chan struct{}
}

func newSpawner(f forker, u envd.User) *spawner {
	return &spawner{fork: f, user: u, children: map[int]*child{}, none: make(chan struct{})}
}

// Lookup knows the sandbox's one user.
func (s *spawner) Lookup(name string) (envd.User, error) {
	if name != "" && name != s.user.Name {
		return envd.User{}, fmt.Errorf("invalid username: '%s'", name)
	}
	return s.user, nil
}

// Own has nothing to do: the agent and the user are one id to the kernel.
func (s *spawner) Own(string, envd.User) error { return nil }

// Spawn starts a process in a session of its own.
func (s *spawner) Spawn(spec envd.Spec) (envd.Child, error) {
	c := &child{s: s, done: make(chan struct{})}
	stdio, err := c.open(spec)
	if err == nil {
		err = s.start(c, command{argv: spec.Argv, env: spec.Env, dir: spec.Dir, tty: spec.TTY != nil}, stdio)
	}
	for i, f := range stdio {
		if f != nil && (i == 0 || f != stdio[i-1]) {
			_ = f.Close()
		}
	}
	if err != nil {
		c.closeAll()
		return nil, fmt.Errorf("spawn: %w", err)
	}
	return c, nil
}

// start forks c. A program that cannot be executed becomes one that says so and
// exits as a shell would.
func (s *spawner) start(c *child, cmd command, stdio [3]*os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	if s.paused {
		return errPaused
	}
	if len(cmd.argv) == 0 {
		cmd.argv = []string{""}
	}
	pid, err := s.fork.fork(cmd, stdio)
	var fe *forkError
	if errors.As(err, &fe) && fe.stage == stageExec {
		name := cmd.argv[0]
		text, code := refusal(name, fe.errno)
		cmd.argv = []string{"/bin/sh", "-c", `printf '%s: %s\n' "$1" "$2" >&2; exit "$3"`, "sh", name, text, code}
		pid, err = s.fork.fork(cmd, stdio)
	}
	if err != nil {
		return err
	}
	c.pid = pid
	s.children[pid] = c
	return nil
}

// refusal is a shell's text and exit code for a program that cannot be executed.
func refusal(name string, errno syscall.Errno) (text, code string) {
	switch {
	case errno == syscall.ENOENT && !strings.Contains(name, "/"):
		return "command not found", "127"
	case errno == syscall.ENOENT || errno == syscall.ENOTDIR:
		return errno.Error(), "127"
	}
	return errno.Error(), "126"
}

// reap collects exit statuses each time kick says that there may be some, until
// kick is closed.
func (s *spawner) reap(kick <-chan os.Signal) {
	for range kick {
		s.collect()
	}
}

func (s *spawner) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ECHILD):
			close(s.none)
			s.none = make(chan struct{})
			return
		case err != nil || pid <= 0:
			return
		}
		if c := s.children[pid]; c != nil {
			delete(s.children, pid)
			c.exit = exitOf(ws)
			close(c.done)
		} else if s.others != nil {
			s.others(pid)
		}
	}
}

// exitOf words a status as os.ProcessState does (e2b-protocol §9.2).
func exitOf(ws syscall.WaitStatus) envd.Exit {
	if ws.Exited() {
		return envd.Exit{Code: ws.ExitStatus(), Exited: true, Status: "exit status " + strconv.Itoa(ws.ExitStatus())}
	}
	e := envd.Exit{Code: -1, Status: "signal: " + ws.Signal().String()}
	if ws.CoreDump() {
		e.Status += " (core dumped)"
	}
	return e
}

// child is one spawned process.
type child struct {
	s      *spawner
	pid    int
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tty    *os.File
	done   chan struct{}
	exit   envd.Exit
}

// open makes the streams and returns the process's ends of them. On an error
// the caller closes whatever was made.
func (c *child) open(spec envd.Spec) (stdio [3]*os.File, err error) {
	if spec.TTY != nil {
		var t *os.File
		if c.tty, t, err = openTerminal(*spec.TTY); err != nil {
			return stdio, err
		}
		return [3]*os.File{t, t, t}, nil
	}
	if spec.NoStdin {
		stdio[0], err = os.Open(os.DevNull)
	} else {
		stdio[0], c.stdin, err = os.Pipe()
	}
	if err != nil {
		return stdio, err
	}
	if c.stdout, stdio[1], err = os.Pipe(); err != nil {
		return stdio, err
	}
	c.stderr, stdio[2], err = os.Pipe()
	return stdio, err
}

// openTerminal opens a pair and sets its size. The controlling side comes back
// non-blocking, so that Close ends a Read.
func openTerminal(w envd.Winsize) (master, terminal *os.File, err error) {
	m, t, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer m.Close()
	err = pty.Setsize(m, &pty.Winsize{Cols: w.Cols, Rows: w.Rows})
	if err == nil {
		master, err = nonblockingCopy(m)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("prepare a terminal: %w", err), t.Close())
	}
	return master, t, nil
}

// nonblockingCopy duplicates f for the runtime's poller. The terminal library
// leaves its own file in blocking mode.
func nonblockingCopy(f *os.File) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func (c *child) closeAll() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr, c.tty} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (c *child) PID() int { return c.pid }

// Stdin, like Stdout and Stderr, is a nil interface without a pipe.
func (c *child) Stdin() io.WriteCloser {
	if c.stdin == nil {
		return nil
	}
	return c.stdin
}

func (c *child) Stdout() io.ReadCloser {
	if c.stdout == nil {
		return nil
	}
	return c.stdout
}

func (c *child) Stderr() io.ReadCloser {
	if c.stderr == nil {
		return nil
	}
	return c.stderr
}

func (c *child) TTY() *os.File         { return c.tty }
func (c *child) Done() <-chan struct{} { return c.done }
func (c *child) Exit() envd.Exit       { return c.exit }

// Signal holds the lock under which statuses are collected: the pid is the
// process's own as long as it is not done.
func (c *child) Signal(sig int) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	select {
	case <-c.done:
		return nil
	default:
	}
	return syscall.Kill(c.pid, syscall.Signal(sig))
}

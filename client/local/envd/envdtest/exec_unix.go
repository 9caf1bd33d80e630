//go:build unix

package envdtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"

	"abxdash/client/local/envd"

	"github.com/creack/pty"
)

// ExecSpawner is an [envd.Spawner] for tests. Its only user is the caller.
type ExecSpawner struct {
	// Home is the user's home.
	Home string
	// User is what the user is called; "" is the caller's own name.
	User string
}

// Lookup implements envd.Spawner.
func (s *ExecSpawner) Lookup(name string) (envd.User, error) {
	own := s.User
	if own == "" {
		if u, err := user.Current(); err == nil {
			own = u.Username
		}
	}
	if name != "" && name != own {
		return envd.User{}, fmt.Errorf("unknown user %s", name)
	}
	return envd.User{Name: own, UID: os.Getuid(), GID: os.Getgid(), Home: s.Home, Shell: "/bin/sh"}, nil
}

// Own implements envd.Spawner; everything is the caller's anyway.
func (s *ExecSpawner) Own(string, envd.User) error { return nil }

// Spawn implements envd.Spawner.
func (s *ExecSpawner) Spawn(spec envd.Spec) (envd.Child, error) {
	c, err := s.start(spec)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		name := spec.Argv[0]
		spec.Argv = []string{"/bin/sh", "-c", `printf '%s: not found\n' "$1" >&2; exit 127`, "sh", name}
		return s.start(spec)
	}
	return c, err
}

// start runs one process in a session of its own.
func (s *ExecSpawner) start(spec envd.Spec) (envd.Child, error) {
	path, err := lookPath(spec.Argv[0], spec.Env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: spec.Argv, Env: spec.Env, Dir: spec.Dir,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	c := &child{done: make(chan struct{})}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	if spec.TTY != nil {
		theirs, err = c.openTTY(cmd, *spec.TTY)
	} else {
		theirs, err = c.openPipes(cmd, spec.NoStdin)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.closeAll()
		return nil, err
	}
	c.process = cmd.Process
	go c.wait()
	return c, nil
}

// lookPath finds a program on the PATH of the process's own environment.
func lookPath(name string, env []string) (string, error) {
	if name == "" {
		return "", exec.ErrNotFound
	}
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, variable := range env {
		list, ok := strings.CutPrefix(variable, "PATH=")
		if !ok {
			continue
		}
		for dir := range strings.SplitSeq(list, ":") {
			path := dir + "/" + name
			if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// child is a started process.
type child struct {
	process               *os.Process
	stdin, stdout, stderr *os.File
	tty                   *os.File
	done                  chan struct{}
	exit                  envd.Exit
}

func (c *child) openTTY(cmd *exec.Cmd, size envd.Winsize) ([]*os.File, error) {
	master, terminal, err := pty.Open()
	if err != nil {
		return nil, err
	}
	c.tty = master
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr.Setctty = true
	return []*os.File{terminal}, pty.Setsize(master, &pty.Winsize{Cols: size.Cols, Rows: size.Rows})
}

func (c *child) openPipes(cmd *exec.Cmd, noStdin bool) (theirs []*os.File, err error) {
	var stdin, stdout, stderr *os.File
	if !noStdin {
		if stdin, c.stdin, err = os.Pipe(); err != nil {
			return theirs, err
		}
		cmd.Stdin = stdin
		theirs = append(theirs, stdin)
	}
	if c.stdout, stdout, err = os.Pipe(); err != nil {
		return theirs, err
	}
	theirs = append(theirs, stdout)
	if c.stderr, stderr, err = os.Pipe(); err != nil {
		return theirs, err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return append(theirs, stderr), nil
}

func (c *child) closeAll() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr, c.tty} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (c *child) wait() {
	defer close(c.done)
	state, err := c.process.Wait()
	if err != nil {
		c.exit = envd.Exit{Code: -1, Status: err.Error()}
		return
	}
	c.exit = envd.Exit{Code: state.ExitCode(), Exited: state.Exited(), Status: state.String()}
}

// PID implements envd.Child, like the methods below.
func (c *child) PID() int { return c.process.Pid }

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

func (c *child) Signal(sig int) error {
	select {
	case <-c.done:
		return nil
	default:
	}
	err := c.process.Signal(syscall.Signal(sig))
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

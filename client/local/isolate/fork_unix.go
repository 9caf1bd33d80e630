//go:build linux || darwin

package isolate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// forkCommand starts c as this process, with a session of its own. The program
// is looked up on the command's PATH with this process's rights.
func forkCommand(c command, stdio [3]uintptr, cloneflags uintptr, group int) (int, error) {
	if err := checkDir(c.dir); err != nil {
		return 0, err
	}
	path, errno := lookPath(c)
	if errno != 0 {
		return 0, &forkError{stageExec, errno}
	}
	attr := &syscall.ProcAttr{
		Dir:   c.dir,
		Env:   c.env,
		Files: stdio[:],
		Sys:   commandAttr(c.tty, cloneflags, group),
	}
	pid, err := syscall.ForkExec(path, c.argv, attr)
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!, which shells run
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", path}, c.argv[1:]...), attr)
	}
	if err == nil {
		return pid, nil
	}
	stage := stageExec
	switch {
	case !errors.As(err, &errno):
		errno = syscall.EIO
		stage = stageFork
	case errno == syscall.EAGAIN || errno == syscall.ENOMEM:
		stage = stageFork
	}
	return 0, &forkError{stage, errno}
}

// checkDir finds out beforehand whether the working directory can be entered:
// afterwards its errors look like those of the program.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	fi, err := os.Stat(dir)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
	case err != nil:
		errno = syscall.EIO
	case !fi.IsDir():
		errno = syscall.ENOTDIR
	case unix.Access(dir, unix.X_OK) != nil:
		errno = syscall.EACCES
	default:
		return nil
	}
	return &forkError{stageDir, errno}
}

// lookPath finds the program as execvp does: a name with a slash is a path from
// the working directory, another one is looked up on PATH, where a file that may
// not be executed counts only when no other is found.
func lookPath(c command) (string, syscall.Errno) {
	name := c.argv[0]
	if name == "" {
		return "", syscall.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, executable(c.at(name))
	}
	found := syscall.ENOENT
	for _, dir := range filepath.SplitList(c.getenv("PATH")) {
		p := filepath.Join(dir, name)
		if dir == "" || !filepath.IsAbs(dir) {
			p = "./" + p
		}
		switch errno := executable(c.at(p)); errno {
		case 0:
			return p, 0
		case syscall.EACCES:
			found = errno
		}
	}
	return "", found
}

// at is where a path from the command's working directory is.
func (c command) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.dir, path)
}

// getenv is the last value of name, as a shell reads it.
func (c command) getenv(name string) string {
	v := ""
	for _, kv := range c.env {
		if k, val, ok := strings.Cut(kv, "="); ok && k == name {
			v = val
		}
	}
	return v
}

// executable says why path cannot be executed, 0 if it can.
func executable(path string) syscall.Errno {
	fi, err := os.Stat(path)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case err != nil:
		return syscall.EIO
	case fi.IsDir() || unix.Access(path, unix.X_OK) != nil:
		return syscall.EACCES
	}
	return 0
}

// commandAttr asks for a session of its own, so that no command shares a
// process group with the agent, and for the terminal where there is one.
func commandAttr(tty bool, cloneflags uintptr, group int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Setctty: tty, Ctty: 0}
	setCloneflags(a, cloneflags)
	if group > 0 {
		setGroup(a, group)
	}
	return a
}

// directForker starts commands in this process's own namespaces: level process.
type directForker struct {
	// group is the descriptor of the cgroup that they start in, 0 for this process's own.
	group int
}

func (d directForker) fork(c command, stdio [3]*os.File) (int, error) {
	var fds [3]uintptr
	for i, f := range stdio {
		fds[i] = f.Fd()
	}
	return forkCommand(c, fds, 0, d.group)
}

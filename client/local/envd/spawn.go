package envd

import (
	"io"
	"os"
)

// Spec is a process to start. It is already complete: paths absolute, the
// environment final, the user resolved.
type Spec struct {
	Argv []string
	Env  []string
	Dir  string
	User User
	// TTY, when set, asks for a terminal of that size: own session, controlling terminal.
	TTY *Winsize
	// NoStdin connects standard input to /dev/null instead of a pipe.
	NoStdin bool
}

// Winsize is a terminal size in cells.
type Winsize struct{ Cols, Rows uint16 }

// User is an account inside the sandbox.
type User struct {
	Name     string
	UID, GID int
	Home     string
	Shell    string
}

// Exit is how a process ended, in the terms of os.ProcessState.
type Exit struct {
	// Code is -1 when a signal ended the process.
	Code int
	// Exited is false when a signal ended the process.
	Exited bool
	// Status is "exit status 3" or "signal: killed".
	Status string
}

// Child is a started process. The caller closes the streams.
type Child interface {
	// PID is the id that processes inside the sandbox see.
	PID() int
	// Stdin is nil without a pipe (NoStdin or TTY).
	Stdin() io.WriteCloser
	// Stdout and Stderr are nil with a TTY.
	Stdout() io.ReadCloser
	Stderr() io.ReadCloser
	// TTY is the controlling side of the terminal, nil without one.
	TTY() *os.File
	// Done is closed when the process itself has ended, whether or not a
	// descendant still holds its pipes; Exit is valid from then on.
	Done() <-chan struct{}
	Exit() Exit
	// Signal signals the one process, not its group. It is a no-op after Done.
	Signal(sig int) error
}

// Spawner starts processes and knows the sandbox's users.
type Spawner interface {
	// Spawn starts a process. A command that does not exist is not an error:
	// it exits with 127 and says so on stderr (e2b-protocol §9.2).
	Spawn(Spec) (Child, error)
	// Lookup finds a user by name; "" is the default user.
	Lookup(name string) (User, error)
	// Own gives a new file or directory to the user where that is needed.
	Own(path string, u User) error
}

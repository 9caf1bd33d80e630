package isolate

import (
	"os"

	"abxdash/client"
)

// Names by which the binary knows, as argv[0], which part it plays.
const (
	initName    = "abxdash-init"
	spawnerName = "abxdash-spawn"
)

// Networks a sandbox can have (Config.Network).
const (
	// NetworkOff is a network of its own with nothing but loopback. It
	// exists at level namespace only; elsewhere it means NetworkHost.
	NetworkOff = "off"
	// NetworkHost shares the host's network, its local services included.
	NetworkHost = "host"
)

// HomePath is the home inside a sandbox of level namespace. At level process
// the home is Config.Home itself.
const HomePath = "/home/user"

// UserName is the only user a sandbox has.
const UserName = "user"

// Config describes one sandbox to start.
type Config struct {
	ID string
	// Level is what [Launcher.Probe] found; "" is namespace.
	Level client.Isolation
	// Home is an existing directory of the host that becomes the sandbox's
	// home. Its parents may be closed to everybody else (0700). As root it is
	// given to the mapped id.
	Home string
	// Listener is a listening unix socket, served by the agent inside. The
	// caller keeps and closes its own copy.
	Listener *os.File
	// Hostname is the name inside; "" is "sandbox".
	Hostname string
	// Env is the sandbox's global environment.
	Env map[string]string
	// AccessToken is the agent's token; "" leaves the agent open.
	AccessToken string
	// Network is NetworkOff or NetworkHost; "" is NetworkOff.
	Network string
	// EnvdVersion is what the agent reports; "" is the agent's own choice.
	EnvdVersion string
	// LogFile gets what the agent says and its panics; nil drops it. The
	// caller keeps and closes its own copy.
	LogFile *os.File
	Limits  Limits
}

// Limits bounds what a sandbox takes. Zero values are the defaults.
type Limits struct {
	// OpenFiles is RLIMIT_NOFILE of commands; default 65536, never above the host's.
	OpenFiles uint64
	// Processes bounds processes and threads at level namespace; default 512.
	Processes uint64
	// TmpBytes is the size of /tmp, /var/tmp and /dev/shm, each; default 1 GiB.
	TmpBytes int64
}

// Result is what a probe found.
type Result struct {
	// Level is in force; "" with an error.
	Level client.Isolation
	// Tried lists the levels that failed, strongest first.
	Tried []Attempt
}

// Attempt is one level that could not be had.
type Attempt struct {
	Level client.Isolation
	// Reason is one line for people.
	Reason string
}

// Identity names one process for good: pids are used again, pids with a start
// time are not.
type Identity struct {
	PID int
	// StartTime is field 22 of /proc/PID/stat on Linux, in clock ticks since
	// boot; elsewhere it counts microseconds since 1970.
	StartTime uint64
}

// unavailable is an E9011: the wanted level is not to be had here.
func unavailable(op, message, hint string) *client.Error {
	return &client.Error{Op: op, Provider: "local", Code: client.CodeIsolation, Kind: client.ErrUnsupported, Message: message, Hint: hint}
}

package isolate

import (
	"os"
	"time"

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
	// NetworkProxy is NetworkOff with one way out: an HTTP(S) proxy in the
	// process that holds the sandbox, bounded by Config.Egress. Programs find it
	// by HTTP_PROXY and HTTPS_PROXY. It exists at level namespace only.
	NetworkProxy = "proxy"
)

// HomePath is the home inside a sandbox of level namespace. At level process
// the home is Config.Home itself.
const HomePath = "/home/user"

// PlacesDir is the folder of the home that holds what Config.Places show.
const PlacesDir = ".abx-root"

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
	// Network is NetworkOff, NetworkHost or NetworkProxy; "" is NetworkOff.
	Network string
	// Egress says what NetworkProxy lets through.
	Egress Egress
	// Image is what level container runs, "" for the configured one.
	Image string
	// Mounts are folders of the host to show inside, at levels with a root of their own.
	Mounts []Mount
	// Places are folders inside, outside the home, that commands may write in:
	// absolute paths as for [Mount]. What is in one lies in the home, below
	// [PlacesDir], so that it is kept and copied with it. Levels with a root of their own only.
	Places []string
	// Workdir is what an empty working directory means; "" is the home.
	Workdir string
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
	// Processes bounds processes and threads at level namespace, and at the
	// others where a cgroup can be had; default 512.
	Processes uint64
	// TmpBytes is the size of /tmp, /var/tmp and /dev/shm, each; default 1 GiB.
	TmpBytes int64
	// MemoryMB bounds the memory of all commands together, in MiB; 0 is no
	// bound. Without a cgroup it bounds the private memory of each process,
	// to no less than 256 MiB.
	MemoryMB int64
	// CPUs is how many processors' worth of time the commands get, such as 0.5;
	// 0 is no bound. It needs a cgroup.
	CPUs float64
}

// Mount is a folder of the host that a sandbox with a root of its own shows.
type Mount struct {
	// Host is the folder, which the caller must be able to enter.
	Host string
	// Target is an absolute path inside: below /home/user, /mnt, /opt or /srv,
	// or a new folder at the top.
	Target   string
	ReadOnly bool
}

// Egress is the allow list of NetworkProxy. [Sandbox.SetEgress] replaces it.
type Egress struct {
	// Allow has one rule an entry: `example.com`, `*.example.com`, an address,
	// a network such as `192.0.2.0/24`, each with `:PORT` at will, or `*` for every
	// public host. Loopback, link-local and metadata addresses need a rule that
	// names the address (or `localhost`), private ones any rule but `*`. No rule
	// lets nothing through.
	Allow []string
	// Deny has addresses and networks that `*` does not let through. The other
	// rules win over it.
	Deny []string
}

// Describe says in one or two sentences what a level is good for and what not.
// filtered means that system calls are filtered (Means.SystemCalls).
func Describe(level client.Isolation, filtered bool) string {
	switch level {
	case client.IsolationProcess:
		return "Convenience only. Programs run as you and can read and change everything you can. Not a security boundary."
	case client.IsolationLandlock:
		return "Limits accidental damage: programs can write only in their home. They still run as you and share your network " +
			"and processes' resources. Not a boundary against hostile code."
	case client.IsolationNamespace:
		kernel := "Shares your kernel"
		if filtered {
			kernel += ", with a smaller kernel surface"
		}
		return "Separates files, processes and network from yours with kernel namespaces. " + kernel + ": a kernel bug, or a limit " +
			"that is not set, breaks it. Good against mistakes and nosy programs; do not rely on it for code you believe to be hostile."
	case client.IsolationContainer:
		return "As strong as your Docker set-up."
	}
	return ""
}

// Means says by what a sandbox is held, in words for people; "" is "not at all".
type Means struct {
	// Pause is how Pause works.
	Pause string
	// Memory, CPU and PIDs say what enforces the limits.
	Memory, CPU, PIDs string
	// Kill is what ends every process.
	Kill string
	// SystemCalls is what keeps commands from dangerous system calls.
	SystemCalls string
	// Files is what keeps commands from the host's files.
	Files string
	// Missing says why something weaker than a cgroup is used, "" if nothing is.
	Missing string
}

// Values of the fields of [Means] and of the sources in [Usage].
const (
	ByCgroup2 = "cgroup v2"
	ByCgroup1 = "cgroup v1"
	BySignals = "signals"
	ByRlimit  = "rlimit"
	ByFilter  = "seccomp"
	ByProcPSS = "proc-pss"
	// ByProcRSS counts pages that processes share once for each.
	ByProcRSS = "proc-rss"
	ByProc    = "proc"
)

// Usage is what the commands of a sandbox use. Nil is "not known".
type Usage struct {
	// CPU is processor time since the start. It never goes back.
	CPU       time.Duration
	CPUSource string
	// Memory is in bytes, without file cache that can be dropped.
	Memory       *uint64
	MemorySource string
	// MemoryLimit is in bytes, nil without a limit.
	MemoryLimit *uint64
	// PIDs counts processes, or processes and threads by a cgroup.
	PIDs       *uint64
	PIDsSource string
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

package isolate

// DefaultImage is what sandboxes of level container run in when nobody says.
const DefaultImage = "debian:stable-slim"

// ContainerConfig says with which engine, and for whom, sandboxes of level
// container are made.
type ContainerConfig struct {
	// Image is what they run in; "" is [DefaultImage]. It needs /bin/sh.
	Image string
	// Owner names whose they are, such as the local server's state folder. The
	// engine gets a hash of it, by which they are found again.
	Owner string
	// Engine is the engine's address, which must be a unix socket; "" is
	// DOCKER_HOST, else the usual one.
	Engine string
}

// ByContainer is the value of [Means] for what the engine's cgroup of the container does.
const ByContainer = "container cgroup"

// Labels of our containers.
const (
	// labelSandbox is the sandbox's id, labelOwner the hash of [ContainerConfig].Owner.
	labelSandbox = "abxdash.sandbox"
	labelOwner   = "abxdash.home"
	// labelServer is PID-STARTTIME of the process that made it (see [Identity]).
	labelServer = "abxdash.server"
)

// What a container has of ours, as seen inside.
const (
	containerInit = "/.abxdash/init" // this very binary
	containerRun  = "/.abxdash/run"  // where init finds the socket
	handSocket    = "s"
)

package server

import (
	"context"
	"os"
)

// Networks a sandbox can have.
const (
	NetworkOff  = "off"
	NetworkHost = "host"
)

// Spec is what an [Isolator] needs to start one sandbox.
type Spec struct {
	ID string
	// Home is the sandbox's private home on the host, made and empty.
	Home string
	// Listener is the agent's listening unix socket. The caller closes its own copy.
	Listener *os.File
	// Env is the sandbox's global environment.
	Env map[string]string
	// AccessToken is the agent's token, "" for an open agent.
	AccessToken string
	// Network is NetworkOff, NetworkHost or NetworkProxy.
	Network string
	// Egress bounds NetworkProxy.
	Egress Egress
	// CPUs and MemoryMB bound the sandbox; 0 is no bound.
	CPUs     float64
	MemoryMB int64
	// Workdir is what an empty working directory means, "" the home.
	Workdir string
	// Places are folders outside the home that belong to the sandbox; what is in
	// them lies in the home.
	Places []string
	// EnvdVersion is what the agent reports as its version.
	EnvdVersion string
	// Log gets what the agent says. The caller closes its own copy.
	Log *os.File
	// Image is what level container runs, "" for the server's own.
	Image string
	// Mounts are folders of the host to show inside.
	Mounts []Folder
}

// Instance is one running sandbox.
type Instance interface {
	// PID is the host's id of the process that the sandbox lives and dies with.
	PID() int
	// StartTime tells two processes of the same PID apart.
	StartTime() uint64
	// Done is closed when that process has ended.
	Done() <-chan struct{}
	// Kill returns once nothing of the sandbox runs. It is fine after Done and safe to call twice.
	Kill(ctx context.Context) error
}

// Isolator starts sandboxes.
type Isolator interface {
	// Start returns when the sandbox's agent answers. ctx bounds the start only.
	Start(ctx context.Context, s Spec) (Instance, error)
}

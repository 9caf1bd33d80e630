package client

import (
	"context"
	"time"
)

// Provider is one configured source of sandboxes.
type Provider interface {
	// Name is the provider's configured name, e.g. "local" or "team-a@e2b".
	Name() string
	Sandboxes() Sandboxes
	Commands() Commands
	Files() Files
	// Capabilities decides what is offered; a type assertion only finds the
	// method. It is static: no call is made.
	Capabilities() Capabilities
}

// Sandboxes is the life cycle every provider has.
type Sandboxes interface {
	List(ctx context.Context, q Query) (Page, error)
	// Get never changes a lifetime.
	Get(ctx context.Context, id ID) (Sandbox, error)
	Create(ctx context.Context, spec CreateSpec) (Sandbox, error)
	// Kill ends the sandbox for good. A sandbox that is already gone gives
	// an error matching ErrNotFound; callers word it as "was already gone".
	Kill(ctx context.Context, id ID) error
	// SetLifetime makes the sandbox end d from now; it may shorten. 0 and
	// negative values are refused without a call.
	SetLifetime(ctx context.Context, id ID, d time.Duration) error
}

// Connector extends (never shortens) a lifetime and resumes a paused sandbox.
type Connector interface {
	Connect(ctx context.Context, id ID, lifetime time.Duration) (Sandbox, error)
}

// Pauser is found on a provider that declares CapPause.
type Pauser interface {
	Pause(ctx context.Context, id ID) error
	Resume(ctx context.Context, id ID, lifetime time.Duration) error
}

// Capability names one thing a provider may be able to do. Names follow the
// Agent Sandbox catalogue where it has one ("sandbox.pause", "files.transfer").
type Capability string

// Capabilities known so far.
const (
	CapPause         Capability = "sandbox.pause"
	CapMetrics       Capability = "sandbox.metrics"
	CapLogs          Capability = "sandbox.logs"
	CapSnapshot      Capability = "sandbox.snapshot"
	CapNetworkUpdate Capability = "sandbox.network"
	CapCommands      Capability = "commands"
	CapPTY           Capability = "pty"
	CapReconnect     Capability = "process.reconnect"
	CapFiles         Capability = "files"
	CapWatch         Capability = "files.watch"
	CapTransfer      Capability = "files.transfer"
	CapCode          Capability = "code"
	CapPorts         Capability = "ports"
	CapTemplates     Capability = "templates"
	// CapTemplateSteps: templates are built of steps on an image, not only of a
	// ready image (e2b-protocol §12). It is part of CapTemplates and in no table.
	CapTemplateSteps Capability = "templates.steps"
	// CapFolders: a create takes folders of this machine (CreateSpec.Folders).
	CapFolders Capability = "sandbox.folders"
)

// Capabilities is the set a provider has, with the reason for each one it lacks.
type Capabilities struct {
	Have map[Capability]bool
	// Why gives one line for a missing capability, shown beside the greyed action.
	Why map[Capability]string
}

// Has reports whether c is available.
func (c Capabilities) Has(k Capability) bool { return c.Have[k] }

// Missing returns nil if k is available, else an E8004 error naming the provider and the reason.
func (c Capabilities) Missing(provider string, k Capability) error {
	if c.Have[k] {
		return nil
	}
	why := c.Why[k]
	if why == "" {
		why = provider + " does not offer " + string(k)
	}
	return &Error{Op: string(k), Provider: provider, Code: CodeUnsupported, Kind: ErrUnsupported, Message: why}
}

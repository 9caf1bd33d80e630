package client

import (
	"maps"
	"time"
)

// ID names one sandbox within its provider. Local and E2B ids are `i` followed
// by 20 of [a-z0-9] (e2b-protocol §1).
type ID string

// State is a sandbox's state as the provider words it. Unknown words are kept
// verbatim so that a new server state is shown rather than refused.
type State string

// The states every provider knows (e2b-protocol §1), and those we show ourselves.
const (
	StateRunning State = "running"
	StatePaused  State = "paused"
	// StateUnknown is shown for an empty or absent state.
	StateUnknown State = "?"
)

// Isolation is the level that separates a sandbox from the machine under it.
type Isolation string

// Isolation levels, weakest first (local-provider notes, "Levels").
const (
	IsolationProcess   Isolation = "process"
	IsolationLandlock  Isolation = "process+landlock"
	IsolationNamespace Isolation = "namespace"
	IsolationContainer Isolation = "container"
	// IsolationProvider stands for whatever a remote provider gives.
	IsolationProvider Isolation = "provider"
)

// EndKind says how to read [Sandbox.ExpiresAt].
type EndKind int

// Kinds of end of life.
const (
	// EndAt: ExpiresAt is a real time.
	EndAt EndKind = iota
	// EndUnset: the provider sent none (absent, or year 1).
	EndUnset
	// EndNever: the provider says it does not expire (a far-future year).
	EndNever
	// EndInvalid: the provider sent something that is not a time.
	EndInvalid
)

// Sandbox is one sandbox as a list or a get shows it. Fields that a provider
// does not report are zero.
type Sandbox struct {
	Provider string
	ID       ID
	// Name is the label people gave it (metadata "name"), else the provider's alias, else "".
	Name string
	// Template is the name people know (alias) when there is one, else TemplateID.
	Template   string
	TemplateID string
	State      State
	Isolation  Isolation
	StartedAt  time.Time
	// ExpiresAt is meaningful only if End is EndAt. Times are server times; see Page.ServerTime.
	ExpiresAt time.Time
	End       EndKind
	// CPU is the number of vCPUs.
	CPU float64
	// MemoryMB and DiskMB are sizes in MiB.
	MemoryMB int64
	DiskMB   int64
	Metadata map[string]string
	// EnvdVersion is the semver of the in-sandbox agent; features are gated on it.
	EnvdVersion string
	// Raw is the provider's own JSON for the raw view, nil if it was not kept. It never holds a token.
	Raw []byte
}

// Running reports whether commands can be expected to work.
func (s Sandbox) Running() bool { return s.State == StateRunning }

// Remaining returns the time left at now (server time) and true, or false when
// the sandbox has no known end. It is never negative.
func (s Sandbox) Remaining(now time.Time) (time.Duration, bool) {
	if s.End != EndAt {
		return 0, false
	}
	return max(0, s.ExpiresAt.Sub(now)), true
}

// Clone returns a copy that shares no map with s.
func (s Sandbox) Clone() Sandbox {
	s.Metadata = maps.Clone(s.Metadata)
	return s
}

// Query selects sandboxes. The zero value is every running and paused sandbox.
type Query struct {
	// States to list; empty means all.
	States []State
	// Metadata pairs must all match exactly.
	Metadata map[string]string
	// Template is a template id or alias without a tag.
	Template string
	// Limit is the page size, 1 to 100; 0 is the provider's default.
	Limit int
	// PageToken is Page.NextToken of the page before.
	PageToken string
}

// Page is one page of a list.
type Page struct {
	Sandboxes []Sandbox
	// NextToken is empty on the last page.
	NextToken string
	// ServerTime is the server's clock when it answered (Date header), zero if unknown.
	ServerTime time.Time
	// MayBeIncomplete is set when the provider cannot prove that nothing is
	// missing; Note says why in one line.
	MayBeIncomplete bool
	Note            string
}

// CreateSpec describes a sandbox to make. The zero value of a field means the
// provider's default, but Lifetime is always sent.
type CreateSpec struct {
	Template string
	// Lifetime is how long the sandbox lives, not an HTTP or command timeout.
	// Rounded up to whole seconds on the wire. 0 means 1 h local, 300 s remote.
	Lifetime time.Duration
	Env      map[string]string
	Metadata map[string]string
	// Insecure asks for an agent without an access token; default is secure.
	Insecure bool
	// Internet is nil for the provider's default.
	Internet *bool
	// AutoPause pauses instead of killing at the end of the lifetime.
	AutoPause bool
	// AutoResume wakes an auto-paused sandbox on traffic; it needs AutoPause.
	AutoResume bool
	// Network is nil for the provider's default.
	Network *Network
	// Folders are folders of this machine for the sandbox; a provider without
	// CapFolders cannot honour them, so ask first.
	Folders []HostFolder
	// RequestTimeout bounds the create call alone; 0 is the provider's default.
	RequestTimeout time.Duration
}

// HostFolder is a folder of this machine that a new sandbox shows or gets a
// copy of.
type HostFolder struct {
	// Host is an absolute path on this machine.
	Host string
	// Target is an absolute path inside; "" is the folder's name below the home.
	Target string
	// ReadOnly is for a mount; what is written to a copy stays in the sandbox.
	ReadOnly bool
	// Copy makes it a copy of now instead of a mount.
	Copy bool
}

package local

import (
	"log/slog"
	"time"

	"abxdash/client"
)

// Config says which local server is meant. The zero value is the user's own.
type Config struct {
	// Version is the version of this binary, compared with the running server's.
	Version string
	// MinIsolation is the weakest acceptable level; "" accepts what the
	// machine can do. It counts when the server starts, and Create checks it
	// against a server that already runs.
	MinIsolation client.Isolation
	// Image is what sandboxes of level container run in; "" is
	// [isolate.DefaultImage]. That level is only had by MinIsolation.
	Image string
	// Root replaces ABXDASH_HOME when set: every folder lies below it.
	Root string
	// IdleAfter is how long a server without sandboxes stays; 0 is 60 s.
	IdleAfter time.Duration
	// Logger gets what is worth a line but no error; nil drops it.
	Logger *slog.Logger
}

// Status describes the local server; its JSON is what `local status --json` prints.
type Status struct {
	Running bool `json:"running"`
	// PID is 0 when not running.
	PID int `json:"pid"`
	// Socket is where the server listens, or would.
	Socket string `json:"socket"`
	// Isolation is the level in force, "" when not running.
	Isolation client.Isolation `json:"isolation"`
	// IsolationReason says why the level is not a stronger one, "" if it is the strongest.
	IsolationReason string `json:"isolation_reason"`
	Version         string `json:"version"`
	// Sandboxes is the number of live sandboxes.
	Sandboxes int `json:"sandboxes"`
	// Note is one line about a server of another version, "" otherwise.
	Note string `json:"note,omitempty"`
}

// Facts is what `doctor` shows about the local provider. Gathering them starts
// no server and creates nothing.
type Facts struct {
	Status Status
	// StatusErr is why the status could not be read.
	StatusErr error
	// Level is what a probe reached just now, "" if none.
	Level client.Isolation
	// Tried lists the levels that failed, strongest first, with the reason.
	Tried []LevelFailure
	// ProbeErr is set when no acceptable level was reached.
	ProbeErr error
	// RunDir holds socket, lock and log; StateDir the sandboxes' folders.
	RunDir, StateDir, Log string
	// Problems are one-line findings about folders: wrong owner, not writable, too long a path.
	Problems []string
}

// LevelFailure is one isolation level that could not be had.
type LevelFailure struct {
	Level  client.Isolation
	Reason string
}

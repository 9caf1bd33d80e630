package cli

import (
	"context"
	"io"
	"os"
	"time"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/views/present"
)

// Flags are the global flags of every command.
type Flags struct {
	// Provider restricts a command to one provider, and is the one that create uses; "" is all, and the default.
	Provider string
	JSON     bool
	Quiet    bool
	Yes      bool
	// RequestTimeout bounds one call to a provider; 0 is the provider's default.
	RequestTimeout time.Duration
	NoColor        bool
	ReadOnly       bool
	// PartialOK makes a list with some providers failing a success.
	PartialOK bool
	LogLevel  string
	// NoTour leaves out the line for newcomers.
	NoTour bool
	// Lang is the language of the dashboard; "" is that of the configuration, else the locale's.
	Lang string
	// Plain is the dashboard that only appends lines, for screen readers.
	Plain bool
}

// Session is what a command works with once its flags are known.
type Session struct {
	Providers present.Providers
	// Default names the provider that create uses.
	Default string
	// Notes are remarks about configuration and keys, one clean line each.
	Notes []string
	// Close gives up connections; it may be nil.
	Close func()
}

// LocalStatus is the answer of `local status`; product.md §4 fixes its fields.
type LocalStatus struct {
	Running         bool   `json:"running"`
	PID             int    `json:"pid"`
	Socket          string `json:"socket"`
	Isolation       string `json:"isolation"`
	IsolationReason string `json:"isolation_reason"`
	Version         string `json:"version"`
	Sandboxes       int    `json:"sandboxes"`
	Note            string `json:"note,omitempty"`
}

// Local is the server behind local sandboxes.
type Local interface {
	Status(ctx context.Context) (LocalStatus, error)
	// Run is the server itself, in the foreground, until ctx ends.
	Run(ctx context.Context, ready func(LocalStatus)) error
	// Stop ends it; without force only if it holds no sandbox (E9003).
	Stop(ctx context.Context, force bool) error
	// Leftovers looks on this machine for traces of a sandbox that was killed:
	// processes whose command line holds mark, folders and mounts named after
	// id. checked is false where that cannot be done.
	Leftovers(ctx context.Context, id client.ID, mark string) (found []string, checked bool, err error)
}

// Check is one line of `doctor`.
type Check struct {
	// Name is what was looked at, Detail what was found.
	Name   string `json:"name"`
	Status Level  `json:"status"`
	Detail string `json:"detail"`
	// Hint is what to do about it; may be empty.
	Hint string `json:"hint,omitempty"`
}

// Level is how a check went.
type Level string

// Levels of a check.
const (
	OK   Level = "ok"
	Note Level = "note"
	Warn Level = "warning"
	Fail Level = "error"
)

// App is the world of the commands; package main makes it, tests replace parts.
type App struct {
	Version  string
	In       io.Reader
	Out, Err io.Writer
	// IsTerminal tells whether In, Out or Err is one.
	IsTerminal func(stream any) bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Open makes the providers for the flags.
	Open func(ctx context.Context, f Flags) (*Session, error)
	// Dashboard runs the dashboard until it is left; Demo the same on made-up sandboxes.
	Dashboard func(ctx context.Context, f Flags) error
	Demo      func(ctx context.Context, f Flags) error
	// Local is nil on systems without local sandboxes; LocalWhy then says why.
	Local  func(f Flags) (Local, error)
	Checks func(ctx context.Context, f Flags) []Check
	// Providers is nil where they cannot be managed.
	Providers ProviderAdmin
	// Keys is nil where no account's keys can be managed, KeyStore where no key
	// can be kept, Settings where there is no configuration file.
	Keys     KeyAdmin
	KeyStore KeyStore
	Settings Settings
	Owner    present.Owner
	Signals  func() (ch <-chan os.Signal, stop func())
	LogLevel func(level string) error
	// Play shows a recording in the terminal at a speed until it is left.
	Play func(ctx context.Context, f Flags, path string, rate float64) error
	// ScrollBack shows what a shell has written in the terminal until it is left,
	// and returns what is on the clipboard of the shells then. nil does nothing.
	ScrollBack func(ctx context.Context, f Flags, b ScrollBack) (clip string, err error)
	// Recordings is the folder of recorded shells, "" if there is none.
	Recordings string
	// Keymap is that of the configuration, of which attach has the leader and the
	// keys after it; it is asked for when it is needed. nil is the default one.
	Keymap func() *keymap.Map
	// Templates is what the template commands need; the zero value is fine.
	Templates TemplateTools
	// Rules are the thresholds of the configuration for strays; may be nil.
	Rules func() present.StrayRules
	// Rates are the prices of the configuration; may be nil.
	Rates func() present.Rates
	// Protected tells whether the user set a sandbox apart on this machine; may be nil.
	Protected func(present.Key) bool
	// Defaults lets the configuration add to the flags before a command runs; may be nil.
	Defaults func(f *Flags)
	// Alive tells whether a process of this machine lives, for stray reasons; may be nil.
	Alive func(pid int) bool
}

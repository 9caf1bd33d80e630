//go:build !linux && !darwin

package isolate

import (
	"context"
	"runtime"

	"abxdash/client"
)

// Launcher starts sandboxes. There is none on this system.
type Launcher struct{}

// NewLauncher fails with E8004: local sandboxes need Linux or macOS.
func NewLauncher() (*Launcher, error) { return nil, unsupported() }

// Close does nothing.
func (l *Launcher) Close() error { return nil }

// KeepSpare does nothing.
func (l *Launcher) KeepSpare() {}

// Start fails with E8004.
func (l *Launcher) Start(context.Context, Config) (*Sandbox, error) { return nil, unsupported() }

// Probe fails with E8004.
func (l *Launcher) Probe(context.Context, client.Isolation) (Result, error) {
	return Result{}, unsupported()
}

// KillByIdentity fails with E8004.
func KillByIdentity(context.Context, client.Isolation, Identity) error { return unsupported() }

// IsInit is always false.
func IsInit() bool { return false }

// InitMain is never called.
func InitMain() {}

type hold struct{}

func (s *Sandbox) kill(context.Context) error { return unsupported() }

func (s *Sandbox) pause(context.Context) error { return unsupported() }

func (s *Sandbox) resume(context.Context) error { return unsupported() }

func (s *Sandbox) usage(context.Context) (Usage, error) { return Usage{}, unsupported() }

func (s *Sandbox) setEgress(Egress) error { return unsupported() }

func (s *Sandbox) diskUse(context.Context) (uint64, error) { return 0, unsupported() }

// SweepGroups has nothing to do here.
func SweepGroups() error { return nil }

func unsupported() *client.Error {
	return &client.Error{
		Op: "local sandbox", Provider: "local", Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
		Message: "local sandboxes need Linux or macOS, this is " + runtime.GOOS,
		Hint:    "use a remote provider",
	}
}

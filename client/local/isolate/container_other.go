//go:build !linux

package isolate

import (
	"context"

	"abxdash/client"
)

// Containers starts sandboxes of level container. There are none on this system.
type Containers struct{}

// Container is a sandbox of level container.
type Container struct{}

// NewContainers fails with E9011: level container needs Linux.
func NewContainers(ContainerConfig) (*Containers, error) {
	return nil, unavailable("prepare containers", "isolation level container needs Linux", "")
}

// Close does nothing.
func (c *Containers) Close() error { return nil }

// Ready fails with E9011.
func (c *Containers) Ready(context.Context) error { return noContainers() }

// HasImage fails with E9011.
func (c *Containers) HasImage(context.Context) (bool, error) { return false, noContainers() }

// Fetch fails with E9011.
func (c *Containers) Fetch(context.Context, string) error { return noContainers() }

// Probe fails with E9011.
func (c *Containers) Probe(context.Context) (Result, error) { return Result{}, noContainers() }

// Start fails with E9011.
func (c *Containers) Start(context.Context, Config) (*Container, error) { return nil, noContainers() }

// Sweep has nothing to do here.
func (c *Containers) Sweep(context.Context) error { return nil }

// KillByIdentity has nothing to do here.
func (c *Containers) KillByIdentity(context.Context, Identity) error { return nil }

// PID is 0.
func (s *Container) PID() int { return 0 }

// StartTime is 0.
func (s *Container) StartTime() uint64 { return 0 }

// Done is never closed.
func (s *Container) Done() <-chan struct{} { return nil }

// Kill fails with E9011.
func (s *Container) Kill(context.Context) error { return noContainers() }

// Pause fails with E9011.
func (s *Container) Pause(context.Context) error { return noContainers() }

// Resume fails with E9011.
func (s *Container) Resume(context.Context) error { return noContainers() }

// Means is empty.
func (s *Container) Means() Means { return Means{} }

// Usage fails with E9011.
func (s *Container) Usage(context.Context) (Usage, error) { return Usage{}, noContainers() }

// DiskUse fails with E9011.
func (s *Container) DiskUse(context.Context) (uint64, error) { return 0, noContainers() }

// SetEgress fails with E9011.
func (s *Container) SetEgress(Egress) error { return noContainers() }

// IsContainerInit is always false.
func IsContainerInit() bool { return false }

// ContainerMain is never called.
func ContainerMain() {}

func noContainers() *client.Error {
	return unavailable("local sandbox", "isolation level container needs Linux", "")
}

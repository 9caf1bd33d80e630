package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Container is one running sandbox of level container, held by the process that
// started it. Its methods mean what those of [Sandbox] do.
type Container struct {
	c *Containers
	// container is the engine's id.
	container string
	id        Identity
	limits    Limits
	means     Means

	life     *os.File
	lifeOnce sync.Once
	alive    *os.File
	ctl      *control
	egress   *egress
	turn     chan struct{} // taken by whoever pauses or resumes
	paused   atomic.Bool
	done     chan struct{}
	err      error // valid after done
}

func newContainer(c *Containers, container string, l Limits, p *parts) *Container {
	s := &Container{
		c: c, container: container, limits: l, life: p.life, alive: p.alive, ctl: newControl(p.control), egress: p.egress,
		turn: make(chan struct{}, 1), done: make(chan struct{}),
		means: Means{Pause: ByContainer, PIDs: ByContainer, Kill: "pid namespace", Files: "container"},
	}
	if l.MemoryMB > 0 {
		s.means.Memory = ByContainer
	}
	if c.seccomp.Load() {
		s.means.SystemCalls = ByFilter
	}
	if l.CPUs > 0 {
		s.means.CPU = ByContainer
	}
	return s
}

// bringUp configures init and waits until it serves.
func (s *Container) bringUp(ctx context.Context, conf initConfig, p *parts) error {
	defer bound(ctx, p.status, s.life)()
	err := sendConfig(s.life, conf)
	if answer := readStatus(p.status); answer != nil || err == nil {
		err = answer // init's own words tell more than a broken pipe
	}
	if err == nil && s.egress != nil {
		err = s.egress.serve()
	}
	if err != nil {
		return err
	}
	go s.watch()
	return nil
}

// abandon ends a container that did not come up; nobody watches it.
func (s *Container) abandon(ctx context.Context) error {
	err := s.c.engine.RemoveContainer(ctx, s.container)
	s.release()
	return err
}

func (s *Container) release() {
	s.closeLife()
	s.ctl.close()
	s.egress.close()
	_ = s.alive.Close()
}

func (s *Container) closeLife() { s.lifeOnce.Do(func() { _ = s.life.Close() }) }

// removePatience bounds the removal of a container that has ended.
const removePatience = 20 * time.Second

// watch waits for the end, whoever brings it about, and removes what the engine has.
func (s *Container) watch() {
	_, _ = io.Copy(io.Discard, s.alive)
	// Init's files close before the kernel has ended the rest, its status comes after.
	_ = gone(context.Background(), s.id) // it cannot fail
	ctx, cancel := context.WithTimeout(context.Background(), removePatience)
	defer cancel()
	// An engine that does not answer removes it when it is back.
	s.err = s.c.engine.RemoveContainer(ctx, s.container)
	s.release()
	close(s.done)
}

// PID is the host's id of the container's first process.
func (s *Container) PID() int { return s.id.PID }

// StartTime tells two processes of the same PID apart, see [Identity].
func (s *Container) StartTime() uint64 { return s.id.StartTime }

// Identity is PID and StartTime together.
func (s *Container) Identity() Identity { return s.id }

// ContainerID is the engine's id.
func (s *Container) ContainerID() string { return s.container }

// Done is closed when nothing of the sandbox runs any more.
func (s *Container) Done() <-chan struct{} { return s.done }

// Err says why the engine may still have something of it, nil if it has not. It
// is valid after Done.
func (s *Container) Err() error { return s.err }

// Kill ends the sandbox and returns once nothing of it runs.
func (s *Container) Kill(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	default:
	}
	// At once, and without an engine. What is frozen takes the engine to end.
	killErr := signalIdentity(s.id, syscall.SIGKILL)
	s.closeLife()
	remove, cancel := context.WithTimeout(ctx, removePatience)
	defer cancel()
	err := errors.Join(s.c.engine.RemoveContainer(remove, s.container), killErr)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("kill the sandbox: %w", ctx.Err()), err)
	}
}

// Pause freezes everything, the agent too: nothing answers until Resume.
func (s *Container) Pause(ctx context.Context) error {
	return s.change(ctx, "pause a local sandbox", true, s.c.engine.PauseContainer)
}

// Resume undoes Pause; without one it does nothing.
func (s *Container) Resume(ctx context.Context) error {
	return s.change(ctx, "resume a local sandbox", false, s.c.engine.UnpauseContainer)
}

func (s *Container) change(ctx context.Context, op string, to bool, do func(context.Context, string) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-s.done:
		return opError(op, errEnded)
	case <-ctx.Done():
		return opError(op, ctx.Err())
	}
	defer func() { <-s.turn }()
	if s.paused.Load() == to {
		return nil
	}
	if err := do(ctx, s.container); err != nil {
		return opError(op, err)
	}
	s.paused.Store(to)
	return nil
}

// Paused reports whether Pause is in force.
func (s *Container) Paused() bool { return s.paused.Load() }

// Means says by what the sandbox is paused, limited and ended.
func (s *Container) Means() Means { return s.means }

// Usage measures the commands from inside, the agent left out. It does not
// answer while paused.
func (s *Container) Usage(ctx context.Context) (Usage, error) {
	r, err := s.ctl.call(ctx, opUsage)
	if err != nil {
		return Usage{}, opError("measure a local sandbox", err)
	}
	u := *r.Usage
	if s.limits.MemoryMB > 0 {
		u.MemoryLimit = new(uint64(s.limits.MemoryMB) << 20)
	}
	return u, nil
}

// DiskUse is what the home takes on disk, in bytes. It does not answer while paused.
func (s *Container) DiskUse(ctx context.Context) (uint64, error) {
	r, err := s.ctl.call(ctx, opDisk)
	if err != nil {
		return 0, opError("measure the home of a local sandbox", err)
	}
	return r.Bytes, nil
}

// SetEgress replaces what [NetworkProxy] lets through, from the next connection
// on. A sandbox of another network has nothing to set: E9003.
func (s *Container) SetEgress(e Egress) error { return s.egress.set(e) }

//go:build linux || darwin

package isolate

import (
	"context"
	"errors"
	"sync"

	"abxdash/client"
)

// hold is what the launcher has of a sandbox beside its first process.
type hold struct {
	ctl *control
	// group is nil where no cgroup can be made.
	group *group
	// mu guards egress until the start is over, and over.
	mu sync.Mutex
	// egress is nil without a proxy.
	egress *egress
	// over is set when the first process has ended.
	over bool
	// turn is taken by whoever pauses or resumes.
	turn chan struct{}
}

func (s *Sandbox) takeTurn(ctx context.Context) error {
	select {
	case <-s.done: // chosen before the turn when both can be had
		return errEnded
	default:
	}
	select {
	case s.hold.turn <- struct{}{}:
		return nil
	case <-s.done:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errEnded = errors.New("the sandbox has ended")

func (s *Sandbox) pause(ctx context.Context) error {
	const op = "pause a local sandbox"
	if err := s.takeTurn(ctx); err != nil {
		return opError(op, err)
	}
	defer func() { <-s.hold.turn }()
	if s.paused.Load() {
		return nil
	}
	if err := s.freeze(ctx); err != nil {
		// Half a pause is undone, whatever became of ctx.
		s.thaw(context.WithoutCancel(ctx))
		return opError(op, err)
	}
	s.paused.Store(true)
	return nil
}

// freeze stops the commands by the better means.
func (s *Sandbox) freeze(ctx context.Context) error {
	if !s.hold.group.canFreeze() {
		_, err := s.hold.ctl.call(ctx, opStop)
		return err
	}
	if _, err := s.hold.ctl.call(ctx, opHold); err != nil {
		return err
	}
	return s.hold.group.freeze(ctx)
}

func (s *Sandbox) resume(ctx context.Context) error {
	const op = "resume a local sandbox"
	if err := s.takeTurn(ctx); err != nil {
		return opError(op, err)
	}
	defer func() { <-s.hold.turn }()
	if !s.paused.Load() {
		return nil
	}
	if err := s.thawErr(ctx); err != nil {
		return opError(op, err)
	}
	s.paused.Store(false)
	return nil
}

func (s *Sandbox) thawErr(ctx context.Context) error {
	if s.hold.group.canFreeze() {
		if err := s.hold.group.thaw(); err != nil {
			return err
		}
	}
	_, err := s.hold.ctl.call(ctx, opResume)
	return err
}

// thaw is thawErr with a limit, for a pause that failed.
func (s *Sandbox) thaw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	_ = s.thawErr(ctx)
}

func (s *Sandbox) usage(ctx context.Context) (Usage, error) {
	u, complete := s.hold.group.usage()
	if complete {
		return u, nil
	}
	r, err := s.hold.ctl.call(ctx, opUsage)
	if err != nil {
		return u, opError("measure a local sandbox", err)
	}
	return r.Usage.with(u), nil
}

// with puts what is known better in its place.
func (u Usage) with(better Usage) Usage {
	if better.CPUSource != "" {
		u.CPU, u.CPUSource = better.CPU, better.CPUSource
	}
	if better.Memory != nil {
		u.Memory, u.MemorySource = better.Memory, better.MemorySource
	}
	if better.PIDs != nil {
		u.PIDs, u.PIDsSource = better.PIDs, better.PIDsSource
	}
	u.MemoryLimit = better.MemoryLimit
	return u
}

func (s *Sandbox) diskUse(ctx context.Context) (uint64, error) {
	r, err := s.hold.ctl.call(ctx, opDisk)
	if err != nil {
		return 0, opError("measure the home of a local sandbox", err)
	}
	return r.Bytes, nil
}

// opError is a failure of a running sandbox.
func opError(op string, err error) error {
	code := client.CodeOf(err)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		code = client.CodeLocalServer
	}
	return &client.Error{Op: op, Provider: "local", Code: code, Err: err}
}

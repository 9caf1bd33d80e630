package stream

import (
	"context"
	"sync"
	"time"
)

// Frame is the shortest time between two wake-ups of [Signal.WaitFrame]: the
// renderer does not draw more often either.
const Frame = 16 * time.Millisecond

// Signal says "something changed" to one waiter. It holds at most one pending
// wake-up, so writers never block and never queue. Use [NewSignal].
type Signal struct {
	ch chan struct{}

	mu   sync.Mutex
	last time.Time // when WaitFrame last returned
}

// NewSignal returns a signal with nothing pending.
func NewSignal() *Signal { return &Signal{ch: make(chan struct{}, 1)} }

// Set marks the signal dirty and wakes the waiter. It never blocks. A nil signal ignores it.
func (s *Signal) Set() {
	if s == nil {
		return
	}
	select {
	case s.ch <- struct{}{}:
	default:
	}
}

// C is the channel behind the signal, for a select over several things.
func (s *Signal) C() <-chan struct{} { return s.ch }

// Wait blocks until the signal is set and takes it, or returns ctx's error.
func (s *Signal) Wait(ctx context.Context) error {
	select {
	case <-s.ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WaitFrame is Wait, but returns at most once per [Frame]. What is set while it
// waits out the frame is part of the same wake-up.
func (s *Signal) WaitFrame(ctx context.Context) error {
	if err := s.Wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	rest := Frame - time.Since(s.last)
	s.mu.Unlock()
	if rest > 0 {
		t := time.NewTimer(rest)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-s.ch:
		default:
		}
	}
	s.mu.Lock()
	s.last = time.Now()
	s.mu.Unlock()
	return nil
}

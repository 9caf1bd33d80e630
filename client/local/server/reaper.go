package server

import (
	"context"
	"time"
)

// reap ends sandboxes whose time is up. It returns when ctx ends, the server
// is stopped, or the server has been idle for long enough.
func (s *Server) reap(ctx context.Context) {
	for {
		expired, tired, next, idle := s.plan(s.clock.Now())
		for _, b := range tired {
			s.work.Go(func() { s.autoPause(b) })
		}
		for _, b := range expired {
			s.log.Info("lifetime over", "sandbox", b.id)
			s.work.Go(func() {
				// A failure is logged there, and the sandbox stays for another try.
				_ = s.end(b)
			})
		}
		if idle {
			s.log.Info("idle, ending")
			return
		}
		var timer <-chan time.Time
		cancel := func() {}
		if next > 0 {
			timer, cancel = s.clock.After(next)
		}
		select {
		case <-ctx.Done():
			cancel()
			return
		case <-s.life.Done():
			cancel()
			return
		case <-s.wake:
		case <-timer:
		}
		cancel()
	}
}

// plan marks sandboxes whose time is up as being killed and returns them, and
// those that are to be paused instead, with the wait until the next deadline (0 is none). idle means that the server has
// now decided to end: it takes no new sandbox from here on.
func (s *Server) plan(now time.Time) (expired, tired []*box, next time.Duration, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	consider := func(d time.Duration) {
		d = max(d, time.Millisecond)
		if next == 0 || d < next {
			next = d
		}
	}
	for _, b := range s.boxes {
		if b.state != boxRunning {
			continue
		}
		at := b.endAt
		if b.retryAt.After(at) {
			at = b.retryAt
		}
		if !at.After(now) && b.autoPause {
			// Until the pause has begun, the next look leaves it alone.
			b.retryAt = now.Add(pauseTimeout)
			tired = append(tired, b)
			continue
		}
		if !at.After(now) {
			b.state = boxKilling
			expired = append(expired, b)
			continue
		}
		consider(min(at.Sub(now), wallCheck))
	}
	if len(s.boxes) > 0 || s.open > 0 || s.opt.IdleAfter < 0 {
		return expired, tired, next, false
	}
	at := s.idleSince.Add(s.opt.IdleAfter)
	if s.holdUntil.After(at) {
		at = s.holdUntil
	}
	left := at.Sub(now)
	if left <= 0 {
		s.draining = true
		return expired, tired, 0, true
	}
	consider(left)
	return expired, tired, next, false
}

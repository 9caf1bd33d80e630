package server

import (
	"context"
	"net/http"
	"time"
)

// Pauser is an [Instance] that can stand still.
type Pauser interface {
	// Pause returns when every command stands still. The agent goes on.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
}

const (
	// pauseTimeout bounds one pause or resume.
	pauseTimeout = 20 * time.Second
	// wakeLifetime is the new lifetime of a sandbox that traffic woke, if its
	// first one was shorter (e2b-protocol §6.5).
	wakeLifetime = 5 * time.Minute
)

// takeTurn waits until no other pause, resume or snapshot of b is under way.
func (b *box) takeTurn(ctx context.Context) *apiError {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return refuse(http.StatusServiceUnavailable, "sandbox %q is busy", b.id)
	}
}

func (b *box) endTurn() { <-b.turn }

// move changes the state if it is still from; false means that somebody else
// changed it, which is only ever a kill.
func (s *Server) move(b *box, from, to boxState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.state != from {
		return false
	}
	b.state = to
	return true
}

func (s *Server) stateOf(b *box) boxState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.state
}

func notFound(b *box) *apiError {
	return refuse(http.StatusNotFound, "sandbox %q not found", b.id)
}

// pause makes b stand still (e2b-protocol §3.6). Its lifetime stands still, too.
func (s *Server) pause(ctx context.Context, b *box, why string) *apiError {
	p, ok := b.inst.(Pauser)
	if !ok {
		return refuse(http.StatusNotImplemented, "pausing a sandbox is not offered by the local server here")
	}
	if e := b.takeTurn(ctx); e != nil {
		return e
	}
	defer b.endTurn()
	if !s.move(b, boxRunning, boxPausing) {
		if s.stateOf(b) == boxPaused {
			return refuse(http.StatusConflict, "sandbox %q is already paused", b.id)
		}
		return notFound(b)
	}
	// A caller that goes away does not leave it half paused.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTimeout)
	defer cancel()
	if err := p.Pause(ctx); err != nil {
		s.log.Error("pause failed", "sandbox", b.id, "err", err)
		b.logs.add(s.clock.Now(), levelError, "pausing failed", nil)
		if !s.move(b, boxPausing, boxRunning) {
			return notFound(b)
		}
		return refuse(http.StatusInternalServerError, "cannot pause sandbox %q: %s", b.id, err)
	}
	s.mu.Lock()
	if b.state != boxPausing {
		s.mu.Unlock()
		return notFound(b)
	}
	now := s.clock.Now()
	b.state, b.endAt = boxPaused, now
	s.mu.Unlock()
	s.nudge()
	b.logs.add(now, levelInfo, "paused", map[string]string{"reason": why})
	s.log.Info("paused", "sandbox", b.id, "reason", why)
	return nil
}

// resume starts a new run of a paused b with that lifetime; a running one is
// left alone. It waits for a pause under way.
func (s *Server) resume(ctx context.Context, b *box, lifetime time.Duration) (resumed bool, e *apiError) {
	if e := b.takeTurn(ctx); e != nil {
		return false, e
	}
	defer b.endTurn()
	if !s.move(b, boxPaused, boxPausing) {
		if s.stateOf(b) == boxRunning {
			return false, nil
		}
		return false, notFound(b)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTimeout)
	defer cancel()
	if err := b.inst.(Pauser).Resume(ctx); err != nil {
		s.log.Error("resume failed", "sandbox", b.id, "err", err)
		if !s.move(b, boxPausing, boxPaused) {
			return false, notFound(b)
		}
		return false, refuse(http.StatusInternalServerError, "cannot resume sandbox %q: %s", b.id, err)
	}
	s.mu.Lock()
	if b.state != boxPausing {
		s.mu.Unlock()
		return false, notFound(b)
	}
	now := s.clock.Now()
	b.state, b.run, b.endAt = boxRunning, now, now.Add(lifetime)
	s.mu.Unlock()
	s.nudge()
	b.logs.add(now, levelInfo, "resumed", nil)
	s.log.Info("resumed", "sandbox", b.id, "lifetime", lifetime)
	return true, nil
}

// autoPause pauses b at the end of its lifetime. One that cannot be paused is
// tried again, because ending it would lose what its owner wanted kept.
func (s *Server) autoPause(b *box) {
	if e := s.pause(context.Background(), b, "lifetime over"); e == nil || e.Code != http.StatusInternalServerError {
		return
	}
	s.mu.Lock()
	b.retryAt = s.clock.Now().Add(killRetry)
	s.mu.Unlock()
	s.nudge()
}

// wakeFor resumes a paused sandbox for traffic, if it may. The answer tells
// whether the request can go on.
func (s *Server) wakeFor(ctx context.Context, b *box) bool {
	switch s.stateOf(b) {
	case boxRunning:
		return true
	case boxPaused, boxPausing:
	default:
		return false
	}
	if !b.autoResume {
		return false
	}
	_, e := s.resume(ctx, b, max(b.lifetime, wakeLifetime))
	return e == nil
}

type pauseBody struct {
	Memory *bool `json:"memory"`
}

func (s *Server) handlePause(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[pauseBody](w, r, true)
	if e == nil && body.Memory != nil && !*body.Memory {
		e = refuse(http.StatusBadRequest, "memory: false is not offered by the local server: a paused sandbox keeps its processes")
	}
	if e == nil {
		e = s.pause(r.Context(), b, "asked for")
	}
	s.answerEmpty(w, e)
}

func (s *Server) handleConnect(v version) func(http.ResponseWriter, *http.Request, *box) {
	return func(w http.ResponseWriter, r *http.Request, b *box) {
		body, e := readBody[timeoutBody](w, r, v.connectTimeout > 0)
		lifetime := v.connectTimeout
		switch {
		case e != nil:
		case body.Timeout != nil:
			lifetime = time.Duration(*body.Timeout) * time.Second
			e = checkSeconds("timeout", *body.Timeout, 0)
		case lifetime == 0:
			e = refuse(http.StatusBadRequest, "timeout is required")
		}
		status := http.StatusOK
		if e == nil && s.stateOf(b) != boxRunning {
			var resumed bool
			if resumed, e = s.resume(r.Context(), b, lifetime); resumed {
				status = http.StatusCreated
			}
		}
		if e == nil && status == http.StatusOK {
			e = s.setEnd(b, lifetime, false)
		}
		if e != nil {
			writeError(w, e)
			return
		}
		writeJSON(w, status, s.sandbox(b))
	}
}

// handleResume is the deprecated way (e2b-protocol §3.7): a running sandbox is a conflict.
func (s *Server) handleResume(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[timeoutBody](w, r, true)
	lifetime := defaultTimeout
	if e == nil && body.Timeout != nil {
		lifetime = time.Duration(*body.Timeout) * time.Second
		e = checkSeconds("timeout", *body.Timeout, 0)
	}
	if e == nil {
		var resumed bool
		if resumed, e = s.resume(r.Context(), b, lifetime); e == nil && !resumed {
			e = refuse(http.StatusConflict, "sandbox %q is already running", b.id)
		}
	}
	if e != nil {
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusCreated, s.sandbox(b))
}

package server

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// maxFork is the most copies of one call (e2b-protocol §3).
const maxFork = 100

// forkJSON is ForkResult: one of the two.
type forkJSON struct {
	Sandbox *sandboxJSON `json:"sandbox,omitempty"`
	Error   *apiError    `json:"error,omitempty"`
}

// handleFork starts sandboxes with a copy of a running one's files, environment,
// network and limits. Memory and processes are not copied: the template's start
// command, if it has one, starts anew.
func (s *Server) handleFork(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[struct {
		Timeout *int64 `json:"timeout"`
		Count   *int   `json:"count"`
	}](w, r, true)
	count, lifetime := 1, defaultTimeout
	if e == nil && body.Count != nil {
		if count = *body.Count; count < 1 || count > maxFork || count >= s.opt.MaxSandboxes {
			e = refuse(http.StatusBadRequest, "count must be between 1 and %d", min(maxFork, s.opt.MaxSandboxes-1))
		}
	}
	if e == nil && body.Timeout != nil {
		lifetime = time.Duration(*body.Timeout) * time.Second
		e = checkSeconds("timeout", *body.Timeout, 1)
	}
	var out []forkJSON
	if e == nil {
		out, e = s.fork(r.Context(), b, count, lifetime)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusCreated, out)
}

func (s *Server) fork(ctx context.Context, b *box, count int, lifetime time.Duration) ([]forkJSON, *apiError) {
	home, e := s.forkHome(ctx, b)
	if e != nil {
		return nil, e
	}
	defer func() {
		if err := removeTree(home); err != nil {
			s.log.Error("folder left", "path", home, "err", err)
		}
	}()
	req := b.req
	req.source.home = home
	req.Folders = b.req.mounts()   // copies are in the home by now
	if b.network == NetworkProxy { // the rules of now, also where there are none any more
		s.mu.Lock()
		rules, internet := b.rules, b.internet
		s.mu.Unlock()
		req.Network = rules
		req.egress = egressOf(&req.Network, &internet)
		req.AllowInternetAccess = &internet
	}
	out := make([]forkJSON, 0, count)
	for range count {
		made, err := s.create(ctx, req, lifetime)
		if err != nil {
			out = append(out, forkJSON{Error: s.failedCreate(err)})
			continue
		}
		sb := s.sandbox(made)
		out = append(out, forkJSON{Sandbox: &sb})
	}
	b.logs.add(s.clock.Now(), levelInfo, "forked", nil)
	return out, nil
}

// forkHome copies the home at one moment into a folder of the instance.
func (s *Server) forkHome(ctx context.Context, b *box) (string, *apiError) {
	if e := b.takeTurn(ctx); e != nil {
		return "", e
	}
	defer b.endTurn()
	switch s.stateOf(b) {
	case boxRunning:
	case boxPaused:
		return "", refuse(http.StatusConflict, "sandbox %q is paused", b.id)
	default:
		return "", notFound(b)
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	home, err := os.MkdirTemp(s.opt.Dir, tempPrefix)
	if err == nil {
		err = s.copyStill(ctx, b, home)
	}
	if err != nil {
		s.log.Error("fork failed", "sandbox", b.id, "err", err)
		if home != "" {
			_ = removeTree(home)
		}
		return "", refuse(http.StatusInternalServerError, "cannot copy sandbox %q: %s", b.id, err)
	}
	return filepath.Clean(home), nil
}

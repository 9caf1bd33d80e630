package server

import (
	"net/http"
	"os"
)

// Paths of our own beside the protocol's.
const (
	PathStatus = "/abxdash/status"
	PathStop   = "/abxdash/stop"
)

// StatusJSON is the answer to GET [PathStatus].
type StatusJSON struct {
	PID             int    `json:"pid"`
	Version         string `json:"version"`
	Protocol        int    `json:"protocol"`
	Isolation       string `json:"isolation"`
	IsolationReason string `json:"isolation_reason"`
	Sandboxes       int    `json:"sandboxes"`
	Ending          bool   `json:"ending"`
}

// StopJSON is the body of POST [PathStop].
type StopJSON struct {
	// Force ends sandboxes; without it a server that holds one refuses with 409.
	Force bool `json:"force"`
}

func (s *Server) handleStatus(w http.ResponseWriter, r *http.Request) {
	if !s.held(r) {
		writeError(w, errEnding)
		return
	}
	s.mu.Lock()
	st := StatusJSON{
		PID: os.Getpid(), Version: s.opt.Version, Protocol: Protocol,
		Isolation: string(s.opt.Isolation), IsolationReason: s.opt.IsolationReason,
		Sandboxes: len(s.boxes), Ending: s.draining,
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, st)
}

func (s *Server) handleStop(w http.ResponseWriter, r *http.Request) {
	body, e := readBody[StopJSON](w, r, true)
	if e != nil {
		writeError(w, e)
		return
	}
	s.mu.Lock()
	n := len(s.boxes)
	if n == 0 || body.Force {
		s.draining = true
	}
	s.mu.Unlock()
	if n > 0 && !body.Force {
		writeError(w, refuse(http.StatusConflict, "the local server holds %d sandbox(es)", n))
		return
	}
	s.log.Info("told to stop", "sandboxes", n)
	w.WriteHeader(http.StatusAccepted)
	s.Stop()
}

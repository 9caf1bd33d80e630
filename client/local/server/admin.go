package server

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"abxdash/client"
)

// Paths of our own beside the protocol's.
const (
	PathStatus = "/abxdash/status"
	PathStop   = "/abxdash/stop"
	// PathCancelBuild takes a POST of [CancelBuildJSON].
	PathCancelBuild = "/abxdash/cancel-build"
)

// StatusJSON is the answer to GET [PathStatus].
type StatusJSON struct {
	PID             int    `json:"pid"`
	Version         string `json:"version"`
	Protocol        int    `json:"protocol"`
	Isolation       string `json:"isolation"`
	IsolationReason string `json:"isolation_reason"`
	// Image is what sandboxes of level container run in.
	Image     string `json:"image,omitempty"`
	Sandboxes int    `json:"sandboxes"`
	Ending    bool   `json:"ending"`
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
		Image: s.opt.Image, Sandboxes: len(s.boxes), Ending: s.draining,
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, st)
}

// maxNamed is how many sandboxes a refusal to stop names.
const maxNamed = 8

// holds names what would end with the server, newest first. Names are what a user
// gave: whoever shows the text cleans it.
func (s *Server) holds() string {
	var names []string
	for _, b := range s.visible() {
		name := b.id
		if n := b.metadata[client.MetaName]; n != "" {
			name = shorten(n) + " (" + b.id + ")"
		}
		names = append(names, name)
	}
	s.mu.Lock()
	hidden := len(s.boxes) - len(names)
	s.mu.Unlock()
	text := fmt.Sprintf("%d sandbox(es)", len(names))
	if len(names) > 0 {
		text += ": " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	}
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if hidden > 0 {
		text += fmt.Sprintf("; and %d that start, end or build a template", hidden)
	}
	return text
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
		writeError(w, refuse(http.StatusConflict, "the local server holds %s", s.holds()))
		return
	}
	s.log.Info("told to stop", "sandboxes", n)
	w.WriteHeader(http.StatusAccepted)
	s.Stop()
}

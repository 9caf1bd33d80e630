//go:build unix

package expresstest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Ports of a sandbox (alicloud-express §4).
const (
	portAgent = 49983
	portCode  = 49999
	portApp   = 9000
)

// target tells whether a call goes into a sandbox: by the left-most label of
// its host, or on an address without one by the routing headers
// (e2b-protocol §6.1).
func (s *Server) target(r *http.Request) (id string, port int, data bool) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if net.ParseIP(host) != nil || host == "localhost" {
		id = r.Header.Get("E2b-Sandbox-Id")
		port, err = strconv.Atoi(r.Header.Get("E2b-Sandbox-Port"))
		return id, port, id != "" && err == nil
	}
	label, _, _ := strings.Cut(host, ".")
	number, id, ok := strings.Cut(label, "-")
	port, err = strconv.Atoi(number)
	return id, port, ok && err == nil
}

// edgeError is an error of the edge (e2b-protocol §6.2).
func edgeError(w http.ResponseWriter, status int, id, message string, port int) {
	body := map[string]any{"sandboxId": id, "message": message, "code": status}
	if port > 0 {
		body["port"] = port
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// edge passes a call into a sandbox.
func (s *Server) edge(w http.ResponseWriter, r *http.Request, id string, port int) {
	s.mu.Lock()
	b := s.boxes[id]
	sw := s.sw
	var conn context.Context
	if b != nil {
		conn = b.conn
	}
	gone := b == nil || b.paused
	s.mu.Unlock()
	if gone {
		edgeError(w, http.StatusBadGateway, id, "The sandbox was not found", 0)
		return
	}
	if port != portAgent {
		if b.traffic != "" && r.Header.Get("E2b-Traffic-Access-Token") != b.traffic {
			edgeError(w, http.StatusForbidden, id, "the traffic access token is missing or wrong", 0)
			return
		}
		if b.token != "" && r.Header.Get("X-Access-Token") != b.token {
			edgeError(w, http.StatusForbidden, id, "the access token is missing or wrong", 0)
			return
		}
	}
	var h http.Handler
	switch port {
	case portAgent:
		h = b.agent.Handler
	case portCode:
		h = b.code
	case portApp:
		h = b.app
	}
	if h == nil || port == portApp && sw.NoServer {
		edgeError(w, http.StatusBadGateway, id, "The sandbox is running but port is not open", port)
		return
	}
	if reservedPath(r.URL.Path) && port == portAgent {
		edgeError(w, http.StatusNotFound, id, "not found", 0)
		return
	}
	if port == portApp {
		// WebSockets take the connection over, which a wrapper would hide.
		h.ServeHTTP(w, r)
		return
	}
	s.pass(w, r, b, conn, h, sw)
}

// reservedPath are private calls of the host (e2b-protocol §6.4).
func reservedPath(path string) bool {
	switch path {
	case "/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade":
		return true
	}
	return false
}

// pass serves a call until the sandbox's connections are reset; then it breaks
// it off, as the real edge does.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, b *box, conn context.Context, h http.Handler, sw Switches) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(conn, cancel)
	defer stop()
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/connect+") {
		// Streams only: a call that is refused before its body was read must not
		// leave that to the next one.
		_ = http.NewResponseController(w).EnableFullDuplex() // where it cannot, nothing is lost
	}
	ew := &edgeWriter{ResponseWriter: w, conn: conn, box: b, ctx: r.Context()}
	if strings.HasSuffix(r.URL.Path, "/Start") || strings.HasSuffix(r.URL.Path, "/Connect") {
		ew.slow, ew.cut, ew.seen = sw.SlowStream, sw.CutStream, sw.OnFrame
	}
	h.ServeHTTP(ew, r.WithContext(ctx))
	if b.silent.Load() {
		<-r.Context().Done() // the caller gives up, nobody else does
	}
	if conn.Err() != nil || ew.broken {
		panic(http.ErrAbortHandler)
	}
}

// edgeWriter is the way back out of a sandbox.
type edgeWriter struct {
	http.ResponseWriter
	ctx    context.Context //nolint:containedctx // that of the call
	conn   context.Context //nolint:containedctx // that of the sandbox
	box    *box
	slow   time.Duration
	cut    int
	sent   int
	broken bool
	seen   func([]byte)
}

func (w *edgeWriter) Write(p []byte) (int, error) {
	if w.box.silent.Load() {
		return len(p), nil
	}
	if w.conn.Err() != nil || w.broken {
		return 0, net.ErrClosed
	}
	if w.slow > 0 {
		t := time.NewTimer(w.slow)
		defer t.Stop()
		select {
		case <-t.C:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	if w.seen != nil {
		w.seen(p)
	}
	if w.cut > 0 && w.sent+len(p) >= w.cut {
		n, err := w.ResponseWriter.Write(p[:w.cut-w.sent])
		w.sent, w.broken = w.cut, true
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		if err == nil {
			err = net.ErrClosed
		}
		return n, err
	}
	n, err := w.ResponseWriter.Write(p)
	w.sent += n
	return n, err
}

// Flush and Unwrap keep what handlers look for.
func (w *edgeWriter) Flush() {
	if !w.box.silent.Load() {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

func (w *edgeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

//go:build unix

package expresstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is the API key that the server takes. It is made up.
const Key = "e2b_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"

// Domain is the base domain of the server's hosts; [Server.Dial] leads there.
const Domain = "cn-test.sandbox.test"

// Switches vary what Express does. The zero value is generation 1 of a team
// that is on no allow list.
type Switches struct {
	// Generation is 1 (also for 0) or 2.
	Generation int
	// Pause and Snapshots put the team on the allow list; generation 2 pauses anyway.
	Pause, Snapshots bool
	// Metrics gives the sandboxes a history.
	Metrics bool
	// RefusedWith is the status of calls that are not offered; 0 is 404 with the
	// text of a missing route.
	RefusedWith int
	// V2Status, if not 0, is the status of every /v2 call, e.g. 405.
	V2Status int
	// Extra adds unknown fields to every sandbox and unknown states to lists.
	Extra bool
	// KillMissing is the status of killing what is not there; 0 is 404.
	KillMissing int
	// MinLifetime is the shortest lifetime; 0 is 60 s, negative none.
	MinLifetime time.Duration
	// PageSize bounds a page; 0 is 100.
	PageSize int
	// SlowStream delays every piece of a command's stream.
	SlowStream time.Duration
	// CutStream breaks the connection after that many bytes of a command's stream.
	CutStream int
	// BuildSteps takes template builds with steps of their own; Express promises
	// those from an image only.
	BuildSteps bool
	// NoServer leaves port 9000 closed.
	NoServer bool
	// OnFrame is called with each piece written to a command's stream.
	OnFrame func([]byte)
	// Agent makes the agent of each sandbox; nil is one of our own.
	Agent func(token string, env map[string]string) (Agent, error)
}

// Agent is the agent of one sandbox.
type Agent struct {
	Handler http.Handler
	// Home is the user's home on this machine.
	Home string
	// Close ends the agent and what it started.
	Close func() error
}

// Fault answers calls instead of the server.
type Fault struct {
	// Method and Path select calls; "" fits all, Path is a prefix.
	Method, Path string
	// Data selects the data plane instead of the control plane.
	Data   bool
	Status int
	Header map[string]string
	Body   string
	// Times is how often it happens; 0 is for ever.
	Times int
	// Apply does the work before it answers.
	Apply bool
}

// Request is a call as the server saw it.
type Request struct {
	Method, Host, URI string
	Header            http.Header
	Body              []byte
	At                time.Time
}

// Server plays Express. Use [New].
type Server struct {
	// URL is the server's own address, for tests without host names.
	URL string

	t    host
	http *httptest.Server

	mu       sync.Mutex
	sw       Switches
	boxes    map[string]*box
	order    []*box
	shots    []snapshot
	recipes  []*recipe
	faults   []Fault
	requests []Request
	next     int
	closed   bool
}

// host is what a server needs of the test that it serves.
type host interface {
	TempDir() string
	Errorf(format string, args ...any)
	Cleanup(fn func())
}

// New starts a server that ends with the test.
func New(t testing.TB, sw Switches) *Server {
	t.Helper()
	return start(t, sw)
}

// Open starts a server for a program that is no test, such as an example. The
// returned function ends it. It panics where a test would fail.
func Open(sw Switches) (*Server, func()) {
	p := &program{}
	return start(p, sw), p.end
}

func start(t host, sw Switches) *Server {
	s := &Server{t: t, sw: sw, boxes: map[string]*box{}}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	t.Cleanup(s.close)
	return s
}

// program is the host of a server outside of a test.
type program struct {
	mu       sync.Mutex
	cleanups []func()
}

func (p *program) TempDir() string {
	dir, err := os.MkdirTemp("", "expresstest-")
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (p *program) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (p *program) Cleanup(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, fn)
}

// end runs the cleanups, the server's own first: it was the first to be added
// and the folders must outlive it.
func (p *program) end() {
	p.mu.Lock()
	fns := slices.Clone(p.cleanups)
	p.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}

func (s *Server) close() {
	s.mu.Lock()
	s.closed = true
	boxes := slices.Clone(s.order)
	s.mu.Unlock()
	for _, b := range boxes {
		s.end(b)
	}
	s.http.CloseClientConnections()
	s.http.Close()
}

// Dial leads every address to the server: a transport that uses it reaches
// http://api.<Domain> and http://<port>-<id>.<Domain> alike.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.http.Listener.Addr().String())
}

// Set changes the switches from now on.
func (s *Server) Set(change func(*Switches)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.sw)
}

func (s *Server) switches() Switches {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sw
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// ClearFaults drops all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Requests returns the calls whose path ends in suffix.
func (s *Server) Requests(suffix string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		path, _, _ := strings.Cut(r.URI, "?")
		if strings.HasSuffix(path, suffix) {
			out = append(out, r)
		}
	}
	return out
}

// Live returns how many sandboxes there are.
func (s *Server) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.order)
}

// maxKept bounds the body kept of a request.
const maxKept = 1 << 20

// ServeHTTP records the call and routes it by host (alicloud-express §4).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, port, data := s.target(r)
	rec := Request{Method: r.Method, Host: r.Host, URI: r.RequestURI, Header: r.Header.Clone(), At: time.Now()}
	if !data {
		// Streams of the data plane must not be waited for.
		body, err := io.ReadAll(io.LimitReader(r.Body, maxKept))
		if err != nil {
			return
		}
		rec.Body = body
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	s.mu.Lock()
	s.requests = append(s.requests, rec)
	f, hit := s.fault(r, data)
	s.mu.Unlock()
	if hit && f.Apply {
		s.route(httptest.NewRecorder(), r, id, port, data)
	}
	if hit {
		for k, v := range f.Header {
			w.Header().Set(k, v)
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	}
	s.route(w, r, id, port, data)
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, id string, port int, data bool) {
	if data {
		s.edge(w, r, id, port)
		return
	}
	s.control(w, r)
}

// fault takes the next fault that fits. The lock is held.
func (s *Server) fault(r *http.Request, data bool) (Fault, bool) {
	for i, f := range s.faults {
		if f.Data != data || f.Method != "" && f.Method != r.Method || !strings.HasPrefix(r.URL.Path, f.Path) {
			continue
		}
		if f.Times > 0 {
			if s.faults[i].Times--; s.faults[i].Times == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		return f, true
	}
	return Fault{}, false
}

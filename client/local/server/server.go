package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"abxdash/client"
)

// Protocol is the number both sides must agree on. It changes only when an
// older client could no longer talk to a newer server, or the reverse.
const Protocol = 1

// DefaultIdleAfter is how long a server without sandboxes stays (product.md §2).
const DefaultIdleAfter = 60 * time.Second

// DefaultMaxSandboxes keeps a program that creates in a loop from taking the
// whole machine.
const DefaultMaxSandboxes = 1000

const (
	// EnvdVersion is the agent version that sandboxes report when Options names none.
	EnvdVersion = "0.6.13"
	// defaultTimeout applies when a create names none (e2b-protocol §3.1).
	defaultTimeout = 15 * time.Second
	// maxLifetime is the plan maximum of the local server.
	maxLifetime = 30 * 24 * time.Hour
	// killTimeout bounds one attempt to end a sandbox; the reaper then tries again.
	killTimeout = 30 * time.Second
	killRetry   = 5 * time.Second
	// wallCheck bounds how long the reaper trusts a timer while sandboxes
	// live: timers stand still while the machine sleeps, lifetimes do not.
	wallCheck   = 30 * time.Second
	maxBody     = 16 << 20
	goodbyeTime = 3 * time.Second
	// holdTime is how long the server waits for a create that was announced.
	holdTime = 10 * time.Second
)

// Options configures a [Server].
type Options struct {
	Isolator Isolator
	// Isolation is the level the Isolator works at.
	Isolation client.Isolation
	// Image is what sandboxes of level container run in, "" at the others.
	Image string
	// IsolationReason says why it is not a stronger one.
	IsolationReason string
	// Dir is the instance folder; sandboxes live in Dir/sandboxes.
	Dir string
	// Version is the binary's version.
	Version string
	// Store is the folder of saved templates and snapshots; "" keeps none.
	Store string
	// PlaceOf says which folder outside the home a path is in that a sandbox can
	// have for itself (Spec.Places), "" for one where commands write anyway; nil
	// where there is only the home.
	PlaceOf func(path string) (string, error)
	// MaxSandboxes bounds how many there can be; 0 is [DefaultMaxSandboxes].
	MaxSandboxes int
	// EnvdVersion is what sandboxes report; "" is [EnvdVersion].
	EnvdVersion string
	// IdleAfter is 0 for DefaultIdleAfter and negative for never.
	IdleAfter time.Duration
	// Clock is nil for the SystemClock.
	Clock Clock
	// Logger is nil for none. No secret is ever given to it.
	Logger *slog.Logger
}

// Server holds sandboxes and answers requests about them.
type Server struct {
	opt     Options
	log     *slog.Logger
	clock   Clock
	control http.Handler
	proxy   *dataPlane
	store   *store
	host    hostFacts
	builds  builds
	born    time.Time

	wake chan struct{} // one slot: something that decides the next deadline changed
	// life ends with Stop; creates in flight end with it.
	life     context.Context
	endLife  context.CancelFunc
	creating sync.WaitGroup // creates in flight
	work     sync.WaitGroup // watchers and the reaper's kills

	mu        sync.Mutex
	boxes     map[string]*box
	open      int       // requests being answered
	idleSince time.Time // meaningful while boxes is empty
	holdUntil time.Time // somebody is about to create a sandbox
	draining  bool      // refuses new sandboxes, about to end
}

// New makes a server that holds nothing yet. Dir must exist.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.IdleAfter == 0 {
		o.IdleAfter = DefaultIdleAfter
	}
	if o.MaxSandboxes == 0 {
		o.MaxSandboxes = DefaultMaxSandboxes
	}
	if o.EnvdVersion == "" {
		o.EnvdVersion = EnvdVersion
	}
	s := &Server{
		opt: o, log: o.Logger, clock: o.Clock,
		store: openStore(o.Store),
		host:  readHostFacts(o.Dir),
		wake:  make(chan struct{}, 1),
		boxes: map[string]*box{},
	}
	s.store.left = func(err error) { s.log.Warn("left in the folder of templates", "err", err) }
	s.life, s.endLife = context.WithCancel(context.Background())
	s.born = s.clock.Now()
	s.idleSince, s.holdUntil = s.born, s.born.Add(holdTime)
	s.control = s.routes()
	s.proxy = newDataPlane(s)
	if err := s.store.tidyUploads(s.born); err != nil {
		s.log.Warn("could not tidy the uploads", "err", err)
	}
	for _, err := range s.store.broken {
		s.log.Warn("left alone in the folder of templates", "err", err)
	}
	return s
}

// Serve answers requests on ln until ctx ends, Stop is called, or the server
// was idle for long enough. It then ends every sandbox, closes ln, and returns
// nil, or an error if something of a sandbox may be left.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       640 * time.Second, // e2b-protocol §6.5
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()

	var err error
	loop := make(chan struct{})
	loopCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { defer close(loop); s.reap(loopCtx) }()
	sampling, endSampling := context.WithCancel(ctx)
	defer endSampling()
	s.work.Go(func() { s.sample(sampling) })
	select {
	case <-loop:
	case err = <-served:
		err = fmt.Errorf("serve: %w", err)
		cancel()
		<-loop
	}
	s.Stop()
	endSampling()
	// The listener goes first: who comes now finds no server and starts another.
	_ = ln.Close()
	left := s.endAll()
	bye, done := context.WithTimeout(context.Background(), goodbyeTime)
	defer done()
	_ = hs.Shutdown(bye)
	_ = hs.Close()
	if err == nil {
		if e := <-served; !errors.Is(e, http.ErrServerClosed) && !errors.Is(e, net.ErrClosed) {
			err = fmt.Errorf("serve: %w", e)
		}
	}
	return errors.Join(err, left)
}

// Stop makes Serve end. It is safe to call twice.
func (s *Server) Stop() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.endLife()
}

// ServeHTTP sends a request to the data plane or the control plane.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	defer s.requestDone()

	t, isData, problem := routeOf(r)
	if !isData && signedFile(r) {
		t, isData = s.bySignature(r)
	}
	switch {
	case problem != "":
		http.Error(w, problem, http.StatusBadRequest)
	case isData:
		s.proxy.serve(w, r, t)
	default:
		w.Header().Set(HeaderVersion, s.opt.Version)
		w.Header().Set(HeaderProtocol, strconv.Itoa(Protocol))
		s.control.ServeHTTP(w, r)
	}
}

func (s *Server) requestDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.open == 0 && len(s.boxes) == 0 {
		s.nudge()
	}
}

// nudge makes the reaper look again.
func (s *Server) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// find returns the sandbox if it is to be seen: started and not being killed.
func (s *Server) find(id string) (*box, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.boxes[id]
	if !ok || !b.seen() {
		return nil, false
	}
	return b, true
}

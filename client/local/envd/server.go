package envd

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client/envdpb/filesystem/filesystemconnect"
	"abxdash/client/envdpb/process/processconnect"

	"connectrpc.com/connect"
)

// DefaultVersion is the envd version whose behaviour this package has
// (e2b-protocol, baseline). Clients switch features on by it.
const DefaultVersion = "0.6.13"

// DefaultPath is the PATH of a process when GlobalEnv has none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Config says how the agent runs. Only Spawner is required.
type Config struct {
	// Spawner starts processes and knows the users.
	Spawner Spawner
	// Version is what /init reports; "" is DefaultVersion.
	Version string
	// AccessToken is demanded in X-Access-Token; "" leaves the agent open.
	AccessToken string
	// GlobalEnv is the environment of every process, below a request's own.
	GlobalEnv map[string]string
	// Workdir is what an empty path or working directory means; "" is the user's home.
	Workdir string
	// Now is the clock for signatures and metrics; nil is time.Now.
	Now func() time.Time
	// Logger gets starts and ends of processes at level debug; nil discards them.
	// It never gets tokens, environments, arguments or output.
	Logger *slog.Logger
}

// Server is the agent. It serves any number of connections; who listens is up
// to the caller, whose http.Server must not set read or write timeouts.
type Server struct {
	cfg      Config
	routes   map[string]map[string]http.HandlerFunc
	rpc      map[string]http.Handler
	procs    *processTable
	watchers *watcherTable
	metrics  sampler

	mu    sync.Mutex
	token string
	env   map[string]string
}

// New makes an agent. Close ends what it started.
func New(cfg Config) *Server {
	if cfg.Version == "" {
		cfg.Version = DefaultVersion
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg:      cfg,
		procs:    newProcessTable(cfg.Logger),
		watchers: newWatcherTable(),
		token:    cfg.AccessToken,
		env:      cfg.GlobalEnv,
	}
	s.routes = map[string]map[string]http.HandlerFunc{
		"/health":        {http.MethodGet: s.health},
		"/metrics":       {http.MethodGet: s.getMetrics},
		"/envs":          {http.MethodGet: s.getEnvs},
		"/init":          {http.MethodPost: s.postInit},
		"/files":         {http.MethodGet: s.getFile, http.MethodPost: s.postFiles},
		"/files/compose": {http.MethodPost: s.postCompose},
	}
	opts := []connect.HandlerOption{
		connect.WithCodec(jsonCodec{}),
		connect.WithReadMaxBytes(maxMessage),
		connect.WithCompressMinBytes(neverCompress),
		connect.WithInterceptors(&userInterceptor{spawner: cfg.Spawner}),
	}
	s.rpc = map[string]http.Handler{
		processconnect.ProcessName:       mount(processconnect.NewProcessHandler(&processService{s: s}, opts...)),
		filesystemconnect.FilesystemName: mount(filesystemconnect.NewFilesystemHandler(&filesystemService{s: s}, opts...)),
	}
	return s
}

// mount drops the pattern of a generated handler: the router knows services by name.
func mount(_ string, h http.Handler) http.Handler { return h }

const (
	// maxMessage bounds one RPC message, in bytes. Clients cut input far below it.
	maxMessage = 64 << 20
	// neverCompress is a size that no response reaches.
	neverCompress = math.MaxInt32
)

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(r) {
		writeError(w, &httpError{
			status:  http.StatusUnauthorized,
			message: "unauthorized access, please provide a valid access token or method signing if supported",
		})
		return
	}
	if service, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); ok {
		if h, known := s.rpc[service]; known {
			h.ServeHTTP(w, r)
			return
		}
	}
	methods, ok := s.routes[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	handler, ok := methods[r.Method]
	if !ok {
		w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	handler(w, r)
}

// authorized checks the access token. /files without one goes on to the
// signature check; /health and /init are open (e2b-protocol §7.1).
func (s *Server) authorized(r *http.Request) bool {
	token := s.accessToken()
	if token == "" {
		return true
	}
	given, sent := r.Header["X-Access-Token"]
	switch {
	case r.URL.Path == "/health" && r.Method == http.MethodGet,
		r.URL.Path == "/init" && r.Method == http.MethodPost:
		return true
	case r.URL.Path == "/files" && (r.Method == http.MethodGet || r.Method == http.MethodPost) && !sent:
		return true
	}
	return sent && sameToken(given[0], token)
}

func sameToken(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *Server) accessToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// globalEnv is the current global environment; it is replaced, never changed.
func (s *Server) globalEnv() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.env
}

// Close kills the processes, ends the streams and waits for the agent's
// goroutines until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.watchers.close()
	return s.procs.close(ctx)
}

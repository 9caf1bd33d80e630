package toolserver

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"abxdash/client/local/envd"
)

// Port is where clients look for the server (agent-sandbox-server §1).
const Port = 9000

// Groups of routes (agent-sandbox-server §2).
const (
	groupCore     = "core"
	groupCommands = "commands"
	groupFiles    = "file_ops"
	groupProcess  = "process"
	groupTerminal = "terminal"
	groupSystem   = "system"
	groupDevTools = "dev_tools"
	groupBrowser  = "browser"
	groupAgents   = "agents"
)

// Variables of the sandbox's environment that this server reads
// (agent-sandbox-server §8); the last one is our own.
const (
	envGroups = "ABX_SERVER_ENABLED_GROUPS"
	envToken  = "ABX_SERVER_TOKEN" //nolint:gosec // the name of a variable
	envBase   = "ABX_SERVER_BASE_DIR"
	envAgent  = "ABX_AGENT_COMMAND"
)

// defaultGroups are all groups, and whether they are on by themselves.
func defaultGroups() map[string]bool {
	return map[string]bool{
		groupCore: true, groupCommands: true, groupFiles: true, groupProcess: true, groupTerminal: true, groupSystem: true,
		groupDevTools: false, groupBrowser: false, groupAgents: false,
	}
}

const (
	// maxFile bounds one file, in bytes (agent-sandbox-server §5).
	maxFile = 100 << 20
	maxBody = maxFile/3*4 + 1<<20
)

// Config says how the server works.
type Config struct {
	Spawner envd.Spawner
	// Env is the sandbox's global environment.
	Env map[string]string
}

// Server serves the routes. Close ends what it has started.
type Server struct {
	cfg    Config
	mux    *http.ServeMux
	began  time.Time
	groups map[string]bool
	token  string
	// life ends with Close; work counts goroutines.
	life context.Context //nolint:containedctx // the server's own life
	end  context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	env   map[string]string
	procs map[int]*process
	// starting counts processes that have their place in procs but no pid yet.
	starting int

	terminals terminals
	commands  commandHost
	agents    agents
	browser   browser
	python    python
}

// problem is an answer that is no success: `{"error","type"}`.
type problem struct {
	status int
	Text   string `json:"error"`
	Type   string `json:"type"`
}

func (p *problem) Error() string { return p.Text }

func bad(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...), "ValueError"}
}

// New makes a server. It starts nothing.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), began: time.Now(), groups: defaultGroups(), token: cfg.Env[envToken],
		env: maps.Clone(cfg.Env), procs: map[int]*process{},
	}
	if s.env == nil {
		s.env = map[string]string{}
	}
	s.life, s.end = context.WithCancel(context.Background())
	for _, name := range strings.Split(cfg.Env[envGroups], ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			if _, known := s.groups[name]; known {
				s.groups[name] = true
			}
		}
	}
	s.coreRoutes()
	s.fileRoutes()
	s.searchRoutes()
	s.processRoutes()
	s.terminalRoutes()
	s.systemRoutes()
	s.devRoutes()
	s.browserRoutes()
	s.agentRoutes()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, &problem{http.StatusNotFound, fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path), "LookupError"})
	})
	return s
}

// Close ends the programs that the server keeps for itself: terminals, turns of
// agents, the browser and the one of commands.py. Background processes go on.
func (s *Server) Close() {
	s.end()
	s.work.Wait()
}

func (s *Server) coreRoutes() {
	open(s, "GET /health", func(*http.Request, struct{}) (any, error) { return map[string]string{"status": "ok"}, nil })
	open(s, "GET /capabilities", s.capabilities)
	route(s, groupCommands, "GET /commands", s.listCommands)
	s.handle(groupCommands, "POST /commands/{name}", s.callCommand)
}

// capabilities tells which groups are on, and what serves commands.py.
func (s *Server) capabilities(r *http.Request, _ struct{}) (any, error) {
	on := map[string]bool{}
	for name := range s.groups {
		on[name] = s.on(r.Context(), name)
	}
	out := map[string]any{"groups": on}
	if kind := s.commands.kind(); kind != "" {
		out["commands_server"] = kind
	}
	return out, nil
}

// on reports whether a group is served: by itself, by the environment, or since
// commands.py enables it.
func (s *Server) on(ctx context.Context, group string) bool {
	return s.groups[group] || s.commands.enables(ctx, s, group)
}

// ServeHTTP serves one request; a slash at the end of its path means nothing.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; len(p) > 1 && strings.HasSuffix(p, "/") {
		r.URL.Path = "/" + strings.Trim(p, "/")
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodDelete}, r.Method) {
		fail(w, &problem{http.StatusNotImplemented, "only GET, POST and DELETE are served", "NotImplementedError"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// handle adds a row of the table. Its guards come in the order of the reference
// (§3): the token, then the group.
func (s *Server) handle(group, pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		given := []byte(r.Header.Get("X-Access-Token"))
		switch {
		case s.token != "" && subtle.ConstantTimeCompare(given, []byte(s.token)) != 1:
			fail(w, &problem{http.StatusUnauthorized, "unauthorized", "AuthError"})
		case !s.on(r.Context(), group):
			fail(w, &problem{http.StatusNotFound, fmt.Sprintf("%s %s: the group %s is off", r.Method, r.URL.Path, group), "LookupError"})
		default:
			h(w, r)
		}
	})
}

// route adds a row whose body and answer are JSON; GET and DELETE have no body.
func route[T any](s *Server, group, pattern string, h func(*http.Request, T) (any, error)) {
	s.handle(group, pattern, jsonRoute(h))
}

// open adds a row that needs no token.
func open[T any](s *Server, pattern string, h func(*http.Request, T) (any, error)) {
	s.mux.HandleFunc(pattern, jsonRoute(h))
}

func jsonRoute[T any](h func(*http.Request, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := decode(w, r, &body); err != nil {
			fail(w, err)
			return
		}
		v, err := h(r, body)
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, http.StatusOK, v)
	}
}

// decode reads the JSON body of a POST; none at all is an empty object.
func decode[T any](w http.ResponseWriter, r *http.Request, body *T) error {
	if r.Method != http.MethodPost {
		return nil
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(body)
	if err != nil && !errors.Is(err, io.EOF) {
		return bad("the request body is not valid: %s", err)
	}
	return nil
}

func answer(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"cannot encode the answer","type":"ValueError"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a failed write means that the caller is gone
}

// fail answers with an error. Of errors of the system only the kind is told,
// not the path on the host.
func fail(w http.ResponseWriter, err error) {
	var p *problem
	var pe *fs.PathError
	var le *linkError
	switch {
	case errors.As(err, &p):
	case errors.Is(err, fs.ErrNotExist):
		p = &problem{http.StatusNotFound, "no such file or directory", "FileNotFoundError"}
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		p = &problem{http.StatusInsufficientStorage, "no space is left on the sandbox's disk", "OSError"}
	case errors.As(err, &pe):
		p = &problem{http.StatusBadRequest, pe.Err.Error(), "OSError"}
	case errors.As(err, &le):
		p = &problem{http.StatusBadRequest, le.Err.Error(), "OSError"}
	default:
		p = &problem{http.StatusInternalServerError, err.Error(), "RuntimeError"}
	}
	answer(w, p.status, p)
}

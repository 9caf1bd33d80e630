package toolserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// off names the groups that are not served, by the beginnings of their routes.
func off() map[string]string {
	return map[string]string{
		"/pty": groupTerminal, "/code": groupDevTools, "/git": groupDevTools, "/browser": groupBrowser, "/v1/agents": groupAgents,
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

// Server serves the routes.
type Server struct {
	cfg   Config
	mux   *http.ServeMux
	began time.Time

	mu    sync.Mutex
	procs map[int]*process
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

// New makes a server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, mux: http.NewServeMux(), began: time.Now(), procs: map[int]*process{}}
	route(s, "GET /health", func(*http.Request, struct{}) (any, error) { return map[string]string{"status": "ok"}, nil })
	route(s, "GET /capabilities", func(*http.Request, struct{}) (any, error) {
		return map[string]map[string]bool{"groups": {
			groupCore: true, groupCommands: true, groupFiles: true, groupProcess: true, groupSystem: true,
			groupTerminal: false, groupDevTools: false, groupBrowser: false, groupAgents: false,
		}}, nil
	})
	route(s, "GET /commands", func(*http.Request, struct{}) (any, error) {
		return map[string][]struct{}{"commands": {}}, nil
	})
	route(s, "POST /commands/{name}", func(r *http.Request, _ json.RawMessage) (any, error) {
		return nil, &problem{http.StatusNotFound, fmt.Sprintf("command %q is unknown: no template's commands.py is served here", r.PathValue("name")), "KeyError"}
	})
	s.fileRoutes()
	s.processRoutes()
	route(s, "GET /system/info", s.info)
	s.mux.HandleFunc("/", unknown)
	return s
}

// ServeHTTP serves one request; a slash at the end of its path means nothing.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; len(p) > 1 && strings.HasSuffix(p, "/") {
		r.URL.Path = strings.TrimRight(p, "/")
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodDelete}, r.Method) {
		fail(w, &problem{http.StatusNotImplemented, "only GET, POST and DELETE are served", "NotImplementedError"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

func unknown(w http.ResponseWriter, r *http.Request) {
	for prefix, group := range off() {
		if r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/") {
			fail(w, &problem{http.StatusNotFound, fmt.Sprintf("%s %s: the group %s is off", r.Method, r.URL.Path, group), "LookupError"})
			return
		}
	}
	fail(w, &problem{http.StatusNotFound, fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path), "LookupError"})
}

// route adds a handler whose body is JSON; GET and DELETE have none.
func route[T any](s *Server, pattern string, h func(*http.Request, T) (any, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var body T
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
				fail(w, bad("the request body is not valid: %s", err))
				return
			}
		}
		v, err := h(r, body)
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, http.StatusOK, v)
	})
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
	switch {
	case errors.As(err, &p):
	case errors.Is(err, fs.ErrNotExist):
		p = &problem{http.StatusNotFound, "no such file or directory", "FileNotFoundError"}
	case errors.As(err, &pe):
		p = &problem{http.StatusBadRequest, pe.Err.Error(), "OSError"}
	default:
		p = &problem{http.StatusInternalServerError, err.Error(), "RuntimeError"}
	}
	answer(w, p.status, p)
}

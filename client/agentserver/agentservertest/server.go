// Package agentservertest plays agent-sandbox-server for tests, written from
// the route reference and not from the client. Files are real ones below a
// folder; commands, processes, terminals and agents are made up.
package agentservertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Server is the service; it is an http.Handler.
type Server struct {
	// Base is the folder of the file routes; "" has none.
	Base string
	// Token is wanted in X-Access-Token, "" leaves it open.
	Token string
	// Confirmed leaves out every route that is only a good guess.
	Confirmed bool

	mu        sync.Mutex
	groups    map[string]bool
	processes map[int]string
	terminals map[string]bool
	sessions  map[string]string
	env       map[string]string
	next      int
}

// New makes a server with the groups that are on by default, and those named.
func New(base string, on ...string) *Server {
	s := &Server{
		Base:      base,
		groups:    map[string]bool{"core": true, "commands": true, "file_ops": true, "process": true, "terminal": true, "system": true, "dev_tools": false, "browser": false, "agents": false},
		processes: map[int]string{}, terminals: map[string]bool{}, sessions: map[string]string{}, env: map[string]string{"LANG": "C.UTF-8"},
	}
	for _, g := range on {
		s.groups[g] = true
	}
	return s
}

// Set switches a group.
func (s *Server) Set(group string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group] = on
}

// route is one row of the server's table.
type route struct {
	method, path, group string
	serve               func(s *Server, w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage)
}

func table() []route {
	return slices.Concat(coreRoutes(), fileRoutes(), processRoutes(), toolRoutes(), agentRoutes())
}

// ServeHTTP dispatches in the order of the reference: route, token, group, JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.EscapedPath(), "/")
	if r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodDelete {
		fail(w, http.StatusNotImplemented, "unsupported method", "ValueError")
		return
	}
	i := slices.IndexFunc(table(), func(x route) bool { return x.method == r.Method && match(x.path, path) })
	if i < 0 {
		fail(w, http.StatusNotFound, "no route "+r.Method+" "+path, "NotFound")
		return
	}
	row := table()[i]
	open := row.path == "/health" || row.path == "/capabilities"
	if s.Token != "" && !open && r.Header.Get("X-Access-Token") != s.Token {
		fail(w, http.StatusUnauthorized, "unauthorized", "AuthError")
		return
	}
	s.mu.Lock()
	on := s.groups[row.group]
	s.mu.Unlock()
	confirmed := row.path == "/health" || row.path == "/commands/*"
	if !on || s.Confirmed && !confirmed {
		fail(w, http.StatusNotFound, "no route "+r.Method+" "+path, "NotFound")
		return
	}
	body := map[string]json.RawMessage{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fail(w, http.StatusBadRequest, "bad JSON", "ValueError")
			return
		}
	}
	row.serve(s, w, r, body)
}

// match compares a path with a pattern in which * is one element.
func match(pattern, path string) bool {
	p, q := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if p[i] != "*" && p[i] != q[i] || p[i] == "*" && q[i] == "" {
			return false
		}
	}
	return true
}

// element is the nth element of the request's path.
func element(r *http.Request, n int) string {
	parts := strings.Split(r.URL.Path, "/")
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}

func fail(w http.ResponseWriter, status int, message, kind string) {
	reply(w, status, map[string]string{"error": message, "type": kind})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// text is a string argument.
func text(body map[string]json.RawMessage, name string) string {
	var s string
	_ = json.Unmarshal(body[name], &s) // another type is an empty string
	return s
}

func coreRoutes() []route {
	return []route{
		{"GET", "/health", "core", func(_ *Server, w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
			reply(w, http.StatusOK, map[string]string{"status": "ok"})
		}},
		{"GET", "/capabilities", "core", func(s *Server, w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
			s.mu.Lock()
			defer s.mu.Unlock()
			reply(w, http.StatusOK, map[string]map[string]bool{"groups": s.groups})
		}},
		{"GET", "/commands", "commands", func(_ *Server, w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
			_, _ = fmt.Fprint(w, `{"commands":[{"name":"hello","description":"Say hello.","args":[{"name":"name","type":"string","required":false,"default":"World","description":""}]},{"name":"add","args":[{"name":"a","type":"integer","required":true},{"name":"b","type":"integer","required":true}]}]}`)
		}},
		{"POST", "/commands/*", "commands", func(_ *Server, w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
			command(w, element(r, 2), body)
		}},
	}
}

// command runs a made-up named command.
func command(w http.ResponseWriter, name string, body map[string]json.RawMessage) {
	switch name {
	case "hello":
		who := text(body, "name")
		if body["name"] == nil {
			who = "World"
		}
		reply(w, http.StatusOK, map[string]string{"result": "Hello, " + who + "!"})
	case "add":
		var a, b int
		if json.Unmarshal(body["a"], &a) != nil || json.Unmarshal(body["b"], &b) != nil {
			fail(w, http.StatusBadRequest, "a and b must be integers", "ValueError")
			return
		}
		reply(w, http.StatusOK, map[string]int{"result": a + b})
	case "nothing":
		_, _ = fmt.Fprint(w, `{"result": null}`)
	case "crash":
		fail(w, http.StatusInternalServerError, "division by zero", "ZeroDivisionError")
	default:
		fail(w, http.StatusNotFound, "unknown command "+name, "NotFound")
	}
}

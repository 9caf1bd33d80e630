//go:build unix

package opensandboxtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Execd plays the daemon of one sandbox.
type Execd struct {
	*httptest.Server
	home   string
	env    map[string]string
	policy func() *policy

	mu       sync.Mutex
	commands map[string]*command
	ptys     map[string]*ptySession
	// Requests counts calls by "METHOD /path".
	requests map[string]int
	tokens   map[string]bool
	hang     chan struct{}
	procs    sync.WaitGroup
}

func newExecd(t testing.TB, env map[string]string, p func() *policy) *Execd {
	home, err := os.MkdirTemp("", "opensandboxtest-")
	if err != nil {
		t.Fatal(err)
	}
	e := &Execd{
		home: home, env: env, policy: p, commands: map[string]*command{}, ptys: map[string]*ptySession{},
		requests: map[string]int{}, tokens: map[string]bool{}, hang: make(chan struct{}),
	}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	return e
}

// stop ends every process and removes the home.
func (e *Execd) stop() {
	e.mu.Lock()
	select {
	case <-e.hang:
		e.mu.Unlock()
		return
	default:
		close(e.hang)
	}
	for _, c := range e.commands {
		c.kill()
	}
	for _, p := range e.ptys {
		p.kill()
	}
	e.mu.Unlock()
	e.CloseClientConnections()
	e.Close()
	e.procs.Wait()
	_ = os.RemoveAll(e.home)
}

// Count is how often a call was made, such as "DELETE /command".
func (e *Execd) Count(call string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[call]
}

// Home is the home folder of the sandbox.
func (e *Execd) Home() string { return e.home }

// Drop breaks every connection, as a bad network does.
func (e *Execd) Drop() { e.CloseClientConnections() }

func (e *Execd) serve(w http.ResponseWriter, r *http.Request) {
	if want := e.env["EXECD_ACCESS_TOKEN"]; want != "" && r.Header.Get("X-Execd-Access-Token") != want {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"})
		return
	}
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/proxy/"); ok {
		port, rest, _ := strings.Cut(rest, "/")
		if port == "18080" {
			e.egress(w, r)
			return
		}
		if port != "44772" {
			e.forward(w, r, port, "/"+rest)
			return
		}
		path = "/" + rest
	}
	e.mu.Lock()
	first := "/" + strings.SplitN(strings.TrimPrefix(path, "/"), "/", 2)[0]
	e.requests[r.Method+" "+first]++
	e.mu.Unlock()
	e.route(w, r, path)
}

func (e *Execd) route(w http.ResponseWriter, r *http.Request, path string) {
	get := func(prefix string) (string, bool) { return strings.CutPrefix(path, prefix) }
	switch what := r.Method + " " + path; {
	case what == "GET /ping":
	case what == "POST /command":
		e.run(w, r)
	case what == "DELETE /command":
		e.interrupt(w, r)
	case what == "POST /pty":
		e.newPTY(w, r)
	case what == "GET /metrics":
		reply(w, http.StatusOK, map[string]any{"cpu_count": 2, "cpu_used_pct": 12.5, "mem_total_mib": 2048.0, "mem_used_mib": 512.5, "timestamp": time.Now().UnixMilli()})
	case strings.HasPrefix(path, "/files") || strings.HasPrefix(path, "/directories"):
		e.files(w, r, path)
	default:
		if id, ok := get("/command/status/"); ok && r.Method == http.MethodGet {
			e.status(w, id)
			return
		}
		if rest, ok := get("/command/"); ok && strings.HasSuffix(rest, "/logs") {
			e.logs(w, r, strings.TrimSuffix(rest, "/logs"))
			return
		}
		if rest, ok := get("/pty/"); ok {
			e.onePTY(w, r, rest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, "404 page not found")
	}
}

// forward reaches a port of this machine, as execd's own proxy does (§4.10).
func (e *Execd) forward(w http.ResponseWriter, r *http.Request, port, rest string) {
	p := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.URL.Path, p.Out.URL.RawPath = "http", "127.0.0.1:"+port, rest, ""
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "Bad Gateway", http.StatusBadGateway)
		},
	}
	// The answer may begin while the request still flows; without this the server
	// would close the request then, and its stream would be cut.
	_ = http.NewResponseController(w).EnableFullDuplex()
	p.ServeHTTP(w, r)
}

// egress plays the policy sidecar (§5).
func (e *Execd) egress(w http.ResponseWriter, r *http.Request) {
	p := e.policy()
	if p == nil {
		http.Error(w, "Bad Gateway", http.StatusBadGateway)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		reply(w, http.StatusOK, map[string]any{"status": "ok", "mode": "deny_all", "enforcementMode": "dns", "policy": p})
	case http.MethodPatch:
		var rules []map[string]string
		_ = json.Unmarshal(readAll(r.Body), &rules)
		var merged []map[string]string
		seen := map[string]bool{}
		for _, rule := range append(rules, p.Egress...) {
			if !seen[rule["target"]] {
				seen[rule["target"]] = true
				merged = append(merged, rule)
			}
		}
		p.Egress = merged
	case http.MethodDelete:
		var targets []string
		_ = json.Unmarshal(readAll(r.Body), &targets)
		var kept []map[string]string
		for _, rule := range p.Egress {
			gone := false
			for _, t := range targets {
				gone = gone || t == rule["target"]
			}
			if !gone {
				kept = append(kept, rule)
			}
		}
		p.Egress = kept
	}
}

// environ is the environment of what runs in the sandbox.
func (e *Execd) environ(extra map[string]string) []string {
	out := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + e.home}
	for _, m := range []map[string]string{e.env, extra} {
		for k, v := range m {
			out = append(out, k+"="+v)
		}
	}
	return out
}

// expand follows execd's rules for paths: a leading "~" and variables (§4.7).
func (e *Execd) expand(p string) (string, error) {
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = e.home + p[1:]
	}
	missing := ""
	p = os.Expand(p, func(name string) string {
		switch v, ok := e.env[name]; {
		case ok:
			return v
		case name == "HOME":
			return e.home
		}
		missing = name
		return ""
	})
	if missing != "" {
		return "", fmt.Errorf("path references undefined environment variables: %s", missing)
	}
	return p, nil
}

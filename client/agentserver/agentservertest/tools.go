package agentservertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// fixed is a route that always answers the same.
func fixed(method, path, group string, status int, body string) route {
	return route{method, path, group, func(_ *Server, w http.ResponseWriter, _ *http.Request, _ bodyMap) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}}
}

func toolRoutes() []route {
	picture := base64.StdEncoding.EncodeToString([]byte("\x89PNG"))
	return []route{
		fixed("GET", "/system/info", "system", 200, `{"os":"Linux","arch":"x86_64","cpu_count":2,"memory_total_mb":2048,"disk_total_gb":10,"python_version":"3.12.1","hostname":"box"}`),
		fixed("GET", "/system/metrics", "system", 200, `{"cpu_load_1m":0.5,"memory_used_mb":100,"memory_total_mb":2048,"uptime_seconds":12.5}`),
		fixed("GET", "/ports", "system", 200, `{"listening":[{"port":9000,"protocol":"tcp","address":"0.0.0.0","pid":12}]}`),
		fixed("GET", "/packages", "system", 200, `{"manager":"pip","packages":[{"name":"agent-sandbox-server","version":"1.0"}]}`),
		{"GET", "/env", "system", func(s *Server, w http.ResponseWriter, _ *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			reply(w, http.StatusOK, map[string]map[string]string{"env": s.env})
		}},
		{"POST", "/env", "system", func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for name := range b {
				if name == "PATH" {
					fail(w, http.StatusForbidden, "PATH is protected", "PermissionError")
					return
				}
				s.env[name] = text(b, name)
			}
			done(w, nil)
		}},
		{"POST", "/code/run", "dev_tools", func(_ *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			reply(w, http.StatusOK, map[string]any{"stdout": "ran " + text(b, "language"), "stderr": "", "exit_code": 0})
		}},
		fixed("GET", "/git/status", "dev_tools", 200, `{"branch":"main","clean":true}`),
		fixed("GET", "/git/diff", "dev_tools", 200, `{"diff":"-a\n+b\n"}`),
		fixed("POST", "/browser/navigate", "browser", 503, `{"error":"Playwright is not installed","type":"BrowserError"}`),
		fixed("POST", "/browser/screenshot", "browser", 200, `{"image_base64":"`+picture+`"}`),
		fixed("POST", "/browser/pdf", "browser", 200, `{}`),
		fixed("GET", "/browser/content", "browser", 200, `{"content":"<p>"}`),
		fixed("GET", "/browser/console", "browser", 200, `{"messages":[]}`),
	}
}

func agentRoutes() []route {
	const group, base = "agents", "/v1/agents/sessions"
	return []route{
		{"POST", base, group, func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			var agent struct{ Model string }
			if json.Unmarshal(b["agent"], &agent) != nil {
				fail(w, http.StatusBadRequest, "agent is missing", "ValueError")
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.next++
			id := "sess_" + strconv.Itoa(s.next)
			s.sessions[id] = agent.Model
			reply(w, http.StatusOK, map[string]any{"id": id, "object": "session", "status": "idle", "model": agent.Model})
		}},
		{"GET", base, group, func(s *Server, w http.ResponseWriter, _ *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			out := []map[string]any{}
			for id, m := range s.sessions {
				out = append(out, map[string]any{"id": id, "model": m, "status": "idle"})
			}
			reply(w, http.StatusOK, map[string]any{"data": out})
		}},
		{"GET", base + "/*", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			if s.known(w, r) {
				reply(w, http.StatusOK, map[string]any{"id": element(r, 4), "status": "idle"})
			}
		}},
		{"DELETE", base + "/*", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			if s.known(w, r) {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.sessions, element(r, 4))
				done(w, nil)
			}
		}},
		{"POST", base + "/*/events", group, func(s *Server, w http.ResponseWriter, r *http.Request, b bodyMap) {
			if s.known(w, r) {
				turn(w, text(b, "input"))
			}
		}},
		{"GET", base + "/*/events", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			if s.known(w, r) {
				turn(w, "cut")
			}
		}},
		{"GET", base + "/*/items", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			if s.known(w, r) {
				_, _ = fmt.Fprint(w, `{"items":[{"type":"message"},{"type":"tool_call"}]}`)
			}
		}},
	}
}

func (s *Server) known(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	_, ok := s.sessions[element(r, 4)]
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, "no such session", "NotFound")
	}
	return ok
}

// turn streams a made-up turn; the input "cut" loses its end, "busy" is refused.
func turn(w http.ResponseWriter, input string) {
	if input == "busy" {
		fail(w, http.StatusConflict, "a turn runs", "ConflictError")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = fmt.Fprint(w, "event: agent.turn.started\ndata: {\"type\":\"agent.turn.started\"}\n\n")
	_, _ = fmt.Fprintf(w, "event: agent.output_text.delta\ndata: {\"delta\":%q}\n\n", "You said ")
	_, _ = fmt.Fprintf(w, "data: {\"type\":\"agent.output_text.delta\",\"delta\":%q}\n\n", input)
	_, _ = fmt.Fprint(w, "event: agent.output_item.done\ndata: {\"delta\":{\"odd\":1}}\n\n")
	if input == "cut" {
		return
	}
	_, _ = fmt.Fprint(w, "event: agent.turn.completed\ndata: {}\n\n")
}

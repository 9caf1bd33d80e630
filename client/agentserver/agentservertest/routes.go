package agentservertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coder/websocket"
)

type bodyMap = map[string]json.RawMessage

// local is a path below the base folder; false has been answered already.
func (s *Server) local(w http.ResponseWriter, path string) (string, bool) {
	if s.Base == "" || !filepath.IsLocal(strings.TrimPrefix(path, "/")) && path != "." {
		fail(w, http.StatusBadRequest, "the path is outside the base folder", "ValueError")
		return "", false
	}
	return filepath.Join(s.Base, path), true
}

// done answers a file operation.
func done(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		reply(w, http.StatusOK, map[string]bool{"ok": true})
	case errors.Is(err, fs.ErrNotExist):
		fail(w, http.StatusNotFound, "no such file", "FileNotFoundError")
	default:
		fail(w, http.StatusInternalServerError, "the file operation failed", "OSError")
	}
}

func entry(path string, fi fs.FileInfo) map[string]any {
	kind := "file"
	if fi.IsDir() {
		kind = "directory"
	}
	return map[string]any{
		"name": fi.Name(), "path": path, "type": kind, "size": fi.Size(), "exists": true,
		"permissions": fmt.Sprintf("%o", fi.Mode().Perm()), "modified": fi.ModTime().Unix(),
	}
}

func fileRoutes() []route {
	const group = "file_ops"
	return []route{
		{"GET", "/files/list", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			dir, ok := s.local(w, r.URL.Query().Get("path"))
			if !ok {
				return
			}
			list, err := os.ReadDir(dir)
			if err != nil {
				done(w, err)
				return
			}
			out := []map[string]any{}
			for _, e := range list {
				if fi, err := e.Info(); err == nil {
					out = append(out, entry(e.Name(), fi))
				}
			}
			reply(w, http.StatusOK, map[string]any{"entries": out})
		}},
		{"GET", "/files/stat", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			path := r.URL.Query().Get("path")
			name, ok := s.local(w, path)
			if !ok {
				return
			}
			fi, err := os.Stat(name)
			if err != nil {
				reply(w, http.StatusOK, map[string]any{"path": path, "exists": false})
				return
			}
			reply(w, http.StatusOK, entry(path, fi))
		}},
		{"POST", "/files/mkdir", group, func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			if name, ok := s.local(w, text(b, "path")); ok {
				done(w, os.MkdirAll(name, 0o755))
			}
		}},
		{"DELETE", "/files", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			if name, ok := s.local(w, r.URL.Query().Get("path")); ok {
				done(w, os.Remove(name))
			}
		}},
		{"POST", "/files/move", group, func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			from, ok := s.local(w, text(b, "source"))
			if !ok {
				return
			}
			if to, ok := s.local(w, text(b, "destination")); ok {
				done(w, os.Rename(from, to))
			}
		}},
		{"POST", "/files/search", group, func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			out := []map[string]any{}
			names, _ := filepath.Glob(filepath.Join(s.Base, text(b, "pattern")))
			for _, n := range names {
				if fi, err := os.Stat(n); err == nil {
					out = append(out, entry(n, fi))
				}
			}
			reply(w, http.StatusOK, map[string]any{"matches": out, "timed_out": false})
		}},
		{"POST", "/upload", group, func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			var content []byte
			if json.Unmarshal(b["content_base64"], &content) != nil {
				fail(w, http.StatusBadRequest, "content_base64 is no base64", "ValueError")
				return
			}
			if name, ok := s.local(w, text(b, "path")); ok {
				done(w, os.WriteFile(name, content, 0o644))
			}
		}},
		{"GET", "/download", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			name, ok := s.local(w, r.URL.Query().Get("path"))
			if !ok {
				return
			}
			data, err := os.ReadFile(name)
			if err != nil {
				done(w, err)
				return
			}
			reply(w, http.StatusOK, map[string][]byte{"content_base64": data})
		}},
		{"GET", "/files/download-stream", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			name, ok := s.local(w, r.URL.Query().Get("path"))
			if !ok {
				return
			}
			data, err := os.ReadFile(name)
			if err != nil {
				done(w, err)
				return
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(data)
		}},
	}
}

func processRoutes() []route {
	const group = "process"
	return []route{
		{"POST", "/shell", group, func(_ *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			reply(w, http.StatusOK, map[string]any{"stdout": text(b, "command") + "\n", "stderr": "", "exit_code": 3})
		}},
		{"POST", "/shell/stream", group, func(_ *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: stdout\ndata: {\"data\": %s}\n\n: a comment\n\n", b["command"])
			_, _ = fmt.Fprint(w, "event: stderr\r\ndata: {\"data\":\r\ndata: \"err\"}\r\n\r\nevent: news\ndata: {}\n\n")
			if text(b, "command") == "cut" {
				return
			}
			_, _ = fmt.Fprint(w, "event: exit\ndata: {\"exit_code\": 4}\n\n")
		}},
		{"POST", "/process/start", group, func(s *Server, w http.ResponseWriter, _ *http.Request, b bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.processes) >= 100 {
				fail(w, http.StatusTooManyRequests, "too many processes", "LimitError")
				return
			}
			s.next++
			s.processes[s.next] = text(b, "command")
			reply(w, http.StatusOK, map[string]any{"pid": s.next, "command": text(b, "command")})
		}},
		{"GET", "/process/list", group, func(s *Server, w http.ResponseWriter, _ *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			out := []map[string]any{}
			for pid, c := range s.processes {
				out = append(out, map[string]any{"pid": pid, "command": c, "state": "running", "exit_code": nil})
			}
			reply(w, http.StatusOK, map[string]any{"processes": out})
		}},
		{"GET", "/process/*", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			pid, _ := strconv.Atoi(element(r, 2))
			c, ok := s.processes[pid]
			if !ok {
				fail(w, http.StatusNotFound, "no such process", "NotFound")
				return
			}
			reply(w, http.StatusOK, map[string]any{"pid": pid, "command": c, "state": "running"})
		}},
		{"POST", "/process/*/signal", group, func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			pid, _ := strconv.Atoi(element(r, 2))
			delete(s.processes, pid)
			done(w, nil)
		}},
		{"POST", "/pty/sessions", "terminal", func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.next++
			id := "p" + strconv.Itoa(s.next)
			s.terminals[id] = true
			// The server knows itself by this name only; a client has to know better.
			reply(w, http.StatusOK, map[string]any{"session_id": id, "ws_url": "ws://localhost:9000/pty?session_id=" + id, "pid": 77})
		}},
		{"GET", "/pty/sessions", "terminal", func(s *Server, w http.ResponseWriter, _ *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			out := []map[string]any{}
			for id := range s.terminals {
				out = append(out, map[string]any{"id": id, "pid": 77, "cols": 80, "rows": 24, "alive": true})
			}
			reply(w, http.StatusOK, out)
		}},
		{"DELETE", "/pty/sessions/*", "terminal", func(s *Server, w http.ResponseWriter, r *http.Request, _ bodyMap) {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.terminals, element(r, 3))
			done(w, nil)
		}},
		{"GET", "/pty", "terminal", (*Server).terminal},
	}
}

// terminal echoes lines in capitals, tells sizes, and ends on "exit".
func (s *Server) terminal(w http.ResponseWriter, r *http.Request, _ bodyMap) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	s.mu.Lock()
	known := s.terminals[r.URL.Query().Get("session_id")]
	s.mu.Unlock()
	if !known {
		_ = conn.Close(websocket.StatusPolicyViolation, "unknown session")
		return
	}
	ctx := r.Context()
	say := func(m map[string]any) bool {
		b, err := json.Marshal(m)
		return err == nil && conn.Write(ctx, websocket.MessageText, b) == nil
	}
	if !say(map[string]any{"type": "event", "event": "started"}) {
		return
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var m struct {
			Type, Data, Signal string
			Cols, Rows         int
		}
		if json.Unmarshal(data, &m) != nil {
			return
		}
		out := ""
		switch m.Type {
		case "input":
			out = strings.ToUpper(m.Data)
		case "resize":
			out = fmt.Sprintf("%dx%d", m.Cols, m.Rows)
		case "signal":
			out = m.Signal
		}
		if m.Data == "exit" {
			say(map[string]any{"type": "event", "event": "exited", "exit_code": 0})
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return
		}
		if !say(map[string]any{"type": "output", "data": out}) {
			return
		}
	}
}

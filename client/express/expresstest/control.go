//go:build unix

package expresstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// templates are those that are there at once (alicloud-express §7).
func templates() []string { return []string{"base", "code-interpreter-v1", "python-hello"} }

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": status, "message": message})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// unoffered is how Express answers a feature that is not switched on
// (alicloud-express §11).
func (s *Server) unoffered(w http.ResponseWriter) {
	if status := s.switches().RefusedWith; status != 0 {
		refuse(w, status, "this feature is not available")
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// control serves the control plane (alicloud-express §5).
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/upload/"); ok && r.Method == http.MethodPut {
		id, hash, _ := strings.Cut(rest, "/")
		s.putFile(w, r, id, hash)
		return
	}
	if r.Header.Get("X-Api-Key") != Key && r.Header.Get("Authorization") != "Bearer "+Key {
		refuse(w, http.StatusUnauthorized, "invalid API key")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	if parts[0] == "v2" {
		if status := s.switches().V2Status; status != 0 {
			refuse(w, status, "method not allowed")
			return
		}
		switch {
		case len(parts) > 1 && s.builds(w, r, "v2", parts[1:]):
		case len(parts) == 2 && parts[1] == "sandboxes" && r.Method == http.MethodGet:
			s.list(w, r)
		case len(parts) == 2 && parts[1] == "templates" && r.Method == http.MethodGet:
			s.listTemplates(w)
		case len(parts) == 4 && parts[1] == "sandboxes" && parts[3] == "logs" && r.Method == http.MethodGet:
			answer(w, http.StatusOK, map[string][]string{"logs": {}})
		default:
			http.NotFound(w, r)
		}
		return
	}
	switch {
	case parts[0] == "v3" && len(parts) > 1 && s.builds(w, r, "v3", parts[1:]):
	case s.builds(w, r, "", parts):
	case parts[0] == "sandboxes" && len(parts) == 1:
		s.collection(w, r)
	case parts[0] == "sandboxes" && len(parts) <= 3:
		s.sandbox(w, r, parts)
	case parts[0] == "snapshots" && len(parts) == 1 && r.Method == http.MethodGet:
		s.listSnapshots(w, r)
	case parts[0] == "templates" && len(parts) == 1 && r.Method == http.MethodGet:
		s.listTemplates(w)
	case parts[0] == "templates" && len(parts) == 2 && r.Method == http.MethodDelete:
		s.deleteTemplate(w, parts[1])
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) collection(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		s.create(w, r)
	case http.MethodGet: // the old list: running ones, one page
		want, err := metadataFilter(r.URL.RawQuery)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		out := []map[string]any{}
		for _, b := range s.order {
			if !b.paused && fits(b.metadata, want) {
				out = append(out, s.row(b))
			}
		}
		answer(w, http.StatusOK, out)
	default:
		w.Header().Set("Allow", "GET, POST")
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
	}
}

// newSandbox is the body of create (alicloud-express §5.1).
type newSandbox struct {
	TemplateID string            `json:"templateID"`
	Timeout    int64             `json:"timeout"`
	Metadata   map[string]string `json:"metadata"`
	EnvVars    map[string]string `json:"envVars"`
	Secure     bool              `json:"secure"`
	AutoPause  bool              `json:"autoPause"`
	AutoResume json.RawMessage   `json:"autoResume"`
	Network    json.RawMessage   `json:"network"`
	Mounts     []any             `json:"volumeMounts"`
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var in newSandbox
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.TemplateID == "" {
		refuse(w, http.StatusBadRequest, "the body is no valid NewSandbox")
		return
	}
	var network struct {
		AllowPublicTraffic *bool    `json:"allowPublicTraffic"`
		AllowOut           []string `json:"allowOut"`
		DenyOut            []string `json:"denyOut"`
	}
	if len(in.Network) > 0 {
		if err := json.Unmarshal(in.Network, &network); err != nil {
			refuse(w, http.StatusBadRequest, "network is malformed")
			return
		}
	}
	private := network.AllowPublicTraffic != nil && !*network.AllowPublicTraffic
	sw := s.switches()
	lifetime, ok := s.lifetime(in.Timeout)
	switch {
	case !ok:
		refuse(w, http.StatusBadRequest, "timeout is out of range")
		return
	case private && !in.Secure:
		refuse(w, http.StatusBadRequest, "allowPublicTraffic false needs secure")
		return
	case len(in.Mounts) > 0:
		refuse(w, http.StatusBadRequest, "volumeMounts is not supported")
		return
	case len(in.AutoResume) > 0 && !in.AutoPause:
		refuse(w, http.StatusBadRequest, "autoResume needs autoPause")
		return
	case in.AutoPause && sw.Generation != 2 && !sw.Pause:
		refuse(w, http.StatusForbidden, "autoPause is not available")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.Contains(templates(), in.TemplateID) ||
		slices.ContainsFunc(s.recipes, func(m *recipe) bool { return m.state == "ready" && (in.TemplateID == m.id || in.TemplateID == m.name) }) ||
		slices.ContainsFunc(s.shots, func(x snapshot) bool { return in.TemplateID == x.id || in.TemplateID == x.name })
	if !known {
		refuse(w, http.StatusNotFound, fmt.Sprintf("template '%s' not found", in.TemplateID))
		return
	}
	if s.closed {
		refuse(w, http.StatusServiceUnavailable, "the server is going away")
		return
	}
	b := &box{id: newID(), template: in.TemplateID, metadata: in.Metadata, autoPause: in.AutoPause, network: in.Network}
	if in.Secure {
		b.token = random(24)
	}
	if private {
		b.traffic = random(24)
	}
	if err := s.add(b, in.EnvVars, lifetime); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusCreated, s.made(b))
}

// lifetime applies the rules of alicloud-express §5.2.
func (s *Server) lifetime(seconds int64) (time.Duration, bool) {
	if seconds < 0 || seconds > 604800 {
		return 0, false
	}
	if seconds == 0 {
		return 300 * time.Second, true
	}
	least := s.switches().MinLifetime
	if least == 0 {
		least = time.Minute
	}
	return max(time.Duration(seconds)*time.Second, least), true
}

// made is the answer of create and connect.
func (s *Server) made(b *box) map[string]any {
	out := map[string]any{
		"sandboxID": b.id, "templateID": "tpl0" + b.template, "alias": b.template, "clientID": "fc",
		"envdVersion": "0.6.13", "domain": Domain,
	}
	if b.token != "" {
		out["envdAccessToken"] = b.token
	}
	if b.traffic != "" {
		out["trafficAccessToken"] = b.traffic
	}
	if s.sw.Extra {
		out["surprise"], out["accessEndpoint"] = map[string]any{"a": []int{1}}, nil
	}
	return out
}

// row is a sandbox in a list. The lock is held.
func (s *Server) row(b *box) map[string]any {
	state := "running"
	if b.paused {
		state = "paused"
	}
	out := map[string]any{
		"sandboxID": b.id, "templateID": "tpl0" + b.template, "alias": b.template, "clientID": "fc",
		"startedAt": b.started.UTC().Format(time.RFC3339Nano), "endAt": b.end.UTC().Format(time.RFC3339Nano),
		"cpuCount": 2, "memoryMB": 2048, "diskSizeMB": 10240, "state": state, "envdVersion": "0.6.13", "volumeMounts": []string{},
	}
	if b.metadata != nil {
		out["metadata"] = b.metadata
	}
	if s.sw.Extra {
		out["surprise"], out["teamName"], out["resourceGroupID"] = []int{1}, "core", nil
	}
	return out
}

// sandbox serves the calls on one sandbox.
func (s *Server) sandbox(w http.ResponseWriter, r *http.Request, parts []string) {
	s.mu.Lock()
	b := s.boxes[parts[1]]
	s.mu.Unlock()
	action := ""
	if len(parts) == 3 {
		action = parts[2]
	}
	route := r.Method + " " + action
	if b == nil {
		s.missing(w, route, parts[1])
		return
	}
	body, _ := io.ReadAll(r.Body)
	switch route {
	case "GET ":
		s.mu.Lock()
		out := s.row(b)
		if b.token != "" {
			out["envdAccessToken"] = b.token
		}
		out["domain"] = Domain
		s.mu.Unlock()
		answer(w, http.StatusOK, out)
	case "DELETE ":
		if !s.end(b) {
			s.missing(w, route, b.id)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case "POST timeout", "POST connect":
		s.setLifetime(w, b, action, body)
	case "POST pause":
		s.pauseCall(w, b)
	case "PUT network":
		s.setNetwork(w, b, body)
	case "GET metrics":
		s.metrics(w, b)
	case "GET logs":
		answer(w, http.StatusOK, map[string][]string{"logs": {}, "logEntries": {}})
	case "POST snapshots":
		s.snapshot(w, b, body)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) missing(w http.ResponseWriter, route, id string) {
	if status := s.switches().KillMissing; route == "DELETE " && status != 0 {
		w.WriteHeader(status)
		return
	}
	refuse(w, http.StatusNotFound, fmt.Sprintf("sandbox \"%s\" doesn't exist or you don't have access to it", id))
}

func (s *Server) setLifetime(w http.ResponseWriter, b *box, action string, body []byte) {
	var in struct {
		Timeout *int64 `json:"timeout"`
	}
	if json.Unmarshal(body, &in) != nil || in.Timeout == nil || *in.Timeout <= 0 || *in.Timeout > 604800 {
		refuse(w, http.StatusBadRequest, "timeout must be 1 to 604800")
		return
	}
	d := time.Duration(*in.Timeout) * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	if action == "timeout" {
		if b.paused {
			refuse(w, http.StatusConflict, "the sandbox is paused")
			return
		}
		s.extend(b, d)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status := http.StatusOK
	if b.paused {
		status, b.paused = http.StatusCreated, false
		b.connect()
		s.extend(b, d)
	} else if d > time.Until(b.end) {
		s.extend(b, d)
	}
	answer(w, status, s.made(b))
}

func (s *Server) pauseCall(w http.ResponseWriter, b *box) {
	if sw := s.switches(); sw.Generation != 2 && !sw.Pause {
		s.unoffered(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.paused {
		refuse(w, http.StatusConflict, "the sandbox is already paused")
		return
	}
	s.pause(b)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) setNetwork(w http.ResponseWriter, b *box, body []byte) {
	var in map[string]json.RawMessage
	if json.Unmarshal(body, &in) != nil {
		refuse(w, http.StatusBadRequest, "the body is no object")
		return
	}
	if p, ok := in["egressProxy"]; ok && string(p) != "null" {
		refuse(w, http.StatusBadRequest, "egressProxy is not supported")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.network = body
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) metrics(w http.ResponseWriter, b *box) {
	if !s.switches().Metrics {
		s.unoffered(w)
		return
	}
	answer(w, http.StatusOK, []map[string]any{{
		"timestamp": b.started.UTC().Format(time.RFC3339), "timestampUnix": b.started.Unix(), "cpuCount": 2, "cpuUsedPct": 12.5,
		"memUsed": 1 << 20, "memTotal": 2 << 30, "memCache": 0, "diskUsed": 0, "diskTotal": 0,
	}})
}

func (s *Server) snapshot(w http.ResponseWriter, b *box, body []byte) {
	if sw := s.switches(); sw.Generation != 2 || !sw.Snapshots {
		s.unoffered(w)
		return
	}
	var in struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(body, &in) != nil {
		refuse(w, http.StatusBadRequest, "the body must be an object")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	x := snapshot{id: fmt.Sprintf("0b6c2f0e-0000-4000-8000-%012d", s.next), sandbox: b.id}
	names := []string{}
	if in.Name != "" {
		x.name = "core/" + in.Name + ":default"
		names = append(names, x.name)
	}
	s.shots = append([]snapshot{x}, s.shots...)
	answer(w, http.StatusCreated, map[string]any{"snapshotID": x.id, "names": names})
}

func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request) {
	sw := s.switches()
	if sw.Generation != 2 || !sw.Snapshots {
		s.unoffered(w)
		return
	}
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for i, x := range s.shots {
		if id := q.Get("sandboxID"); id != "" && id != x.sandbox || q.Get("name") != "" && !strings.Contains(x.name, q.Get("name")) {
			continue
		}
		rows = append(rows, row{int64(len(s.shots) - i), map[string]any{"snapshotID": x.id, "names": []string{x.name}}})
	}
	page(w, sw, q, rows)
}

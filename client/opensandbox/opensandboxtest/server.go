//go:build unix

package opensandboxtest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options shape a server. The zero value is a docker runtime without a key.
type Options struct {
	Key string
	// Unreachable makes the addresses of execd lead nowhere; only the server's
	// own proxy reaches it.
	Unreachable bool
	// Gateway routes by a header, as a gateway does (§3).
	Gateway bool
	// Internal replaces the host in direct addresses, as a server in a container does.
	Internal string
	// CheckProxy makes the proxy ask for the key, as later servers do.
	CheckProxy bool
	// Launch starts an execd for a sandbox with this environment and returns its
	// address; nil starts the one of this package.
	Launch func(t testing.TB, env map[string]string) string
	// SettleAfter is how many looks a pause or a resume takes; 0 is at once.
	SettleAfter int
	// Now is the server's clock.
	Now func() time.Time
}

// Server is a running server.
type Server struct {
	*httptest.Server
	t    testing.TB
	opts Options

	mu    sync.Mutex
	boxes map[string]*box
	order []string
	snaps []*snap
	// Seen are the requests to the lifecycle server.
	seen []*http.Request
}

type box struct {
	id, image, snapshot string
	state, reason       string
	// next and looks play a slow change of state.
	next, nextReason string
	looks            int
	meta             map[string]string
	env              map[string]string
	entrypoint       []string
	created          time.Time
	expires          *time.Time
	execd            string
	daemon           *Execd
	policy           *policy
}

type snap struct {
	ID        string         `json:"id"`
	SandboxID string         `json:"sandboxId"`
	Name      string         `json:"name,omitempty"`
	Status    map[string]any `json:"status"`
	CreatedAt string         `json:"createdAt"`
}

type policy struct {
	Default string              `json:"defaultAction"`
	Egress  []map[string]string `json:"egress"`
}

// New starts a server that ends with the test.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Server{t: t, opts: opts, boxes: map[string]*box{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.mu.Lock()
		var all []*box
		for _, b := range s.boxes {
			all = append(all, b)
		}
		s.mu.Unlock()
		for _, b := range all {
			b.stop()
		}
		s.Close()
	})
	return s
}

// Requests are those that reached the lifecycle server, in order.
func (s *Server) Requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Execd is the daemon of a sandbox, nil if it is not one of this package.
func (s *Server) Execd(id string) *Execd {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return b.daemon
	}
	return nil
}

// Env is a variable of a sandbox.
func (s *Server) Env(id, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return b.env[name]
	}
	return ""
}

func (b *box) stop() {
	if b.daemon != nil {
		b.daemon.stop()
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Clone(r.Context()))
	s.mu.Unlock()
	w.Header().Set("X-Request-Id", id(16))
	if r.URL.Path == "/health" {
		reply(w, http.StatusOK, map[string]string{"status": "healthy"})
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	if s.opts.Gateway && r.Header.Get("OpenSandbox-Ingress-To") != "" {
		s.gateway(w, r)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) >= 4 && parts[0] == "sandboxes" && parts[2] == "proxy" {
		if s.opts.CheckProxy && r.Header.Get("OPEN-SANDBOX-API-KEY") != s.opts.Key {
			fail(w, http.StatusUnauthorized, "INVALID_API_KEY", "wrong key")
			return
		}
		s.proxy(w, r, parts[1], parts[3], "/"+strings.Join(parts[4:], "/"))
		return
	}
	if s.opts.Key != "" && r.Header.Get("OPEN-SANDBOX-API-KEY") != s.opts.Key {
		if r.Header.Get("OPEN-SANDBOX-API-KEY") == "" {
			fail(w, http.StatusUnauthorized, "MISSING_API_KEY", "Authentication credentials are missing. Provide API key via OPEN-SANDBOX-API-KEY header.")
			return
		}
		fail(w, http.StatusUnauthorized, "INVALID_API_KEY", "Authentication credentials are invalid. Check your API key and try again.")
		return
	}
	s.route(w, r, parts)
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, parts []string) {
	switch {
	case parts[0] == "sandboxes" && len(parts) == 1 && r.Method == http.MethodPost:
		s.create(w, r)
	case parts[0] == "sandboxes" && len(parts) == 1 && r.Method == http.MethodGet:
		s.list(w, r)
	case parts[0] == "sandboxes" && len(parts) >= 2:
		s.one(w, r, parts[1], strings.Join(parts[2:], "/"))
	case parts[0] == "snapshots":
		s.snapshots(w, r, parts[1:])
	case parts[0] == "pools":
		fail(w, http.StatusNotImplemented, "KUBERNETES::POOL_NOT_SUPPORTED", "Pool management is only available when runtime.type is 'kubernetes'.")
	default:
		reply(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
	}
}

// create follows §2.3.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Image *struct {
			URI string `json:"uri"`
		} `json:"image"`
		SnapshotID string            `json:"snapshotId"`
		Entrypoint []string          `json:"entrypoint"`
		Timeout    *int              `json:"timeout"`
		Limits     map[string]string `json:"resourceLimits"`
		Env        map[string]string `json:"env"`
		Metadata   map[string]string `json:"metadata"`
		Policy     *policy           `json:"networkPolicy"`
		Extensions map[string]string `json:"extensions"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		invalid(w, "json_invalid", []any{"body"}, "JSON decode error", nil, nil)
		return
	}
	switch {
	case in.Timeout != nil && *in.Timeout < 60:
		invalid(w, "greater_than_equal", []any{"body", "timeout"}, "Input should be greater than or equal to 60", *in.Timeout, map[string]any{"ge": 60})
		return
	case in.Extensions["poolRef"] != "":
		fail(w, http.StatusBadRequest, "SANDBOX::UNSUPPORTED_POOL_REF", "poolRef is only supported when runtime.type is 'kubernetes'.")
		return
	case in.Limits == nil:
		invalid(w, "missing", []any{"body", "resourceLimits"}, "Field required", nil, nil)
		return
	case in.Image == nil && in.SnapshotID == "" || in.Image != nil && len(in.Entrypoint) == 0:
		fail(w, http.StatusBadRequest, "SANDBOX::INVALID_PARAMETER", "image needs an entrypoint")
		return
	case in.Image != nil && strings.HasPrefix(in.Image.URI, "missing"):
		fail(w, http.StatusInternalServerError, "DOCKER::SANDBOX_IMAGE_PULL_FAILED", "Failed to pull image "+in.Image.URI)
		return
	}
	for k, v := range in.Metadata {
		if !labelKey(k) || !labelValue(v) {
			fail(w, http.StatusBadRequest, "SANDBOX::INVALID_METADATA_LABEL", fmt.Sprintf("Metadata '%s' is not a valid label.", k))
			return
		}
	}
	now := s.opts.Now().UTC()
	b := &box{
		id: uuid(), snapshot: in.SnapshotID, state: "Running", reason: "CONTAINER_RUNNING", meta: in.Metadata, env: in.Env,
		entrypoint: in.Entrypoint, created: now, policy: in.Policy,
	}
	if in.Image != nil {
		b.image = in.Image.URI
	}
	if in.Timeout != nil {
		t := now.Add(time.Duration(*in.Timeout) * time.Second)
		b.expires = &t
	}
	if s.opts.Launch != nil {
		b.execd = s.opts.Launch(s.t, in.Env)
	} else {
		b.daemon = newExecd(s.t, in.Env, func() *policy { return b.policy })
		b.execd = strings.TrimPrefix(b.daemon.URL, "http://")
	}
	s.mu.Lock()
	s.boxes[b.id] = b
	s.order = append([]string{b.id}, s.order...)
	out := s.view(b)
	s.mu.Unlock()
	delete(out, "image")
	delete(out, "snapshotId")
	out["status"].(map[string]any)["message"] = "Sandbox container started successfully."
	reply(w, http.StatusAccepted, out)
}

// view is the sandbox object; s.mu is held.
func (s *Server) view(b *box) map[string]any {
	status := map[string]any{"state": b.state, "reason": b.reason, "message": "Sandbox container is running.", "lastTransitionAt": stamp(b.created)}
	out := map[string]any{"id": b.id, "status": status, "entrypoint": b.entrypoint, "createdAt": stamp(b.created)}
	if b.meta != nil {
		out["metadata"] = b.meta
	}
	if b.image != "" {
		out["image"] = map[string]string{"uri": b.image}
	}
	if b.snapshot != "" {
		out["snapshotId"] = b.snapshot
	}
	if b.expires != nil {
		out["expiresAt"] = stamp(*b.expires)
	}
	return out
}

// get finds a living sandbox; the expired ones go. s.mu is held.
func (s *Server) get(id string) *box {
	b := s.boxes[id]
	if b != nil && b.expires != nil && s.opts.Now().After(*b.expires) {
		s.remove(b)
		return nil
	}
	if b != nil && b.next != "" {
		if b.looks--; b.looks < 0 {
			b.state, b.reason, b.next = b.next, b.nextReason, ""
		}
	}
	return b
}

func (s *Server) remove(b *box) {
	b.stop()
	delete(s.boxes, b.id)
	s.order = slices.DeleteFunc(s.order, func(id string) bool { return id == b.id })
}

// turn changes a state, at once or after some looks.
func (s *Server) turn(b *box, by, to, reason string) {
	if s.opts.SettleAfter > 0 {
		b.state, b.reason, b.next, b.nextReason, b.looks = by, strings.ToUpper(by), to, reason, s.opts.SettleAfter
		return
	}
	b.state, b.reason = to, reason
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, page := number(q.Get("pageSize"), 20), number(q.Get("page"), 1)
	if size < 1 || size > 200 || page < 1 {
		invalid(w, "less_than_equal", []any{"query", "pageSize"}, "Input should be less than or equal to 200", q.Get("pageSize"), map[string]any{"le": 200})
		return
	}
	want, err := url.ParseQuery(q.Get("metadata"))
	if err != nil {
		fail(w, http.StatusBadRequest, "INVALID_METADATA_FORMAT", "Invalid metadata format.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []map[string]any{}
	for _, id := range slices.Clone(s.order) {
		b := s.get(id)
		if b == nil || !matches(b, q["state"], want) {
			continue
		}
		items = append(items, s.view(b))
	}
	reply(w, http.StatusOK, paged(items, page, size))
}

func matches(b *box, states []string, meta url.Values) bool {
	if len(states) > 0 && !slices.ContainsFunc(states, func(st string) bool { return strings.EqualFold(st, b.state) }) {
		return false
	}
	for k := range meta {
		if v, ok := b.meta[k]; !ok || v != meta.Get(k) {
			return false
		}
	}
	return true
}

func paged[T any](items []T, page, size int) map[string]any {
	total := len(items)
	from := min((page-1)*size, total)
	to := min(from+size, total)
	return map[string]any{
		"items": items[from:to],
		"pagination": map[string]any{
			"page": page, "pageSize": size, "totalItems": total, "totalPages": (total + size - 1) / size, "hasNextPage": to < total,
		},
	}
}

func (s *Server) one(w http.ResponseWriter, r *http.Request, id, rest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.get(id)
	if b == nil {
		fail(w, http.StatusNotFound, "DOCKER::SANDBOX_NOT_FOUND", fmt.Sprintf("Sandbox %s not found.", id))
		return
	}
	port, isPort := strings.CutPrefix(rest, "endpoints/")
	switch what := r.Method + " " + rest; {
	case what == "GET ":
		reply(w, http.StatusOK, s.view(b))
	case what == "DELETE ":
		s.remove(b)
		w.WriteHeader(http.StatusNoContent)
	case what == "POST pause":
		if b.state != "Running" && b.state != "Paused" {
			fail(w, http.StatusConflict, "DOCKER::SANDBOX_NOT_RUNNING", "Sandbox is not in a running state.")
			return
		}
		s.turn(b, "Pausing", "Paused", "CONTAINER_PAUSED")
		w.WriteHeader(http.StatusAccepted)
	case what == "POST resume":
		if b.state != "Paused" {
			fail(w, http.StatusConflict, "DOCKER::SANDBOX_NOT_PAUSED", "Sandbox is not in a paused state.")
			return
		}
		s.turn(b, "Resuming", "Running", "CONTAINER_RUNNING")
		w.WriteHeader(http.StatusAccepted)
	case what == "POST renew-expiration":
		s.renew(w, r, b)
	case what == "PATCH metadata":
		s.patch(w, r, b)
	case what == "POST snapshots":
		s.snapshot(w, r, b)
	case isPort && r.Method == http.MethodGet:
		s.endpoint(w, r, b, port)
	case what == "GET diagnostics/logs":
		if r.URL.Query().Get("scope") != "" {
			fail(w, http.StatusNotImplemented, "DIAGNOSTICS_NOT_IMPLEMENTED", "The stable Diagnostics API is not implemented by this OpenSandbox server.")
			return
		}
		w.Header().Set("Deprecation", "true")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "%s execd started\n%s ready\n", stamp(b.created), stamp(b.created))
	default:
		reply(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
	}
}

func (s *Server) renew(w http.ResponseWriter, r *http.Request, b *box) {
	var in struct {
		ExpiresAt time.Time `json:"expiresAt"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		invalid(w, "datetime_parsing", []any{"body", "expiresAt"}, "Input should be a valid datetime", nil, nil)
		return
	}
	switch {
	case !in.ExpiresAt.After(s.opts.Now()):
		fail(w, http.StatusBadRequest, "DOCKER::INVALID_EXPIRATION", "New expiration time must be in the future.")
	case b.expires == nil:
		fail(w, http.StatusConflict, "DOCKER::INVALID_EXPIRATION", fmt.Sprintf("Sandbox %s does not have automatic expiration enabled.", b.id))
	default:
		t := in.ExpiresAt.UTC()
		b.expires = &t
		reply(w, http.StatusOK, map[string]string{"expiresAt": t.Format(time.RFC3339Nano)})
	}
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, b *box) {
	var in map[string]*string
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		invalid(w, "json_invalid", []any{"body"}, "JSON decode error", nil, nil)
		return
	}
	if b.meta == nil {
		b.meta = map[string]string{}
	}
	for k, v := range in {
		switch {
		case strings.HasPrefix(k, "opensandbox.io/"):
			fail(w, http.StatusBadRequest, "INVALID_METADATA_LABEL", "reserved prefix")
			return
		case v == nil:
			delete(b.meta, k)
		default:
			b.meta[k] = *v
		}
	}
	reply(w, http.StatusOK, s.view(b))
}

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request, b *box) {
	if b.state != "Running" {
		fail(w, http.StatusConflict, "SNAPSHOT::INVALID_SOURCE_STATE", "Sandbox must be running.")
		return
	}
	var in struct{ Name string }
	_ = json.NewDecoder(r.Body).Decode(&in) // the body is optional
	sn := &snap{ID: uuid(), SandboxID: b.id, Name: in.Name, CreatedAt: stamp(s.opts.Now())}
	sn.Status = map[string]any{"state": "Creating", "reason": "snapshot_accepted", "message": "Snapshot creation accepted.", "lastTransitionAt": stamp(s.opts.Now())}
	w.Header().Set("Location", "/v1/snapshots/"+sn.ID)
	reply(w, http.StatusAccepted, sn)
	sn.Status = map[string]any{"state": "Ready", "reason": "snapshot_runtime_ready", "lastTransitionAt": stamp(s.opts.Now())}
	s.snaps = append([]*snap{sn}, s.snaps...)
}

func (s *Server) snapshots(w http.ResponseWriter, r *http.Request, parts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) == 0 {
		var list []*snap
		for _, sn := range s.snaps {
			if id := r.URL.Query().Get("sandboxId"); id == "" || id == sn.SandboxID {
				list = append(list, sn)
			}
		}
		reply(w, http.StatusOK, paged(list, number(r.URL.Query().Get("page"), 1), number(r.URL.Query().Get("pageSize"), 20)))
		return
	}
	i := slices.IndexFunc(s.snaps, func(sn *snap) bool { return sn.ID == parts[0] })
	switch {
	case i < 0:
		fail(w, http.StatusNotFound, "SNAPSHOT::NOT_FOUND", "Snapshot not found.")
	case r.Method == http.MethodDelete:
		s.snaps = slices.Delete(s.snaps, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		reply(w, http.StatusOK, s.snaps[i])
	}
}

// endpoint follows §3; s.mu is held.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request, b *box, port string) {
	n := number(port, 0)
	if n < 1 || n > 65535 {
		fail(w, http.StatusBadRequest, "DOCKER::INVALID_PORT", "Port must be between 1 and 65535.")
		return
	}
	if r.URL.Query().Get("expires") != "" {
		fail(w, http.StatusBadRequest, "SANDBOX::API_NOT_SUPPORTED",
			"Signed routes (expires parameter) are not supported when runtime.type='docker'. Use the Kubernetes runtime for signed routes.")
		return
	}
	out := map[string]any{"endpoint": b.execd + "/proxy/" + port}
	switch {
	case r.URL.Query().Get("use_server_proxy") == "true":
		out["endpoint"] = r.Host + "/sandboxes/" + b.id + "/proxy/" + port
	case s.opts.Gateway:
		out["endpoint"] = r.Host
		out["headers"] = map[string]string{"OpenSandbox-Ingress-To": b.id + "-" + port}
	case s.opts.Unreachable:
		out["endpoint"] = "127.0.0.1:9/proxy/" + port
	case n == 8080, n == 44772 && s.opts.Launch != nil: // as in the host's own network
		out["endpoint"] = b.execd
	case s.opts.Internal != "":
		_, p, _ := strings.Cut(b.execd, ":")
		out["endpoint"] = s.opts.Internal + ":" + p + "/proxy/" + port
	}
	reply(w, http.StatusOK, out)
}

// proxy is the server's own (§3.2).
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, id, port, rest string) {
	s.mu.Lock()
	b := s.get(id)
	s.mu.Unlock()
	if b == nil {
		fail(w, http.StatusNotFound, "DOCKER::SANDBOX_NOT_FOUND", fmt.Sprintf("Sandbox %s not found.", id))
		return
	}
	s.forward(w, r, b, port, rest)
}

// gateway routes by its header.
func (s *Server) gateway(w http.ResponseWriter, r *http.Request) {
	to := r.Header.Get("OpenSandbox-Ingress-To")
	i := strings.LastIndex(to, "-")
	s.mu.Lock()
	b := s.get(to[:max(i, 0)])
	s.mu.Unlock()
	if b == nil {
		http.Error(w, "sandbox not found", http.StatusNotFound)
		return
	}
	s.forward(w, r, b, to[i+1:], r.URL.Path)
}

func (s *Server) forward(w http.ResponseWriter, r *http.Request, b *box, port, rest string) {
	p := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.URL.Path, p.Out.URL.RawPath = "http", b.execd, "/proxy/"+port+rest, ""
			if s.opts.Launch != nil && port == "44772" {
				p.Out.URL.Path = rest
			}
			p.Out.Header.Del("Open-Sandbox-Api-Key")
			p.Out.Header.Del("Authorization")
			p.Out.Header.Del("Cookie")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			fail(w, http.StatusBadGateway, "GENERAL::UNKNOWN_ERROR", fmt.Sprintf("Could not connect to the backend sandbox endpoint='%s' headers=None: %v", b.execd, err))
		},
	}
	// The answer may begin while the request still flows; without this the server
	// would close the request then, and its stream would be cut.
	_ = http.NewResponseController(w).EnableFullDuplex()
	p.ServeHTTP(w, r)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]string{"code": code, "message": message})
}

func invalid(w http.ResponseWriter, kind string, loc []any, msg string, input any, ctx map[string]any) {
	d := map[string]any{"type": kind, "loc": loc, "msg": msg}
	if input != nil {
		d["input"] = input
	}
	if ctx != nil {
		d["ctx"] = ctx
	}
	reply(w, http.StatusUnprocessableEntity, map[string]any{"detail": []any{d}})
}

func number(text string, other int) int {
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func id(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func uuid() string {
	h := id(16)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func labelKey(k string) bool {
	if prefix, name, ok := strings.Cut(k, "/"); ok {
		return prefix != "" && name != "" && labelValue(name)
	}
	return k != "" && labelValue(k)
}

func labelValue(v string) bool {
	if len(v) > 63 {
		return false
	}
	for i, r := range v {
		an := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !an && (i == 0 || i == len(v)-1 || r != '-' && r != '_' && r != '.') {
			return false
		}
	}
	return true
}

// readAll is a body, for handlers that take it whole.
func readAll(r io.Reader) []byte {
	b, _ := io.ReadAll(r) // a broken request shows as a short body
	return b
}

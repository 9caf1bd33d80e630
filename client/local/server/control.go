package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Headers of our own, on control answers and on the health request.
const (
	HeaderVersion  = "Abxdash-Version"
	HeaderProtocol = "Abxdash-Protocol"
	// HeaderHold on GET /health or [PathStatus] announces a create: the server
	// stays for it, for ten seconds at least. One that is already ending
	// answers 503.
	HeaderHold = "Abxdash-Hold"
)

// clientID is the deprecated constant of the wire format; it must not be empty.
const clientID = "local"

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.handleHealth)
	mux.HandleFunc("GET "+PathStatus, s.handleStatus)
	mux.HandleFunc("POST "+PathStop, s.handleStop)
	mux.HandleFunc("POST "+PathCancelBuild, s.handleCancelBuild)

	mux.HandleFunc("POST /sandboxes", s.handleCreate(version1()))
	mux.HandleFunc("POST /v2/sandboxes", s.handleCreate(version2()))
	mux.HandleFunc("GET /sandboxes", s.handleListV1)
	mux.HandleFunc("GET /v2/sandboxes", s.handleListV2)
	mux.HandleFunc("GET /sandboxes/metrics", s.handleMetricsMany)
	mux.HandleFunc("GET /sandboxes/{id}", s.withBox(s.handleGet))
	mux.HandleFunc("DELETE /sandboxes/{id}", s.withBox(s.handleKill))
	mux.HandleFunc("GET /sandboxes/{id}/metrics", s.handleMetrics)
	mux.HandleFunc("POST /sandboxes/{id}/timeout", s.withBox(s.handleTimeout))
	mux.HandleFunc("POST /sandboxes/{id}/refreshes", s.withBox(s.handleRefresh))
	mux.HandleFunc("POST /sandboxes/{id}/connect", s.withBox(s.handleConnect(version1())))
	mux.HandleFunc("POST /v2/sandboxes/{id}/connect", s.withBox(s.handleConnect(version2())))
	mux.HandleFunc("POST /sandboxes/{id}/resume", s.withBox(s.handleResume))
	mux.HandleFunc("POST /sandboxes/{id}/pause", s.withBox(s.handlePause))
	mux.HandleFunc("POST /sandboxes/{id}/snapshots", s.withBox(s.handleSnapshot))
	mux.HandleFunc("POST /sandboxes/{id}/fork", s.withBox(s.handleFork))
	mux.HandleFunc("GET /sandboxes/{id}/logs", s.handleLogsV1)
	mux.HandleFunc("GET /v2/sandboxes/{id}/logs", s.handleLogsV2)
	mux.HandleFunc("GET /snapshots", s.handleSnapshots)
	mux.HandleFunc("PUT /sandboxes/{id}/network", s.withBox(s.handleNetwork))

	mux.HandleFunc("GET /templates", s.handleTemplates)
	mux.HandleFunc("GET /v2/templates", s.handleTemplates)
	mux.HandleFunc("GET /templates/{id}", s.handleTemplate)
	mux.HandleFunc("DELETE /templates/{id}", s.handleDeleteTemplate)
	mux.HandleFunc("GET /templates/{id}/{part}", s.handleTemplatePart)
	mux.HandleFunc("POST /v3/templates", s.handleRegister)
	mux.HandleFunc("GET /templates/{id}/files/{hash}", s.handleUploadLink)
	mux.HandleFunc("PUT "+uploadPath+"{token}", s.handleUpload)
	mux.HandleFunc("POST /v2/templates/{id}/builds/{build}", s.handleBuild)
	mux.HandleFunc("GET /templates/{id}/builds/{build}/status", s.handleBuildStatus)
	mux.HandleFunc("GET /templates/{id}/builds/{build}/logs", s.handleBuildLogs)
	mux.HandleFunc("PATCH /v2/templates/{id}", s.handlePublish)
	mux.HandleFunc("POST /templates/tags", s.handleAddTags)
	mux.HandleFunc("DELETE /templates/tags", s.handleDeleteTags)
	mux.HandleFunc("/", unknownRoute)
	return mux
}

func unknownRoute(w http.ResponseWriter, r *http.Request) {
	writeError(w, refuse(http.StatusNotFound, "the local server has no %s %s", r.Method, r.URL.Path))
}

// withBox finds the sandbox of {id} and answers 400 or 404 itself.
func (s *Server) withBox(h func(http.ResponseWriter, *http.Request, *box)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, e := parseID(r.PathValue("id"))
		if e != nil {
			writeError(w, e)
			return
		}
		b, ok := s.find(id)
		if !ok {
			writeError(w, refuse(http.StatusNotFound, "sandbox %q not found", id))
			return
		}
		h(w, r, b)
	}
}

// parseID accepts `<id>` and the old `<id>-<clientID>` (e2b-protocol §1).
func parseID(s string) (string, *apiError) {
	id, rest, _ := strings.Cut(s, "-")
	if !validID(id) || strings.Contains(rest, "-") {
		return "", refuse(http.StatusBadRequest, "invalid sandbox ID")
	}
	return id, nil
}

func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return strings.Trim(id, idLetters) == ""
}

// readBody decodes a JSON object; an empty body is allowed only if optional.
func readBody[T any](w http.ResponseWriter, r *http.Request, optional bool) (T, *apiError) {
	var v T
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	err := dec.Decode(&v)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && optional:
		return v, nil
	case errors.Is(err, io.EOF):
		return v, refuse(http.StatusBadRequest, "the request has no body")
	default:
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return v, refuse(http.StatusRequestEntityTooLarge, "the request body is larger than %d bytes", maxBody)
		}
		return v, refuse(http.StatusBadRequest, "the request body is not valid: %s", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return v, refuse(http.StatusBadRequest, "the request body goes on after the JSON value")
	}
	return v, nil
}

func (s *Server) handleHealth(w http.ResponseWriter, r *http.Request) {
	if !s.held(r) {
		writeError(w, errEnding)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// held keeps the server for a create that the request announces. It is false
// if the server is already ending.
func (s *Server) held(r *http.Request) bool {
	if r.Header.Get(HeaderHold) == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.idleSince, s.holdUntil = now, now.Add(holdTime)
	return !s.draining
}

// version is what differs between the two forms of create and connect. The
// second is newer SDKs': always secure, and with a default lifetime on connect.
type version struct {
	secure         bool
	createTimeout  time.Duration
	connectTimeout time.Duration // 0: the call must name one
}

func version1() version { return version{createTimeout: defaultTimeout} }

func version2() version {
	return version{secure: true, createTimeout: 300 * time.Second, connectTimeout: 300 * time.Second}
}

func (s *Server) handleCreate(v version) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, e := readBody[newSandbox](w, r, false)
		// Behind a front the token is all that keeps others out.
		req.fronted = fronted(r)
		req.Secure = req.Secure || v.secure || req.fronted
		if e == nil {
			e = s.check(&req)
		}
		if e == nil {
			req.Folders, e = s.foldersOf(r)
		}
		if e != nil {
			writeError(w, e)
			return
		}
		lifetime := v.createTimeout
		if req.Timeout != nil {
			lifetime = time.Duration(*req.Timeout) * time.Second
		}
		b, err := s.create(r.Context(), req, lifetime)
		if err != nil {
			writeError(w, s.failedCreate(err))
			return
		}
		writeJSON(w, http.StatusCreated, s.sandbox(b))
	}
}

// failedCreate is the answer to a create that went wrong.
func (s *Server) failedCreate(err error) *apiError {
	var e *apiError
	if errors.As(err, &e) {
		return e
	}
	s.log.Error("create failed", "err", err)
	e = refuse(http.StatusInternalServerError, "cannot start the sandbox: %s", err)
	e.ErrorCode = "sandbox_create_failed"
	return e
}

// check refuses what the local server cannot do, rather than ignoring it.
func (s *Server) check(req *newSandbox) *apiError {
	if req.TemplateID == "" {
		return refuse(http.StatusBadRequest, "templateID is required")
	}
	var e *apiError
	if req.source, e = s.sourceOf(req.TemplateID); e != nil {
		return e
	}
	if req.Timeout != nil {
		if e := checkSeconds("timeout", *req.Timeout, 1); e != nil {
			return e
		}
	}
	switch {
	case req.AutoPauseMemory != nil && !*req.AutoPauseMemory:
		return refuse(http.StatusBadRequest, "autoPauseMemory: false is not offered by the local server")
	case given(req.MCP):
		return refuse(http.StatusBadRequest, "mcp: not offered by the local server")
	case given(req.IAM):
		return refuse(http.StatusBadRequest, "iam: not offered by the local server")
	case len(req.VolumeMounts) > 0:
		return refuse(http.StatusBadRequest, "volumeMounts: not offered by the local server")
	}
	for k, v := range req.EnvVars {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			return refuse(http.StatusBadRequest, "envVars: %q is not a usable variable", k)
		}
	}
	if e := checkLimits(req); e != nil {
		return e
	}
	return s.checkNetwork(req)
}

// given reports whether an optional object was sent with something in it.
func given(raw json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(raw)), "") {
	case "", "null", "{}":
		return false
	}
	return true
}

func checkSeconds(field string, n, least int64) *apiError {
	if n < least {
		return refuse(http.StatusBadRequest, "%s must be at least %d", field, least)
	}
	if n > int64(maxLifetime/time.Second) {
		return refuse(http.StatusBadRequest, "%s must be at most %d seconds", field, int64(maxLifetime/time.Second))
	}
	return nil
}

func (s *Server) handleGet(w http.ResponseWriter, _ *http.Request, b *box) {
	rules, internet := s.networkOf(b)
	writeJSON(w, http.StatusOK, detailJSON{
		listedJSON:          s.listed(b),
		EnvdAccessToken:     b.token,
		AllowInternetAccess: internet,
		Network:             rules,
		Lifecycle:           b.lifecycle(),
	})
}

func (s *Server) handleKill(w http.ResponseWriter, r *http.Request, b *box) {
	if !s.claim(b) {
		writeError(w, refuse(http.StatusNotFound, "sandbox %q not found", b.id))
		return
	}
	if err := s.end(b); err != nil {
		writeError(w, refuse(http.StatusInternalServerError, "%s", err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type timeoutBody struct {
	Timeout *int64 `json:"timeout"`
}

func (s *Server) handleTimeout(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[timeoutBody](w, r, false)
	if e == nil && body.Timeout == nil {
		e = refuse(http.StatusBadRequest, "timeout is required")
	}
	if e == nil {
		e = checkSeconds("timeout", *body.Timeout, 0)
	}
	if e == nil {
		e = s.setEnd(b, time.Duration(*body.Timeout)*time.Second, true)
	}
	s.answerEmpty(w, e)
}

func (s *Server) handleRefresh(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[struct {
		Duration int64 `json:"duration"`
	}](w, r, true)
	if e == nil && (body.Duration < 0 || body.Duration > 3600) {
		e = refuse(http.StatusBadRequest, "duration must be between 0 and 3600")
	}
	if e == nil {
		e = s.setEnd(b, max(time.Duration(body.Duration)*time.Second, defaultTimeout), false)
	}
	s.answerEmpty(w, e)
}

func (s *Server) answerEmpty(w http.ResponseWriter, e *apiError) {
	if e != nil {
		writeError(w, e)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// setEnd applies the rules of e2b-protocol §3.5: the new end is d from now, at
// most the plan maximum after the start; only with shorten may it be earlier.
func (s *Server) setEnd(b *box, d time.Duration, shorten bool) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b.state {
	case boxRunning:
	case boxPaused, boxPausing:
		return refuse(http.StatusConflict, "sandbox %q is paused", b.id)
	default:
		return notFound(b)
	}
	now, latest := s.clock.Now(), b.run.Add(maxLifetime)
	if !latest.After(now) {
		return refuse(http.StatusBadRequest, "the sandbox has reached its longest life of %s", maxLifetime)
	}
	end := now.Add(d)
	if end.After(latest) {
		end = latest
	}
	if !shorten && end.Before(b.endAt) {
		return nil
	}
	b.endAt = end
	s.nudge()
	b.logs.add(now, levelInfo, "lifetime set", map[string]string{"end": end.Format(time.RFC3339)})
	return nil
}

func (s *Server) sandbox(b *box) sandboxJSON {
	return sandboxJSON{listedJSON: s.listed(b), EnvdAccessToken: b.token, TrafficToken: b.traffic}
}

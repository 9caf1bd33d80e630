package envd

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
)

// maxJSON bounds the body of a JSON request, in bytes.
const maxJSON = 1 << 20

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// getEnvs shows the global environment. Names that belong to other products
// are neither made here nor shown.
func (s *Server) getEnvs(w http.ResponseWriter, _ *http.Request) {
	env := maps.Clone(s.globalEnv())
	if env == nil {
		env = map[string]string{}
	}
	maps.DeleteFunc(env, func(name, _ string) bool {
		return strings.HasPrefix(name, "E2B_") || strings.HasPrefix(name, "SANDBOX_")
	})
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, env)
}

// initRequest is the part of /init that makes sense here (e2b-protocol §7.3):
// users, mounts and certificates are fixed when the sandbox is made.
type initRequest struct {
	AccessToken *string           `json:"accessToken"`
	EnvVars     map[string]string `json:"envVars"`
}

// postInit sets the access token once and replaces the environment. With a
// token set, the same one must be sent.
func (s *Server) postInit(w http.ResponseWriter, r *http.Request) {
	var req initRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJSON)).Decode(&req); err != nil && !errors.Is(err, io.EOF) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !s.init(req) {
		http.Error(w, "access token validation failed", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Envd-Version", s.cfg.Version)
	w.WriteHeader(http.StatusNoContent)
}

// init applies a request; false is a wrong token.
func (s *Server) init(req initRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := ""
	if req.AccessToken != nil {
		given = *req.AccessToken
	}
	if s.token != "" && !sameToken(given, s.token) {
		return false
	}
	s.token = given
	if req.EnvVars != nil {
		env := maps.Clone(s.cfg.GlobalEnv)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, req.EnvVars)
		s.env = env
	}
	return true
}

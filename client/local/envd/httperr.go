package envd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"syscall"
)

// httpError is a failure of the HTTP API. On the wire it is
// {"code":<integer>,"message":…} (e2b-protocol §7.1).
type httpError struct {
	status  int
	message string
}

func (e *httpError) Error() string { return e.message }

// writeError sends a failure in the API's shape.
func writeError(w http.ResponseWriter, err error) {
	he := &httpError{status: http.StatusInternalServerError, message: err.Error()}
	errors.As(err, &he)
	writeJSON(w, he.status, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{he.status, he.message})
}

// writeJSON sends one value. An encoding fault cannot happen with the types
// used here; a write fault means that the caller has gone.
func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// fileStatus maps a file error to the status that the HTTP API has for it.
func fileStatus(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, errRefused):
		return http.StatusForbidden
	case errors.Is(err, errOtherHome), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return http.StatusBadRequest
	case diskFull(err):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

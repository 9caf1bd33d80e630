package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// newSandbox is the body of POST /sandboxes (e2b-protocol §3.1). Fields that
// the local server cannot honour are decoded to be refused, not ignored.
type newSandbox struct {
	TemplateID          string            `json:"templateID"`
	Timeout             *int64            `json:"timeout"`
	AutoPause           bool              `json:"autoPause"`
	AutoPauseMemory     *bool             `json:"autoPauseMemory"`
	AutoResume          *autoResume       `json:"autoResume"`
	Secure              bool              `json:"secure"`
	AllowInternetAccess *bool             `json:"allow_internet_access"`
	Network             networkJSON       `json:"network"`
	Metadata            map[string]string `json:"metadata"`
	EnvVars             map[string]string `json:"envVars"`
	MCP                 json.RawMessage   `json:"mcp"`
	IAM                 json.RawMessage   `json:"iam"`
	VolumeMounts        []json.RawMessage `json:"volumeMounts"`

	// CPUCount and MemoryMB are our own addition, see limits.go.
	CPUCount *float64 `json:"cpuCount"`
	MemoryMB *int64   `json:"memoryMB"`

	// source is the template, resolved; Folders is our own addition (see
	// [HeaderFolders]).
	source  source
	Folders []Folder `json:"-"`
	// What was decided from the rest.
	network string
	egress  Egress
	// limits are those in force, asked those that the caller named.
	limits, asked limits
	// fronted is set for one that came in by a [Front], hidden for the sandbox in which a template is built.
	fronted, hidden bool
}

type autoResume struct {
	Enabled bool `json:"enabled"`
}

// sandboxJSON is the answer to create and connect. The protocol asks for a few
// of these fields only; with all of them the caller need not ask again.
type sandboxJSON struct {
	listedJSON
	EnvdAccessToken string  `json:"envdAccessToken,omitempty"`
	TrafficToken    string  `json:"trafficAccessToken,omitempty"`
	Domain          *string `json:"domain"`
}

// listedJSON is one element of a list.
type listedJSON struct {
	TemplateID   string            `json:"templateID"`
	Alias        string            `json:"alias,omitempty"`
	SandboxID    string            `json:"sandboxID"`
	ClientID     string            `json:"clientID"`
	StartedAt    time.Time         `json:"startedAt"`
	EndAt        time.Time         `json:"endAt"`
	CPUCount     int32             `json:"cpuCount"`
	MemoryMB     int32             `json:"memoryMB"`
	DiskSizeMB   int32             `json:"diskSizeMB"`
	State        string            `json:"state"`
	EnvdVersion  string            `json:"envdVersion"`
	Metadata     map[string]string `json:"metadata"`
	VolumeMounts []struct{}        `json:"volumeMounts"`
	// Isolation is our own addition.
	Isolation string `json:"isolation"`
}

// detailJSON is the answer to GET /sandboxes/{id}.
type detailJSON struct {
	listedJSON
	EnvdAccessToken     string        `json:"envdAccessToken,omitempty"`
	AllowInternetAccess bool          `json:"allowInternetAccess"`
	Network             *networkJSON  `json:"network,omitempty"`
	Domain              *string       `json:"domain"`
	Lifecycle           lifecycleJSON `json:"lifecycle"`
}

// lifecycle is what becomes of b at the end of its lifetime.
func (b *box) lifecycle() lifecycleJSON {
	if b.autoPause {
		return lifecycleJSON{AutoResume: b.autoResume, OnTimeout: "pause"}
	}
	return lifecycleJSON{AutoResume: b.autoResume, OnTimeout: "kill"}
}

type lifecycleJSON struct {
	AutoResume bool   `json:"autoResume"`
	OnTimeout  string `json:"onTimeout"`
}

// apiError is a refused request: the HTTP status and the error body (e2b-protocol §2.4).
type apiError struct {
	Code      int    `json:"code"`
	Message   string `json:"message"`
	ErrorCode string `json:"error_code,omitempty"`
}

func (e *apiError) Error() string { return e.Message }

func refuse(status int, format string, args ...any) *apiError {
	return &apiError{Code: status, Message: fmt.Sprintf(format, args...)}
}

// errEnding is the answer of a server that is about to end; the caller starts another.
var errEnding = &apiError{Code: http.StatusServiceUnavailable, Message: "the local server is ending", ErrorCode: ErrorCodeEnding}

// ErrorCodeEnding is the error_code of a refusal by a server that is about to end.
const ErrorCodeEnding = "server_ending"

// edgeError is the body of a data-plane error (e2b-protocol §6.2).
type edgeError struct {
	SandboxID string `json:"sandboxId,omitempty"`
	Message   string `json:"message"`
	Port      int    `json:"port,omitempty"`
	Path      string `json:"path,omitempty"`
	Code      int    `json:"code"`
}

func writeJSON[T any](w http.ResponseWriter, status int, v T) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, `{"code":500,"message":"cannot encode the answer"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// A failed write means that the caller is gone.
	_, _ = w.Write(append(body, '\n'))
}

func writeError(w http.ResponseWriter, e *apiError) { writeJSON(w, e.Code, e) }

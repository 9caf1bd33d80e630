package agentserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"abxdash/client"
)

// SystemInfo is facts about the machine (GET /system/info).
type SystemInfo struct {
	OS            string  `json:"os"`
	Arch          string  `json:"arch"`
	Hostname      string  `json:"hostname"`
	PythonVersion string  `json:"python_version"`
	CPUCount      float64 `json:"cpu_count"`
	MemoryTotalMB float64 `json:"memory_total_mb"`
	DiskTotalGB   float64 `json:"disk_total_gb"`
}

// SystemInfo asks for facts about the machine.
func (c *Client) SystemInfo(ctx context.Context) (SystemInfo, error) {
	var out SystemInfo
	err := c.call(ctx, request{op: "get system info", method: http.MethodGet, path: "/system/info"}, &out)
	return out, err
}

// SystemMetrics is the use right now (GET /system/metrics).
type SystemMetrics struct {
	Load1         float64 `json:"cpu_load_1m"`
	Load5         float64 `json:"cpu_load_5m"`
	Load15        float64 `json:"cpu_load_15m"`
	MemoryUsedMB  float64 `json:"memory_used_mb"`
	MemoryTotalMB float64 `json:"memory_total_mb"`
	DiskUsedGB    float64 `json:"disk_used_gb"`
	DiskTotalGB   float64 `json:"disk_total_gb"`
	UptimeSeconds float64 `json:"uptime_seconds"`
}

// SystemMetrics asks for the use right now.
func (c *Client) SystemMetrics(ctx context.Context) (SystemMetrics, error) {
	var out SystemMetrics
	err := c.call(ctx, request{op: "get system metrics", method: http.MethodGet, path: "/system/metrics"}, &out)
	return out, err
}

// Env lists the server's own environment, which is not that of processes of the
// sandbox's agent; the server hides what looks secret (GET /env).
func (c *Client) Env(ctx context.Context, filter string) (map[string]string, error) {
	q := url.Values{}
	if filter != "" {
		q.Set("filter", filter)
	}
	var body struct {
		Env map[string]string `json:"env"`
	}
	err := c.call(ctx, request{op: "get environment", method: http.MethodGet, path: "/env", query: q}, &body)
	return body.Env, err
}

// SetEnv changes the environment of the server and its children (POST /env).
func (c *Client) SetEnv(ctx context.Context, vars map[string]string) error {
	return c.call(ctx, request{op: "set environment", method: http.MethodPost, path: "/env", body: vars}, nil)
}

// Listener is a port that something in the sandbox listens on.
type Listener struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	PID      int    `json:"pid"`
}

// Listeners lists listening ports (GET /ports).
func (c *Client) Listeners(ctx context.Context) ([]Listener, error) {
	var body struct {
		Listening []Listener `json:"listening"`
	}
	err := c.call(ctx, request{op: "list ports", method: http.MethodGet, path: "/ports"}, &body)
	return body.Listening, err
}

// Package is an installed package.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Packages lists what "pip" or "npm" has installed (GET /packages).
func (c *Client) Packages(ctx context.Context, manager string) ([]Package, error) {
	var body struct {
		Packages []Package `json:"packages"`
	}
	err := c.call(ctx, request{op: "list packages", method: http.MethodGet, path: "/packages", query: url.Values{"manager": {manager}}}, &body)
	return body.Packages, err
}

// RunCode runs code with "python", "node" or "bash" (POST /code/run); timeout is
// at most 300 s and 0 is the server's own.
func (c *Client) RunCode(ctx context.Context, code, language string, timeout time.Duration) (Output, error) {
	if timeout < 0 || timeout > bounded {
		return Output{}, client.Usagef("run code", "the server runs code for at most %s, not %s", bounded, timeout)
	}
	body := struct {
		Code     string `json:"code"`
		Language string `json:"language,omitempty"`
		Timeout  int    `json:"timeout,omitempty"`
	}{code, language, int((timeout + time.Second - 1) / time.Second)}
	var out Output
	err := c.unbounded(ctx, request{op: "run code", method: http.MethodPost, path: "/code/run", body: body}, &out)
	return out, err
}

// GitStatus is the status of a repository as the server words it (GET /git/status).
func (c *Client) GitStatus(ctx context.Context, path string) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, request{op: "git status", method: http.MethodGet, path: "/git/status", query: url.Values{"path": {path}}}, &out)
	return out, err
}

// GitDiff is a diff of at most 1 MB (GET /git/diff); file may be "".
func (c *Client) GitDiff(ctx context.Context, path, file string, staged bool) (string, error) {
	q := url.Values{"path": {path}, "staged": {strconv.FormatBool(staged)}}
	if file != "" {
		q.Set("file", file)
	}
	var body struct {
		Diff string `json:"diff"`
	}
	err := c.call(ctx, request{op: "git diff", method: http.MethodGet, path: "/git/diff", query: q}, &body)
	return body.Diff, err
}

// BrowserAction is a step of the server's one shared browser page.
type BrowserAction string

// Browser actions (agent-sandbox-server §5).
const (
	BrowserNavigate BrowserAction = "navigate"
	BrowserClick    BrowserAction = "click"
	BrowserType     BrowserAction = "type"
	BrowserEvaluate BrowserAction = "evaluate"
)

// Browser does one step and returns the server's answer. Arguments are the
// step's own, e.g. {"url": "https://example.test"}. A server without Playwright
// answers 503 (ErrUnavailable).
func (c *Client) Browser(ctx context.Context, action BrowserAction, args map[string]any) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.unbounded(ctx, request{op: "browser " + string(action), method: http.MethodPost, path: "/browser/" + string(action), body: args}, &out)
	return out, err
}

// Screenshot is the page as PNG (POST /browser/screenshot).
func (c *Client) Screenshot(ctx context.Context) ([]byte, error) { return c.picture(ctx, "screenshot") }

// PDF is the page as PDF (POST /browser/pdf).
func (c *Client) PDF(ctx context.Context) ([]byte, error) { return c.picture(ctx, "pdf") }

// picture is a browser call whose answer is base64 under one of several names.
func (c *Client) picture(ctx context.Context, what string) ([]byte, error) {
	var body struct {
		Image   []byte `json:"image_base64"`
		PDF     []byte `json:"pdf_base64"`
		Content []byte `json:"content_base64"`
		Data    []byte `json:"data"`
	}
	op := "browser " + what
	if err := c.unbounded(ctx, request{op: op, method: http.MethodPost, path: "/browser/" + what, body: struct{}{}}, &body); err != nil {
		return nil, err
	}
	for _, b := range [][]byte{body.Image, body.PDF, body.Content, body.Data} {
		if len(b) > 0 {
			return b, nil
		}
	}
	return nil, c.bad(op, http.StatusOK, "the answer holds no picture")
}

// BrowserContent is the page as "html" or "text" (GET /browser/content).
func (c *Client) BrowserContent(ctx context.Context, kind string) (string, error) {
	var body struct {
		Content string `json:"content"`
	}
	err := c.call(ctx, request{op: "browser content", method: http.MethodGet, path: "/browser/content", query: url.Values{"type": {kind}}}, &body)
	return body.Content, err
}

// BrowserConsole returns and clears what the page wrote to its console
// (GET /browser/console).
func (c *Client) BrowserConsole(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, request{op: "browser console", method: http.MethodGet, path: "/browser/console"}, &out)
	return out, err
}

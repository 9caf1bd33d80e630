package agentserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"abxdash/client"
)

// File is one entry of a listing. Paths are below the server's base folder.
type File struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Type is "file" or "directory".
	Type        string `json:"type"`
	Size        int64  `json:"size"`
	Permissions string `json:"permissions"`
	Exists      bool   `json:"exists"`
	// Modified is as sent: text or seconds.
	Modified json.RawMessage `json:"modified"`
}

// ListFiles lists a folder (GET /files/list): depth 3 when recursive, at most
// 1000 entries unless maxEntries says otherwise (0).
func (c *Client) ListFiles(ctx context.Context, path string, recursive bool, maxEntries int) ([]File, error) {
	q := url.Values{"path": {path}}
	if recursive {
		q.Set("recursive", "true")
	}
	if maxEntries > 0 {
		q.Set("max_entries", strconv.Itoa(maxEntries))
	}
	var body struct {
		Entries []File `json:"entries"`
	}
	err := c.call(ctx, request{op: "list files", method: http.MethodGet, path: "/files/list", query: q}, &body)
	return body.Entries, err
}

// StatFile describes a path; a missing one has Exists false (GET /files/stat).
func (c *Client) StatFile(ctx context.Context, path string) (File, error) {
	var f File
	err := c.call(ctx, request{op: "stat file", method: http.MethodGet, path: "/files/stat", query: url.Values{"path": {path}}}, &f)
	return f, err
}

// MakeDir makes a folder (POST /files/mkdir).
func (c *Client) MakeDir(ctx context.Context, path string) error {
	return c.call(ctx, request{op: "make directory", method: http.MethodPost, path: "/files/mkdir", body: map[string]string{"path": path}}, nil)
}

// RemoveFile removes a path (DELETE /files).
func (c *Client) RemoveFile(ctx context.Context, path string) error {
	return c.call(ctx, request{op: "remove file", method: http.MethodDelete, path: "/files", query: url.Values{"path": {path}}}, nil)
}

// MoveFile renames (POST /files/move).
func (c *Client) MoveFile(ctx context.Context, from, to string) error {
	return c.call(ctx, request{op: "move file", method: http.MethodPost, path: "/files/move", body: map[string]string{"source": from, "destination": to}}, nil)
}

// SearchResult is what a search found; TimedOut says that it gave up after 10 s.
type SearchResult struct {
	Matches  []File `json:"matches"`
	TimedOut bool   `json:"timed_out"`
}

// SearchFiles looks for names by pattern (POST /files/search).
func (c *Client) SearchFiles(ctx context.Context, path, pattern string) (SearchResult, error) {
	var out SearchResult
	err := c.call(ctx, request{
		op: "search files", method: http.MethodPost, path: "/files/search",
		body: map[string]string{"path": path, "pattern": pattern},
	}, &out)
	return out, err
}

// WriteFile writes a small file; content goes as base64 (POST /upload).
func (c *Client) WriteFile(ctx context.Context, path string, content []byte) error {
	body := struct {
		Path    string `json:"path"`
		Content []byte `json:"content_base64"`
	}{path, content}
	return c.call(ctx, request{op: "write file", method: http.MethodPost, path: "/upload", body: body}, nil)
}

// ReadFile reads a small file (GET /download).
func (c *Client) ReadFile(ctx context.Context, path string) ([]byte, error) {
	var body struct {
		Content []byte `json:"content_base64"`
	}
	err := c.call(ctx, request{op: "read file", method: http.MethodGet, path: "/download", query: url.Values{"path": {path}}}, &body)
	return body.Content, err
}

// OpenFile streams a file of up to 100 MB (GET /files/download-stream). The
// caller closes it.
func (c *Client) OpenFile(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, _, err := c.open(ctx, request{
		op: "open file", method: http.MethodGet, path: "/files/download-stream",
		query: url.Values{"path": {path}}, accept: "application/octet-stream",
	})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Archive packs paths into "tar.gz" or "zip" (POST /files/archive): at most
// 10 000 files and 100 MB. What unpacks it must not trust its names. The caller
// closes it.
func (c *Client) Archive(ctx context.Context, paths []string, format string) (io.ReadCloser, error) {
	body := struct {
		Paths  []string `json:"paths"`
		Format string   `json:"format"`
	}{paths, format}
	resp, _, err := c.open(ctx, request{op: "archive files", method: http.MethodPost, path: "/files/archive", body: body, accept: "*/*"})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Output is what a finished command wrote.
type Output struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// Shell runs a command without a shell's interpretation, for at most 300 s on
// the server's side (POST /shell). Only ctx bounds it here.
func (c *Client) Shell(ctx context.Context, command string) (Output, error) {
	var out Output
	err := c.unbounded(ctx, request{op: "run command", method: http.MethodPost, path: "/shell", body: map[string]string{"command": command}}, &out)
	return out, err
}

// Process is a background process of the server.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	// State is "running" or "exited".
	State    string `json:"state"`
	ExitCode *int   `json:"exit_code"`
}

// StartProcess starts a background process (POST /process/start); the server
// holds 100 at most (ErrRateLimited).
func (c *Client) StartProcess(ctx context.Context, command, dir string) (Process, error) {
	body := struct {
		Command string `json:"command"`
		Dir     string `json:"cwd,omitempty"`
	}{command, dir}
	var out Process
	err := c.call(ctx, request{op: "start process", method: http.MethodPost, path: "/process/start", body: body}, &out)
	return out, err
}

// Processes lists background processes (GET /process/list).
func (c *Client) Processes(ctx context.Context) ([]Process, error) {
	var body struct {
		Processes []Process `json:"processes"`
	}
	err := c.call(ctx, request{op: "list processes", method: http.MethodGet, path: "/process/list"}, &body)
	return body.Processes, err
}

// Process describes one background process (GET /process/{pid}).
func (c *Client) Process(ctx context.Context, pid int) (Process, error) {
	var out Process
	err := c.call(ctx, request{op: "get process", method: http.MethodGet, path: "/process/" + strconv.Itoa(pid)}, &out)
	return out, err
}

// SignalProcess sends 2, 9, 15, 18 or 20 (POST /process/{pid}/signal).
func (c *Client) SignalProcess(ctx context.Context, pid, signal int) error {
	switch signal {
	case 2, 9, 15, 18, 20:
	default:
		return client.Usagef("signal process", "the server takes signals 2, 9, 15, 18 and 20, not %d", signal)
	}
	return c.call(ctx, request{
		op: "signal process", method: http.MethodPost, path: "/process/" + strconv.Itoa(pid) + "/signal",
		body: map[string]int{"signal": signal},
	}, nil)
}

// bounded is how long tools of the server itself may take.
const bounded = 300 * time.Second

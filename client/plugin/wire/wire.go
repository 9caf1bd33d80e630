// Package wire is the protocol between abxdash and provider plug-ins, version 1.
// It is abxdash's own. A plug-in of kind exec speaks it as JSON lines on its
// standard input and output; one of kind rest speaks the same messages over
// HTTP. docs/providers.md describes it for people who write plug-ins.
package wire

import (
	"encoding/json"
	"errors"
	"time"

	"abxdash/client"
)

// Version is the version of the protocol.
const Version = 1

// Methods. Those with a stream send events before their result.
const (
	Hello       = "hello"
	List        = "list"
	Get         = "get"
	Create      = "create"
	Kill        = "kill"
	SetLifetime = "set_lifetime"
	Pause       = "pause"
	Resume      = "resume"
	Start       = "start"  // stream
	Attach      = "attach" // stream
	Processes   = "processes"
	ReadDir     = "read_dir"
	Stat        = "stat"
	Open        = "open" // stream
	Put         = "put"  // takes input
	Mkdir       = "mkdir"
	Rename      = "rename"
	Remove      = "remove"
)

// Message goes both ways. Towards the plug-in it is a call (Method, Params) or
// input to a call that runs (Input); from it, an event, a result or an error.
type Message struct {
	ID     int64           `json:"id"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Input  *Input          `json:"input,omitempty"`
	Event  *Event          `json:"event,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Input is something for a call that runs; one field is set. Data is base64.
type Input struct {
	Data   []byte `json:"data,omitempty"`
	EOF    bool   `json:"eof,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Resize *Size  `json:"resize,omitempty"`
	// Cancel says that nobody waits any more. A process goes on.
	Cancel bool `json:"cancel,omitempty"`
}

// Event is a piece of a stream; one field is set. Bytes are base64.
type Event struct {
	Started  int    `json:"started,omitempty"`
	Stdout   []byte `json:"stdout,omitempty"`
	Stderr   []byte `json:"stderr,omitempty"`
	Terminal []byte `json:"terminal,omitempty"`
	Data     []byte `json:"data,omitempty"`
}

// Size is a terminal's, in cells.
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// Error is an error. Kind is not_found, unauthorized, unsupported,
// rate_limited, conflict, unavailable or "".
type Error struct {
	Kind    string `json:"kind,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// RetryAfter is in seconds.
	RetryAfter int `json:"retry_after,omitempty"`
}

// HelloResult is the answer to hello.
type HelloResult struct {
	Protocol     int      `json:"protocol"`
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Capabilities []string `json:"capabilities"`
}

// Params of all methods in one; each takes what it needs.
type Params struct {
	ID       string            `json:"id,omitempty"`
	States   []string          `json:"states,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Template string            `json:"template,omitempty"`
	Limit    int               `json:"limit,omitempty"`
	Page     string            `json:"page,omitempty"`
	// Seconds is a lifetime.
	Seconds   int64             `json:"seconds,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	AutoPause bool              `json:"auto_pause,omitempty"`
	Argv      []string          `json:"argv,omitempty"`
	Dir       string            `json:"dir,omitempty"`
	User      string            `json:"user,omitempty"`
	Tag       string            `json:"tag,omitempty"`
	// TimeoutMS kills the process after that long.
	TimeoutMS int64  `json:"timeout_ms,omitempty"`
	Stdin     bool   `json:"stdin,omitempty"`
	PTY       *Size  `json:"pty,omitempty"`
	PID       int    `json:"pid,omitempty"`
	Path      string `json:"path,omitempty"`
	To        string `json:"to,omitempty"`
	// Size of what is put, -1 if unknown.
	Size int64 `json:"size,omitempty"`
}

// Sandbox is one sandbox. Times are RFC 3339; no expires_at is no end.
type Sandbox struct {
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Template  string            `json:"template,omitempty"`
	State     string            `json:"state"`
	StartedAt time.Time         `json:"started_at,omitzero"`
	ExpiresAt time.Time         `json:"expires_at,omitzero"`
	CPU       float64           `json:"cpu,omitempty"`
	MemoryMB  int64             `json:"memory_mb,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// Page is the result of list.
type Page struct {
	Sandboxes []Sandbox `json:"sandboxes"`
	Next      string    `json:"next,omitempty"`
}

// Exit is the result of start and attach.
type Exit struct {
	Code     int    `json:"code"`
	Signal   int    `json:"signal,omitempty"`
	Status   string `json:"status,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
}

// Process is one of the result of processes.
type Process struct {
	PID  int      `json:"pid"`
	Argv []string `json:"argv"`
	Dir  string   `json:"dir,omitempty"`
	Tag  string   `json:"tag,omitempty"`
}

// Entry is one file. Type is file, directory, symlink or other.
type Entry struct {
	Name       string    `json:"name"`
	Path       string    `json:"path"`
	Type       string    `json:"type"`
	Size       int64     `json:"size"`
	Mode       uint32    `json:"mode,omitempty"`
	Owner      string    `json:"owner,omitempty"`
	Group      string    `json:"group,omitempty"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	Link       string    `json:"link,omitempty"`
}

// kinds are the sentinels by name.
func kinds() map[string]error {
	return map[string]error{
		"not_found": client.ErrNotFound, "unauthorized": client.ErrUnauthorized, "unsupported": client.ErrUnsupported,
		"rate_limited": client.ErrRateLimited, "conflict": client.ErrConflict, "unavailable": client.ErrUnavailable,
	}
}

// FromError puts an error on the wire.
func FromError(err error) *Error {
	out := &Error{Message: client.OneLine(err.Error(), 300)}
	for name, kind := range kinds() {
		if errors.Is(err, kind) {
			out.Kind = name
		}
	}
	var e *client.Error
	if errors.As(err, &e) {
		out.Code, out.Hint, out.RetryAfter = string(e.Code), e.Hint, int(e.RetryAfter/time.Second)
		if e.Message != "" {
			out.Message = e.Message
		}
	}
	return out
}

// Client makes a domain error of it.
func (e *Error) Client(op, provider string, code client.Code) *client.Error {
	out := &client.Error{
		Op: op, Provider: provider, Code: code, Kind: kinds()[e.Kind], Message: client.OneLine(e.Message, 300),
		Hint: client.OneLine(e.Hint, 200), RetryAfter: time.Duration(min(max(e.RetryAfter, 0), 86400)) * time.Second,
	}
	if len(e.Code) == 5 && e.Code[0] == 'E' {
		out.Code = client.Code(client.OneLine(e.Code, 5))
	}
	return out
}

// FromSandbox puts a sandbox on the wire.
func FromSandbox(s client.Sandbox) Sandbox {
	w := Sandbox{
		ID: string(s.ID), Name: s.Name, Template: s.Template, State: string(s.State), StartedAt: s.StartedAt,
		CPU: s.CPU, MemoryMB: s.MemoryMB, Metadata: s.Metadata,
	}
	if s.End == client.EndAt {
		w.ExpiresAt = s.ExpiresAt
	}
	return w
}

// Client makes the domain type of it.
func (w Sandbox) Client(provider string) client.Sandbox {
	s := client.Sandbox{
		Provider: provider, ID: client.ID(w.ID), Name: w.Name, Template: w.Template, TemplateID: w.Template, State: client.State(w.State),
		Isolation: client.IsolationProvider, StartedAt: w.StartedAt, ExpiresAt: w.ExpiresAt, End: client.EndAt,
		CPU: w.CPU, MemoryMB: w.MemoryMB, Metadata: w.Metadata,
	}
	if s.State == "" {
		s.State = client.StateUnknown
	}
	if s.Name == "" {
		s.Name = s.Metadata[client.MetaName]
	}
	if w.ExpiresAt.IsZero() {
		s.End = client.EndNever
	}
	return s
}

// fileTypes are the words of [Entry.Type].
func fileTypes() map[client.FileType]string {
	return map[client.FileType]string{client.FileRegular: "file", client.FileDir: "directory", client.FileSymlink: "symlink", client.FileOther: "other"}
}

// FromEntry puts a file on the wire.
func FromEntry(e client.Entry) Entry {
	return Entry{
		Name: e.Name, Path: e.Path, Type: fileTypes()[e.Type], Size: e.Size, Mode: e.Mode, Owner: e.Owner, Group: e.Group,
		ModifiedAt: e.ModifiedAt, Link: e.LinkTarget,
	}
}

// Client makes the domain type of it.
func (w Entry) Client() client.Entry {
	e := client.Entry{
		Name: w.Name, Path: w.Path, Size: max(w.Size, 0), Mode: w.Mode & 0o777, Owner: w.Owner, Group: w.Group, ModifiedAt: w.ModifiedAt, LinkTarget: w.Link,
	}
	for t, name := range fileTypes() {
		if name == w.Type {
			e.Type = t
		}
	}
	return e
}

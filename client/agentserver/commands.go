package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"abxdash/client"
)

// Group is a capability group of the server (agent-sandbox-server §2).
type Group string

// Groups known so far; core is always on.
const (
	GroupCore     Group = "core"
	GroupCommands Group = "commands"
	GroupFiles    Group = "file_ops"
	GroupProcess  Group = "process"
	GroupTerminal Group = "terminal"
	GroupSystem   Group = "system"
	GroupDevTools Group = "dev_tools"
	GroupBrowser  Group = "browser"
	GroupAgents   Group = "agents"
)

// Capabilities tells which groups are on (GET /capabilities). A server without
// that route is asked for the cheapest route of each group instead.
func (c *Client) Capabilities(ctx context.Context) (map[Group]bool, error) {
	var body struct {
		Groups map[Group]bool `json:"groups"`
	}
	err := c.call(ctx, request{op: "ask for the server's groups", method: http.MethodGet, path: "/capabilities"}, &body)
	if err == nil && body.Groups != nil {
		return body.Groups, nil
	}
	if err != nil && !errors.Is(err, client.ErrUnsupported) {
		return nil, err
	}
	return c.probe(ctx)
}

// probe asks for one harmless route of each group. The browser's only GETs
// change or start something, so that group stays unknown.
func (c *Client) probe(ctx context.Context) (map[Group]bool, error) {
	out := map[Group]bool{GroupCore: true}
	for group, path := range map[Group]string{
		GroupCommands: "/commands", GroupFiles: "/files/stat?path=.", GroupProcess: "/process/list",
		GroupTerminal: "/pty/sessions", GroupSystem: "/system/info", GroupDevTools: "/git/status?path=.", GroupAgents: "/v1/agents/sessions",
	} {
		err := c.call(ctx, request{op: "ask for the server's groups", method: http.MethodGet, path: path}, nil)
		switch {
		case err == nil:
			out[group] = true
		case errors.Is(err, client.ErrUnsupported):
			out[group] = false
		case errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrUnauthorized):
			return nil, err
		default:
			// It answered: the group is there, only this question was no good.
			out[group] = true
		}
	}
	return out, nil
}

// Argument is one argument of a named command.
type Argument struct {
	Name string `json:"name"`
	// Type is string, integer, float or boolean.
	Type        string          `json:"type"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Description string          `json:"description"`
}

// Command is a named command of the template.
type Command struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Args        []Argument `json:"args"`
}

// Commands lists the named commands that are not hidden (GET /commands).
func (c *Client) Commands(ctx context.Context) ([]Command, error) {
	var body struct {
		Commands []Command `json:"commands"`
	}
	err := c.call(ctx, request{op: "list named commands", method: http.MethodGet, path: "/commands"}, &body)
	return body.Commands, err
}

// Run calls a named command with flat arguments and returns its unwrapped
// result as JSON (POST /commands/{name}, agent-sandbox-server §4). An unknown
// command is E3005, a bad argument E9002, an exception in the command E3000.
// Only ctx bounds it.
func (c *Client) Run(ctx context.Context, name string, args map[string]any) (json.RawMessage, error) {
	op := "run named command " + client.OneLine(name, 60)
	if name == "" || name == "." || name == ".." {
		return nil, client.Usagef("run named command", "%q is no command", name)
	}
	if args == nil {
		args = map[string]any{}
	}
	var body struct {
		Result json.RawMessage `json:"result"`
	}
	r := request{op: op, method: http.MethodPost, path: "/commands/" + url.PathEscape(name), body: args, notFound: client.CodeRunCommand}
	if err := c.unbounded(ctx, r, &body); err != nil {
		return nil, err
	}
	if body.Result == nil {
		return nil, c.bad(op, http.StatusOK, "the answer holds no result")
	}
	return body.Result, nil
}

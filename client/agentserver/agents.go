package agentserver

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"abxdash/client"
)

// The Agents API lies below this path (agent-sandbox-server §6). It is HTTP
// only, and its group is off unless the template turns it on.
const agentsPath = "/v1/agents/sessions"

// AgentSpec describes the agent of a session.
type AgentSpec struct {
	Model        string            `json:"model,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools,omitempty"`
}

// Session is an agent session. Status is idle, in_progress, completed, failed,
// cancelled, or a word not known yet.
type Session struct {
	ID           string            `json:"id"`
	Status       string            `json:"status"`
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Metadata     map[string]string `json:"metadata"`
}

// AgentEvent is one event of a turn, e.g. agent.output_text.delta.
type AgentEvent struct {
	Name string
	// Data is the event's JSON as sent.
	Data json.RawMessage
	// Delta is the text of an agent.output_text.delta event.
	Delta string
}

// Names of agent events (agent-sandbox-server §6).
const (
	AgentTurnStarted   = "agent.turn.started"
	AgentTurnCompleted = "agent.turn.completed"
	AgentTurnFailed    = "agent.turn.failed"
	AgentTextDelta     = "agent.output_text.delta"
)

// CreateSession makes a session.
func (c *Client) CreateSession(ctx context.Context, spec AgentSpec) (Session, error) {
	body := struct {
		Agent AgentSpec `json:"agent"`
	}{spec}
	return c.session(ctx, request{op: "create agent session", method: http.MethodPost, path: agentsPath, body: body})
}

// session makes a call whose answer is a session, bare or wrapped.
func (c *Client) session(ctx context.Context, r request) (Session, error) {
	var out struct {
		Session
		Wrapped *Session `json:"session"`
	}
	if err := c.call(ctx, r, &out); err != nil {
		return Session{}, err
	}
	got := out.Session
	if out.Wrapped != nil {
		got = *out.Wrapped
	}
	if got.ID == "" {
		return Session{}, c.bad(r.op, http.StatusOK, "the answer is no session")
	}
	return got, nil
}

// Sessions lists the sessions.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	var raw json.RawMessage
	if err := c.call(ctx, request{op: "list agent sessions", method: http.MethodGet, path: agentsPath}, &raw); err != nil {
		return nil, err
	}
	var list []Session
	if json.Unmarshal(raw, &list) == nil {
		return list, nil
	}
	var wrapped struct {
		Data     []Session `json:"data"`
		Sessions []Session `json:"sessions"`
	}
	if json.Unmarshal(raw, &wrapped) != nil {
		return nil, c.bad("list agent sessions", http.StatusOK, "the answer is no list")
	}
	return append(wrapped.Data, wrapped.Sessions...), nil
}

// Session reads one session; an unknown one is ErrNotFound.
func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	const op = "get agent session"
	if err := named(op, id); err != nil {
		return Session{}, err
	}
	return c.session(ctx, request{op: op, method: http.MethodGet, path: sessionPath(id, ""), notFound: client.CodeNotFound})
}

// DeleteSession deletes a session.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	const op = "delete agent session"
	if err := named(op, id); err != nil {
		return err
	}
	return c.call(ctx, request{op: op, method: http.MethodDelete, path: sessionPath(id, ""), notFound: client.CodeNotFound}, nil)
}

// Items lists what a session holds so far, each as sent.
func (c *Client) Items(ctx context.Context, id string) ([]json.RawMessage, error) {
	const op = "list agent items"
	if err := named(op, id); err != nil {
		return nil, err
	}
	var raw json.RawMessage
	r := request{op: op, method: http.MethodGet, path: sessionPath(id, "/items"), notFound: client.CodeNotFound}
	if err := c.call(ctx, r, &raw); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list, nil
	}
	var wrapped struct {
		Data  []json.RawMessage `json:"data"`
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(raw, &wrapped) != nil {
		return nil, c.bad(op, http.StatusOK, "the answer is no list")
	}
	return append(wrapped.Data, wrapped.Items...), nil
}

// Send gives a session input and yields the events of the turn that follows. A
// turn that runs already is ErrConflict. Ending the loop early leaves the turn
// running; [Client.Follow] joins it again.
func (c *Client) Send(ctx context.Context, id, input string) iter.Seq2[AgentEvent, error] {
	body := struct {
		Input  string `json:"input"`
		Stream bool   `json:"stream"`
	}{input, true}
	return c.turn(ctx, id, request{op: "send to agent", method: http.MethodPost, path: sessionPath(id, "/events"), body: body, notFound: client.CodeNotFound})
}

// Follow yields the events of the turn that runs, from now on.
func (c *Client) Follow(ctx context.Context, id string) iter.Seq2[AgentEvent, error] {
	return c.turn(ctx, id, request{op: "follow agent", method: http.MethodGet, path: sessionPath(id, "/events"), notFound: client.CodeNotFound})
}

// turn yields events up to the end of a turn. A stream that ends before it is
// ErrStreamBroken; a failed turn is an event, not an error.
func (c *Client) turn(ctx context.Context, id string, r request) iter.Seq2[AgentEvent, error] {
	return func(yield func(AgentEvent, error) bool) {
		if err := named(r.op, id); err != nil {
			yield(AgentEvent{}, err)
			return
		}
		for ev, err := range c.events(ctx, r) {
			if err != nil {
				yield(AgentEvent{}, err)
				return
			}
			if ev.data == "[DONE]" {
				return
			}
			out := AgentEvent{Name: ev.name, Data: json.RawMessage(ev.data)}
			var body struct {
				Type  string          `json:"type"`
				Delta json.RawMessage `json:"delta"`
			}
			if json.Unmarshal(out.Data, &body) != nil {
				out.Data = nil
			}
			if out.Name == "" {
				out.Name = body.Type
			}
			if json.Unmarshal(body.Delta, &out.Delta) != nil {
				out.Delta = "" // a delta of another kind is in Data
			}
			if !yield(out, nil) || out.Name == AgentTurnCompleted || out.Name == AgentTurnFailed {
				return
			}
		}
		if ctx.Err() == nil {
			yield(AgentEvent{}, &client.Error{
				Op: r.op, Provider: c.cfg.Provider, Code: client.CodeNetwork, Kind: client.ErrStreamBroken,
				Message: "connection lost, the turn may still run",
			})
		}
	}
}

func named(op, id string) error {
	if id == "" || id == "." || id == ".." {
		return client.Usagef(op, "%q is no session", id)
	}
	return nil
}

func sessionPath(id, rest string) string { return agentsPath + "/" + url.PathEscape(id) + rest }

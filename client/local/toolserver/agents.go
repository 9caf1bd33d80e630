package toolserver

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of the Agents API (agent-sandbox-server §6).
const (
	maxSessions = 20
	sessionIdle = 1800 * time.Second
	turnTimeout = 300 * time.Second
	agentsPath  = "/v1/agents/sessions"
)

// States of a session.
const (
	sessionReady  = "idle"
	sessionBusy   = "in_progress"
	sessionDone   = "completed"
	sessionFailed = "failed"
)

// agents are the sessions.
type agents struct {
	mu   sync.Mutex
	list map[string]*session
}

// agentSpec is what an agent is asked to be; the program makes of it what it can.
type agentSpec struct {
	Model        *string           `json:"model"`
	Instructions *string           `json:"instructions"`
	Tools        []json.RawMessage `json:"tools"`
}

// sessionInfo is a session as it is told (agent-sandbox-server §6).
type sessionInfo struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	Status       string            `json:"status"`
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Tools        []json.RawMessage `json:"tools"`
	CreatedAt    int64             `json:"created_at"`
	Metadata     map[string]string `json:"metadata"`
}

// session is a conversation. The lock of agents guards its fields.
type session struct {
	info  sessionInfo
	items []json.RawMessage
	// turn is the latest one, nil before the first.
	turn *turn
	used time.Time
}

func (s *Server) agentRoutes() {
	s.handle(groupAgents, "POST "+agentsPath, s.newSession)
	route(s, groupAgents, "GET "+agentsPath, func(*http.Request, struct{}) (any, error) {
		s.agents.mu.Lock()
		defer s.agents.mu.Unlock()
		s.agents.purge(time.Now())
		out := []sessionInfo{}
		for _, x := range s.agents.list {
			out = append(out, x.info)
		}
		slices.SortFunc(out, func(a, b sessionInfo) int {
			return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
		})
		return map[string]any{"object": "list", "data": out}, nil
	})
	route(s, groupAgents, "GET "+agentsPath+"/{id}", func(r *http.Request, _ struct{}) (any, error) {
		return s.agents.with(r, func(x *session) (any, error) { return x.info, nil })
	})
	route(s, groupAgents, "POST "+agentsPath+"/{id}", func(r *http.Request, b agentBody) (any, error) {
		return s.agents.with(r, func(x *session) (any, error) {
			spec := b.agentSpec
			if b.Agent != nil {
				spec = *b.Agent
			}
			x.be(spec, b.Metadata)
			return x.info, nil
		})
	})
	route(s, groupAgents, "DELETE "+agentsPath+"/{id}", func(r *http.Request, _ struct{}) (any, error) {
		return s.agents.with(r, func(x *session) (any, error) {
			if x.turn != nil {
				x.turn.cancel()
			}
			delete(s.agents.list, x.info.ID)
			return map[string]any{"id": x.info.ID, "object": "session.deleted", "deleted": true}, nil
		})
	})
	s.handle(groupAgents, "POST "+agentsPath+"/{id}/events", s.sendInput)
	s.handle(groupAgents, "GET "+agentsPath+"/{id}/events", s.follow)
	route(s, groupAgents, "GET "+agentsPath+"/{id}/items", func(r *http.Request, _ struct{}) (any, error) {
		return s.agents.with(r, func(x *session) (any, error) {
			return map[string]any{"object": "list", "data": append([]json.RawMessage{}, x.items...)}, nil
		})
	})
}

// agentBody asks for a session, a change of one, or a turn.
type agentBody struct {
	Agent *agentSpec
	agentSpec
	Metadata map[string]string
	Input    json.RawMessage
	Stream   *bool
}

// be takes over what is given.
func (x *session) be(spec agentSpec, metadata map[string]string) {
	if spec.Model != nil {
		x.info.Model = *spec.Model
	}
	if spec.Instructions != nil {
		x.info.Instructions = *spec.Instructions
	}
	if spec.Tools != nil {
		x.info.Tools = spec.Tools
	}
	if metadata != nil {
		x.info.Metadata = maps.Clone(metadata)
	}
}

// purge forgets sessions that nobody has used for long; the lock is held.
func (a *agents) purge(now time.Time) {
	maps.DeleteFunc(a.list, func(_ string, x *session) bool {
		return now.Sub(x.used) > sessionIdle && x.info.Status != sessionBusy
	})
}

// with finds the session of a request and does something under the lock.
func (a *agents) with(r *http.Request, do func(*session) (any, error)) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.purge(time.Now())
	x := a.list[r.PathValue("id")]
	if x == nil {
		return nil, &problem{http.StatusNotFound, "there is no such session", "KeyError"}
	}
	x.used = time.Now()
	return do(x)
}

// plug is the agent's program.
func (s *Server) plug() ([]string, error) {
	command := strings.TrimSpace(s.cfg.Env[envAgent])
	if command == "" {
		return nil, &problem{http.StatusServiceUnavailable, "no agent is plugged in: set " + envAgent + " to a program that speaks JSON lines", "RuntimeError"}
	}
	return words(command)
}

// newSession makes a session, with a first turn if there is input.
func (s *Server) newSession(w http.ResponseWriter, r *http.Request) {
	var b agentBody
	x, t, err := s.makeSession(w, r, &b)
	if err != nil {
		fail(w, err)
		return
	}
	if b.Stream == nil || !*b.Stream {
		answer(w, http.StatusOK, x)
		return
	}
	ev := newEvents(w)
	defer ev.close()
	ev.send(eventCreated, map[string]any{"type": eventCreated, "session": x})
	if t != nil {
		t.tell(r.Context(), ev, 0)
	}
}

func (s *Server) makeSession(w http.ResponseWriter, r *http.Request, b *agentBody) (sessionInfo, *turn, error) {
	if err := decode(w, r, b); err != nil {
		return sessionInfo{}, nil, err
	}
	argv, err := s.plug()
	if err != nil {
		return sessionInfo{}, nil, err
	}
	input, err := inputItem(b.Input)
	if err != nil {
		return sessionInfo{}, nil, err
	}
	now := time.Now()
	x := &session{used: now, info: sessionInfo{
		ID: "sess_" + strings.ToLower(rand.Text()), Object: "session", Status: sessionReady, CreatedAt: now.Unix(),
		Tools: []json.RawMessage{}, Metadata: map[string]string{},
	}}
	x.be(b.agentSpec, b.Metadata)
	if b.Agent != nil {
		x.be(*b.Agent, nil)
	}
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	s.agents.purge(now)
	if len(s.agents.list) >= maxSessions {
		return sessionInfo{}, nil, &problem{http.StatusTooManyRequests, fmt.Sprintf("at most %d sessions", maxSessions), "RuntimeError"}
	}
	if s.agents.list == nil {
		s.agents.list = map[string]*session{}
	}
	s.agents.list[x.info.ID] = x
	if input == nil {
		return x.info, nil, nil
	}
	return x.info, s.begin(x, argv, input), nil
}

// inputItem makes an item of input, which is a string or a list of texts; nil
// without input.
func inputItem(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var one string
	var parts []part
	if json.Unmarshal(raw, &one) == nil {
		parts = []part{{"input_text", one}}
	} else if json.Unmarshal(raw, &parts) != nil {
		return nil, bad("input must be a string or a list of input_text")
	}
	for _, p := range parts {
		if p.Type != "input_text" {
			return nil, bad("input of the type %q is not taken", p.Type)
		}
	}
	if len(parts) == 0 {
		return nil, bad("input is empty")
	}
	return json.Marshal(map[string]any{"id": newID("item"), "type": "message", "role": "user", "content": parts})
}

func newID(kind string) string { return kind + "_" + strings.ToLower(rand.Text()) }

// sendInput starts a turn and tells it, or waits for its end.
func (s *Server) sendInput(w http.ResponseWriter, r *http.Request) {
	var b agentBody
	err := decode(w, r, &b)
	var argv []string
	if err == nil {
		argv, err = s.plug()
	}
	var input json.RawMessage
	if err == nil {
		if input, err = inputItem(b.Input); err == nil && input == nil {
			err = bad("input is missing")
		}
	}
	var t *turn
	if err == nil {
		_, err = s.agents.with(r, func(x *session) (any, error) {
			if x.info.Status == sessionBusy {
				return nil, &problem{http.StatusConflict, "a turn runs already", "ConflictError"}
			}
			t = s.begin(x, argv, input)
			return nil, nil
		})
	}
	if err != nil {
		fail(w, err)
		return
	}
	if b.Stream == nil || *b.Stream {
		ev := newEvents(w)
		defer ev.close()
		t.tell(r.Context(), ev, 0)
		return
	}
	select {
	case <-t.over:
		v, err := s.agents.with(r, func(x *session) (any, error) { return x.info, nil })
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, http.StatusOK, v)
	case <-r.Context().Done():
	}
}

// follow tells what comes of the running turn from now on.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	var t *turn
	_, err := s.agents.with(r, func(x *session) (any, error) {
		if x.info.Status != sessionBusy {
			return nil, &problem{http.StatusConflict, "no turn runs", "ConflictError"}
		}
		t = x.turn
		return nil, nil
	})
	if err != nil {
		fail(w, err)
		return
	}
	from := t.count()
	ev := newEvents(w)
	defer ev.close()
	t.tell(r.Context(), ev, from)
}

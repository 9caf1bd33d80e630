package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Names of the events of a turn (agent-sandbox-server §6).
const (
	eventCreated   = "agent.session.created"
	eventStarted   = "agent.turn.started"
	eventCompleted = "agent.turn.completed"
	eventFailed    = "agent.turn.failed"
	eventItemAdded = "agent.output_item.added"
	eventItemDone  = "agent.output_item.done"
	eventDelta     = "agent.output_text.delta"
	eventTextDone  = "agent.output_text.done"
)

const (
	// maxPlugLine bounds one line of an agent's program, maxTurn all of a turn, in bytes.
	maxPlugLine = 1 << 20
	maxTurn     = 8 << 20
)

// plugRequest is the one line that an agent's program reads on standard input.
type plugRequest struct {
	Type    string      `json:"type"`
	Session sessionInfo `json:"session"`
	// Items is the conversation so far, the new input last.
	Items []json.RawMessage `json:"items"`
	// Input is the text of the new input.
	Input string `json:"input"`
}

// plugLine is one line that an agent's program writes: a piece of the answer's
// text, a whole item such as a tool call, or why it failed. A line that is no
// such object is text, too, with its line end. The exit code decides: 0 completes
// the turn, another one fails it.
type plugLine struct {
	Type  string          `json:"type"`
	Delta string          `json:"delta"`
	Item  json.RawMessage `json:"item"`
	Error string          `json:"error"`
}

// turnEvent is one event as it is told.
type turnEvent struct {
	name string
	data map[string]any
}

// turn is one run of an agent's program.
type turn struct {
	id, session string
	cancel      context.CancelFunc
	// over is closed after the last event.
	over chan struct{}

	// Only the goroutine that runs the turn uses these.
	line    []byte
	size    int
	message string
	text    strings.Builder
	items   []json.RawMessage
	failure string

	mu      sync.Mutex
	events  []turnEvent
	changed chan struct{}
}

// begin starts a turn; the lock of agents is held.
func (s *Server) begin(x *session, argv []string, input json.RawMessage) *turn {
	x.items = append(x.items, input)
	ctx, cancel := context.WithCancel(s.life)
	t := &turn{id: newID("turn"), session: x.info.ID, cancel: cancel, over: make(chan struct{}), changed: make(chan struct{})}
	x.turn, x.info.Status = t, sessionBusy
	req := plugRequest{Type: "turn", Session: x.info, Items: append([]json.RawMessage{}, x.items...), Input: inputText(input)}
	s.work.Go(func() {
		defer cancel()
		s.play(ctx, x, t, argv, req)
	})
	return t
}

// inputText is the text of an item of input.
func inputText(item json.RawMessage) string {
	var m struct{ Content []struct{ Text string } }
	if json.Unmarshal(item, &m) != nil {
		return ""
	}
	parts := make([]string, 0, len(m.Content))
	for _, c := range m.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

// play runs the program of a turn to its end.
func (s *Server) play(ctx context.Context, x *session, t *turn, argv []string, req plugRequest) {
	t.say(eventStarted, nil)
	input, err := json.Marshal(req)
	if err == nil {
		var errs tail
		var code int
		exit, runErr := s.run(ctx, program{argv: argv, input: append(input, '\n')}, turnTimeout, t.read, errs.add)
		code, err = exit.Code, runErr
		if len(t.line) > 0 {
			t.take(t.line)
		}
		switch {
		case err != nil || t.failure != "":
		case code != 0 && errs.last() != "":
			t.failure = errs.last()
		case code != 0:
			t.failure = fmt.Sprintf("the agent's program ended with %d", code)
		}
	}
	switch {
	case t.failure != "": // what read found wrong ended the turn
	case errors.Is(err, context.Canceled):
		t.failure = "the turn was cancelled"
	case err != nil:
		t.failure = err.Error()
	}
	t.closeText()
	s.agents.mu.Lock()
	x.items = append(x.items, t.items...)
	x.info.Status = sessionDone
	if t.failure != "" {
		x.info.Status = sessionFailed
	}
	s.agents.mu.Unlock()
	if t.failure != "" {
		t.say(eventFailed, map[string]any{"error": map[string]string{"message": t.failure}})
	} else {
		t.say(eventCompleted, nil)
	}
	close(t.over)
}

// read takes what the program writes, by lines.
func (t *turn) read(p []byte) {
	if t.size += len(p); t.size > maxTurn {
		t.failure = "the agent's program writes too much"
		t.cancel()
		return
	}
	t.line = append(t.line, p...)
	for {
		line, rest, ok := bytes.Cut(t.line, []byte("\n"))
		if !ok {
			break
		}
		t.take(append(line[:len(line):len(line)], '\n'))
		t.line = rest
	}
	if len(t.line) > maxPlugLine {
		t.failure = "a line of the agent's program is too long"
		t.line = nil
		t.cancel()
	}
}

// take obeys one line.
func (t *turn) take(line []byte) {
	var m plugLine
	if json.Unmarshal(line, &m) != nil {
		m = plugLine{Type: "text", Delta: strings.ToValidUTF8(string(line), "\uFFFD")}
	}
	switch m.Type {
	case "text":
		t.addText(m.Delta)
	case "item":
		t.closeText()
		t.item(m.Item)
	case "failed":
		if t.failure = m.Error; t.failure == "" {
			t.failure = "the agent's program gave up"
		}
	}
}

// addText adds to the message under way and begins one where there is none.
func (t *turn) addText(delta string) {
	if delta == "" {
		return
	}
	if t.message == "" {
		t.message = newID("item")
		t.say(eventItemAdded, map[string]any{"item": message(t.message, "in_progress", "")})
	}
	t.text.WriteString(delta)
	t.say(eventDelta, map[string]any{"item_id": t.message, "delta": delta})
}

func message(id, status, text string) map[string]any {
	content := []map[string]string{}
	if text != "" {
		content = append(content, map[string]string{"type": "output_text", "text": text})
	}
	return map[string]any{"id": id, "type": "message", "role": "assistant", "status": status, "content": content}
}

// closeText completes the message under way.
func (t *turn) closeText() {
	if t.message == "" {
		return
	}
	item := message(t.message, "completed", t.text.String())
	t.say(eventTextDone, map[string]any{"item_id": t.message, "text": t.text.String()})
	t.say(eventItemDone, map[string]any{"item": item})
	if raw, err := json.Marshal(item); err == nil {
		t.items = append(t.items, raw)
	}
	t.message = ""
	t.text.Reset()
}

// item passes on a whole item; one without an id gets one.
func (t *turn) item(raw json.RawMessage) {
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return
	}
	if id, ok := m["id"].(string); !ok || id == "" {
		m["id"] = newID("item")
	}
	t.say(eventItemAdded, map[string]any{"item": m})
	t.say(eventItemDone, map[string]any{"item": m})
	if whole, err := json.Marshal(m); err == nil {
		t.items = append(t.items, whole)
	}
}

// say keeps an event for whoever follows.
func (t *turn) say(name string, more map[string]any) {
	data := map[string]any{"type": name, "session_id": t.session, "turn_id": t.id}
	for k, v := range more {
		data[k] = v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, turnEvent{name, data})
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *turn) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.events)
}

// tell sends the events from one on until the turn is over or the caller gone,
// who leaves the turn running.
func (t *turn) tell(ctx context.Context, ev *events, from int) {
	for {
		t.mu.Lock()
		list, changed := t.events[from:], t.changed
		t.mu.Unlock()
		for _, e := range list {
			ev.send(e.name, e.data)
			if from++; e.name == eventCompleted || e.name == eventFailed {
				return
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

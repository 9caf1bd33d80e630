//go:build unix

package toolserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/agentserver"
)

// agentProgram is a plugged-in agent in shell: it answers with what it was asked.
const agentProgram = `#!/bin/sh
read -r request
echo "$request" > "$HOME/request.json"
case "$request" in
*'"input":"wait"'*) echo '{"type":"text","delta":"waiting"}'; while ! [ -e "$HOME/go" ]; do sleep 0.01; done; echo '{"type":"text","delta":" no more"}' ;;
*'"input":"fail"'*) echo '{"type":"text","delta":"half"}'; echo '{"type":"failed","error":"no luck"}' ;;
*'"input":"crash"'*) echo boom >&2; exit 3 ;;
*'"input":"plain"'*) echo "just words" ;;
*) echo '{"type":"text","delta":"You said "}'; echo '{"type":"item","item":{"type":"tool_call","name":"look"}}'; printf '{"type":"text","delta":"it."}' ;;
esac
`

func newAgentRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, everyGroup, envAgent+"=./agent")
	r.write("agent", agentProgram)
	return r
}

// turnOf sends input and gives the names of the events and the text.
func turnOf(t *testing.T, r *rig, id, input string) (names []string, said string, last agentserver.AgentEvent) {
	t.Helper()
	for ev, err := range r.Send(ctx(t), id, input) {
		if err != nil {
			t.Fatal(err)
		}
		names, said, last = append(names, strings.TrimPrefix(ev.Name, "agent.")), said+ev.Delta, ev
	}
	return names, said, last
}

func TestAgents(t *testing.T) {
	r := newAgentRig(t)
	x, err := r.CreateSession(ctx(t), agentserver.AgentSpec{Model: "m-1", Instructions: "be brief"})
	if err != nil || x.Model != "m-1" || x.Status != "idle" || !strings.HasPrefix(x.ID, "sess_") {
		t.Fatalf("%+v %v", x, err)
	}
	names, said, _ := turnOf(t, r, x.ID, "hi")
	want := []string{
		"turn.started", "output_item.added", "output_text.delta", "output_text.done", "output_item.done",
		"output_item.added", "output_item.done", "output_item.added", "output_text.delta", "output_text.done", "output_item.done", "turn.completed",
	}
	if d := cmp.Diff(want, names); d != "" || said != "You said it." {
		t.Error(said, d)
	}
	items, err := r.Items(ctx(t), x.ID)
	if err != nil || len(items) != 4 || !strings.Contains(string(items[0]), `"role":"user"`) || !strings.Contains(string(items[2]), "tool_call") {
		t.Errorf("%s %v", items, err)
	}
	// The second turn's program sees the first one.
	if _, said, _ = turnOf(t, r, x.ID, "plain"); said != "just words\n" {
		t.Errorf("%q", said)
	}
	var request plugRequest
	data, err := os.ReadFile(r.home + "/request.json")
	if err == nil {
		err = json.Unmarshal(data, &request)
	}
	if err != nil || request.Type != "turn" || request.Input != "plain" || len(request.Items) != 5 || request.Session.Instructions != "be brief" {
		t.Errorf("%+v %v", request, err)
	}
	for input, message := range map[string]string{"fail": "no luck", "crash": "boom"} {
		if _, _, last := turnOf(t, r, x.ID, input); last.Name != agentserver.AgentTurnFailed || !strings.Contains(string(last.Data), message) {
			t.Errorf("%s: %s %s", input, last.Name, last.Data)
		}
		if got, err := r.Session(ctx(t), x.ID); err != nil || got.Status != "failed" {
			t.Errorf("%+v %v", got, err)
		}
	}
	r.raw(200, "POST", "/v1/agents/sessions/"+x.ID, `{"agent":{"model":"m-2"}}`)
	if got, err := r.Session(ctx(t), x.ID); err != nil || got.Model != "m-2" || got.Instructions != "be brief" {
		t.Errorf("%+v %v", got, err)
	}
	if err := r.DeleteSession(ctx(t), x.ID); err != nil {
		t.Error(err)
	}
	if _, err := r.Session(ctx(t), x.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// TestTurnGoesOn: a caller that leaves does not end it, a second input is
// refused meanwhile, and a follower joins it.
func TestTurnGoesOn(t *testing.T) {
	r := newAgentRig(t)
	x, err := r.CreateSession(ctx(t), agentserver.AgentSpec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Follow(ctx(t), x.ID) {
		if !errors.Is(err, client.ErrConflict) {
			t.Errorf("nothing to follow: %v", err)
		}
	}
	for ev, err := range r.Send(ctx(t), x.ID, "wait") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Delta == "waiting" {
			break
		}
	}
	for _, err := range r.Send(ctx(t), x.ID, "more") {
		if !errors.Is(err, client.ErrConflict) {
			t.Errorf("a second input: %v", err)
		}
	}
	if got, err := r.Session(ctx(t), x.ID); err != nil || got.Status != "in_progress" {
		t.Errorf("%+v %v", got, err)
	}
	// The answer's head says that the follower has joined; only then it goes on.
	res, err := r.srv.Client().Get(r.srv.URL + "/v1/agents/sessions/" + x.ID + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	r.write("go", "")
	body, err := io.ReadAll(res.Body)
	if text := string(body); err != nil || !strings.Contains(text, `"delta":" no more"`) || strings.Contains(text, `"delta":"waiting"`) || !strings.Contains(text, agentserver.AgentTurnCompleted) {
		t.Errorf("followed %s, %v", text, err)
	}
}

// TestSessionsWithInputAtOnce: as one event stream, or to be asked for later.
func TestSessionsWithInputAtOnce(t *testing.T) {
	r := newAgentRig(t)
	text := r.raw(200, "POST", "/v1/agents/sessions", `{"agent":{"model":"m"},"input":[{"type":"input_text","text":"plain"}],"stream":true}`)
	var names []string
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: agent."); ok {
			names = append(names, name)
		}
	}
	if len(names) < 3 || names[0] != "session.created" || names[1] != "turn.started" || names[len(names)-1] != "turn.completed" {
		t.Errorf("%q", names)
	}
	r.raw(200, "POST", "/v1/agents/sessions", `{"model":"m","input":"plain","metadata":{"a":"b"}}`)
	list, err := r.Sessions(ctx(t))
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	eventually(t, "both turns end", func() bool {
		list, err := r.Sessions(ctx(t))
		return err == nil && list[0].Status == "completed" && list[1].Status == "completed"
	})
	if text := r.raw(200, "POST", "/v1/agents/sessions/"+list[0].ID+"/events", `{"input":"crash","stream":false}`); !strings.Contains(text, `"status":"failed"`) {
		t.Error(text)
	}
	r.raw(400, "POST", "/v1/agents/sessions/"+list[0].ID+"/events", `{}`)
	r.raw(400, "POST", "/v1/agents/sessions", `{"input":[{"type":"input_image"}]}`)
	for range maxSessions - 2 {
		r.raw(200, "POST", "/v1/agents/sessions", `{}`)
	}
	if _, err := r.CreateSession(ctx(t), agentserver.AgentSpec{}); !errors.Is(err, client.ErrRateLimited) {
		t.Errorf("one more: %v", err)
	}
}

// TestNoAgentPluggedIn says what to set.
func TestNoAgentPluggedIn(t *testing.T) {
	r := newRig(t, everyGroup)
	if _, err := r.CreateSession(ctx(t), agentserver.AgentSpec{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), envAgent) {
		t.Error(err)
	}
}

// TestIdleSessionsAreForgotten: but not one whose turn runs.
func TestIdleSessionsAreForgotten(t *testing.T) {
	r := newAgentRig(t)
	idle, err := r.CreateSession(ctx(t), agentserver.AgentSpec{})
	if err != nil {
		t.Fatal(err)
	}
	busy, err := r.CreateSession(ctx(t), agentserver.AgentSpec{})
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range r.Send(ctx(t), busy.ID, "wait") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Delta != "" {
			break
		}
	}
	r.tool.agents.mu.Lock()
	for _, x := range r.tool.agents.list {
		x.used = x.used.Add(-sessionIdle - time.Second)
	}
	r.tool.agents.mu.Unlock()
	list, err := r.Sessions(ctx(t))
	if err != nil || len(list) != 1 || list[0].ID != busy.ID {
		t.Errorf("%+v, %v; %s is idle", list, err, idle.ID)
	}
}

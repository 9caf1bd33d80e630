package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// Handler serves p over HTTP, for a plug-in of kind rest. key, if not "", is
// asked for as a bearer token.
func Handler(p client.Provider, key string) http.Handler {
	running := newInputs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			write(w, http.StatusUnauthorized, wire.Message{Error: &wire.Error{Kind: "unauthorized", Code: string(client.CodeAuthMissing), Message: "wrong key"}})
			return
		}
		method, ok := strings.CutPrefix(r.URL.Path, "/v1/")
		if !ok || r.Method != http.MethodPost {
			write(w, http.StatusNotFound, wire.Message{Error: &wire.Error{Kind: "not_found", Message: "there is nothing here"}})
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		if err != nil {
			return
		}
		if method == "input" {
			var m wire.Message
			if json.Unmarshal(body, &m) != nil || m.Input == nil || !running.put(r.Context(), m.ID, *m.Input) {
				write(w, http.StatusNotFound, wire.Message{Error: &wire.Error{Kind: "not_found", Message: "no such call runs"}})
				return
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
		id, _ := strconv.ParseInt(r.Header.Get("Call-Id"), 10, 64) // 0: a call without input
		input := running.add(id)
		defer running.remove(id)
		out := &lines{w: w}
		c := call{p: p, input: input, event: func(ev wire.Event) error { return out.send(wire.Message{ID: id, Event: &ev}) }}
		result, err := c.do(r.Context(), method, body)
		_ = out.send(answer(id, result, err)) // nobody is left to be told
	})
}

func write(w http.ResponseWriter, status int, m wire.Message) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(m)
}

// lines writes messages as they come.
type lines struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (l *lines) send(m wire.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Header().Set("Content-Type", "application/x-ndjson")
	if err := json.NewEncoder(l.w).Encode(m); err != nil {
		return err
	}
	return http.NewResponseController(l.w).Flush()
}

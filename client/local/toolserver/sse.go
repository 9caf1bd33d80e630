package toolserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// sseKeepalive is how long a stream may be silent before a comment says that it
// is still there.
const sseKeepalive = 15 * time.Second

// events writes server-sent events.
type events struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	flush *http.ResponseController
	timer *time.Timer
	done  bool
}

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, flush: http.NewResponseController(w)}
	_ = e.flush.Flush()
	e.mu.Lock() // the timer's function reads the timer
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(sseKeepalive, func() { e.write([]byte(": keepalive\n\n")) })
	return e
}

// send writes one event; JSON has no line ends of its own.
func (e *events) send(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return // only values of this package come here
	}
	e.write([]byte("event: " + name + "\ndata: " + string(data) + "\n\n"))
}

// write does not report a caller that is gone: that is noticed elsewhere.
func (e *events) write(p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return
	}
	_, _ = e.w.Write(p)
	_ = e.flush.Flush()
	e.timer.Reset(sseKeepalive)
}

// close ends the stream's own timer; the handler's return ends the stream.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
	e.timer.Stop()
}

// text turns pieces of bytes into text without tearing characters apart.
type text struct{ held []byte }

// add gives what is whole so far.
func (t *text) add(p []byte) string {
	b := append(t.held, p...)
	cut := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-back:]) {
				cut = len(b) - back
			}
			break
		}
	}
	out := strings.ToValidUTF8(string(b[:cut]), "\uFFFD")
	t.held = append([]byte(nil), b[cut:]...)
	return out
}

// rest gives what was held back at the end.
func (t *text) rest() string {
	out := strings.ToValidUTF8(string(t.held), "\uFFFD")
	t.held = nil
	return out
}

package interpreter

import (
	"net/http"
	"sync"
	"time"
)

// stream writes events, one a line, and says every few silent seconds that it
// is still there.
type stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	flush *http.ResponseController
	timer *time.Timer
	done  bool
}

func newStream(w http.ResponseWriter) *stream {
	st := &stream{w: w, flush: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	st.mu.Lock() // the timer's function reads the timer
	defer st.mu.Unlock()
	st.timer = time.AfterFunc(keepalive, func() { st.emit([]byte(`{"type":"keepalive"}`)) })
	return st
}

// emit writes one event. A caller that is gone is noticed elsewhere.
func (st *stream) emit(line []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done {
		return
	}
	_, _ = st.w.Write(append(line[:len(line):len(line)], '\n'))
	_ = st.flush.Flush()
	st.timer.Reset(keepalive)
}

func (st *stream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.done = true
	st.timer.Stop()
}

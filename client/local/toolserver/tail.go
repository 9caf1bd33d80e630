package toolserver

import (
	"sync"
	"time"

	"abxdash/client/local/envd"
)

const (
	tailBytes = 16 << 10
	// wordsGrace is how long a program's last words may be on their way after its
	// end. Only a descendant that holds its stderr makes them take so long.
	wordsGrace = 2 * time.Second
)

// tail keeps the end of what a program says on stderr.
type tail struct {
	// read is closed when there is no more to come.
	read chan struct{}

	mu   sync.Mutex
	data []byte
}

// listen keeps the last words of a program. Its reader ends with the stream.
func (s *Server) listen(child envd.Child) *tail {
	t := &tail{read: make(chan struct{})}
	s.work.Go(func() {
		defer close(t.read)
		pour(child.Stderr(), t.add)
	})
	return t
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append([]byte(nil), t.data[over:]...)
	}
}

// last is the last line so far.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLine(string(t.data))
}

// final is the last line of a program that has ended.
func (t *tail) final() string {
	grace := time.NewTimer(wordsGrace)
	defer grace.Stop()
	select {
	case <-t.read:
	case <-grace.C:
	}
	return t.last()
}

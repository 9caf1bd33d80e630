package term

import (
	"context"
	"sync"
	"time"
)

// Paces of sessions that stand back.
const (
	// typingTime is how long after a key the typist is still thought to type.
	typingTime = time.Second
	// backSlice is how long a session that stands back emulates at a time, and
	// backRest how long it rests in between. It takes some MB/s that way; the
	// transport slows the program down to that, and with it all that is between.
	backSlice = time.Millisecond
	backRest  = 12 * time.Millisecond
	// ownFrame is how often the session typed into asks to be drawn. Whoever draws
	// has a pace of its own; two in a row would make a key wait twice.
	ownFrame = 4 * time.Millisecond
	// backFrame is how often a session that stands back asks to be drawn.
	backFrame = 100 * time.Millisecond
)

// Priority lets the session that is typed into go first among those that share
// one: while somebody types, a flood in another one gets what is left. Without
// it every stage on the way of a key, from the terminal to the program and back,
// waits for its turn behind that flood. nil gives none.
type Priority struct {
	mu    sync.Mutex
	typed *Session
	at    time.Time
}

// typing notes that a person typed into s.
func (p *Priority) typing(s *Session) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.typed, p.at = s, s.clock()
}

// rank is where s stands while somebody types.
type rank uint8

const (
	alone  rank = iota // nobody types
	ahead              // this one is typed into
	behind             // another one is
)

func (p *Priority) rank(s *Session) rank {
	if p == nil {
		return alone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.typed == nil || s.clock().Sub(p.at) >= typingTime:
		return alone
	case p.typed == s:
		return ahead
	}
	return behind
}

// slice is how long s may emulate at a time.
func (p *Priority) slice(s *Session) time.Duration {
	if p.rank(s) == behind {
		return backSlice
	}
	return sliceTime
}

// frame is how often s may ask to be drawn.
func (p *Priority) frame(s *Session) time.Duration {
	switch p.rank(s) {
	case ahead:
		return ownFrame
	case behind:
		return backFrame
	default:
		return framePace
	}
}

// yield rests where s has to stand back.
func (p *Priority) yield(ctx context.Context, s *Session) {
	if p.rank(s) == behind {
		sleep(ctx, backRest)
	}
}

// leave forgets s when it is closed.
func (p *Priority) leave(s *Session) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.typed == s {
		p.typed = nil
	}
}

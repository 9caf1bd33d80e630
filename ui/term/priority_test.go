package term

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"
)

// While somebody types into one session, another one that floods takes short
// slices with rests between, and asks to be drawn less often.
func TestPriority(t *testing.T) {
	var p Priority
	var slices atomic.Int64
	typed, _ := startSession(t, SessionOptions{Priority: &p})
	floods, f := startSession(t, SessionOptions{Priority: &p, OnOutput: func([]byte) { slices.Add(1) }})
	chunk := bytes.Repeat([]byte("a line of the flood\r\n"), 3000)
	go func() {
		for {
			select {
			case f.out <- chunk:
			case <-f.closed:
				return
			}
		}
	}()
	until(t, "the flood", func() bool { return slices.Load() > 10 })
	if got := p.frame(floods); got != framePace {
		t.Errorf("a frame every %v while nobody types, want %v", got, framePace)
	}
	typed.Send([]byte("x"))
	from, start := slices.Load(), time.Now()
	until(t, "some slices", func() bool { typed.Send([]byte("x")); return slices.Load() >= from+20 })
	// The first one may have begun before the key.
	if took := time.Since(start); took < 18*backRest {
		t.Errorf("20 slices of the flood took %v beside typing, want rests of %v", took, backRest)
	}
	if a, b := p.frame(typed), p.frame(floods); a != ownFrame || b != backFrame {
		t.Errorf("a frame every %v and %v, want %v and %v", a, b, ownFrame, backFrame)
	}
	if err := typed.Close(); err != nil {
		t.Fatal(err)
	}
	if got := p.slice(floods); got != sliceTime {
		t.Errorf("slices of %v after the other one was closed, want %v", got, sliceTime)
	}
}

// Nobody stands back from himself, or a moment after the last key.
func TestPriorityEnds(t *testing.T) {
	var p Priority
	now := time.Unix(1000, 0)
	a, b := &Session{}, &Session{}
	a.clock = func() time.Time { return now }
	b.clock = a.clock
	p.typing(a)
	if p.rank(a) != ahead || p.rank(b) != behind {
		t.Errorf("ranks %v and %v", p.rank(a), p.rank(b))
	}
	now = now.Add(typingTime)
	if p.rank(a) != alone || p.rank(b) != alone {
		t.Errorf("ranks %v and %v after the last key", p.rank(a), p.rank(b))
	}
	var none *Priority
	none.typing(a)
	if none.rank(b) != alone {
		t.Error("no priority has a rank")
	}
}

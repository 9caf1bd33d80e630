package term

import (
	"context"
	"sync"
	"time"
)

// outputQueue holds output between the reader and the emulator; when it is
// full the reader waits, so that the transport slows the sender.
type outputQueue struct {
	mu    sync.Mutex
	data  []byte
	spare []byte
	done  bool
	err   error
	// room and more are one-slot signals.
	room, more chan struct{}
}

func (q *outputQueue) init() {
	q.room, q.more = make(chan struct{}, 1), make(chan struct{}, 1)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add waits for room; false means that ctx ended.
func (q *outputQueue) add(ctx context.Context, p []byte) bool {
	for {
		q.mu.Lock()
		if len(q.data) == 0 || len(q.data)+len(p) <= outputBuffer {
			q.data = append(q.data, p...)
			q.mu.Unlock()
			poke(q.more)
			return true
		}
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return false
		}
	}
}

func (q *outputQueue) finish(err error) {
	q.mu.Lock()
	q.done, q.err = true, err
	q.mu.Unlock()
	poke(q.more)
}

// take returns all there is, waiting for something: output, the end, the end
// of ctx, or wake. The slice is valid until the next call.
func (q *outputQueue) take(ctx context.Context, wake <-chan struct{}) (p []byte, end bool, err error) {
	for {
		q.mu.Lock()
		if len(q.data) > 0 || q.done {
			p = q.data
			q.data, q.spare = q.spare[:0], p
			end, err = q.done, q.err
			q.mu.Unlock()
			poke(q.room)
			return p, end, err
		}
		q.mu.Unlock()
		select {
		case <-q.more:
		case <-wake:
			return nil, false, nil
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
}

// inputBuffer is the queue of what is to be sent; adding never blocks.
type inputBuffer struct {
	mu     sync.Mutex
	data   []byte
	closed bool
	more   chan struct{}
}

func (b *inputBuffer) init() { b.more = make(chan struct{}, 1) }

func (b *inputBuffer) add(p []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.data)+len(p) > inputQueue {
		return false
	}
	b.data = append(b.data, p...)
	poke(b.more)
	return true
}

func (b *inputBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.data = nil
}

// take returns at most one batch, nil if there is nothing.
func (b *inputBuffer) take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.data), inputBatch)
	if n == 0 {
		return nil
	}
	p := append([]byte(nil), b.data[:n]...)
	b.data = append(b.data[:0], b.data[n:]...)
	return p
}

// write sends queued input in order. What comes within the pace of the last
// send goes out together.
func (s *Session) write() {
	var last time.Time
	for {
		select {
		case <-s.in.more:
		case <-s.ctx.Done():
			return
		}
		for {
			if wait := inputPace - s.clock().Sub(last); wait > 0 && !sleep(s.ctx, wait) {
				return
			}
			p := s.in.take()
			if p == nil {
				break
			}
			s.sendInput(p)
			last = s.clock()
		}
	}
}

func (s *Session) sendInput(p []byte) {
	if s.opt.OnInput != nil {
		s.opt.OnInput(p)
	}
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	err := s.stream.Write(ctx, p)
	cancel()
	s.mu.Lock()
	changed := (err == nil) != (s.writeErr == nil)
	s.writeErr = err
	s.mu.Unlock()
	if changed {
		s.signal()
	}
}

// sizeBox holds the size that the program should have.
type sizeBox struct {
	mu         sync.Mutex
	cols, rows int
	seen       bool
	more       chan struct{}
}

func (b *sizeBox) init(cols, rows int) {
	b.cols, b.rows = cols, rows
	b.more = make(chan struct{}, 1)
	poke(b.more)
}

func (b *sizeBox) set(cols, rows int) {
	b.mu.Lock()
	same := cols == b.cols && rows == b.rows
	b.cols, b.rows = cols, rows
	b.mu.Unlock()
	if !same {
		poke(b.more)
	}
}

// outputSeen sends the size once more after the first output, because a
// program that was only starting may have missed it.
func (b *sizeBox) outputSeen() {
	b.mu.Lock()
	first := !b.seen
	b.seen = true
	b.mu.Unlock()
	if first {
		poke(b.more)
	}
}

func (b *sizeBox) get() (cols, rows int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cols, b.rows
}

// resize sends the latest size, at most once per pace. A failure does not
// matter: the next change or the first output sends it again.
func (s *Session) resize() {
	for {
		select {
		case <-s.size.more:
		case <-s.ctx.Done():
			return
		}
		cols, rows := s.size.get()
		ctx, cancel := context.WithTimeout(s.ctx, requestTime)
		_ = s.stream.Resize(ctx, cols, rows)
		cancel()
		if !sleep(s.ctx, resizePace) {
			return
		}
	}
}

package stream

import (
	"io"
	"sync"
	"time"

	"abxdash/client"
)

// DefaultBuffer is the size of a [Buffer] in bytes.
const DefaultBuffer = 256 << 10

// Buffer is a bounded queue of bytes between a reader of the network and a
// terminal. Nothing in it is dropped: a full buffer makes the writer wait, and
// so, in the end, the sender. Use [NewBuffer].
type Buffer struct {
	signal *Signal

	mu     sync.Mutex
	room   sync.Cond // waits of writers
	data   sync.Cond // waits of readers
	buf    []byte    // circular, fixed size
	head   int
	n      int
	eof    bool // no more will be written
	closed bool
}

// NewBuffer makes an empty buffer of size bytes (0 means [DefaultBuffer]).
// signal, if not nil, is set when there is something to read.
func NewBuffer(size int, signal *Signal) *Buffer {
	if size <= 0 {
		size = DefaultBuffer
	}
	b := &Buffer{signal: signal, buf: make([]byte, size)}
	b.room.L, b.data.L = &b.mu, &b.mu
	return b
}

// Write waits for room and adds p. After Close or Finish it returns io.ErrClosedPipe.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := 0
	for len(p) > 0 {
		for b.n == len(b.buf) && !b.closed && !b.eof {
			b.room.Wait()
		}
		if b.closed || b.eof {
			return total, io.ErrClosedPipe
		}
		for len(p) > 0 && b.n < len(b.buf) {
			tail := (b.head + b.n) % len(b.buf)
			end := len(b.buf)
			if tail < b.head {
				end = b.head
			}
			k := copy(b.buf[tail:end], p)
			p = p[k:]
			b.n += k
			total += k
		}
		b.data.Signal()
		b.signal.Set()
	}
	return total, nil
}

// Append makes Buffer a [Sink]; the streams are joined.
func (b *Buffer) Append(_ client.StreamKind, p []byte, _ time.Time) {
	_, _ = b.Write(p) // after Close what still comes is of no interest
}

// Finish says that no more will come; what is buffered can still be read.
func (b *Buffer) Finish() {
	b.mu.Lock()
	b.eof = true
	b.data.Broadcast()
	b.room.Broadcast()
	b.mu.Unlock()
	b.signal.Set()
}

// Read waits for data. It returns io.EOF after Finish when all is read, and
// io.ErrClosedPipe after Close.
func (b *Buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.n == 0 && !b.eof && !b.closed {
		b.data.Wait()
	}
	return b.take(p)
}

// TryRead reads what is there without waiting; (0, nil) means nothing now.
func (b *Buffer) TryRead(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 && !b.eof && !b.closed {
		return 0, nil
	}
	return b.take(p)
}

func (b *Buffer) take(p []byte) (int, error) {
	if b.closed {
		return 0, io.ErrClosedPipe
	}
	if b.n == 0 {
		return 0, io.EOF
	}
	total := 0
	for len(p) > 0 && b.n > 0 {
		k := copy(p, b.buf[b.head:min(b.head+b.n, len(b.buf))])
		p = p[k:]
		b.head = (b.head + k) % len(b.buf)
		b.n -= k
		total += k
	}
	b.room.Signal()
	return total, nil
}

// Len is the number of bytes waiting.
func (b *Buffer) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// Close unblocks readers and writers and drops what is left.
func (b *Buffer) Close() error {
	b.mu.Lock()
	b.closed = true
	b.n = 0
	b.data.Broadcast()
	b.room.Broadcast()
	b.mu.Unlock()
	return nil
}

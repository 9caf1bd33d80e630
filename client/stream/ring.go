package stream

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"abxdash/client"
)

// Bounds of a [Ring] when its options leave them zero.
const (
	DefaultLines = 10_000
	DefaultBytes = 8 << 20
	DefaultLine  = 64 << 10
)

// RingOptions bound a ring. The zero value is the default.
type RingOptions struct {
	// Lines is how many finished lines are kept.
	Lines int
	// Bytes is how many bytes of text are kept.
	Bytes int
	// LineBytes is where one line is cut; the rest of it is counted, not kept.
	LineBytes int
	// Raw, when set, gets every byte that is appended, exactly and in order,
	// before lines are made of it. It is called without the lock that readers take.
	Raw func(stream client.StreamKind, p []byte)
	// Signal, when set, is set after each change.
	Signal *Signal
}

// Ring keeps the last lines of a command's output, bounded by lines and by
// bytes. When it is full it drops the oldest and counts what it dropped.
//
// Lines end with LF or CRLF. After a lone CR the next text replaces the line,
// so that a progress bar is one line that shows its latest state. Each stream
// has one unfinished line; unfinished lines are the last ones of the ring.
// Text is kept as the bytes that came; making it safe for a terminal is the
// work of whoever draws it. All methods are safe for concurrent use.
type Ring struct {
	opts RingOptions

	appendMu sync.Mutex // serialises Append and Finish, held during Raw

	mu           sync.RWMutex
	lines        []line // circular
	head, n      int
	bytes        int
	droppedLines int
	droppedBytes int64
	version      uint64
	parts        [client.Terminal + 1]partial
	finished     bool
}

type line struct {
	text   string
	at     int64 // Unix nanoseconds
	stream client.StreamKind
}

// partial is the unfinished line of one stream.
type partial struct {
	buf  []byte
	cut  int // bytes beyond the line limit
	cr   bool
	open bool // something of this line has arrived
	at   int64
}

// NewRing makes an empty ring.
func NewRing(opts RingOptions) *Ring {
	if opts.Lines <= 0 {
		opts.Lines = DefaultLines
	}
	if opts.Bytes <= 0 {
		opts.Bytes = DefaultBytes
	}
	if opts.LineBytes <= 0 {
		opts.LineBytes = DefaultLine
	}
	opts.LineBytes = min(opts.LineBytes, opts.Bytes)
	return &Ring{opts: opts}
}

// Append adds a chunk of output that arrived at t. The chunk may begin and end
// anywhere, inside a rune too. p is not kept.
func (r *Ring) Append(stream client.StreamKind, p []byte, t time.Time) {
	if len(p) == 0 {
		return
	}
	if stream > client.Terminal {
		stream = client.Stdout
	}
	r.appendMu.Lock()
	if r.opts.Raw != nil {
		r.opts.Raw(stream, p)
	}
	r.mu.Lock()
	r.split(stream, p, t.UnixNano())
	r.version++
	r.mu.Unlock()
	r.appendMu.Unlock()
	r.opts.Signal.Set()
}

// split cuts p at line ends.
func (r *Ring) split(stream client.StreamKind, p []byte, at int64) {
	part := &r.parts[stream]
	for len(p) > 0 {
		i := lineEnd(p)
		if i < 0 {
			r.add(part, p, at)
			return
		}
		if i > 0 {
			r.add(part, p[:i], at)
		}
		if p[i] == '\r' {
			part.cr = true
		} else {
			r.flush(stream, at)
		}
		p = p[i+1:]
	}
}

// lineEnd is the place of the first LF or CR in p, or -1.
func lineEnd(p []byte) int {
	nl := bytes.IndexByte(p, '\n')
	if nl < 0 {
		return bytes.IndexByte(p, '\r')
	}
	if cr := bytes.IndexByte(p[:nl], '\r'); cr >= 0 {
		return cr
	}
	return nl
}

// add appends text without line ends to the unfinished line.
func (r *Ring) add(part *partial, p []byte, at int64) {
	if part.cr {
		part.cr = false
		part.buf, part.cut = part.buf[:0], 0
	}
	part.open, part.at = true, at
	room := r.opts.LineBytes - len(part.buf)
	if len(p) > room {
		part.cut += len(p) - room
		p = p[:room]
	}
	part.buf = append(part.buf, p...)
}

// flush turns the unfinished line into a finished one.
func (r *Ring) flush(stream client.StreamKind, at int64) {
	part := &r.parts[stream]
	r.push(line{text: part.text(true), at: at, stream: stream})
	big := cap(part.buf) > 4096
	*part = partial{buf: part.buf[:0]}
	if big {
		part.buf = nil
	}
}

// text words the unfinished line. A rune that has not fully arrived is held
// back unless the line is complete.
func (p *partial) text(complete bool) string {
	b := p.buf
	if p.cut > 0 {
		b = b[:len(b)-dangling(b)]
		return fmt.Sprintf("%s… [%d bytes cut]", b, p.cut+len(p.buf)-len(b))
	}
	if !complete {
		b = b[:len(b)-dangling(b)]
	}
	return string(b)
}

// dangling is the number of bytes at the end of b that begin a rune but do not complete it.
func dangling(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// push adds a finished line and drops the oldest ones beyond the bounds.
func (r *Ring) push(l line) {
	for r.n > 0 && (r.n >= r.opts.Lines || r.bytes+len(l.text) > r.opts.Bytes) {
		old := &r.lines[r.head]
		r.bytes -= len(old.text)
		r.droppedBytes += int64(len(old.text))
		r.droppedLines++
		*old = line{}
		r.head = (r.head + 1) % len(r.lines)
		r.n--
	}
	if r.n == len(r.lines) {
		grown := make([]line, min(r.opts.Lines, max(64, 2*len(r.lines))))
		for i := range r.n {
			grown[i] = r.lines[(r.head+i)%len(r.lines)]
		}
		r.lines, r.head = grown, 0
	}
	r.lines[(r.head+r.n)%len(r.lines)] = l
	r.n++
	r.bytes += len(l.text)
}

// Finish says that no more will come: unfinished lines are finished, and half a
// rune at the very end becomes one U+FFFD. It may be called more than once.
func (r *Ring) Finish() {
	r.appendMu.Lock()
	r.mu.Lock()
	if !r.finished {
		r.finished = true
		for s := range r.parts {
			part := &r.parts[s]
			if !part.open {
				continue
			}
			if n := dangling(part.buf); n > 0 && part.cut == 0 {
				part.buf = append(part.buf[:len(part.buf)-n], "\uFFFD"...)
			}
			r.flush(client.StreamKind(s), part.at)
		}
		r.version++
	}
	r.mu.Unlock()
	r.appendMu.Unlock()
	r.opts.Signal.Set()
}

// Len is the number of lines that At can show, unfinished ones included.
func (r *Ring) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := r.n
	for i := range r.parts {
		if r.parts[i].open {
			n++
		}
	}
	return n
}

// At returns line i, 0 being the oldest kept one: its text as it came, whether
// it is standard error, and when it ended (or last grew). Out of range it
// returns zero values: lines may be dropped between Len and At.
func (r *Ring) At(i int) (text string, stderr bool, at time.Time) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if i < 0 {
		return "", false, time.Time{}
	}
	if i < r.n {
		l := &r.lines[(r.head+i)%len(r.lines)]
		return l.text, l.stream == client.Stderr, time.Unix(0, l.at)
	}
	i -= r.n
	for s := range r.parts {
		part := &r.parts[s]
		if !part.open {
			continue
		}
		if i == 0 {
			return part.text(false), client.StreamKind(s) == client.Stderr, time.Unix(0, part.at)
		}
		i--
	}
	return "", false, time.Time{}
}

// Dropped is the number of lines that were dropped to stay within the bounds.
// Dropped()+i numbers line i for good.
func (r *Ring) Dropped() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.droppedLines
}

// DroppedBytes is the number of bytes of text in the dropped lines.
func (r *Ring) DroppedBytes() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.droppedBytes
}

// Bytes is the number of bytes of text in the finished lines that are kept.
func (r *Ring) Bytes() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bytes
}

// Version changes whenever the content does.
func (r *Ring) Version() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.version
}

// Finished reports whether Finish was called.
func (r *Ring) Finished() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.finished
}

// String is every kept line, for tests and for copying a short log.
func (r *Ring) String() string {
	var b strings.Builder
	for i := range r.Len() {
		text, _, _ := r.At(i)
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return b.String()
}

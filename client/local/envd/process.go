package envd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"abxdash/client/envdpb/process"
)

const (
	// endKept is how long the end of a process can still be asked for.
	endKept = 30 * time.Second
	// pipeGrace is how long the end waits for descendants that hold the pipes.
	pipeGrace = 250 * time.Millisecond
	// pipePoll is how often the rest of the output is looked at after that.
	pipePoll = 20 * time.Millisecond
	// stallLimit is how long one subscriber may hold up the others.
	stallLimit = 250 * time.Millisecond
	// readSize is the piece in which output is read, in bytes.
	readSize = 64 << 10
	// pipeSize is what the pipe of stdout should hold, in bytes. The kernel counts
	// pipes per user, so it is not more than helps.
	pipeSize = 256 << 10
	// queueLength is how many pieces wait for one subscriber.
	queueLength = 16
)

// outputKind tells the streams of a process apart.
type outputKind uint8

const (
	kindStdout outputKind = iota
	kindStderr
	kindPTY
)

// buffer is a piece of output that several subscribers read.
type buffer struct {
	data []byte
	refs atomic.Int32
}

// bufferPool recycles buffers of readSize bytes.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *buffer {
	if b, ok := p.pool.Get().(*buffer); ok {
		return b
	}
	return &buffer{data: make([]byte, readSize)}
}

// release gives one reference back.
func (p *bufferPool) release(b *buffer) {
	if b.refs.Add(-1) == 0 {
		p.pool.Put(b)
	}
}

// chunk is one read of one stream.
type chunk struct {
	kind outputKind
	buf  *buffer
	n    int
}

func (c chunk) bytes() []byte { return c.buf.data[:c.n] }

// append puts the next chunk's bytes behind c's, if they are of one stream, fit,
// and nobody else reads c.
func (c *chunk) append(next chunk) bool {
	if next.kind != c.kind || c.n+next.n > len(c.buf.data) || c.buf.refs.Load() != 1 {
		return false
	}
	c.n += copy(c.buf.data[c.n:], next.bytes())
	return true
}

// subscriber is one stream that follows a process.
type subscriber struct {
	ch chan chunk
	// left is closed by the reader when it goes, cut by the process when the
	// reader was too slow.
	left, cut chan struct{}
}

// proc is a process that was started here, until its end is forgotten.
type proc struct {
	child  Child
	config *process.ProcessConfig
	tag    *string
	pool   *bufferPool
	stdin  *input

	// ended is closed after the last output was handed over; end is valid then.
	ended chan struct{}
	end   *process.ProcessEvent_EndEvent
	// timedOut says that Connect-Timeout-Ms ran out.
	timedOut atomic.Bool

	mu   sync.Mutex
	subs []*subscriber // replaced, never changed in place
	// changed is closed and replaced when subs is.
	changed chan struct{}
}

func newProc(child Child, config *process.ProcessConfig, tag *string, pool *bufferPool) *proc {
	p := &proc{
		child: child, config: config, tag: tag, pool: pool,
		ended: make(chan struct{}), changed: make(chan struct{}),
	}
	switch {
	case child.TTY() != nil:
		p.stdin = newInput(keepOpen{child.TTY()})
	case child.Stdin() != nil:
		p.stdin = newInput(child.Stdin())
	}
	return p
}

// keepOpen is a terminal as input: closing the input must not close the
// terminal, which is still read.
type keepOpen struct{ *os.File }

// Close implements io.Closer.
func (keepOpen) Close() error { return nil }

func (p *proc) pid() uint32 { return uint32(p.child.PID()) }

// alive says whether the process itself still runs.
func (p *proc) alive() bool {
	select {
	case <-p.child.Done():
		return false
	default:
		return true
	}
}

// subscribe adds a follower; unsubscribe must be called with it.
func (p *proc) subscribe() *subscriber {
	sub := &subscriber{ch: make(chan chunk, queueLength), left: make(chan struct{}), cut: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setSubs(append(slices.Clone(p.subs), sub))
	return sub
}

// unsubscribe ends a subscription from the reader's side.
func (p *proc) unsubscribe(sub *subscriber) {
	close(sub.left)
	p.drop(sub)
}

func (p *proc) drop(sub *subscriber) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setSubs(slices.DeleteFunc(slices.Clone(p.subs), func(s *subscriber) bool { return s == sub }))
}

// setSubs needs p.mu.
func (p *proc) setSubs(subs []*subscriber) {
	p.subs = subs
	close(p.changed)
	p.changed = make(chan struct{})
}

// current is the subscribers and a channel that tells when they change.
func (p *proc) current() ([]*subscriber, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.subs, p.changed
}

// deliver hands a chunk to every subscriber.
func (p *proc) deliver(c chunk) {
	subs, _ := p.current()
	// One reference is held here so that the buffer stays until all have it.
	c.buf.refs.Store(int32(len(subs)) + 1)
	for _, sub := range subs {
		if !p.offer(sub, c) {
			p.pool.release(c.buf)
		}
	}
	p.pool.release(c.buf)
}

// offer waits until one subscriber has room. Alone it may take as long as it
// likes; with others waiting it is cut after stallLimit. False: not taken.
func (p *proc) offer(sub *subscriber, c chunk) bool {
	select {
	case sub.ch <- c:
		return true
	case <-sub.left:
		return false
	default:
	}
	var limit *time.Timer
	for {
		subs, changed := p.current()
		var expired <-chan time.Time
		if len(subs) > 1 {
			if limit == nil {
				limit = time.NewTimer(stallLimit)
				defer limit.Stop()
			}
			expired = limit.C
		}
		select {
		case sub.ch <- c:
			return true
		case <-sub.left:
			return false
		case <-p.ended:
			return false
		case <-changed:
		case <-expired:
			close(sub.cut)
			p.drop(sub)
			return false
		}
	}
}

// kill ends the process with its group and session.
func (p *proc) kill() {
	if p.alive() {
		killSession(p.child.PID())
		_ = p.child.Signal(sigKill)
	}
}

// sigKill and sigTerm are the signals that the API knows, as numbers.
const (
	sigKill = 9
	sigTerm = 15
)

// run owns a process from its start to the end of its last output. expire is
// called once the end is known.
func (p *proc) run(expire func()) {
	var pumps []*pump
	if tty := p.child.TTY(); tty != nil {
		pumps = append(pumps, newPump(p, kindPTY, tty))
	} else {
		pumps = append(pumps, newPump(p, kindStdout, p.child.Stdout()), newPump(p, kindStderr, p.child.Stderr()))
	}
	var running sync.WaitGroup
	for _, pump := range pumps {
		running.Go(pump.run)
	}
	<-p.child.Done()
	if p.stdin != nil {
		p.stdin.close()
	}
	grace, stop := context.WithTimeout(context.Background(), pipeGrace)
	defer stop()
	own := make([]int64, len(pumps))
	for i, pump := range pumps {
		own[i] = pump.own()
	}
	for i, pump := range pumps {
		pump.drain(own[i], grace.Done())
	}
	p.end = endEvent(p.child.Exit())
	close(p.ended)
	expire()
	// Descendants may go on writing; their output is read and dropped.
	running.Wait()
	for _, pump := range pumps {
		pump.close()
	}
}

// endEvent puts an exit into the words of the protocol (e2b-protocol §9.2).
func endEvent(exit Exit) *process.ProcessEvent_EndEvent {
	end := &process.ProcessEvent_EndEvent{ExitCode: int32(exit.Code), Exited: exit.Exited, Status: exit.Status}
	if !exit.Exited || exit.Code != 0 {
		end.Error = new(exit.Status)
	}
	return end
}

// closeStreams breaks reads and writes that a descendant keeps open.
func (p *proc) closeStreams() {
	for _, c := range []interface{ Close() error }{p.child.Stdout(), p.child.Stderr()} {
		if c != nil {
			_ = c.Close()
		}
	}
	if tty := p.child.TTY(); tty != nil {
		_ = tty.Close()
	}
}

// processTable knows the processes, live ones and ends that are kept.
type processTable struct {
	log     *slog.Logger
	pool    bufferPool
	closing chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	procs  []*proc // in the order of their starts
	timers map[*proc]*time.Timer
}

func newProcessTable(log *slog.Logger) *processTable {
	return &processTable{log: log, closing: make(chan struct{}), timers: map[*proc]*time.Timer{}}
}

var errClosing = errors.New("the sandbox is shutting down")

// add takes a process over and starts to read it. A limit above zero kills it
// after that long.
func (t *processTable) add(p *proc, limit time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosing
	}
	t.procs = append(t.procs, p)
	if limit > 0 {
		t.timers[p] = time.AfterFunc(limit, func() {
			if p.alive() {
				p.timedOut.Store(true)
				p.kill()
			}
		})
	}
	t.log.Debug("process started", "pid", p.pid())
	t.running.Go(func() { p.run(func() { t.expire(p) }) })
	return nil
}

// expire forgets an ended process after endKept.
func (t *processTable) expire(p *proc) {
	t.log.Debug("process ended", "pid", p.pid(), "status", p.child.Exit().Status)
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit := t.timers[p]; limit != nil {
		limit.Stop()
	}
	if t.closed {
		return
	}
	t.timers[p] = time.AfterFunc(endKept, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.timers, p)
		t.procs = slices.DeleteFunc(t.procs, func(other *proc) bool { return other == p })
	})
}

// live lists the processes that run.
func (t *processTable) live() []*proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	var live []*proc
	for _, p := range t.procs {
		if p.alive() {
			live = append(live, p)
		}
	}
	return live
}

// find looks a process up; with several of one tag it is the newest. Ended ones
// are found only when wanted, and after live ones.
func (t *processTable) find(match func(*proc) bool, wantEnded bool) *proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ended *proc
	for _, p := range slices.Backward(t.procs) {
		switch {
		case !match(p):
		case p.alive():
			return p
		case ended == nil:
			ended = p
		}
	}
	if wantEnded {
		return ended
	}
	return nil
}

// close kills what runs and waits for its readers.
func (t *processTable) close(ctx context.Context) error {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	for _, timer := range t.timers {
		timer.Stop()
	}
	procs := slices.Clone(t.procs)
	t.mu.Unlock()
	if first {
		close(t.closing)
	}
	for _, p := range procs {
		p.kill()
	}
	done := make(chan struct{})
	go func() {
		t.running.Wait()
		close(done)
	}()
	// Descendants outside the session may hold the pipes; they don't hold us.
	for _, p := range procs {
		select {
		case <-p.ended:
			p.closeStreams()
		case <-ctx.Done():
			return fmt.Errorf("waiting for processes to end: %w", ctx.Err())
		}
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for output to end: %w", ctx.Err())
	}
}

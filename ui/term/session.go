package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Stream is the program's end of a session. Next is called by one goroutine;
// the other methods by others at the same time.
type Stream interface {
	// Next returns the next chunk of output, io.EOF after the last one, or what broke the stream.
	Next() ([]byte, error)
	// Write sends terminal input.
	Write(ctx context.Context, p []byte) error
	// Resize tells the program the size of the terminal in cells.
	Resize(ctx context.Context, cols, rows int) error
	// Close detaches and unblocks Next. The program goes on.
	Close() error
}

// Bounds and paces of a session.
const (
	outputBuffer  = 256 << 10
	inputQueue    = 1 << 20
	inputBatch    = 64 << 10
	inputPace     = 10 * time.Millisecond
	resizePace    = 75 * time.Millisecond
	framePace     = 16 * time.Millisecond
	sliceTime     = 4 * time.Millisecond
	requestTime   = 30 * time.Second
	defaultSyncBy = time.Second
)

// SessionOptions configure a Session; the zero value works.
type SessionOptions struct {
	// Terminal configures the emulator. Reply is set by the session.
	Terminal Options
	// OnOutput sees all output in order, as the emulator takes it; for
	// recording. It must not block, call the session, keep or change the slice.
	OnOutput func(p []byte)
	// OnInput sees what is sent to the program, in order; same rules.
	OnInput func(p []byte)
	// OnResize sees every change of the size, on the goroutine that made it.
	OnResize func(cols, rows int)
	// Replaying tells whether what comes now is history: while it is, queries are
	// not answered, because the program got its answer long ago. nil is never.
	Replaying func() bool
	// Priority is shared by sessions of which the one typed into goes first.
	Priority *Priority
}

// End is how a session ended.
type End struct {
	// Err is nil when the program ended and its exit is known.
	Err error
	At  time.Time
}

// Session joins a Stream and a Terminal. Nothing it offers to the screen blocks.
type Session struct {
	stream Stream
	term   *Terminal
	opt    SessionOptions
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	clock  func() time.Time

	changed chan struct{}
	done    chan struct{}
	pace    sync.Mutex
	last    time.Time

	// feeding is held while a slice goes to the emulator and to the attached
	// terminal, so that detaching sees both in the same state.
	feeding sync.Mutex

	out  outputQueue
	in   inputBuffer
	size sizeBox
	raw  rawTap

	mu       sync.Mutex
	end      *End
	writeErr error
	bells    int
	closed   bool
}

// NewSession starts to read s and to emulate a terminal of cols×rows cells.
// The size is sent at once; 0×0 stands for 80×24.
func NewSession(s Stream, cols, rows int, o SessionOptions) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	x := &Session{
		stream: s, opt: o, ctx: ctx, cancel: cancel, clock: time.Now,
		changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
	cols, rows = usableSize(cols, rows)
	x.out.init()
	x.in.init()
	x.size.init(cols, rows)
	x.raw.init()
	to := o.Terminal
	to.Reply = func(p []byte) {
		if o.Replaying == nil || !o.Replaying() {
			x.in.add(p)
		}
	}
	bell := to.Bell
	to.Bell = func() {
		x.mu.Lock()
		x.bells++
		x.mu.Unlock()
		if bell != nil {
			bell()
		}
	}
	x.term = New(cols, rows, to)
	for _, run := range []func(){x.read, x.emulate, x.write, x.resize} {
		x.wg.Add(1)
		go func() {
			defer x.wg.Done()
			defer x.survive()
			run()
		}()
	}
	return x
}

// survive is deferred in every goroutine of the session: a bug there, in a hook
// or in the stream, ends this session and nothing else.
func (s *Session) survive() {
	r := recover()
	if r == nil {
		return
	}
	s.mu.Lock()
	if s.end == nil {
		s.end = &End{Err: fmt.Errorf("terminal session: %v", r), At: s.clock()}
	}
	s.mu.Unlock()
	s.cancel()
	s.signal()
}

func usableSize(cols, rows int) (int, int) {
	if cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return clampSize(cols, rows)
}

// Terminal is the emulator of the session.
func (s *Session) Terminal() *Terminal { return s.term }

// read moves chunks from the stream to the bounded queue.
func (s *Session) read() {
	err := s.readAll()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.out.finish(err)
}

func (s *Session) readAll() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("terminal stream: %v", r)
		}
	}()
	for {
		p, err := s.stream.Next()
		if len(p) > 0 && !s.out.add(s.ctx, p) {
			return s.ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// emulate feeds the emulator, and a real terminal while one is attached.
func (s *Session) emulate() {
	defer close(s.done)
	for {
		p, end, err := s.out.take(s.ctx, s.raw.wake)
		if len(p) > 0 {
			s.size.outputSeen()
		}
		for len(p) > 0 {
			n := s.feed(p)
			p = p[n:]
			s.signal()
			s.opt.Priority.yield(s.ctx, s)
		}
		s.raw.flush(s.term)
		if end {
			s.term.Finish()
			s.raw.flush(s.term)
			s.mu.Lock()
			s.end = &End{Err: err, At: s.clock()}
			s.mu.Unlock()
			s.signal()
			return
		}
	}
}

// feed gives one slice to the emulator and the same bytes to the attached terminal.
func (s *Session) feed(p []byte) int {
	s.feeding.Lock()
	defer s.feeding.Unlock()
	p = s.raw.align(s.term, p)
	start, limit := s.clock(), s.opt.Priority.slice(s)
	n := s.term.feed(p, func() bool { return s.clock().Sub(start) >= limit })
	s.raw.output(p[:n])
	if s.opt.OnOutput != nil {
		s.opt.OnOutput(p[:n])
	}
	return n
}

// Snapshot calls fn with what paints the terminal as it is now. Output that
// comes later is seen by OnOutput after fn has returned, and none is missed.
func (s *Session) Snapshot(fn func(paint []byte)) {
	s.feeding.Lock()
	defer s.feeding.Unlock()
	fn(s.term.Paint())
}

// signal wakes the waiting screen, if there is one.
func (s *Session) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Changed gets a value after the terminal or the state changed; at most one is pending.
func (s *Session) Changed() <-chan struct{} { return s.changed }

// Wait returns true after the session changed, at most once per frame (16 ms;
// Options.Priority changes that), and false when ctx ends or the session is closed. A screen keeps one Wait outstanding.
func (s *Session) Wait(ctx context.Context) bool {
	s.pace.Lock()
	defer s.pace.Unlock()
	if wait := s.opt.Priority.frame(s) - s.clock().Sub(s.last); wait > 0 && !sleep(ctx, wait) {
		return false
	}
	select {
	case <-s.changed:
		s.last = s.clock()
		return true
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Done is closed after the last output has reached the emulator; see End.
func (s *Session) Done() <-chan struct{} { return s.done }

// End tells how the session ended, nil while it runs.
func (s *Session) End() *End {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// InputError is the last failure to send input, nil after a success.
func (s *Session) InputError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeErr
}

// Bells counts the bells so far.
func (s *Session) Bells() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bells
}

// Send queues bytes for the program. It never blocks; false means that the
// queue (1 MiB) has no room or the session is over, and nothing was queued.
func (s *Session) Send(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	s.opt.Priority.typing(s)
	return s.in.add(p)
}

// Key sends a key press under the current modes.
func (s *Session) Key(k tea.KeyPressMsg) bool {
	return s.Send(EncodeKey(tea.Key(k), KeyPress, s.term.Modes()))
}

// KeyRelease sends a key release, which only some programs ask for.
func (s *Session) KeyRelease(k tea.KeyReleaseMsg) bool {
	return s.Send(EncodeKey(tea.Key(k), KeyRelease, s.term.Modes()))
}

// Mouse sends a mouse event at cell x, y of the terminal. False means that the
// program does not want it, and that the caller may use it, to scroll for example.
func (s *Session) Mouse(m tea.MouseMsg, x, y int) bool {
	p := EncodeMouse(m, x, y, s.term.Modes())
	return len(p) > 0 && s.Send(p)
}

// Paste sends pasted text, bracketed if the program asked for it.
func (s *Session) Paste(text string) bool {
	return s.Send(EncodePaste(text, s.term.Modes()))
}

// Focus tells the program that the terminal got or lost the focus, if it wants to know.
func (s *Session) Focus(in bool) bool {
	return s.Send(EncodeFocus(in, s.term.Modes()))
}

// Resize changes the size of the emulator at once and tells the program soon;
// many changes are merged. 0×0 is ignored.
func (s *Session) Resize(cols, rows int) {
	if cols <= 0 || rows <= 0 {
		return
	}
	cols, rows = clampSize(cols, rows)
	if w, h := s.term.Size(); w == cols && h == rows {
		s.size.set(cols, rows)
		return
	}
	s.term.Resize(cols, rows)
	s.size.set(cols, rows)
	if s.opt.OnResize != nil {
		s.opt.OnResize(cols, rows)
	}
	s.signal()
}

// Close detaches from the stream and waits until no goroutine of the session
// is left. It is safe to call twice.
func (s *Session) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		s.wg.Wait()
		return nil
	}
	s.cancel()
	s.in.close()
	s.opt.Priority.leave(s)
	err := s.stream.Close()
	s.wg.Wait()
	if err != nil {
		return fmt.Errorf("close terminal stream: %w", err)
	}
	return nil
}

package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// fakeStream is a program whose output the test gives and whose input it reads.
type fakeStream struct {
	out    chan []byte
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	in       []byte
	writes   int
	sizes    [][2]int
	writeErr error
	sizeErr  error
	endErr   error
	hold     chan struct{}
}

func newFakeStream() *fakeStream {
	return &fakeStream{out: make(chan []byte), closed: make(chan struct{}), endErr: io.EOF}
}

func (f *fakeStream) Next() ([]byte, error) {
	select {
	case p, ok := <-f.out:
		if !ok {
			f.mu.Lock()
			defer f.mu.Unlock()
			return nil, f.endErr
		}
		return p, nil
	case <-f.closed:
		return nil, errors.New("stream closed")
	}
}

func (f *fakeStream) Write(ctx context.Context, p []byte) error {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.in = append(f.in, p...)
	f.writes++
	return f.writeErr
}

func (f *fakeStream) Resize(_ context.Context, cols, rows int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, [2]int{cols, rows})
	return f.sizeErr
}

func (f *fakeStream) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

func (f *fakeStream) input() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.in)
}

func (f *fakeStream) say(t *testing.T, s string) {
	t.Helper()
	select {
	case f.out <- []byte(s):
	case <-time.After(20 * time.Second):
		t.Fatal("output was not read")
	}
}

// until waits for a condition with a generous limit.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(limit) {
			t.Fatalf("waited too long for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func startSession(t *testing.T, o SessionOptions) (*Session, *fakeStream) {
	t.Helper()
	f := newFakeStream()
	s := NewSession(f, 40, 10, o)
	t.Cleanup(func() { _ = s.Close() })
	return s, f
}

func TestSessionShowsOutputAndSendsKeys(t *testing.T) {
	var recorded bytes.Buffer
	s, f := startSession(t, SessionOptions{OnOutput: func(p []byte) { recorded.Write(p) }})
	f.say(t, "\x1b[?1hhel")
	f.say(t, "lo\x1b[6n")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for text(s.Terminal()) != "hello" {
		if !s.Wait(ctx) {
			t.Fatal("no change was signalled")
		}
	}
	until(t, "the answer to the query", func() bool { return f.input() == "\x1b[1;6R" })
	s.Key(tea.KeyPressMsg{Code: tea.KeyUp})
	s.Key(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	s.Paste("x\n")
	until(t, "the keys", func() bool { return f.input() == "\x1b[1;6R\x1bOA\x03x\r" })
	close(f.out)
	<-s.Done()
	if end := s.End(); end == nil || end.Err != nil {
		t.Errorf("ended with %+v, want no error", end)
	}
	if got := recorded.String(); got != "\x1b[?1hhello\x1b[6n" {
		t.Errorf("recorded %q", got)
	}
}

func TestSessionEndsWithTheStreamsError(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	broken := errors.New("connection lost")
	f.mu.Lock()
	f.endErr = broken
	f.mu.Unlock()
	f.say(t, "text so far \xe6\xbc")
	close(f.out)
	<-s.Done()
	if end := s.End(); end == nil || !errors.Is(end.Err, broken) {
		t.Errorf("ended with %+v", end)
	}
	if got := text(s.Terminal()); got != "text so far \ufffd" {
		t.Errorf("screen %q", got)
	}
}

type panicStream struct{ *fakeStream }

func (panicStream) Next() ([]byte, error) { panic("bad frame") }

func TestSessionSurvivesAPanicInTheStream(t *testing.T) {
	s := NewSession(panicStream{newFakeStream()}, 0, 0, SessionOptions{})
	defer s.Close()
	<-s.Done()
	if end := s.End(); end == nil || end.Err == nil || !strings.Contains(end.Err.Error(), "bad frame") {
		t.Errorf("ended with %+v", end)
	}
	if c, r := s.Terminal().Size(); c != 80 || r != 24 {
		t.Errorf("size %d×%d, want 80×24 for 0×0", c, r)
	}
}

func TestSessionInputIsOrderedAndMerged(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	var want strings.Builder
	for i := range 500 {
		p := fmt.Sprintf("%d,", i)
		want.WriteString(p)
		if !s.Send([]byte(p)) {
			t.Fatal("refused")
		}
	}
	until(t, "the input", func() bool { return f.input() == want.String() })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writes > 250 {
		t.Errorf("%d writes for 500 keys", f.writes)
	}
}

func TestSessionInputNeverBlocks(t *testing.T) {
	f := newFakeStream()
	f.hold = make(chan struct{})
	s := NewSession(f, 40, 10, SessionOptions{})
	defer s.Close()
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	refused := false
	for range 40 {
		refused = refused || !s.Send(chunk)
	}
	if !refused {
		t.Error("2.5 MiB were queued")
	}
	// Queries pile up as well, and must not block the emulator either.
	for range 100 {
		f.say(t, strings.Repeat("\x1b[c", 200))
	}
	f.say(t, "still here")
	until(t, "the output", func() bool { return strings.Contains(text(s.Terminal()), "still here") })
}

func TestSessionInputError(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	f.mu.Lock()
	f.writeErr = errors.New("gone")
	f.mu.Unlock()
	s.Send([]byte("a"))
	until(t, "the error", func() bool { return s.InputError() != nil })
	f.mu.Lock()
	f.writeErr = nil
	f.mu.Unlock()
	s.Send([]byte("b"))
	until(t, "the recovery", func() bool { return s.InputError() == nil })
}

// PTY-02: a storm of changes is merged, the last one wins, failures do not matter.
func TestSessionMergesResizes(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	f.mu.Lock()
	f.sizeErr = errors.New("404")
	f.mu.Unlock()
	f.say(t, "x")
	start := time.Now()
	for i := range 200 {
		s.Resize(41+i, 11)
	}
	s.Resize(0, 0)
	until(t, "the last size", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.sizes) > 0 && f.sizes[len(f.sizes)-1] == [2]int{240, 11}
	})
	f.mu.Lock()
	n := len(f.sizes)
	f.mu.Unlock()
	if limit := 4 + int(time.Since(start)/resizePace); n > limit {
		t.Errorf("%d calls, want at most %d", n, limit)
	}
	if c, r := s.Terminal().Size(); c != 240 || r != 11 {
		t.Errorf("emulator is %d×%d", c, r)
	}
}

func TestSessionSendsTheSizeAgainAfterTheFirstOutput(t *testing.T) {
	_, f := startSession(t, SessionOptions{})
	count := func(n int) func() bool {
		return func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.sizes) >= n
		}
	}
	until(t, "the first size", count(1))
	f.say(t, "$ ")
	until(t, "the second size", count(2))
}

// The reader stops when the emulator cannot keep up: nothing is lost and memory is bounded.
func TestSessionBackPressure(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	release := make(chan struct{})
	held := make(chan struct{})
	go s.Terminal().View(func(View) {
		close(held)
		<-release
	})
	<-held
	chunk := strings.Repeat("y", 32<<10) + "\r\n"
	sent, give := 0, time.Now().Add(30*time.Second)
full:
	for range 100 {
		select {
		case f.out <- []byte(chunk):
			sent++
		case <-time.After(1500 * time.Millisecond):
			// A busy machine may be slow to take the first ones.
			if sent >= 5 || time.Now().After(give) {
				break full
			}
		}
	}
	if sent < 5 || sent > 25 {
		t.Errorf("%d chunks of 32 KiB were taken while the emulator stood still", sent)
	}
	close(release)
	f.say(t, "the end")
	until(t, "the end", func() bool { return strings.HasSuffix(text(s.Terminal()), "the end") })
}

// A key goes out while output floods in.
func TestSessionInputDuringAFlood(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	chunk := colouredLines(300)
	stop := make(chan struct{})
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for {
			select {
			case f.out <- chunk:
			case <-stop:
				return
			}
		}
	}()
	until(t, "the flood", func() bool { return len(scrollLines(s.Terminal())) > 1000 })
	s.Key(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	until(t, "ctrl-c", func() bool { return f.input() == "\x03" })
	close(stop)
	<-flooded
}

func TestSessionSignalsAreMerged(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	for range 200 {
		f.say(t, "line\r\n")
	}
	until(t, "the output", func() bool { return len(scrollLines(s.Terminal())) > 100 })
	if n := len(s.Changed()); n > 1 {
		t.Errorf("%d signals pending", n)
	}
}

func TestSessionCloseEndsEverything(t *testing.T) {
	f := newFakeStream()
	f.hold = make(chan struct{})
	s := NewSession(f, 40, 10, SessionOptions{})
	s.Send([]byte("stuck"))
	waited := make(chan bool)
	go func() {
		for s.Wait(context.Background()) {
			continue
		}
		waited <- true
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-waited
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Send([]byte("x")) {
		t.Error("input was taken after Close")
	}
	if s.End() == nil {
		t.Error("no end after Close")
	}
}

// lockedBuffer is a writer that can be read meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A second emulator stands for the real terminal: after attaching in the
// middle of anything it must show the same.
func TestSessionRawAttachPaintsAndPassesOn(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	f.say(t, "\x1b[31mred\x1b[m 漢字 e\u0301\r\n\x1b[?1049h\x1b[2;5r\x1b[?2004h\x1b[>1u\x1b[44mvim\x1b[3")
	until(t, "the output", func() bool { return strings.Contains(text(s.Terminal()), "vim") })
	var screen lockedBuffer
	if !s.AttachRaw(&screen) || s.AttachRaw(io.Discard) {
		t.Fatal("attach")
	}
	f.say(t, ";4Hhere\x1b[6n")
	s.InjectRaw([]byte("\x1b]2;title\x07"))
	until(t, "the title", func() bool {
		return strings.Contains(screen.String(), "title") && strings.Contains(screen.String(), "here")
	})
	shown := New(40, 10, Options{})
	_, _ = shown.Write([]byte(screen.String()))
	a, b := shown, s.Terminal()
	a.title = ""
	if got, want := dump(a), dump(b); got != want {
		t.Errorf("real terminal:\n%s\nemulator:\n%s", got, want)
	}
	if f.input() != "" {
		t.Errorf("the emulator answered %q while attached", f.input())
	}
	reset := s.DetachRaw()
	before := screen.String()
	f.say(t, "more\x1b[6n")
	until(t, "an answer again", func() bool { return f.input() != "" })
	if screen.String() != before {
		t.Error("output was passed on after detaching")
	}
	_, _ = shown.Write(reset)
	if m := shown.Modes(); m != defaultModes() {
		t.Errorf("modes left on: %+v", m)
	}
}

func TestSessionRawAttachAfterTheEnd(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	f.say(t, "last words")
	close(f.out)
	<-s.Done()
	var screen lockedBuffer
	s.AttachRaw(&screen)
	if !strings.Contains(screen.String(), "last words") {
		t.Errorf("painted %q", screen.String())
	}
	s.DetachRaw()
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no terminal") }

func TestSessionRawWriteError(t *testing.T) {
	s, f := startSession(t, SessionOptions{})
	s.AttachRaw(failingWriter{})
	f.say(t, "x")
	until(t, "the error", func() bool { return s.RawError() != nil })
	f.say(t, "goes on")
	until(t, "the output", func() bool { return strings.Contains(text(s.Terminal()), "goes on") })
}

// A bug in a hook ends the session that it belongs to; whoever waits is told.
func TestBugInAHookEndsTheSession(t *testing.T) {
	s, f := startSession(t, SessionOptions{OnOutput: func([]byte) { panic("bug") }})
	f.say(t, "x")
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the session goes on")
	}
	until(t, "the end", func() bool { return s.End() != nil })
	if end := s.End(); end.Err == nil || !strings.Contains(end.Err.Error(), "bug") {
		t.Errorf("ended with %+v", end)
	}
}

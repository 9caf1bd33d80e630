package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitLimit is generous: other work may share the machine.
const waitLimit = 60 * time.Second

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// fakeClock moves only by Advance.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*fakeTimer]bool
}

type fakeTimer struct {
	at time.Time
	c  chan time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), timers: map[*fakeTimer]bool{}}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	c.timers[t] = true
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for t := range c.timers {
		if !t.at.After(c.now) {
			t.c <- c.now
			delete(c.timers, t)
		}
	}
}

// armed is how long the next timer has left, 0 if there is none.
func (c *fakeClock) armed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best time.Duration
	for t := range c.timers {
		if d := t.at.Sub(c.now); best == 0 || d < best {
			best = d
		}
	}
	return best
}

// fakeIsolator runs each sandbox's agent in this process.
type fakeIsolator struct {
	// agent answers for a sandbox; nil answers 200 with the path.
	agent func(Spec) http.Handler
	// hold, when set, keeps Start waiting until it is closed or ctx ends.
	hold chan struct{}
	// startErr fails every start.
	startErr error

	mu    sync.Mutex
	specs []Spec
	live  map[string]*fakeInstance
}

type fakeInstance struct {
	pid     int
	srv     *http.Server
	served  chan struct{}
	once    sync.Once
	done    chan struct{}
	mu      sync.Mutex
	killErr []error // given in order before a kill works
	kills   int
}

func (f *fakeIsolator) Start(ctx context.Context, s Spec) (Instance, error) {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.startErr != nil {
		return nil, f.startErr
	}
	ln, err := net.FileListener(s.Listener)
	if err != nil {
		return nil, err
	}
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.RequestURI())
	})
	if f.agent != nil {
		h = f.agent(s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	in := &fakeInstance{pid: 1000 + len(f.specs), done: make(chan struct{}), served: make(chan struct{}), srv: &http.Server{Handler: relay(h)}}
	go func() {
		defer close(in.served)
		_ = in.srv.Serve(ln)
	}()
	f.specs = append(f.specs, s)
	if f.live == nil {
		f.live = map[string]*fakeInstance{}
	}
	f.live[s.ID] = in
	return in, nil
}

func (f *fakeIsolator) get(id string) *fakeInstance {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live[id]
}

func (i *fakeInstance) PID() int              { return i.pid }
func (i *fakeInstance) StartTime() uint64     { return 77 }
func (i *fakeInstance) Done() <-chan struct{} { return i.done }

// exit is the sandbox's init ending by itself.
func (i *fakeInstance) exit() {
	i.once.Do(func() {
		_ = i.srv.Close()
		<-i.served
		close(i.done)
	})
}

func (i *fakeInstance) Kill(context.Context) error {
	i.mu.Lock()
	i.kills++
	if len(i.killErr) > 0 {
		err := i.killErr[0]
		i.killErr = i.killErr[1:]
		i.mu.Unlock()
		return err
	}
	i.mu.Unlock()
	i.exit()
	return nil
}

// relay adds the agent's CONNECT to h, as the real one has it.
func relay(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			h.ServeHTTP(w, r)
			return
		}
		up, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, "closed", http.StatusBadGateway)
			return
		}
		defer up.Close()
		down, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer down.Close()
		_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = io.Copy(up, buf)
			_ = up.(*net.TCPConn).CloseWrite()
		})
		_, _ = io.Copy(down, up)
		_ = down.(*net.UnixConn).CloseWrite()
		wg.Wait()
	})
}

// rig is a running server with fakes.
type rig struct {
	t     *testing.T
	srv   *Server
	iso   *fakeIsolator
	clock *fakeClock
	dir   string
	sock  string
	http  *http.Client
	done  chan error
}

func newRig(t *testing.T, iso *fakeIsolator) *rig {
	t.Helper()
	r := newRigWith(t, iso, "")
	r.iso = iso
	return r
}

// newRigWith is a rig with another isolator, and a folder for templates.
func newRigWith(t *testing.T, iso Isolator, store string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, clock: newFakeClock(), dir: dir, sock: dir + "/s.sock", done: make(chan error, 1)}
	r.srv = New(Options{
		Isolator: iso, Isolation: client.IsolationNamespace, Dir: dir, Store: store, Version: "1.2.3", Clock: r.clock,
	})
	if err := os.MkdirAll(dir+"/sandboxes", 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := ListenUnix(r.sock)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialUnix(ctx, r.sock)
	}}
	r.http = &http.Client{Transport: tr}
	go func() { r.done <- r.srv.Serve(t.Context(), OwnPeers(ln, r.srv.log)) }()
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		r.srv.Stop()
		r.ended()
	})
	return r
}

// ended waits for the server's end and checks that nothing is left.
func (r *rig) ended() {
	r.t.Helper()
	if r.done == nil {
		return
	}
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("Serve: %v", err)
		}
	case <-time.After(waitLimit):
		r.t.Fatal("the server does not end")
	}
	r.done = nil
	left, err := os.ReadDir(r.dir + "/sandboxes")
	if err != nil || len(left) != 0 {
		r.t.Errorf("left behind: %v, %v", left, err)
	}
}

var errBoom = errors.New("boom")

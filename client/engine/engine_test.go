package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func newTest(cfg Config) (*Engine, *clock) {
	c := &clock{now: time.Unix(1000, 0)}
	cfg.Now, cfg.Sleep = c.Now, c.Sleep
	return New(cfg), c
}

func limited(after time.Duration) error {
	return &client.Error{Code: client.CodeRateLimited, Kind: client.ErrRateLimited, Status: 429, RetryAfter: after}
}

// STR-11: the wait is as long as the provider says, and the tries are bounded.
func TestRetryAfter(t *testing.T) {
	e, c := newTest(Config{})
	var at []time.Time
	err := e.Do(t.Context(), Once, func(context.Context) error {
		at = append(at, c.Now())
		switch len(at) {
		case 1:
			return limited(2 * time.Second)
		case 2:
			return limited(3 * time.Second)
		}
		return nil
	})
	if err != nil || len(at) != 3 {
		t.Fatalf("%d calls, %v", len(at), err)
	}
	if at[1].Sub(at[0]) < 2*time.Second || at[2].Sub(at[1]) < 3*time.Second {
		t.Errorf("called at %v", at)
	}
	calls := 0
	err = e.Do(t.Context(), Once, func(context.Context) error { calls++; return limited(time.Second) })
	if calls != DefaultTries || !errors.Is(err, client.ErrRateLimited) {
		t.Errorf("%d calls, %v", calls, err)
	}
	calls = 0
	err = e.Do(t.Context(), Once, func(context.Context) error { calls++; return limited(time.Hour) })
	if calls != 1 || err == nil {
		t.Errorf("asked to wait an hour: %d calls, %v", calls, err)
	}
}

// One refusal holds every call back.
func TestRefusalHoldsAll(t *testing.T) {
	e, c := newTest(Config{Tries: 2})
	first := true
	_ = e.Do(t.Context(), Once, func(context.Context) error {
		if first {
			first = false
			return limited(10 * time.Second)
		}
		return limited(10 * time.Second)
	})
	began := c.Now()
	e.hold(10 * time.Second)
	if err := e.Do(t.Context(), Again, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if waited := c.Now().Sub(began); waited < 10*time.Second {
		t.Errorf("another call waited %s", waited)
	}
}

func TestSafe(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	read := &net.OpError{Op: "read", Err: errors.New("reset")}
	unavailable := func(status int, code client.Code) error {
		return &client.Error{Status: status, Code: code, Kind: client.ErrUnavailable}
	}
	for what, c := range map[string]struct {
		err         error
		once, again bool
	}{
		"rate":             {limited(0), true, true},
		"quota":            {&client.Error{Code: client.CodeQuota, Kind: client.ErrRateLimited}, false, false},
		"never sent":       {&client.Error{Kind: client.ErrUnavailable, Err: dial}, true, true},
		"no such host":     {&client.Error{Kind: client.ErrUnavailable, Err: &net.DNSError{IsNotFound: true}}, false, true},
		"reset after send": {&client.Error{Kind: client.ErrUnavailable, Err: read}, false, true},
		"no place":         {unavailable(503, client.CodeCreate), true, true},
		"503 of an edge":   {unavailable(503, client.CodeServer), false, true},
		"504":              {unavailable(504, client.CodeServer), false, true},
		"500":              {unavailable(500, client.CodeServer), false, false},
		"no answer":        {&client.Error{Kind: client.ErrUnavailable, Err: context.DeadlineExceeded}, false, true},
		"cancelled":        {&client.Error{Kind: client.ErrUnavailable, Err: context.Canceled}, false, false},
		"not found":        {&client.Error{Kind: client.ErrNotFound, Status: 404}, false, false},
		"conflict":         {&client.Error{Kind: client.ErrConflict, Status: 409}, false, false},
		"not ours":         {errors.New("x"), false, false},
	} {
		if got := Safe(Once, c.err); got != c.once {
			t.Errorf("%s: once %v", what, got)
		}
		if got := Safe(Again, c.err); got != c.again {
			t.Errorf("%s: again %v", what, got)
		}
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	e := New(Config{Concurrency: 3})
	var running, most atomic.Int32
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_ = e.Do(t.Context(), Once, func(context.Context) error {
				n := running.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				<-gate
				running.Add(-1)
				return nil
			})
		})
	}
	for range 20 {
		gate <- struct{}{}
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Errorf("%d ran at once", most.Load())
	}
}

func TestCancelledInTheQueue(t *testing.T) {
	e := New(Config{Concurrency: 1})
	release, entered := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = e.Do(t.Context(), Once, func(context.Context) error { close(entered); <-release; return nil })
	})
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	err := e.Do(ctx, Once, func(context.Context) error { ran = true; return nil })
	if ran || !errors.Is(err, context.Canceled) || client.CodeOf(err) == client.CodeInternal {
		t.Errorf("ran %v, %v", ran, err)
	}
	close(release)
	wg.Wait()
}

func TestPace(t *testing.T) {
	e, c := newTest(Config{PerSecond: 2})
	began := c.Now()
	for range 12 {
		if err := e.Do(t.Context(), Once, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if took := c.Now().Sub(began); took < 4900*time.Millisecond {
		t.Errorf("12 calls took %s at two a second", took)
	}
}

func TestRedirectKeepsTheKeyHome(t *testing.T) {
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "" {
			leaked.Store(true)
		}
	}))
	defer other.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer home.Close()
	hc, err := NewHTTPClient(Net{ProxyURL: "direct"})
	if err != nil {
		t.Fatal(err)
	}
	defer hc.CloseIdleConnections()
	req, _ := http.NewRequest(http.MethodGet, home.URL, nil)
	req.Header.Set("X-API-Key", "secret")
	resp, err := hc.Do(req)
	if err == nil {
		_ = resp.Body.Close()
		t.Error("the redirect was followed")
	}
	if leaked.Load() {
		t.Error("the key went to another host")
	}
}

func TestProxyAndAuthority(t *testing.T) {
	var proxied atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Store(r.URL.Host == "far.test")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer proxy.Close()
	hc, err := NewHTTPClient(Net{ProxyURL: proxy.URL})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := hc.Get("http://far.test/")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	hc.CloseIdleConnections()
	if !proxied.Load() {
		t.Error("the proxy was not asked")
	}

	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	pem := fmt.Sprintf("-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n", b64(secure.Certificate().Raw))
	for _, ca := range []string{"", pem} {
		hc, err := NewHTTPClient(Net{ProxyURL: "direct", ExtraCA: []byte(ca)})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := hc.Get(secure.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		hc.CloseIdleConnections()
		if (err == nil) != (ca != "") {
			t.Errorf("with %d bytes of authorities: %v", len(ca), err)
		}
	}
}

func TestNetRefused(t *testing.T) {
	for _, n := range []Net{{ProxyURL: "ftp://user:hush-hush@x"}, {ProxyURL: "http://user:hush-hush@"}, {ExtraCA: []byte("nonsense")}} {
		_, err := NewHTTPClient(n)
		if client.CodeOf(err) != client.CodeConfig || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	}
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

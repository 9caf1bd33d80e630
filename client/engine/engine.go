package engine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"abxdash/client"
)

// Defaults of [Config].
const (
	DefaultConcurrency = 8
	DefaultTries       = 4
	DefaultMaxWait     = time.Minute
)

// Config bounds an engine. The zero value is usable.
type Config struct {
	// Concurrency is how many calls run at once; 0 is [DefaultConcurrency].
	Concurrency int
	// PerSecond is how many calls begin in a second; 0 is no bound of ours.
	PerSecond float64
	// Tries is how often one call is sent at most; 0 is [DefaultTries].
	Tries int
	// MaxWait is the longest single wait; a provider that asks for more gets its
	// refusal handed on. 0 is [DefaultMaxWait].
	MaxWait time.Duration
	// Now and Sleep are the clock; nil is the real one.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Repeat says what a call does when it is sent twice.
type Repeat uint8

const (
	// Once is a call that makes something: it is repeated only when it is
	// certain that nothing was made.
	Once Repeat = iota
	// Again is a call whose repetition changes nothing.
	Again
)

// Engine runs calls. It is safe for concurrent use and owns no goroutine.
type Engine struct {
	cfg   Config
	slots chan struct{}
	pace  *rate.Limiter

	mu sync.Mutex
	// until is when the provider wants to hear from us again.
	until time.Time
}

// New makes an engine.
func New(cfg Config) *Engine {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = DefaultConcurrency
	}
	if cfg.Tries <= 0 {
		cfg.Tries = DefaultTries
	}
	if cfg.MaxWait <= 0 {
		cfg.MaxWait = DefaultMaxWait
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	e := &Engine{cfg: cfg, slots: make(chan struct{}, cfg.Concurrency)}
	if cfg.PerSecond > 0 {
		e.pace = rate.NewLimiter(rate.Limit(cfg.PerSecond), max(1, int(cfg.PerSecond)))
	}
	return e
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Do runs fn, waits for its turn first, and repeats it where that is safe. The
// error is fn's last one; when ctx ends before fn ever ran it is ctx's.
func (e *Engine) Do(ctx context.Context, repeat Repeat, fn func(context.Context) error) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return waiting(ctx)
	}
	steps := backoff.NewExponentialBackOff()
	var last error
	for try := 1; ; try++ {
		if err := e.turn(ctx); err != nil {
			if last != nil {
				return last
			}
			return waiting(ctx)
		}
		last = fn(ctx)
		if last == nil || try >= e.cfg.Tries || ctx.Err() != nil || !Safe(repeat, last) {
			return last
		}
		d := max(client.RetryAfterOf(last), steps.NextBackOff())
		if d > e.cfg.MaxWait {
			return last
		}
		if errors.Is(last, client.ErrRateLimited) {
			// Every call waits, so that retries do not pile up.
			e.hold(d)
			continue
		}
		if e.cfg.Sleep(ctx, d) != nil {
			return last
		}
	}
}

// waiting is the error of a call whose context ended in the queue.
func waiting(ctx context.Context) error {
	return &client.Error{
		Op: "wait for a turn", Code: client.CodeNetwork,
		Message: "cancelled while waiting for a turn, nothing was sent", Err: context.Cause(ctx),
	}
}

// hold keeps all calls back for d.
func (e *Engine) hold(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until := e.cfg.Now().Add(d); until.After(e.until) {
		e.until = until
	}
}

// turn waits until the provider wants to hear from us and the pace allows it.
func (e *Engine) turn(ctx context.Context) error {
	for {
		e.mu.Lock()
		d := e.until.Sub(e.cfg.Now())
		e.mu.Unlock()
		if d <= 0 {
			break
		}
		if err := e.cfg.Sleep(ctx, d); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.pace == nil {
		return nil
	}
	now := e.cfg.Now()
	r := e.pace.ReserveN(now, 1)
	if d := r.DelayFrom(now); d > 0 {
		if err := e.cfg.Sleep(ctx, d); err != nil {
			r.CancelAt(e.cfg.Now())
			return err
		}
	}
	return nil
}

// Safe reports whether a call that failed with err may be sent again.
//
// A call that makes something may be only when it was refused for its rate, was
// never sent (no address, no connection), or when the provider says that it
// found no place for it (503, e2b-protocol §3.2). A time-out, a broken
// connection or a 5xx of another kind leaves open whether it was made.
func Safe(repeat Repeat, err error) bool {
	var e *client.Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return false
	}
	switch {
	case errors.Is(err, client.ErrRateLimited):
		// A quota does not pass by waiting.
		return e.Code != client.CodeQuota
	case unsent(err):
		return true
	case repeat == Once:
		return e.Status == http.StatusServiceUnavailable && e.Code == client.CodeCreate
	}
	return errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrStreamBroken) &&
		(e.Status == 0 || e.Status >= http.StatusBadGateway && e.Status <= http.StatusGatewayTimeout)
}

// unsent reports whether no byte of the call can have left this machine.
func unsent(err error) bool {
	var (
		dns *net.DNSError
		op  *net.OpError
	)
	switch {
	case errors.As(err, &dns):
		return dns.IsTemporary || dns.IsTimeout
	case errors.As(err, &op):
		return op.Op == "dial" && !errors.Is(err, context.DeadlineExceeded)
	}
	return false
}

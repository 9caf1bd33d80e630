package present

import (
	"context"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
)

// Paces of an Expiry.
const (
	// expiryEvery is how often the end is read again.
	expiryEvery = 30 * time.Second
	// noteTime is how long the result of an extension is shown.
	noteTime = 10 * time.Second
)

// ExpiryWarnings are the remaining times at which a shell warns, largest first.
func ExpiryWarnings() []time.Duration { return []time.Duration{5 * time.Minute, time.Minute} }

// Due returns which warning to give when left remains and the smallest given so
// far is given (0 for none): 0 for none.
func Due(left, given time.Duration) time.Duration {
	var due time.Duration
	for _, w := range ExpiryWarnings() {
		if left <= w && (given == 0 || w < given) {
			due = w
		}
	}
	return due
}

// Expiry follows the remaining lifetime of one sandbox while the dashboard's
// own loop stands still, in raw attach. Following only looks; Extend changes.
type Expiry struct {
	provider client.Provider
	now      func() time.Time
	readOnly string
	cancel   context.CancelFunc
	done     chan struct{}
	extend   chan struct{}

	mu     sync.Mutex
	lang   *lang.Catalog
	sb     client.Sandbox
	note   string
	noteAt time.Time
	given  time.Duration
}

// FollowExpiry starts to follow sb. readOnly is why it may not be extended, "" if it may.
func FollowExpiry(ctx context.Context, p client.Provider, sb client.Sandbox, now func() time.Time, readOnly string) *Expiry {
	ctx, cancel := context.WithCancel(ctx)
	e := &Expiry{
		provider: p, now: now, readOnly: readOnly, cancel: cancel,
		done: make(chan struct{}), extend: make(chan struct{}, 1), sb: sb.Clone(),
	}
	go e.run(ctx)
	return e
}

// In has Status speak a language; nil is English. It returns e.
func (e *Expiry) In(l *lang.Catalog) *Expiry {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lang = l
	return e
}

func (e *Expiry) language() *lang.Catalog {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lang
}

func (e *Expiry) run(ctx context.Context) {
	defer close(e.done)
	tick := time.NewTicker(expiryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if sb, err := e.provider.Sandboxes().Get(ctx, e.sandbox().ID); err == nil {
				e.set(sb, "")
			}
		case <-e.extend:
			before := e.sandbox()
			if r := Extend(ctx, e.provider, before, ExtendStep, e.now()); r.Err != nil {
				e.set(before, e.language().T("not extended: %s", ErrorLine(r.Err)))
			} else {
				e.set(r.After, r.In(e.language()))
			}
		}
	}
}

func (e *Expiry) sandbox() client.Sandbox {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sb.Clone()
}

func (e *Expiry) set(sb client.Sandbox, note string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	sb.Provider = e.sb.Provider
	e.sb = sb
	if note != "" {
		e.note, e.noteAt = note, e.now()
	}
}

// Extend asks for one more step; the result shows in Status. It does not block.
func (e *Expiry) Extend() {
	if e.readOnly != "" {
		e.set(e.sandbox(), e.language().T("not extended: %s", e.readOnly))
		return
	}
	select {
	case e.extend <- struct{}{}:
	default: // one is under way
	}
}

// Status is what it is, how long it lives, and what became of an extension.
func (e *Expiry) Status() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	text := Label(e.sb) + " — " + e.lang.T("TTL %s", e.lang.Word(TTL(e.sb, now)))
	if left, ok := e.sb.Remaining(now); ok && left <= ExpiryWarnings()[0] {
		text = e.lang.T("ENDS SOON: %s", text)
	}
	if e.note != "" && now.Sub(e.noteAt) < noteTime {
		text += " (" + e.note + ")"
	}
	return text
}

// Alert is true once at each warning.
func (e *Expiry) Alert() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	left, ok := e.sb.Remaining(e.now())
	if !ok || left == 0 {
		return false
	}
	if left > ExpiryWarnings()[0] {
		e.given = 0
		return false
	}
	due := Due(left, e.given)
	if due != 0 {
		e.given = due
	}
	return due != 0
}

// Sandbox is the sandbox as it was read last.
func (e *Expiry) Sandbox() client.Sandbox { return e.sandbox() }

// Stop ends following and waits for it.
func (e *Expiry) Stop() {
	e.cancel()
	<-e.done
}

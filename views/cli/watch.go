package cli

import (
	"context"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/views/present"
)

// watch keeps the remaining lifetime of a sandbox for the terminal's title. It
// only looks: no lifetime changes.
type watch struct {
	now    func() time.Time
	cancel context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	sb client.Sandbox
}

func newWatch(ctx context.Context, p client.Provider, sb client.Sandbox, now func() time.Time) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{now: now, cancel: cancel, done: make(chan struct{}), sb: sb}
	go w.run(ctx, p)
	return w
}

func (w *watch) run(ctx context.Context, p client.Provider) {
	defer close(w.done)
	tick := time.NewTicker(expiryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if sb, err := p.Sandboxes().Get(ctx, w.sb.ID); err == nil {
			w.mu.Lock()
			w.sb.ExpiresAt, w.sb.End = sb.ExpiresAt, sb.End
			w.mu.Unlock()
		}
	}
}

// status is the title: what it is and how long it lives.
func (w *watch) status() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return present.Label(w.sb) + " — TTL " + present.TTL(w.sb, w.now())
}

func (w *watch) stop() {
	w.cancel()
	<-w.done
}

package sdk

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"abxdash/client"
)

const (
	// killPatience bounds the kill that cleans up after [With].
	killPatience = 30 * time.Second
	// defaultGuard is how often a silent command's sandbox is looked at.
	defaultGuard = 5 * time.Second
)

// Sandbox is one sandbox of one provider. It is safe for concurrent use.
type Sandbox struct {
	p    client.Provider
	id   client.ID
	opts options

	mu    sync.Mutex
	info  client.Sandbox
	local *http.Transport // of a provider with connections of its own
}

// options are what [Option]s set.
type options struct {
	template []string
	guard    time.Duration
}

// Option changes how a sandbox is used.
type Option func(*options)

// TemplateCapabilities is the capabilities list of the sandbox's template. A
// template without one has shell, files and code.
func TemplateCapabilities(names ...string) Option {
	return func(o *options) { o.template = append([]string{}, names...) }
}

// Guard is how often a command that writes nothing has its sandbox looked at, so
// that one that is gone ends the command; 0 is 5 s.
func Guard(every time.Duration) Option {
	return func(o *options) { o.guard = every }
}

// newSandbox wraps a sandbox.
func newSandbox(p client.Provider, info client.Sandbox, opts []Option) *Sandbox {
	sb := &Sandbox{p: p, id: info.ID, info: info}
	for _, fn := range opts {
		fn(&sb.opts)
	}
	if sb.opts.template == nil {
		sb.opts.template = []string{"shell", "files", "code"}
	}
	if sb.opts.guard <= 0 {
		sb.opts.guard = defaultGuard
	}
	return sb
}

// Create makes a sandbox. The caller kills it, or leaves it to its lifetime.
func Create(ctx context.Context, p client.Provider, spec client.CreateSpec, opts ...Option) (*Sandbox, error) {
	info, err := p.Sandboxes().Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return newSandbox(p, info, opts), nil
}

// Connect attaches to a sandbox that exists. It resumes a paused one; lifetime
// only ever extends the life of a running one, and 0 is 300 s. Use [Open] to
// attach without touching the lifetime.
func Connect(ctx context.Context, p client.Provider, id client.ID, lifetime time.Duration, opts ...Option) (*Sandbox, error) {
	c, ok := client.Find[client.Connector](p)
	if !ok {
		return nil, unsupported(p, "connect to sandbox", "has no call to connect")
	}
	if lifetime == 0 {
		lifetime = 300 * time.Second
	}
	info, err := c.Connect(ctx, id, lifetime)
	if err != nil {
		return nil, err
	}
	info.ID = id
	return newSandbox(p, info, opts), nil
}

// Open attaches to a sandbox without changing anything about it.
func Open(ctx context.Context, p client.Provider, id client.ID, opts ...Option) (*Sandbox, error) {
	info, err := p.Sandboxes().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	info.ID = id
	return newSandbox(p, info, opts), nil
}

// KillByID ends a sandbox for good without connecting to it. One that is not
// there is success: what was asked for is so.
func KillByID(ctx context.Context, p client.Provider, id client.ID) error {
	err := p.Sandboxes().Kill(ctx, id)
	if errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

// With makes a sandbox, hands it to fn and kills it, whatever happens to fn and
// to ctx. The error is fn's, joined with that of a kill that failed.
func With(ctx context.Context, p client.Provider, spec client.CreateSpec, fn func(context.Context, *Sandbox) error, opts ...Option) (err error) {
	sb, err := Create(ctx, p, spec, opts...)
	if err != nil {
		return err
	}
	defer func() {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
		defer cancel()
		err = errors.Join(err, sb.Kill(own))
	}()
	return fn(ctx, sb)
}

func unsupported(p client.Provider, op, why string) error {
	return &client.Error{
		Op: op, Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: p.Name() + " " + why,
	}
}

// optional finds an optional interface that goes with a capability.
func optional[T any](p client.Provider, c client.Capability) (T, error) {
	var none T
	if err := p.Capabilities().Missing(p.Name(), c); err != nil {
		return none, err
	}
	x, ok := client.Find[T](p)
	if !ok {
		return none, unsupported(p, string(c), "does not offer "+string(c))
	}
	return x, nil
}

// ID is the sandbox's id.
func (sb *Sandbox) ID() client.ID { return sb.id }

// Provider is where the sandbox lives.
func (sb *Sandbox) Provider() client.Provider { return sb.p }

// Info is the sandbox as it was last seen. It makes no call.
func (sb *Sandbox) Info() client.Sandbox {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return sb.info.Clone()
}

// Refresh looks at the sandbox. It never changes its lifetime.
func (sb *Sandbox) Refresh(ctx context.Context) (client.Sandbox, error) {
	info, err := sb.p.Sandboxes().Get(ctx, sb.id)
	if err != nil {
		return client.Sandbox{}, err
	}
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.info = info
	return info.Clone(), nil
}

// SetTimeout makes the sandbox end d from now; it may shorten its life.
func (sb *Sandbox) SetTimeout(ctx context.Context, d time.Duration) error {
	return sb.p.Sandboxes().SetLifetime(ctx, sb.id, d)
}

// Kill ends the sandbox for good. One that has ended already is success.
func (sb *Sandbox) Kill(ctx context.Context) error {
	err := KillByID(ctx, sb.p, sb.id)
	_ = sb.Close()
	return err
}

// Close gives up what the object holds here and leaves the sandbox running. It
// never fails and may be called twice.
func (sb *Sandbox) Close() error {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if sb.local != nil {
		sb.local.CloseIdleConnections()
	}
	return nil
}

// Pause stops the sandbox, keeping its state, on a provider that declares
// sandbox.pause; else E8004. A paused one is ErrConflict.
func (sb *Sandbox) Pause(ctx context.Context) error {
	p, err := optional[client.Pauser](sb.p, client.CapPause)
	if err != nil {
		return err
	}
	return p.Pause(ctx, sb.id)
}

// Resume wakes a paused sandbox, which then lives for lifetime.
func (sb *Sandbox) Resume(ctx context.Context, lifetime time.Duration) error {
	p, err := optional[client.Pauser](sb.p, client.CapPause)
	if err != nil {
		return err
	}
	return p.Resume(ctx, sb.id, lifetime)
}

// Snapshot saves the running sandbox, where the provider declares
// sandbox.snapshot; else E8004. It can take minutes. name may be "".
func (sb *Sandbox) Snapshot(ctx context.Context, name string) (client.Snapshot, error) {
	s, err := optional[client.Snapshotter](sb.p, client.CapSnapshot)
	if err != nil {
		return client.Snapshot{}, err
	}
	return s.Snapshot(ctx, sb.id, name)
}

// UpdateNetwork replaces the outbound rules, where the provider declares
// sandbox.network; else E8004.
func (sb *Sandbox) UpdateNetwork(ctx context.Context, u client.NetworkUpdate) error {
	n, err := optional[client.NetworkUpdater](sb.p, client.CapNetworkUpdate)
	if err != nil {
		return err
	}
	return n.UpdateNetwork(ctx, sb.id, u)
}

// Metrics is the use between two times (zero leaves an end open), where the
// provider declares sandbox.metrics; else E8004.
func (sb *Sandbox) Metrics(ctx context.Context, from, to time.Time) ([]client.Metric, error) {
	m, err := optional[client.MetricsReader](sb.p, client.CapMetrics)
	if err != nil {
		return nil, err
	}
	return m.Metrics(ctx, sb.id, from, to)
}

// Logs is the sandbox's own log from a time on, where the provider declares
// sandbox.logs; else E8004.
func (sb *Sandbox) Logs(ctx context.Context, since time.Time, limit int) ([]client.LogEntry, error) {
	l, err := optional[client.LogReader](sb.p, client.CapLogs)
	if err != nil {
		return nil, err
	}
	return l.Logs(ctx, sb.id, since, limit)
}

// declares reports whether the template has a capability.
func (sb *Sandbox) declares(name string) bool { return slices.Contains(sb.opts.template, name) }

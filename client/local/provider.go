package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"abxdash/client"
	"abxdash/client/e2b"
)

// Name is the provider's name.
const Name = "local"

// DefaultLifetime is how long a local sandbox lives when nobody says (product.md §2).
const DefaultLifetime = time.Hour

// Provider gives sandboxes on this machine. It is safe for concurrent use.
type Provider struct {
	asker
	cfg   Config
	inner *e2b.Client
	life  lifeCycle
	files fileCalls
	log   *slog.Logger
}

var (
	_ client.Provider  = (*Provider)(nil)
	_ client.Connector = (*sandboxes)(nil)
	_ client.Pauser    = (*sandboxes)(nil)

	_ client.MetricsReader = (*Provider)(nil)
	_ client.LogReader     = (*Provider)(nil)
	_ client.Snapshotter   = (*Provider)(nil)
	_ client.PortDialer    = (*Provider)(nil)

	_ client.NetworkUpdater = (*Provider)(nil)

	_ client.Watcher     = (*files)(nil)
	_ client.RangeOpener = (*files)(nil)
)

// New makes the provider. It touches no file and starts nothing. On a system
// without local sandboxes the error is E8004.
func New(cfg Config) (*Provider, error) {
	if runtime.GOOS == "windows" {
		return nil, &client.Error{
			Op: "local sandboxes", Provider: Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "there are no local sandboxes on " + runtime.GOOS,
			Hint:    "use a remote provider, or abxdash inside WSL",
		}
	}
	ps, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	ask := newAsker(ps)
	inner, err := e2b.New(e2b.Config{
		Name: Name, APIURL: origin, DataURL: origin,
		HTTPClient:   &http.Client{Transport: ours{ask.raw, ps, false}},
		Logger:       cfg.Logger,
		UserAgent:    "abxdash/" + cfg.Version,
		Capabilities: capabilities(),
		Template:     "base",
		Lifetime:     DefaultLifetime,
	})
	if err != nil {
		return nil, err
	}
	life, ok := inner.Sandboxes().(lifeCycle)
	fc, ok2 := inner.Files().(fileCalls)
	if !ok || !ok2 {
		return nil, &client.Error{Op: "local sandboxes", Provider: Name, Code: client.CodeInternal, Message: "the client lacks a part"}
	}
	return &Provider{asker: ask, cfg: cfg, inner: inner, life: life, files: fc, log: cfg.Logger}, nil
}

// Close gives up idle connections. The server and its sandboxes go on.
func (p *Provider) Close() {
	p.inner.Close()
	p.raw.CloseIdleConnections()
}

// Name implements [client.Provider].
func (p *Provider) Name() string { return Name }

// Capabilities implements [client.Provider].
func (p *Provider) Capabilities() client.Capabilities { return capabilities() }

func capabilities() client.Capabilities {
	have := map[client.Capability]bool{}
	for _, c := range []client.Capability{
		client.CapCommands, client.CapPTY, client.CapReconnect, client.CapFiles, client.CapWatch, client.CapPorts,
		client.CapPause, client.CapMetrics, client.CapLogs, client.CapSnapshot, client.CapFolders, client.CapCode,
		client.CapTemplates, client.CapTemplateSteps,
		client.CapNetworkUpdate,
	} {
		have[c] = true
	}
	return client.Capabilities{Have: have, Why: map[client.Capability]string{
		client.CapTransfer: "a local sandbox's files are reached over the local server's socket only",
	}}
}

// Sandboxes implements [client.Provider]. The result is also a
// [client.Connector] and a [client.Pauser].
func (p *Provider) Sandboxes() client.Sandboxes { return &sandboxes{p, p.life} }

// Commands implements [client.Provider].
func (p *Provider) Commands() client.Commands { return &commands{p, p.inner.Commands()} }

// Files implements [client.Provider].
func (p *Provider) Files() client.Files { return &files{p, p.files} }

// say gives an error of a call its local meaning: without a server there is no
// sandbox, and what is wrong with the server itself is E9010.
func (p *Provider) say(op string, id client.ID, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errNoServer) {
		return &client.Error{
			Op: op, Provider: Name, Code: client.CodeNotFound, Kind: client.ErrNotFound,
			Message: fmt.Sprintf("no sandbox %s: the local server is not running", client.OneLine(string(id), 40)),
		}
	}
	for e := err; e != nil; {
		var ce *client.Error
		if !errors.As(e, &ce) {
			break
		}
		if ce.Code == client.CodeLocalServer {
			return ce
		}
		e = ce.Err
	}
	return err
}

type sandboxes struct {
	p  *Provider
	in lifeCycle
}

// lifeCycle is what the plain client's sandboxes can do.
type lifeCycle interface {
	client.Sandboxes
	client.Connector
	client.Pauser
}

// List is empty when no server runs; it never starts one.
func (s *sandboxes) List(ctx context.Context, q client.Query) (client.Page, error) {
	page, err := s.in.List(ctx, q)
	if errors.Is(err, errNoServer) {
		return client.Page{ServerTime: time.Now()}, nil
	}
	return page, s.p.say("list sandboxes", "", err)
}

func (s *sandboxes) Get(ctx context.Context, id client.ID) (client.Sandbox, error) {
	sb, err := s.in.Get(ctx, id)
	return sb, s.p.say("get sandbox", id, err)
}

// Create starts the local server if none runs.
func (s *sandboxes) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	var sb client.Sandbox
	for try := 0; ; try++ {
		err := s.p.ensure(ctx)
		if err != nil {
			return sb, err
		}
		sb, err = s.in.Create(withFolders(ctx, spec.Folders), spec)
		// Both mean that the server made nothing: it had gone, or refused
		// because it is about to.
		if try < maxTries && (errors.Is(err, errNoServer) || ending(err)) {
			continue
		}
		if errors.Is(err, errNoServer) {
			err = serverError("create sandbox", "the local server ended again at once", s.p.logHint(), err)
		}
		return sb, s.p.say("create sandbox", "", err)
	}
}

// maxTries bounds how often Create meets a server that is just ending.
const maxTries = 3

// ending reports the refusal of a server that is about to end.
func ending(err error) bool {
	var ce *client.Error
	return errors.As(err, &ce) && ce.Status == http.StatusServiceUnavailable
}

func (s *sandboxes) Kill(ctx context.Context, id client.ID) error {
	return s.p.say("kill sandbox", id, s.in.Kill(ctx, id))
}

func (s *sandboxes) SetLifetime(ctx context.Context, id client.ID, d time.Duration) error {
	return s.p.say("set lifetime", id, s.in.SetLifetime(ctx, id, d))
}

// Connect extends a lifetime, see [client.Connector].
func (s *sandboxes) Connect(ctx context.Context, id client.ID, lifetime time.Duration) (client.Sandbox, error) {
	sb, err := s.in.Connect(ctx, id, lifetime)
	return sb, s.p.say("connect", id, err)
}

// Pause makes a sandbox stand still, its lifetime too, see [client.Pauser].
func (s *sandboxes) Pause(ctx context.Context, id client.ID) error {
	return s.p.say("pause sandbox", id, s.in.Pause(ctx, id))
}

// Resume undoes Pause and starts a new lifetime.
func (s *sandboxes) Resume(ctx context.Context, id client.ID, lifetime time.Duration) error {
	return s.p.say("resume sandbox", id, s.in.Resume(ctx, id, lifetime))
}

func serverError(op, message, hint string, err error) *client.Error {
	return &client.Error{Op: op, Provider: Name, Code: client.CodeLocalServer, Kind: client.ErrUnavailable, Message: message, Hint: hint, Err: err}
}

// logHint points at the server's log.
func (p *Provider) logHint() string { return "its log is " + p.paths.log }

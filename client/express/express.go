package express

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/credentials"
	"abxdash/client/e2b"
	"abxdash/client/engine"
)

// Provider is one Express account in one region. It is safe for concurrent use.
type Provider struct {
	*e2b.Client
	cfg Config
}

var (
	_ client.Provider       = (*Provider)(nil)
	_ client.Connector      = (*sandboxes)(nil)
	_ client.Pauser         = (*sandboxes)(nil)
	_ client.Snapshotter    = (*Provider)(nil)
	_ client.MetricsReader  = (*Provider)(nil)
	_ client.LogReader      = (*Provider)(nil)
	_ client.NetworkUpdater = (*Provider)(nil)
)

// New makes the provider. It makes no call; a configuration that cannot work is
// an error (E1001 without a key, E2003 for a region).
func New(cfg Config) (*Provider, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(cfg.APIKey) == "" {
		return nil, &client.Error{
			Op: "configure " + cfg.Name, Provider: cfg.Name, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
			Message: "no API key", Hint: "set " + strings.Join(credentials.KeyNames(Name), " or "),
		}
	}
	inner, err := e2b.New(e2b.Config{
		Name: cfg.Name, APIURL: cfg.APIURL, Domain: cfg.Domain, DataURL: cfg.DataURL, APIKey: strings.TrimSpace(cfg.APIKey),
		HTTPClient: cfg.HTTPClient, AllowHTTP: cfg.AllowHTTP,
		Capabilities: cfg.capabilities(), Template: cfg.Template, Lifetime: cfg.Lifetime, User: cfg.User, JSON: cfg.JSON || !cfg.Protobuf,
		Keepalive: cfg.Keepalive, Silence: cfg.Silence, RequestTimeout: cfg.RequestTimeout,
		Logger: cfg.Logger, Now: cfg.Now, UserAgent: cfg.UserAgent,
		Quirks: e2b.Quirks{TrafficToken: true, V1List: true, CamelInternet: true},
	})
	if err != nil {
		return nil, err
	}
	return &Provider{Client: inner, cfg: cfg}, nil
}

// Default makes the provider from the process environment, ./.env and
// ~/.abx/.env, in that order (product.md §2).
func Default() (*Provider, error) {
	home, err := os.UserHomeDir()
	file := ""
	if err == nil {
		file = filepath.Join(home, ".abx", ".env")
	}
	set := credentials.Load(credentials.Options{LookupEnv: os.LookupEnv, ProjectFile: ".env", HomeFile: file})
	a, err := set.Account(Name)
	if err != nil {
		return nil, err
	}
	cfg, err := FromAccount(a, Config{})
	if err != nil {
		return nil, err
	}
	return New(cfg)
}

// Native is the native API for an account's access key pair: its CreateAPIKey
// makes the API key that sandboxes need. That stays in the account, so it is for
// the asking only. base may name a client and an endpoint.
func Native(a credentials.Account, base acs.Config) (*acs.Client, error) {
	base.Credentials = acs.Credentials{AccessKeyID: a.AccessKeyID.Reveal(), AccessKeySecret: a.AccessKeySecret.Reveal()}
	if base.Region == "" {
		base.Region = a.RegionName.Reveal()
	}
	if base.Region == "" {
		base.Region = regionOf(a.Domain.Reveal())
	}
	return acs.New(base)
}

// Region is the region in force, "" when only addresses were given.
func (p *Provider) Region() string { return p.cfg.Region }

// SilenceHint implements [client.SilenceHinter]: templates of generation 2 were
// seen to lose the output of commands (alicloud-express §8).
func (p *Provider) SilenceHint() string {
	if p.cfg.Generation != 2 {
		return ""
	}
	return "nothing was written; generation 2 templates were seen to lose output: if there should be some, let the command write to a file and read that"
}

// Sandboxes implements [client.Provider]. The result is also a
// [client.Connector] and a [client.Pauser].
func (p *Provider) Sandboxes() client.Sandboxes { return &sandboxes{p.Client.Sandboxes(), p} }

// sandboxes is the dialect's life cycle with the ways of Express.
type sandboxes struct {
	client.Sandboxes
	p *Provider
}

// Create implements [client.Sandboxes]. It goes through the engine: it waits for
// a turn, and is repeated only when it is certain that nothing was made.
func (s *sandboxes) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	if spec.Lifetime > 0 {
		// Express would raise it and not say so.
		spec.Lifetime = max(spec.Lifetime, s.p.cfg.MinLifetime)
	}
	if spec.RequestTimeout == 0 {
		spec.RequestTimeout = max(createPatience, s.p.cfg.RequestTimeout)
	}
	var sb client.Sandbox
	err := s.p.cfg.Engine.Do(ctx, engine.Once, func(ctx context.Context) error {
		var err error
		sb, err = s.Sandboxes.Create(ctx, spec)
		return err
	})
	if e := (*client.Error)(nil); errors.As(err, &e) {
		e.Provider = s.p.cfg.Name
		if e.Code == client.CodeTemplateMissing && e.Hint == "" {
			e.Hint = "key, template and sandbox must be of one region; this is " + s.p.where()
		}
	}
	return sb, err
}

// where names the region or the domain for a hint.
func (p *Provider) where() string {
	if p.cfg.Region != "" {
		return p.cfg.Region
	}
	return "the configured address"
}

// Connect implements [client.Connector].
func (s *sandboxes) Connect(ctx context.Context, id client.ID, lifetime time.Duration) (client.Sandbox, error) {
	c, ok := s.Sandboxes.(client.Connector)
	if !ok {
		return client.Sandbox{}, client.Usagef("connect", "the dialect cannot connect")
	}
	return c.Connect(ctx, id, lifetime)
}

// Pause implements [client.Pauser]; what Express answers where it is not
// offered becomes E8004 (alicloud-express §5).
func (s *sandboxes) Pause(ctx context.Context, id client.ID) error {
	if err := s.p.Capabilities().Missing(s.p.cfg.Name, client.CapPause); err != nil {
		return err
	}
	p, ok := s.Sandboxes.(client.Pauser)
	if !ok {
		return client.Usagef("pause", "the dialect cannot pause")
	}
	return s.offered(ctx, id, "pause sandbox "+string(id), p.Pause(ctx, id))
}

// Resume implements [client.Pauser] with the connect call (alicloud-express §5).
func (s *sandboxes) Resume(ctx context.Context, id client.ID, lifetime time.Duration) error {
	if err := s.p.Capabilities().Missing(s.p.cfg.Name, client.CapPause); err != nil {
		return err
	}
	p, ok := s.Sandboxes.(client.Pauser)
	if !ok {
		return client.Usagef("resume", "the dialect cannot resume")
	}
	return p.Resume(ctx, id, lifetime)
}

// offered turns a refusal of the call itself (403, 404, 405, 501) into "not
// available for this sandbox". A 404 may also mean that the sandbox is gone:
// asking for it tells.
func (s *sandboxes) offered(ctx context.Context, id client.ID, op string, err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Status {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
	case http.StatusNotFound:
		if _, gerr := s.Get(ctx, id); gerr != nil {
			return err
		}
	default:
		return err
	}
	return &client.Error{
		Op: op, Provider: s.p.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Status: e.Status, RequestID: e.RequestID,
		Message: fmt.Sprintf("not available for this sandbox (HTTP %d: %s)", e.Status, e.Message),
		Hint:    "it depends on the generation of its template and on what the team may use",
	}
}

// Snapshot implements [client.Snapshotter].
func (p *Provider) Snapshot(ctx context.Context, id client.ID, name string) (client.Snapshot, error) {
	if err := p.Capabilities().Missing(p.cfg.Name, client.CapSnapshot); err != nil {
		return client.Snapshot{}, err
	}
	got, err := p.Client.Snapshot(ctx, id, name)
	return got, p.life().offered(ctx, id, "snapshot sandbox "+string(id), err)
}

func (p *Provider) life() *sandboxes { return &sandboxes{p.Client.Sandboxes(), p} }

// Snapshots implements [client.Snapshotter].
func (p *Provider) Snapshots(ctx context.Context, q client.SnapshotQuery) ([]client.Snapshot, string, error) {
	if err := p.Capabilities().Missing(p.cfg.Name, client.CapSnapshot); err != nil {
		return nil, "", err
	}
	return p.Client.Snapshots(ctx, q)
}

// DeleteSnapshot implements [client.Snapshotter].
func (p *Provider) DeleteSnapshot(ctx context.Context, snapshot string) error {
	if err := p.Capabilities().Missing(p.cfg.Name, client.CapSnapshot); err != nil {
		return err
	}
	return p.Client.DeleteSnapshot(ctx, snapshot)
}

// Metrics implements [client.MetricsReader]. Disk fields are placeholders on
// Express (alicloud-express §5).
func (p *Provider) Metrics(ctx context.Context, id client.ID, from, to time.Time) ([]client.Metric, error) {
	if err := p.Capabilities().Missing(p.cfg.Name, client.CapMetrics); err != nil {
		return nil, err
	}
	got, err := p.Client.Metrics(ctx, id, from, to)
	return got, p.life().offered(ctx, id, "get metrics of "+string(id), err)
}

// Logs implements [client.LogReader]; Express never has any.
func (p *Provider) Logs(context.Context, client.ID, time.Time, int) ([]client.LogEntry, error) {
	return nil, p.Capabilities().Missing(p.cfg.Name, client.CapLogs)
}

// UpdateNetwork implements [client.NetworkUpdater].
func (p *Provider) UpdateNetwork(ctx context.Context, id client.ID, u client.NetworkUpdate) error {
	return p.life().offered(ctx, id, "update network of "+string(id), p.Client.UpdateNetwork(ctx, id, u))
}

package e2b

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"abxdash/client"
)

// Client is one configured service. It is safe for concurrent use.
type Client struct {
	cfg    Config
	http   *http.Client
	secret client.Secret
	// oldList is set once the service has shown that it lacks the newer list.
	oldList atomic.Bool

	mu     sync.Mutex
	agents map[client.ID]*agent
}

var (
	_ client.Provider  = (*Client)(nil)
	_ client.Connector = (*sandboxes)(nil)
	_ client.Pauser    = (*sandboxes)(nil)

	_ client.Ports          = (*Client)(nil)
	_ client.WebClient      = (*Client)(nil)
	_ client.MetricsReader  = (*Client)(nil)
	_ client.LogReader      = (*Client)(nil)
	_ client.Snapshotter    = (*Client)(nil)
	_ client.NetworkUpdater = (*Client)(nil)
	_ client.FileLinks      = (*Client)(nil)
	_ client.Watcher        = (*files)(nil)
	_ client.RangeOpener    = (*files)(nil)
)

// New makes a client. It makes no call; a configuration that cannot work is an error.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.APIURL = strings.TrimRight(cfg.APIURL, "/")
	cfg.DataURL = strings.TrimRight(cfg.DataURL, "/")
	return &Client{
		cfg:    cfg,
		http:   newHTTPClient(cfg),
		secret: client.NewSecret(cfg.APIKey),
		agents: map[client.ID]*agent{},
	}, nil
}

// Close gives up idle connections. Running streams go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// String names the service; printing a client shows no key and no token.
func (c *Client) String() string { return "provider " + c.cfg.Name }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// HTTPClient implements [client.WebClient].
func (c *Client) HTTPClient() *http.Client { return c.http }

// Name implements [client.Provider].
func (c *Client) Name() string { return c.cfg.Name }

// Capabilities implements [client.Provider].
func (c *Client) Capabilities() client.Capabilities { return c.cfg.Capabilities }

// need is the error of a capability that the service lacks. Nothing is sent
// then: some services answer unknown paths with success, or act on them
// (alicloud-container §5).
func (c *Client) need(k client.Capability) error { return c.cfg.Capabilities.Missing(c.cfg.Name, k) }

// Sandboxes implements [client.Provider]. The result is also a
// [client.Connector] and a [client.Pauser].
func (c *Client) Sandboxes() client.Sandboxes { return &sandboxes{c} }

// Commands implements [client.Provider].
func (c *Client) Commands() client.Commands { return &commands{c} }

// Files implements [client.Provider]. The result is also a [Lister].
func (c *Client) Files() client.Files { return &files{c} }

// PortURL is the address of a port of a sandbox, for a browser or curl. It
// makes no call. The error is E8004 if the service has no such addresses.
func (c *Client) PortURL(id client.ID, port int) (string, error) {
	const op = "port URL"
	if err := checkID(op, id); err != nil {
		return "", err
	}
	if port < 1 || port > 65535 {
		return "", client.Usagef(op, "port %d is not in 1 to 65535", port)
	}
	if c.cfg.WebURL == "" {
		return "", &client.Error{
			Op: op, Provider: c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: c.cfg.Name + " gives ports no address of their own",
		}
	}
	return expand(c.cfg.WebURL, id, c.domainOf(id), port), nil
}

// domainOf is the base domain of a sandbox: its own if the service named one.
func (c *Client) domainOf(id client.ID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.agents[id]; a != nil && a.access.domain != "" {
		return a.access.domain
	}
	return c.cfg.Domain
}

// expand fills in a URL pattern.
func expand(pattern string, id client.ID, domain string, port int) string {
	return strings.NewReplacer("{id}", string(id), "{port}", strconv.Itoa(port), "{domain}", domain).Replace(pattern)
}

// checkID refuses ids that could change the meaning of a path, host or header
// they are put into.
func checkID(op string, id client.ID) error {
	if id == "" {
		return client.Usagef(op, "no sandbox id given")
	}
	for i, r := range id {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !plain && (i == 0 || r != '-' && r != '_' && r != '.') || i > 127 {
			return client.Usagef(op, "%q is not a sandbox id", client.OneLine(string(id), 40))
		}
	}
	return nil
}

// seconds rounds d up to whole seconds (e2b-protocol §14).
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

package opensandbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"abxdash/client"
)

// Client is one server. It is safe for concurrent use.
type Client struct {
	cfg    Config
	http   *http.Client
	secret client.Secret
	ids    idMaker

	// work are calls that outlive their caller: interrupts of commands that
	// nobody reads any more. Close waits for them.
	work sync.WaitGroup

	mu    sync.Mutex
	boxes map[client.ID]*box
	// proxied is set once a direct address was not reachable and the proxy was.
	proxied bool
	// skew is the server's clock minus ours.
	skew time.Duration
}

var (
	_ client.Provider       = (*Client)(nil)
	_ client.Connector      = (*sandboxes)(nil)
	_ client.Pauser         = (*sandboxes)(nil)
	_ client.Snapshotter    = (*Client)(nil)
	_ client.MetricsReader  = (*Client)(nil)
	_ client.LogReader      = (*Client)(nil)
	_ client.NetworkUpdater = (*Client)(nil)
	_ client.Ports          = (*Client)(nil)
	_ client.WebClient      = (*Client)(nil)
	_ client.RangeOpener    = (*files)(nil)
)

// New makes a client. It makes no call; a configuration that cannot work is an error.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, secret: client.NewSecret(cfg.APIKey), boxes: map[client.ID]*box{}, ids: idMaker{file: cfg.SecretFile, key: cfg.APIKey}}
	var hc http.Client
	if cfg.HTTPClient != nil {
		hc = *cfg.HTTPClient
	}
	if hc.Transport == nil {
		t := &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConns: 128, MaxIdleConnsPerHost: 32,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		}
		if cfg.RootCAs != nil || cfg.InsecureTLS {
			t.TLSClientConfig = &tls.Config{RootCAs: cfg.RootCAs, InsecureSkipVerify: cfg.InsecureTLS} //nolint:gosec // said so in the configuration
		}
		hc.Transport = t
	}
	hc.CheckRedirect = sameHost
	c.http = &hc
	return c, nil
}

// sameHost stops redirects that would carry a key or token to another host, or
// down to plain http.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Host != from.Host || from.Scheme == "https" && req.URL.Scheme != "https" || len(via) >= 5 {
		return errors.New("refused a redirect to another address")
	}
	return nil
}

// Close waits for what is still to be told to sandboxes, a few seconds at
// most, and gives up idle connections.
func (c *Client) Close() {
	c.work.Wait()
	c.http.CloseIdleConnections()
}

// HTTPClient implements [client.WebClient].
func (c *Client) HTTPClient() *http.Client { return c.http }

// Name implements [client.Provider].
func (c *Client) Name() string { return c.cfg.Name }

// Capabilities implements [client.Provider]. What depends on the server's
// runtime (snapshots, the network policy) is offered; a server without it
// answers 501 or 400, which becomes E8004.
func (c *Client) Capabilities() client.Capabilities { return Capabilities() }

// Capabilities is the static set of the provider.
func Capabilities() client.Capabilities {
	have := map[client.Capability]bool{}
	for _, k := range []client.Capability{
		client.CapPause, client.CapMetrics, client.CapLogs, client.CapSnapshot, client.CapNetworkUpdate,
		client.CapCommands, client.CapPTY, client.CapFiles, client.CapPorts,
	} {
		have[k] = true
	}
	return client.Capabilities{Have: have, Why: map[client.Capability]string{
		client.CapReconnect: "OpenSandbox cannot list or join the commands of another program; shells rejoin by themselves after a break",
		client.CapWatch:     "OpenSandbox cannot watch files",
		client.CapTransfer:  "OpenSandbox has no addresses for single files",
		client.CapCode:      "OpenSandbox runs code only in images with Jupyter; run python3 as a command",
		client.CapTemplates: "OpenSandbox has no templates; the template is an image, snapshot:<id> or pool:<name>",
	}}
}

// Sandboxes implements [client.Provider]. The result is also a
// [client.Connector] and a [client.Pauser].
func (c *Client) Sandboxes() client.Sandboxes { return &sandboxes{c} }

// Commands implements [client.Provider].
func (c *Client) Commands() client.Commands { return &commands{c} }

// Files implements [client.Provider]. The result is also a [client.RangeOpener].
func (c *Client) Files() client.Files { return &files{c} }

// now is the server's clock.
func (c *Client) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Now().Add(c.skew)
}

// tick learns the server's clock from an answer.
func (c *Client) tick(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The header has whole seconds; a smaller difference is none.
	if d := t.Sub(c.cfg.Now()); d.Abs() > 2*time.Second {
		c.skew = d
	} else {
		c.skew = 0
	}
	return t
}

// failing says what was being done when an error came, and so which codes fit.
type failing struct {
	op string
	id client.ID
	// code is the operation's general code, notFound the one for a 404.
	code, notFound client.Code
	// wait replaces the configured request timeout, 0 keeps it.
	wait time.Duration
}

// request is one call to the server or to something in a sandbox.
type request struct {
	method, url string
	header      http.Header
	// body is sent as JSON; raw as it is, with the content type in header.
	body any
	raw  io.Reader
	// stream leaves the answer's body open and unbounded.
	stream bool
}

// answer is an answer with a 2xx status.
type answer struct {
	status int
	header http.Header
	body   []byte
	open   io.ReadCloser
}

const (
	maxAnswer    = 32 << 20
	maxErrorBody = 64 << 10
)

var errNoAnswer = errors.New("no answer in time")

// bounded limits ctx by the request timeout, or by one of the call's own.
func (c *Client) bounded(ctx context.Context, own time.Duration) (context.Context, context.CancelFunc) {
	limit := c.cfg.RequestTimeout
	if own > 0 {
		limit = own
	}
	if limit < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, errNoAnswer)
}

// api makes one call to the lifecycle server. Its errors are *client.Error.
func (c *Client) api(ctx context.Context, f failing, method, path string, body any) (answer, error) {
	ctx, cancel := c.bounded(ctx, f.wait)
	defer cancel()
	h := http.Header{}
	c.authorize(h)
	a, err := c.do(ctx, request{method: method, url: c.cfg.APIURL + "/v1" + path, header: h, body: body})
	if err != nil {
		return answer{}, c.fail(ctx, f, err)
	}
	c.tick(a.header)
	return a, nil
}

// authorize puts the server's key on a request to the server itself.
func (c *Client) authorize(h http.Header) {
	if c.cfg.APIKey != "" {
		h.Set("OPEN-SANDBOX-API-KEY", c.cfg.APIKey)
	}
}

// do makes one HTTP call. A status that is no success becomes a *refusal.
func (c *Client) do(ctx context.Context, r request) (answer, error) {
	send := r.raw
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return answer{}, err
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, send)
	if err != nil {
		return answer{}, err
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	c.cfg.Logger.Debug("call", "provider", c.cfg.Name, "method", r.method, "status", resp.StatusCode)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return answer{}, &refusal{host: req.URL.Host, status: resp.StatusCode, header: resp.Header, body: body}
	}
	if r.stream {
		return answer{status: resp.StatusCode, header: resp.Header, open: resp.Body}, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return answer{}, err
	}
	if len(data) > maxAnswer {
		return answer{}, fmt.Errorf("the answer is over %d MiB", maxAnswer>>20)
	}
	if ct := resp.Header.Get("Content-Type"); strings.HasPrefix(ct, "text/html") {
		return answer{}, &refusal{host: req.URL.Host, status: resp.StatusCode, header: resp.Header, body: data}
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: data}, nil
}

// decode reads a JSON answer.
func (c *Client) decode(f failing, a answer, what string, to any) error {
	if err := json.Unmarshal(a.body, to); err != nil {
		return &client.Error{
			Op: f.op, Provider: c.cfg.Name, Code: client.CodeBadAnswer, Status: a.status,
			Message: "the " + what + " is not the expected JSON",
		}
	}
	return nil
}

// checkID refuses ids that could change the meaning of a path.
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

func sandboxPath(id client.ID, rest string) string {
	return "/sandboxes/" + url.PathEscape(string(id)) + rest
}

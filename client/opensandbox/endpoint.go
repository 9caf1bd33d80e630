package opensandbox

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// endpoint is where a port of a sandbox is reached (§3).
type endpoint struct {
	// base has a scheme and no trailing slash; it may have a path.
	base   string
	header http.Header
}

// box is what is known of one sandbox.
type box struct {
	execd *endpoint
	// home is the home folder of execd's user, "" until it is asked for.
	home string
	// token is execd's; known says whether it is, "" being none.
	token string
	known bool
	// jobs are the commands started from here by our own number: execd has no
	// list of its own (§4.3).
	jobs    map[int]*job
	lastJob int
	// sample is the last reading of metrics (§13: one in 2 s at most).
	sample   client.Metric
	sampleAt time.Time
}

// boxOf returns what is known of a sandbox; c.mu is held.
func (c *Client) boxOf(id client.ID) *box {
	b := c.boxes[id]
	if b == nil {
		if len(c.boxes) >= 10000 {
			clear(c.boxes)
		}
		b = &box{jobs: map[int]*job{}}
		c.boxes[id] = b
	}
	return b
}

// learn keeps a sandbox's execd token.
func (c *Client) learn(id client.ID, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boxOf(id)
	b.token, b.known = token, true
}

// forget drops the address, which a pause, a resume or a kill may change.
func (c *Client) forget(id client.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[id]; b != nil {
		b.execd = nil
	}
}

// resolve asks the server for the address of a port.
func (c *Client) resolve(ctx context.Context, f failing, id client.ID, port int, proxy bool) (*endpoint, error) {
	path := sandboxPath(id, "/endpoints/"+strconv.Itoa(port))
	if proxy {
		path += "?use_server_proxy=true"
	}
	a, err := c.api(ctx, f, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	var w struct {
		Endpoint string            `json:"endpoint"`
		Headers  map[string]string `json:"headers"`
	}
	if err := c.decode(f, a, "address", &w); err != nil {
		return nil, err
	}
	e := &endpoint{header: http.Header{}}
	if e.base, err = c.address(w.Endpoint); err != nil {
		return nil, &client.Error{Op: f.op, Provider: c.cfg.Name, Code: client.CodeBadAnswer, Message: err.Error()}
	}
	for k, v := range w.Headers {
		e.header.Set(k, v)
	}
	if proxy {
		// The proxy takes it off again; newer servers check it (§3.2). It goes to
		// no other address.
		if u, err := url.Parse(e.base); err == nil && c.ownHost(u.Host) {
			c.authorize(e.header)
		}
	}
	return e, nil
}

// ownHost reports whether host is the server itself.
func (c *Client) ownHost(host string) bool {
	u, err := url.Parse(c.cfg.APIURL)
	return err == nil && u.Host == host
}

// address gives an endpoint a scheme and applies the rewrites (§3 rules 1 and 2).
func (c *Client) address(text string) (string, error) {
	if !strings.Contains(text, "://") {
		scheme, _, _ := strings.Cut(c.cfg.APIURL, "://")
		text = scheme + "://" + text
	}
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server gave an address that is none")
	}
	if to := c.cfg.Rewrite[u.Hostname()]; to != "" {
		if _, _, err := net.SplitHostPort(to); err != nil && u.Port() != "" {
			to = net.JoinHostPort(to, u.Port())
		}
		u.Host = to
	}
	return u.String(), nil
}

// useProxy says how execd is asked for now.
func (c *Client) useProxy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Mode == ModeProxy || c.cfg.Mode == ModeAuto && c.proxied
}

// execd returns the address of a sandbox's execd with the headers it needs.
// The first time the sandbox itself is asked for: its state, because execd of a
// paused one hangs (§2.6), and its token.
func (c *Client) execd(ctx context.Context, f failing) (*endpoint, error) {
	if err := checkID(f.op, f.id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	b := c.boxOf(f.id)
	e, known := b.execd, b.known
	c.mu.Unlock()
	if e != nil {
		return e, nil
	}
	sb, nonce, err := (&sandboxes{c}).get(ctx, f.op, f.id)
	if err != nil {
		return nil, err
	}
	if sb.State == client.StatePaused {
		return nil, &client.Error{
			Op: f.op, Provider: c.cfg.Name, Code: client.CodeConflict, Kind: client.ErrConflict,
			Message: "the sandbox is paused", Hint: "resume it first",
		}
	}
	if !known {
		token, err := c.ids.token(nonce)
		if err != nil {
			return nil, err
		}
		c.learn(f.id, token)
	}
	api := failing{op: f.op, id: f.id, code: client.CodeConnect, notFound: client.CodeNotFound}
	if e, err = c.resolve(ctx, api, f.id, execdPort, c.useProxy()); err != nil {
		return nil, err
	}
	c.mu.Lock()
	token := c.boxOf(f.id).token
	c.mu.Unlock()
	e.arm(token)
	if c.cfg.Mode == ModeAuto && !c.useProxy() && !c.reachable(ctx, e) {
		p, err := c.resolve(ctx, api, f.id, execdPort, true)
		if err != nil {
			return nil, err
		}
		if p.arm(token); c.reachable(ctx, p) {
			e = p
			c.mu.Lock()
			c.proxied = true
			c.mu.Unlock()
		}
	}
	c.mu.Lock()
	c.boxOf(f.id).execd = e
	c.mu.Unlock()
	return e, nil
}

// arm adds execd's token, unless the server gave one of its own.
func (e *endpoint) arm(token string) {
	if token != "" && e.header.Get("X-Execd-Access-Token") == "" {
		e.header.Set("X-EXECD-ACCESS-TOKEN", token)
	}
}

// reachable reports whether anything answers there; any HTTP answer but that of
// a proxy that reaches nothing will do.
func (c *Client) reachable(ctx context.Context, e *endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	_, err := c.do(ctx, request{method: http.MethodGet, url: e.base + "/ping", header: e.header})
	var ref *refusal
	if errors.As(err, &ref) {
		return ref.status < 500
	}
	return err == nil
}

// ping asks execd whether it is there.
func (c *Client) ping(ctx context.Context, id client.ID) error {
	f := failing{op: "reach sandbox " + string(id), id: id, code: client.CodeConnect, notFound: client.CodeConnect, wait: probePatience}
	_, err := c.call(ctx, f, request{method: http.MethodGet, url: "/ping"})
	return err
}

// call makes one bounded call to execd; r.url is the path behind its address.
// When the address is no longer right it is asked for once more.
func (c *Client) call(ctx context.Context, f failing, r request) (answer, error) {
	ctx, cancel := c.bounded(ctx, f.wait)
	defer cancel()
	a, err := c.once(ctx, f, r)
	if stale(err) && r.raw == nil && r.method == http.MethodGet {
		c.forget(f.id)
		a, err = c.once(ctx, f, r)
	}
	return a, c.fail(ctx, f, err)
}

// once makes the call.
func (c *Client) once(ctx context.Context, f failing, r request) (answer, error) {
	e, err := c.execd(ctx, f)
	if err != nil {
		return answer{}, err
	}
	r.url = e.base + r.url
	h := e.header.Clone()
	for k, v := range r.header {
		h[k] = v
	}
	r.header = h
	a, err := c.do(ctx, r)
	if stale(err) {
		c.forget(f.id)
	}
	return a, err
}

// stale reports that an address may have changed (§3 rule 4).
func stale(err error) bool {
	var ref *refusal
	if errors.As(err, &ref) {
		return ref.status == http.StatusBadGateway || ref.status == http.StatusServiceUnavailable || ref.status == http.StatusNotFound && plain404(ref)
	}
	var op *net.OpError
	return errors.As(err, &op)
}

// plain404 tells a missing route or sandbox from a missing file or command.
func plain404(r *refusal) bool {
	code, _ := r.words()
	return code == "" || strings.HasSuffix(code, "SANDBOX_NOT_FOUND")
}

// PortURL implements [client.Ports]: only the server knows addresses.
func (c *Client) PortURL(id client.ID, port int) (string, error) {
	const op = "port URL"
	if err := checkPort(op, id, port); err != nil {
		return "", err
	}
	return "", &client.Error{
		Op: op, Provider: c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
		Message: "the server has to be asked for the address of a port",
	}
}

// ResolvePort implements [client.Ports].
func (c *Client) ResolvePort(ctx context.Context, id client.ID, port int) (client.Address, error) {
	f := failing{op: "resolve port " + strconv.Itoa(port), id: id, code: client.CodeNetwork, notFound: client.CodeNotFound}
	if err := checkPort(f.op, id, port); err != nil {
		return client.Address{}, err
	}
	e, err := c.execd(ctx, f) // settles how ports are reached, and knows the token
	if err != nil {
		return client.Address{}, err
	}
	p, err := c.resolve(ctx, f, id, port, c.useProxy())
	if err != nil {
		return client.Address{}, err
	}
	// A port behind execd's own proxy needs execd's token (§4.10).
	if token := e.header.Get("X-Execd-Access-Token"); token != "" && strings.Contains(p.base, "/proxy/") {
		p.arm(token)
	}
	return client.Address{URL: p.base, Header: p.header}, nil
}

func checkPort(op string, id client.ID, port int) error {
	if err := checkID(op, id); err != nil {
		return err
	}
	if port < 1 || port > 65535 {
		return client.Usagef(op, "port %d is not in 1 to 65535", port)
	}
	return nil
}

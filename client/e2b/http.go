package e2b

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"abxdash/client"
)

const (
	// maxAnswer bounds a control-plane answer; a list of 100 sandboxes is about 100 KB.
	maxAnswer = 32 << 20
	// maxErrorBody is how much of an error answer is read.
	maxErrorBody = 64 << 10
	// bufferSize is the transport's buffer per direction, sized for file transfers.
	bufferSize = 256 << 10
)

// newHTTPClient makes the client of both planes. It has no overall timeout:
// streams last.
func newHTTPClient(cfg Config) *http.Client {
	var hc http.Client
	if cfg.HTTPClient != nil {
		hc = *cfg.HTTPClient
	}
	if hc.Transport == nil {
		t := &http.Transport{
			TLSClientConfig:     cfg.tls(),
			MaxIdleConns:        256,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
			ReadBufferSize:      bufferSize,
			WriteBufferSize:     bufferSize,
			DialContext:         cfg.DialContext,
		}
		switch {
		case cfg.DialContext != nil:
		case cfg.DialData != "":
			// A proxy would be given the name that is not to be looked up.
			t.DialContext = cfg.dialData()
		default:
			t.Proxy = http.ProxyFromEnvironment
		}
		hc.Transport = t
	}
	hc.CheckRedirect = sameHost
	return &hc
}

// tls is nil for the system's own rules.
func (c Config) tls() *tls.Config {
	if c.RootCAs == nil && !c.InsecureTLS {
		return nil
	}
	return &tls.Config{RootCAs: c.RootCAs, InsecureSkipVerify: c.InsecureTLS} //nolint:gosec // said so in the configuration
}

// dialData sends every connection but those to the control plane to DialData.
func (c Config) dialData() func(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	control := ""
	if u, err := url.Parse(c.APIURL); err == nil {
		control = u.Hostname()
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == control {
			return d.DialContext(ctx, network, address)
		}
		if _, _, err := net.SplitHostPort(c.DialData); err == nil {
			return d.DialContext(ctx, network, c.DialData)
		}
		return d.DialContext(ctx, network, net.JoinHostPort(c.DialData, port))
	}
}

// authorize puts the key on a control-plane request.
func (c Config) authorize(h http.Header) {
	switch {
	case c.APIKey == "":
	case c.Bearer:
		h.Set("Authorization", "Bearer "+c.APIKey)
	default:
		h.Set("X-API-Key", c.APIKey)
	}
}

// sameHost stops redirects that would carry a key or token to another host, or
// down to plain http.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Host != from.Host || from.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("refused a redirect to another address")
	}
	if len(via) >= 10 {
		return errors.New("too many redirects")
	}
	return nil
}

// answer is a control-plane answer with a 2xx status.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// serverTime is the Date header, zero if there is none.
func (a answer) serverTime() time.Time {
	t, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// refusal is an answer that is no success, or not what was asked for.
type refusal struct {
	host   string
	status int
	header http.Header
	body   []byte
}

func (r *refusal) Error() string { return fmt.Sprintf("HTTP %d from %s", r.status, r.host) }

// refused reads the body of resp, closes it, and makes a refusal of it.
func refused(resp *http.Response) *refusal {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	host := ""
	if resp.Request != nil {
		host = resp.Request.URL.Host
	}
	return &refusal{host: host, status: resp.StatusCode, header: resp.Header, body: body}
}

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

var errNoAnswer = errors.New("no answer in time")

// call makes one control-plane call. body nil sends none. Errors are already
// *client.Error.
func (c *Client) call(ctx context.Context, f failing, method, path string, body any) (answer, error) {
	ctx, cancel := c.bounded(ctx, f.wait)
	defer cancel()
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answer{}, c.fail(ctx, f, err)
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.APIURL+path, send)
	if err != nil {
		return answer{}, c.fail(ctx, f, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	c.cfg.authorize(req.Header)
	for name, values := range f.header {
		req.Header[name] = values
	}
	began := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, c.fail(ctx, f, err)
	}
	c.cfg.Logger.Debug("control call", "op", f.op, "method", method, "status", resp.StatusCode, "took", time.Since(began))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return answer{}, c.fail(ctx, f, refused(resp))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return answer{}, c.fail(ctx, f, err)
	}
	if len(data) > maxAnswer {
		return answer{}, &client.Error{
			Op: f.op, Provider: c.cfg.Name, Code: client.CodeBadAnswer, Status: resp.StatusCode,
			Message: fmt.Sprintf("the answer is over %d MiB", maxAnswer>>20),
		}
	}
	bad := &refusal{host: req.URL.Host, status: resp.StatusCode, header: resp.Header, body: data}
	if bad.html() || bad.bodyCode() >= 400 {
		return answer{}, c.fail(ctx, f, bad)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: data}, nil
}

// sandboxPath is /sandboxes/<id><rest>.
func sandboxPath(id client.ID, rest string) string {
	return "/sandboxes/" + url.PathEscape(string(id)) + rest
}

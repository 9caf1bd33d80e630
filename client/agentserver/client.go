package agentserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"abxdash/client"
)

// Port is where the server listens unless its template says otherwise.
const Port = 9000

const (
	defaultTimeout = 60 * time.Second
	// maxAnswer bounds one JSON answer; files come as streams or as base64 of at
	// most 100 MB (agent-sandbox-server §5).
	maxAnswer    = 160 << 20
	maxErrorBody = 64 << 10
)

// Config says how the server is reached.
type Config struct {
	// Resolve gives the address of a port of the sandbox and its headers.
	Resolve func(ctx context.Context, port int) (client.Address, error)
	// HTTP must have no overall timeout; nil is a plain client.
	HTTP *http.Client
	// Port is 0 for [Port].
	Port int
	// RequestTimeout bounds one call that is no stream; 0 is 60 s.
	RequestTimeout time.Duration
	// Provider is named in errors.
	Provider string
}

// Client talks to one sandbox's server. It is safe for concurrent use.
type Client struct{ cfg Config }

// New makes a client. It makes no call.
func New(cfg Config) *Client {
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{}
	}
	if cfg.Port == 0 {
		cfg.Port = Port
	}
	if cfg.RequestTimeout <= 0 {
		cfg.RequestTimeout = defaultTimeout
	}
	return &Client{cfg: cfg}
}

// request is one call.
type request struct {
	op, method, path string
	query            url.Values
	// body is JSON to send, nil for none.
	body any
	// accept is "" for JSON.
	accept string
	// notFound is what a 404 means; "" is "not offered" (E8004).
	notFound client.Code
}

// open sends a request and returns an answer with a 2xx status. The caller
// closes it; secrets are what must not be repeated from it.
func (c *Client) open(ctx context.Context, r request) (*http.Response, client.Address, error) {
	addr, err := c.cfg.Resolve(ctx, c.cfg.Port)
	if err != nil {
		return nil, addr, err
	}
	var send io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, addr, client.Usagef(r.op, "the arguments are no JSON: %s", client.OneLine(err.Error(), 100))
		}
		send = bytes.NewReader(b)
	}
	target := strings.TrimRight(addr.URL, "/") + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, send)
	if err != nil {
		return nil, addr, c.unreached(ctx, r.op, addr, err)
	}
	for name, values := range addr.Header {
		req.Header[name] = values
	}
	if send != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, addr, c.unreached(ctx, r.op, addr, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what came before a break is enough
		return nil, addr, c.refused(r, addr, resp, body)
	}
	return resp, addr, nil
}

// call makes a bounded call and decodes its JSON answer into out, unless nil.
func (c *Client) call(ctx context.Context, r request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	return c.unbounded(ctx, r, out)
}

// unbounded is call without a time limit of its own.
func (c *Client) unbounded(ctx context.Context, r request, out any) error {
	resp, addr, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.unreached(ctx, r.op, addr, err)
	case len(data) > maxAnswer:
		return c.bad(r.op, resp.StatusCode, "the answer is too long")
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return c.bad(r.op, resp.StatusCode, "the answer is not the expected JSON")
	}
	return nil
}

func (c *Client) bad(op string, status int, message string) error {
	return &client.Error{Op: op, Provider: c.cfg.Provider, Code: client.CodeBadAnswer, Status: status, Message: message}
}

// unreached words a failure below HTTP.
func (c *Client) unreached(ctx context.Context, op string, addr client.Address, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	e := &client.Error{Op: op, Provider: c.cfg.Provider, Code: client.CodeConnect, Kind: client.ErrUnavailable, Err: err}
	e.Message = clean(addr, "the server on this port did not answer: "+err.Error())
	if ctx.Err() != nil {
		e.Code, e.Kind, e.Err, e.Message = client.CodeNetwork, nil, ctx.Err(), "cancelled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Kind, e.Message = client.ErrUnavailable, "no answer in time"
		}
	}
	return e
}

// clean makes text fit for an error: without the tokens of the address.
func clean(addr client.Address, text string) string {
	for _, values := range addr.Header {
		for _, v := range values {
			if len(v) >= 12 {
				text = client.Mask(text, v)
			}
		}
	}
	return client.OneLine(text, 300)
}

// refused reads an error answer: the server's `{"error","type"}`, or the edge's
// (agent-sandbox-server §3, e2b-protocol §6.2).
func (c *Client) refused(r request, addr client.Address, resp *http.Response, data []byte) error {
	var body struct {
		Error   string `json:"error"`
		Type    string `json:"type"`
		Message string `json:"message"`
		Port    *int   `json:"port"`
	}
	_ = json.Unmarshal(data, &body) // another shape leaves it empty
	e := &client.Error{Op: r.op, Provider: c.cfg.Provider, Status: resp.StatusCode, Code: client.CodeServer}
	e.Message = fmt.Sprintf("HTTP %d", resp.StatusCode)
	for _, text := range []string{body.Error, body.Message} {
		if text != "" {
			e.Message = clean(addr, text)
			break
		}
	}
	switch resp.StatusCode {
	case http.StatusBadGateway:
		e.Code, e.Kind = client.CodeNotFound, client.ErrNotFound
		if body.Port != nil {
			e.Code, e.Kind = client.CodeConnect, client.ErrUnavailable
			e.Message = fmt.Sprintf("nothing listens on port %d", *body.Port)
			e.Hint = "the template of this sandbox has no agent-sandbox-server, or it is not up"
		}
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Code, e.Kind = client.CodeAuth, client.ErrUnauthorized
	case http.StatusNotFound, http.StatusNotImplemented, http.StatusMethodNotAllowed:
		e.Code, e.Kind = client.CodeUnsupported, client.ErrUnsupported
		e.Message = "not offered by this server: " + e.Message
		if r.notFound != "" && resp.StatusCode == http.StatusNotFound {
			e.Code, e.Kind = r.notFound, client.ErrNotFound
			e.Message = strings.TrimPrefix(e.Message, "not offered by this server: ")
		}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		e.Code = client.CodeUsage
	case http.StatusConflict:
		e.Code, e.Kind = client.CodeConflict, client.ErrConflict
	case http.StatusTooManyRequests:
		e.Code, e.Kind = client.CodeRateLimited, client.ErrRateLimited
	case http.StatusInternalServerError:
		e.Code = client.CodeRun
		if body.Type != "" {
			e.Message = clean(addr, body.Type+": "+e.Message)
		}
	default:
		if resp.StatusCode > http.StatusInternalServerError {
			e.Kind = client.ErrUnavailable
		}
	}
	return e
}

// Health asks whether the server runs (GET /health). ErrUnavailable means that
// the sandbox has no such server, or that it is not up.
func (c *Client) Health(ctx context.Context) error {
	return c.call(ctx, request{op: "ask for the server's health", method: http.MethodGet, path: "/health"}, nil)
}

package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"abxdash/client"
)

// failing says what was being done when an error came, and so which codes fit.
type failing struct {
	op string
	id client.ID
	// code is the operation's general code, notFound the one for a 404 or not_found.
	code, notFound client.Code
	// agent marks the data plane, where 502 means the sandbox or its port (e2b-protocol §6.2).
	agent bool
	// wait replaces the configured request timeout, 0 keeps it.
	wait time.Duration
	// header goes with the request; it may hold secrets.
	header http.Header
}

// fail turns whatever went wrong into a *client.Error; nil stays nil.
func (c *Client) fail(ctx context.Context, f failing, err error) error {
	if err == nil {
		return nil
	}
	var done *client.Error
	if errors.As(err, &done) {
		return err
	}
	e := &client.Error{Op: f.op, Provider: c.cfg.Name, Code: client.CodeNetwork, Kind: client.ErrUnavailable}
	var (
		ref *refusal
		we  *wireError
		bad *badJSON
		ce  *connect.Error
	)
	switch {
	case errors.As(err, &ref):
		c.fromRefusal(e, f, ref)
	case errors.As(err, &we):
		fromWire(e, f, we.code, we.message)
	case errors.As(err, &bad):
		e.Code, e.Kind, e.Status, e.Message = client.CodeBadAnswer, nil, bad.a.status, bad.Error()
	case errors.Is(context.Cause(ctx), errSilent):
		e.Message = fmt.Sprintf("%s from %s for %s", errSilent, c.hostFor(f), c.cfg.Silence)
		e.Err = errSilent
	case errors.Is(err, errNoAnswer), errors.Is(context.Cause(ctx), errNoAnswer):
		limit := c.cfg.RequestTimeout
		if f.wait > 0 {
			limit = f.wait
		}
		e.Message = fmt.Sprintf("no answer from %s within %s", c.hostFor(f), limit)
		e.Err = context.DeadlineExceeded
	case ctx.Err() != nil:
		e.Kind, e.Err = nil, context.Cause(ctx)
		if e.Err == nil || !errors.Is(e.Err, ctx.Err()) {
			e.Err = errors.Join(ctx.Err(), e.Err)
		}
		e.Message = "cancelled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Message, e.Kind = "no answer in time", client.ErrUnavailable
		}
	case errors.As(err, &ce) && connect.IsWireError(err):
		fromWire(e, f, ce.Code(), ce.Message())
	default:
		c.fromTransport(e, f, err)
	}
	e.Message = c.clean(f.id, e.Message)
	return e
}

// clean makes text from outside fit for an error: one line, no key, no token.
func (c *Client) clean(id client.ID, text string) string {
	text = c.secret.Mask(text)
	c.mu.Lock()
	a := c.agents[id]
	c.mu.Unlock()
	if a != nil {
		text = client.NewSecret(a.access.token).Mask(text)
		text = client.NewSecret(a.access.traffic).Mask(text)
	}
	return client.OneLine(text, 300)
}

// hostFor is the host an operation talks to, for messages.
func (c *Client) hostFor(f failing) string {
	raw := c.cfg.APIURL
	if f.agent {
		raw = expand(c.cfg.DataURL, f.id, c.domainOf(f.id), AgentPort)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return c.cfg.Name
	}
	return u.Host
}

// fromTransport words a failure below HTTP. The cause is kept: it holds
// addresses, never headers.
func (c *Client) fromTransport(e *client.Error, f failing, err error) {
	var (
		op  *net.OpError
		dns *net.DNSError
		ue  *url.Error
		ce  *connect.Error
	)
	cause := err
	if errors.As(err, &ce) && ce.Unwrap() != nil {
		cause = ce.Unwrap()
	}
	if errors.As(err, &ue) {
		cause = ue.Err
	}
	e.Err = cause
	switch {
	case errors.As(err, &dns):
		e.Code = client.CodeConnect
		e.Message = fmt.Sprintf("cannot find the address of %s", dns.Name)
		e.Hint = "check the domain or URL of provider " + c.cfg.Name
	case errors.As(err, &op) && op.Op == "dial":
		e.Code = client.CodeConnect
		e.Message = fmt.Sprintf("cannot reach %s: %s", c.hostFor(f), op.Err)
		e.Hint = "check that the address of provider " + c.cfg.Name + " is right and can be reached"
	default:
		e.Message = fmt.Sprintf("%s: %s", c.hostFor(f), cause)
	}
}

// errorBody is the union of the error shapes seen: the control plane's and the
// edge's (e2b-protocol §2.4, §6.2), the agent's, and compatible services'.
type errorBody struct {
	Code      json.RawMessage `json:"code"`
	Message   string          `json:"message"`
	ErrorCode string          `json:"error_code"`
	RequestID string          `json:"request_id"`
	SandboxID string          `json:"sandboxId"`
	Port      *int            `json:"port"`
}

// decode reads the body leniently; a body of another shape is the zero value.
func (r *refusal) decode() errorBody {
	var b errorBody
	if !bytes.HasPrefix(bytes.TrimSpace(r.body), []byte("{")) {
		return b
	}
	if err := json.Unmarshal(r.body, &b); err == nil {
		return b
	}
	// One field of an unexpected type must not hide the others.
	var raw map[string]json.RawMessage
	if json.Unmarshal(r.body, &raw) != nil {
		return errorBody{}
	}
	b = errorBody{Code: raw["code"], Message: text(raw["message"]), ErrorCode: text(raw["error_code"])}
	b.RequestID, b.SandboxID = text(raw["request_id"]), text(raw["sandboxId"])
	return b
}

// bodyCode is the status named in the body, 0 if there is none. SDKs go by it
// (e2b-protocol §2.4).
func (r *refusal) bodyCode() int {
	n, err := strconv.Atoi(strings.Trim(string(r.decode().Code), `"`))
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}

// html reports whether a web page came where JSON was due.
func (r *refusal) html() bool {
	ct := strings.ToLower(r.header.Get("Content-Type"))
	return strings.HasPrefix(ct, "text/html") || bytes.HasPrefix(bytes.TrimSpace(r.body), []byte("<"))
}

var titleRE = regexp.MustCompile(`(?is)<title[^>]*>([^<]{1,80})</title>`)

// wording is the server's message, or our own when it sent none.
func (r *refusal) wording() string {
	if r.html() {
		s := fmt.Sprintf("HTTP %d from %s: HTML instead of JSON", r.status, client.OneLine(r.host, 80))
		if m := titleRE.FindSubmatch(r.body); m != nil {
			s += fmt.Sprintf(" (%s)", client.OneLine(strings.TrimSpace(string(m[1])), 60))
		}
		return s
	}
	if m := strings.TrimSpace(r.decode().Message); m != "" {
		return m
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(r.body)), "\n")
	if line != "" && !strings.HasPrefix(line, "{") {
		return fmt.Sprintf("HTTP %d from %s: %s", r.status, r.host, client.OneLine(line, 120))
	}
	return fmt.Sprintf("HTTP %d from %s", r.status, r.host)
}

// fromRefusal fills e from an HTTP answer.
func (c *Client) fromRefusal(e *client.Error, f failing, r *refusal) {
	body := r.decode()
	status := r.status
	if n := r.bodyCode(); n >= 400 {
		status = n
	}
	e.Status = status
	e.Message = r.wording()
	e.RequestID = requestID(r.header, body)
	e.RetryAfter = retryAfter(r.header, c.cfg.Now())
	e.Kind = nil
	switch {
	case f.agent && (status == http.StatusGone || c.cfg.Quirks.RetcodeGone && r.header.Get("X-Cube-Retcode") == "310507"):
		e.Code, e.Kind = client.CodeNotFound, client.ErrNotFound
		e.Message = "the sandbox was not found, or its port is not open"
	case r.html():
		e.Code = client.CodeBadAnswer
		if status >= 500 {
			e.Kind = client.ErrUnavailable
		}
	case f.agent && status == http.StatusBadGateway:
		gone(e, f, body)
	default:
		byStatus(e, f, status, body)
	}
	if status == http.StatusUnauthorized {
		e.Hint = "check the API key of provider " + c.cfg.Name
		if f.agent {
			e.Hint = "the sandbox did not take its access token"
		} else {
			e.Message = fmt.Sprintf("HTTP 401 from %s: %s", r.host, e.Message)
			if strings.HasPrefix(c.cfg.APIKey, "sk_e2b_") {
				e.Hint = "this looks like an access token; provider " + c.cfg.Name + " needs an API key"
			}
		}
	}
}

// gone words the edge's 502 (STR-06): the sandbox is no more, or the port is closed.
func gone(e *client.Error, f failing, body errorBody) {
	if body.Port == nil {
		e.Code, e.Kind = client.CodeNotFound, client.ErrNotFound
		e.Hint = "it has ended, or it is paused"
		if body.Message == "" {
			e.Message = "the sandbox was not found"
		}
		return
	}
	e.Code, e.Kind = client.CodeConnect, client.ErrUnavailable
	e.Message = fmt.Sprintf("port %d of sandbox %s has no listener", *body.Port, f.id)
	e.Hint = "look at the start command of its template"
	if *body.Port == AgentPort {
		e.Hint = "the sandbox runs but its agent does not answer; it may be starting or broken"
	}
}

// byStatus gives the code and kind of a status (e2b-protocol §2.4).
func byStatus(e *client.Error, f failing, status int, body errorBody) {
	e.Code = f.code
	switch {
	case status == http.StatusBadRequest && !f.agent:
		e.Code = client.CodeUsage
	case status == http.StatusUnauthorized:
		e.Code, e.Kind = client.CodeAuthMissing, client.ErrUnauthorized
	case status == http.StatusForbidden:
		e.Code, e.Kind = client.CodeAuth, client.ErrUnauthorized
	case status == http.StatusNotFound:
		e.Code, e.Kind = f.notFound, client.ErrNotFound
	case status == http.StatusConflict:
		e.Code, e.Kind = client.CodeConflict, client.ErrConflict
	case status == http.StatusMethodNotAllowed, status == http.StatusGone, status == http.StatusNotImplemented:
		e.Code, e.Kind = client.CodeUnsupported, client.ErrUnsupported
	case status == http.StatusTooManyRequests:
		e.Code, e.Kind = client.CodeRateLimited, client.ErrRateLimited
		// Without a time to come back it is the limit on live sandboxes (§3.2).
		if f.code == client.CodeCreate && e.RetryAfter == 0 {
			e.Code = client.CodeQuota
		}
	case status == http.StatusInsufficientStorage:
		e.Hint = "the sandbox's disk is full"
	case status >= 500 && f.code == client.CodeCreate && strings.HasPrefix(body.ErrorCode, "sandbox_"):
		e.Kind = client.ErrUnavailable
	case status >= 500 && (!f.agent || status != http.StatusInternalServerError):
		e.Code, e.Kind = client.CodeServer, client.ErrUnavailable
	case status < 400:
		e.Code = client.CodeBadAnswer
	}
}

// requestID finds the id that a service wants quoted to its support.
func requestID(h http.Header, body errorBody) string {
	for _, name := range []string{"X-Request-Id", "X-Acs-Request-Id", "X-Trace-Id"} {
		if v := h.Get(name); v != "" {
			return client.OneLine(v, 80)
		}
	}
	return client.OneLine(body.RequestID, 80)
}

// retryAfter reads Retry-After in both its forms. A date counts from the
// server's own clock where it sent one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil {
		return time.Duration(min(max(n, 0), 86400)) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), 24*time.Hour)
}

// fromWire fills e from a Connect error that the agent sent (e2b-protocol §8, §15.6).
func fromWire(e *client.Error, f failing, code connect.Code, message string) {
	e.Message, e.Code, e.Kind = message, f.code, nil
	switch code {
	case connect.CodeNotFound:
		e.Code, e.Kind = f.notFound, client.ErrNotFound
	case connect.CodeAlreadyExists, connect.CodeAborted:
		e.Kind = client.ErrConflict
	case connect.CodeUnimplemented:
		e.Kind = client.ErrUnsupported
	case connect.CodeUnavailable:
		e.Kind = client.ErrUnavailable
	case connect.CodePermissionDenied:
		e.Kind = client.ErrUnauthorized
		if f.code == client.CodeFiles {
			e.Code = client.CodeFilePermission
		}
	case connect.CodeResourceExhausted:
		e.Kind = client.ErrRateLimited
	default:
		// invalid_argument and unauthenticated name a bad cwd or user (§15.2):
		// the operation's own code says enough.
	}
}

// text is a JSON string's value, or "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

package opensandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// refusal is an answer that is no success.
type refusal struct {
	host   string
	status int
	header http.Header
	body   []byte
}

func (r *refusal) Error() string { return fmt.Sprintf("HTTP %d from %s", r.status, r.host) }

// words reads the four error shapes of the server and the two of execd (§2.1,
// §4.1). code is the server's own, "" where there is none.
func (r *refusal) words() (code, message string) {
	body := bytes.TrimSpace(r.body)
	if !bytes.HasPrefix(body, []byte("{")) {
		if bytes.HasPrefix(body, []byte("<")) {
			return "", fmt.Sprintf("HTTP %d from %s: HTML instead of JSON", r.status, client.OneLine(r.host, 80))
		}
		line, _, _ := strings.Cut(string(body), "\n")
		return "", line
	}
	var b struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Error   string          `json:"error"`
		Detail  json.RawMessage `json:"detail"`
	}
	// Only the first document counts: execd may send two (§4.6).
	if json.NewDecoder(bytes.NewReader(body)).Decode(&b) != nil {
		return "", ""
	}
	switch {
	case b.Message != "":
		return b.Code, b.Message
	case b.Error != "":
		return b.Code, b.Error
	}
	return b.Code, detail(b.Detail)
}

// detail words the answer to a request that broke the schema: a text, or a
// list of places and messages.
func detail(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []struct {
		Loc []json.RawMessage `json:"loc"`
		Msg string            `json:"msg"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var out []string
	for _, d := range list {
		var loc []string
		for _, l := range d.Loc {
			loc = append(loc, strings.Trim(string(l), `"`))
		}
		out = append(out, strings.Join(loc, ".")+": "+d.Msg)
	}
	return strings.Join(out, "; ")
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
		op  *net.OpError
		dns *net.DNSError
		ue  *url.Error
	)
	switch {
	case errors.As(err, &ref):
		c.fromRefusal(e, f, ref)
	case errors.Is(err, errNoAnswer), errors.Is(context.Cause(ctx), errNoAnswer):
		e.Message, e.Err = "no answer in time", context.DeadlineExceeded
	case ctx.Err() != nil:
		e.Kind, e.Err, e.Message = nil, ctx.Err(), "cancelled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Message, e.Kind = "no answer in time", client.ErrUnavailable
		}
	case errors.As(err, &dns):
		e.Code, e.Err = client.CodeConnect, dns
		e.Message = "cannot find the address of " + dns.Name
		e.Hint = "check the address of provider " + c.cfg.Name
	case errors.As(err, &op) && op.Op == "dial":
		e.Code, e.Err = client.CodeConnect, op
		e.Message = fmt.Sprintf("cannot reach %s: %s", op.Addr, op.Err)
		e.Hint = "check the address of provider " + c.cfg.Name + "; endpoint: server-proxy goes through the server instead"
	default:
		e.Err = err
		if errors.As(err, &ue) {
			e.Err = ue.Err
		}
		e.Message = e.Err.Error()
	}
	e.Message = c.clean(e.Message)
	return e
}

// clean makes text from outside fit for an error: one line, no key.
func (c *Client) clean(text string) string { return client.OneLine(c.secret.Mask(text), 300) }

// fromRefusal fills e from an HTTP answer. The status decides, not the code's
// prefix (§2.1).
func (c *Client) fromRefusal(e *client.Error, f failing, r *refusal) {
	code, message := r.words()
	e.Status, e.Code, e.Kind, e.Message = r.status, f.code, nil, message
	e.RequestID = client.OneLine(r.header.Get("X-Request-Id"), 80)
	if e.Message == "" {
		e.Message = fmt.Sprintf("HTTP %d from %s", r.status, r.host)
	}
	if n, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(min(max(n, 0), 86400)) * time.Second
	}
	switch r.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if f.code != client.CodeRun && f.code != client.CodeFiles {
			e.Code = client.CodeUsage
		}
		if strings.HasSuffix(code, "API_NOT_SUPPORTED") || strings.HasSuffix(code, "UNSUPPORTED_POOL_REF") {
			e.Code, e.Kind = client.CodeUnsupported, client.ErrUnsupported
		}
	case http.StatusUnauthorized:
		e.Code, e.Kind = client.CodeAuthMissing, client.ErrUnauthorized
		e.Hint = "check the API key of provider " + c.cfg.Name
		if f.id != "" && strings.Contains(message, "EXECD") {
			e.Hint = "the sandbox was made by another program or with another key, so its token is not known here"
		}
	case http.StatusForbidden:
		e.Code, e.Kind = client.CodeAuth, client.ErrUnauthorized
	case http.StatusNotFound:
		e.Code, e.Kind = f.notFound, client.ErrNotFound
	case http.StatusConflict:
		e.Code, e.Kind = client.CodeConflict, client.ErrConflict
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		e.Code, e.Kind = client.CodeUnsupported, client.ErrUnsupported
	case http.StatusTooManyRequests:
		e.Code, e.Kind = client.CodeRateLimited, client.ErrRateLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		e.Code, e.Kind = client.CodeConnect, client.ErrUnavailable
		e.Hint = "the sandbox does not answer; it may be starting, paused or gone"
	default:
		if r.status >= 500 && f.code != client.CodeFiles {
			e.Code, e.Kind = client.CodeServer, client.ErrUnavailable
		}
	}
}

package acs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/engine"
)

// Versions of the API and their hosts (alicloud-express §2, §9).
const (
	Version       = "2026-08-20"
	LegacyVersion = "2026-05-09"
	DefaultRegion = "cn-hangzhou"
)

const (
	requestTimeout = 60 * time.Second
	maxAnswer      = 8 << 20
	maxBody        = 1 << 20 // alicloud-express §9.1
)

// Config says who asks and where.
type Config struct {
	Credentials Credentials
	// Region is "" for [DefaultRegion].
	Region string
	// Legacy uses the older product and host.
	Legacy bool
	// Endpoint replaces scheme and host, e.g. "https://sandbox.cn-beijing.aliyuncs.com".
	Endpoint string
	// PathPrefix replaces "/pop/<version>": the newer one is not confirmed
	// (alicloud-express §9).
	PathPrefix string
	HTTPClient *http.Client
	UserAgent  string
	// Now is the clock, Nonce makes the unique part of a signature; nil are the real ones.
	Now   func() time.Time
	Nonce func() string
}

// Client makes signed calls. It is safe for concurrent use.
type Client struct {
	cfg     Config
	version string
	http    *http.Client
}

// New makes a client. It makes no call.
func New(cfg Config) (*Client, error) {
	const op = "configure the native API"
	if cfg.Credentials.AccessKeyID == "" || cfg.Credentials.AccessKeySecret == "" {
		return nil, &client.Error{Op: op, Code: client.CodeAuthAKSK, Kind: client.ErrUnauthorized, Message: "an access key id and its secret are both needed"}
	}
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	if !regexp.MustCompile(`^[a-z0-9-]{1,63}$`).MatchString(cfg.Region) {
		return nil, &client.Error{Op: op, Code: client.CodeRegion, Message: fmt.Sprintf("%q is no region id", client.OneLine(cfg.Region, 40))}
	}
	c := &Client{cfg: cfg, version: Version}
	host := "sandbox."
	if cfg.Legacy {
		c.version, host = LegacyVersion, "fcsandbox."
	}
	if c.cfg.Endpoint == "" {
		c.cfg.Endpoint = "https://" + host + cfg.Region + ".aliyuncs.com"
	}
	u, err := url.Parse(c.cfg.Endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, &client.Error{Op: op, Code: client.CodeConfig, Message: "the endpoint must be an https URL without a user"}
	}
	c.cfg.Endpoint = strings.TrimRight(c.cfg.Endpoint, "/")
	if c.cfg.PathPrefix == "" {
		c.cfg.PathPrefix = "/pop/" + c.version
	}
	if c.cfg.Now == nil {
		c.cfg.Now = time.Now
	}
	if c.cfg.Nonce == nil {
		c.cfg.Nonce = nonce
	}
	if c.cfg.UserAgent == "" {
		c.cfg.UserAgent = "abxdash/dev"
	}
	hc := http.Client{}
	if cfg.HTTPClient != nil {
		hc = *cfg.HTTPClient
	}
	hc.CheckRedirect = engine.SameHost
	c.http = &hc
	return c, nil
}

// String shows no secret.
func (c *Client) String() string {
	return "native API of " + c.cfg.Region + " with " + c.cfg.Credentials.String()
}

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

func loopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func nonce() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// envelope is what every answer may hold besides its own fields.
type envelope struct {
	RequestID string `json:"requestId"`
	Code      string `json:"code"`
	Message   string `json:"message"`
}

// call makes one signed call; in and out may be nil.
func (c *Client) call(ctx context.Context, op, action, method, path string, q url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body []byte
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return &client.Error{Op: op, Code: client.CodeInternal, Err: err}
		}
		if len(b) > maxBody {
			return client.Usagef(op, "the request is over 1 MiB")
		}
		body = b
	}
	target := c.cfg.Endpoint + c.cfg.PathPrefix + path
	if len(q) > 0 {
		target += "?" + canonicalQuery(q)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return &client.Error{Op: op, Code: client.CodeInternal, Err: err}
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	sign(req, body, c.cfg.Credentials, signing{action: action, version: c.version, nonce: c.cfg.Nonce(), at: c.cfg.Now()})
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreached(op, req.URL.Host, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.unreached(op, req.URL.Host, err)
	case len(data) > maxAnswer:
		return &client.Error{Op: op, Code: client.CodeBadAnswer, Status: resp.StatusCode, Message: "the answer is too long"}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return c.refused(op, resp, data)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &client.Error{
			Op: op, Code: client.CodeBadAnswer, Status: resp.StatusCode, RequestID: resp.Header.Get("X-Acs-Request-Id"),
			Message: "the answer from " + req.URL.Host + " is not the expected JSON",
		}
	}
	return nil
}

// unreached words a failure below HTTP.
func (c *Client) unreached(op, host string, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return &client.Error{
		Op: op, Code: client.CodeConnect, Kind: client.ErrUnavailable, Err: err,
		Message: c.clean(fmt.Sprintf("%s: %s", host, err)),
	}
}

// refused reads an error answer (alicloud-express §11).
func (c *Client) refused(op string, resp *http.Response, data []byte) error {
	var body envelope
	_ = json.Unmarshal(data, &body) // another shape leaves it empty
	e := &client.Error{Op: op, Status: resp.StatusCode, Code: client.CodeServer, RequestID: client.OneLine(body.RequestID, 80)}
	if e.RequestID == "" {
		e.RequestID = client.OneLine(resp.Header.Get("X-Acs-Request-Id"), 80)
	}
	e.Message = fmt.Sprintf("HTTP %d from %s", resp.StatusCode, resp.Request.URL.Host)
	if body.Code != "" || body.Message != "" {
		e.Message += ": " + strings.TrimSpace(body.Code+" "+body.Message)
	}
	e.Message = c.clean(e.Message)
	switch {
	case resp.StatusCode == http.StatusUnauthorized, body.Code == "SignatureDoesNotMatch", strings.HasPrefix(body.Code, "InvalidAccessKeyId"):
		e.Code, e.Kind = client.CodeAuthAKSK, client.ErrUnauthorized
		e.Hint = "check ALICLOUD_ACCESS_KEY_ID and ALICLOUD_ACCESS_KEY_SECRET, and this machine's clock"
	case resp.StatusCode == http.StatusForbidden:
		e.Code, e.Kind = client.CodeAuth, client.ErrUnauthorized
		e.Hint = "the access key's account lacks the RAM permission for this call"
	case resp.StatusCode == http.StatusNotFound && body.Code == "TemplateNotFound":
		e.Code, e.Kind = client.CodeTemplateMissing, client.ErrNotFound
	case resp.StatusCode == http.StatusNotFound:
		e.Code, e.Kind = client.CodeNotFound, client.ErrNotFound
	case resp.StatusCode == http.StatusConflict:
		e.Code, e.Kind = client.CodeConflict, client.ErrConflict
	case resp.StatusCode == http.StatusTooManyRequests, strings.HasPrefix(body.Code, "Throttling"):
		e.Code, e.Kind = client.CodeRateLimited, client.ErrRateLimited
	case resp.StatusCode == http.StatusBadRequest:
		e.Code = client.CodeUsage
	case resp.StatusCode >= 500:
		e.Kind = client.ErrUnavailable
	}
	return e
}

// clean makes text fit for an error: no secret, one line.
func (c *Client) clean(text string) string {
	for _, secret := range []string{c.cfg.Credentials.AccessKeySecret, c.cfg.Credentials.SecurityToken} {
		text = client.Mask(text, secret)
	}
	return client.OneLine(text, 300)
}

package opensandbox

import (
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"abxdash/client"
)

// Mode is how execd and other ports are reached (§3.3).
type Mode string

// Modes. A gateway needs none of its own: the server's answers lead there.
const (
	// ModeAuto tries the address that the server gives, then the server's proxy.
	ModeAuto   Mode = "auto"
	ModeDirect Mode = "direct"
	ModeProxy  Mode = "server-proxy"
)

// Defaults of [Config].
const (
	DefaultAPIURL = "http://localhost:8080"
	// DefaultImage is what the Agent Sandbox skill names for this provider.
	DefaultImage    = "python:3.12-slim"
	DefaultLifetime = 300 * time.Second
	DefaultRequest  = 30 * time.Second
	// MinLifetime is the shortest lifetime the server takes (§2.3).
	MinLifetime = time.Minute
)

const (
	// createPatience bounds a create: the server pulls the image meanwhile (§2.3).
	createPatience = 6 * time.Minute
	// readyPatience is how long execd may take after that.
	readyPatience = 30 * time.Second
	// probePatience bounds the first look at an address that may not be reachable.
	probePatience = 4 * time.Second
	// silence is how long an event stream may say nothing; pings come every 3 s (§4.2).
	silence = 15 * time.Second
	// execdPort is where execd listens in a sandbox, egressPort the policy sidecar.
	execdPort  = 44772
	egressPort = 18080
)

// Config describes one server. The zero value is one on this machine without a key.
type Config struct {
	// Name is the provider's configured name; "" is "opensandbox".
	Name string
	// APIURL is the server, with or without "/v1"; "" is [DefaultAPIURL]. Its
	// scheme is that of the addresses it gives, which come without one.
	APIURL string
	APIKey string
	Mode   Mode
	// Rewrite replaces hosts in the addresses that the server gives, for
	// instance "host.docker.internal" by "localhost".
	Rewrite map[string]string
	// AllowHTTP permits plain http beyond loopback addresses.
	AllowHTTP   bool
	RootCAs     *x509.CertPool
	InsecureTLS bool
	// Image and Lifetime are used when a spec names none.
	Image    string
	Lifetime time.Duration
	// CPU and Memory are the resourceLimits of new sandboxes; "" are "1" and "2Gi".
	CPU, Memory string
	// SecretFile holds a secret of this machine (0600, made on first use), from
	// which execd tokens are made when the server has no key; "" keeps it in memory.
	SecretFile string
	// HTTPClient replaces the one made here; its Timeout must be 0.
	HTTPClient *http.Client
	Logger     *slog.Logger
	Now        func() time.Time
	UserAgent  string
	// RequestTimeout bounds one call; negative is no bound.
	RequestTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "opensandbox"
	}
	if c.APIURL == "" {
		c.APIURL = DefaultAPIURL
	}
	c.APIURL = strings.TrimSuffix(strings.TrimRight(c.APIURL, "/"), "/v1")
	if c.Mode == "" {
		c.Mode = ModeAuto
	}
	if c.Image == "" {
		c.Image = DefaultImage
	}
	if c.Lifetime <= 0 {
		c.Lifetime = DefaultLifetime
	}
	if c.CPU == "" {
		c.CPU = "1"
	}
	if c.Memory == "" {
		c.Memory = "2Gi"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.UserAgent == "" {
		c.UserAgent = "abxdash/dev"
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequest
	}
	return c
}

// check refuses what could never work or would send a key in the clear.
func (c Config) check() error {
	bad := func(code client.Code, why, hint string) error {
		return &client.Error{Op: "configure provider", Provider: c.Name, Code: code, Message: why, Hint: hint}
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bad(client.CodeAuthMissing, "the API key holds a character that keys never hold", "check the key for line breaks and blanks inside it")
	}
	if c.Mode != ModeAuto && c.Mode != ModeDirect && c.Mode != ModeProxy {
		return bad(client.CodeConfig, "endpoint is auto, direct or server-proxy", "")
	}
	u, err := url.Parse(c.APIURL)
	switch {
	case err != nil || u.Host == "":
		return bad(client.CodeConfig, "the address is not a URL with a scheme and a host", "")
	case u.User != nil:
		return bad(client.CodeConfig, "the address must not hold a user or password", "")
	case u.Scheme == "https", u.Scheme == "http" && (c.AllowHTTP || loopback(u.Hostname())):
		return nil
	case u.Scheme != "http":
		return bad(client.CodeConfig, "the address must be https or http", "")
	}
	return bad(client.CodeConfig, "the address is plain http to another machine, which is off unless allowed in the configuration",
		"use https, or add allow_http: true to the provider's entry")
}

// loopback reports whether host can only be this machine.
func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

package e2b

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"abxdash/client"
)

// AgentPort is where the in-sandbox agent listens (e2b-protocol §1).
const AgentPort = 49983

// Defaults of [Config] (e2b-protocol §14).
const (
	DefaultDomain    = "e2b.app"
	DefaultTemplate  = "base"
	DefaultLifetime  = 300 * time.Second
	DefaultKeepalive = 50 * time.Second
	DefaultRequest   = 60 * time.Second
)

// Config describes one service. The zero value is E2B's cloud without a key.
type Config struct {
	// Name is the provider's configured name; "" is "e2b".
	Name string
	// APIURL is the control plane, scheme and path prefix included; "" is https://api.<Domain>.
	APIURL string
	// Domain is the base domain of per-port hosts; "" is [DefaultDomain] unless DataURL is set.
	Domain string
	// DataURL is where data-plane requests go. It may hold {id}, {port} and
	// {domain}, e.g. "https://{port}-{id}.{domain}" (also the default),
	// "https://sandbox.{domain}" or "https://gateway/kruise/{id}/{port}".
	// Without placeholders it is one address for every sandbox: routing then
	// rests on the headers that every request carries (e2b-protocol §6.1).
	DataURL string
	// WebURL is the pattern of [Client.PortURL]; "" is DataURL if that names a
	// port, else https://{port}-{id}.{domain} when there is a domain.
	WebURL string
	// APIKey goes into X-API-Key; "" sends none.
	APIKey string
	// HTTPClient replaces the client made here. Its Timeout must be 0, because
	// streams last; its CheckRedirect is replaced by one that keeps keys on
	// their host.
	HTTPClient *http.Client
	// DialContext replaces dialling, e.g. by a unix socket; plain http is then allowed.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// AllowHTTP permits plain http beyond loopback addresses.
	AllowHTTP bool
	// DialData is where connections to the data plane go, "host" or "host:port",
	// whatever its URL says: the Host header and the name that TLS checks stay
	// those of the URL. For services without wildcard DNS (cubesandbox §2).
	DialData string
	// RootCAs are trusted instead of the system's authorities; nil is the system's.
	RootCAs *x509.CertPool
	// InsecureTLS takes any certificate.
	InsecureTLS bool
	// Bearer sends the key as "Authorization: Bearer" instead of X-API-Key.
	Bearer bool
	// Logger gets debug lines without any header; nil logs nothing.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// UserAgent is e.g. "abxdash/1.2.3"; "" is "abxdash/dev".
	UserAgent string
	// Capabilities is what the service offers; a nil Have map means [AllCapabilities].
	Capabilities client.Capabilities
	// Template and Lifetime are used when a CreateSpec names none.
	Template string
	Lifetime time.Duration
	// MinLifetime raises shorter lifetimes on create and connect; 0 is none.
	MinLifetime time.Duration
	// User acts when a Command names none; "" leaves it to the sandbox (e2b-protocol §7.1).
	User string
	// JSON makes the agent calls speak JSON instead of protobuf.
	JSON bool
	// Keepalive is how often an idle stream must show life; at least one
	// second, sent in whole seconds.
	Keepalive time.Duration
	// Silence is how long a stream may be silent before it counts as broken;
	// 0 is twice Keepalive, negative never.
	Silence time.Duration
	// RequestTimeout bounds one call, and the start of a stream; negative is no bound.
	RequestTimeout time.Duration
	Quirks         Quirks
}

// AllCapabilities is the set of E2B itself as far as this client serves it.
func AllCapabilities() client.Capabilities {
	have := map[client.Capability]bool{}
	for _, c := range []client.Capability{
		client.CapPause, client.CapMetrics, client.CapLogs, client.CapCommands, client.CapPTY,
		client.CapReconnect, client.CapFiles, client.CapPorts, client.CapWatch, client.CapTransfer,
		client.CapSnapshot, client.CapNetworkUpdate, client.CapCode,
	} {
		have[c] = true
	}
	return client.Capabilities{Have: have}
}

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "e2b"
	}
	if c.Domain == "" && c.DataURL == "" {
		c.Domain = DefaultDomain
	}
	if c.APIURL == "" && c.Domain != "" {
		c.APIURL = "https://api." + c.Domain
	}
	if c.DataURL == "" {
		c.DataURL = "https://{port}-{id}.{domain}"
	}
	if c.WebURL == "" {
		if strings.Contains(c.DataURL, "{port}") {
			c.WebURL = c.DataURL
		} else if c.Domain != "" {
			c.WebURL = "https://{port}-{id}.{domain}"
		}
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
	if c.Capabilities.Have == nil {
		c.Capabilities = AllCapabilities()
	}
	if c.Template == "" {
		c.Template = DefaultTemplate
	}
	if c.Lifetime <= 0 {
		c.Lifetime = DefaultLifetime
	}
	if c.Keepalive == 0 {
		c.Keepalive = DefaultKeepalive
	}
	c.Keepalive = max(c.Keepalive, time.Second)
	if c.Silence == 0 {
		c.Silence = 2 * c.Keepalive
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequest
	}
	return c
}

// check refuses what could never work or would send a key in the clear.
func (c Config) check() error {
	const op = "configure provider"
	if i := strings.IndexFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return &client.Error{
			Op: op, Provider: c.Name, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
			Message: "the API key holds a character that keys never hold",
			Hint:    "check the key for line breaks and blanks inside it",
		}
	}
	if c.APIURL == "" {
		return &client.Error{Op: op, Provider: c.Name, Code: client.CodeConfig, Message: "no API URL and no domain"}
	}
	for what, raw := range map[string]string{"API URL": c.APIURL, "data URL": c.DataURL, "web URL": c.WebURL} {
		if raw == "" {
			continue
		}
		if err := c.checkURL(raw); err != "" {
			return &client.Error{Op: op, Provider: c.Name, Code: client.CodeConfig, Message: what + " " + err}
		}
	}
	return nil
}

// checkURL returns what is wrong with a URL or URL pattern, or "". The URL
// itself is not repeated: it may hold a password.
func (c Config) checkURL(raw string) string {
	u, err := url.Parse(expand(raw, "i0", "domain.test", AgentPort))
	switch {
	case err != nil || u.Host == "":
		return "is not a URL with a scheme and a host"
	case u.User != nil:
		return "must not hold a user or password"
	case u.Scheme == "https":
		return ""
	case u.Scheme != "http":
		return "must be https or http"
	case c.AllowHTTP || c.DialContext != nil || loopback(u.Hostname()) || c.dialsHere(raw):
		return ""
	}
	return "is plain http to another machine, which is off unless allowed in the configuration"
}

// dialsHere reports that a data-plane URL is only a name for this machine.
func (c Config) dialsHere(raw string) bool {
	host, _, err := net.SplitHostPort(c.DialData)
	if err != nil {
		host = c.DialData
	}
	return raw != c.APIURL && loopback(host)
}

// loopback reports whether host can only be this machine.
func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

package services

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strings"

	"abxdash/client"
	"abxdash/client/e2b"
)

// Settings are what one configured provider says about itself, in the words of
// the configuration file. The zero value leaves everything to the service.
type Settings struct {
	// APIURL is the control plane, Domain the base of per-port hosts, DataURL a
	// pattern or one address for the data plane.
	APIURL, Domain, DataURL string
	Region                  string
	Routing                 Routing
	// AllowHTTP permits plain http beyond this machine.
	AllowHTTP bool
	// HTTP makes addresses that are derived from a domain plain http.
	HTTP bool
	// DialData is where data-plane connections go, whatever their name.
	DialData string
	// CAFile is a PEM file of authorities to trust instead of the system's.
	CAFile      string
	InsecureTLS bool
	// KeyHeader is "" or "x-api-key", or "bearer".
	KeyHeader string
	Template  string
	User      string
	// MinLifetime raises shorter lifetimes; 0 is the service's own.
	MinLifetime client.Duration
	// Quirks switch single quirks on or off (see e2b.QuirkNames).
	Quirks map[string]bool
	// Lacks takes capabilities away.
	Lacks []string
	JSON  bool
}

// Config makes the dialect's configuration of a service and its settings. The
// key, the logger and the like are left to the caller.
func (s Service) Config(name string, set Settings) (e2b.Config, error) {
	c := e2b.Config{
		Name: name, AllowHTTP: set.AllowHTTP, DialData: set.DialData, InsecureTLS: set.InsecureTLS, JSON: set.JSON,
		Template: first(set.Template, s.Template), User: first(set.User, s.User),
		MinLifetime: s.MinLifetime, Quirks: s.Quirks, Bearer: s.Bearer, Capabilities: s.Capabilities(),
	}
	if set.MinLifetime > 0 {
		c.MinLifetime = set.MinLifetime.Std()
	}
	for _, k := range set.Lacks {
		delete(c.Capabilities.Have, client.Capability(k))
		c.Capabilities.Why[client.Capability(k)] = "the configuration of " + name + " says that it lacks this"
	}
	for quirk, on := range set.Quirks {
		if err := c.Quirks.Set(quirk, on); err != nil {
			return c, s.bad(name, err.Error())
		}
	}
	switch strings.ToLower(set.KeyHeader) {
	case "":
	case "x-api-key":
		c.Bearer = false
	case "bearer":
		c.Bearer = true
	default:
		return c, s.bad(name, fmt.Sprintf("key_header is x-api-key or bearer, not %q", client.OneLine(set.KeyHeader, 40)))
	}
	if set.CAFile != "" {
		pool, err := authorities(set.CAFile)
		if err != nil {
			return c, s.bad(name, err.Error())
		}
		c.RootCAs = pool
	}
	if c.Template == "" {
		// E2B's own default does not exist elsewhere; the service says so itself.
		c.Template = e2b.DefaultTemplate
	}
	return c, s.address(&c, set)
}

// address fills in where the two planes are.
func (s Service) address(c *e2b.Config, set Settings) error {
	region := strings.NewReplacer("{region}", first(set.Region, s.Region))
	c.Domain = first(set.Domain, region.Replace(s.Domain))
	c.APIURL = first(set.APIURL, region.Replace(s.APIURL))
	c.DataURL = set.DataURL
	if set.APIURL != "" && set.Domain == "" && s.ID == IDE2B {
		// Somebody's own service: its ports are not below E2B's domain.
		c.Domain = ownDomain(set.APIURL)
	}
	scheme := "https"
	if set.HTTP || strings.HasPrefix(c.APIURL, "http://") {
		scheme = "http"
	}
	routing := set.Routing
	if routing == "" {
		routing = s.Routing
	}
	switch routing {
	case RouteHost, "":
		c.DataURL = first(c.DataURL, scheme+"://{port}-{id}.{domain}")
		if c.APIURL == "" && c.Domain != "" {
			c.APIURL = scheme + "://api." + c.Domain
		}
	case RoutePath:
		if s.Path == "" && !strings.Contains(c.DataURL, "{id}") {
			return s.bad(c.Name, "path routing needs data_url, a pattern with {id} and {port}")
		}
		if c.APIURL == "" && c.Domain != "" {
			c.APIURL = scheme + "://" + c.Domain + s.API
		}
		c.DataURL = first(c.DataURL, s.base(c, scheme)+s.Path)
		c.WebURL = c.DataURL
	case RouteHeader:
		if c.APIURL == "" && c.Domain != "" {
			c.APIURL = scheme + "://api." + c.Domain
		}
		c.DataURL = first(c.DataURL, s.base(c, scheme))
	default:
		return s.bad(c.Name, fmt.Sprintf("routing is host, path or header, not %q", client.OneLine(string(routing), 40)))
	}
	if c.APIURL == "" {
		return s.bad(c.Name, "no address: it needs "+s.Needs)
	}
	return nil
}

// base is the address that path and header routing start from: that of the
// control plane without its path, else the domain.
func (s Service) base(c *e2b.Config, scheme string) string {
	if c.Domain != "" && s.Domain == "" {
		return scheme + "://" + c.Domain
	}
	if u, err := url.Parse(c.APIURL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return scheme + "://" + c.Domain
}

// ownDomain is the domain that belongs to a control plane: its host without "api.".
func ownDomain(api string) string {
	u, err := url.Parse(api)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Host, "api.")
}

func (s Service) bad(name, why string) error {
	return &client.Error{Op: "configure provider " + name, Provider: name, Code: client.CodeConfig, Message: why}
}

// authorities reads a PEM file.
func authorities(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("ca_file %s holds no certificate", client.OneLine(file, 120))
	}
	return pool, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

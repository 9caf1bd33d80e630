package express

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/credentials"
	"abxdash/client/engine"
)

// Name is the provider's id.
const Name = credentials.Express

// Regions, and the domains behind them (alicloud-express §2).
const (
	DefaultRegion = "cn-hangzhou"
	domainSuffix  = ".sandbox.aliyuncs.com"
	legacySuffix  = ".e2b.fc.aliyuncs.com"
)

// MinLifetime is the shortest lifetime Express gives; it raises shorter ones
// (alicloud-express §5.2).
const MinLifetime = time.Minute

// createPatience bounds one create call: places can take a while to find
// (alicloud-express §5.2).
const createPatience = 120 * time.Second

// SuggestedRegions are the regions known when this was written; any other id is
// accepted too.
func SuggestedRegions() []string {
	return []string{
		"cn-hangzhou", "cn-beijing", "cn-shanghai", "cn-shenzhen", "cn-hongkong",
		"ap-southeast-1", "us-east-1", "us-west-1", "cn-wulanchabu", "ap-southeast-8",
	}
}

// Config says which account, region and team features are meant. Only APIKey
// is required.
type Config struct {
	// Name is the provider's configured name; "" is [Name].
	Name   string
	APIKey string
	// Region is "" for that of Domain or APIURL, else [DefaultRegion].
	Region string
	// Legacy uses the older hosts (e2b.fc.aliyuncs.com).
	Legacy bool
	// APIURL, Domain and DataURL replace what Region gives. DataURL is one
	// address for every sandbox, or a pattern (see e2b.Config).
	APIURL, Domain, DataURL string
	// Generation is the runtime of the team's templates, 1 or 2; 0 is unknown.
	// It decides what is offered: generation 2 can pause.
	Generation int
	// Pause, Snapshots and Metrics say that the team is on the allow list for
	// them; snapshots also need generation 2.
	Pause, Snapshots, Metrics bool
	// MinLifetime replaces [MinLifetime]; negative is none.
	MinLifetime time.Duration
	// AllowHTTP permits plain http beyond loopback addresses.
	AllowHTTP bool
	// HTTPClient is shared with other providers, see engine.NewHTTPClient; nil
	// makes one.
	HTTPClient *http.Client
	// Engine runs the creates; nil makes one with defaults.
	Engine *engine.Engine
	// Template and Lifetime are used when a spec names none.
	Template string
	Lifetime time.Duration
	// User acts in the sandbox; "" leaves it to the image, which some need
	// (alicloud-express §8).
	User string
	// Protobuf makes the agent calls speak protobuf. The vendor's own SDK speaks
	// JSON (alicloud-express §8), which is what is known to pass and the default;
	// JSON insists on it.
	Protobuf, JSON bool
	Keepalive      time.Duration
	Silence        time.Duration
	RequestTimeout time.Duration
	Logger         *slog.Logger
	Now            func() time.Time
	UserAgent      string
}

// String shows no key.
func (c Config) String() string {
	return fmt.Sprintf("%s in region %s (key %s)", c.Name, c.Region, client.NewSecret(c.APIKey))
}

// GoString is String, for %#v.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// FromAccount adds what the environment and files said to a configuration. An
// access key pair alone is no error of its own: the error says how to make an
// API key of it, which is never done without being asked to (see [Native]).
func FromAccount(a credentials.Account, base Config) (Config, error) {
	base.APIKey = a.Key.Reveal()
	for _, f := range []struct {
		to   *string
		from credentials.Value
	}{{&base.APIURL, a.APIURL}, {&base.Domain, a.Domain}, {&base.DataURL, a.DataURL}, {&base.Region, a.RegionName}} {
		if f.from.Set() {
			*f.to = f.from.Reveal()
		}
	}
	if base.APIKey == "" && a.AccessKeyID.Set() {
		return base, &client.Error{
			Op: "find the key of " + Name, Provider: Name, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
			Message: "there is an access key pair, but sandboxes need an API key",
			Hint:    "make one from the pair: abxdash keys create",
		}
	}
	return base, nil
}

// withDefaults fills addresses from the region, and the region from addresses.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		c.Name = Name
	}
	suffix := domainSuffix
	if c.Legacy {
		suffix = legacySuffix
	}
	if c.Domain == "" && c.APIURL != "" {
		if u, err := url.Parse(c.APIURL); err == nil {
			if rest, ok := strings.CutPrefix(u.Host, "api."); ok {
				c.Domain = rest
			}
		}
	}
	known := regionOf(c.Domain)
	switch {
	case c.Region == "" && known != "":
		c.Region = known
	case c.Region == "" && c.Domain == "" && c.APIURL == "":
		c.Region = DefaultRegion
	case c.Region != "" && known != "" && known != c.Region:
		return c, &client.Error{
			Op: "configure " + c.Name, Provider: c.Name, Code: client.CodeRegion,
			Message: fmt.Sprintf("the region is %s and the address is in %s", client.OneLine(c.Region, 40), known),
			Hint:    "key, address, template and sandbox must be of one region",
		}
	}
	if c.Region != "" && !regexp.MustCompile(`^[a-z0-9-]{1,63}$`).MatchString(c.Region) {
		return c, &client.Error{
			Op: "configure " + c.Name, Provider: c.Name, Code: client.CodeRegion,
			Message: fmt.Sprintf("%q is no region id", client.OneLine(c.Region, 40)),
			Hint:    "for example " + strings.Join(SuggestedRegions()[:3], ", "),
		}
	}
	if c.Domain == "" && c.APIURL == "" {
		c.Domain = c.Region + suffix
	}
	if c.DataURL == "" && strings.HasPrefix(c.APIURL, "http://") {
		c.DataURL = "http://{port}-{id}.{domain}"
	}
	if c.MinLifetime == 0 {
		c.MinLifetime = MinLifetime
	}
	if c.Engine == nil {
		c.Engine = engine.New(engine.Config{Now: c.Now})
	}
	return c, nil
}

// regionOf is the region of one of the vendor's domains, "" for any other.
func regionOf(domain string) string {
	for _, suffix := range []string{domainSuffix, legacySuffix} {
		if r, ok := strings.CutSuffix(domain, suffix); ok && !strings.Contains(r, ".") {
			return r
		}
	}
	return ""
}

// capabilities is what the settings say; no call is made.
func (c Config) capabilities() client.Capabilities {
	caps := client.Capabilities{Have: map[client.Capability]bool{}, Why: map[client.Capability]string{}}
	for _, k := range []client.Capability{
		client.CapCommands, client.CapPTY, client.CapReconnect, client.CapFiles, client.CapWatch,
		client.CapTransfer, client.CapCode, client.CapPorts, client.CapNetworkUpdate,
	} {
		caps.Have[k] = true
	}
	for k, f := range map[client.Capability]struct {
		have bool
		why  string
	}{
		client.CapPause:         {c.Pause || c.Generation == 2, "Express pauses generation 2 sandboxes only, or teams on its list; say so in the provider's settings"},
		client.CapSnapshot:      {c.Snapshots && c.Generation != 1, "Express makes snapshots of generation 2 sandboxes of teams on its list only; say so in the provider's settings"},
		client.CapMetrics:       {c.Metrics, "Express keeps no dependable history of use; say so in the provider's settings if your team has it"},
		client.CapLogs:          {false, "Express keeps no sandbox logs: its log call always answers empty"},
		client.CapTemplates:     {true, ""},
		client.CapTemplateSteps: {false, "Express makes templates of a ready image: build one with Docker and push it, or give --image"},
	} {
		if caps.Have[k] = f.have; !f.have {
			caps.Why[k] = f.why
		}
	}
	return caps
}

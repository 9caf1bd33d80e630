package config

import (
	"fmt"
	"slices"
	"strings"

	"abxdash/client"
	"abxdash/client/services"
)

// Provider is one service of the configuration file. Its key is never here: it
// is ABX_<NAME>_API_KEY, or what KeyEnv names (package credentials).
type Provider struct {
	// Type is a built-in provider or a preset (see services.IDs); "" is what
	// stands behind the @ of the name, else the name, else e2b.
	Type string `yaml:"type"`
	// KeyEnv names another variable for the key.
	KeyEnv string `yaml:"key_env"`
	// NoKey is a service that takes requests without one.
	NoKey bool `yaml:"no_key"`

	APIURL  string           `yaml:"api_url"`
	Domain  string           `yaml:"domain"`
	DataURL string           `yaml:"data_url"`
	Region  string           `yaml:"region"`
	Routing services.Routing `yaml:"routing"`
	// AllowHTTP permits plain http beyond loopback addresses; HTTP also makes
	// addresses derived from a domain plain http.
	AllowHTTP   bool            `yaml:"allow_http"`
	HTTP        bool            `yaml:"http"`
	DialData    string          `yaml:"dial_data"`
	CAFile      string          `yaml:"ca_file"`
	InsecureTLS bool            `yaml:"insecure_tls"`
	KeyHeader   string          `yaml:"key_header"`
	Template    string          `yaml:"template"`
	User        string          `yaml:"user"`
	MinLifetime client.Duration `yaml:"min_lifetime"`
	Quirks      map[string]bool `yaml:"quirks"`
	Lacks       []string        `yaml:"lacks"`
	// JSON makes the agent calls speak JSON instead of protobuf.
	JSON bool `yaml:"json"`

	// Endpoint is how OpenSandbox's agents are reached: auto, direct or
	// server-proxy. Rewrite replaces hosts in the addresses it gives.
	Endpoint string            `yaml:"endpoint"`
	Rewrite  map[string]string `yaml:"rewrite"`
	// CPU and Memory are OpenSandbox's resourceLimits, such as "1" and "2Gi".
	CPU    string `yaml:"cpu"`
	Memory string `yaml:"memory"`

	// Generation, Pause, Snapshots, Metrics and Legacy belong to Express.
	Generation int  `yaml:"generation"`
	Pause      bool `yaml:"pause"`
	Snapshots  bool `yaml:"snapshots"`
	Metrics    bool `yaml:"metrics"`
	Legacy     bool `yaml:"legacy"`
}

// Settings are the part that services of the E2B dialect take.
func (p Provider) Settings() services.Settings {
	return services.Settings{
		APIURL: p.APIURL, Domain: p.Domain, DataURL: p.DataURL, Region: p.Region, Routing: p.Routing,
		AllowHTTP: p.AllowHTTP || p.HTTP, HTTP: p.HTTP, DialData: p.DialData, CAFile: p.CAFile, InsecureTLS: p.InsecureTLS,
		KeyHeader: p.KeyHeader, Template: p.Template, User: p.User, MinLifetime: p.MinLifetime,
		Quirks: p.Quirks, Lacks: p.Lacks, JSON: p.JSON,
	}
}

// check finds what can be told to be wrong without the key.
func (p Provider) check(name string) error {
	s, ok := services.Kind(name, p.Type)
	switch {
	case !ok:
		return fmt.Errorf("provider %s: type %q is not known; known are %s", name, client.OneLine(p.Type, 40), strings.Join(services.IDs(), ", "))
	case s.Dialect == services.Local:
		return fmt.Errorf("provider %s: there is one local provider only, and it needs no entry", name)
	case p.KeyEnv == "ABX_SANDBOX_API_KEY" && s.Dialect != services.Express:
		return fmt.Errorf("provider %s: ABX_SANDBOX_API_KEY is the key of alicloud-express and goes nowhere else", name)
	case !slices.Contains([]string{"", "auto", "direct", "server-proxy"}, p.Endpoint):
		return fmt.Errorf("provider %s: endpoint is auto, direct or server-proxy, not %q", name, client.OneLine(p.Endpoint, 40))
	case s.Dialect == services.E2B && p.CAFile == "": // a file is read when the provider is opened
		if _, err := s.Config(name, p.withAddress()); err != nil {
			return err
		}
	}
	return nil
}

// withAddress adds an address where there is none: the environment may have it.
func (p Provider) withAddress() services.Settings {
	set := p.Settings()
	if set.APIURL == "" && set.Domain == "" {
		set.Domain = "domain.test"
	}
	return set
}

package registry

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/e2b"
	"abxdash/client/express"
	"abxdash/client/opensandbox"
	"abxdash/client/plugin"
	"abxdash/client/services"
)

// account finds the key and the addresses of a provider.
func (o Options) account(name string) (credentials.Account, error) {
	conf, configured := o.Config.Providers[name]
	s, _ := services.Kind(name, conf.Type)
	acc, err := o.Keys.AccountWith(name, credentials.Ways{KeyName: conf.KeyEnv, Optional: s.KeyOptional || conf.NoKey})
	if err != nil {
		return acc, err
	}
	if !configured && !acc.Key.Set() && !acc.AccessKeyID.Set() && !acc.APIURL.Set() && !acc.Domain.Set() {
		// Nothing points to such a server, so there is none.
		return o.Keys.Account(name)
	}
	return acc, nil
}

// remote makes one remote provider, or says why not.
func (o Options) remote(name string) (client.Provider, error) {
	if _, configured := o.Config.Providers[name]; !configured && !services.IsBuiltIn(name) {
		if p, ok := o.plugin(name); ok {
			return o.openPlugin(p)
		}
	}
	conf := o.Config.Providers[name]
	s, ok := services.Kind(name, conf.Type)
	if !ok {
		return nil, client.Usagef("open provider "+name, "type %q is not known", client.OneLine(conf.Type, 40))
	}
	acc, err := o.account(name)
	if err != nil {
		return nil, err
	}
	switch s.Dialect {
	case services.Express:
		return o.express(name, conf, acc)
	case services.OpenSandbox:
		return o.openSandbox(name, conf, acc)
	default:
		return o.dialect(s, name, conf, acc)
	}
}

// dialect makes a provider of the E2B dialect.
func (o Options) dialect(s services.Service, name string, conf config.Provider, acc credentials.Account) (client.Provider, error) {
	set := conf.Settings()
	set.APIURL = first(acc.APIURL.Reveal(), set.APIURL)
	set.Domain = first(acc.Domain.Reveal(), set.Domain)
	set.DataURL = first(acc.DataURL.Reveal(), set.DataURL)
	cfg, err := s.Config(name, set)
	if err != nil {
		return nil, err
	}
	cfg.APIKey, cfg.Logger, cfg.RequestTimeout = acc.Key.Reveal(), o.Logger, o.RequestTimeout
	cfg.UserAgent = "abxdash/" + o.Version
	return e2b.New(cfg)
}

// express makes an Express provider.
func (o Options) express(name string, conf config.Provider, acc credentials.Account) (client.Provider, error) {
	cfg, err := express.FromAccount(acc, express.Config{
		Name: name, Region: conf.Region, Legacy: conf.Legacy, APIURL: conf.APIURL, Domain: conf.Domain, DataURL: conf.DataURL,
		Generation: conf.Generation, Pause: conf.Pause, Snapshots: conf.Snapshots, Metrics: conf.Metrics,
		AllowHTTP: conf.AllowHTTP, Template: conf.Template, User: conf.User, JSON: conf.JSON, MinLifetime: conf.MinLifetime.Std(),
		RequestTimeout: o.RequestTimeout, Logger: o.Logger, UserAgent: "abxdash/" + o.Version,
	})
	if err != nil {
		return nil, err
	}
	return express.New(cfg)
}

// openSandbox makes an OpenSandbox provider. Its own variables may say more.
func (o Options) openSandbox(name string, conf config.Provider, acc credentials.Account) (client.Provider, error) {
	address := acc.APIURL.Reveal()
	if d := acc.Domain.Reveal(); address == "" && d != "" {
		address = d
		if !strings.Contains(d, "://") {
			address = first(o.own(acc, "OPEN_SANDBOX_PROTOCOL"), "http") + "://" + d
		}
	}
	cfg := opensandbox.Config{
		Name: name, APIKey: acc.Key.Reveal(), Mode: opensandbox.Mode(conf.Endpoint), Rewrite: conf.Rewrite,
		AllowHTTP: conf.AllowHTTP || conf.HTTP, InsecureTLS: conf.InsecureTLS, Image: conf.Template, CPU: conf.CPU, Memory: conf.Memory,
		RequestTimeout: o.RequestTimeout, Logger: o.Logger, UserAgent: "abxdash/" + o.Version,
	}
	cfg.APIURL = first(address, conf.APIURL)
	if cfg.APIURL == "" && conf.Domain != "" {
		cfg.APIURL = "https://" + conf.Domain
		if conf.HTTP {
			cfg.APIURL = "http://" + conf.Domain
		}
	}
	if cfg.Mode == "" && slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(o.own(acc, "OPEN_SANDBOX_USE_SERVER_PROXY"))) {
		cfg.Mode = opensandbox.ModeProxy
	}
	if o.StateDir != "" {
		cfg.SecretFile = filepath.Join(o.StateDir, "opensandbox.secret")
	}
	if conf.CAFile != "" {
		data, err := os.ReadFile(conf.CAFile)
		cfg.RootCAs = x509.NewCertPool()
		if err != nil || !cfg.RootCAs.AppendCertsFromPEM(data) {
			return nil, &client.Error{Op: "configure provider " + name, Provider: name, Code: client.CodeConfig, Message: "ca_file holds no certificate that can be read"}
		}
	}
	return opensandbox.New(cfg)
}

// own reads one of OpenSandbox's variables. One from a project's file counts
// only with a key from there: it changes how the key is sent.
func (o Options) own(acc credentials.Account, name string) string {
	v, err := o.Keys.Lookup(name)
	if err != nil || v.Source.Kind == credentials.FromProject && acc.Key.Source.Kind != credentials.FromProject {
		return ""
	}
	return v.Reveal()
}

// plugins are the installed ones; a folder that cannot be read has none.
func (o Options) plugins() []plugin.Installed {
	if o.StateDir == "" {
		return nil
	}
	list, err := plugin.List(PluginDir(o.StateDir))
	if err != nil && o.Logger != nil {
		o.Logger.Warn("plug-ins", "err", err)
	}
	return list
}

// PluginDir is where plug-ins are installed.
func PluginDir(state string) string { return filepath.Join(state, "plugins") }

func (o Options) plugin(name string) (plugin.Installed, bool) {
	for _, p := range o.plugins() {
		if p.Manifest.ID == name {
			return p, true
		}
	}
	return plugin.Installed{}, false
}

func (o Options) openPlugin(p plugin.Installed) (client.Provider, error) {
	return plugin.Open(p, plugin.Options{
		Lookup: func(name string) (string, error) {
			v, err := o.Keys.Lookup(name)
			return v.Reveal(), err
		},
		Logger: o.Logger, RequestTimeout: o.RequestTimeout, UserAgent: "abxdash/" + o.Version,
	})
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// expressCapabilities is what Express has without any of the settings that
// depend on a team.
func expressCapabilities() client.Capabilities {
	p, err := express.New(express.Config{APIKey: "not-a-key"})
	if err != nil {
		return client.Capabilities{}
	}
	defer p.Close()
	return p.Capabilities()
}

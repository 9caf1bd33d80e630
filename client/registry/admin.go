package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/local"
	"abxdash/client/opensandbox"
	"abxdash/client/plugin"
	"abxdash/client/services"
)

// Admin describes, adds and removes providers.
type Admin struct {
	// Load reads the configuration and the keys anew.
	Load func() (Options, error)
	// File is the configuration file, KeyFile where a key is kept that was
	// typed in, that of a credentials.Store.
	File, KeyFile string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Providers lists the built-in ones, those of the configuration, and plug-ins;
// with all also the presets that only wait for an entry. Nothing is called.
func (a *Admin) Providers(_ context.Context, all bool) ([]client.ProviderInfo, error) {
	o, err := a.Load()
	if err != nil {
		return nil, err
	}
	o.Only = ""
	names := known()
	for _, name := range remotes(o) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var list []client.Provider
	out := make([]client.ProviderInfo, 0, len(names))
	for _, name := range names {
		info, p := o.describe(name)
		if p != nil {
			list = append(list, p)
		}
		out = append(out, info)
	}
	def := o.pick(list)
	for i := range out {
		out[i].Default = out[i].Name == def
	}
	for _, p := range list {
		if c, ok := p.(interface{ Close() }); ok {
			c.Close()
		}
	}
	if all {
		for _, s := range services.All() {
			if !s.BuiltIn {
				out = append(out, preset(s))
			}
		}
	}
	return out, nil
}

func preset(s services.Service) client.ProviderInfo {
	info := client.ProviderInfo{
		Name: s.ID, Kind: s.ID, Title: s.Title, Preset: true, Needs: s.Needs, Capabilities: s.Capabilities(),
		Problem: "not configured", Hint: "abxdash provider add " + s.ID + " type=" + s.ID + " …",
	}
	if s.Unverified {
		info.Notes = append(info.Notes, "from the vendor's documentation; not tried against the service")
	}
	return info
}

// describe tells about one provider and, if it can be used, makes it.
func (o Options) describe(name string) (client.ProviderInfo, client.Provider) {
	conf, configured := o.Config.Providers[name]
	info := client.ProviderInfo{Name: name, BuiltIn: services.IsBuiltIn(name) && !configured || services.IsBuiltIn(name) && conf.Type == ""}
	if in, ok := o.plugin(name); ok && !configured && !info.BuiltIn {
		return o.describePlugin(info, in)
	}
	s, _ := services.Kind(name, conf.Type)
	info.Kind, info.Title, info.Needs = s.ID, s.Title, s.Needs
	if configured && name != s.ID {
		info.Needs = o.profileNeeds(name, s)
	}
	info.Notes = append(info.Notes, s.Notes...)
	if s.Quirks.TrafficToken || s.Dialect == services.Express {
		info.Notes = append(info.Notes, trafficNote)
	}
	if s.Dialect == services.Local {
		p, err := NewLocal(o.Config, o.Version, o.Logger)
		if err != nil {
			info.Problem, info.Hint = wording(err)
			return info, nil
		}
		info.Ready, info.Address, info.Capabilities = true, "this machine", p.Capabilities()
		return info, p
	}
	info.Capabilities = o.static(s)
	acc, err := o.account(name)
	switch {
	case err != nil:
		info.Problem, info.Hint = wording(err)
		return info, nil
	case acc.Key.Set():
		info.Key = acc.Key.String()
	case acc.AccessKeyID.Set():
		info.Key = acc.AccessKeyID.String()
	}
	if acc.Hint != "" {
		info.Notes = append(info.Notes, acc.Hint)
	}
	p, err := o.remote(name)
	if err != nil {
		info.Problem, info.Hint = wording(err)
		return info, nil
	}
	info.Ready, info.Capabilities = true, p.Capabilities()
	info.Address = first(acc.APIURL.Reveal(), conf.APIURL, acc.Domain.Reveal(), conf.Domain)
	return info, p
}

// profileNeeds is what an entry of the configuration still needs: the key by
// the name that this entry reads.
func (o Options) profileNeeds(name string, s services.Service) string {
	variable, err := o.keyName(name)
	switch {
	case err != nil:
		return "nothing"
	case s.KeyOptional:
		return variable + " if the server has a key"
	default:
		return variable
	}
}

// trafficNote tells where traffic tokens are: a secret that only the answer to
// a create holds is not written to disk.
const trafficNote = "a sandbox without public traffic is reached by the run that created it: its traffic token is told once and not kept"

// static is what a kind of provider can do when it is not configured.
func (o Options) static(s services.Service) client.Capabilities {
	switch s.Dialect {
	case services.OpenSandbox:
		return opensandbox.Capabilities()
	case services.Express:
		return expressCapabilities()
	default:
		return s.Capabilities()
	}
}

func (o Options) describePlugin(info client.ProviderInfo, in plugin.Installed) (client.ProviderInfo, client.Provider) {
	m := in.Manifest
	info.Plugin, info.Kind, info.Title = true, "plug-in ("+m.Kind+")", client.OneLine(m.Title, 80)
	var needs []string
	for _, v := range m.Environment {
		if v.Required {
			needs = append(needs, v.Name)
		}
	}
	if m.Key != "" {
		needs = append(needs, m.Key)
	}
	if info.Needs = strings.Join(needs, ", "); info.Needs == "" {
		info.Needs = "nothing"
	}
	info.Address = client.OneLine(first(m.BaseURL, in.Dir), 120)
	if m.Template != nil && m.Template.Base != "" {
		info.TemplateBase = m.Template.Base
		info.Notes = append(info.Notes, "templates for it are built on "+client.OneLine(m.Template.Base, 200))
	}
	info.Notes = append(info.Notes, "version "+client.OneLine(m.Version, 40)+", "+in.Record.Checksum)
	if in.Record.Unpinned {
		info.Notes = append(info.Notes, "installed with --allow-unpinned: nothing vouched for it")
	}
	p, err := o.openPlugin(in)
	if err != nil {
		info.Problem, info.Hint = wording(err)
		return info, nil
	}
	info.Ready, info.Capabilities = true, p.Capabilities()
	return info, p
}

// TemplateBases are the images that the templates of installed plug-ins are
// built on, by provider. A plug-in that names none is left out.
func (o Options) TemplateBases() map[string]string {
	out := map[string]string{}
	for _, in := range o.plugins() {
		id := in.Manifest.ID
		if _, configured := o.Config.Providers[id]; !configured && !services.IsBuiltIn(id) && in.Manifest.Template != nil {
			out[id] = in.Manifest.Template.Base
		}
	}
	return out
}

// wording is an error in one line, and its hint.
func wording(err error) (problem, hint string) {
	return client.OneLine(err.Error(), 300), client.OneLine(client.HintOf(err), 200)
}

// Provider describes one, a preset too.
func (a *Admin) Provider(ctx context.Context, name string) (client.ProviderInfo, error) {
	list, err := a.Providers(ctx, true)
	if err != nil {
		return client.ProviderInfo{}, err
	}
	for _, info := range list {
		if info.Name == name {
			return info, nil
		}
	}
	return client.ProviderInfo{}, &client.Error{
		Op: "describe provider", Code: client.CodeUsage, Kind: client.ErrNotFound, Message: fmt.Sprintf("there is no provider %q", client.OneLine(name, 60)),
		Hint: "see: abxdash provider ls --all",
	}
}

// Add writes an entry into the configuration file and says where.
func (a *Admin) Add(_ context.Context, name string, settings map[string]string) (string, error) {
	if err := config.AddProvider(a.File, name, settings); err != nil {
		return "", err
	}
	return a.File, nil
}

// Install installs a plug-in. confirm is asked once it is known what would be
// installed. The built-in ones need no installing: their description comes back
// with BuiltIn set and nothing is changed.
func (a *Admin) Install(ctx context.Context, src client.PluginSource, confirm func(client.ProviderInfo) error) (client.ProviderInfo, error) {
	o, err := a.Load()
	if err != nil {
		return client.ProviderInfo{}, err
	}
	if id, ok := plugin.RegistryID(src.Ref); ok && services.IsBuiltIn(id) {
		return a.Provider(ctx, id)
	}
	root := PluginDir(o.StateDir)
	st, err := plugin.Stage(ctx, root, plugin.Source{Ref: src.Ref, Catalog: o.Config.PluginCatalog, Checksum: src.Checksum, AllowUnpinned: src.AllowUnpinned})
	if err != nil {
		return client.ProviderInfo{}, err
	}
	defer st.Close()
	id := st.Manifest.ID
	if _, taken := services.Lookup(id); taken {
		return client.ProviderInfo{}, &client.Error{
			Op: "install plug-in", Code: client.CodeUsage, Message: "the id " + id + " belongs to a built-in provider or preset",
		}
	}
	info, _ := o.describePlugin(client.ProviderInfo{Name: id}, plugin.Installed{
		Manifest: st.Manifest, Dir: st.Dir(), Record: plugin.Record{Source: st.Source, Checksum: st.Checksum, Unpinned: st.Unpinned},
	})
	if err := confirm(info); err != nil {
		return info, err
	}
	if st.Manifest.Kind != plugin.KindREST {
		err := st.Greet(ctx, plugin.Options{Lookup: o.lookup, Logger: o.Logger})
		// A variable that is not set yet says nothing about the program.
		if err != nil && !errors.Is(err, client.ErrUnauthorized) {
			return info, err
		}
	}
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	if _, err := st.Commit(root, now()); err != nil {
		return info, err
	}
	return a.Provider(ctx, id)
}

func (o Options) lookup(name string) (string, error) {
	v, err := o.Keys.Lookup(name)
	return v.Reveal(), err
}

// Remove takes an entry out of the configuration, or uninstalls a plug-in, and
// says what it did.
func (a *Admin) Remove(_ context.Context, name string) (string, error) {
	o, err := a.Load()
	if err != nil {
		return "", err
	}
	if _, ok := o.Config.Providers[name]; ok {
		return "the entry of " + name + " in " + a.File, config.RemoveProvider(a.File, name)
	}
	if _, ok := o.plugin(name); ok {
		return "the plug-in " + name, plugin.Uninstall(PluginDir(o.StateDir), name)
	}
	if services.IsBuiltIn(name) {
		return "", client.Usagef("remove provider", "%s is built in; unset its key to hide it", name)
	}
	return "", &client.Error{Op: "remove provider", Code: client.CodeNotFound, Kind: client.ErrNotFound, Message: fmt.Sprintf("there is no provider %q", client.OneLine(name, 60))}
}

// checkPatience bounds one check.
const checkPatience = 10 * time.Second

// Check asks providers for their lists, all at once; "" is every one that is
// configured. It changes nothing and starts no local server.
func (a *Admin) Check(ctx context.Context, name string) ([]client.ProviderCheck, error) {
	o, err := a.Load()
	if err != nil {
		return nil, err
	}
	o.Only = name
	names := remotes(o)
	if name == "" || name == local.Name {
		names = append([]string{local.Name}, names...)
	}
	if len(names) == 0 {
		return nil, o.unknown()
	}
	out := make([]client.ProviderCheck, len(names))
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() { out[i] = o.check(ctx, n) })
	}
	wg.Wait()
	return out, nil
}

func (o Options) check(ctx context.Context, name string) client.ProviderCheck {
	c := client.ProviderCheck{Name: name}
	info, p := o.describe(name)
	if p == nil {
		c.Detail, c.Hint = info.Problem, info.Hint
		return c
	}
	if closer, ok := p.(interface{ Close() }); ok {
		defer closer.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	began := time.Now()
	page, err := p.Sandboxes().List(ctx, client.Query{Limit: 1})
	c.Took = time.Since(began)
	if err != nil {
		c.Detail, c.Hint = wording(err)
		return c
	}
	c.OK, c.Detail = true, "its list can be read"
	if d := time.Until(page.ServerTime); !page.ServerTime.IsZero() && d.Abs() > time.Minute {
		c.Hint = fmt.Sprintf("its clock differs from this machine's by %s", d.Round(time.Second).Abs())
	}
	return c
}

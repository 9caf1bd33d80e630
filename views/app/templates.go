package app

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/docker"
	"abxdash/client/local"
	"abxdash/client/services"
	tpl "abxdash/templates"
	"abxdash/templates/deploy"
	"abxdash/ui"
	"abxdash/views/cli"
	"abxdash/views/present"
	"abxdash/views/templates"
)

// setting looks up a setting of the template commands.
func (w *world) setting(name string) string { return settingOf(w.keys(), name) }

// settingOf is a setting that is found where keys are; one that cannot be read
// is not set.
func settingOf(keys *credentials.Set, name string) string {
	v, err := keys.Lookup(name)
	if err != nil {
		return ""
	}
	return v.Reveal()
}

// templateBase is the base image that a plug-in names for its templates.
func (w *world) templateBase(provider string) string {
	o, err := w.registryOptions(cli.Flags{})
	if err != nil {
		return ""
	}
	return o.TemplateBases()[provider]
}

// engine is the Docker engine that builds templates.
func (w *world) engine() (deploy.Engine, error) {
	return docker.New(docker.Config{UserAgent: "abxdash/" + w.version})
}

// native is the native API of Express, for whoever has an access key pair.
func (w *world) native(region, team string) (cli.NativeTemplates, error) {
	keys := w.keys()
	id, err := keys.Lookup("ALICLOUD_ACCESS_KEY_ID")
	if err != nil {
		return cli.NativeTemplates{}, err
	}
	secret, err := keys.Lookup("ALICLOUD_ACCESS_KEY_SECRET")
	if err != nil {
		return cli.NativeTemplates{}, err
	}
	if !id.Set() || !secret.Set() {
		return cli.NativeTemplates{}, &client.Error{
			Op: "use the native API", Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized, Message: "there is no access key pair",
			Hint: "set ALICLOUD_ACCESS_KEY_ID and ALICLOUD_ACCESS_KEY_SECRET",
		}
	}
	api, err := acs.New(acs.Config{
		Credentials: acs.Credentials{AccessKeyID: id.Reveal(), AccessKeySecret: secret.Reveal()},
		Region:      region, UserAgent: "abxdash/" + w.version,
	})
	if err != nil {
		return cli.NativeTemplates{}, err
	}
	return cli.NativeTemplates{Maker: api.Maker(team), Login: func(ctx context.Context, instance string) (client.RegistryLogin, error) {
		return api.RegistryLogin(ctx, instance, "")
	}}, nil
}

// addTemplates adds the templates screen and the work behind it. What it looks
// up in files is read here, once: the screen asks on every key.
func (w *world) addTemplates(o *ui.Options, f cli.Flags, conf config.Config, sc screens) {
	from := w.optionsOf(conf, f)
	bases := from.TemplateBases()
	templates.New(templates.Options{
		Providers: sc.providers, Owner: present.CurrentOwner(), ReadOnly: o.ReadOnly != "",
		Dir: w.workDir(), Folders: templateFolders(conf, w.folders.Home), Home: w.folders.Home, Targets: templateTargets(f, sc.providers),
		Setting: func(name string) string { return settingOf(from.Keys, name) },
		Base:    func(provider string) string { return bases[provider] },
		CheckIn: sc.providers.Get(local.Name), Python: tpl.Interpreter(), Engine: w.engine, Editor: editor(),
		Native: func(region string) (templates.Native, error) {
			n, err := w.native(region, "")
			return templates.Native{Maker: n.Maker, Login: n.Login}, err
		},
	}).Install(o)
}

// templateFolders are those of the configuration, ~ being home.
func templateFolders(conf config.Config, home string) []string {
	var out []string
	for _, dir := range conf.TemplateFolders {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(home, rest)
		}
		out = append(out, filepath.Clean(dir))
	}
	return out
}

// templateTargets are the providers that a template can be written for: that of
// --provider or else Express first.
func templateTargets(f cli.Flags, ps present.Providers) []string {
	out := []string{tpl.Express}
	if f.Provider != "" {
		out = []string{f.Provider}
	}
	names := ps.Names()
	for _, s := range services.BuiltIn() {
		names = append(names, s.ID)
	}
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

package registry

import (
	"context"

	"abxdash/client"
	"abxdash/client/credentials"
	"abxdash/client/services"
)

// KeyTarget says under which name a key of a provider is read, where it would
// be sent and where it can be kept. Nothing is called.
func (a *Admin) KeyTarget(_ context.Context, name string) (client.KeyTarget, error) {
	o, err := a.Load()
	if err != nil {
		return client.KeyTarget{}, err
	}
	variable, err := o.keyName(name)
	if err != nil {
		return client.KeyTarget{}, err
	}
	out := client.KeyTarget{Variable: variable, File: a.KeyFile}
	if v, err := o.Keys.Lookup(variable); err == nil && v.Set() && v.Source.Kind != credentials.FromSaved {
		out.Covered = v.Source.String()
	}
	conf := o.Config.Providers[name]
	out.Address = first(conf.APIURL, conf.Domain)
	if in, ok := o.plugin(name); ok && conf.Type == "" && !services.IsBuiltIn(name) {
		out.Address, out.From = client.OneLine(in.Manifest.BaseURL, 200), "its manifest"
		return out, nil
	}
	// Any key will do to find out about addresses: it is sent nowhere.
	o.Keys = o.Keys.With(map[string]string{variable: "any"})
	acc, err := o.account(name)
	if err != nil {
		return out, err
	}
	for _, v := range []credentials.Value{acc.APIURL, acc.Domain} {
		if v.Set() {
			out.Address, out.From = client.OneLine(v.Reveal(), 200), v.String()
			break
		}
	}
	return out, nil
}

// keyName is the variable that a provider's key is read from, or why there is none.
func (o Options) keyName(name string) (string, error) {
	none := func(why string) error {
		return &client.Error{Op: "enter a key", Provider: name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: name + " " + why}
	}
	conf, configured := o.Config.Providers[name]
	if in, ok := o.plugin(name); ok && !configured && !services.IsBuiltIn(name) {
		if in.Manifest.Key == "" {
			return "", none("takes no key of this form; set what it declares in the environment")
		}
		return in.Manifest.Key, nil
	}
	s, ok := services.Kind(name, conf.Type)
	switch {
	case !ok || !configured && !services.IsBuiltIn(name):
		o.Only = name
		return "", o.unknown()
	case s.Dialect == services.Local:
		return "", none("needs no key")
	case conf.NoKey:
		return "", none("is configured with no_key")
	case conf.KeyEnv != "":
		return conf.KeyEnv, nil
	}
	return credentials.KeyNames(name)[0], nil
}

// TestKey asks a provider for its list with a key that was typed in. The key is
// kept nowhere and changes nothing.
func (a *Admin) TestKey(ctx context.Context, name, key string) (client.ProviderCheck, error) {
	if err := credentials.CheckKey(key); err != nil {
		return client.ProviderCheck{}, client.Usagef("test the key", "%s", err)
	}
	o, err := a.Load()
	if err != nil {
		return client.ProviderCheck{}, err
	}
	variable, err := o.keyName(name)
	if err != nil {
		return client.ProviderCheck{}, err
	}
	o.Keys = o.Keys.With(map[string]string{variable: key})
	return o.check(ctx, name), nil
}

// KeepKey writes a key into the file for that and says where.
func (a *Admin) KeepKey(_ context.Context, name, key string) (string, error) {
	o, err := a.Load()
	if err != nil {
		return "", err
	}
	variable, err := o.keyName(name)
	if err != nil {
		return "", err
	}
	return a.KeyFile, credentials.Keep(a.KeyFile, variable, key)
}

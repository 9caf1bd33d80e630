package app

import (
	"context"
	"os"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/registry"
	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// registryOptions reads the configuration and the keys.
func (w *world) registryOptions(f cli.Flags) (registry.Options, error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return registry.Options{}, err
	}
	return w.optionsOf(conf, f), nil
}

// optionsOf reads the keys that go with a configuration.
func (w *world) optionsOf(conf config.Config, f cli.Flags) registry.Options {
	return registry.Options{
		Config: conf, Keys: w.keys(), Only: f.Provider, RequestTimeout: f.RequestTimeout, Version: w.version, Logger: w.log, StateDir: w.folders.State,
	}
}

func (w *world) open(_ context.Context, f cli.Flags) (*cli.Session, error) {
	o, err := w.registryOptions(f)
	if err != nil {
		return nil, err
	}
	r, err := registry.Open(o)
	if err != nil {
		return nil, err
	}
	return &cli.Session{Providers: r.Providers, Default: r.Default, Notes: r.Notes, Close: r.Close}, nil
}

// defaults adds what the configuration says for every command. A file that
// cannot be read is the error of the command that needs it.
func (w *world) defaults(f *cli.Flags) {
	if conf, err := config.Read(w.folders.File()); err == nil {
		f.ReadOnly = f.ReadOnly || conf.ReadOnly
	}
}

// rules are the thresholds for strays. A file that cannot be read is the error
// of the command that needs it.
func (w *world) rules() present.StrayRules {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return present.StrayRules{}
	}
	return present.StrayRules(conf.Strays)
}

// rates are the prices of the configuration, with the same rule for its errors.
func (w *world) rates() present.Rates {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return present.Rates{}
	}
	return ratesOf(conf.Rates)
}

// protected tells whether the dashboard's user set a sandbox apart.
func (w *world) protected(k present.Key) bool {
	list, err := present.LoadProtected(present.NewFolder(w.folders.State))
	if err != nil {
		w.log.Warn("the list of protected sandboxes cannot be read", "err", err)
	}
	return list.Has(k)
}

// keymap is the configured one; a configuration that cannot be read is the
// error of the command that needs it.
func (w *world) keymap() *keymap.Map {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return keymap.Default()
	}
	keys, err := keysOf(conf, nil)
	if err != nil {
		return keymap.Default()
	}
	return keys
}

// languageOf is the language of the dashboard: that of --lang, else of the
// configuration, else of the locale.
func languageOf(f cli.Flags, c config.Config) (*lang.Catalog, error) {
	name, op, code := f.Lang, "read the flags", client.CodeUsage
	if name == "" {
		name, op, code = c.Language, "read the configuration", client.CodeConfig
	}
	if name == "" {
		name = lang.Detect(os.Getenv)
	}
	texts, err := lang.Load(name)
	if err != nil {
		return nil, &client.Error{Op: op, Code: code, Message: client.OneLine(err.Error(), 200)}
	}
	return texts, nil
}

// keysOf are the keys that the configuration asks for, described in a language. A theme that does not
// exist is said here too: package config does not know them.
func keysOf(c config.Config, texts *lang.Catalog) (*keymap.Map, error) {
	err := theme.Check(c.Theme)
	var keys *keymap.Map
	if err == nil {
		keys, err = keymap.Preset(c.Keymap)
	}
	if err == nil {
		keys, err = keys.Translated(texts.Word).WithLeader(c.Leader)
	}
	if err == nil {
		keys, err = keys.Override(c.Keys)
	}
	if err != nil {
		return nil, &client.Error{Op: "read the configuration", Code: client.CodeConfig, Message: client.OneLine(err.Error(), 500)}
	}
	return keys, nil
}

// ratesOf are the prices of the configuration.
func ratesOf(c config.Rates) present.Rates {
	out := present.Rates{Date: c.Date, Providers: map[string]present.Rate{}}
	for name, r := range c.Providers {
		out.Providers[name] = present.Rate{CPUHour: r.CPUHour, GBHour: r.GBHour, Hour: r.Hour, PausedHour: r.PausedHour, Sizes: r.Sizes}
	}
	return out
}

// attentionOf says how the user is called.
func attentionOf(c config.Attention) ui.Attention {
	out := ui.Attention{Bell: !c.NoBell, Notify: !c.NoNotify}
	for _, k := range c.Mute {
		out.Mute = append(out.Mute, ui.AttentionKind(k))
	}
	return out
}

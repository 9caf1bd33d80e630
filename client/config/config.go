// Package config finds abxdash's folders, reads its configuration file and
// opens its log. Reading makes nothing: a folder appears when something is
// first written into it.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v4"

	"abxdash/client"
)

// Folders are where abxdash keeps its own files (product.md §2 "Files").
type Folders struct {
	// Config holds config.yaml, State the log, Cache what can be lost. All are absolute.
	Config, State, Cache string
	// Home is the user's home, "" if there is none.
	Home string
}

// Find follows ABXDASH_HOME, which moves all folders, else the XDG variables,
// else their defaults below the home. getenv is normally os.Getenv.
func Find(getenv func(string) string, home string) (Folders, error) {
	f := Folders{Home: home}
	if root := getenv("ABXDASH_HOME"); root != "" {
		if !filepath.IsAbs(root) {
			return f, &client.Error{
				Op: "find the configuration", Code: client.CodeConfig,
				Message: "ABXDASH_HOME must be an absolute path",
			}
		}
		f.Config, f.State, f.Cache = filepath.Join(root, "config"), filepath.Join(root, "state"), filepath.Join(root, "cache")
		return f, nil
	}
	for _, x := range []struct {
		to       *string
		variable string
		below    string
	}{
		{&f.Config, "XDG_CONFIG_HOME", ".config"},
		{&f.State, "XDG_STATE_HOME", filepath.Join(".local", "state")},
		{&f.Cache, "XDG_CACHE_HOME", ".cache"},
	} {
		base := getenv(x.variable)
		if !filepath.IsAbs(base) { // relative values are to be ignored, says the XDG specification
			if home == "" {
				return f, &client.Error{
					Op: "find the configuration", Code: client.CodeConfig,
					Message: "there is no home folder", Hint: "set HOME or ABXDASH_HOME",
				}
			}
			base = filepath.Join(home, x.below)
		}
		*x.to = filepath.Join(base, "abxdash")
	}
	return f, nil
}

// File is the configuration file.
func (f Folders) File() string { return filepath.Join(f.Config, "config.yaml") }

// Log is the log file.
func (f Folders) Log() string { return filepath.Join(f.State, "abxdash.log") }

// Recordings is the folder of recorded shells.
func (f Folders) Recordings() string { return filepath.Join(f.State, "recordings") }

// HomeEnv is ~/.abx/.env, "" without a home. It is only ever read.
func (f Folders) HomeEnv() string {
	if f.Home == "" {
		return ""
	}
	return filepath.Join(f.Home, ".abx", ".env")
}

// Config is the configuration file. The zero value is the default.
type Config struct {
	// DefaultProvider is what create uses when no flag says otherwise.
	DefaultProvider string `yaml:"default_provider"`
	// MinIsolation is the weakest level a local sandbox may have.
	MinIsolation client.Isolation `yaml:"min_isolation"`
	// LocalImage is what local sandboxes of level container run in; "" is debian:stable-slim.
	LocalImage string `yaml:"local_image"`
	// Theme is the name of a theme; auto follows the terminal's background.
	Theme string `yaml:"theme"`
	// Language is that of the dashboard, such as en or zh; "" follows the locale.
	Language string `yaml:"language"`
	// Keymap is the preset that Keys change: default, vim or emacs.
	Keymap string `yaml:"keymap"`
	// Rates, Strays and Attention are explained at their types.
	Rates     Rates     `yaml:"rates"`
	Strays    Strays    `yaml:"strays"`
	Attention Attention `yaml:"attention"`
	// KillLimit is how many sandboxes one kill sheet may hold; 0 is the usual 200.
	KillLimit int `yaml:"kill_limit"`
	// ASCII draws without box characters and symbols.
	ASCII bool `yaml:"ascii"`
	// NoMouse leaves the mouse to the terminal.
	NoMouse bool `yaml:"no_mouse"`
	// ReadOnly is --read-only for good.
	ReadOnly bool `yaml:"read_only"`
	// Leader begins the keys of shells, such as ctrl+a; "" is ctrl+].
	Leader string `yaml:"leader"`
	// Keys are the user's own keys by action.
	Keys map[string][]string `yaml:"keys"`
	// Providers are further services and profiles, by name, such as "lab" or
	// "team-b@alicloud-express".
	Providers map[string]Provider `yaml:"providers"`
	// TemplateFolders are folders in which the dashboard looks for template
	// folders besides the current one: absolute, or from ~/ on.
	TemplateFolders []string `yaml:"template_folders"`
	// PluginCatalog is the address of the list that `provider install registry:…`
	// looks names up in; "" is none.
	PluginCatalog string `yaml:"plugin_catalog"`
}

// nameRE is the form of a provider's name.
var nameRE = regexp.MustCompile(`^[a-z0-9][a-z0-9.@_-]{0,62}$`)

// maxFile bounds the configuration file.
const maxFile = 1 << 20

// Read reads the file; one that is not there is the default. Unknown keys are
// errors, so that a typing error does not silently change nothing.
func Read(path string) (Config, error) {
	var c Config
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return c, nil
	}
	if err == nil && info.Size() > maxFile {
		return c, fileError(path, "it is over 1 MiB")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return c, &client.Error{Op: "read the configuration", Code: client.CodeConfig, Message: client.OneLine(err.Error(), 300), Err: err}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithKnownFields())
	if err != nil {
		return c, fileError(path, client.OneLine(err.Error(), 300))
	}
	if err := loader.Load(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, fileError(path, client.OneLine(err.Error(), 300))
	}
	if err := c.check(); err != nil {
		return Config{}, fileError(path, err.Error())
	}
	return c, nil
}

func fileError(path, why string) error {
	return &client.Error{Op: "read the configuration", Code: client.CodeConfig, Message: client.OneLine(path, 200) + ": " + why}
}

func (c Config) check() error {
	if err := c.checkDashboard(); err != nil {
		return err
	}
	levels := []client.Isolation{"", client.IsolationProcess, client.IsolationLandlock, client.IsolationNamespace, client.IsolationContainer}
	if !slices.Contains(levels, c.MinIsolation) {
		return fmt.Errorf("min_isolation is one of process, process+landlock, namespace, container, not %q", client.OneLine(string(c.MinIsolation), 40))
	}
	for _, dir := range c.TemplateFolders {
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/") {
			return fmt.Errorf("template_folders: %q is neither absolute nor from ~/ on", client.OneLine(dir, 100))
		}
	}
	for name, p := range c.Providers {
		switch {
		case !nameRE.MatchString(name):
			return fmt.Errorf("%q is no name for a provider (small letters, digits, and . @ _ -)", client.OneLine(name, 40))
		case name == "local":
			return errors.New("the provider local cannot be changed")
		}
		if err := p.check(name); err != nil {
			return err
		}
	}
	return nil
}

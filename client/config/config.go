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
	// Theme is auto, dark or light.
	Theme string `yaml:"theme"`
	// ASCII draws without box characters and symbols.
	ASCII bool `yaml:"ascii"`
	// NoMouse leaves the mouse to the terminal.
	NoMouse bool `yaml:"no_mouse"`
	// ReadOnly is --read-only for good.
	ReadOnly bool `yaml:"read_only"`
	// Keys are the user's own keys by action.
	Keys map[string][]string `yaml:"keys"`
	// Providers are further services that speak the E2B dialect, by name.
	Providers map[string]Provider `yaml:"providers"`
}

// Provider is one service of the configuration file. Its key is never here: it
// is ABX_<NAME>_API_KEY (package credentials).
type Provider struct {
	// Type is the dialect; only "e2b" so far, which is also the default.
	Type    string `yaml:"type"`
	APIURL  string `yaml:"api_url"`
	Domain  string `yaml:"domain"`
	DataURL string `yaml:"data_url"`
	// AllowHTTP permits plain http beyond loopback addresses.
	AllowHTTP bool `yaml:"allow_http"`
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
	if !slices.Contains([]string{"", "auto", "dark", "light"}, c.Theme) {
		return fmt.Errorf("theme is auto, dark or light, not %q", client.OneLine(c.Theme, 40))
	}
	levels := []client.Isolation{"", client.IsolationProcess, client.IsolationLandlock, client.IsolationNamespace, client.IsolationContainer}
	if !slices.Contains(levels, c.MinIsolation) {
		return fmt.Errorf("min_isolation is one of process, process+landlock, namespace, container, not %q", client.OneLine(string(c.MinIsolation), 40))
	}
	for name, p := range c.Providers {
		switch {
		case !nameRE.MatchString(name):
			return fmt.Errorf("%q is no name for a provider (small letters, digits, and . @ _ -)", client.OneLine(name, 40))
		case name == "local":
			return errors.New("the provider local cannot be changed")
		case p.Type != "" && p.Type != "e2b":
			return fmt.Errorf("provider %s: type %q is not known, only e2b", name, client.OneLine(p.Type, 40))
		}
	}
	return nil
}

package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v4"

	"abxdash/client"
)

// Kinds of plug-in.
const (
	KindExec = "exec"
	KindREST = "rest"
	KindNode = "node"
	// KindPython exists elsewhere and cannot be installed.
	KindPython = "python"
)

// Manifest is provider.toml, provider.yaml or provider.yml.
type Manifest struct {
	ID      string `toml:"id" yaml:"id"`
	Version string `toml:"version" yaml:"version"`
	Kind    string `toml:"kind" yaml:"kind"`
	Title   string `toml:"title" yaml:"title"`
	// Command starts a plug-in of kind exec; a relative first word is a file of the plug-in.
	Command []string `toml:"command" yaml:"command"`
	// Entry is the file that node runs.
	Entry string `toml:"entry" yaml:"entry"`
	// BaseURL is where a plug-in of kind rest is; Key names the variable whose
	// value it gets as a bearer token.
	BaseURL   string `toml:"base_url" yaml:"base_url"`
	Key       string `toml:"key" yaml:"key"`
	AllowHTTP bool   `toml:"allow_http" yaml:"allow_http"`
	// Environment is all that a program gets to see of the environment.
	Environment  []Variable        `toml:"environment" yaml:"environment"`
	Capabilities []string          `toml:"capabilities" yaml:"capabilities"`
	Template     *TemplateProfile  `toml:"template" yaml:"template"`
	Extra        map[string]string `toml:"extra" yaml:"extra"`
}

// Variable is one variable that a plug-in needs or may use.
type Variable struct {
	Name        string `toml:"name" yaml:"name"`
	Required    bool   `toml:"required" yaml:"required"`
	Description string `toml:"description" yaml:"description"`
}

// TemplateProfile says what images of templates look like there.
type TemplateProfile struct {
	// Base is the image that their Dockerfiles begin with, "" for the usual one.
	Base string `toml:"base" yaml:"base"`
}

// check refuses what would not end up as one word of a Dockerfile.
func (p *TemplateProfile) check(id string) error {
	if p != nil && p.Base != "" && !imageRE.MatchString(p.Base) {
		return bad("the template base of %s, %q, is no name of an image", id, client.OneLine(p.Base, 60))
	}
	return nil
}

var (
	idRE = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	// imageRE is the form of a reference to an image.
	imageRE = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,254}$`)
	varRE   = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,99}$`)
)

// manifestNames are the files that are looked for, in this order.
func manifestNames() []string { return []string{"provider.toml", "provider.yaml", "provider.yml"} }

// maxManifest bounds a manifest.
const maxManifest = 1 << 20

// ReadManifest reads the manifest of a folder.
func ReadManifest(dir string) (Manifest, error) {
	for _, name := range manifestNames() {
		info, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxManifest {
			return Manifest{}, bad("%s cannot be read as a manifest", name)
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return Manifest{}, bad("%s cannot be read", name)
		}
		return ParseManifest(name, data)
	}
	return Manifest{}, bad("there is no provider.toml or provider.yaml in %s", client.OneLine(dir, 120))
}

// ParseManifest reads a manifest and checks it. Fields that are not known are
// no error: manifests of other tools have their own.
func ParseManifest(name string, data []byte) (Manifest, error) {
	var m Manifest
	if strings.HasSuffix(name, ".toml") {
		if _, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&m); err != nil {
			return m, bad("%s: %s", name, client.OneLine(err.Error(), 200))
		}
	} else if err := yaml.Unmarshal(data, &m); err != nil {
		return m, bad("%s: %s", name, client.OneLine(err.Error(), 200))
	}
	return m, m.check()
}

func (m Manifest) check() error {
	switch {
	case !idRE.MatchString(m.ID):
		return bad("the id %q is not small letters, digits and -", client.OneLine(m.ID, 40))
	case m.Version == "":
		return bad("%s has no version", m.ID)
	case m.Kind == KindPython:
		e := bad(`%s is of kind "python", which cannot be installed`, m.ID)
		e.Code, e.Kind = client.CodeUnsupported, client.ErrUnsupported
		e.Hint = "an in-code Provider subclass works from the Python SDK only; here a plug-in is exec, rest or node"
		return e
	case m.Kind == KindExec && len(m.Command) == 0:
		return bad("%s is of kind exec and has no command", m.ID)
	case m.Kind == KindNode && m.Entry == "" && len(m.Command) == 0:
		return bad("%s is of kind node and has no entry", m.ID)
	case m.Kind == KindREST:
		if err := m.checkURL(); err != nil {
			return err
		}
	case !slices.Contains([]string{KindExec, KindNode}, m.Kind):
		return bad("%s is of kind %q; exec, rest and node are known", m.ID, client.OneLine(m.Kind, 40))
	}
	names := []string{}
	for _, v := range m.Environment {
		names = append(names, v.Name)
	}
	if m.Key != "" {
		names = append(names, m.Key)
	}
	if err := m.Template.check(m.ID); err != nil {
		return err
	}
	for _, name := range names {
		if !varRE.MatchString(name) {
			return bad("%s declares %q, which is no name of a variable", m.ID, client.OneLine(name, 40))
		}
		if theirs(name) {
			return bad("%s declares %s, which plug-ins never get", m.ID, name)
		}
	}
	return nil
}

// theirs are variables that no plug-in gets: the keys of Express, and what
// abxdash never reads.
func theirs(name string) bool {
	for _, p := range []string{"E2B_", "SANDBOX_", "ABX_SANDBOX_", "ALICLOUD_ACCESS_KEY_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// checkURL refuses addresses that would send a key in the clear.
func (m Manifest) checkURL() error {
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return bad("the base_url of %s is no https address", m.ID)
	}
	host := u.Hostname()
	if u.Scheme == "http" && host != "localhost" && host != "127.0.0.1" && host != "::1" && !m.AllowHTTP {
		return bad("the base_url of %s is plain http to another machine", m.ID)
	}
	return nil
}

func bad(format string, args ...any) *client.Error {
	return &client.Error{Op: "read the plug-in", Code: client.CodeConfig, Message: fmt.Sprintf(format, args...)}
}

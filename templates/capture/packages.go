package capture

import (
	"context"
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"abxdash/templates/scaffold"
)

// maxPackages bounds each list of packages.
const maxPackages = 300

// pythonPackages lists what Python finds, with when it came and its programs.
//
//go:embed packages.py
var pythonPackages string

// nodePackages lists what npm installed for everybody.
//
//go:embed packages.js
var nodePackages string

// installed is one package as the two lists tell it.
type installed struct {
	Name, Version string
	// Changed is when it came, in seconds since 1970.
	Changed float64
	// Local is a package that comes from no registry.
	Local bool
	// Files are programs of it, absolute.
	Files []string
}

// packages finds out what was installed since the sandbox was made. A sandbox
// without the tool has none.
func (c *capture) packages(ctx context.Context, since time.Time) error {
	c.owned = map[string]bool{}
	python, err := c.ask(ctx, "python3", "-B", "-c", pythonPackages)
	if err != nil {
		return err
	}
	node, err := c.ask(ctx, "node", "-e", nodePackages)
	if err != nil {
		return err
	}
	c.out.Python = c.named(python, since, "==", scaffold.PythonPackage)
	c.out.Node = c.named(node, since, "@", scaffold.NodePackage)
	return nil
}

// ask runs one of the lists. That it fails says only that there is nothing.
func (c *capture) ask(ctx context.Context, argv ...string) ([]installed, error) {
	text, ok, err := c.run(ctx, append([]string{"/bin/sh", "-c", `command -v "$1" >/dev/null && exec "$@"`, "sh"}, argv...)...)
	if err != nil {
		return nil, err
	}
	var list []installed
	if ok {
		_ = json.Unmarshal([]byte(text), &list) // what is no list is an empty one
	}
	return list, nil
}

// named picks the new packages and words them, "name==version".
func (c *capture) named(list []installed, since time.Time, between string, good func(text string) bool) []string {
	var out []string
	for _, p := range list {
		text := p.Name + between + p.Version
		switch {
		case p.Changed < float64(since.UnixMicro())/1e6, strings.EqualFold(strings.ReplaceAll(p.Name, "_", "-"), "agent-sandbox-server"):
			continue
		case p.Local:
			c.leave(text, "a package that comes from no registry")
			continue
		case !good(text):
			c.leave(text, "a package with an odd name")
			continue
		case len(out) >= maxPackages:
			c.leave(text, "over %d packages", maxPackages)
			continue
		}
		for _, f := range p.Files {
			if rel, ok := strings.CutPrefix(f, c.out.Home+"/"); ok {
				c.owned[rel] = true
			}
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// nodeFolders are folders whose package.json is taken and whose packages had
// been installed there.
func (c *capture) nodeFolders(all []candidate) {
	for _, f := range all {
		dir := path.Dir(f.path)
		taken := func(s scaffold.File) bool { return s.Path == path.Join(dir, "package.json") }
		if f.dir && path.Base(f.path) == "node_modules" && scaffold.PlainPath(dir) && slices.ContainsFunc(c.out.Files, taken) {
			c.out.NodeFolders = append(c.out.NodeFolders, dir)
		}
	}
}

// Package capture finds out what somebody did in a running sandbox: the files
// of its home and the packages that came since it was made. It only reads. What
// should not be part of a template is left out and named.
package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"abxdash/client"
	"abxdash/templates"
	"abxdash/templates/scaffold"
)

// Limits on what is taken. What is over them is left out and named.
const (
	MaxFile  = 16 << 20
	MaxTotal = 64 << 20
	MaxFiles = 2000
	// parallel is how many files are read at once.
	parallel = 6
)

// Options say what is taken.
type Options struct {
	// All takes every file of the home, not only those that came or changed
	// since the sandbox was made.
	All bool
	// Say is told what happens, one clean line each; nil is fine.
	Say func(line string)
}

// Found is what a sandbox has. It fits [scaffold.Options].
type Found struct {
	scaffold.Changes
	// Home is the sandbox's home.
	Home string
	// Left lists what was left out.
	Left []Left
}

// Left is one thing that was left out, and why. Both texts are clean.
type Left struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// candidate is one file of the home before anything is read of it.
type candidate struct {
	// path is relative to the home.
	path string
	size int64
	mode fs.FileMode
	link bool
	// dir is a folder that was not entered, other what is neither.
	dir, other bool
	changed    time.Time
}

// Run looks at a sandbox. The error is about the sandbox; an empty result is none.
func Run(ctx context.Context, p client.Provider, sb client.Sandbox, o Options) (Found, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	for _, need := range []client.Capability{client.CapCommands, client.CapFiles} {
		if err := p.Capabilities().Missing(p.Name(), need); err != nil {
			return Found{}, err
		}
	}
	c := &capture{p: p, id: sb.ID, o: o, since: sb.StartedAt}
	if o.All {
		c.since = time.Time{}
	}
	all, err := c.list(ctx)
	if err != nil {
		return Found{}, err
	}
	if err := c.packages(ctx, sb.StartedAt); err != nil {
		return Found{}, err
	}
	chosen := c.choose(all)
	o.Say(fmt.Sprintf("reading %d files of %s", len(chosen), client.OneLine(c.out.Home, 80)))
	if err := c.read(ctx, chosen); err != nil {
		return Found{}, err
	}
	c.nodeFolders(all)
	slices.SortFunc(c.out.Left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return c.out, nil
}

type capture struct {
	p     client.Provider
	id    client.ID
	o     Options
	since time.Time
	out   Found
	// owned are paths of the home that installing packages makes again.
	owned map[string]bool
}

func (c *capture) leave(name, why string, args ...any) {
	c.out.Left = append(c.out.Left, Left{Path: client.OneLine(name, 200), Why: client.OneLine(fmt.Sprintf(why, args...), 120)})
}

// choose leaves out what does not belong into a template.
func (c *capture) choose(all []candidate) []candidate {
	var out []candidate
	var total int64
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.path, b.path) })
	for _, f := range all {
		if f.changed.Before(c.since) || c.owned[f.path] || trace(f.path) {
			continue
		}
		switch why := refused(f); {
		case why != "":
			c.leave(f.path, "%s", why)
		case f.size > MaxFile:
			c.leave(f.path, "over %d MiB", MaxFile>>20)
		case total+f.size > MaxTotal:
			c.leave(f.path, "over %d MiB all together", MaxTotal>>20)
		case len(out) >= MaxFiles:
			c.leave(f.path, "over %d files", MaxFiles)
		default:
			total += f.size
			out = append(out, f)
		}
	}
	return out
}

// refused says why a file is no part of a template, "" if it is.
func refused(f candidate) string {
	switch {
	case f.dir && path.Base(f.path) == "node_modules":
		return "packages, which npm install makes again"
	case f.dir:
		return "a folder that belongs to a tool, or to one machine"
	case f.link:
		return "a link"
	case f.other:
		return "neither a file nor a folder"
	case !plain(f.path):
		return "its name cannot be kept on every machine"
	}
	if why := templates.SecretFile(f.path); why != "" {
		return "looks like a secret: " + why
	}
	return ""
}

// plain reports whether a name from a sandbox may become a name on this
// machine, and a line of a list.
func plain(name string) bool {
	if !utf8.ValidString(name) || !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, `\:*?"<>|`) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// trace tells files that tools leave behind by themselves. They are not even named.
func trace(name string) bool {
	base := path.Base(name)
	if strings.HasSuffix(base, ".pyc") || strings.HasSuffix(base, ".swp") || strings.HasSuffix(base, "~") {
		return true
	}
	switch base {
	case ".bash_history", ".python_history", ".node_repl_history", ".viminfo", ".lesshst", ".wget-hsts", ".sudo_as_admin_successful", ".DS_Store":
		return true
	}
	return false
}

// read gets the files, several at once, in their order.
func (c *capture) read(ctx context.Context, list []candidate) error {
	files := make([]*scaffold.File, len(list))
	why := make([]string, len(list))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, f := range list {
		g.Go(func() (err error) {
			files[i], why[i], err = c.file(gctx, f)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, f := range files {
		if f == nil {
			c.leave(list[i].path, "%s", why[i])
			continue
		}
		c.out.Files = append(c.out.Files, *f)
	}
	return nil
}

// file reads one; why says why it is left out after all.
func (c *capture) file(ctx context.Context, f candidate) (file *scaffold.File, why string, err error) {
	r, err := c.p.Files().Open(ctx, c.id, path.Join(c.out.Home, f.path))
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		return nil, "it could not be read", nil
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case err != nil:
		return nil, "it could not be read", nil
	case len(data) > MaxFile:
		return nil, "it grew while it was read", nil
	}
	if kind := templates.SecretText(string(data)); kind != "" && bytes.IndexByte(data, 0) < 0 {
		return nil, "looks like it holds " + kind, nil
	}
	return &scaffold.File{Path: f.path, Data: data, Exec: f.mode&0o111 != 0}, "", nil
}

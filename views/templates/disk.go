package templates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/fsnotify/fsnotify"

	tpl "abxdash/templates"
)

const (
	// scanDepth is how deep below a root folders are looked for, maxFolders and
	// maxLooked how many are found and looked into at most.
	scanDepth  = 2
	maxFolders = 200
	maxLooked  = 2000
	// settle is how long the disk must be quiet: editors save in several steps.
	settle = 300 * time.Millisecond
	// maxHead bounds what is read of a Dockerfile to see what it is for.
	maxHead = 64 << 10
)

// folder is one template folder on this machine.
type folder struct {
	dir string
	// stamp changes when one of its files does.
	stamp string
	// changed is the time of the newest one.
	changed time.Time
	// express tells that the Dockerfile begins with a base image of Express, or
	// that there is none to tell by.
	express bool
	// report is nil until it was linted; err is why it could not be.
	report *tpl.Report
	err    error
}

// name is the template's name, "" if it is not known.
func (f *folder) name() string {
	if f.report == nil || f.report.Template == nil {
		return ""
	}
	return f.report.Template.Name
}

// catalogue is the template folders below some roots, as one screen sees them.
type catalogue struct {
	m       *Manager
	ctx     context.Context
	roots   []string
	folders []*folder
	version uint64
	scanned bool
	// linting is set while folders are linted, one after the other.
	linting bool
	// notes are roots that cannot be read.
	notes []string
	// watched is nil until the roots are watched; unwatched is why they are not.
	watched   *fsnotify.Watcher
	unwatched error
}

// scanMsg is what a walk found, lintMsg the lint of one folder, diskMsg says
// that something was saved.
type (
	scanMsg struct {
		cat     *catalogue
		folders []*folder
		notes   []string
	}
	lintMsg struct {
		cat    *catalogue
		dir    string
		stamp  string
		target string
		report tpl.Report
		err    error
	}
	diskMsg struct {
		cat *catalogue
		err error
	}
	// armedMsg says that the roots are watched.
	armedMsg struct {
		cat   *catalogue
		watch *fsnotify.Watcher
		err   error
	}
)

func newCatalogue(m *Manager, ctx context.Context) *catalogue {
	c := &catalogue{m: m, ctx: ctx}
	for _, dir := range append([]string{m.opt.Dir}, m.opt.Folders...) {
		if dir != "" && !slices.Contains(c.roots, dir) {
			c.roots = append(c.roots, dir)
		}
	}
	return c
}

// scan walks the roots.
func (c *catalogue) scan() tea.Cmd {
	ctx, roots := c.ctx, c.roots
	return func() tea.Msg {
		m := scanMsg{cat: c}
		for _, root := range roots {
			found, err := walk(ctx, root)
			if err != nil {
				m.notes = append(m.notes, fmt.Sprintf("%s: %s", root, err))
			}
			for _, f := range found {
				if len(m.folders) < maxFolders && !slices.ContainsFunc(m.folders, func(o *folder) bool { return o.dir == f.dir }) {
					m.folders = append(m.folders, f)
				}
			}
		}
		return m
	}
}

// walk finds template folders in root and below it.
func walk(ctx context.Context, root string) ([]*folder, error) {
	var out []*folder
	looked := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == root:
			return errors.Unwrap(err)
		case err != nil:
			return fs.SkipDir
		case !d.IsDir():
			return nil
		case path != root && skipped(d.Name()):
			return fs.SkipDir
		}
		if looked++; looked > maxLooked {
			return fs.SkipAll
		}
		if f := look(path); f != nil {
			out = append(out, f)
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(root, path); err == nil && rel != "." && strings.Count(rel, string(filepath.Separator))+1 >= scanDepth {
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

func skipped(name string) bool {
	switch name {
	case "node_modules", "__pycache__", "testdata":
		return true
	}
	return strings.HasPrefix(name, ".")
}

// look is the template folder at path, nil if it is none.
func look(path string) *folder {
	f := &folder{dir: path, express: true}
	here := false
	for _, name := range []string{tpl.FileTemplate, tpl.FileDockerfile, tpl.FileCommands, tpl.FileIgnore} {
		info, err := os.Lstat(filepath.Join(path, name))
		if err != nil {
			continue
		}
		here = here || name == tpl.FileTemplate
		f.stamp += fmt.Sprintf("%s %d %d;", name, info.Size(), info.ModTime().UnixNano())
		if info.ModTime().After(f.changed) {
			f.changed = info.ModTime()
		}
	}
	if !here {
		return nil
	}
	f.express = forExpress(path)
	return f
}

// forExpress reads the last FROM of a folder's Dockerfile. One that starts the
// server itself, from another base, is for another provider.
func forExpress(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return true
	}
	defer root.Close()
	data, err := tpl.ReadSmall(root, tpl.FileDockerfile, maxHead)
	if err != nil {
		return true
	}
	from, starts := "", false
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && strings.EqualFold(words[0], "FROM"):
			from, starts = words[1], false
		case len(words) > 1 && (strings.EqualFold(words[0], "CMD") || strings.EqualFold(words[0], "ENTRYPOINT")):
			starts = true
		}
	}
	return !starts || strings.HasPrefix(from, "fc-e2b-registry")
}

// Update takes what the disk says.
func (c *catalogue) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case scanMsg:
		if msg.cat == c {
			return c.found(msg)
		}
	case lintMsg:
		if msg.cat == c {
			return c.linted(msg)
		}
	case armedMsg:
		if msg.cat == c {
			c.watched, c.unwatched = msg.watch, msg.err
			return tea.Batch(c.scan(), c.wait())
		}
	case diskMsg:
		if msg.cat != c {
			return nil
		}
		if msg.err != nil {
			c.unwatched = msg.err
			return nil
		}
		return tea.Batch(c.scan(), c.wait())
	}
	return nil
}

// found takes over a walk; what is known of unchanged folders stays.
func (c *catalogue) found(msg scanMsg) tea.Cmd {
	for _, f := range msg.folders {
		if old := c.get(f.dir); old != nil {
			// What is known of the old files stays on screen until the new are linted.
			f.report, f.err = old.report, old.err
			if old.stamp != f.stamp {
				f.stamp = "new " + f.stamp
			}
		} else {
			f.stamp = "new " + f.stamp
		}
	}
	c.folders, c.notes = msg.folders, msg.notes
	c.scanned = true
	c.version++
	return tea.Batch(c.lintNext(), c.addFolders())
}

func (c *catalogue) get(dir string) *folder {
	for _, f := range c.folders {
		if f.dir == dir {
			return f
		}
	}
	return nil
}

// lintNext lints the next folder that changed; one at a time, because each
// starts a python3.
func (c *catalogue) lintNext() tea.Cmd {
	if c.linting {
		return nil
	}
	for _, f := range c.folders {
		stamp, isNew := strings.CutPrefix(f.stamp, "new ")
		if !isNew {
			continue
		}
		c.linting = true
		target := c.m.targetOf(f)
		msg, ctx, o := lintMsg{cat: c, dir: f.dir, stamp: stamp, target: target}, c.ctx, c.m.opt.lint(target)
		return func() tea.Msg {
			msg.report, msg.err = tpl.Lint(ctx, msg.dir, o)
			return msg
		}
	}
	return nil
}

func (c *catalogue) linted(msg lintMsg) tea.Cmd {
	c.linting = false
	f := c.get(msg.dir)
	if f != nil && c.m.targetOf(f) == msg.target {
		if f.report, f.err = &msg.report, msg.err; msg.err != nil {
			f.report = nil
		}
		if f.stamp == "new "+msg.stamp {
			f.stamp = msg.stamp
		}
		c.version++
	}
	return c.lintNext()
}

// relint makes a folder due again, e.g. for another target.
func (c *catalogue) relint(dir string) tea.Cmd {
	if f := c.get(dir); f != nil && !strings.HasPrefix(f.stamp, "new ") {
		f.stamp = "new " + f.stamp
	}
	c.version++
	return c.lintNext()
}

// arm begins to watch the roots; template folders are added as they are found.
// Nothing is watched below them: a current folder may be a whole home.
func (c *catalogue) arm() tea.Cmd {
	if c.m.opt.NoWatch {
		return c.scan()
	}
	ctx, roots := c.ctx, c.roots
	return func() tea.Msg {
		w, err := fsnotify.NewWatcher()
		if err != nil {
			return armedMsg{cat: c, err: err}
		}
		context.AfterFunc(ctx, func() { _ = w.Close() }) // nothing is left to be lost
		err = addAll(w, roots)
		return armedMsg{cat: c, watch: w, err: err}
	}
}

// addAll watches folders. One that has gone meanwhile has nothing to say.
func addAll(w *fsnotify.Watcher, dirs []string) error {
	for _, d := range dirs {
		if err := w.Add(d); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fsnotify.ErrClosed) {
			return err
		}
	}
	return nil
}

// addFolders watches the template folders.
func (c *catalogue) addFolders() tea.Cmd {
	if c.watched == nil {
		return nil
	}
	w := c.watched
	var dirs []string
	for _, f := range c.folders {
		dirs = append(dirs, f.dir)
	}
	return func() tea.Msg {
		if err := addAll(w, dirs); err != nil {
			return diskMsg{cat: c, err: err}
		}
		return nil
	}
}

// wait returns the next save once all is quiet again.
func (c *catalogue) wait() tea.Cmd {
	if c.watched == nil {
		return nil
	}
	ctx, w := c.ctx, c.watched
	return func() tea.Msg {
		err := waitForSave(ctx, w)
		if ctx.Err() != nil {
			return nil
		}
		return diskMsg{cat: c, err: err}
	}
}

func waitForSave(ctx context.Context, w *fsnotify.Watcher) error {
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err, open := <-w.Errors:
			if !open {
				return context.Canceled
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
			quiet.Reset(settle)
		case ev, open := <-w.Events:
			if !open {
				return context.Canceled
			}
			if ev.Op != fsnotify.Chmod && !editorsOwn(filepath.Base(ev.Name)) {
				quiet.Reset(settle)
			}
		case <-quiet.C:
			return nil
		}
	}
}

// editorsOwn reports files that editors make beside the one they save.
func editorsOwn(name string) bool {
	return strings.HasSuffix(name, "~") || strings.HasPrefix(name, ".#") || strings.HasSuffix(name, ".swp") || strings.HasSuffix(name, ".swx") || name == "4913"
}

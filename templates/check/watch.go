package check

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"abxdash/client"
)

// settle is how long a folder must be quiet before a change counts as saved:
// editors write a file in several steps.
const settle = 300 * time.Millisecond

// Watch calls changed after each save below dir, until ctx ends. Calls do not
// overlap; what is saved during one leads to one more.
func Watch(ctx context.Context, dir string, changed func()) error {
	const op = "watch the template folder"
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &client.Error{Op: op, Code: client.CodeFiles, Err: err}
	}
	defer w.Close()
	if err := addAll(w, dir); err != nil {
		return &client.Error{Op: op, Code: client.CodeFiles, Err: err}
	}
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				quiet.Reset(settle)
				continue
			}
			return &client.Error{Op: op, Code: client.CodeFiles, Err: err}
		case ev := <-w.Events:
			if ignored(ev) {
				continue
			}
			if ev.Has(fsnotify.Create) {
				_ = addAll(w, ev.Name) // a file, or gone again: nothing to watch below it
			}
			quiet.Reset(settle)
		case <-quiet.C:
			changed()
		}
	}
}

// ignored leaves out what is no save: modes, editors' own files, caches.
func ignored(ev fsnotify.Event) bool {
	if ev.Op == fsnotify.Chmod {
		return true
	}
	name := filepath.Base(ev.Name)
	return strings.HasSuffix(name, "~") || strings.HasPrefix(name, ".#") || strings.HasSuffix(name, ".swp") ||
		strings.HasSuffix(name, ".swx") || name == "4913" || skipped(name)
}

func skipped(name string) bool {
	switch name {
	case ".git", "__pycache__", "node_modules", ".venv":
		return true
	}
	return false
}

// addAll watches dir and all folders below it.
func addAll(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if path == dir {
				return err
			}
			return nil
		case !d.IsDir():
			return nil
		case path != dir && skipped(d.Name()):
			return fs.SkipDir
		}
		return w.Add(path)
	})
}

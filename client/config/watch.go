package config

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must be quiet before it is read again: editors
// write in several steps.
const settle = 150 * time.Millisecond

// Watch calls changed with the new configuration, or with why it cannot be
// taken, whenever the file was changed, until ctx ends. It watches the folder,
// because many editors put a new file in the place of the old one. A folder
// that does not exist is not watched: looking makes nothing.
func Watch(ctx context.Context, path string, changed func(Config, error)) {
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return // without a watch the file counts from the next start on
	}
	defer func() { _ = w.Close() }() // nothing is written through it
	if w.Add(dir) != nil {
		return
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if filepath.Base(e.Name) == filepath.Base(path) && !e.Has(fsnotify.Chmod) {
				quiet.Reset(settle)
			}
		case _, ok := <-w.Errors:
			if !ok {
				return
			}
		case <-quiet.C:
			changed(Read(path))
		}
	}
}

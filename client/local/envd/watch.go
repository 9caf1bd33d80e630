package envd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"abxdash/client/envdpb/filesystem"

	"connectrpc.com/connect"
	"github.com/fsnotify/fsnotify"
)

// dirWatch follows the changes below one directory.
type dirWatch struct {
	s   *Server
	fsw *fsnotify.Watcher
	// root is the watched directory without links, shown as it was asked for.
	root, shown  string
	recursive    bool
	includeEntry bool
	// renamed holds, by directory, the prefix of the unfinished upload that was
	// renamed last: the next name made there is its target.
	renamed map[string]string
}

// watchOptions is what WatchDir and CreateWatcher are asked for.
type watchOptions interface {
	GetPath() string
	GetRecursive() bool
	GetIncludeEntry() bool
	GetAllowNetworkMounts() bool
}

// newDirWatch begins to watch; close ends it.
func (s *Server) newDirWatch(opts watchOptions, u User) (*dirWatch, error) {
	path, err := s.resolveRPC(opts.GetPath(), u)
	if err != nil {
		return nil, err
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	switch {
	case dir.networked() && !opts.GetAllowNetworkMounts():
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%s is on a network file system, where changes by others go unseen", path))
	case dir.pseudo():
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%s shows the kernel, which reports no changes", path))
	}
	fsw, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, watchError(path, err)
	}
	w := &dirWatch{
		s: s, fsw: fsw, root: dir.real, shown: path,
		recursive: opts.GetRecursive(), includeEntry: opts.GetIncludeEntry(),
		renamed: map[string]string{},
	}
	if _, err := w.add(dir); err != nil {
		w.close()
		return nil, watchError(path, err)
	}
	return w, nil
}

// watchError says what a failed watch means to the caller.
func watchError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("no watches left for %s: %w", path, err))
	}
	return connect.NewError(connect.CodeInternal, fmt.Errorf("watching %s: %w", path, err))
}

func (w *dirWatch) close() { _ = w.fsw.Close() }

// add watches a directory and, if asked for, those below it. It returns the
// paths of what it found below.
func (w *dirWatch) add(dir *handle) (found []string, err error) {
	if err := w.fsw.Add(dir.real); err != nil || !w.recursive {
		return nil, err
	}
	entries, err := os.ReadDir(dir.sys)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		found = append(found, filepath.Join(dir.real, entry.Name()))
		if !entry.IsDir() {
			continue
		}
		sub, err := openHandleAt(dir, entry.Name(), noFollow)
		if err != nil {
			continue
		}
		var below []string
		if !sub.pseudo() {
			below, err = w.add(sub)
		}
		sub.close()
		found = append(found, below...)
		// A directory that vanished or is closed to us is not watched; running
		// out of watches is a fault of the whole.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return found, nil
}

// side is one of the things that a change can be.
type side struct {
	op   fsnotify.Op
	kind filesystem.EventType
}

// sides is how one change that has several is told (e2b-protocol §10.2).
func sides() [5]side {
	return [...]side{
		{fsnotify.Create, filesystem.EventType_EVENT_TYPE_CREATE},
		{fsnotify.Rename, filesystem.EventType_EVENT_TYPE_RENAME},
		{fsnotify.Chmod, filesystem.EventType_EVENT_TYPE_CHMOD},
		{fsnotify.Write, filesystem.EventType_EVENT_TYPE_WRITE},
		{fsnotify.Remove, filesystem.EventType_EVENT_TYPE_REMOVE},
	}
}

// translate turns one change into the events that it means.
func (w *dirWatch) translate(ev fsnotify.Event) ([]*filesystem.FilesystemEvent, error) {
	dir, name := filepath.Split(ev.Name)
	if prefix := uploadPrefix(name); prefix != "" {
		if ev.Has(fsnotify.Rename) {
			w.renamed[dir] = prefix
		}
		return nil, nil
	}
	op := ev.Op
	if prefix := w.renamed[dir]; prefix != "" && op.Has(fsnotify.Create) {
		delete(w.renamed, dir)
		op |= fsnotify.Write
		if prefix == uploadOld {
			op &^= fsnotify.Create
		}
	}
	var events []*filesystem.FilesystemEvent
	for _, s := range sides() {
		if op.Has(s.op) {
			events = w.appendEvent(events, ev.Name, s.kind)
		}
	}
	if !w.recursive || !ev.Has(fsnotify.Create) {
		return events, nil
	}
	below, err := w.adopt(ev.Name)
	for _, path := range below {
		events = w.appendEvent(events, path, filesystem.EventType_EVENT_TYPE_CREATE)
	}
	return events, err
}

// uploadPrefix is the prefix of an unfinished upload's name, "" for other names.
func uploadPrefix(name string) string {
	for _, prefix := range []string{uploadNew, uploadOld} {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// adopt watches a new directory too. What was put into it before the watch
// stood is returned, so that it is told once at least.
func (w *dirWatch) adopt(path string) ([]string, error) {
	dir, err := openHandleAt(nil, path, noFollow)
	if err != nil {
		return nil, nil
	}
	defer dir.close()
	if fi, err := dir.stat(); err != nil || !fi.IsDir() || dir.pseudo() {
		return nil, nil
	}
	found, err := w.add(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return found, nil
	}
	return found, err
}

func (w *dirWatch) appendEvent(events []*filesystem.FilesystemEvent, path string, kind filesystem.EventType) []*filesystem.FilesystemEvent {
	name, err := filepath.Rel(w.root, path)
	if err != nil || name == "." || uploadPrefix(filepath.Base(path)) != "" {
		return events
	}
	event := &filesystem.FilesystemEvent{Name: utf8Text(name), Type: kind}
	if w.includeEntry && kind != filesystem.EventType_EVENT_TYPE_REMOVE && kind != filesystem.EventType_EVENT_TYPE_RENAME {
		if entry, err := w.s.describePath(path); err == nil {
			entry.Path = utf8Text(filepath.Join(w.shown, name))
			event.Entry = entry
		}
	}
	return append(events, event)
}

// errIdle is what next returns when there was nothing for a while.
var errIdle = errors.New("no changes")

// next waits for the next change, or for idle to fire. The
// errors are the RPC's; an overflow means that changes were lost.
func (w *dirWatch) next(ctx context.Context, idle <-chan time.Time) ([]*filesystem.FilesystemEvent, error) {
	select {
	case ev, ok := <-w.fsw.Events:
		if !ok {
			return nil, connect.NewError(connect.CodeUnavailable, errClosing)
		}
		events, err := w.translate(ev)
		if err != nil {
			err = watchError(w.shown, err)
		}
		return events, err
	case err, ok := <-w.fsw.Errors:
		if !ok {
			return nil, connect.NewError(connect.CodeUnavailable, errClosing)
		}
		if errors.Is(err, fsnotify.ErrEventOverflow) {
			return nil, errEventsLost()
		}
		return nil, watchError(w.shown, err)
	case <-idle:
		return nil, errIdle
	case <-ctx.Done():
		return nil, rpcContextError(ctx)
	}
}

func errEventsLost() error {
	return connect.NewError(connect.CodeResourceExhausted, errors.New("too many changes: some were lost; list the directory again"))
}

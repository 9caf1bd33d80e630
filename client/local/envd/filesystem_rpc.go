package envd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"abxdash/client/envdpb/filesystem"

	"connectrpc.com/connect"
)

// maxEntries bounds one listing: the protocol has no pages.
const maxEntries = 500_000

// filesystemService implements filesystem.Filesystem (e2b-protocol §10).
type filesystemService struct{ s *Server }

// describePath describes one path, links not followed.
func (s *Server) describePath(path string) (*filesystem.EntryInfo, error) {
	if path == string(filepath.Separator) {
		root, err := openHandle(path)
		if err != nil {
			return nil, err
		}
		defer root.close()
		return s.newDescriber().entry(root, ".", path)
	}
	p, err := openPlace(path)
	if err != nil {
		return nil, shownAs(err, path)
	}
	defer p.close()
	return s.newDescriber().entry(p.parent, p.name, path)
}

// Stat describes one entry.
func (f *filesystemService) Stat(ctx context.Context, req *connect.Request[filesystem.StatRequest]) (*connect.Response[filesystem.StatResponse], error) {
	path, err := f.s.resolveRPC(req.Msg.GetPath(), userOf(ctx))
	if err != nil {
		return nil, err
	}
	entry, err := f.s.describePath(path)
	if err != nil {
		return nil, rpcFileError(err)
	}
	return connect.NewResponse(&filesystem.StatResponse{Entry: entry}), nil
}

// ListDir describes what is below a directory.
func (f *filesystemService) ListDir(ctx context.Context, req *connect.Request[filesystem.ListDirRequest]) (*connect.Response[filesystem.ListDirResponse], error) {
	path, err := f.s.resolveRPC(req.Msg.GetPath(), userOf(ctx))
	if err != nil {
		return nil, err
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	l := lister{ctx: ctx, describer: f.s.newDescriber()}
	if err := l.list(dir, path, max(1, req.Msg.GetDepth())); err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.ListDirResponse{Entries: l.entries}), nil
}

// openDir finds a directory for an RPC; its errors are the RPC's.
func openDir(path string) (*handle, error) {
	dir, err := openHandle(path)
	if err != nil {
		return nil, rpcFileError(err)
	}
	fi, err := dir.stat()
	if err == nil && fi.IsDir() {
		return dir, nil
	}
	dir.close()
	if err != nil {
		return nil, rpcFileError(shownAs(err, path))
	}
	return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path is not a directory: %s", path))
}

// lister collects a listing.
type lister struct {
	ctx       context.Context //nolint:containedctx // lives as long as one call
	describer *describer
	entries   []*filesystem.EntryInfo
}

// list adds the entries of dir in lexical order, each directory before what is
// in it. An entry that can't be looked at is still named.
func (l *lister) list(dir *handle, shown string, depth uint32) error {
	names, err := os.ReadDir(dir.sys)
	if err != nil && len(names) == 0 {
		return rpcFileError(shownAs(err, shown))
	}
	for _, dirent := range names {
		switch {
		case l.ctx.Err() != nil:
			return rpcContextError(l.ctx)
		case len(l.entries) >= maxEntries:
			return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("more than %d entries; ask for a smaller depth", maxEntries))
		}
		path := filepath.Join(shown, dirent.Name())
		entry, err := l.describer.entry(dir, dirent.Name(), path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			entry = &filesystem.EntryInfo{Name: utf8Text(dirent.Name()), Path: utf8Text(path)}
		}
		l.entries = append(l.entries, entry)
		if depth < 2 || !dirent.IsDir() {
			continue
		}
		sub, err := openHandleAt(dir, dirent.Name(), noFollow)
		if err != nil {
			continue
		}
		err = l.list(sub, path, depth-1)
		sub.close()
		// What is below one directory may be closed to us; the rest is not.
		if l.ctx.Err() != nil || len(l.entries) >= maxEntries {
			return err
		}
	}
	return nil
}

// MakeDir makes a directory and its parents.
func (f *filesystemService) MakeDir(ctx context.Context, req *connect.Request[filesystem.MakeDirRequest]) (*connect.Response[filesystem.MakeDirResponse], error) {
	user := userOf(ctx)
	path, err := f.s.resolveRPC(req.Msg.GetPath(), user)
	if err != nil {
		return nil, err
	}
	if existing, err := openHandle(path); err == nil {
		defer existing.close()
		if fi, err := existing.stat(); err == nil && fi.IsDir() {
			return nil, connect.NewError(connect.CodeAlreadyExists, fmt.Errorf("directory already exists: %s", path))
		}
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("path already exists but it is not a directory: %s", path))
	}
	made, err := f.s.makeDirs(path, user)
	if err != nil {
		return nil, rpcFileError(err)
	}
	made.close()
	entry, err := f.s.describePath(path)
	if err != nil {
		return nil, rpcFileError(err)
	}
	return connect.NewResponse(&filesystem.MakeDirResponse{Entry: entry}), nil
}

// Move renames an entry, making the parents of its new name.
func (f *filesystemService) Move(ctx context.Context, req *connect.Request[filesystem.MoveRequest]) (*connect.Response[filesystem.MoveResponse], error) {
	user := userOf(ctx)
	source, err := f.s.resolveRPC(req.Msg.GetSource(), user)
	if err != nil {
		return nil, err
	}
	destination, err := f.s.resolveRPC(req.Msg.GetDestination(), user)
	if err != nil {
		return nil, err
	}
	if err := f.move(source, destination, user); err != nil {
		return nil, err
	}
	entry, err := f.s.describePath(destination)
	if err != nil {
		return nil, rpcFileError(err)
	}
	return connect.NewResponse(&filesystem.MoveResponse{Entry: entry}), nil
}

func (f *filesystemService) move(source, destination string, u User) error {
	from, err := openPlace(source)
	if err != nil {
		return rpcFileError(shownAs(err, source))
	}
	defer from.close()
	if _, err := os.Lstat(from.sys()); err != nil {
		return rpcFileError(shownAs(err, source))
	}
	to, err := f.s.openWritablePlace(destination, u)
	if err != nil {
		return rpcFileError(err)
	}
	defer to.close()
	if err := os.Rename(from.sys(), to.sys()); err != nil {
		var link *os.LinkError
		if errors.As(err, &link) {
			err = link.Err
		}
		return connect.NewError(connect.CodeInternal, fmt.Errorf("renaming %s to %s: %w", source, destination, err))
	}
	return nil
}

// Remove removes an entry and what is below it. A missing one is removed already.
func (f *filesystemService) Remove(ctx context.Context, req *connect.Request[filesystem.RemoveRequest]) (*connect.Response[filesystem.RemoveResponse], error) {
	path, err := f.s.resolveRPC(req.Msg.GetPath(), userOf(ctx))
	if err != nil {
		return nil, err
	}
	p, err := openPlace(path)
	if errors.Is(err, fs.ErrNotExist) {
		return connect.NewResponse(&filesystem.RemoveResponse{}), nil
	}
	if err != nil {
		return nil, rpcFileError(err)
	}
	defer p.close()
	if p.parent.pseudo() {
		return nil, rpcFileError(&fs.PathError{Op: "remove", Path: path, Err: errRefused})
	}
	if err := os.RemoveAll(p.sys()); err != nil {
		return nil, rpcFileError(shownAs(err, path))
	}
	return connect.NewResponse(&filesystem.RemoveResponse{}), nil
}

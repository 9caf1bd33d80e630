package local

import (
	"context"
	"io"

	"abxdash/client"
)

// commands gives the errors of the plain client their local meaning.
type commands struct {
	p  *Provider
	in client.Commands
}

func (c *commands) Start(ctx context.Context, id client.ID, cmd client.Command) (client.Process, error) {
	proc, err := c.in.Start(ctx, id, cmd)
	if err != nil {
		return nil, c.p.say("start command", id, err)
	}
	return proc, nil
}

func (c *commands) Attach(ctx context.Context, id client.ID, pid int) (client.Process, error) {
	proc, err := c.in.Attach(ctx, id, pid)
	if err != nil {
		return nil, c.p.say("attach", id, err)
	}
	return proc, nil
}

func (c *commands) Processes(ctx context.Context, id client.ID) ([]client.ProcessInfo, error) {
	list, err := c.in.Processes(ctx, id)
	return list, c.p.say("list processes", id, err)
}

// files does the same for the file calls.
type files struct {
	p  *Provider
	in fileCalls
}

// fileCalls is what the plain client's files can do.
type fileCalls interface {
	client.Files
	client.Watcher
	client.RangeOpener
}

func (f *files) ReadDir(ctx context.Context, id client.ID, path string) ([]client.Entry, error) {
	list, err := f.in.ReadDir(ctx, id, path)
	return list, f.p.say("list files", id, err)
}

func (f *files) Stat(ctx context.Context, id client.ID, path string) (client.Entry, error) {
	e, err := f.in.Stat(ctx, id, path)
	return e, f.p.say("stat file", id, err)
}

func (f *files) Open(ctx context.Context, id client.ID, path string) (io.ReadCloser, error) {
	r, err := f.in.Open(ctx, id, path)
	if err != nil {
		return nil, f.p.say("open file", id, err)
	}
	return r, nil
}

func (f *files) Put(ctx context.Context, id client.ID, path string, r io.Reader, size int64) (client.Entry, error) {
	e, err := f.in.Put(ctx, id, path, r, size)
	return e, f.p.say("write file", id, err)
}

func (f *files) Mkdir(ctx context.Context, id client.ID, path string) error {
	return f.p.say("make folder", id, f.in.Mkdir(ctx, id, path))
}

func (f *files) Rename(ctx context.Context, id client.ID, from, to string) error {
	return f.p.say("rename file", id, f.in.Rename(ctx, id, from, to))
}

func (f *files) Remove(ctx context.Context, id client.ID, path string) error {
	return f.p.say("remove file", id, f.in.Remove(ctx, id, path))
}

func (f *files) OpenAt(ctx context.Context, id client.ID, path string, offset int64) (io.ReadCloser, error) {
	r, err := f.in.OpenAt(ctx, id, path, offset)
	if err != nil {
		return nil, f.p.say("open file", id, err)
	}
	return r, nil
}

func (f *files) Watch(ctx context.Context, id client.ID, dir string, recursive bool) (client.Watch, error) {
	w, err := f.in.Watch(ctx, id, dir, recursive)
	if err != nil {
		return nil, f.p.say("watch folder", id, err)
	}
	return w, nil
}

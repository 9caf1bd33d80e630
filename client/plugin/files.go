package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// ReadDir implements [client.Files]. Names that are no single path element are left out.
func (p *Provider) ReadDir(ctx context.Context, id client.ID, dir string) ([]client.Entry, error) {
	var list []wire.Entry
	if err := p.call(ctx, "list directory", client.CodeFiles, wire.ReadDir, wire.Params{ID: string(id), Path: dir}, &list); err != nil {
		return nil, err
	}
	out := make([]client.Entry, 0, len(list))
	for _, w := range list {
		if w.Name != "" && w.Name != "." && w.Name != ".." && !strings.ContainsAny(w.Name, "/\x00") && path.Base(w.Path) == w.Name {
			out = append(out, w.Client())
		}
	}
	return out, nil
}

// Stat implements [client.Files].
func (p *Provider) Stat(ctx context.Context, id client.ID, name string) (client.Entry, error) {
	var w wire.Entry
	err := p.call(ctx, "look at file", client.CodeFiles, wire.Stat, wire.Params{ID: string(id), Path: name}, &w)
	return w.Client(), err
}

// Open implements [client.Files].
func (p *Provider) Open(ctx context.Context, id client.ID, name string) (io.ReadCloser, error) {
	const op = "read file"
	ch, err := p.begin(ctx, wire.Open, wire.Params{ID: string(id), Path: name})
	if err != nil {
		return nil, p.fail(ctx, op, client.CodeFiles, err)
	}
	f := &file{p: p, ch: ch, ctx: ctx}
	f.stop = context.AfterFunc(ctx, ch.close)
	// The first message tells whether there is such a file.
	if err := f.fill(); err != nil && !errors.Is(err, io.EOF) {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// file is a file on its way.
type file struct {
	p    *Provider
	ch   channel
	ctx  context.Context //nolint:containedctx // tells why a read failed
	stop func() bool
	rest []byte
	err  error
}

func (f *file) fill() error {
	for f.err == nil && len(f.rest) == 0 {
		m, err := f.ch.recv()
		switch {
		case err != nil:
			f.err = f.p.fail(f.ctx, "read file", client.CodeFiles, err)
		case m.Error != nil:
			f.err = f.p.fail(f.ctx, "read file", client.CodeFiles, &wireError{m.Error})
		case m.Result != nil:
			f.err = io.EOF
		case m.Event != nil:
			f.rest = m.Event.Data
		}
	}
	if len(f.rest) > 0 {
		return nil
	}
	return f.err
}

func (f *file) Read(b []byte) (int, error) {
	if err := f.fill(); err != nil {
		return 0, err
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *file) Close() error {
	f.stop()
	f.ch.close()
	return nil
}

// Put implements [client.Files].
func (p *Provider) Put(ctx context.Context, id client.ID, name string, r io.Reader, size int64) (client.Entry, error) {
	const op = "write file"
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	ch, err := p.put(own, wire.Params{ID: string(id), Path: name, Size: size})
	if err != nil {
		return client.Entry{}, p.fail(ctx, op, client.CodeFiles, err)
	}
	defer ch.close()
	stop := context.AfterFunc(ctx, ch.close)
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- feed(own, ch, r) }()
	raw, err := finish(ch)
	cancel()
	select {
	case serr := <-sent:
		if serr != nil && !errors.Is(serr, context.Canceled) && err != nil {
			err = serr
		}
	default: // the source is still waited for; the answer counts
	}
	var w wire.Entry
	if err == nil && json.Unmarshal(raw, &w) != nil {
		err = errPlugin{"the plug-in's answer is no file"}
	}
	return w.Client(), p.fail(ctx, op, client.CodeFiles, err)
}

// put begins the call. Over HTTP the answer begins only with the result, so
// that begin must not wait for it.
func (p *Provider) put(ctx context.Context, params wire.Params) (channel, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if s, ok := p.t.(*service); ok {
		return s.openLater(ctx, wire.Put, raw), nil
	}
	return p.t.open(ctx, wire.Put, raw)
}

// feed sends a reader's bytes as input.
func feed(ctx context.Context, ch channel, r io.Reader) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := ch.send(ctx, wire.Input{Data: buf[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return ch.send(ctx, wire.Input{EOF: true})
		}
		if err != nil {
			ch.close()
			return fmt.Errorf("read what is to be sent: %w", err)
		}
	}
}

// Mkdir implements [client.Files].
func (p *Provider) Mkdir(ctx context.Context, id client.ID, name string) error {
	return p.call(ctx, "make directory", client.CodeFiles, wire.Mkdir, wire.Params{ID: string(id), Path: name}, nil)
}

// Rename implements [client.Files].
func (p *Provider) Rename(ctx context.Context, id client.ID, from, to string) error {
	return p.call(ctx, "rename file", client.CodeFiles, wire.Rename, wire.Params{ID: string(id), Path: from, To: to}, nil)
}

// Remove implements [client.Files].
func (p *Provider) Remove(ctx context.Context, id client.ID, name string) error {
	return p.call(ctx, "remove file", client.CodeFiles, wire.Remove, wire.Params{ID: string(id), Path: name}, nil)
}

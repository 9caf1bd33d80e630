// Package serve makes a plug-in of any [client.Provider]: over standard input
// and output (kind exec) or as an HTTP handler (kind rest).
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// call is one call that runs.
type call struct {
	p client.Provider
	// event sends one; input is closed when no more can come.
	event func(wire.Event) error
	input <-chan wire.Input
}

// do runs one method and returns its result.
func (c call) do(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	var p wire.Params
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, client.Usagef(method, "the parameters are not what they should be")
		}
	}
	id := client.ID(p.ID)
	sb, fs := c.p.Sandboxes(), c.p.Files()
	none := struct{}{}
	switch method {
	case wire.Hello:
		h := wire.HelloResult{Protocol: wire.Version, Name: c.p.Name()}
		for _, k := range client.AllCapabilities() {
			if c.p.Capabilities().Has(k) {
				h.Capabilities = append(h.Capabilities, string(k))
			}
		}
		return h, nil
	case wire.List:
		return c.list(ctx, p)
	case wire.Get:
		s, err := sb.Get(ctx, id)
		return wire.FromSandbox(s), err
	case wire.Create:
		s, err := sb.Create(ctx, client.CreateSpec{
			Template: p.Template, Lifetime: time.Duration(p.Seconds) * time.Second, Env: p.Env, Metadata: p.Metadata, AutoPause: p.AutoPause,
		})
		return wire.FromSandbox(s), err
	case wire.Kill:
		return none, sb.Kill(ctx, id)
	case wire.SetLifetime:
		return none, sb.SetLifetime(ctx, id, time.Duration(p.Seconds)*time.Second)
	case wire.Pause, wire.Resume:
		pauser, ok := client.Find[client.Pauser](c.p)
		if !ok {
			return nil, c.p.Capabilities().Missing(c.p.Name(), client.CapPause)
		}
		if method == wire.Pause {
			return none, pauser.Pause(ctx, id)
		}
		return none, pauser.Resume(ctx, id, time.Duration(p.Seconds)*time.Second)
	case wire.Start, wire.Attach, wire.Processes:
		return c.process(ctx, method, id, p)
	case wire.ReadDir:
		list, err := fs.ReadDir(ctx, id, p.Path)
		out := make([]wire.Entry, len(list))
		for i, e := range list {
			out[i] = wire.FromEntry(e)
		}
		return out, err
	case wire.Stat:
		e, err := fs.Stat(ctx, id, p.Path)
		return wire.FromEntry(e), err
	case wire.Open:
		return none, c.open(ctx, id, p.Path)
	case wire.Put:
		e, err := fs.Put(ctx, id, p.Path, &inputReader{ctx: ctx, input: c.input}, p.Size)
		return wire.FromEntry(e), err
	case wire.Mkdir:
		return none, fs.Mkdir(ctx, id, p.Path)
	case wire.Rename:
		return none, fs.Rename(ctx, id, p.Path, p.To)
	case wire.Remove:
		return none, fs.Remove(ctx, id, p.Path)
	}
	return nil, &client.Error{Op: method, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "there is no such method"}
}

func (c call) list(ctx context.Context, p wire.Params) (any, error) {
	q := client.Query{Metadata: p.Metadata, Template: p.Template, Limit: p.Limit, PageToken: p.Page}
	for _, s := range p.States {
		q.States = append(q.States, client.State(s))
	}
	page, err := c.p.Sandboxes().List(ctx, q)
	out := wire.Page{Sandboxes: make([]wire.Sandbox, len(page.Sandboxes)), Next: page.NextToken}
	for i, s := range page.Sandboxes {
		out.Sandboxes[i] = wire.FromSandbox(s)
	}
	return out, err
}

// open streams a file.
func (c call) open(ctx context.Context, id client.ID, path string) error {
	r, err := c.p.Files().Open(ctx, id, path)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := c.event(wire.Event{Data: buf[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// inputReader reads the data of a call's input.
type inputReader struct {
	ctx   context.Context //nolint:containedctx // a reader has no other way to be ended
	input <-chan wire.Input
	rest  []byte
	eof   bool
}

func (r *inputReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.eof {
			return 0, io.EOF
		}
		select {
		case in, ok := <-r.input:
			if !ok || in.Cancel {
				return 0, io.ErrUnexpectedEOF
			}
			r.rest, r.eof = in.Data, in.EOF
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// process runs the methods about processes.
func (c call) process(ctx context.Context, method string, id client.ID, p wire.Params) (any, error) {
	cmds := c.p.Commands()
	if method == wire.Processes {
		list, err := cmds.Processes(ctx, id)
		out := make([]wire.Process, len(list))
		for i, x := range list {
			out[i] = wire.Process{PID: x.PID, Argv: x.Argv, Dir: x.Dir, Tag: x.Tag}
		}
		return out, err
	}
	var proc client.Process
	var err error
	if method == wire.Attach {
		proc, err = cmds.Attach(ctx, id, p.PID)
	} else {
		cmd := client.Command{Argv: p.Argv, Env: p.Env, Dir: p.Dir, User: p.User, Tag: p.Tag, Stdin: p.Stdin, Timeout: time.Duration(p.TimeoutMS) * time.Millisecond}
		if p.PTY != nil {
			cmd.PTY = &client.Size{Cols: p.PTY.Cols, Rows: p.PTY.Rows}
		}
		proc, err = cmds.Start(ctx, id, cmd)
	}
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	if err := c.event(wire.Event{Started: proc.PID()}); err != nil {
		return nil, err
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	go c.feed(own, proc)
	for {
		f, err := proc.Next()
		switch {
		case errors.Is(err, io.EOF):
			x := proc.Exit()
			return wire.Exit{Code: x.Code, Signal: x.Signal, Status: x.Status, TimedOut: x.TimedOut}, nil
		case err != nil:
			return nil, err
		}
		ev := wire.Event{Stdout: f.Data}
		switch f.Stream {
		case client.Stderr:
			ev = wire.Event{Stderr: f.Data}
		case client.Terminal:
			ev = wire.Event{Terminal: f.Data}
		}
		if err := c.event(ev); err != nil {
			return nil, err
		}
	}
}

// feed hands input to a process until the call ends. When nobody waits any
// more, the process is left to itself.
func (c call) feed(ctx context.Context, proc client.Process) {
	for {
		select {
		case <-ctx.Done():
			_ = proc.Close()
			return
		case in, ok := <-c.input:
			if !ok || in.Cancel {
				_ = proc.Close()
				return
			}
			c.take(ctx, proc, in)
		}
	}
}

// take hands one input over. What fails shows in the process's own stream.
func (c call) take(ctx context.Context, proc client.Process, in wire.Input) {
	if len(in.Data) > 0 {
		_ = proc.Write(ctx, in.Data)
	}
	if in.EOF {
		_ = proc.CloseStdin(ctx)
	}
	if in.Signal != 0 {
		_ = proc.Signal(ctx, client.Signal(in.Signal))
	}
	if in.Resize != nil {
		_ = proc.Resize(ctx, client.Size{Cols: in.Resize.Cols, Rows: in.Resize.Rows})
	}
}

// answer is the last message of a call.
func answer(id int64, result any, err error) wire.Message {
	if err != nil {
		return wire.Message{ID: id, Error: wire.FromError(err)}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return wire.Message{ID: id, Error: wire.FromError(err)}
	}
	return wire.Message{ID: id, Result: raw}
}

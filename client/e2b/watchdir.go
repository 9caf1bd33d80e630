package e2b

import (
	"context"
	"errors"
	"net"

	"connectrpc.com/connect"

	"abxdash/client"
	filesystempb "abxdash/client/envdpb/filesystem"
)

// Watch implements [client.Watcher] with WatchDir (e2b-protocol §10.2). It
// returns once the agent has said that it watches.
func (s *files) Watch(ctx context.Context, id client.ID, dir string, recursive bool) (client.Watch, error) {
	f := s.failing("watch directory", id)
	if err := checkPath(f.op, dir); err != nil {
		return nil, err
	}
	cmds := &commands{s.c}
	w := &watch{s: s, f: f}
	err := s.c.with(ctx, f, true, func(a *agent) error {
		own, cancel := cancellable(ctx)
		release := cmds.until(ctx, cancel)
		r := connect.NewRequest(&filesystempb.WatchDirRequest{Path: dir, Recursive: recursive})
		cmds.stream(r.Header(), a)
		a.user(r.Header(), "")
		events, err := a.fs.WatchDir(own, r)
		if err == nil {
			w.ctx, w.cancel, w.events = own, cancel, events
			err = w.started()
		}
		if !release() && err == nil {
			err = context.Cause(own)
		}
		if err != nil {
			cancel(err)
			if events != nil {
				_ = events.Close()
			}
			if cause := context.Cause(own); errors.Is(cause, errNoAnswer) || errors.Is(cause, errSilent) {
				return cause
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w.stop = context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
	return w, nil
}

// watch is a running WatchDir.
type watch struct {
	s      *files
	f      failing
	ctx    context.Context //nolint:containedctx // the stream's own, so that Next can tell why it ended
	cancel context.CancelCauseFunc
	stop   func() bool
	events *connect.ServerStreamForClient[filesystempb.WatchDirResponse]
	last   error
}

// started waits for the start event, which comes first.
func (w *watch) started() error {
	for w.events.Receive() {
		if w.events.Msg().GetStart() != nil {
			return nil
		}
	}
	if err := w.events.Err(); err != nil {
		return err
	}
	return &client.Error{Op: w.f.op, Provider: w.s.c.cfg.Name, Code: client.CodeBadAnswer, Message: "the agent ended the stream before the watch began"}
}

// Next implements [client.Watch]. Keepalives and unknown events are skipped.
func (w *watch) Next() (client.FileEvent, error) {
	if w.last != nil {
		return client.FileEvent{}, w.last
	}
	for w.events.Receive() {
		if ev := w.events.Msg().GetFilesystem(); ev != nil {
			return client.FileEvent{Name: ev.GetName(), Change: changeOf(ev.GetType())}, nil
		}
	}
	w.last = w.broken(w.events.Err())
	w.stop()
	w.cancel(net.ErrClosed)
	_ = w.events.Close()
	return client.FileEvent{}, w.last
}

// broken words the end of a watch, which never ends by itself.
func (w *watch) broken(err error) error {
	e := &client.Error{
		Op: w.f.op, Provider: w.s.c.cfg.Name, Code: client.CodeNetwork, Kind: client.ErrStreamBroken,
		Message: "connection lost, changes may have been missed",
	}
	cause := context.Cause(w.ctx)
	switch {
	case errors.Is(cause, net.ErrClosed):
		e.Kind, e.Message, e.Err = nil, "closed", net.ErrClosed
	case cause != nil && !errors.Is(cause, errSilent):
		e.Kind, e.Message, e.Err = nil, "cancelled", cause
	default:
		e.Err = err
		if ce := (*connect.Error)(nil); errors.As(err, &ce) && connect.IsWireError(err) {
			e.Message += " (" + w.s.c.clean(w.f.id, ce.Message()) + ")"
		}
	}
	return e
}

// Close implements [client.Watch].
func (w *watch) Close() error {
	w.cancel(net.ErrClosed)
	return nil
}

func changeOf(t filesystempb.EventType) client.FileChange {
	switch t {
	case filesystempb.EventType_EVENT_TYPE_CREATE:
		return client.FileCreated
	case filesystempb.EventType_EVENT_TYPE_WRITE:
		return client.FileWritten
	case filesystempb.EventType_EVENT_TYPE_REMOVE:
		return client.FileRemoved
	case filesystempb.EventType_EVENT_TYPE_RENAME:
		return client.FileRenamed
	case filesystempb.EventType_EVENT_TYPE_CHMOD:
		return client.FileChmod
	default:
		return client.FileChanged
	}
}

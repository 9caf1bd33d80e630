package envd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"abxdash/client/envdpb/filesystem"

	"connectrpc.com/connect"
)

const (
	// maxWatchers bounds the watchers that callers may leave behind.
	maxWatchers = 256
	// maxBuffered bounds what one watcher keeps between two calls.
	maxBuffered = 65_536
)

// WatchDir streams changes. A caller that reads too slowly ends up with an
// overflow of the kernel's queue and is told so.
func (f *filesystemService) WatchDir(ctx context.Context, req *connect.Request[filesystem.WatchDirRequest], stream *connect.ServerStream[filesystem.WatchDirResponse]) error {
	if ctx.Err() != nil {
		return rpcContextError(ctx)
	}
	w, err := f.s.newDirWatch(req.Msg, userOf(ctx))
	if err != nil {
		return err
	}
	defer w.close()
	ctx, cancel := f.s.watchers.follow(ctx)
	defer cancel()
	resp := &filesystem.WatchDirResponse{Event: &filesystem.WatchDirResponse_Start{Start: &filesystem.WatchDirResponse_StartEvent{}}}
	if err := stream.Send(resp); err != nil {
		return err
	}
	interval := keepaliveInterval(req.Header())
	keepalive := time.NewTimer(interval)
	defer keepalive.Stop()
	for {
		events, err := w.next(ctx, keepalive.C)
		if errors.Is(err, errIdle) {
			if err := stream.Send(idleEvent()); err != nil {
				return err
			}
			keepalive.Reset(interval)
			continue
		}
		for _, event := range events {
			resp.Event = &filesystem.WatchDirResponse_Filesystem{Filesystem: event}
			if err := stream.Send(resp); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if len(events) > 0 {
			keepalive.Reset(interval)
		}
	}
}

func idleEvent() *filesystem.WatchDirResponse {
	return &filesystem.WatchDirResponse{Event: &filesystem.WatchDirResponse_Keepalive{Keepalive: &filesystem.WatchDirResponse_KeepAlive{}}}
}

// pollWatcher keeps changes until they are fetched.
type pollWatcher struct {
	watch *dirWatch
	stop  context.CancelFunc

	mu     sync.Mutex
	events []*filesystem.FilesystemEvent
	err    error // told once by the next call
	ended  bool
}

// run collects changes until the watch ends.
func (p *pollWatcher) run(ctx context.Context) {
	defer p.watch.close()
	for {
		events, err := p.watch.next(ctx, nil)
		p.mu.Lock()
		if len(p.events)+len(events) > maxBuffered {
			p.events, err = nil, errEventsLost()
		} else {
			p.events = append(p.events, events...)
		}
		if err != nil {
			p.err = err
			p.ended = connect.CodeOf(err) != connect.CodeResourceExhausted
		}
		ended := p.ended
		p.mu.Unlock()
		if ended {
			return
		}
	}
}

// take empties the buffer. Lost changes are an error once; then it goes on.
func (p *pollWatcher) take() ([]*filesystem.FilesystemEvent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	events, err := p.events, p.err
	p.events = nil
	if !p.ended {
		p.err = nil
	}
	return events, err
}

// watcherTable knows the watchers that are polled, and ends all watches.
type watcherTable struct {
	ctx     context.Context //nolint:containedctx // the lifetime of the table
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	watchers map[string]*pollWatcher
}

func newWatcherTable() *watcherTable {
	ctx, cancel := context.WithCancel(context.Background())
	return &watcherTable{ctx: ctx, cancel: cancel, watchers: map[string]*pollWatcher{}}
}

// follow gives a request's context the table's end too.
func (t *watcherTable) follow(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (t *watcherTable) add(w *dirWatch) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		return "", connect.NewError(connect.CodeUnavailable, errClosing)
	}
	if len(t.watchers) >= maxWatchers {
		return "", connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%d watchers exist already; remove some", maxWatchers))
	}
	ctx, cancel := context.WithCancel(t.ctx)
	p := &pollWatcher{watch: w, stop: cancel}
	id := "w" + strings.ToLower(rand.Text()[:20])
	t.watchers[id] = p
	t.running.Go(func() { p.run(ctx) })
	return id, nil
}

func (t *watcherTable) find(id string) (*pollWatcher, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.watchers[id]; p != nil {
		return p, nil
	}
	return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("watcher with id %s not found", id))
}

func (t *watcherTable) remove(id string) error {
	p, err := t.find(id)
	if err != nil {
		return err
	}
	p.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers, id)
	return nil
}

// close ends every watch and waits for the collectors.
func (t *watcherTable) close() {
	t.mu.Lock()
	t.cancel()
	t.mu.Unlock()
	t.running.Wait()
}

// CreateWatcher begins to collect changes for GetWatcherEvents.
func (f *filesystemService) CreateWatcher(ctx context.Context, req *connect.Request[filesystem.CreateWatcherRequest]) (*connect.Response[filesystem.CreateWatcherResponse], error) {
	w, err := f.s.newDirWatch(req.Msg, userOf(ctx))
	if err != nil {
		return nil, err
	}
	id, err := f.s.watchers.add(w)
	if err != nil {
		w.close()
		return nil, err
	}
	return connect.NewResponse(&filesystem.CreateWatcherResponse{WatcherId: id}), nil
}

// GetWatcherEvents fetches what changed since the call before.
func (f *filesystemService) GetWatcherEvents(_ context.Context, req *connect.Request[filesystem.GetWatcherEventsRequest]) (*connect.Response[filesystem.GetWatcherEventsResponse], error) {
	p, err := f.s.watchers.find(req.Msg.GetWatcherId())
	if err != nil {
		return nil, err
	}
	events, err := p.take()
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.GetWatcherEventsResponse{Events: events}), nil
}

// RemoveWatcher ends a watcher.
func (f *filesystemService) RemoveWatcher(_ context.Context, req *connect.Request[filesystem.RemoveWatcherRequest]) (*connect.Response[filesystem.RemoveWatcherResponse], error) {
	if err := f.s.watchers.remove(req.Msg.GetWatcherId()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystem.RemoveWatcherResponse{}), nil
}

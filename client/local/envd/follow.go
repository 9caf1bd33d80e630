package envd

import (
	"context"
	"errors"
	"time"

	"abxdash/client/envdpb/process"

	"connectrpc.com/connect"
)

// follower is one stream that shows a process to a caller.
type follower struct {
	s        *Server
	pr       *proc
	sub      *subscriber
	interval time.Duration
	// starter says that this is the stream of Start, whose deadline is the
	// process's own.
	starter bool
}

// run sends the start event, the output as it comes, and the end.
func (f *follower) run(ctx context.Context, send func(*process.ProcessEvent) error) error {
	if err := send(startEvent(f.pr.pid())); err != nil {
		return err
	}
	keepalive := time.NewTimer(f.interval)
	defer keepalive.Stop()
	out := newOutputEvent()
	for {
		select {
		case c := <-f.sub.ch:
			if err := f.forward(ctx, c, out, send); err != nil {
				return err
			}
			keepalive.Reset(f.interval)
		case <-keepalive.C:
			if err := send(keepaliveEvent()); err != nil {
				return err
			}
			keepalive.Reset(f.interval)
		case <-f.pr.ended:
			return f.finish(ctx, out, send)
		case <-f.sub.cut:
			return errTooSlow()
		case <-ctx.Done():
			return rpcContextError(ctx)
		case <-f.s.procs.closing:
			return connect.NewError(connect.CodeUnavailable, errClosing)
		}
	}
}

// forward sends a chunk and those that wait behind it, small ones together: a
// message costs the same for one byte as for many.
func (f *follower) forward(ctx context.Context, c chunk, out *outputEvent, send func(*process.ProcessEvent) error) error {
	for {
		more, waiting := chunk{}, false
		select {
		case more = <-f.sub.ch:
			waiting = true
		default:
		}
		if waiting && c.append(more) {
			f.pr.pool.release(more.buf)
			continue
		}
		err := send(out.fill(c))
		f.pr.pool.release(c.buf)
		if err == nil && ctx.Err() != nil {
			err = rpcContextError(ctx)
		}
		if err != nil || !waiting {
			if waiting {
				f.pr.pool.release(more.buf)
			}
			return err
		}
		c = more
	}
}

// finish sends what is left after the last output was handed over, and the end.
func (f *follower) finish(ctx context.Context, out *outputEvent, send func(*process.ProcessEvent) error) error {
	for {
		select {
		case c := <-f.sub.ch:
			if err := f.forward(ctx, c, out, send); err != nil {
				return err
			}
			continue
		case <-f.sub.cut:
			return errTooSlow()
		default:
		}
		if f.starter && f.pr.timedOut.Load() {
			return connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)
		}
		return send(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: f.pr.end}})
	}
}

// errTooSlow tells a subscriber that it was cut off.
func errTooSlow() error {
	return connect.NewError(connect.CodeResourceExhausted, errors.New("too slow: output was dropped for this subscriber; attach again to go on"))
}

// rpcContextError is how a stream ends when its context has.
func rpcContextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)
	}
	return connect.NewError(connect.CodeCanceled, ctx.Err())
}

func startEvent(pid uint32) *process.ProcessEvent {
	return &process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: pid}}}
}

func keepaliveEvent() *process.ProcessEvent {
	return &process.ProcessEvent{Event: &process.ProcessEvent_Keepalive{Keepalive: &process.ProcessEvent_KeepAlive{}}}
}

// outputEvent is a data event that is used again for every chunk of a stream:
// sending has encoded it when it returns.
type outputEvent struct {
	event  process.ProcessEvent
	data   process.ProcessEvent_DataEvent
	stdout process.ProcessEvent_DataEvent_Stdout
	stderr process.ProcessEvent_DataEvent_Stderr
	pty    process.ProcessEvent_DataEvent_Pty
}

func newOutputEvent() *outputEvent {
	o := &outputEvent{}
	o.event.Event = &process.ProcessEvent_Data{Data: &o.data}
	return o
}

// fill puts a chunk's bytes into the event without copying them.
func (o *outputEvent) fill(c chunk) *process.ProcessEvent {
	switch c.kind {
	case kindStdout:
		o.stdout.Stdout = c.bytes()
		o.data.Output = &o.stdout
	case kindStderr:
		o.stderr.Stderr = c.bytes()
		o.data.Output = &o.stderr
	case kindPTY:
		o.pty.Pty = c.bytes()
		o.data.Output = &o.pty
	}
	return &o.event
}

package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"abxdash/client"
)

var errSilent = errors.New("no sign of life")

// foreground is a command whose events are read as they come. Next owns the stream.
type foreground struct {
	s   *commands
	f   failing
	job *job

	ctx    context.Context //nolint:containedctx // the stream's own, so that Next can tell why it ended
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	events *events
	silent *time.Timer

	began   time.Time
	timeout time.Duration
	// ended is set once the command is known to have ended.
	ended  atomic.Bool
	closed atomic.Bool

	exit client.Exit
	last error
}

// foreground starts a command and waits for its first event, which names it.
// Cancelling ctx until then ends the command too, if it began.
func (s *commands) foreground(ctx context.Context, f failing, body newCommand, cmd client.Command) (*foreground, error) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := s.until(ctx, cancel)
	p := &foreground{s: s, f: f, ctx: own, cancel: cancel, timeout: cmd.Timeout, began: time.Now()}
	a, err := s.c.once(own, f, request{method: http.MethodPost, url: "/command", body: body, stream: true})
	if err == nil {
		p.body, p.events = a.open, newEvents(a.open)
		p.silent = time.AfterFunc(silence, func() { cancel(errSilent) })
		p.silent.Stop()
		err = p.first(cmd)
	}
	if !release() && err == nil {
		err = context.Cause(own)
	}
	if err != nil {
		if p.job != nil {
			s.later(f, p.job.id)
			s.c.drop(f.id, p.job.num)
		}
		if cause := context.Cause(own); cause != nil {
			err = cause
		}
		cancel(err)
		if p.body != nil {
			_ = p.body.Close()
		}
		return nil, s.c.fail(ctx, f, err)
	}
	return p, nil
}

// until cancels when ctx ends or the request timeout passes, and returns the
// function that stops both; false says that it was too late.
func (s *commands) until(ctx context.Context, cancel context.CancelCauseFunc) func() bool {
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	if s.c.cfg.RequestTimeout < 0 {
		return stop
	}
	timer := time.AfterFunc(s.c.cfg.RequestTimeout, func() { cancel(errNoAnswer) })
	return func() bool {
		inTime := timer.Stop()
		return stop() && inTime
	}
}

// first reads the event that names the command.
func (p *foreground) first(cmd client.Command) error {
	for {
		ev, err := p.next()
		switch {
		case err != nil:
			return err
		case ev.Type == "init" && ev.Text != "":
			p.job = p.s.c.remember(p.f.id, job{id: ev.Text, cmd: cmd})
			return nil
		case ev.Type == "ping":
		default:
			if x, ok := ev.exit(); ok {
				return &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeRun, Message: x.Status}
			}
			return &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeBadAnswer, Message: "output came before the command was named"}
		}
	}
}

// next reads one event, and gives up when nothing comes: pings come every 3 s.
func (p *foreground) next() (event, error) {
	p.silent.Reset(silence)
	defer p.silent.Stop()
	return p.events.next()
}

// PID implements [client.Process]; the number is our own.
func (p *foreground) PID() int { return p.job.num }

// Exit implements [client.Process].
func (p *foreground) Exit() client.Exit { return p.exit }

// Next implements [client.Process]. Reading stops at the event that ends the
// command: execd keeps the connection open for another second (§4.2).
func (p *foreground) Next() (client.Frame, error) {
	if p.last != nil {
		return client.Frame{}, p.last
	}
	for {
		ev, err := p.next()
		if err != nil {
			p.last = p.broken(err)
			break
		}
		switch ev.Type {
		case "stdout":
			return client.Frame{Stream: client.Stdout, Data: ev.output()}, nil
		case "stderr":
			return client.Frame{Stream: client.Stderr, Data: ev.output()}, nil
		}
		x, ok := ev.exit()
		if !ok {
			continue // pings and kinds that are not known yet
		}
		if p.timeout > 0 && x.Code < 0 && time.Since(p.began) >= p.timeout {
			x.TimedOut, x.Status = true, fmt.Sprintf("timed out after %s", p.timeout)
		}
		p.exit, p.last = x, io.EOF
		p.ended.Store(true)
		break
	}
	if errors.Is(p.last, io.EOF) {
		p.s.c.drop(p.f.id, p.job.num)
	}
	p.cancel(io.EOF)
	_ = p.body.Close()
	return client.Frame{}, p.last
}

// broken says why a stream ended without saying how the command did.
func (p *foreground) broken(err error) error {
	e := &client.Error{Op: "read output", Provider: p.s.c.cfg.Name, Code: client.CodeNetwork, Kind: client.ErrStreamBroken, Message: client.ErrStreamBroken.Error(), Err: err}
	switch cause := context.Cause(p.ctx); {
	case errors.Is(cause, net.ErrClosed):
		e.Code, e.Kind, e.Message, e.Err = client.CodeRun, nil, "closed", net.ErrClosed
	case errors.Is(cause, errSilent):
		e.Message += fmt.Sprintf(" (%s for %s)", errSilent, silence)
		e.Err = errSilent
	}
	return e
}

// Write implements [client.Process]: standard input is empty (§4.3).
func (p *foreground) Write(context.Context, []byte) error {
	return client.Usagef("send input", "the command was started without standard input")
}

// CloseStdin implements [client.Process]; there is nothing to close.
func (p *foreground) CloseStdin(context.Context) error { return nil }

// Resize implements [client.Process].
func (p *foreground) Resize(context.Context, client.Size) error {
	return client.Usagef("resize terminal", "the command has no terminal")
}

// Signal implements [client.Process] with execd's interrupt, which knows one way
// only: SIGTERM, and SIGKILL if that does not end it within 3 s.
func (p *foreground) Signal(ctx context.Context, sig client.Signal) error {
	if sig != client.SIGKILL && sig != client.SIGTERM {
		return client.Usagef("send signal", "only SIGTERM and SIGKILL can be sent, not %d", sig)
	}
	return p.s.interrupt(ctx, p.s.failing("send signal", p.f.id), p.job.id)
}

// Close implements [client.Process]. The command is ended if it has not ended:
// its output could never be read again (§4.3).
func (p *foreground) Close() error {
	if !p.closed.Swap(true) && !p.ended.Load() {
		p.s.later(p.f, p.job.id)
	}
	p.cancel(net.ErrClosed)
	return nil
}

// later interrupts a command without keeping its caller; [Client.Close] waits for it.
func (s *commands) later(f failing, id string) {
	f.op = "end command"
	s.c.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), interruptPatience)
		defer cancel()
		if err := s.interrupt(ctx, f, id); err != nil {
			s.c.cfg.Logger.Warn("a command may still run", "sandbox", f.id, "err", err)
		}
	})
}

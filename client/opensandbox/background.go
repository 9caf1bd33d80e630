package opensandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"abxdash/client"
)

// followStep is how often a background command is asked for more (§4.3).
const followStep = 500 * time.Millisecond

// Background starts a command that goes on by itself. Its output, both streams
// in one, is kept in the sandbox: the process that is returned follows it, and
// closing that only stops following. Attach with its PID follows from the start.
func (c *Client) Background(ctx context.Context, id client.ID, cmd client.Command) (client.Process, error) {
	s := &commands{c}
	f := s.failing("start command", id)
	if err := checkCommand(f.op, cmd); err != nil {
		return nil, err
	}
	body, err := s.body(ctx, f, cmd)
	if err != nil {
		return nil, err
	}
	body.Background = true
	// Its stream ends at once and says only that it has begun (§4.3).
	p, err := s.foreground(ctx, f, body, cmd)
	if err != nil {
		return nil, err
	}
	p.ended.Store(true)
	_ = p.Close()
	s.c.drop(id, p.job.num)
	j := c.remember(id, job{id: p.job.id, background: true, cmd: cmd})
	return s.follow(ctx, f, j)
}

// Logs of a background command from a byte offset on (§4.3); next is the offset
// for the next call.
func (s *commands) logs(ctx context.Context, f failing, id string, cursor int64) (data []byte, next int64, err error) {
	a, err := s.c.call(ctx, f, request{method: http.MethodGet, url: "/command/" + url.PathEscape(id) + "/logs?cursor=" + strconv.FormatInt(cursor, 10)})
	if err != nil {
		return nil, cursor, err
	}
	next, err = strconv.ParseInt(a.header.Get("Execd-Commands-Tail-Cursor"), 10, 64)
	if err != nil || next < cursor {
		next = cursor + int64(len(a.body))
	}
	return a.body, next, nil
}

// follower reads the log of a background command as it grows.
type follower struct {
	s      *commands
	f      failing
	job    *job
	ctx    context.Context //nolint:containedctx // ends Next when the handle is closed
	cancel context.CancelCauseFunc
	cursor int64
	// over is the status after which the rest of the log is read.
	over *commandStatus
	exit client.Exit
	last error
}

func (s *commands) follow(ctx context.Context, f failing, j *job) (client.Process, error) {
	if _, err := s.status(ctx, f, j.id); err != nil {
		return nil, err
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f.op = "read output"
	return &follower{s: s, f: f, job: j, ctx: own, cancel: cancel}, nil
}

func (p *follower) PID() int          { return p.job.num }
func (p *follower) Exit() client.Exit { return p.exit }

// Next implements [client.Process]. After the end it reads the log once more.
func (p *follower) Next() (client.Frame, error) {
	for p.last == nil {
		data, next, err := p.s.logs(p.ctx, p.f, p.job.id, p.cursor)
		p.cursor = next
		switch {
		case errors.Is(context.Cause(p.ctx), net.ErrClosed):
			p.last = &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeRun, Message: "detached", Err: net.ErrClosed}
		case err != nil:
			p.last = err
		case len(data) > 0:
			return client.Frame{Stream: client.Stdout, Data: data}, nil
		case p.over != nil:
			p.finish(*p.over)
		default:
			p.wait()
		}
	}
	return client.Frame{}, p.last
}

// wait looks at the status, and waits a little if it still runs.
func (p *follower) wait() {
	st, err := p.s.status(p.ctx, p.f, p.job.id)
	switch {
	case errors.Is(context.Cause(p.ctx), net.ErrClosed):
		p.last = &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeRun, Message: "detached", Err: net.ErrClosed}
	case err != nil:
		p.last = err
	case !st.Running:
		p.over = &st
	default:
		sleep(p.ctx, followStep)
	}
}

func (p *follower) finish(st commandStatus) {
	p.exit.Status = client.OneLine(st.Error, 200)
	if st.ExitCode != nil {
		p.exit.Code = *st.ExitCode
	}
	if p.exit.Code < 0 {
		p.exit.Signal = signalIn(st.Error)
	}
	p.last = io.EOF
}

// Write implements [client.Process]: background commands have no input.
func (p *follower) Write(context.Context, []byte) error {
	return client.Usagef("send input", "a background command has no standard input")
}

func (p *follower) CloseStdin(context.Context) error { return nil }

func (p *follower) Resize(context.Context, client.Size) error {
	return client.Usagef("resize terminal", "the command has no terminal")
}

func (p *follower) Signal(ctx context.Context, sig client.Signal) error {
	if sig != client.SIGKILL && sig != client.SIGTERM {
		return client.Usagef("send signal", "only SIGTERM and SIGKILL can be sent, not %d", sig)
	}
	return p.s.interrupt(ctx, p.s.failing("send signal", p.f.id), p.job.id)
}

// Close implements [client.Process]; the command goes on.
func (p *follower) Close() error {
	p.cancel(net.ErrClosed)
	return nil
}

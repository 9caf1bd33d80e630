package e2b

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"abxdash/client"
	processpb "abxdash/client/envdpb/process"
)

const (
	// maxInput is the largest piece of input sent at once (e2b-protocol §13).
	maxInput = 64 << 10
	// endGrace is how long the end of the stream may take after the end event.
	endGrace = time.Second
)

// What kind of input a process takes. An attached one is unknown until it
// writes or takes some.
const (
	inputUnknown int32 = iota
	inputPipe
	inputPTY
)

func kindOf(pty bool) int32 {
	if pty {
		return inputPTY
	}
	return inputPipe
}

// process is one running command. Next owns the stream; the other methods make
// calls of their own.
type process struct {
	c       *Client
	id      client.ID
	agent   *agent
	pid     int
	timeout time.Duration
	kind    atomic.Int32

	ctx    context.Context //nolint:containedctx // the stream's own, so that Next can tell why it ended
	cancel context.CancelCauseFunc
	events events

	// exit and last belong to the goroutine that calls Next.
	exit client.Exit
	last error

	// input has room for one: writes keep their order.
	inputOnce sync.Once
	input     chan struct{}
}

// PID implements [client.Process].
func (p *process) PID() int { return p.pid }

// Exit implements [client.Process].
func (p *process) Exit() client.Exit { return p.exit }

// started reads the start event, which comes first (§9.2). A bad cwd or user
// ends the stream instead (§15.2).
func (p *process) started() error {
	for p.events.Receive() {
		switch ev := p.events.Event().GetEvent().(type) {
		case *processpb.ProcessEvent_Start:
			p.pid = int(ev.Start.GetPid())
			return nil
		case *processpb.ProcessEvent_Data, *processpb.ProcessEvent_End:
			return &client.Error{Op: "start command", Provider: p.c.cfg.Name, Code: client.CodeBadAnswer, Message: "the agent sent output before the start of the process"}
		default:
			// Keepalives and kinds that are not known yet.
		}
	}
	if err := p.events.Err(); err != nil {
		return err
	}
	return &client.Error{Op: "start command", Provider: p.c.cfg.Name, Code: client.CodeBadAnswer, Message: "the agent ended the stream before the start of the process"}
}

// Next implements [client.Process]. Unknown events are skipped.
func (p *process) Next() (client.Frame, error) {
	if p.last != nil {
		return client.Frame{}, p.last
	}
	for p.events.Receive() {
		switch ev := p.events.Event().GetEvent().(type) {
		case *processpb.ProcessEvent_Data:
			if f, ok := p.frame(ev.Data); ok {
				return f, nil
			}
		case *processpb.ProcessEvent_End:
			p.exit = exitOf(ev.End)
			return client.Frame{}, p.ended()
		default:
			// A second start, a keepalive, or a kind that is not known yet.
		}
	}
	p.last = p.broken(p.events.Err())
	p.release()
	return client.Frame{}, p.last
}

// frame takes the bytes out of a data event; they belong to nobody else.
func (p *process) frame(d *processpb.ProcessEvent_DataEvent) (client.Frame, bool) {
	f := client.Frame{}
	switch out := d.GetOutput().(type) {
	case *processpb.ProcessEvent_DataEvent_Stdout:
		f = client.Frame{Stream: client.Stdout, Data: out.Stdout}
	case *processpb.ProcessEvent_DataEvent_Stderr:
		f = client.Frame{Stream: client.Stderr, Data: out.Stderr}
	case *processpb.ProcessEvent_DataEvent_Pty:
		f = client.Frame{Stream: client.Terminal, Data: out.Pty}
		p.kind.CompareAndSwap(inputUnknown, inputPTY)
	}
	return f, len(f.Data) > 0
}

// ended reads the rest of the stream after the end event, so that the
// connection can be used again. The exit is known whatever that brings.
func (p *process) ended() error {
	p.last = io.EOF
	grace := time.AfterFunc(endGrace, func() { p.cancel(io.EOF) })
	defer grace.Stop()
	for p.events.Receive() {
		// Nothing that follows the end event matters.
	}
	p.release()
	return io.EOF
}

// release frees the stream.
func (p *process) release() {
	p.cancel(io.EOF)
	_ = p.events.Close()
}

// broken says why a stream without an end event ended. A time-out is how the
// process ended; anything else leaves its exit unknown (§16).
func (p *process) broken(err error) error {
	var ce *connect.Error
	cause := context.Cause(p.ctx)
	wire := err != nil && connect.IsWireError(err) && errors.As(err, &ce)
	if wire && ce.Code() == connect.CodeDeadlineExceeded && p.timeout > 0 {
		p.exit = client.Exit{Code: -1, Status: fmt.Sprintf("timed out after %s", p.timeout), TimedOut: true}
		return io.EOF
	}
	e := &client.Error{Op: "read output", Provider: p.c.cfg.Name, Code: client.CodeNetwork, Kind: client.ErrStreamBroken, Message: client.ErrStreamBroken.Error()}
	switch {
	case errors.Is(cause, net.ErrClosed):
		e.Code, e.Kind, e.Message, e.Err = client.CodeRun, nil, "detached", net.ErrClosed
	case errors.Is(cause, errSilent):
		e.Message += fmt.Sprintf(" (%s for %s)", errSilent, p.c.cfg.Silence)
	case wire:
		e.Code = client.CodeRPC
		e.Message += " (" + p.c.clean(p.id, ce.Message()) + ")"
	default:
		e.Err = err
	}
	return e
}

// Close implements [client.Process].
func (p *process) Close() error {
	p.cancel(net.ErrClosed)
	return nil
}

// failing is what went wrong codes for calls about this process.
func (p *process) failing(op string) failing {
	return failing{op: op, id: p.id, code: client.CodeRPC, notFound: client.CodeRPC, agent: true}
}

func (p *process) selector() *processpb.ProcessSelector {
	return &processpb.ProcessSelector{Selector: &processpb.ProcessSelector_Pid{Pid: uint32(p.pid)}}
}

// lock waits for the turn to send input.
func (p *process) lock(ctx context.Context) error {
	p.inputOnce.Do(func() { p.input = make(chan struct{}, 1) })
	select {
	case p.input <- struct{}{}:
		return nil
	case <-ctx.Done():
		return p.c.fail(ctx, p.failing("send input"), ctx.Err())
	}
}

func (p *process) unlock() { <-p.input }

// Write implements [client.Process].
func (p *process) Write(ctx context.Context, b []byte) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	for len(b) > 0 {
		n := min(len(b), maxInput)
		if err := p.send(ctx, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// send sends one piece. For a process of unknown kind it tries a pipe, then a
// terminal: the wrong one is refused without effect (§9.3).
func (p *process) send(ctx context.Context, b []byte) error {
	kind := p.kind.Load()
	if kind != inputUnknown {
		return p.sendAs(ctx, kind, b)
	}
	err := p.sendAs(ctx, inputPipe, b)
	if err == nil {
		p.kind.CompareAndSwap(inputUnknown, inputPipe)
		return nil
	}
	if e := (*client.Error)(nil); !errors.As(err, &e) || e.Kind != nil {
		return err
	}
	if p.sendAs(ctx, inputPTY, b) != nil {
		return err
	}
	p.kind.CompareAndSwap(inputUnknown, inputPTY)
	return nil
}

func (p *process) sendAs(ctx context.Context, kind int32, b []byte) error {
	in := &processpb.ProcessInput{Input: &processpb.ProcessInput_Stdin{Stdin: b}}
	if kind == inputPTY {
		in = &processpb.ProcessInput{Input: &processpb.ProcessInput_Pty{Pty: b}}
	}
	return p.c.unary(ctx, p.failing("send input"), func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&processpb.SendInputRequest{Process: p.selector(), Input: in})
		a.user(r.Header(), "")
		_, err := a.proc.SendInput(ctx, r)
		return err
	})
}

// CloseStdin implements [client.Process].
func (p *process) CloseStdin(ctx context.Context) error {
	if p.kind.Load() == inputPTY {
		return p.Write(ctx, []byte{0x04})
	}
	f := p.failing("close input")
	if p.agent.older("0.5.2") {
		return &client.Error{
			Op: f.op, Provider: p.c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "the sandbox's agent is too old to close standard input",
		}
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.unlock()
	return p.c.unary(ctx, f, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&processpb.CloseStdinRequest{Process: p.selector()})
		a.user(r.Header(), "")
		_, err := a.proc.CloseStdin(ctx, r)
		return err
	})
}

// Resize implements [client.Process].
func (p *process) Resize(ctx context.Context, s client.Size) error {
	return p.c.unary(ctx, p.failing("resize terminal"), func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&processpb.UpdateRequest{Process: p.selector(), Pty: pty(s)})
		a.user(r.Header(), "")
		_, err := a.proc.Update(ctx, r)
		return err
	})
}

// Signal implements [client.Process].
func (p *process) Signal(ctx context.Context, s client.Signal) error {
	if s != client.SIGKILL && s != client.SIGTERM {
		return client.Usagef("send signal", "only SIGTERM and SIGKILL can be sent, not %d", s)
	}
	return p.c.unary(ctx, p.failing("send signal"), func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&processpb.SendSignalRequest{Process: p.selector(), Signal: processpb.Signal(s)})
		a.user(r.Header(), "")
		_, err := a.proc.SendSignal(ctx, r)
		return err
	})
}

// exitOf reads an end event. In JSON an exit code of 0 is an absent field, so
// the status decides whether a signal ended the process (§9.2, CMD-02).
func exitOf(e *processpb.ProcessEvent_EndEvent) client.Exit {
	x := client.Exit{Code: int(e.GetExitCode()), Status: client.OneLine(e.GetStatus(), 200)}
	name, signalled := strings.CutPrefix(x.Status, "signal: ")
	if e.GetExited() || !signalled {
		return x
	}
	name, _, _ = strings.Cut(name, " (")
	x.Code, x.Signal = -1, client.SignalNumber(name)
	return x
}

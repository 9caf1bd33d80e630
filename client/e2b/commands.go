package e2b

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"

	"abxdash/client"
	processpb "abxdash/client/envdpb/process"
)

// commands starts and finds processes (e2b-protocol §9).
type commands struct{ c *Client }

// failing is what went wrong codes for calls about processes.
func (s *commands) failing(op string, id client.ID) failing {
	return failing{op: op, id: id, code: client.CodeRun, notFound: client.CodeRPC, agent: true}
}

// Start implements [client.Commands].
func (s *commands) Start(ctx context.Context, id client.ID, cmd client.Command) (client.Process, error) {
	f := s.failing("start command", id)
	req, err := startRequest(f.op, cmd)
	if err != nil {
		return nil, err
	}
	p := &process{c: s.c, id: id, timeout: cmd.Timeout}
	p.kind.Store(kindOf(cmd.PTY != nil))
	open := func(ctx context.Context, a *agent) (events, error) {
		r := connect.NewRequest(req)
		s.stream(r.Header(), a)
		a.user(r.Header(), cmd.User)
		if cmd.Timeout > 0 {
			ms := (cmd.Timeout + time.Millisecond - 1) / time.Millisecond
			r.Header().Set("Connect-Timeout-Ms", strconv.FormatInt(int64(min(ms, 9999999999)), 10))
		}
		st, err := a.proc.Start(ctx, r)
		if err != nil {
			return nil, err
		}
		return startEvents{st}, nil
	}
	started, err := s.begin(ctx, f, p, open)
	return started, namingDir(err, cmd.Dir)
}

// namingDir adds the working directory to an error that is about it but does not
// name it: some agents only say "not a directory" (CMD-07).
func namingDir(err error, dir string) error {
	e := (*client.Error)(nil)
	if dir == "" || !asError(err, &e) || !strings.Contains(e.Message, "directory") || strings.Contains(e.Message, dir) {
		return err
	}
	e.Message += " (working directory " + client.OneLine(dir, 120) + ")"
	return err
}

// Attach implements [client.Commands].
func (s *commands) Attach(ctx context.Context, id client.ID, pid int) (client.Process, error) {
	f := s.failing(fmt.Sprintf("attach to process %d", pid), id)
	sel, err := selector(f.op, pid)
	if err != nil {
		return nil, err
	}
	p := &process{c: s.c, id: id}
	open := func(ctx context.Context, a *agent) (events, error) {
		r := connect.NewRequest(&processpb.ConnectRequest{Process: sel})
		s.stream(r.Header(), a)
		a.user(r.Header(), "")
		st, err := a.proc.Connect(ctx, r)
		if err != nil {
			return nil, err
		}
		return connectEvents{st}, nil
	}
	return s.begin(ctx, f, p, open)
}

// stream puts the headers of streams on h; the interval is never below one (§8).
func (s *commands) stream(h http.Header, _ *agent) {
	h.Set("Keepalive-Ping-Interval", strconv.FormatInt(seconds(s.c.cfg.Keepalive), 10))
}

// begin opens the stream of p and waits for its start event. ctx and the
// request timeout cover that much and no more.
func (s *commands) begin(ctx context.Context, f failing, p *process, open func(context.Context, *agent) (events, error)) (client.Process, error) {
	err := s.c.with(ctx, f, true, func(a *agent) error {
		own, cancel := cancellable(ctx)
		release := s.until(ctx, cancel)
		p.agent, p.cancel, p.ctx = a, cancel, own
		ev, err := open(own, a)
		if err == nil {
			p.events = ev
			err = p.started()
		}
		if !release() && err == nil {
			err = context.Cause(own)
		}
		if err != nil {
			cancel(err)
			if ev != nil {
				_ = ev.Close()
			}
			// The stream's own context says why when it was given up.
			if cause := context.Cause(own); errors.Is(cause, errNoAnswer) || errors.Is(cause, errSilent) {
				return cause
			}
		}
		return err
	})
	if err != nil {
		return nil, err
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

// Processes implements [client.Commands].
func (s *commands) Processes(ctx context.Context, id client.ID) ([]client.ProcessInfo, error) {
	f := s.failing("list processes", id)
	var out []client.ProcessInfo
	err := s.c.unary(ctx, f, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&processpb.ListRequest{})
		a.user(r.Header(), "")
		resp, err := a.proc.List(ctx, r)
		if err != nil {
			return err
		}
		out = make([]client.ProcessInfo, 0, len(resp.Msg.GetProcesses()))
		for _, p := range resp.Msg.GetProcesses() {
			cfg := p.GetConfig()
			out = append(out, client.ProcessInfo{
				PID:  int(p.GetPid()),
				Argv: append([]string{cfg.GetCmd()}, cfg.GetArgs()...),
				Env:  cfg.GetEnvs(),
				Dir:  cfg.GetCwd(),
				Tag:  p.GetTag(),
			})
		}
		return nil
	})
	return out, err
}

// startRequest checks a command and puts it on the wire.
func startRequest(op string, cmd client.Command) (*processpb.StartRequest, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return nil, client.Usagef(op, "no command given")
	}
	if cmd.Timeout < 0 {
		return nil, client.Usagef(op, "the timeout %s is negative", cmd.Timeout)
	}
	texts := append([]string{cmd.Dir, cmd.User, cmd.Tag}, cmd.Argv...)
	for k, v := range cmd.Env {
		texts = append(texts, k, v)
	}
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return nil, client.Usagef(op, "%q is not valid UTF-8, which the protocol needs", client.OneLine(t, 60))
		}
	}
	req := &processpb.StartRequest{
		Process: &processpb.ProcessConfig{Cmd: cmd.Argv[0], Args: cmd.Argv[1:], Envs: cmd.Env},
	}
	if cmd.Dir != "" {
		req.Process.Cwd = &cmd.Dir
	}
	if cmd.Tag != "" {
		req.Tag = &cmd.Tag
	}
	if cmd.PTY != nil {
		req.Pty = pty(*cmd.PTY)
		return req, nil
	}
	// Absent would mean an open pipe (§9.2).
	req.Stdin = &cmd.Stdin
	return req, nil
}

// pty is a terminal size on the wire, at least one cell.
func pty(s client.Size) *processpb.PTY {
	clamp := func(n int) uint32 { return uint32(min(max(n, 1), math.MaxUint16)) }
	return &processpb.PTY{Size: &processpb.PTY_Size{Cols: clamp(s.Cols), Rows: clamp(s.Rows)}}
}

// selector names a process by pid. Tags are not used: some agents look them up
// wrongly (§9.3).
func selector(op string, pid int) (*processpb.ProcessSelector, error) {
	if pid <= 0 || int64(pid) > math.MaxUint32 {
		return nil, client.Usagef(op, "%d is not a process id", pid)
	}
	return &processpb.ProcessSelector{Selector: &processpb.ProcessSelector_Pid{Pid: uint32(pid)}}, nil
}

// events is a stream of process events; Start and Connect wrap them alike.
type events interface {
	Receive() bool
	Event() *processpb.ProcessEvent
	Err() error
	Close() error
}

type startEvents struct {
	*connect.ServerStreamForClient[processpb.StartResponse]
}

func (s startEvents) Event() *processpb.ProcessEvent { return s.Msg().GetEvent() }

type connectEvents struct {
	*connect.ServerStreamForClient[processpb.ConnectResponse]
}

func (s connectEvents) Event() *processpb.ProcessEvent { return s.Msg().GetEvent() }

package envd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"abxdash/client/envdpb/process"

	"connectrpc.com/connect"
)

// processService implements process.Process (e2b-protocol §9).
type processService struct{ s *Server }

// Start runs a command and follows it to its end.
func (p *processService) Start(ctx context.Context, req *connect.Request[process.StartRequest], stream *connect.ServerStream[process.StartResponse]) error {
	if ctx.Err() != nil {
		return rpcContextError(ctx)
	}
	spec, err := p.s.spec(req.Msg, userOf(ctx))
	if err != nil {
		return err
	}
	child, err := p.s.cfg.Spawner.Spawn(spec)
	if err != nil {
		return connect.NewError(connect.CodeInternal, fmt.Errorf("starting the process: %w", err))
	}
	config := req.Msg.GetProcess()
	if config == nil {
		config = &process.ProcessConfig{}
	}
	pr := newProc(child, config, req.Msg.Tag, &p.s.procs.pool)
	sub := pr.subscribe()
	defer pr.unsubscribe(sub)
	limit := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), 1)
	}
	if err := p.s.procs.add(pr, limit); err != nil {
		pr.kill()
		pr.closeStreams()
		return connect.NewError(connect.CodeUnavailable, err)
	}
	resp := &process.StartResponse{}
	f := follower{s: p.s, pr: pr, sub: sub, interval: keepaliveInterval(req.Header()), starter: true}
	return f.run(ctx, func(e *process.ProcessEvent) error {
		resp.Event = e
		return stream.Send(resp)
	})
}

// Connect follows a process that runs, or tells how it ended.
func (p *processService) Connect(ctx context.Context, req *connect.Request[process.ConnectRequest], stream *connect.ServerStream[process.ConnectResponse]) error {
	pr, err := p.s.selected(req.Msg.GetProcess(), true)
	if err != nil {
		return err
	}
	sub := pr.subscribe()
	defer pr.unsubscribe(sub)
	resp := &process.ConnectResponse{}
	f := follower{s: p.s, pr: pr, sub: sub, interval: keepaliveInterval(req.Header())}
	return f.run(ctx, func(e *process.ProcessEvent) error {
		resp.Event = e
		return stream.Send(resp)
	})
}

// spec turns a request into a complete process description (e2b-protocol §9.2).
func (s *Server) spec(req *process.StartRequest, u User) (Spec, error) {
	config := req.GetProcess()
	spec := Spec{
		Argv:    append([]string{config.GetCmd()}, config.GetArgs()...),
		Env:     environment(u, s.globalEnv(), config.GetEnvs()),
		User:    u,
		NoStdin: req.Stdin != nil && !req.GetStdin(),
	}
	for _, text := range slices.Concat(spec.Argv, spec.Env) {
		if strings.ContainsRune(text, 0) {
			return Spec{}, connect.NewError(connect.CodeInvalidArgument, errors.New("a command, argument or variable holds a NUL byte"))
		}
	}
	spec.Argv[0] = shellHere(spec.Argv[0], spec.Env, isProgram)
	if req.Pty != nil {
		spec.NoStdin = false
		spec.TTY = new(winsize(req.GetPty().GetSize()))
	}
	var err error
	spec.Dir, err = s.workingDir(config.GetCwd(), u)
	return spec, err
}

// winsize cuts a size to what a terminal can have.
func winsize(size *process.PTY_Size) Winsize {
	return Winsize{
		Cols: uint16(min(size.GetCols(), math.MaxUint16)),
		Rows: uint16(min(size.GetRows(), math.MaxUint16)),
	}
}

// environment is PATH, HOME, USER and LOGNAME, then the global variables, then
// the request's; later ones win. Nothing of the agent's own is inherited.
func environment(u User, global, request map[string]string) []string {
	env := map[string]string{"PATH": DefaultPath, "HOME": u.Home, "USER": u.Name, "LOGNAME": u.Name}
	maps.Copy(env, global)
	maps.Copy(env, request)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name != "" && !strings.Contains(name, "=") {
			list = append(list, name+"="+env[name])
		}
	}
	return list
}

// workingDir resolves and checks the directory to start in.
func (s *Server) workingDir(cwd string, u User) (string, error) {
	path, err := s.resolveRPC(cwd, u)
	if err != nil {
		return "", err
	}
	h, err := openHandle(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("cwd '%s' does not exist", path))
	}
	if err != nil {
		return "", connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("cwd '%s': %w", path, err))
	}
	defer h.close()
	if fi, err := h.stat(); err != nil || !fi.IsDir() {
		return "", connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("cwd '%s' is not a directory", path))
	}
	return path, nil
}

// selected finds the process that a selector names.
func (s *Server) selected(sel *process.ProcessSelector, wantEnded bool) (*proc, error) {
	var match func(*proc) bool
	var what string
	switch by := sel.GetSelector().(type) {
	case *process.ProcessSelector_Pid:
		what = fmt.Sprintf("pid %d", by.Pid)
		match = func(p *proc) bool { return p.pid() == by.Pid }
	case *process.ProcessSelector_Tag:
		what = fmt.Sprintf("tag %s", by.Tag)
		match = func(p *proc) bool { return p.tag != nil && *p.tag == by.Tag }
	default:
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("the process selector is empty"))
	}
	if pr := s.procs.find(match, wantEnded); pr != nil {
		return pr, nil
	}
	return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("process with %s not found", what))
}

// List names the live processes.
func (p *processService) List(context.Context, *connect.Request[process.ListRequest]) (*connect.Response[process.ListResponse], error) {
	resp := &process.ListResponse{}
	for _, pr := range p.s.procs.live() {
		resp.Processes = append(resp.Processes, &process.ProcessInfo{Config: pr.config, Pid: pr.pid(), Tag: pr.tag})
	}
	slices.SortFunc(resp.Processes, func(a, b *process.ProcessInfo) int { return cmp.Compare(a.GetPid(), b.GetPid()) })
	return connect.NewResponse(resp), nil
}

// Update resizes a terminal.
func (p *processService) Update(_ context.Context, req *connect.Request[process.UpdateRequest]) (*connect.Response[process.UpdateResponse], error) {
	pr, err := p.s.selected(req.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	if size := req.Msg.GetPty().GetSize(); size != nil {
		tty := pr.child.TTY()
		if tty == nil {
			return nil, connect.NewError(connect.CodeInternal, errors.New("the process has no terminal"))
		}
		if err := resizeTTY(tty, winsize(size)); err != nil {
			return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("resizing the terminal: %w", err))
		}
	}
	return connect.NewResponse(&process.UpdateResponse{}), nil
}

// SendInput writes one piece of input.
func (p *processService) SendInput(ctx context.Context, req *connect.Request[process.SendInputRequest]) (*connect.Response[process.SendInputResponse], error) {
	pr, err := p.s.selected(req.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	if err := pr.feed(ctx, req.Msg.GetInput()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&process.SendInputResponse{}), nil
}

// StreamInput writes pieces of input in order until the caller is done.
func (p *processService) StreamInput(ctx context.Context, stream *connect.ClientStream[process.StreamInputRequest]) (*connect.Response[process.StreamInputResponse], error) {
	var pr *proc
	for stream.Receive() {
		switch event := stream.Msg().GetEvent().(type) {
		case *process.StreamInputRequest_Start:
			if pr != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("a second start in one input stream"))
			}
			var err error
			if pr, err = p.s.selected(event.Start.GetProcess(), false); err != nil {
				return nil, err
			}
		case *process.StreamInputRequest_Data:
			if pr == nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("data before start in an input stream"))
			}
			if err := pr.feed(ctx, event.Data.GetInput()); err != nil {
				return nil, err
			}
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(&process.StreamInputResponse{}), nil
}

// feed writes input of the kind that the process takes.
func (p *proc) feed(ctx context.Context, in *process.ProcessInput) error {
	var data []byte
	hasTTY := p.child.TTY() != nil
	switch kind := in.GetInput().(type) {
	case *process.ProcessInput_Stdin:
		if hasTTY {
			return connect.NewError(connect.CodeInternal, errors.New("the process has a terminal: send pty input"))
		}
		data = kind.Stdin
	case *process.ProcessInput_Pty:
		if !hasTTY {
			return connect.NewError(connect.CodeInternal, errors.New("the process has no terminal: send stdin input"))
		}
		data = kind.Pty
	default:
		return connect.NewError(connect.CodeUnimplemented, errors.New("the input is empty"))
	}
	if p.stdin == nil {
		return connect.NewError(connect.CodeInternal, errors.New("the process was started without stdin"))
	}
	if err := p.stdin.write(ctx, data); err != nil {
		if ctx.Err() != nil {
			return rpcContextError(ctx)
		}
		return connect.NewError(connect.CodeInternal, fmt.Errorf("writing input: %w", err))
	}
	return nil
}

// SendSignal signals the one process. The end event still follows its last output.
func (p *processService) SendSignal(_ context.Context, req *connect.Request[process.SendSignalRequest]) (*connect.Response[process.SendSignalResponse], error) {
	pr, err := p.s.selected(req.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	signal := req.Msg.GetSignal()
	if signal != sigKill && signal != sigTerm {
		return nil, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("invalid signal: %d", signal))
	}
	if err := pr.child.Signal(int(signal)); err != nil {
		return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("sending the signal: %w", err))
	}
	return connect.NewResponse(&process.SendSignalResponse{}), nil
}

// CloseStdin ends standard input after what was written before.
func (p *processService) CloseStdin(ctx context.Context, req *connect.Request[process.CloseStdinRequest]) (*connect.Response[process.CloseStdinResponse], error) {
	pr, err := p.s.selected(req.Msg.GetProcess(), false)
	if err != nil {
		return nil, err
	}
	if pr.child.TTY() != nil {
		return nil, connect.NewError(connect.CodeUnknown, errors.New("the process has a terminal: send 0x04 instead"))
	}
	if pr.stdin == nil {
		return nil, connect.NewError(connect.CodeInternal, errors.New("the process was started without stdin"))
	}
	if err := pr.stdin.closeAfterWrites(ctx); err != nil {
		return nil, rpcContextError(ctx)
	}
	return connect.NewResponse(&process.CloseStdinResponse{}), nil
}

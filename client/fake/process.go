package fake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client"
)

// Sizes of what a reader may lag behind: frames of at most frameBytes.
const (
	frameBytes  = 32 << 10
	frameBuffer = 16
)

// signalCause ends a process like a signal does.
type signalCause int

func (s signalCause) Error() string { return fmt.Sprintf("signal %d", int(s)) }

var errTimedOut = errors.New("timed out")

// process is one running command of a box.
type process struct {
	box     *box
	pid     int
	cmd     client.Command
	env     map[string]string
	dir     string
	started time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stdin   *os.File // reading end
	stdinW  *os.File
	tty     *tty
	done    chan struct{}
	exit    client.Exit // valid after done

	mu    sync.Mutex
	subs  []*handle
	size  client.Size
	sizes []client.Size
	intr  context.CancelFunc // ends the command in the foreground of an interactive shell
}

// Start runs a command in the sandbox's small shell.
func (p *Provider) Start(ctx context.Context, id client.ID, c client.Command) (client.Process, error) {
	step, err := p.begin(ctx, OpStart, id, strings.Join(c.Argv, " "))
	if err != nil {
		return nil, err
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, client.Usagef("start command", "the command is empty")
	}
	b, err := p.running(OpStart, id)
	if err != nil {
		return nil, err
	}
	dir, err := p.startDir(b, c)
	if err != nil {
		return nil, err
	}
	h, err := b.start(c, dir)
	if err != nil {
		return nil, p.wrap(OpStart, err)
	}
	if step.Err != nil {
		return nil, step.Err
	}
	return h, nil
}

// startDir checks user and working directory.
func (p *Provider) startDir(b *box, c client.Command) (string, error) {
	refuse := func(format string, args ...any) error {
		return &client.Error{
			Op: "start command", Provider: p.opts.Name, Code: client.CodeRPC, Status: 400,
			Message: fmt.Sprintf(format, args...),
		}
	}
	if c.User != "" && c.User != "user" {
		return "", refuse("invalid username: '%s'", client.OneLine(c.User, 40))
	}
	dir := abs(c.Dir)
	t := b.files()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := t.nodes[dir]; {
	case n == nil:
		return "", refuse("cwd '%s' does not exist", client.OneLine(dir, 200))
	case !n.dir:
		return "", refuse("cwd '%s' is not a directory", client.OneLine(dir, 200))
	}
	return dir, nil
}

// start makes the process and its first reader, then runs it.
func (b *box) start(c client.Command, dir string) (*handle, error) {
	stdin, stdinW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	pr := &process{
		box: b, cmd: c, env: environment(b, c), dir: dir, started: b.prov.opts.Now(),
		ctx: ctx, cancel: cancel, stdin: stdin, stdinW: stdinW, done: make(chan struct{}),
	}
	if c.PTY != nil {
		pr.size = *c.PTY
		pr.sizes = []client.Size{*c.PTY}
		pr.tty = &tty{proc: pr}
	} else if !c.Stdin {
		_ = stdinW.Close()
	}
	h := pr.subscribe()
	b.mu.Lock()
	pr.pid = b.nextPID
	b.nextPID++
	b.procs[pr.pid] = pr
	b.mu.Unlock()
	b.prov.procs.Add(1)
	go pr.run()
	return h, nil
}

func environment(b *box, c client.Command) map[string]string {
	env := map[string]string{"PATH": "/usr/bin:/bin", "HOME": home, "USER": "user", "LOGNAME": "user", "ABX_SANDBOX_ID": string(b.sb.ID)}
	maps.Copy(env, b.env)
	maps.Copy(env, c.Env)
	return env
}

// run is the process's life.
func (pr *process) run() {
	defer pr.box.prov.procs.Done()
	ctx := pr.ctx
	if pr.cmd.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, pr.cmd.Timeout, errTimedOut)
		defer cancel()
	}
	// A read that waits for input must end with the process.
	unblock := context.AfterFunc(ctx, func() { _ = pr.stdin.Close() })
	code := pr.shell(ctx)
	unblock()
	_ = pr.stdin.Close()
	_ = pr.stdinW.Close()
	pr.finish(code, context.Cause(ctx))
}

func (pr *process) finish(code int, cause error) {
	pr.exit = client.Exit{Code: code, Status: fmt.Sprintf("exit status %d", code)}
	var sig signalCause
	switch {
	case errors.As(cause, &sig):
		pr.exit = client.Exit{Code: -1, Signal: int(sig), Status: "signal: " + signalWord(int(sig))}
	case errors.Is(cause, errTimedOut):
		pr.exit = client.Exit{Code: -1, Signal: int(client.SIGKILL), Status: "signal: killed", TimedOut: true}
	}
	b := pr.box
	b.mu.Lock()
	delete(b.procs, pr.pid)
	b.mu.Unlock()
	pr.cancel(nil)
	close(pr.done)
}

func signalWord(n int) string {
	switch n {
	case 2:
		return "interrupt"
	case 9:
		return "killed"
	case 15:
		return "terminated"
	default:
		return fmt.Sprint(n)
	}
}

// signal ends the process as the signal would.
func (pr *process) signal(n int) { pr.cancel(signalCause(n)) }

// interrupt is ctrl+c on the terminal.
func (pr *process) interrupt() {
	pr.mu.Lock()
	intr := pr.intr
	pr.mu.Unlock()
	if intr == nil {
		pr.signal(2)
		return
	}
	intr()
}

func (pr *process) setInterrupt(f context.CancelFunc) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.intr = f
}

func (pr *process) currentSize() client.Size {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pr.size
}

func (pr *process) subscribe() *handle {
	h := &handle{proc: pr, frames: make(chan client.Frame, frameBuffer), closed: make(chan struct{})}
	pr.mu.Lock()
	pr.subs = append(pr.subs, h)
	pr.mu.Unlock()
	return h
}

// emit hands output to every reader. A reader that lags makes the process wait.
func (pr *process) emit(ctx context.Context, stream client.StreamKind, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), frameBytes)
		pr.mu.Lock()
		subs := slices.Clone(pr.subs)
		pr.mu.Unlock()
		for _, h := range subs {
			select {
			case h.frames <- client.Frame{Stream: stream, Data: bytes.Clone(p[:n])}:
			case <-h.closed:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		p = p[n:]
	}
	return ctx.Err()
}

// outWriter is one output stream of a process.
type outWriter struct {
	ctx    context.Context
	proc   *process
	stream client.StreamKind
}

func (w outWriter) Write(p []byte) (int, error) {
	out := p
	if w.stream == client.Terminal {
		out = bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
	}
	if err := w.proc.emit(w.ctx, w.stream, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Attach joins a running process.
func (p *Provider) Attach(ctx context.Context, id client.ID, pid int) (client.Process, error) {
	step, err := p.begin(ctx, OpAttach, id, fmt.Sprint(pid))
	if err != nil {
		return nil, err
	}
	b, err := p.running(OpAttach, id)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	pr := b.procs[pid]
	b.mu.Unlock()
	if pr == nil {
		return nil, &client.Error{
			Op: "attach", Provider: p.opts.Name, Code: client.CodeRPC, Status: 404, Kind: client.ErrNotFound,
			Message: fmt.Sprintf("process with pid %d not found", pid),
		}
	}
	return pr.subscribe(), step.Err
}

// Processes lists what runs in the sandbox, by pid.
func (p *Provider) Processes(ctx context.Context, id client.ID) ([]client.ProcessInfo, error) {
	step, err := p.begin(ctx, OpProcesses, id, "")
	if err != nil {
		return nil, err
	}
	b, err := p.running(OpProcesses, id)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]client.ProcessInfo, 0, len(b.procs))
	for _, pr := range b.procs {
		out = append(out, client.ProcessInfo{
			PID: pr.pid, Argv: slices.Clone(pr.cmd.Argv), Env: maps.Clone(pr.cmd.Env), Dir: pr.dir, Tag: pr.cmd.Tag,
		})
	}
	slices.SortFunc(out, func(a, b client.ProcessInfo) int { return cmp.Compare(a.PID, b.PID) })
	return out, step.Err
}

// killAll sends SIGKILL to every process of the box.
func (b *box) killAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pr := range b.procs {
		pr.signal(int(client.SIGKILL))
	}
}

// Sizes returns the terminal sizes a process was given, the first one included
// (PTY-01, PTY-02). It is nil if there is no such process.
func (p *Provider) Sizes(id client.ID, pid int) []client.Size {
	p.mu.Lock()
	b := p.boxes[id]
	p.mu.Unlock()
	if b == nil {
		return nil
	}
	b.mu.Lock()
	pr := b.procs[pid]
	b.mu.Unlock()
	if pr == nil {
		return nil
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return slices.Clone(pr.sizes)
}

// handle is one reader of a process; it implements client.Process.
type handle struct {
	proc   *process
	frames chan client.Frame
	closed chan struct{}
	once   sync.Once
}

// PID is the process id.
func (h *handle) PID() int { return h.proc.pid }

// Next returns the next chunk; see client.Process.
func (h *handle) Next() (client.Frame, error) {
	select {
	case <-h.closed:
		return client.Frame{}, h.detached()
	default:
	}
	select {
	case f := <-h.frames:
		return f, nil
	case <-h.closed:
		return client.Frame{}, h.detached()
	case <-h.proc.done:
	}
	select {
	case f := <-h.frames:
		return f, nil
	default:
		return client.Frame{}, io.EOF
	}
}

func (h *handle) detached() error {
	return &client.Error{Op: "read output", Provider: h.proc.box.prov.opts.Name, Code: client.CodeRun, Kind: client.ErrStreamBroken, Message: "detached"}
}

func (h *handle) call(ctx context.Context, op, arg string) error {
	_, err := h.proc.box.prov.begin(ctx, op, h.proc.box.sb.ID, arg)
	return err
}

// Write sends standard or terminal input.
func (h *handle) Write(ctx context.Context, p []byte) error {
	if err := h.call(ctx, OpWrite, string(p)); err != nil {
		return err
	}
	return h.proc.input(ctx, p)
}

// input feeds standard input; on a terminal through the line discipline.
func (pr *process) input(ctx context.Context, p []byte) error {
	if pr.tty != nil {
		p = pr.tty.input(p)
	} else if !pr.cmd.Stdin {
		return pr.inputError("standard input is not open")
	}
	if len(p) == 0 {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = pr.stdinW.SetWriteDeadline(time.Unix(1, 0)) })
	_, err := pr.stdinW.Write(p)
	if !stop() {
		_ = pr.stdinW.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		return pr.inputError("the process does not read")
	}
	return nil
}

func (pr *process) inputError(why string) error {
	return &client.Error{Op: "send input", Provider: pr.box.prov.opts.Name, Code: client.CodeRPC, Kind: client.ErrConflict, Message: why}
}

// CloseStdin ends standard input; on a terminal it types ctrl+d.
func (h *handle) CloseStdin(ctx context.Context) error {
	if err := h.call(ctx, OpClose, ""); err != nil {
		return err
	}
	if h.proc.tty != nil {
		return h.proc.input(ctx, []byte{4})
	}
	_ = h.proc.stdinW.Close() // closing twice is fine
	return nil
}

// Resize tells the terminal its size.
func (h *handle) Resize(ctx context.Context, s client.Size) error {
	if err := h.call(ctx, OpResize, fmt.Sprintf("%dx%d", s.Cols, s.Rows)); err != nil {
		return err
	}
	if h.proc.tty == nil {
		return h.proc.inputError("the process has no terminal")
	}
	h.proc.mu.Lock()
	defer h.proc.mu.Unlock()
	h.proc.size = s
	h.proc.sizes = append(h.proc.sizes, s)
	return nil
}

// Signal ends the process like SIGTERM or SIGKILL.
func (h *handle) Signal(ctx context.Context, s client.Signal) error {
	if err := h.call(ctx, OpSignal, fmt.Sprint(int(s))); err != nil {
		return err
	}
	if s != client.SIGKILL && s != client.SIGTERM {
		return client.Usagef("signal", "only SIGTERM and SIGKILL can be sent")
	}
	select {
	case <-h.proc.done:
		return &client.Error{Op: "signal", Provider: h.proc.box.prov.opts.Name, Code: client.CodeRPC, Status: 404, Kind: client.ErrNotFound, Message: "the process has ended"}
	default:
	}
	h.proc.signal(int(s))
	return nil
}

// Exit is how the process ended; valid after Next returned io.EOF.
func (h *handle) Exit() client.Exit {
	select {
	case <-h.proc.done:
		return h.proc.exit
	default:
		return client.Exit{}
	}
}

// Close detaches; the process goes on.
func (h *handle) Close() error {
	h.once.Do(func() {
		close(h.closed)
		h.proc.mu.Lock()
		h.proc.subs = slices.DeleteFunc(h.proc.subs, func(x *handle) bool { return x == h })
		h.proc.mu.Unlock()
	})
	return nil
}

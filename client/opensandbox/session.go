package opensandbox

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"abxdash/client"
)

// Frames of a session's WebSocket (§4.6).
const (
	frameInput  = 0x00
	frameOut    = 0x01
	frameErr    = 0x02
	frameReplay = 0x03
	// closeTaken is the close code of a session that another client took over.
	closeTaken = 4001
	// maxMessage is above the replay of 1 MiB.
	maxMessage = 4 << 20
	// maxInput is the largest piece of input sent at once; base64 of it stays
	// below the 32 KiB of a frame.
	maxInput = 24 << 10
	// keepalive is how often a sign of life is sent; the server drops a client
	// that is silent for 60 s.
	keepalive = 20 * time.Second
	// sessionSilence is how long nothing may come, with pongs due every keepalive.
	sessionSilence = 75 * time.Second
	// maxRejoins bounds attempts to get a lost connection back.
	maxRejoins = 5
)

// control is a text frame, both ways.
type control struct {
	Type     string `json:"type"`
	Mode     string `json:"mode,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Error    string `json:"error,omitempty"`
	Code     string `json:"code,omitempty"`
	Cols     int    `json:"cols,omitempty"`
	Rows     int    `json:"rows,omitempty"`
	Signal   string `json:"signal,omitempty"`
}

// session is a command on a terminal, or one with an open standard input. Next
// owns reading; a lost connection is rejoined where it broke off.
type session struct {
	s   *commands
	f   failing
	job *job

	ctx    context.Context //nolint:containedctx // ends everything of this handle
	cancel context.CancelCauseFunc
	alive  sync.WaitGroup

	mu   sync.Mutex
	conn *websocket.Conn
	size client.Size
	// sent is the last signal sent, which explains an exit of -1.
	sent    client.Signal
	timeout *time.Timer
	timed   atomic.Bool
	// turn lets one writer at a time send, so that input keeps its order.
	turn chan struct{}

	// pos is the offset of the next byte of output; it belongs to Next.
	pos  int64
	exit client.Exit
	last error
}

// sessionStatus is the answer of GET /pty/{id}.
type sessionStatus struct {
	ID      string `json:"session_id"`
	Running bool   `json:"running"`
	Offset  int64  `json:"output_offset"`
}

// session asks for a session's status.
func (s *commands) session(ctx context.Context, f failing, id string) (sessionStatus, error) {
	var st sessionStatus
	a, err := s.c.call(ctx, f, request{method: http.MethodGet, url: "/pty/" + url.PathEscape(id)})
	if err != nil {
		return st, err
	}
	return st, s.c.decode(f, a, "session", &st)
}

// startSession makes a session and joins it, which starts the command.
func (s *commands) startSession(ctx context.Context, f failing, cmd client.Command) (client.Process, error) {
	if cmd.User != "" {
		return nil, &client.Error{
			Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "on OpenSandbox a terminal, or a command with input, always runs as the image's own user",
		}
	}
	dir, err := s.c.path(ctx, f, cmd.Dir)
	if err != nil {
		return nil, err
	}
	if cmd.Dir != "" {
		// The session would make a missing folder instead of refusing it.
		if err := s.c.mustBeDir(ctx, f, cmd.Dir); err != nil {
			return nil, err
		}
	}
	line := pipeLine(cmd)
	if cmd.PTY != nil {
		line = terminalLine(cmd)
	}
	body := struct {
		Dir     string `json:"cwd,omitempty"`
		Command string `json:"command"`
	}{dir, line}
	a, err := s.c.call(ctx, f, request{method: http.MethodPost, url: "/pty", body: body})
	if err != nil {
		return nil, err
	}
	var st sessionStatus
	if json.Unmarshal(a.body, &st) != nil || st.ID == "" {
		return nil, &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeBadAnswer, Message: "the answer is no session"}
	}
	p := s.handle(ctx, f, &job{id: st.ID, session: true, pipe: cmd.PTY == nil, cmd: cmd}, 0)
	if cmd.PTY != nil {
		p.size = *cmd.PTY
	}
	if err := p.dial(ctx, false); err != nil {
		p.end(err)
		s.discard(f, st.ID)
		return nil, s.c.fail(ctx, f, err)
	}
	p.job = s.c.remember(f.id, *p.job)
	if cmd.Timeout > 0 {
		p.limit(cmd.Timeout)
	}
	return p, nil
}

// rejoin joins a session that runs: what it wrote before is not replayed, and
// whoever holds it loses it.
func (s *commands) rejoin(ctx context.Context, f failing, j *job) (client.Process, error) {
	st, err := s.session(ctx, f, j.id)
	if err != nil {
		return nil, err
	}
	if !st.Running {
		// Joining would start the command a second time (§4.6).
		s.c.drop(f.id, j.num)
		return nil, &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeRPC, Kind: client.ErrNotFound, Message: "the process has ended"}
	}
	p := s.handle(ctx, f, j, st.Offset)
	if j.cmd.PTY != nil {
		p.size = *j.cmd.PTY
	}
	if err := p.dial(ctx, true); err != nil {
		p.end(err)
		return nil, s.c.fail(ctx, f, err)
	}
	return p, nil
}

func (s *commands) handle(ctx context.Context, f failing, j *job, pos int64) *session {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p := &session{s: s, f: f, job: j, ctx: own, cancel: cancel, pos: pos, turn: make(chan struct{}, 1)}
	p.f.op = "read output"
	p.alive.Go(p.beat)
	return p
}

// limit kills the command after d.
func (p *session) limit(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timeout = time.AfterFunc(d, func() {
		p.timed.Store(true)
		ctx, cancel := context.WithTimeout(p.ctx, interruptPatience)
		defer cancel()
		if err := p.Signal(ctx, client.SIGKILL); err != nil {
			p.s.c.cfg.Logger.Warn("a command may outlive its timeout", "sandbox", p.f.id, "err", err)
		}
	})
}

// dial joins the session from p.pos on.
func (p *session) dial(ctx context.Context, takeover bool) error {
	ctx, cancel := p.s.c.bounded(ctx, 0)
	defer cancel()
	e, err := p.s.c.execd(ctx, p.f)
	if err != nil {
		return err
	}
	q := url.Values{"since": {strconv.FormatInt(p.pos, 10)}}
	if p.job.pipe {
		q.Set("pty", "0")
	}
	if takeover {
		q.Set("takeover", "1")
	}
	h := e.header.Clone()
	h.Set("User-Agent", p.s.c.cfg.UserAgent)
	//nolint:bodyclose // the library closes it, and hands over a copy of what it read
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(e.base, "http")+"/pty/"+url.PathEscape(p.job.id)+"/ws?"+q.Encode(),
		&websocket.DialOptions{HTTPClient: p.s.c.http, HTTPHeader: h})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
			return &refusal{host: resp.Request.URL.Host, status: resp.StatusCode, header: resp.Header, body: body}
		}
		return err
	}
	conn.SetReadLimit(maxMessage)
	p.mu.Lock()
	old := p.conn
	p.conn = conn
	p.mu.Unlock()
	if old != nil {
		_ = old.CloseNow()
	}
	return nil
}

// beat sends a sign of life until the handle ends.
func (p *session) beat() {
	tick := time.NewTicker(keepalive)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(p.ctx, interruptPatience)
			_ = p.tell(ctx, control{Type: "ping"}) // a broken connection is Next's to find
			cancel()
		}
	}
}

// PID implements [client.Process]; the number is our own.
func (p *session) PID() int { return p.job.num }

// Exit implements [client.Process].
func (p *session) Exit() client.Exit { return p.exit }

// Next implements [client.Process].
func (p *session) Next() (client.Frame, error) {
	for p.last == nil {
		kind, data, err := p.read()
		if err != nil {
			if err = p.lost(err); err != nil {
				p.end(err)
			}
			continue
		}
		if kind == websocket.MessageText {
			p.told(data)
			continue
		}
		if f, ok := p.frame(data); ok {
			return f, nil
		}
	}
	return client.Frame{}, p.last
}

// read reads one message; silence counts as a break.
func (p *session) read() (websocket.MessageType, []byte, error) {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(p.ctx, sessionSilence, errSilent)
	defer cancel()
	return conn.Read(ctx)
}

// frame takes output out of a binary message.
func (p *session) frame(data []byte) (client.Frame, bool) {
	if len(data) == 0 {
		return client.Frame{}, false
	}
	kind, data := data[0], data[1:]
	stream := client.Terminal
	switch kind {
	case frameReplay:
		if len(data) < 8 {
			return client.Frame{}, false
		}
		from := int64(binary.BigEndian.Uint64(data))
		data = data[8:]
		end := from + int64(len(data))
		// What was read before the break is not given twice.
		if skip := p.pos - from; skip > 0 {
			data = data[min(skip, int64(len(data))):]
		}
		p.pos = max(p.pos, end)
		if p.job.pipe {
			stream = client.Stdout
		}
	case frameOut, frameErr:
		p.pos += int64(len(data))
		if p.job.pipe {
			stream = client.Stdout
		}
		if kind == frameErr {
			stream = client.Stderr
		}
	default:
		return client.Frame{}, false
	}
	return client.Frame{Stream: stream, Data: data}, len(data) > 0
}

// told handles a text message.
func (p *session) told(data []byte) {
	var c control
	if json.Unmarshal(data, &c) != nil {
		return
	}
	switch c.Type {
	case "connected":
		if !p.job.pipe && p.size.Cols > 0 {
			ctx, cancel := context.WithTimeout(p.ctx, interruptPatience)
			_ = p.tell(ctx, control{Type: "resize", Cols: p.size.Cols, Rows: p.size.Rows})
			cancel()
		}
	case "exit":
		p.ended(c.ExitCode)
	case "error":
		if c.Code == "START_FAILED" {
			p.exit = client.Exit{Code: 1, Status: client.OneLine(c.Error, 200)}
			p.end(io.EOF)
		}
	}
}

// ended is the one way in which the exit is known. The session is deleted:
// joining it again would run the command a second time.
func (p *session) ended(code *int) {
	p.exit = client.Exit{Code: -1}
	if code != nil {
		p.exit.Code = *code
	}
	p.exit.Status = fmt.Sprintf("exit status %d", p.exit.Code)
	p.mu.Lock()
	if p.exit.Code < 0 {
		p.exit.Signal, p.exit.Status = int(p.sent), "ended by a signal"
	}
	p.mu.Unlock()
	if p.timed.Load() {
		p.exit.TimedOut, p.exit.Status = true, fmt.Sprintf("timed out after %s", p.job.cmd.Timeout)
	}
	p.s.c.drop(p.f.id, p.job.num)
	p.s.discard(p.f, p.job.id)
	p.end(io.EOF)
}

// discard removes a session that is over, without keeping the caller.
func (s *commands) discard(f failing, id string) {
	s.c.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), interruptPatience)
		defer cancel()
		_, _ = s.c.call(ctx, f, request{method: http.MethodDelete, url: "/pty/" + url.PathEscape(id)}) // it holds nothing any more
	})
}

// end gives up the connection. The first end counts.
func (p *session) end(err error) {
	if p.last == nil {
		p.last = err
	}
	p.cancel(io.EOF)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		_ = p.conn.CloseNow()
	}
	if p.timeout != nil {
		p.timeout.Stop()
	}
}

// lost tries to get a broken connection back; nil says that it did. A session
// whose command has ended is never joined again.
func (p *session) lost(err error) error {
	broken := &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeNetwork, Kind: client.ErrStreamBroken, Message: client.ErrStreamBroken.Error(), Err: err}
	if errors.Is(context.Cause(p.ctx), net.ErrClosed) {
		return &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeRun, Message: "detached", Err: net.ErrClosed}
	}
	if websocket.CloseStatus(err) == closeTaken {
		return &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeConflict, Kind: client.ErrConflict, Message: "another client has taken the terminal over", Err: err}
	}
	for try := range maxRejoins {
		if try > 0 && !sleep(p.ctx, pollReady<<try) {
			break
		}
		st, serr := p.s.session(p.ctx, p.f, p.job.id)
		switch {
		case errors.Is(serr, client.ErrNotFound), serr == nil && !st.Running:
			return broken
		case serr != nil:
			continue
		}
		if p.dial(p.ctx, true) == nil {
			return nil
		}
	}
	if errors.Is(context.Cause(p.ctx), net.ErrClosed) {
		return &client.Error{Op: p.f.op, Provider: p.s.c.cfg.Name, Code: client.CodeRun, Message: "detached", Err: net.ErrClosed}
	}
	return broken
}

// tell sends a text message.
func (p *session) tell(ctx context.Context, c control) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return p.send(ctx, websocket.MessageText, b)
}

// send writes one message on the connection of the moment.
func (p *session) send(ctx context.Context, kind websocket.MessageType, data []byte) error {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if p.ctx.Err() != nil {
		return net.ErrClosed
	}
	return conn.Write(ctx, kind, data)
}

// failed words an error of input, size or signal.
func (p *session) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &client.Error{Op: op, Provider: p.s.c.cfg.Name, Code: client.CodeRPC, Kind: client.ErrUnavailable, Message: "the connection to the process is broken", Err: err}
}

// input sends pieces in their order.
func (p *session) input(ctx context.Context, pieces ...[]byte) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return p.failed("send input", ctx.Err())
	}
	defer func() { <-p.turn }()
	for _, piece := range pieces {
		if err := p.send(ctx, websocket.MessageBinary, append([]byte{frameInput}, piece...)); err != nil {
			return p.failed("send input", err)
		}
	}
	return nil
}

// Write implements [client.Process].
func (p *session) Write(ctx context.Context, data []byte) error {
	var pieces [][]byte
	for part := range slices.Chunk(data, maxInput) {
		if p.job.pipe {
			part = append(base64.StdEncoding.AppendEncode(nil, part), '\n')
		}
		pieces = append(pieces, part)
	}
	return p.input(ctx, pieces...)
}

// CloseStdin implements [client.Process].
func (p *session) CloseStdin(ctx context.Context) error {
	if p.job.pipe {
		return p.input(ctx, []byte(".\n"))
	}
	return p.input(ctx, []byte{4})
}

// Resize implements [client.Process].
func (p *session) Resize(ctx context.Context, size client.Size) error {
	if p.job.pipe {
		return client.Usagef("resize terminal", "the command has no terminal")
	}
	size = client.Size{Cols: max(size.Cols, 1), Rows: max(size.Rows, 1)}
	p.mu.Lock()
	p.size = size
	p.mu.Unlock()
	return p.failed("resize terminal", p.tell(ctx, control{Type: "resize", Cols: size.Cols, Rows: size.Rows}))
}

// Signal implements [client.Process]; it reaches the session's own group (§4.6).
func (p *session) Signal(ctx context.Context, sig client.Signal) error {
	name := map[client.Signal]string{client.SIGTERM: "SIGTERM", client.SIGKILL: "SIGKILL"}[sig]
	if name == "" {
		return client.Usagef("send signal", "only SIGTERM and SIGKILL can be sent, not %d", sig)
	}
	p.mu.Lock()
	p.sent = sig
	p.mu.Unlock()
	return p.failed("send signal", p.tell(ctx, control{Type: "signal", Signal: name}))
}

// Close implements [client.Process]; the session goes on and can be attached to.
func (p *session) Close() error {
	p.cancel(net.ErrClosed)
	p.mu.Lock()
	if p.timeout != nil {
		p.timeout.Stop()
	}
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		_ = conn.CloseNow()
	}
	p.alive.Wait()
	return nil
}

//go:build unix

package opensandboxtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"
)

// replayLimit is how much output is kept for a client that comes back.
const replayLimit = 1 << 20

// ptySession follows §4.6.
type ptySession struct {
	e       *Execd
	id      string
	dir     string
	line    string
	mu      sync.Mutex
	started bool
	running bool
	pipe    bool
	runs    int
	cmd     *exec.Cmd
	in      io.WriteCloser
	tty     *os.File
	total   int64
	replay  []byte
	conn    *websocket.Conn
	code    int
	exited  chan struct{}
}

func (p *ptySession) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (e *Execd) newPTY(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Dir     string `json:"cwd"`
		Command string `json:"command"`
	}
	_ = json.Unmarshal(readAll(r.Body), &in) // the body is optional
	p := &ptySession{e: e, id: uuid(), line: in.Command, dir: e.home}
	if in.Dir != "" {
		dir, err := e.expand(in.Dir)
		if err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		if err != nil {
			fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", err.Error())
			return
		}
		p.dir = dir
	}
	e.mu.Lock()
	e.ptys[p.id] = p
	e.mu.Unlock()
	reply(w, http.StatusCreated, map[string]string{"session_id": p.id})
}

func (e *Execd) onePTY(w http.ResponseWriter, r *http.Request, rest string) {
	key, ws := strings.CutSuffix(rest, "/ws")
	e.mu.Lock()
	p := e.ptys[key]
	e.mu.Unlock()
	switch {
	case p == nil:
		fail(w, http.StatusNotFound, "CONTEXT_NOT_FOUND", "pty session "+key+" not found")
	case ws:
		p.join(w, r)
	case r.Method == http.MethodDelete:
		e.mu.Lock()
		delete(e.ptys, key)
		e.mu.Unlock()
		p.kill()
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"session_id": p.id, "running": p.running, "output_offset": p.total})
	}
}

// Runs is how often the command of the only session was started.
func (e *Execd) Runs() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, p := range e.ptys {
		p.mu.Lock()
		n = max(n, p.runs)
		p.mu.Unlock()
	}
	return n
}

// start runs the command; p.mu is held. A session that has ended starts again.
func (p *ptySession) start(pipe bool) error {
	p.pipe, p.runs, p.exited = pipe, p.runs+1, make(chan struct{})
	line := p.line
	if line == "" {
		line = "exec bash --norc --noprofile -i"
	}
	p.cmd = shell(line)
	p.cmd.Dir, p.cmd.Env = p.dir, p.e.environ(nil)
	if pipe {
		return p.startPipe()
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	tty, err := pty.StartWithSize(p.cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		return err
	}
	p.in, p.tty, p.running = tty, tty, true
	p.e.procs.Go(func() {
		p.copyOut(1, tty)
		p.wait()
		_ = tty.Close()
	})
	return nil
}

func (p *ptySession) startPipe() error {
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	eout, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.in, p.running = in, true
	var readers sync.WaitGroup
	readers.Go(func() { p.copyOut(1, out) })
	readers.Go(func() { p.copyOut(2, eout) })
	p.e.procs.Go(func() {
		readers.Wait()
		p.wait()
	})
	return nil
}

func (p *ptySession) copyOut(kind byte, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			p.mu.Lock()
			p.total += int64(n)
			p.replay = append(p.replay, buf[:n]...)
			if over := len(p.replay) - replayLimit; over > 0 {
				p.replay = p.replay[over:]
			}
			conn := p.conn
			p.mu.Unlock()
			if conn != nil {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				_ = conn.Write(ctx, websocket.MessageBinary, append([]byte{kind}, buf[:n]...))
				cancel()
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *ptySession) wait() {
	_ = p.cmd.Wait() // the state says it all
	p.mu.Lock()
	p.running, p.code = false, p.cmd.ProcessState.ExitCode()
	conn := p.conn
	close(p.exited)
	p.mu.Unlock()
	if conn != nil {
		text(conn, map[string]any{"type": "exit", "exit_code": p.code})
		_ = conn.Close(websocket.StatusNormalClosure, "process exited")
	}
}

func text(conn *websocket.Conn, v map[string]any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = conn.Write(ctx, websocket.MessageText, b)
}

func (p *ptySession) join(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.mu.Lock()
	held := p.conn
	p.mu.Unlock()
	if held != nil {
		if q.Get("takeover") != "1" {
			fail(w, http.StatusConflict, "ALREADY_CONNECTED", "another client is already connected to pty session "+p.id)
			return
		}
		_ = held.Close(4001, "TAKEN_OVER")
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }() // it may be closed already
	conn.SetReadLimit(1 << 20)
	if err := p.attach(conn, q.Get("pty") == "0", int64(number(q.Get("since"), 0))); err != nil {
		text(conn, map[string]any{"type": "error", "error": err.Error(), "code": "START_FAILED"})
		return
	}
	for {
		kind, data, err := conn.Read(r.Context())
		if err != nil {
			break
		}
		if kind == websocket.MessageText {
			p.control(conn, data)
			continue
		}
		if len(data) > 0 && data[0] == 0 {
			_, _ = p.in.Write(data[1:])
		}
	}
	p.mu.Lock()
	if p.conn == conn {
		p.conn = nil
	}
	p.mu.Unlock()
}

// attach starts what does not run, replays and says that it is connected. New
// output waits meanwhile.
func (p *ptySession) attach(conn *websocket.Conn, pipe bool, since int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running {
		if p.started {
			p.total, p.replay = 0, nil
		}
		if err := p.start(pipe); err != nil {
			return err
		}
		p.started = true
	}
	first := p.total - int64(len(p.replay))
	if from := max(since, first); from < p.total {
		msg := binary.BigEndian.AppendUint64([]byte{3}, uint64(from))
		msg = append(msg, p.replay[from-first:]...)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := conn.Write(ctx, websocket.MessageBinary, msg)
		cancel()
		if err != nil {
			return err
		}
	}
	mode := "pty"
	if p.pipe {
		mode = "pipe"
	}
	text(conn, map[string]any{"type": "connected", "session_id": p.id, "mode": mode})
	p.conn = conn
	return nil
}

func (p *ptySession) control(conn *websocket.Conn, data []byte) {
	var c struct {
		Type, Signal string
		Cols, Rows   uint16
	}
	if json.Unmarshal(data, &c) != nil {
		return
	}
	switch c.Type {
	case "ping":
		text(conn, map[string]any{"type": "pong"})
	case "resize":
		if p.tty != nil && c.Cols > 0 && c.Rows > 0 {
			_ = pty.Setsize(p.tty, &pty.Winsize{Cols: c.Cols, Rows: c.Rows})
		}
	case "signal":
		sig, ok := map[string]syscall.Signal{
			"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL, "SIGQUIT": syscall.SIGQUIT, "SIGHUP": syscall.SIGHUP,
		}[c.Signal]
		if ok {
			_ = syscall.Kill(-p.cmd.Process.Pid, sig)
		}
	default:
		text(conn, map[string]any{"type": "error", "error": fmt.Sprintf("unknown frame type %q", c.Type), "code": "INVALID_FRAME"})
	}
}

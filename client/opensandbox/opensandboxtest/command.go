//go:build unix

package opensandboxtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// command is one run of POST /command.
type command struct {
	id, line   string
	background bool
	cmd        *exec.Cmd
	done       chan struct{}

	mu       sync.Mutex
	running  bool
	code     int
	status   string
	started  time.Time
	finished time.Time
	log      bytes.Buffer
}

// kill ends the command's whole group.
func (c *command) kill() {
	if c.cmd.Process != nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// shell is a command whose processes ignore SIGINT and SIGQUIT from the start,
// as everything that execd starts does (§4.6).
func shell(line string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), "sh", "-c", `trap "" INT QUIT; exec bash --norc --noprofile -c "$1"`, "sh", line)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

func (e *Execd) run(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Command    string            `json:"command"`
		Dir        string            `json:"cwd"`
		Env        map[string]string `json:"envs"`
		Background bool              `json:"background"`
		Timeout    int64             `json:"timeout"`
	}
	if json.Unmarshal(readAll(r.Body), &in) != nil || in.Command == "" {
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request")
		return
	}
	dir := e.home
	if in.Dir != "" {
		var err error
		if dir, err = e.expand(in.Dir); err == nil {
			var info os.FileInfo
			if info, err = os.Stat(dir); err == nil && !info.IsDir() {
				err = errors.New("not a directory: " + dir)
			}
		}
		if err != nil {
			fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", fmt.Sprintf("invalid request, validation error working directory does not exist: %s: %v", dir, err))
			return
		}
	}
	c := &command{id: id(16), line: in.Command, background: in.Background, cmd: shell(in.Command), done: make(chan struct{}), running: true, started: time.Now()}
	c.cmd.Dir, c.cmd.Env = dir, e.environ(in.Env)
	out := &stream{w: w, quiet: in.Background}
	if err := e.start(c, out); err != nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out.send(map[string]any{"type": "init", "text": c.id})
	out.send(map[string]any{"type": "ping", "text": "pong"})
	if in.Background {
		out.send(map[string]any{"type": "execution_complete", "execution_time": 1})
		return
	}
	close(out.open)
	var limit <-chan time.Time
	if in.Timeout > 0 {
		t := time.NewTimer(time.Duration(in.Timeout) * time.Millisecond)
		defer t.Stop()
		limit = t.C
	}
	ping := time.NewTicker(3 * time.Second)
	defer ping.Stop()
	for {
		select {
		case <-c.done:
			out.send(c.terminal())
			return
		case <-limit:
			c.kill()
		case <-ping.C:
			out.send(map[string]any{"type": "ping", "text": "pong"})
		case <-r.Context().Done():
			// The command goes on; its output is lost (§4.3).
			out.close()
			if limit != nil {
				e.procs.Go(func() {
					select {
					case <-c.done:
					case <-limit:
						c.kill()
					}
				})
			}
			return
		}
	}
}

// start starts a command and the readers of its output.
func (e *Execd) start(c *command, out *stream) error {
	out.open = make(chan struct{})
	if c.background {
		c.cmd.Stdout, c.cmd.Stderr = (*locked)(c), (*locked)(c)
		if err := c.cmd.Start(); err != nil {
			return err
		}
		e.procs.Go(func() { c.wait() })
	} else {
		stdout, err := c.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		stderr, err := c.cmd.StderrPipe()
		if err != nil {
			return err
		}
		if err := c.cmd.Start(); err != nil {
			return err
		}
		var readers sync.WaitGroup
		readers.Go(func() { out.lines("stdout", stdout) })
		readers.Go(func() { out.lines("stderr", stderr) })
		e.procs.Go(func() {
			readers.Wait()
			c.wait()
		})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.commands[c.id] = c
	return nil
}

func (c *command) wait() {
	err := c.cmd.Wait()
	c.mu.Lock()
	c.running, c.finished = false, time.Now()
	c.code = c.cmd.ProcessState.ExitCode()
	if err != nil {
		c.status = err.Error()
	}
	c.mu.Unlock()
	close(c.done)
}

// terminal is the last event (§4.2).
func (c *command) terminal() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == 0 {
		return map[string]any{"type": "execution_complete", "execution_time": time.Since(c.started).Milliseconds()}
	}
	return map[string]any{"type": "error", "error": map[string]any{
		"ename": "CommandExecError", "evalue": fmt.Sprint(c.code), "traceback": []string{c.status},
	}}
}

// locked collects the one log of a background command.
type locked command

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// stream writes events.
type stream struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	closed bool
	quiet  bool
	// open is closed once the first events are out: output waits for them.
	open chan struct{}
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *stream) send(ev map[string]any) {
	ev["timestamp"] = time.Now().UnixMilli()
	b, err := json.Marshal(ev)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	_, _ = s.w.Write(append(b, '\n', '\n'))
	_ = http.NewResponseController(s.w).Flush()
}

// lines sends output line by line, without line ends; "\r" ends one too.
func (s *stream) lines(kind string, r io.Reader) {
	br := bufio.NewReaderSize(r, 1<<20)
	<-s.open
	var line []byte
	flush := func() {
		text := strings.ToValidUTF8(string(line), "\uFFFD")
		if text == "" {
			text = "\n"
		}
		s.send(map[string]any{"type": kind, "text": text})
		line = line[:0]
	}
	last := byte(0)
	for {
		b, err := br.ReadByte()
		if err != nil {
			if len(line) > 0 {
				flush()
			}
			return
		}
		switch {
		case b == '\n' && last == '\r':
		case b == '\n' || b == '\r':
			flush()
		default:
			line = append(line, b)
		}
		last = b
	}
}

func (e *Execd) command(id string) *command {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.commands[id]
}

func (e *Execd) status(w http.ResponseWriter, id string) {
	c := e.command(id)
	if c == nil {
		fail(w, http.StatusNotFound, "INVALID_REQUEST_BODY", "command not found: "+id)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]any{"id": c.id, "content": c.line, "running": c.running, "started_at": c.started.UTC().Format(time.RFC3339Nano)}
	if !c.running {
		out["exit_code"], out["finished_at"] = c.code, c.finished.UTC().Format(time.RFC3339Nano)
		if c.code < 0 {
			out["error"] = c.status
		}
	}
	reply(w, http.StatusOK, out)
}

func (e *Execd) logs(w http.ResponseWriter, r *http.Request, id string) {
	c := e.command(id)
	if c == nil || !c.background {
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "no logs for "+id)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.log.Bytes()
	from := min(max(number(r.URL.Query().Get("cursor"), 0), 0), len(all))
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("EXECD-COMMANDS-TAIL-CURSOR", fmt.Sprint(len(all)))
	_, _ = w.Write(all[from:])
}

// interrupt follows §4.3: SIGTERM to the group, SIGKILL later.
func (e *Execd) interrupt(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("id")
	if key == "" {
		fail(w, http.StatusBadRequest, "MISSING_QUERY", "missing query parameter 'id'")
		return
	}
	c := e.command(key)
	running := false
	if c != nil {
		c.mu.Lock()
		running = c.running
		c.mu.Unlock()
	}
	if !running {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error interruptting code context. command session "+key+" is not running")
		return
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
	t := time.NewTimer(3 * time.Second)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		c.kill()
	}
}

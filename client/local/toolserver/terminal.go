package toolserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"abxdash/client/local/envd"
)

const (
	maxTerminals = 10
	// terminalIdle ends a terminal that nobody uses (agent-sandbox-server §5).
	terminalIdle = 1800 * time.Second
	// backlog is how much output waits for a reader, in bytes. Without one the
	// oldest is dropped, with one the terminal waits.
	backlog    = 256 << 10
	maxUp      = 1 << 20
	maxCells   = 10_000
	writeLimit = 30 * time.Second
)

// terminals are the sessions of POST /pty/sessions.
type terminals struct {
	mu   sync.Mutex
	list map[string]*terminal
	// starting counts those that have their place in the list but are not in it yet.
	starting int
}

// terminal is one session; its shell outlives the connections to it.
type terminal struct {
	id      string
	child   envd.Child
	tty     *os.File
	created time.Time
	idle    *time.Timer

	mu         sync.Mutex
	cols, rows uint16
	waiting    []byte
	// reader counts connections; only the newest one is served.
	reader int
	served bool
	ended  bool
	code   int
	// changed is closed and replaced with each change.
	changed chan struct{}
}

// terminalInfo is a session as it is told.
type terminalInfo struct {
	ID        string  `json:"id"`
	PID       int     `json:"pid"`
	CreatedAt float64 `json:"created_at"`
	Cols      uint16  `json:"cols"`
	Rows      uint16  `json:"rows"`
	Alive     bool    `json:"alive"`
}

func (s *Server) terminalRoutes() {
	route(s, groupTerminal, "POST /pty/sessions", s.newTerminal)
	route(s, groupTerminal, "GET /pty/sessions", func(*http.Request, struct{}) (any, error) {
		out := []terminalInfo{}
		s.terminals.mu.Lock()
		for _, t := range s.terminals.list {
			out = append(out, t.info())
		}
		s.terminals.mu.Unlock()
		slices.SortFunc(out, func(a, b terminalInfo) int {
			return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
		})
		return map[string][]terminalInfo{"sessions": out}, nil
	})
	route(s, groupTerminal, "DELETE /pty/sessions/{id}", func(r *http.Request, _ struct{}) (any, error) {
		s.terminals.mu.Lock()
		t := s.terminals.list[r.PathValue("id")]
		delete(s.terminals.list, r.PathValue("id"))
		s.terminals.mu.Unlock()
		if t == nil {
			return nil, &problem{http.StatusNotFound, "there is no such terminal", "KeyError"}
		}
		killTree(t.child)
		return done(nil)
	})
	s.handle(groupTerminal, "GET /pty", s.attachTerminal)
}

type terminalBody struct {
	Shell string
	Cols  int
	Rows  int
	Env   map[string]string
}

func cells(n, otherwise int) uint16 {
	if n <= 0 {
		n = otherwise
	}
	return uint16(min(n, maxCells)) //nolint:gosec // bounded
}

func (s *Server) newTerminal(r *http.Request, b terminalBody) (any, error) {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	for name := range b.Env {
		if !variableName.MatchString(name) {
			return nil, bad("that is not a usable variable")
		}
	}
	argv := []string{user.Shell}
	if b.Shell != "" {
		if argv, err = words(b.Shell); err != nil {
			return nil, err
		}
	} else if argv[0] == "" {
		argv[0] = "/bin/sh"
	}
	if err := s.terminals.room(); err != nil {
		return nil, err
	}
	env := map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "SHELL": argv[0]}
	for k, v := range b.Env {
		env[k] = v
	}
	t := &terminal{
		id: strings.ToLower(rand.Text()), created: time.Now(), cols: cells(b.Cols, 80), rows: cells(b.Rows, 24), changed: make(chan struct{}),
	}
	t.child, err = s.spawn(program{argv: argv, env: env, tty: &envd.Winsize{Cols: t.cols, Rows: t.rows}})
	if err != nil {
		s.terminals.started(nil)
		return nil, err
	}
	t.tty = t.child.TTY()
	t.idle = time.AfterFunc(terminalIdle, func() { killTree(t.child) })
	s.terminals.started(t)
	s.work.Go(t.read)
	s.work.Go(func() { t.wait(s.life) })
	// Its own port, seen from inside; from outside only the path counts.
	return map[string]any{"session_id": t.id, "ws_url": fmt.Sprintf("ws://localhost:%d/pty?session_id=%s", Port, t.id), "pid": t.child.PID()}, nil
}

// room keeps a place for one more, until started; ended ones make way.
func (l *terminals) room() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list)+l.starting >= maxTerminals {
		for id, t := range l.list {
			if !t.info().Alive {
				delete(l.list, id)
			}
		}
	}
	if len(l.list)+l.starting >= maxTerminals {
		return &problem{http.StatusTooManyRequests, fmt.Sprintf("at most %d terminals", maxTerminals), "RuntimeError"}
	}
	l.starting++
	return nil
}

// started fills the place that room kept, or gives it back when t is nil.
func (l *terminals) started(t *terminal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting--
	if t == nil {
		return
	}
	if l.list == nil {
		l.list = map[string]*terminal{}
	}
	l.list[t.id] = t
}

func (t *terminal) info() terminalInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return terminalInfo{t.id, t.child.PID(), float64(t.created.UnixMilli()) / 1000, t.cols, t.rows, !t.ended}
}

// tell wakes whoever waits; the caller holds the lock.
func (t *terminal) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// read takes the output until the terminal is closed.
func (t *terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.tty.Read(buf)
		if n > 0 {
			t.idle.Reset(terminalIdle)
			t.put(buf[:n])
		}
		if err != nil {
			break
		}
	}
	<-t.child.Done()
	t.idle.Stop()
	t.mu.Lock()
	t.ended, t.code = true, t.child.Exit().Code
	t.tell()
	t.mu.Unlock()
}

// put keeps output for the reader.
func (t *terminal) put(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ended := false; t.served && !ended && len(t.waiting) >= backlog; {
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-t.child.Done():
			ended = true // what is left is little
		}
		t.mu.Lock()
	}
	t.waiting = append(t.waiting, p...)
	if over := len(t.waiting) - backlog; over > 0 && !t.served {
		t.waiting = append([]byte(nil), t.waiting[over:]...)
	}
	t.tell()
}

// wait closes the terminal a moment after its shell has ended, whoever else
// holds it, and ends the shell with the server.
func (t *terminal) wait(life context.Context) {
	select {
	case <-t.child.Done():
	case <-life.Done():
		killTree(t.child)
		<-t.child.Done()
	}
	grace := time.NewTimer(outputGrace)
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-life.Done():
	}
	_ = t.tty.Close()
}

// up is a message to a terminal.
type up struct {
	Type   string `json:"type"`
	Data   string `json:"data"`
	Cols   int    `json:"cols"`
	Rows   int    `json:"rows"`
	Signal string `json:"signal"`
}

// down is a message from a terminal.
type down struct {
	Type     string `json:"type"`
	Data     string `json:"data,omitempty"`
	Event    string `json:"event,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

// attachTerminal connects to a session (agent-sandbox-server §5). A newer
// connection takes a session over from an older one.
func (s *Server) attachTerminal(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.CloseNow() }()
	s.terminals.mu.Lock()
	t := s.terminals.list[r.URL.Query().Get("session_id")]
	s.terminals.mu.Unlock()
	if t == nil {
		_ = conn.Close(websocket.StatusPolicyViolation, "there is no such terminal")
		return
	}
	conn.SetReadLimit(maxUp)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	go func() {
		defer cancel()
		t.listen(ctx, conn)
	}()
	t.serve(ctx, conn)
}

// listen obeys messages until the connection ends.
func (t *terminal) listen(ctx context.Context, conn *websocket.Conn) {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var m up
		if json.Unmarshal(data, &m) != nil {
			continue // as the reference server does with what it does not know
		}
		t.idle.Reset(terminalIdle)
		switch m.Type {
		case "input":
			_, err = t.tty.WriteString(m.Data)
		case "resize":
			t.mu.Lock()
			t.cols, t.rows = cells(m.Cols, 80), cells(m.Rows, 24)
			size := envd.Winsize{Cols: t.cols, Rows: t.rows}
			t.mu.Unlock()
			err = resize(t.tty, size)
		case "signal":
			err = t.signal(m.Signal)
		}
		if err != nil {
			return // the terminal is gone
		}
	}
}

// signal reaches what runs in the foreground by the key that means it, other
// signals go to the shell.
func (t *terminal) signal(name string) error {
	keys := map[string]string{"INT": "\x03", "QUIT": "\x1c", "TSTP": "\x1a"}
	numbers := map[string]int{"HUP": 1, "KILL": 9, "TERM": 15, "CONT": 18}
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if key, ok := keys[name]; ok {
		_, err := t.tty.WriteString(key)
		return err
	}
	if n, ok := numbers[name]; ok {
		return t.child.Signal(n)
	}
	return nil
}

// serve sends output until the shell or the connection ends, or a newer
// connection comes.
func (t *terminal) serve(ctx context.Context, conn *websocket.Conn) {
	say := func(m down) error {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, writeLimit)
		defer cancel()
		return conn.Write(ctx, websocket.MessageText, data)
	}
	t.mu.Lock()
	t.reader++
	me := t.reader
	t.served = true
	t.tell()
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.reader == me {
			t.served = false
		}
		t.tell()
	}()
	if say(down{Type: "event", Event: "started"}) != nil {
		return
	}
	var whole text
	for {
		t.mu.Lock()
		data, ended, code, changed, newer := t.waiting, t.ended, t.code, t.changed, t.reader != me
		if !newer && len(data) > 0 {
			t.waiting = nil
			t.tell()
		}
		t.mu.Unlock()
		switch {
		case newer:
			_ = conn.Close(websocket.StatusNormalClosure, "another connection took over")
			return
		case len(data) > 0:
			if out := whole.add(data); out != "" && say(down{Type: "output", Data: out}) != nil {
				return
			}
		case ended:
			if out := whole.rest(); out != "" && say(down{Type: "output", Data: out}) != nil {
				return
			}
			_ = say(down{Type: "event", Event: "exited", ExitCode: &code})
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return
		default:
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"abxdash/client"
)

// maxMessage bounds one message of a terminal, in bytes.
const maxMessage = 4 << 20

// PTYSession is a terminal that the server holds.
type PTYSession struct {
	ID    string `json:"id"`
	PID   int    `json:"pid"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
	Alive bool   `json:"alive"`
}

// PTYSessions lists terminals (GET /pty/sessions).
func (c *Client) PTYSessions(ctx context.Context) ([]PTYSession, error) {
	var raw json.RawMessage
	if err := c.call(ctx, request{op: "list terminals", method: http.MethodGet, path: "/pty/sessions"}, &raw); err != nil {
		return nil, err
	}
	var list []PTYSession
	if json.Unmarshal(raw, &list) == nil {
		return list, nil
	}
	var wrapped struct {
		Sessions []PTYSession `json:"sessions"`
	}
	if json.Unmarshal(raw, &wrapped) != nil {
		return nil, c.bad("list terminals", http.StatusOK, "the answer is no list")
	}
	return wrapped.Sessions, nil
}

// ClosePTY ends a terminal (DELETE /pty/sessions/{id}).
func (c *Client) ClosePTY(ctx context.Context, id string) error {
	return c.call(ctx, request{op: "close terminal", method: http.MethodDelete, path: "/pty/sessions/" + url.PathEscape(id), notFound: client.CodeNotFound}, nil)
}

// PTY is an open terminal. One goroutine reads it; the other methods may be
// called from anywhere.
type PTY struct {
	c    *Client
	conn *websocket.Conn
	ID   string
	PID  int

	ctx    context.Context //nolint:containedctx // the connection's own life
	cancel context.CancelFunc
	once   sync.Once
	rest   []byte
	exited bool
}

// OpenPTY makes a terminal and connects to it (POST /pty/sessions, then a
// WebSocket). shell "" is the server's own. The server holds 10
// (ErrRateLimited). ctx bounds the opening alone.
func (c *Client) OpenPTY(ctx context.Context, shell string, size client.Size, env map[string]string) (*PTY, error) {
	const op = "open terminal"
	body := struct {
		Shell string            `json:"shell,omitempty"`
		Cols  int               `json:"cols"`
		Rows  int               `json:"rows"`
		Env   map[string]string `json:"env,omitempty"`
	}{shell, max(size.Cols, 1), max(size.Rows, 1), env}
	var made struct {
		SessionID string `json:"session_id"`
		WSURL     string `json:"ws_url"`
		PID       int    `json:"pid"`
	}
	if err := c.call(ctx, request{op: op, method: http.MethodPost, path: "/pty/sessions", body: body}, &made); err != nil {
		return nil, err
	}
	conn, err := c.dialPTY(ctx, op, made.SessionID, made.WSURL)
	if err != nil {
		_ = c.ClosePTY(context.WithoutCancel(ctx), made.SessionID) // a terminal that nobody can reach
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	p := &PTY{c: c, conn: conn, ID: made.SessionID, PID: made.PID}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return p, nil
}

// dialPTY connects to a terminal's WebSocket. Its URL names the server's own
// host: only the port, path and query of it count (agent-sandbox-server §5).
func (c *Client) dialPTY(ctx context.Context, op, id, wsURL string) (*websocket.Conn, error) {
	u, err := url.Parse(wsURL)
	if err != nil || id == "" || wsURL == "" {
		return nil, c.bad(op, http.StatusOK, "the answer names no terminal")
	}
	port := c.cfg.Port
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return nil, c.bad(op, http.StatusOK, "the terminal's port is none")
		}
	}
	addr, err := c.cfg.Resolve(ctx, port)
	if err != nil {
		return nil, err
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/pty"
	}
	if u.RawQuery == "" {
		u.RawQuery = url.Values{"session_id": {id}}.Encode()
	}
	target := strings.TrimRight(addr.URL, "/") + path + "?" + u.RawQuery
	conn, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{HTTPClient: c.cfg.HTTP, HTTPHeader: addr.Header})
	if resp != nil && resp.Body != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, c.refused(request{op: op, notFound: client.CodeNotFound}, addr, resp, data)
	}
	if err != nil {
		return nil, c.unreached(ctx, op, addr, err)
	}
	return conn, nil
}

// up is a message to the terminal.
type up struct {
	Type   string `json:"type"`
	Data   string `json:"data,omitempty"`
	Cols   int    `json:"cols,omitempty"`
	Rows   int    `json:"rows,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// Read reads terminal output. It returns io.EOF after the shell has exited.
func (p *PTY) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.exited {
			return 0, io.EOF
		}
		_, data, err := p.conn.Read(p.ctx)
		if err != nil {
			return 0, p.ended(err)
		}
		var m struct{ Type, Data, Event string }
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		switch {
		case m.Type == "output":
			p.rest = []byte(m.Data)
		case m.Type == "event" && m.Event == "exited":
			p.exited = true
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// ended says why a terminal's connection is over.
func (p *PTY) ended(err error) error {
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
		return io.EOF
	}
	e := &client.Error{Op: "read terminal", Provider: p.c.cfg.Provider, Code: client.CodeNetwork, Kind: client.ErrStreamBroken}
	e.Message = fmt.Sprintf("connection lost (%s)", client.OneLine(err.Error(), 120))
	if p.ctx.Err() != nil {
		e.Kind, e.Message, e.Err = nil, "closed", context.Canceled
	}
	return e
}

// Write sends input.
func (p *PTY) Write(b []byte) (int, error) {
	if err := p.send(up{Type: "input", Data: string(b)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Resize tells the terminal its size.
func (p *PTY) Resize(s client.Size) error {
	return p.send(up{Type: "resize", Cols: max(s.Cols, 1), Rows: max(s.Rows, 1)})
}

// Interrupt sends SIGINT to the shell's foreground.
func (p *PTY) Interrupt() error { return p.send(up{Type: "signal", Signal: "SIGINT"}) }

func (p *PTY) send(m up) error {
	b, err := json.Marshal(m)
	if err != nil {
		return client.Usagef("write terminal", "the input is no text")
	}
	if err := p.conn.Write(p.ctx, websocket.MessageText, b); err != nil {
		return p.ended(err)
	}
	return nil
}

// Close disconnects; the server ends the terminal after a while. It may be
// called twice and unblocks Read.
func (p *PTY) Close() error {
	p.once.Do(func() {
		err := p.conn.Close(websocket.StatusNormalClosure, "")
		if err != nil && !errors.Is(err, context.Canceled) {
			_ = p.conn.CloseNow()
		}
		p.cancel()
	})
	return nil
}

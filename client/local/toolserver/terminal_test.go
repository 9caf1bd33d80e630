//go:build unix

package toolserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/local/envd"
)

// screen reads a terminal until what it says holds a text.
type screen struct {
	t   *testing.T
	pty *agentserver.PTY
	all string
}

func (s *screen) want(text string) {
	s.t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(s.all, text) {
		n, err := s.pty.Read(buf)
		s.all += string(buf[:n])
		if err != nil {
			s.t.Fatalf("no %q in %q: %v", text, s.all, err)
		}
	}
	_, s.all, _ = strings.Cut(s.all, text)
}

func (s *screen) say(text string) {
	s.t.Helper()
	if _, err := s.pty.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func TestTerminal(t *testing.T) {
	r := newRig(t)
	p, err := r.OpenPTY(ctx(t), "", client.Size{Cols: 81, Rows: 25}, map[string]string{"OWN": "mine"})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, pty: p}
	s.say("stty size; echo \"$TERM/$LANG/$OWN/\"é; pwd\n")
	s.want("25 81")
	s.want("xterm-256color/C.UTF-8/mine/é")
	s.want(r.home)
	if err := p.Resize(client.Size{Cols: 132, Rows: 43}); err != nil {
		t.Fatal(err)
	}
	s.say("stty size\n")
	s.want("43 132")
	s.say("sleep 600; echo interrupted=$?\n")
	s.say("") // the line is on its way before the signal
	s.want("interrupted=$?")
	eventually(t, "sleep runs", func() bool {
		out, err := r.Shell(ctx(t), "pgrep -f '^sleep 600' -s "+strconv.Itoa(p.PID))
		return err == nil && out.ExitCode == 0
	})
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	s.say("echo went''on\n")
	s.want("wenton")
	list, err := r.PTYSessions(ctx(t))
	if err != nil || len(list) != 1 || list[0].ID != p.ID || list[0].PID != p.PID || !list[0].Alive || list[0].Cols != 132 || list[0].Rows != 43 {
		t.Errorf("%+v %v", list, err)
	}
	s.say("exit 7\n")
	if rest, err := io.ReadAll(p); err != nil {
		t.Errorf("%q %v", rest, err)
	}
	_ = p.Close()
	eventually(t, "it is told to be dead", func() bool {
		list, err := r.PTYSessions(ctx(t))
		return err == nil && len(list) == 1 && !list[0].Alive
	})
	if err := r.ClosePTY(ctx(t), p.ID); err != nil {
		t.Error(err)
	}
	if err := r.ClosePTY(ctx(t), p.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("closed twice: %v", err)
	}
}

func dial(t *testing.T, r *rig, id string) *websocket.Conn {
	t.Helper()
	conn, res, err := websocket.Dial(ctx(t), r.srv.URL+"/pty?session_id="+id, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	return conn
}

// until reads messages until one holds text.
func until(ctx context.Context, t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	for all := ""; !strings.Contains(all, text); {
		_, data, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("no %q in %q: %v", text, all, err)
		}
		all += string(data)
	}
}

// TestTerminalOutlivesItsConnection: what came meanwhile is there for the next
// one, which takes over from the one before; a bad id is 1008.
func TestTerminalOutlivesItsConnection(t *testing.T) {
	r := newRig(t)
	p, err := r.OpenPTY(ctx(t), "sh", client.Size{Cols: 80, Rows: 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Write([]byte("while ! [ -e go ]; do sleep 0.01; done; echo mean''while\n"))
	s := &screen{t: t, pty: p}
	s.want("mean''while")
	_ = p.Close()
	r.write("go", "")
	first := dial(t, r, p.ID)
	until(ctx(t), t, first, "meanwhile")
	second := dial(t, r, p.ID)
	until(ctx(t), t, second, "started")
	for {
		if _, _, err = first.Read(ctx(t)); err != nil {
			break
		}
	}
	if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the older one: %v", err)
	}
	if err := second.Write(ctx(t), websocket.MessageText, []byte(`{"type":"input","data":"exit 7\n"}`)); err != nil {
		t.Fatal(err)
	}
	until(ctx(t), t, second, `"exit_code":7`)
	none := dial(t, r, "none")
	if _, _, err := none.Read(ctx(t)); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("a bad id: %v", err)
	}
	_ = second.CloseNow()
	_ = first.CloseNow()
	_ = none.CloseNow()
}

// TestTerminalsAreBounded: ten at once; an ended one makes way. Closing one kills
// its shell.
func TestTerminalsAreBounded(t *testing.T) {
	r := newRig(t)
	open := func() *agentserver.PTY {
		t.Helper()
		p, err := r.OpenPTY(ctx(t), "cat", client.Size{Cols: 80, Rows: 24}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Close()
		return p
	}
	first := open()
	for range maxTerminals - 1 {
		open()
	}
	if _, err := r.OpenPTY(ctx(t), "cat", client.Size{}, nil); !errors.Is(err, client.ErrRateLimited) {
		t.Errorf("one more: %v", err)
	}
	if out, err := r.Shell(ctx(t), "kill "+strconv.Itoa(first.PID)); err != nil || out.ExitCode != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	eventually(t, "an ended one makes way", func() bool {
		p, err := r.OpenPTY(ctx(t), "cat", client.Size{}, nil)
		if err == nil {
			_ = p.Close()
		}
		return err == nil
	})
}

// TestPlacesAreKeptWhileStarting: however many ask at once, no more than the
// bound get a place, and one that does not start gives its place back.
func TestPlacesAreKeptWhileStarting(t *testing.T) {
	r := newRig(t)
	for range maxTerminals {
		if err := r.tool.terminals.room(); err != nil {
			t.Fatal(err)
		}
	}
	if r.tool.terminals.room() == nil {
		t.Error("one terminal more than the bound")
	}
	r.tool.terminals.started(nil)
	if err := r.tool.terminals.room(); err != nil {
		t.Errorf("a place that was given back: %v", err)
	}
	for range maxProcesses {
		if err := r.tool.room(); err != nil {
			t.Fatal(err)
		}
	}
	if r.tool.room() == nil {
		t.Error("one process more than the bound")
	}
	r.tool.started(nil)
	if err := r.tool.room(); err != nil {
		t.Errorf("a place that was given back: %v", err)
	}
}

// TestTerminalLosesNothing: a reader that is slow holds the program up instead.
func TestTerminalLosesNothing(t *testing.T) {
	r := newRig(t)
	p, err := r.OpenPTY(ctx(t), `sh -c 'stty -onlcr; while ! [ -e go ]; do sleep 0.01; done; seq 400000'`, client.Size{Cols: 80, Rows: 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.write("go", "")
	got, err := io.ReadAll(p)
	_ = p.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	if len(lines) != 400000 || lines[0] != "1" || lines[399999] != "400000" {
		t.Errorf("%d lines, %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

// TestIdleTerminalEnds: its shell is killed.
func TestIdleTerminalEnds(t *testing.T) {
	r := newRig(t)
	p, err := r.OpenPTY(ctx(t), "cat", client.Size{Cols: 80, Rows: 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r.tool.terminals.mu.Lock()
	r.tool.terminals.list[p.ID].idle.Reset(0)
	r.tool.terminals.mu.Unlock()
	if rest, err := io.ReadAll(p); err != nil {
		t.Errorf("%q %v", rest, err)
	}
}

// running is a child that does not end.
type running struct{ envd.Child }

func (running) Done() <-chan struct{} { return nil }

// TestBacklog: with a reader the terminal waits for it and drops nothing; without
// one it goes on and keeps the newest.
func TestBacklog(t *testing.T) {
	term := &terminal{child: running{}, changed: make(chan struct{}), served: true}
	piece := func(c byte, n int) []byte { return bytes.Repeat([]byte{c}, n) }
	term.put(piece('a', backlog-10))
	term.put(piece('b', 1000))
	if len(term.waiting) != backlog+990 {
		t.Fatalf("%d bytes wait", len(term.waiting))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		term.put(piece('c', 5))
	}()
	term.mu.Lock()
	first := term.waiting
	if len(first) != backlog+990 {
		t.Errorf("%d bytes wait, one piece too many", len(first))
	}
	term.waiting = nil
	term.tell()
	term.mu.Unlock()
	<-done
	if string(term.waiting) != "ccccc" {
		t.Errorf("%q waits", term.waiting)
	}
	term.served = false
	term.put(piece('d', backlog))
	if len(term.waiting) != backlog || bytes.ContainsAny(term.waiting, "abc") {
		t.Errorf("%d bytes wait without a reader", len(term.waiting))
	}
}

//go:build unix

package expresstest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"abxdash/client/agentserver/agentservertest"
	"abxdash/client/local/envd"
	"abxdash/client/local/envd/envdtest"
)

// box is one sandbox. The server's lock guards what is not atomic.
type box struct {
	id, template string
	started, end time.Time
	paused       bool
	autoPause    bool
	metadata     map[string]string
	// token is wanted by the agent, traffic by the ports; "" is none.
	token, traffic string
	network        []byte
	home           string
	agent          Agent
	app            *agentservertest.Server
	code           *interpreter
	timer          *time.Timer
	// conn ends when connections into the sandbox are reset.
	conn  context.Context //nolint:containedctx // the life of the sandbox, not of a call
	reset context.CancelFunc
	// silent swallows what streams write, without ending them.
	silent atomic.Bool
}

// snapshot is a saved sandbox.
type snapshot struct{ id, name, sandbox string }

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// newID has the form of the real ones (e2b-protocol §1).
func newID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 20)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return "i" + string(b)
}

// newAgent makes an agent of our own.
func (s *Server) newAgent(token string, env map[string]string) (Agent, error) {
	home := s.t.TempDir()
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	srv := envd.New(envd.Config{Spawner: &envdtest.ExecSpawner{Home: home, User: "user"}, AccessToken: token, GlobalEnv: env})
	return Agent{Handler: srv, Home: home, Close: func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return srv.Close(ctx)
	}}, nil
}

// add makes a sandbox and starts its clock. The lock is held.
func (s *Server) add(b *box, env map[string]string, lifetime time.Duration) error {
	newAgent := s.sw.Agent
	if newAgent == nil {
		newAgent = s.newAgent
	}
	var err error
	if b.agent, err = newAgent(b.token, env); err != nil {
		return err
	}
	b.home = b.agent.Home
	b.app = agentservertest.New(b.home, "agents", "dev_tools", "browser")
	b.app.Token = b.token
	b.code = newInterpreter()
	s.next++
	b.started = time.Now().Add(time.Duration(s.next) * time.Microsecond) // so that no two are alike
	b.connect()
	s.boxes[b.id] = b
	s.order = append([]*box{b}, s.order...)
	s.extend(b, lifetime)
	return nil
}

func (b *box) connect() { b.conn, b.reset = context.WithCancel(context.Background()) }

// extend sets the end of a life. The lock is held.
func (s *Server) extend(b *box, lifetime time.Duration) {
	b.end = time.Now().Add(lifetime)
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer = time.AfterFunc(lifetime, func() { s.expire(b) })
}

// expire is what happens at the end of a lifetime.
func (s *Server) expire(b *box) {
	s.mu.Lock()
	if time.Until(b.end) > 0 || s.boxes[b.id] != b {
		s.mu.Unlock()
		return
	}
	if b.autoPause {
		s.pause(b)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end(b)
}

// pause stops a sandbox from being reached. The lock is held.
func (s *Server) pause(b *box) {
	b.paused = true
	b.timer.Stop()
	b.reset()
}

// end removes a sandbox, resets its connections and kills its processes.
func (s *Server) end(b *box) bool {
	s.mu.Lock()
	if s.boxes[b.id] != b {
		s.mu.Unlock()
		return false
	}
	delete(s.boxes, b.id)
	s.order = slices.DeleteFunc(s.order, func(x *box) bool { return x == b })
	b.timer.Stop()
	b.reset()
	s.mu.Unlock()
	if err := b.agent.Close(); err != nil {
		s.t.Errorf("closing the agent of %s: %v", b.id, err)
	}
	return true
}

// Vanish takes a sandbox away without a word: calls answer that it is gone,
// open streams stay open and silent for ever, as behind a dead network.
func (s *Server) Vanish(id string) error {
	s.mu.Lock()
	b := s.boxes[id]
	if b == nil {
		s.mu.Unlock()
		return fmt.Errorf("no sandbox %s", id)
	}
	b.silent.Store(true)
	delete(s.boxes, id)
	s.mu.Unlock()
	s.t.Cleanup(func() {
		s.mu.Lock()
		s.boxes[id] = b
		s.mu.Unlock()
		s.end(b)
	})
	return nil
}

// Home is the folder on this machine that is a sandbox's home.
func (s *Server) Home(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return b.home
	}
	return ""
}

// App is a sandbox's agent-sandbox-server, to switch groups.
func (s *Server) App(id string) *agentservertest.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return b.app
	}
	return nil
}

// Token is the access token of a sandbox, for tests that look for it.
func (s *Server) Token(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return b.token
	}
	return ""
}

// Network is the last network settings sent for a sandbox, as JSON.
func (s *Server) Network(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[id]; b != nil {
		return string(b.network)
	}
	return ""
}

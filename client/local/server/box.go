package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"abxdash/client"
)

type boxState uint8

const (
	boxStarting boxState = iota // reserved, not to be seen
	boxRunning
	boxPausing // about to be paused or to run again; shown as paused
	boxPaused
	boxKilling // not to be seen any more
)

// box is one sandbox. Fields above mu's line in [Server] never change after
// the start; those below gone are guarded by Server.mu.
type box struct {
	id       string
	template string
	alias    string // the template's name, "" without one
	dir      string
	sock     string
	network  string
	token    string
	// traffic is what a request to a port other than the agent's must show, "" nothing.
	traffic string
	// req is what it was made from.
	req      newSandbox
	metadata map[string]string
	// lifetime is what it was made with; at its end it is paused if autoPause.
	lifetime              time.Duration
	autoPause, autoResume bool
	started               time.Time
	inst                  Instance
	logs                  boxLog
	history               history
	// logEnd is the reading end of the agent's log.
	logEnd *os.File
	// turn is held by a pause, resume or snapshot under way.
	turn chan struct{}
	// agent and ports carry data-plane requests into the sandbox.
	agent, ports *http.Transport
	// gone is closed when nothing of the sandbox is left.
	gone chan struct{}

	state boxState
	// rules are the network's, internet that the rest is let through.
	rules    networkJSON
	internet bool
	// run is when the present run began: the start, or the last resume.
	run     time.Time
	endAt   time.Time
	retryAt time.Time
}

const (
	idLetters = "abcdefghijklmnopqrstuvwxyz0123456789"
	idLength  = 20
	// endAttempts is how often the end of the server tries to end a sandbox.
	endAttempts = 3
)

// newID makes `i` and 20 of [a-z0-9] (e2b-protocol §1).
func newID() string {
	b := make([]byte, 1, idLength+1)
	b[0] = 'i'
	base := big.NewInt(int64(len(idLetters)))
	for range idLength {
		n, err := rand.Int(rand.Reader, base)
		if err != nil { // crypto/rand never fails on a supported system
			panic(err)
		}
		b = append(b, idLetters[n.Int64()])
	}
	return string(b)
}

// home is the sandbox's home on the host.
func (b *box) home() string { return filepath.Join(b.dir, "home") }

// create makes and starts a sandbox from a checked request.
func (s *Server) create(ctx context.Context, req newSandbox, lifetime time.Duration) (*box, error) {
	b := &box{
		id: newID(), template: req.source.id, alias: req.source.alias, metadata: req.Metadata,
		req: req, rules: req.Network, network: req.network, gone: make(chan struct{}), turn: make(chan struct{}, 1),
		lifetime: lifetime, autoPause: req.AutoPause, autoResume: req.AutoResume != nil && req.AutoResume.Enabled,
	}
	b.dir = filepath.Join(s.opt.Dir, sandboxesDir, b.id)
	b.sock = filepath.Join(b.dir, "agent.sock")
	if req.Secure {
		b.token = rand.Text() + rand.Text()
	}
	b.internet = b.network == NetworkHost || b.network == NetworkProxy && !denied(&b.rules, req.AllowInternetAccess)
	if p := req.Network.AllowPublicTraffic; p != nil && !*p {
		b.traffic = rand.Text() + rand.Text()
	}
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		return nil, errEnding
	}
	if len(s.boxes) >= s.opt.MaxSandboxes {
		s.mu.Unlock()
		return nil, refuse(http.StatusTooManyRequests, "the local server holds %d sandboxes, which is its most", s.opt.MaxSandboxes)
	}
	s.boxes[b.id] = b
	s.creating.Add(1)
	s.mu.Unlock()
	defer s.creating.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()

	if err := s.start(ctx, b, req); err != nil {
		if b.logEnd != nil {
			_ = b.logEnd.Close()
		}
		if left := removeTree(b.dir); left != nil {
			s.log.Error("folder left", "sandbox", b.id, "err", left)
		}
		s.forget(b)
		return nil, err
	}
	s.mu.Lock()
	b.started = s.clock.Now()
	b.run = b.started
	b.endAt = b.started.Add(lifetime)
	b.state = boxRunning
	s.holdUntil = time.Time{}
	s.mu.Unlock()
	s.nudge()
	s.work.Go(func() { s.watch(b) })
	b.logs.add(b.started, levelInfo, "created", map[string]string{"template": b.template, "network": b.network})
	s.log.Info("created", "sandbox", b.id, "network", b.network, "lifetime", lifetime)
	return b, nil
}

// hasRoot reports whether a sandbox at that level has a root of its own.
func hasRoot(l client.Isolation) bool {
	return l == client.IsolationNamespace || l == client.IsolationContainer
}

// separatesNetwork reports whether a sandbox at that level has a network of its own.
func separatesNetwork(l client.Isolation) bool {
	return l != client.IsolationProcess && l != client.IsolationLandlock
}

// start makes the folder and the agent's socket and starts the sandbox.
func (s *Server) start(ctx context.Context, b *box, req newSandbox) error {
	if err := os.MkdirAll(b.home(), 0o700); err != nil {
		return fmt.Errorf("make the sandbox's folder: %w", err)
	}
	if err := fillHome(ctx, b.home(), req); err != nil {
		return err
	}
	ln, err := ListenUnix(b.sock)
	if err != nil {
		return fmt.Errorf("listen for the agent: %w", err)
	}
	defer ln.Close()
	lf, err := ln.File()
	if err != nil {
		return fmt.Errorf("share the agent's socket: %w", err)
	}
	defer lf.Close()
	// A pipe instead of a file: what an agent says takes no room on disk, and
	// the newest of it can be asked for.
	logEnd, logFile, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the agent's log: %w", err)
	}
	defer logFile.Close()
	b.logEnd = logEnd
	s.work.Go(func() { b.logs.follow(logEnd, s.clock.Now) })

	inst, err := s.opt.Isolator.Start(ctx, Spec{
		ID: b.id, Home: b.home(), Listener: lf, Env: sandboxEnv(b, req.EnvVars), AccessToken: b.token,
		Network: b.network, Egress: req.egress, EnvdVersion: s.opt.EnvdVersion, Log: logFile, Mounts: req.mounts(),
		CPUs: req.limits.cpus, MemoryMB: req.limits.memoryMB, Workdir: s.pathIn(b, req.source.Workdir), Places: req.source.Places,
		Image: req.source.Image,
	})
	if err != nil {
		return err
	}
	b.inst = inst
	b.agent, b.ports = newTransports(b.sock)
	if err := s.started(ctx, b, req); err != nil {
		kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
		defer cancel()
		b.agent.CloseIdleConnections()
		// Joined, a failed kill would hide what is to be answered.
		if left := inst.Kill(kill); left != nil {
			return errors.Join(err, left)
		}
		return err
	}
	return nil
}

// started does what a sandbox needs once its agent answers.
func (s *Server) started(ctx context.Context, b *box, req newSandbox) error {
	m := meta{ID: b.id, PID: b.inst.PID(), StartTime: b.inst.StartTime(), Level: s.opt.Isolation, Boot: bootID()}
	if err := writeMeta(b.dir, m); err != nil {
		return fmt.Errorf("note the sandbox's process: %w", err)
	}
	if e := checkHeld(b.inst, req.asked); e != nil {
		return e
	}
	if req.hidden {
		return nil
	}
	return s.startProgram(ctx, b, req.source)
}

// sandboxEnv is the global environment: what the caller gave, and who the sandbox is.
func sandboxEnv(b *box, given map[string]string) map[string]string {
	env := map[string]string{}
	maps.Copy(env, b.req.source.Env)
	maps.Copy(env, given)
	env["ABX_SANDBOX"], env["ABX_SANDBOX_ID"], env["ABX_SANDBOX_TEMPLATE"] = "true", b.id, b.template
	return env
}

// watch ends b when its init ends by itself.
func (s *Server) watch(b *box) {
	<-b.inst.Done()
	if s.claim(b) {
		s.log.Warn("ended by itself", "sandbox", b.id)
		// A failure is logged there, and the reaper tries again.
		_ = s.end(b)
	}
}

// claim marks b as being killed; only the first caller gets true.
func (s *Server) claim(b *box) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.state == boxStarting || b.state == boxKilling {
		return false
	}
	b.state = boxKilling
	return true
}

// end ends a claimed sandbox and removes what it had. When the kill fails the
// sandbox is shown again and the reaper tries once more.
func (s *Server) end(b *box) error {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if err := b.inst.Kill(ctx); err != nil {
		s.log.Error("kill failed", "sandbox", b.id, "err", err)
		s.mu.Lock()
		now := s.clock.Now()
		b.state, b.endAt, b.retryAt, b.autoPause = boxRunning, now, now.Add(killRetry), false
		s.mu.Unlock()
		s.nudge()
		return fmt.Errorf("end sandbox %s: %w", b.id, err)
	}
	b.agent.CloseIdleConnections()
	b.ports.CloseIdleConnections()
	_ = b.logEnd.Close()
	err := removeTree(b.dir)
	if err != nil {
		s.log.Error("folder left", "sandbox", b.id, "err", err)
		err = fmt.Errorf("remove the folder of sandbox %s: %w", b.id, err)
	}
	s.forget(b)
	s.log.Info("ended", "sandbox", b.id)
	return err
}

// forget drops b; the idle time starts with the last one.
func (s *Server) forget(b *box) {
	s.mu.Lock()
	delete(s.boxes, b.id)
	if len(s.boxes) == 0 {
		s.idleSince = s.clock.Now()
	}
	s.mu.Unlock()
	close(b.gone)
	s.nudge()
}

// endAll ends every sandbox and waits for whatever else works on one. The
// server must be draining, so that no new one comes.
func (s *Server) endAll() error {
	s.creating.Wait()
	var err error
	for range endAttempts {
		if err = s.endRound(); err == nil {
			s.work.Wait()
			return nil
		}
	}
	// A watcher may still wait for a process that would not die.
	return err
}

// endRound tries once to end all that is left.
func (s *Server) endRound() error {
	var (
		mu   sync.Mutex
		errs []error
		wg   sync.WaitGroup
	)
	s.mu.Lock()
	left := slices.Collect(maps.Values(s.boxes))
	s.mu.Unlock()
	for _, b := range left {
		wg.Go(func() {
			if !s.claim(b) {
				<-b.gone // the reaper or a request is at it
				return
			}
			if err := s.end(b); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

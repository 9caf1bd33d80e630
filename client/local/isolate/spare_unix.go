//go:build linux || darwin

package isolate

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"abxdash/client"
)

// A spare is a first process that runs and does not know yet which sandbox it
// is: its namespaces, its groups, its starter of commands and most of its root are
// there. Starting two processes of this binary is most of what a sandbox takes to
// come up, and is done already. It has no identity, no secret and no command, and
// ends as every sandbox does: with the launcher, however that ends.

const (
	// spareDelay is how long after one was taken the next is made: not while the
	// sandbox's first command starts.
	spareDelay = 100 * time.Millisecond
	// spareAge is how long one waits at most: it takes memory, and holds what the
	// host had mounted where the host does not share its mounts.
	spareAge = 10 * time.Minute
	// spareLimit bounds the making of one.
	spareLimit = 30 * time.Second
)

// spare is a sandbox without identity.
type spare struct {
	s      *Sandbox
	conn   *net.UnixConn // s's life
	status *os.File
	fds    inherited
}

// gone reports whether it has ended.
func (sp *spare) gone() bool {
	select {
	case <-sp.s.done:
		return true
	default:
		return false
	}
}

// discard ends a spare that nobody wants.
func (sp *spare) discard() {
	if sp == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killWait)
	defer cancel()
	// What does not die now dies with the launcher's thread.
	_ = sp.s.Kill(ctx)
	_ = sp.status.Close()
}

// spares keeps one spare. The zero value keeps none.
type spares struct {
	mu sync.Mutex
	// hatch is nil until one is to be kept, and after the end.
	hatch  func(context.Context) (*spare, error)
	life   context.Context //nolint:containedctx // it is the life of what is made, not of a call
	cancel context.CancelFunc
	// next gets the one spare, nil if it could not be made. Nil: none is on its way.
	next   chan *spare
	refill *time.Timer // nil while none is due
	expiry *time.Timer
	work   sync.WaitGroup
}

// KeepSpare lets the launcher keep one process of level namespace ready, which the
// next sandbox becomes: [Launcher.Start] then takes a fraction of the time. A
// sandbox with mounted folders, the host's network or a limit of processor time is
// started afresh all the same. A spare that was not needed for ten minutes
// goes; the next Start brings it back. Close ends it.
func (l *Launcher) KeepSpare() {
	if !hasNamespaces {
		return
	}
	l.spares.keep(l.hatch)
}

func (p *spares) keep(hatch func(context.Context) (*spare, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel == nil {
		p.hatch = hatch
		p.life, p.cancel = context.WithCancel(context.Background())
		p.fillLocked()
	}
}

// fill makes the next spare.
func (p *spares) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refill = nil
	p.fillLocked()
}

func (p *spares) fillLocked() {
	if p.hatch == nil || p.next != nil {
		return
	}
	next := make(chan *spare, 1)
	p.next = next
	hatch, life := p.hatch, p.life
	p.work.Go(func() {
		ctx, cancel := context.WithTimeout(life, spareLimit)
		defer cancel()
		sp, err := hatch(ctx)
		if err != nil {
			sp = nil // the sandbox that is started instead tells what is wrong
		}
		next <- sp
	})
	p.expiry = time.AfterFunc(spareAge, func() { p.expire(next) })
}

// take gives the spare away, once it is there; nil is none. The next one follows.
func (p *spares) take(ctx context.Context) *spare {
	p.mu.Lock()
	next := p.next
	p.next = nil
	if p.expiry != nil {
		p.expiry.Stop()
	}
	if p.hatch != nil && p.refill == nil {
		p.refill = time.AfterFunc(spareDelay, p.fill)
	}
	p.mu.Unlock()
	if next == nil {
		return nil
	}
	select {
	case sp := <-next:
		if sp != nil && sp.gone() {
			sp.discard()
			return nil
		}
		return sp
	case <-ctx.Done():
		p.giveBack(next)
		return nil
	}
}

// giveBack returns what was taken and not used.
func (p *spares) giveBack(next chan *spare) {
	p.mu.Lock()
	if p.hatch != nil && p.next == nil {
		p.next = next
		p.expiry = time.AfterFunc(spareAge, func() { p.expire(next) })
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	(<-next).discard()
}

// expire ends a spare that was not needed.
func (p *spares) expire(next chan *spare) {
	p.mu.Lock()
	if p.next != next {
		p.mu.Unlock()
		return
	}
	p.next = nil
	p.work.Add(1) // close waits
	p.mu.Unlock()
	defer p.work.Done()
	(<-next).discard()
}

// close ends the spare and keeps none any more.
func (p *spares) close() {
	p.mu.Lock()
	next := p.next
	p.next, p.hatch = nil, nil
	for _, t := range []*time.Timer{p.refill, p.expiry} {
		if t != nil {
			t.Stop()
		}
	}
	cancel := p.cancel
	p.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	p.work.Wait()
	if next != nil {
		(<-next).discard()
	}
}

// hatch makes a spare.
func (l *Launcher) hatch(ctx context.Context) (_ *spare, err error) {
	cfg := Config{Level: client.IsolationNamespace, Home: "/"}
	conn, theirs, err := socketPair("configuration")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	b, err := l.begin(ctx, cfg, initConfig{Level: cfg.Level, Limits: cfg.Limits.defaults(), Spare: true}, conn, theirs)
	if err != nil {
		return nil, err
	}
	return &spare{s: b.s, conn: conn, status: b.status, fds: b.fds}, nil
}

// suits reports whether a spare can become this sandbox: one with mounts must see
// what the host has mounted now, one with the host's network has another namespace,
// a bound of processor time can take a group that a spare is not in, and the
// temporary folders have their size.
func (cfg Config) suits() bool {
	return cfg.Level == client.IsolationNamespace && cfg.Network != NetworkHost && len(cfg.Mounts) == 0 &&
		cfg.Limits.CPUs == 0 && cfg.Limits.TmpBytes == 0
}

// fromSpare starts a sandbox from the spare. Nil without an error is none: there
// was no spare, or it failed and nothing of it is left.
func (l *Launcher) fromSpare(ctx context.Context, cfg Config) (*Sandbox, error) {
	if !cfg.suits() {
		return nil, nil //nolint:nilnil // both are a fine answer
	}
	sp := l.spares.take(ctx)
	if sp == nil {
		return nil, ctx.Err()
	}
	defer sp.status.Close()
	if l.become(ctx, sp, cfg) == nil {
		return sp.s, nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	if err := sp.s.Kill(end); err != nil {
		return nil, err
	}
	return nil, ctx.Err()
}

// become gives a spare its identity and waits until it is up.
func (l *Launcher) become(ctx context.Context, sp *spare, cfg Config) error {
	s, conf := sp.s, confOf(cfg)
	conf.FDs = sp.fds
	if err := s.hold.group.relimit(conf.Limits); err != nil {
		return err
	}
	l.note(s, &conf)
	files := []*os.File{cfg.Listener}
	conf.FDs.Listener = 1
	add := func(f *os.File, position *int) {
		if f != nil {
			files = append(files, f)
			*position = len(files)
		}
	}
	add(cfg.LogFile, &conf.FDs.Log)
	out, err := prepareEgress(cfg)
	if err != nil {
		return err
	}
	if out != nil {
		end, err := out.open()
		if err != nil {
			return err
		}
		defer end.Close()
		add(end, &conf.FDs.Egress)
		if err := s.holdEgress(out); err != nil {
			return err
		}
	}
	tree, id, err := homeFor(cfg.Home)
	if err != nil {
		return err
	}
	defer closeFiles([]*os.File{tree})
	add(tree, &conf.FDs.Home)
	conf.HomeDir = id
	defer bound(ctx, sp.status, sp.conn)()
	if err := sendIdentity(sp.conn, conf, files); err != nil {
		return err
	}
	if err := readStatus(sp.status); err != nil {
		return err
	}
	if out != nil {
		return out.serve()
	}
	return nil
}

// holdEgress gives a sandbox that runs already its proxy.
func (s *Sandbox) holdEgress(e *egress) error {
	s.hold.mu.Lock()
	defer s.hold.mu.Unlock()
	if s.hold.over {
		e.close()
		return fmt.Errorf("hold the proxy: %w", errEnded)
	}
	s.hold.egress = e
	return nil
}

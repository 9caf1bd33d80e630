//go:build linux || darwin

package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"abxdash/client"
)

// Launcher starts sandboxes. It owns one operating-system thread: the kernel
// kills a sandbox of level namespace when the thread that started it ends.
type Launcher struct {
	jobs   chan func()
	closed chan struct{}
	ended  chan struct{}
	once   sync.Once
	self   *selfExe
	// parents is where the sandboxes' cgroups are made.
	parents *groupParents
	// swept is done with the first start.
	swept sync.Once
	// spares keeps a sandbox without identity ready.
	spares spares
	// nsErr is why the thread cannot start sandboxes of level namespace, nil if it can.
	nsErr error

	mu sync.Mutex
	// forcedProcess is set once Probe was told to accept a level without a user namespace.
	forcedProcess bool
}

// NewLauncher starts the thread. Close ends it.
func NewLauncher() (*Launcher, error) {
	self, err := openSelf()
	if err != nil {
		return nil, &client.Error{Op: "prepare local sandboxes", Provider: "local", Code: client.CodeLocalServer, Err: err}
	}
	l := &Launcher{
		jobs:    make(chan func()),
		closed:  make(chan struct{}),
		ended:   make(chan struct{}),
		self:    self,
		parents: findParents(),
	}
	ready := make(chan struct{})
	go l.thread(ready)
	<-ready
	return l, nil
}

// thread runs the jobs. It never unlocks its thread, so that the thread ends
// with it and nothing else inherits what prepareThread did.
func (l *Launcher) thread(ready chan<- struct{}) {
	defer close(l.ended)
	runtime.LockOSThread()
	l.nsErr = prepareThread()
	close(ready)
	for {
		select {
		case f := <-l.jobs:
			f()
		case <-l.closed:
			return
		}
	}
}

// do runs f on the launcher's thread and waits for it.
func (l *Launcher) do(ctx context.Context, f func() error) error {
	result := make(chan error, 1)
	select {
	case l.jobs <- func() { result <- f() }:
		return <-result
	case <-l.closed:
		return errors.New("the launcher is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the thread and with it every sandbox of level namespace that is
// still running. It is safe to call twice.
func (l *Launcher) Close() error {
	var err error
	l.once.Do(func() {
		l.spares.close()
		close(l.closed)
		<-l.ended
		err = l.self.close()
	})
	return err
}

// Start starts a sandbox and returns when its agent answers. ctx bounds the
// start only. Errors are *client.Error: E9011 when the level is not to be had,
// E2000 for anything else.
func (l *Launcher) Start(ctx context.Context, cfg Config) (*Sandbox, error) {
	if cfg.Level == "" {
		cfg.Level = client.IsolationNamespace
	}
	if err := l.allowed(cfg.Level); err != nil {
		return nil, err
	}
	if cfg.Listener == nil {
		return nil, client.Usagef("start a local sandbox", "no listening socket was given")
	}
	if _, err := prepareEgress(cfg); err != nil {
		return nil, err
	}
	var err error
	if cfg.Mounts, err = checkMounts(cfg); err != nil {
		return nil, err
	}
	if cfg.Places, err = checkPlaces(cfg); err != nil {
		return nil, err
	}
	// What a dead launcher left is nobody else's to remove. A failure has no
	// consequence here; the next launcher tries again.
	l.swept.Do(func() { _ = l.parents.sweep() })
	s, err := l.start(ctx, cfg, false)
	if err != nil {
		return nil, &client.Error{Op: "start a local sandbox", Provider: "local", Code: client.CodeCreate, Err: err}
	}
	return s, nil
}

// allowed refuses levels that do not exist here.
func (l *Launcher) allowed(level client.Isolation) error {
	const op = "start a local sandbox"
	switch {
	case level == client.IsolationNamespace && hasNamespaces:
		return nil
	case level == client.IsolationLandlock && landlockABI() == 0:
		return unavailable(op, "the kernel has no Landlock, or it is switched off", "")
	case level != client.IsolationProcess && level != client.IsolationLandlock:
		return unavailable(op, "isolation level "+string(level)+" does not exist here", "")
	case os.Geteuid() != 0:
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.forcedProcess {
		return unavailable(op, rootRefusal, rootHint)
	}
	return nil
}

const (
	rootRefusal = "root without a user namespace is not offered: programs would have every right on this machine"
	rootHint    = "run as an ordinary user, or ask for the level `process` or `process+landlock` to accept that"
)

// start does the work of Start, for a probe too.
func (l *Launcher) start(ctx context.Context, cfg Config, probe bool) (*Sandbox, error) {
	var err error
	// The launcher's thread has a working directory of its own.
	if cfg.Home, err = filepath.Abs(cfg.Home); err != nil {
		return nil, err
	}
	if err := prepareHome(cfg); err != nil {
		return nil, err
	}
	if !probe {
		if s, err := l.fromSpare(ctx, cfg); s != nil || err != nil {
			return s, err
		}
	}
	confR, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer confR.Close()
	conf := confOf(cfg)
	conf.Probe = probe
	b, err := l.begin(ctx, cfg, conf, life, confR)
	if err != nil {
		return nil, err
	}
	_ = b.status.Close()
	return b.s, nil
}

// confOf is what init is told, the descriptors left out.
func confOf(cfg Config) initConfig {
	return initConfig{
		Level: cfg.Level, ID: cfg.ID, Home: cfg.Home, Hostname: cfg.Hostname, Env: cfg.Env,
		AccessToken: cfg.AccessToken, Network: cfg.Network, EnvdVersion: cfg.EnvdVersion,
		Limits: cfg.Limits.defaults(), Mounts: cfg.Mounts,
		Places: cfg.Places, Workdir: cfg.Workdir,
	}
}

// lifeline is the end of init's configuration that the launcher holds.
type lifeline interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// bound gives up what is said to init and heard from it when ctx ends.
func bound(ctx context.Context, status *os.File, life lifeline) (stop func()) {
	undo := context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_ = status.SetReadDeadline(past)
		_ = life.SetWriteDeadline(past)
	})
	return func() { undo() }
}

// begun is a first process that has answered.
type begun struct {
	s *Sandbox
	// status is where further answers come from.
	status *os.File
	fds    inherited
}

// begin starts init with conf and waits for its answer. It takes over life; confR
// is the other end of that, which the caller closes, too.
func (l *Launcher) begin(ctx context.Context, cfg Config, conf initConfig, life lifeline, confR *os.File) (*begun, error) {
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, life.Close())
	}
	defer statusW.Close()
	defer bound(ctx, statusR, life)()

	s := &Sandbox{level: cfg.Level, life: life, done: make(chan struct{}), hold: hold{turn: make(chan struct{}, 1)}}
	if err := l.launch(ctx, s, cfg, &conf, confR, statusW); err != nil {
		s.closeLife()
		return nil, errors.Join(err, statusR.Close())
	}
	go s.wait()
	// Only init holds the other ends now, so that its end is seen here.
	_ = confR.Close()
	_ = statusW.Close()
	err = sendConfig(life, conf)
	if answer := readStatus(statusR); answer != nil || err == nil {
		err = answer // init's own words tell more than a broken pipe
	}
	if err == nil && s.hold.egress != nil {
		err = s.hold.egress.serve()
	}
	if err == nil {
		return &begun{s, statusR, conf.FDs}, nil
	}
	_ = statusR.Close()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	killErr := s.Kill(end)
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	} else if errors.Is(err, errNoAnswer) && s.err != nil {
		err = fmt.Errorf("%w: %w", err, s.err)
	}
	return nil, errors.Join(err, killErr)
}

// killWait bounds how long a failed start waits for its remains to go, and how
// long a supervisor may take to end its descendants.
const killWait = 10 * time.Second

// groupKillAfter is how long the end of PID 1 may take before each process is
// killed by its group, too. It takes milliseconds unless one is stuck in the kernel.
const groupKillAfter = 2 * time.Second

// launch starts init on the launcher's thread, with all that it inherits, and
// notes in conf which descriptor is what.
func (l *Launcher) launch(ctx context.Context, s *Sandbox, cfg Config, conf *initConfig, confR, status *os.File) (err error) {
	in, err := l.inherit(cfg, conf, confR, status)
	defer in.release()
	if err == nil {
		err = l.do(ctx, func() error {
			trees, err := l.rootTrees(cfg.Mounts)
			if err != nil {
				return err
			}
			defer closeFiles(trees)
			for _, t := range trees {
				conf.FDs.Mounts = append(conf.FDs.Mounts, in.add(t))
			}
			return l.run(s, cfg, in)
		})
	}
	if err != nil {
		return errors.Join(err, in.undo())
	}
	if !in.group.canFreeze() { // it had to be given up
		conf.FDs.Group = 0
	}
	s.hold.ctl, s.hold.group, s.hold.egress = newControl(in.control), in.group, in.egress
	l.note(s, conf)
	return nil
}

// note finds out by what the sandbox is held, and tells init as much as it needs.
func (l *Launcher) note(s *Sandbox, conf *initConfig) {
	s.means = s.hold.group.means(factsOf(conf.Level, conf.Limits), l.parents.missing)
	conf.MemoryGroup = s.means.Memory != "" && s.means.Memory != ByRlimit
}

// run starts init. It must run on the launcher's thread.
func (l *Launcher) run(s *Sandbox, cfg Config, in *inheritance) error {
	start := func() (*os.Process, error) {
		attr := &os.ProcAttr{
			Env:   []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Files: in.files,
			Sys:   &syscall.SysProcAttr{Setsid: true},
		}
		if in.group.canFreeze() {
			intoGroup(attr.Sys, in.group.agentDir)
		}
		return l.startProcess(cfg, attr)
	}
	proc, err := start()
	if err != nil && in.group.canFreeze() {
		// The group was there but may not be entered: better none than no sandbox.
		in.group.dropV2()
		proc, err = start()
	}
	if err != nil {
		return err
	}
	s.proc = proc
	s.id.PID = proc.Pid
	// The process cannot be reaped before wait runs, so the pid is still its own.
	s.id.StartTime, err = startTime(proc.Pid)
	if err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
	}
	return err
}

// levelFacts is what holds a sandbox where there is no cgroup for it.
type levelFacts struct {
	kill, pids, memory, calls, files string
	limits                           Limits
}

func factsOf(level client.Isolation, l Limits) levelFacts {
	if level != client.IsolationNamespace {
		f := levelFacts{kill: "supervisor", limits: l}
		if level == client.IsolationLandlock {
			f.files = fmt.Sprintf("landlock ABI %d", landlockABI())
		}
		return f
	}
	f := levelFacts{kill: "pid namespace", memory: ByRlimit, files: "mount namespace", limits: l}
	if filterAvailable() {
		f.calls = ByFilter
	}
	if countsPerNamespace() {
		f.pids = ByRlimit
	}
	return f
}

// wait owns the exit status of the sandbox's first process.
func (s *Sandbox) wait() {
	st, err := s.proc.Wait()
	if err == nil && !st.Success() {
		err = errors.New(st.String())
	}
	// At level process this ends what escaped the supervisor.
	err = errors.Join(err, s.hold.group.remove())
	s.err = err
	s.closeLife()
	s.hold.ctl.close()
	s.hold.mu.Lock()
	s.hold.over = true
	s.hold.mu.Unlock()
	s.hold.egress.close()
	close(s.done)
}

func (s *Sandbox) kill(ctx context.Context) error {
	if s.level == client.IsolationNamespace {
		// The wait for PID 1 ends after that of every other member.
		if err := s.signal(os.Kill); err != nil {
			return err
		}
		s.closeLife()
		grace, cancel := context.WithTimeout(ctx, groupKillAfter)
		defer cancel()
		if s.waitDone(grace) == nil {
			return nil
		}
		s.hold.group.kill()
		return s.waitDone(ctx)
	}
	s.closeLife()
	// It may have been stopped along with the user's other processes.
	if err := s.signal(syscall.SIGCONT); err != nil {
		return err
	}
	grace, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	if s.waitDone(grace) == nil {
		return nil
	}
	// The supervisor does not do its work: the same from here.
	killTree(s.id.PID)
	s.hold.group.kill()
	if err := s.signal(os.Kill); err != nil {
		return err
	}
	return s.waitDone(ctx)
}

// signal signals the first process unless it has ended.
func (s *Sandbox) signal(sig os.Signal) error {
	if err := s.proc.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the sandbox: %w", err)
	}
	return nil
}

func (s *Sandbox) waitDone(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill the sandbox: %w", ctx.Err())
	}
}

// KillByIdentity ends a sandbox that another process started: a janitor's
// work. A process that is gone, or another one by the same pid, is success. At
// level namespace nothing is left on return; at level process the supervisor is
// asked to clean up and killed when ctx ends first.
func KillByIdentity(ctx context.Context, level client.Isolation, id Identity) error {
	sig := syscall.SIGKILL
	if level != client.IsolationNamespace {
		sig = syscall.SIGTERM
	}
	defer func() { _ = SweepGroups() }() // those of id's launcher, if it is dead
	if !alive(id) {
		return nil
	}
	if err := errors.Join(signalIdentity(id, sig), signalIdentity(id, syscall.SIGCONT)); err != nil {
		return fmt.Errorf("kill the sandbox: %w", err)
	}
	if err := gone(ctx, id); err != nil {
		return errors.Join(err, signalIdentity(id, syscall.SIGKILL))
	}
	return nil
}

// gone returns once the very process runs no more, or with ctx's error.
func gone(ctx context.Context, id Identity) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for alive(id) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("kill the sandbox: %w", ctx.Err())
		}
	}
	return nil
}

// alive reports whether the very process still runs. A zombie does not, though
// at level namespace a zombie appears only when every member is gone.
func alive(id Identity) bool {
	t, err := startTime(id.PID)
	return err == nil && t == id.StartTime && !zombie(id.PID)
}

// IsInit reports whether this process was started to be part of a sandbox.
// main and the TestMain of anything that starts sandboxes must then call
// InitMain before doing anything else.
func IsInit() bool {
	return len(os.Args) > 0 && (os.Args[0] == initName || os.Args[0] == spawnerName)
}

// InitMain plays the part that this process was started for and does not return.
func InitMain() { os.Exit(initMain(newAgent)) }

// takeSignals gives every signal a handler, so that none is ignored: what is
// ignored stays ignored in commands, what is handled is at its default there.
// It also keeps programs of the sandbox from ending this process by a signal.
func takeSignals() {
	all := make(chan os.Signal, 1)
	signal.Notify(all)
	defaultReserved()
}

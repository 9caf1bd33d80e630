//go:build linux || darwin

package isolate

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"abxdash/client"
	"abxdash/client/local/envd"
	"abxdash/client/local/interpreter"
	"abxdash/client/local/toolserver"
)

// agentFunc makes the handler that speaks for the sandbox.
type agentFunc func(cfg initConfig, sp envd.Spawner) http.Handler

// newAgent is the real one.
func newAgent(cfg initConfig, sp envd.Spawner) http.Handler {
	return envd.New(envd.Config{
		Spawner: sp, Version: cfg.EnvdVersion, AccessToken: cfg.AccessToken, GlobalEnv: cfg.Env,
		Workdir: cfg.Workdir,
		Logger:  slog.New(agentLog()),
	})
}

// agentLog writes records that the server reads: starts and ends of processes
// are what a sandbox's log tells.
func agentLog() slog.Handler {
	return slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})
}

// builtins are the servers that every sandbox has.
func builtins(cfg initConfig, sp envd.Spawner) map[string]*builtin {
	return map[string]*builtin{
		strconv.Itoa(interpreter.Port): newBuiltin(interpreter.New(interpreter.Config{Spawner: sp, Env: cfg.Env})),
		strconv.Itoa(toolserver.Port):  newBuiltin(toolserver.New(toolserver.Config{Spawner: sp, Env: cfg.Env})),
	}
}

// initMain is the sandbox's first process. It returns an exit code.
func initMain(agent agentFunc) int {
	if os.Args[0] == spawnerName {
		return spawnerMain()
	}
	if len(os.Args) > 1 && os.Args[1] == confineArg {
		err := confined()
		_ = sendStatus(os.NewFile(fdStatus, "status"), initStatus{Error: err.Error()})
		return 1
	}
	closeOnExec()
	conf := os.NewFile(fdConfig, "configuration")
	status := os.NewFile(fdStatus, "status")
	cfg, err := readConfig(conf)
	if err != nil {
		return fail("init", err)
	}
	in := &initProc{cfg: cfg, conf: conf, broken: make(chan error, 1)}
	err = in.settle()
	if err == nil && cfg.Spare {
		err = in.standBy(status)
	}
	if err == nil {
		err = in.up(agent)
	}
	if err != nil {
		_ = sendStatus(status, initStatus{Error: err.Error()})
		in.down()
		return 1
	}
	if err := errors.Join(sendStatus(status, initStatus{}), status.Close()); err != nil {
		in.down()
		return fail("init", err)
	}
	err = in.run()
	in.down()
	if err != nil {
		return fail("init", err)
	}
	return 0
}

// initProc is init's state.
type initProc struct {
	cfg  initConfig
	conf *os.File
	sp   *spawner
	stop stopped
	// seen is the high-water mark of processor time.
	seen highWater
	// starter starts the commands at level namespace. root is there before the
	// identity of a spare, else nil.
	starter *forkServer
	root    *builder
	// broken gets the error of an agent that cannot serve any more.
	broken chan error
}

// settle sets what does not depend on which sandbox this is.
func (in *initProc) settle() error {
	syscall.Umask(0o022)
	takeSignals()
	return limitCore()
}

// up makes the sandbox ready: root, spawner, agent.
func (in *initProc) up(agent agentFunc) error {
	var err error
	if in.cfg.Level == client.IsolationNamespace {
		err = in.upNamespace()
	} else {
		err = in.upProcess()
	}
	if err != nil {
		return err
	}
	if in.cfg.Probe {
		return in.runTest()
	}
	ln, err := net.FileListener(os.NewFile(uintptr(in.cfg.FDs.Listener), "agent socket"))
	if err != nil {
		return fmt.Errorf("use the agent's socket: %w", err)
	}
	in.cfg.Env = withProfile(in.cfg.Env)
	re := newRelay(agent(in.cfg, in.sp))
	re.builtin = builtins(in.cfg, in.sp)
	srv := &http.Server{
		Handler:  re,
		ErrorLog: slog.NewLogLogger(agentLog(), slog.LevelWarn),
	}
	ctl, err := unixConn(in.cfg.FDs.Control)
	if err != nil {
		return err
	}
	go in.serveControl(ctl)
	go func() { in.broken <- srv.Serve(ln) }()
	return nil
}

// upProcess makes this process the supervisor of its descendants.
func (in *initProc) upProcess() error {
	if err := adoptOrphans(); err != nil {
		return err
	}
	if err := limitFiles(in.cfg.Limits.OpenFiles); err != nil {
		return err
	}
	home, err := filepath.Abs(in.cfg.Home)
	if err != nil {
		return err
	}
	if err := in.ownTemp(home); err != nil {
		return err
	}
	in.sp = newSpawner(directForker{group: in.cfg.FDs.Group}, envd.User{
		Name: UserName, UID: os.Getuid(), GID: os.Getgid(), Home: home, Shell: loginShell(),
	})
	in.startReaper()
	return nil
}

func (in *initProc) startReaper() {
	kick := make(chan os.Signal, 1)
	signal.Notify(kick, syscall.SIGCHLD)
	go in.sp.reap(kick)
}

// loginShell is bash where there is one.
func loginShell() string {
	if executable("/bin/bash") == 0 {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// runTest is a probe's test: a command must run and succeed.
func (in *initProc) runTest() error {
	u := in.sp.user
	c, err := in.sp.Spawn(envd.Spec{
		Argv: []string{"/bin/sh", "-c", ":"}, Dir: u.Home, User: u, NoStdin: true,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + u.Home},
	})
	if err != nil {
		return err
	}
	defer c.Stdout().Close()
	defer c.Stderr().Close()
	<-c.Done()
	if e := c.Exit(); !e.Exited || e.Code != 0 {
		return errors.New("a test command failed: " + e.Status)
	}
	return nil
}

// run waits for the end: the launcher closes its pipe or is gone, or at level
// process SIGTERM comes. An agent that fails ends the sandbox, too.
func (in *initProc) run() error {
	end := make(chan struct{})
	go func() {
		defer close(end)
		_, _ = io.Copy(io.Discard, in.conf)
	}()
	term := make(chan os.Signal, 1)
	if in.cfg.Level != client.IsolationNamespace { // there the sandbox's programs could send it
		signal.Notify(term, syscall.SIGTERM)
	}
	select {
	case <-end:
	case <-term:
	case err := <-in.broken:
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// down leaves nothing behind. At level namespace the kernel sees to that when
// this process ends.
func (in *initProc) down() {
	if in.cfg.Level == client.IsolationNamespace || in.sp == nil {
		return
	}
	in.sp.killAll()
}

// killAll stops and then kills every descendant until wait says that there is
// none. Stopping first keeps a descendant from making another one meanwhile.
func (s *spawner) killAll() {
	s.mu.Lock()
	s.ending = true
	none := s.none
	s.mu.Unlock()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		killTree(os.Getpid())
		s.collect()
		select {
		case <-none:
			return
		case <-tick.C:
		}
	}
}

// killTree stops, then kills, every descendant of pid that it can find.
func killTree(pid int) {
	stopped := map[int]bool{}
	for {
		found := false
		for _, d := range descendants(pid) {
			if !stopped[d] {
				stopped[d], found = true, true
				_ = syscall.Kill(d, syscall.SIGSTOP)
			}
		}
		if !found {
			break
		}
	}
	for d := range stopped {
		_ = syscall.Kill(d, syscall.SIGKILL)
	}
}

// descendants lists the processes below pid.
func descendants(pid int) []int {
	parents, err := processParents()
	if err != nil {
		return nil
	}
	below := map[int][]int{}
	for p, parent := range parents {
		below[parent] = append(below[parent], p)
	}
	var out []int
	queue := below[pid]
	for len(queue) > 0 {
		p := queue[0]
		queue = append(queue[1:], below[p]...)
		out = append(out, p)
	}
	return out
}

// limitCore keeps crashes of the sandbox's programs from writing core files.
func limitCore() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit core files: %w", err)
	}
	return nil
}

// limitFiles sets the number of open files, at most what the host allows.
func limitFiles(n uint64) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	lim.Max = min(lim.Max, n)
	lim.Cur = lim.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	return nil
}

// fail reports on the log and gives the exit code.
func fail(who string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", who, err)
	return 1
}

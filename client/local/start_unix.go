//go:build unix

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"abxdash/client/local/server"
)

// Descriptors that a starting server inherits beside the standard three.
const (
	reportFD = 3
	configFD = 4
)

// selfPath names this very binary, even when its file has been replaced since.
func selfPath() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// part is a command that runs this binary as one of its parts, detached from
// the caller's session and folder.
func part(name string, args ...string) (*exec.Cmd, error) {
	self, err := selfPath()
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{
		Path: self, Args: append([]string{name}, args...), Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}

// spawn starts a detached server and returns when it serves, or with the
// reason why it does not. A step between makes the server an orphan, so that
// this process never has to wait for it.
func (p *Provider) spawn(ctx context.Context) error {
	const op = "start the local server"
	logFile, err := openLog(p.paths.log, p.paths.old)
	if err != nil {
		return folderError(p.paths.log, err)
	}
	defer logFile.Close()
	report, reportW, err := os.Pipe()
	if err != nil {
		return serverError(op, "cannot make a pipe", "", err)
	}
	defer report.Close()
	defer reportW.Close()
	config, configW, err := os.Pipe()
	if err != nil {
		return serverError(op, "cannot make a pipe", "", err)
	}
	defer config.Close()
	defer configW.Close()

	data, err := json.Marshal(serverConfig{
		Run: p.paths.run, State: p.paths.state, Version: p.cfg.Version, Min: p.cfg.MinIsolation,
		Image: p.cfg.Image, Idle: p.cfg.IdleAfter,
	})
	if err != nil {
		return serverError(op, "cannot word its configuration", "", err)
	}
	// Far below the size of a pipe's buffer: this cannot block.
	if _, err := configW.Write(data); err != nil {
		return serverError(op, "cannot hand over its configuration", "", err)
	}
	_ = configW.Close()

	cmd, err := part(spawnName)
	if err != nil {
		return serverError(op, "cannot find this program's file", "", err)
	}
	cmd.Env = scrub(os.Environ())
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.ExtraFiles = []*os.File{reportW, config}
	if err := cmd.Run(); err != nil {
		return serverError(op, "cannot start its process", p.logHint(), err)
	}
	_ = reportW.Close()

	if err := report.SetReadDeadline(time.Now().Add(startPatience)); err != nil {
		return serverError(op, "cannot wait for it", "", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = report.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = p.paths.readReport(report)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	return err
}

// spawnMain starts the server with the same files and goes away.
func spawnMain() {
	keepOnly(configFD)
	cmd, err := part(serverName)
	if err == nil {
		cmd.Env = os.Environ()
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.ExtraFiles = []*os.File{os.NewFile(reportFD, "report"), os.NewFile(configFD, "config")}
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start the server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keepOnly lets no descriptor above last reach the next program: whatever the
// caller had open would stay open for as long as the server lives.
func keepOnly(last int) {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > last {
			unix.CloseOnExec(fd)
		}
	}
}

// serverMain is the detached server.
func serverMain() {
	unix.CloseOnExec(reportFD)
	unix.CloseOnExec(configFD)
	report, config := os.NewFile(reportFD, "report"), os.NewFile(configFD, "config")
	log := slog.New(slog.NewTextHandler(&boundedLog{f: os.Stderr}, nil))
	tell := func(err error) {
		if report == nil {
			return
		}
		data, merr := json.Marshal(reportOf(err))
		if merr == nil {
			// A caller that gave up waiting is no reason to stop.
			_, _ = report.Write(data)
		}
		_ = report.Close()
		report = nil
	}
	var cfg serverConfig
	data, err := io.ReadAll(io.LimitReader(config, 64<<10))
	if err == nil {
		err = json.Unmarshal(data, &cfg)
	}
	_ = config.Close()
	if err != nil {
		tell(fmt.Errorf("read the configuration: %w", err))
		os.Exit(1)
	}
	unix.Umask(0o077) // what the server makes is the user's alone; sandboxes set their own
	// A report that nobody reads any more must not end the server.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err = pathsIn(cfg.Run, cfg.State).serve(ctx, serveOptions{
		version: cfg.Version, min: cfg.Min, image: cfg.Image, idle: cfg.Idle, log: log,
		ready: func(Status) { tell(nil) },
	})
	if err != nil {
		log.Error("the server ended", "err", err)
		tell(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// janitor is the small process that clears up behind a server that was killed.
// One that ends too early, because somebody killed it, is replaced.
type janitor struct {
	lockPath string
	log      *slog.Logger
	ending   chan struct{}
	ended    chan struct{}

	mu   sync.Mutex
	life *os.File // nil once it is told that the server is done
}

// janitorPause keeps janitors that end at once from being started without end.
const janitorPause = time.Second

// startJanitor starts it; it lives until the write end of its pipe is closed,
// by janitor.close or by the end of this process.
func startJanitor(lockPath string, log *slog.Logger) (*janitor, error) {
	j := &janitor{lockPath: lockPath, log: log, ending: make(chan struct{}), ended: make(chan struct{})}
	cmd, err := j.start()
	if err != nil {
		return nil, err
	}
	go j.keep(cmd)
	return j, nil
}

// start starts the process once.
func (j *janitor) start() (*exec.Cmd, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd, err := part(janitorName, j.lockPath)
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	cmd.Env = scrub(os.Environ())
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, err
	}
	j.log.Debug("janitor started", "pid", cmd.Process.Pid)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life != nil {
		_ = j.life.Close()
	}
	j.life = w
	select {
	case <-j.ending: // told to end meanwhile
		_ = w.Close()
		j.life = nil
	default:
	}
	return cmd, nil
}

// keep waits for the process and starts another if the server still needs one.
func (j *janitor) keep(cmd *exec.Cmd) {
	defer close(j.ended)
	for {
		if cmd != nil {
			// Its exit code says nothing: it has logged what it could not do.
			_ = cmd.Wait()
		}
		select {
		case <-j.ending:
			return
		case <-time.After(janitorPause):
		}
		j.log.Warn("the janitor ended too early, starting another")
		var err error
		if cmd, err = j.start(); err != nil {
			j.log.Error("no janitor: a killed server would leave its sandboxes' folders", "err", err)
		}
	}
}

// close tells the janitor that the server is done, and waits for it.
func (j *janitor) close() {
	close(j.ending)
	j.mu.Lock()
	if j.life != nil {
		_ = j.life.Close()
		j.life = nil
	}
	j.mu.Unlock()
	<-j.ended
}

// janitorMain is the janitor process. The signals that end a server in order
// do not end it: it is needed most when something goes wrong.
func janitorMain() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	if len(os.Args) != 2 {
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := server.Janitor(os.Stdin, os.Args[1], leftoverKiller(filepath.Dir(filepath.Dir(os.Args[1])))); err != nil {
		log.Error("janitor: something is left", "err", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// killServer ends a server that does not answer. pid comes from the lock that
// it holds at this moment.
func killServer(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

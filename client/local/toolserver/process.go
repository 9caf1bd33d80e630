package toolserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/client/local/envd"
)

const (
	// shellTimeout bounds POST /shell (agent-sandbox-server §5).
	shellTimeout = 300 * time.Second
	maxProcesses = 100
	// maxOutput bounds each stream of POST /shell, in bytes; the rest is dropped.
	maxOutput = 8 << 20
	// outputGrace is how long descendants may still write after the end.
	outputGrace = 250 * time.Millisecond
	sigKill     = 9
)

// process is one that was started here.
type process struct {
	PID       int     `json:"pid"`
	Command   string  `json:"command"`
	State     string  `json:"state"`
	StartedAt float64 `json:"started_at"`
	ExitCode  *int    `json:"exit_code"`

	child envd.Child
}

// spawn starts a command without a shell.
func (s *Server) spawn(command, dir string) (envd.Child, error) {
	argv, err := client.CommandLine(command)
	if err != nil || len(argv) == 0 {
		return nil, bad("the command cannot be read")
	}
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	if !path.IsAbs(dir) {
		dir = path.Join(user.Home, dir)
	}
	env := map[string]string{"PATH": envd.DefaultPath, "HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name}
	maps.Copy(env, s.cfg.Env)
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return s.cfg.Spawner.Spawn(envd.Spec{Argv: argv, Env: list, Dir: dir, User: user, NoStdin: true})
}

func (s *Server) processRoutes() {
	route(s, "POST /shell", s.shell)
	route(s, "POST /process/start", s.start)
	route(s, "GET /process/list", func(*http.Request, struct{}) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		out := []process{}
		for _, p := range s.procs {
			out = append(out, p.now())
		}
		slices.SortFunc(out, func(a, b process) int { return cmp.Compare(a.PID, b.PID) })
		return map[string][]process{"processes": out}, nil
	})
	route(s, "GET /process/{pid}", func(r *http.Request, _ struct{}) (any, error) {
		p, err := s.byPID(r)
		if err != nil {
			return nil, err
		}
		return p.now(), nil
	})
	route(s, "POST /process/{pid}/signal", func(r *http.Request, b struct{ Signal int }) (any, error) {
		if !slices.Contains([]int{2, 9, 15, 18, 20}, b.Signal) {
			return nil, bad("signal must be one of 2, 9, 15, 18, 20")
		}
		p, err := s.byPID(r)
		if err != nil {
			return nil, err
		}
		return done(p.child.Signal(b.Signal))
	})
}

type shellResult struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// shell runs a command to its end. The caller's going ends it, too.
func (s *Server) shell(r *http.Request, b struct{ Command string }) (any, error) {
	child, err := s.spawn(b.Command, "")
	if err != nil {
		return nil, err
	}
	var outs [2][]byte
	var wg sync.WaitGroup
	for i, stream := range []io.ReadCloser{child.Stdout(), child.Stderr()} {
		wg.Go(func() {
			defer stream.Close()
			outs[i], _ = io.ReadAll(io.LimitReader(stream, maxOutput))
			_, _ = io.Copy(io.Discard, stream)
		})
	}
	limit := time.NewTimer(shellTimeout)
	defer limit.Stop()
	var cut error
	select {
	case <-child.Done():
	case <-limit.C:
		cut = &problem{http.StatusGatewayTimeout, fmt.Sprintf("the command took longer than %s", shellTimeout), "TimeoutError"}
	case <-r.Context().Done():
		cut = r.Context().Err()
	}
	if cut != nil {
		_ = child.Signal(sigKill)
		<-child.Done()
	}
	read := make(chan struct{})
	go func() { wg.Wait(); close(read) }()
	select {
	case <-read:
	case <-time.After(outputGrace):
		_ = child.Stdout().Close()
		_ = child.Stderr().Close()
		<-read
	}
	return shellResult{string(outs[0]), string(outs[1]), child.Exit().Code}, cut
}

// start starts a background process; its output is read and thrown away.
func (s *Server) start(_ *http.Request, b struct{ Command, CWD string }) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.procs) >= maxProcesses {
		maps.DeleteFunc(s.procs, func(_ int, p *process) bool { return p.now().State != stateRunning })
	}
	if len(s.procs) >= maxProcesses {
		return nil, &problem{http.StatusTooManyRequests, fmt.Sprintf("at most %d processes", maxProcesses), "RuntimeError"}
	}
	child, err := s.spawn(b.Command, b.CWD)
	if err != nil {
		return nil, err
	}
	for _, stream := range []io.ReadCloser{child.Stdout(), child.Stderr()} {
		go func() {
			defer stream.Close()
			_, _ = io.Copy(io.Discard, stream)
		}()
	}
	p := &process{PID: child.PID(), Command: b.Command, StartedAt: float64(time.Now().UnixMilli()) / 1000, child: child}
	s.procs[p.PID] = p
	return map[string]any{"pid": p.PID, "command": p.Command}, nil
}

const stateRunning = "running"

// now is the process with its present state.
func (p *process) now() process {
	out := *p
	out.State = stateRunning
	select {
	case <-p.child.Done():
		code := p.child.Exit().Code
		out.State, out.ExitCode = "exited", &code
	default:
	}
	return out
}

func (s *Server) byPID(r *http.Request) (*process, error) {
	pid, err := strconv.Atoi(r.PathValue("pid"))
	if err != nil {
		return nil, bad("a pid is a number")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.procs[pid]
	switch {
	case p != nil:
		return p, nil
	case pid == 1 || pid == os.Getpid():
		return nil, &problem{http.StatusForbidden, "that process is the sandbox itself", "PermissionError"}
	}
	return nil, &problem{http.StatusNotFound, fmt.Sprintf("no process %d was started here", pid), "ProcessLookupError"}
}

// info tells what the machine is.
func (s *Server) info(*http.Request, struct{}) (any, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, errors.New("the host name is not known")
	}
	return map[string]any{
		"os": runtime.GOOS, "arch": runtime.GOARCH, "cpu_count": runtime.NumCPU(), "hostname": host,
		"uptime_seconds": time.Since(s.began).Seconds(),
	}, nil
}

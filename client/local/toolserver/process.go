package toolserver

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"abxdash/client"
	"abxdash/client/local/envd"
)

const maxProcesses = 100

// process is one that was started here.
type process struct {
	PID       int     `json:"pid"`
	Command   string  `json:"command"`
	State     string  `json:"state"`
	StartedAt float64 `json:"started_at"`
	ExitCode  *int    `json:"exit_code"`

	child envd.Child
}

// words splits a command as a shell would, without running one.
func words(command string) ([]string, error) {
	argv, err := client.CommandLine(command)
	if err != nil || len(argv) == 0 {
		return nil, bad("the command cannot be read")
	}
	return argv, nil
}

func (s *Server) processRoutes() {
	route(s, groupProcess, "POST /shell", func(r *http.Request, b struct{ Command string }) (any, error) {
		argv, err := words(b.Command)
		if err != nil {
			return nil, err
		}
		return s.output(r.Context(), program{argv: argv}, shellTimeout)
	})
	s.handle(groupProcess, "POST /shell/stream", s.shellStream)
	route(s, groupProcess, "POST /process/start", s.start)
	route(s, groupProcess, "GET /process/list", func(*http.Request, struct{}) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		out := []process{}
		for _, p := range s.procs {
			out = append(out, p.now())
		}
		slices.SortFunc(out, func(a, b process) int { return cmp.Compare(a.PID, b.PID) })
		return map[string][]process{"processes": out}, nil
	})
	route(s, groupProcess, "GET /process/{pid}", func(r *http.Request, _ struct{}) (any, error) {
		p, err := s.byPID(r)
		if err != nil {
			return nil, err
		}
		return p.now(), nil
	})
	route(s, groupProcess, "POST /process/{pid}/signal", func(r *http.Request, b struct{ Signal int }) (any, error) {
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

// shellStream runs a command and tells its output as events. All of stdout comes
// before stderr, as the reference has it.
func (s *Server) shellStream(w http.ResponseWriter, r *http.Request) {
	var b struct{ Command string }
	err := decode(w, r, &b)
	var argv []string
	if err == nil {
		argv, err = words(b.Command)
	}
	if err != nil {
		fail(w, err)
		return
	}
	ev := newEvents(w)
	defer ev.close()
	var out text
	var errs []byte
	exit, err := s.run(r.Context(), program{argv: argv}, shellTimeout, func(p []byte) {
		if t := out.add(p); t != "" {
			ev.send("stdout", map[string]string{"data": t})
		}
	}, collect(&errs, maxOutput))
	if t := out.rest(); t != "" {
		ev.send("stdout", map[string]string{"data": t})
	}
	if len(errs) > 0 {
		ev.send("stderr", map[string]string{"data": string(errs)})
	}
	if err != nil {
		ev.send("error", map[string]string{"data": err.Error()})
		return
	}
	ev.send("exit", map[string]int{"exit_code": exit.Code})
}

// start starts a background process; its output is read and thrown away.
func (s *Server) start(_ *http.Request, b struct{ Command, CWD string }) (any, error) {
	argv, err := words(b.Command)
	if err != nil {
		return nil, err
	}
	if err := s.room(); err != nil {
		return nil, err
	}
	child, err := s.spawn(program{argv: argv, dir: b.CWD})
	if err != nil {
		s.started(nil)
		return nil, err
	}
	drop := func([]byte) {}
	go pour(child.Stdout(), drop)
	go pour(child.Stderr(), drop)
	p := &process{PID: child.PID(), Command: b.Command, StartedAt: float64(time.Now().UnixMilli()) / 1000, child: child}
	s.started(p)
	return map[string]any{"pid": p.PID, "command": p.Command}, nil
}

// room keeps a place for one more process, until started; ended ones make way.
func (s *Server) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.procs)+s.starting >= maxProcesses {
		maps.DeleteFunc(s.procs, func(_ int, p *process) bool { return p.now().State != stateRunning })
	}
	if len(s.procs)+s.starting >= maxProcesses {
		return &problem{http.StatusTooManyRequests, fmt.Sprintf("at most %d processes", maxProcesses), "RuntimeError"}
	}
	s.starting++
	return nil
}

// started fills the place that room kept, or gives it back when p is nil.
func (s *Server) started(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	if p != nil {
		s.procs[p.PID] = p
	}
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

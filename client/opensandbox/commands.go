package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"abxdash/client"
)

// commands starts and finds processes (§4.3, §4.6). A plain command goes
// through execd's command call, by lines; one that takes input, or has a
// terminal, through a session over a WebSocket, byte by byte.
type commands struct{ c *Client }

// job is a command started from here. execd has no list, so this is the only one.
type job struct {
	num int
	// id is execd's own; session tells a WebSocket session from a command.
	id      string
	session bool
	pipe    bool
	// background commands go on by themselves and keep their output.
	background bool
	cmd        client.Command
}

func (s *commands) failing(op string, id client.ID) failing {
	return failing{op: op, id: id, code: client.CodeRun, notFound: client.CodeRPC}
}

// Start implements [client.Commands]. A command without input runs in the
// foreground: nobody can join it again, so closing its handle ends it.
func (s *commands) Start(ctx context.Context, id client.ID, cmd client.Command) (client.Process, error) {
	f := s.failing("start command", id)
	if err := checkCommand(f.op, cmd); err != nil {
		return nil, err
	}
	if cmd.Stdin || cmd.PTY != nil {
		return s.startSession(ctx, f, cmd)
	}
	return s.startForeground(ctx, f, cmd)
}

func checkCommand(op string, cmd client.Command) error {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return client.Usagef(op, "no command given")
	}
	if cmd.Timeout < 0 {
		return client.Usagef(op, "the timeout %s is negative", cmd.Timeout)
	}
	for _, t := range append([]string{cmd.Dir, cmd.User}, cmd.Argv...) {
		if !utf8.ValidString(t) || strings.ContainsRune(t, 0) {
			return client.Usagef(op, "%q cannot be sent: it is not valid text", client.OneLine(t, 60))
		}
	}
	for k := range cmd.Env {
		if !variable(k) {
			return client.Usagef(op, "%q is no name of a variable", client.OneLine(k, 40))
		}
	}
	return nil
}

// variable reports whether a shell can export name.
func variable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// newCommand is the body of POST /command (§4.3). Timeout is in milliseconds.
type newCommand struct {
	Command    string            `json:"command"`
	Dir        string            `json:"cwd,omitempty"`
	Env        map[string]string `json:"envs,omitempty"`
	Background bool              `json:"background,omitempty"`
	Timeout    int64             `json:"timeout,omitempty"`
	UID        *uint32           `json:"uid,omitempty"`
	GID        *uint32           `json:"gid,omitempty"`
}

// body makes the request for a command.
func (s *commands) body(ctx context.Context, f failing, cmd client.Command) (newCommand, error) {
	b := newCommand{Command: "exec " + quoteAll(cmd.Argv), Env: cmd.Env}
	if cmd.Timeout > 0 {
		b.Timeout = max(int64((cmd.Timeout+time.Millisecond-1)/time.Millisecond), 1)
	}
	var err error
	if b.Dir, err = s.c.path(ctx, f, cmd.Dir); err != nil {
		return b, err
	}
	if cmd.User != "" {
		if b.UID, b.GID, err = s.user(ctx, f, cmd.User); err != nil {
			return b, err
		}
	}
	return b, nil
}

// user finds the numbers of a user; execd takes no names (§4.3).
func (s *commands) user(ctx context.Context, f failing, name string) (uid, gid *uint32, err error) {
	bad := client.Usagef(f.op, "there is no user %q in the sandbox", client.OneLine(name, 40))
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		u := uint32(n)
		return &u, nil, nil
	}
	out, err := s.c.script(ctx, f, "id -u -- "+quote(name)+" && id -g -- "+quote(name))
	if err != nil {
		return nil, nil, err
	}
	var nums []uint32
	for _, field := range strings.Fields(string(out.Stdout)) {
		n, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil, nil, bad
		}
		nums = append(nums, uint32(n))
	}
	if !out.Exit.OK() || len(nums) != 2 {
		return nil, nil, bad
	}
	return &nums[0], &nums[1], nil
}

// script runs a short line of shell of our own and collects what it writes.
func (c *Client) script(ctx context.Context, f failing, line string) (client.Output, error) {
	ctx, cancel := c.bounded(ctx, 0)
	defer cancel()
	p, err := (&commands{c}).foreground(ctx, f, newCommand{Command: line}, client.Command{})
	if err != nil {
		return client.Output{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	out, err := client.Collect(p)
	_ = p.Close()
	return out, err
}

// startForeground runs a command in the foreground.
func (s *commands) startForeground(ctx context.Context, f failing, cmd client.Command) (client.Process, error) {
	body, err := s.body(ctx, f, cmd)
	if err != nil {
		return nil, err
	}
	p, err := s.foreground(ctx, f, body, cmd)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// remember gives a job a number of ours.
func (c *Client) remember(id client.ID, j job) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boxOf(id)
	b.lastJob++
	j.num = b.lastJob
	b.jobs[j.num] = &j
	return &j
}

// drop forgets a job that has ended.
func (c *Client) drop(id client.ID, num int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[id]; b != nil {
		delete(b.jobs, num)
	}
}

func (c *Client) job(id client.ID, num int) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[id]; b != nil {
		return b.jobs[num]
	}
	return nil
}

// Attach implements [client.Commands] for sessions and background commands that
// this client started; pid is our own number for them.
func (s *commands) Attach(ctx context.Context, id client.ID, pid int) (client.Process, error) {
	f := s.failing(fmt.Sprintf("attach to process %d", pid), id)
	if err := checkID(f.op, id); err != nil {
		return nil, err
	}
	j := s.c.job(id, pid)
	switch {
	case j == nil:
		return nil, &client.Error{
			Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeRPC, Kind: client.ErrNotFound,
			Message: "no such process was started from here", Hint: "OpenSandbox cannot list the commands of another program",
		}
	case j.background:
		return s.follow(ctx, f, j)
	case j.session:
		return s.rejoin(ctx, f, j)
	}
	return nil, &client.Error{
		Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
		Message: "the output of a foreground command cannot be joined again",
	}
}

// Processes implements [client.Commands]: what this client started and still runs.
func (s *commands) Processes(ctx context.Context, id client.ID) ([]client.ProcessInfo, error) {
	f := s.failing("list processes", id)
	if _, err := (&sandboxes{s.c}).Get(ctx, id); err != nil {
		if e := (*client.Error)(nil); errors.As(err, &e) {
			e.Op = f.op
		}
		return nil, err
	}
	s.c.mu.Lock()
	var list []*job
	for _, j := range s.c.boxOf(id).jobs {
		list = append(list, j)
	}
	s.c.mu.Unlock()
	slices.SortFunc(list, func(a, b *job) int { return a.num - b.num })
	out := []client.ProcessInfo{}
	for _, j := range list {
		running, err := s.running(ctx, f, j)
		if errors.Is(err, client.ErrNotFound) || err == nil && !running {
			s.c.drop(id, j.num)
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, client.ProcessInfo{PID: j.num, Argv: j.cmd.Argv, Env: maps.Clone(j.cmd.Env), Dir: j.cmd.Dir, Tag: j.cmd.Tag})
	}
	return out, nil
}

// running asks whether a job still runs.
func (s *commands) running(ctx context.Context, f failing, j *job) (bool, error) {
	if j.session {
		st, err := s.session(ctx, f, j.id)
		return st.Running, err
	}
	st, err := s.status(ctx, f, j.id)
	return st.Running, err
}

// commandStatus is the answer of GET /command/status/{id}.
type commandStatus struct {
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exit_code"`
	Error    string `json:"error"`
}

func (s *commands) status(ctx context.Context, f failing, id string) (commandStatus, error) {
	var st commandStatus
	a, err := s.c.call(ctx, f, request{method: http.MethodGet, url: "/command/status/" + url.PathEscape(id)})
	if err != nil {
		return st, err
	}
	return st, s.c.decode(f, a, "status", &st)
}

// interrupt ends a command: SIGTERM to its group, SIGKILL 3 s later (§4.3). One
// that has ended already is answered with 500, which is no failure here (§9.14).
func (s *commands) interrupt(ctx context.Context, f failing, id string) error {
	f.wait = interruptPatience
	_, err := s.c.call(ctx, f, request{method: http.MethodDelete, url: "/command?id=" + url.QueryEscape(id)})
	var e *client.Error
	if errors.As(err, &e) && e.Status == http.StatusInternalServerError && strings.Contains(e.Message, "not running") {
		return nil
	}
	return err
}

// interruptPatience is more than the 3 s that the call itself may take.
const interruptPatience = 10 * time.Second

// quote makes s one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quote(a)
	}
	return strings.Join(words, " ")
}

package toolserver

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	"abxdash/client/commandserver"
	"abxdash/client/local/envd"
)

//go:embed boot.py
var bootScript string

const (
	// commandsFile is where a template's commands lie, below the home
	// (agent-sandbox-server §1).
	commandsFile = "app/commands.py"
	bootTimeout  = 20 * time.Second
	bootPoll     = 20 * time.Millisecond
	// kindHeader tells callers what ran a command.
	kindHeader = "X-Commands-Server"
	maxReply   = 64 << 20
)

// commandHost is the program that serves commands.py, once somebody asks.
type commandHost struct {
	mu   sync.Mutex
	host *host
	// last is what the latest host was: "stand-in" or "agent-sandbox-server".
	last string
	// broken identifies a commands.py that could not be loaded, "" for none.
	broken string
}

// host is one such program. It listens on a port of its own, which only callers
// with its token may use: where the host's network is shared, so is loopback.
type host struct {
	child  envd.Child
	url    string
	token  string
	kind   string
	stamp  string
	groups map[string]bool
	http   *http.Client
}

func (c *commandHost) kind() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *commandHost) brokenStamp() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// stampOf identifies the present commands.py, "" if there is none.
func (s *Server) stampOf() string {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return ""
	}
	root, err := os.OpenRoot(user.Home)
	if err != nil {
		return ""
	}
	defer root.Close()
	info, err := root.Stat(commandsFile)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}

// get starts the program if there is a commands.py, and anew after that file has
// changed. Without one it gives nil.
func (c *commandHost) get(ctx context.Context, s *Server) (*host, error) {
	stamp := s.stampOf()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.host != nil {
		select {
		case <-c.host.child.Done():
		default:
			if c.host.stamp == stamp {
				return c.host, nil
			}
			killTree(c.host.child)
			<-c.host.child.Done()
		}
		c.host, c.last = nil, ""
	}
	c.broken = ""
	if stamp == "" {
		return nil, nil
	}
	h, err := s.boot(ctx, stamp)
	if err != nil {
		if ctx.Err() == nil { // not for want of a caller
			c.broken = stamp
		}
		return nil, err
	}
	c.host, c.last = h, h.kind
	return h, nil
}

// enables reports whether commands.py turns a group on; one that cannot be
// loaded turns on nothing, and is not loaded again for that question until it
// has changed or somebody asks for its commands.
func (c *commandHost) enables(ctx context.Context, s *Server, group string) bool {
	stamp := s.stampOf()
	if stamp == "" || stamp == c.brokenStamp() {
		return false
	}
	h, err := c.get(ctx, s)
	return err == nil && h != nil && h.groups[group]
}

// freePort asks for a port that nobody uses.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a port: %w", err)
	}
	defer l.Close()
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("find a port: no TCP address")
	}
	return a.Port, nil
}

// boot starts the program and waits until it answers.
func (s *Server) boot(ctx context.Context, stamp string) (*host, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	list, err := commandserver.StandIn()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range list {
		files[f.Path] = string(f.Data)
	}
	packed, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	file := path.Join(user.Home, commandsFile)
	h := &host{token: rand.Text(), stamp: stamp, url: "http://127.0.0.1:" + strconv.Itoa(port)}
	h.child, err = s.spawn(program{
		argv: []string{"python3", "-c", bootScript, strconv.Itoa(port), file, string(packed)},
		dir:  path.Dir(file),
		env: map[string]string{
			"ABX_SERVER_PORT": strconv.Itoa(port), envToken: h.token, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
		},
	})
	if err != nil {
		return nil, err
	}
	h.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return h, s.await(ctx, h)
}

// await reads what the program says and waits until it serves. The readers end
// with it.
func (s *Server) await(ctx context.Context, h *host) error {
	kind := make(chan string, 1)
	words := s.listen(h.child)
	s.work.Go(func() {
		var first []byte
		told := false
		pour(h.child.Stdout(), func(p []byte) {
			if told {
				return
			}
			first = append(first, p...)
			if line, _, ok := bytes.Cut(first, []byte("\n")); ok {
				kind <- string(line)
				told = true
			}
		})
	})
	s.work.Go(func() {
		select {
		case <-h.child.Done():
		case <-s.life.Done():
			killTree(h.child)
		}
	})
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	poll := time.NewTicker(bootPoll)
	defer poll.Stop()
	for {
		select {
		case h.kind = <-kind:
		case <-h.child.Done():
			return loadProblem(h.child.Exit(), words.final())
		case <-ctx.Done():
			killTree(h.child)
			return &problem{http.StatusServiceUnavailable, "commands.py does not serve: " + words.last(), "TimeoutError"}
		case <-poll.C:
			if h.kind != "" && h.capable(ctx) {
				return nil
			}
		}
	}
}

// loadProblem words the end of a program that was to serve commands.py.
func loadProblem(e envd.Exit, last string) error {
	if e.Code == notFoundExit {
		return &problem{http.StatusServiceUnavailable, "python3 is not installed here, so commands.py cannot run", "RuntimeError"}
	}
	if last == "" {
		last = e.Status
	}
	return &problem{http.StatusInternalServerError, "commands.py cannot be loaded: " + last, "ImportError"}
}

// capable asks for the groups, which also shows that it serves.
func (h *host) capable(ctx context.Context) bool {
	status, data, err := h.call(ctx, http.MethodGet, "/capabilities", nil)
	if err != nil {
		return false
	}
	var body struct{ Groups map[string]bool }
	if status == http.StatusOK && json.Unmarshal(data, &body) == nil {
		h.groups = body.Groups
	}
	return true
}

// call makes one request.
func (h *host) call(ctx context.Context, method, at string, body io.Reader) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.url+at, body)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-Access-Token", h.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := h.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	return res.StatusCode, data, err
}

// listCommands is the list of commands.py, with a word about who serves it.
func (s *Server) listCommands(r *http.Request, _ struct{}) (any, error) {
	h, err := s.commands.get(r.Context(), s)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return map[string][]struct{}{"commands": {}}, nil
	}
	status, data, err := h.call(r.Context(), http.MethodGet, "/commands", nil)
	var out map[string]json.RawMessage
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal(data, &out)
	}
	if err != nil || out == nil {
		return nil, &problem{http.StatusBadGateway, "commands.py did not answer as it should", "RuntimeError"}
	}
	out["server"], err = json.Marshal(h.kind)
	return out, err
}

// callCommand passes one call of a named command on.
func (s *Server) callCommand(w http.ResponseWriter, r *http.Request) {
	h, err := s.commands.get(r.Context(), s)
	name := r.PathValue("name")
	switch {
	case err != nil:
		fail(w, err)
		return
	case h == nil:
		fail(w, &problem{http.StatusNotFound, fmt.Sprintf("command %q is unknown: there is no %s here", name, commandsFile), "KeyError"})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, bad("the request body is not valid: %s", err))
		return
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	status, data, err := h.call(r.Context(), http.MethodPost, "/commands/"+url.PathEscape(name), bytes.NewReader(body))
	if err != nil {
		fail(w, &problem{http.StatusBadGateway, "commands.py did not answer", "RuntimeError"})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(kindHeader, h.kind)
	w.WriteHeader(status)
	_, _ = w.Write(data) // a failed write means that the caller is gone
}

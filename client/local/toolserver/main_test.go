//go:build unix

package toolserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/local/envd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plainSpawner starts programs as ordinary processes.
type plainSpawner struct{ home string }

func (s plainSpawner) Lookup(string) (envd.User, error) {
	return envd.User{Name: "user", Home: s.home, Shell: "/bin/sh"}, nil
}
func (plainSpawner) Own(string, envd.User) error { return nil }

func (plainSpawner) Spawn(spec envd.Spec) (envd.Child, error) {
	argv := spec.Argv
	for _, kv := range spec.Env {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok && !strings.Contains(argv[0], "/") && !onPath(list, argv[0]) {
			argv = []string{"/bin/sh", "-c", `echo "$0: command not found" >&2; exit 127`, argv[0]}
		}
	}
	cmd := exec.Command("/usr/bin/env", append([]string{"--"}, argv...)...)
	cmd.Dir, cmd.Env = spec.Dir, spec.Env
	c := &plainChild{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var ends []*os.File
	if spec.TTY != nil {
		m, t, err := pty.Open()
		if err != nil {
			return nil, err
		}
		if err := pty.Setsize(m, &pty.Winsize{Cols: spec.TTY.Cols, Rows: spec.TTY.Rows}); err != nil {
			return nil, err
		}
		if err := syscall.SetNonblock(int(m.Fd()), true); err != nil {
			return nil, err
		}
		fd, err := syscall.Dup(int(m.Fd()))
		if err != nil {
			return nil, err
		}
		if err := syscall.SetNonblock(fd, true); err != nil {
			return nil, err
		}
		c.tty = os.NewFile(uintptr(fd), "tty")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = t, t, t
		cmd.SysProcAttr.Setctty = true
		ends = []*os.File{m, t}
	} else {
		var pipes [3][2]*os.File
		for i := range pipes {
			r, w, err := os.Pipe()
			if err != nil {
				return nil, err
			}
			pipes[i] = [2]*os.File{r, w}
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
		c.in, c.out, c.err = pipes[0][1], pipes[1][0], pipes[2][0]
		ends = []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]}
		if spec.NoStdin {
			_ = c.in.Close()
		}
	}
	err := cmd.Start()
	for _, f := range ends {
		_ = f.Close()
	}
	if err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait(); close(c.done) }()
	return c, nil
}

func onPath(list, name string) bool {
	for _, dir := range filepath.SplitList(list) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

type plainChild struct {
	cmd               *exec.Cmd
	in, out, err, tty *os.File
	done              chan struct{}
}

func (c *plainChild) PID() int              { return c.cmd.Process.Pid }
func (c *plainChild) Stdin() io.WriteCloser { return c.in }
func (c *plainChild) Stdout() io.ReadCloser { return c.out }
func (c *plainChild) Stderr() io.ReadCloser { return c.err }
func (c *plainChild) TTY() *os.File         { return c.tty }
func (c *plainChild) Done() <-chan struct{} { return c.done }

func (c *plainChild) Exit() envd.Exit {
	st := c.cmd.ProcessState
	return envd.Exit{Code: st.ExitCode(), Exited: st.Exited(), Status: st.String()}
}

func (c *plainChild) Signal(sig int) error {
	err := c.cmd.Process.Signal(syscall.Signal(sig))
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// rig is a server with the typed client, whose home is an ordinary folder.
type rig struct {
	*agentserver.Client
	t    *testing.T
	home string
	srv  *httptest.Server
	tool *Server
}

// searchPath finds programs where this machine has them, the system's own first:
// what a user has installed may be a wrapper.
func searchPath() string { return envd.DefaultPath + ":" + os.Getenv("PATH") }

// newRig serves with extra variables, written NAME=value.
func newRig(t *testing.T, env ...string) *rig {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"PATH": searchPath(), "LANG": "C.UTF-8"}
	header := http.Header{}
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		if vars[k] = v; k == envToken {
			header.Set("X-Access-Token", v)
		}
	}
	tool := New(Config{Spawner: plainSpawner{home}, Env: vars})
	srv := httptest.NewServer(tool)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		tool.Close()
		hc.CloseIdleConnections()
		srv.Close()
	})
	c := agentserver.New(agentserver.Config{
		HTTP: hc, Provider: "test",
		Resolve: func(context.Context, int) (client.Address, error) {
			return client.Address{URL: srv.URL, Header: header}, nil
		},
	})
	return &rig{c, t, home, srv, tool}
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	file := filepath.Join(r.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// raw makes a call that the typed client does not have.
func (r *rig) raw(status int, method, path, body string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.srv.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.srv.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		r.t.Errorf("%s %s: %d %s, %v; want %d", method, path, res.StatusCode, data, err, status)
	}
	return string(data)
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return c
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("no " + p + " on this machine")
		}
	}
}

//go:build unix

package interpreter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client/local/envd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plainSpawner starts kernels as ordinary processes.
type plainSpawner struct{ home string }

func (s plainSpawner) Lookup(string) (envd.User, error) {
	return envd.User{Name: "user", Home: s.home}, nil
}
func (plainSpawner) Own(string, envd.User) error { return nil }

func (plainSpawner) Spawn(spec envd.Spec) (envd.Child, error) {
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Dir = spec.Dir
	// The tests' machine may have its programs elsewhere.
	cmd.Env = append(spec.Env, "PATH="+os.Getenv("PATH"))
	c := &plainChild{cmd: cmd, done: make(chan struct{})}
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
	// The program found may be a wrapper that runs the real one as a child; a
	// group of their own lets a signal reach both.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		_ = f.Close()
	}
	go func() { _ = cmd.Wait(); close(c.done) }()
	return c, nil
}

type plainChild struct {
	cmd          *exec.Cmd
	in, out, err *os.File
	done         chan struct{}
}

func (c *plainChild) PID() int              { return c.cmd.Process.Pid }
func (c *plainChild) Stdin() io.WriteCloser { return c.in }
func (c *plainChild) Stdout() io.ReadCloser { return c.out }
func (c *plainChild) Stderr() io.ReadCloser { return c.err }
func (c *plainChild) TTY() *os.File         { return nil }
func (c *plainChild) Done() <-chan struct{} { return c.done }

func (c *plainChild) Exit() envd.Exit {
	st := c.cmd.ProcessState
	return envd.Exit{Code: st.ExitCode(), Exited: st.Exited(), Status: st.String()}
}

func (c *plainChild) Signal(sig int) error {
	err := syscall.Kill(-c.cmd.Process.Pid, syscall.Signal(sig))
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

type rig struct {
	t   *testing.T
	srv *httptest.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	in := New(Config{Spawner: plainSpawner{t.TempDir()}, Env: map[string]string{"GLOBAL": "g"}})
	srv := httptest.NewServer(in)
	t.Cleanup(func() {
		in.Close()
		srv.Close()
	})
	return &rig{t, srv}
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("no " + p)
		}
	}
}

func (r *rig) do(ctx context.Context, method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.srv.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.srv.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func (r *rig) call(status int, method, path, body string) string {
	r.t.Helper()
	res := r.do(r.t.Context(), method, path, body)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		r.t.Fatalf("%s %s: %d %s, %v; want %d", method, path, res.StatusCode, data, err, status)
	}
	return string(data)
}

// run executes code and returns its events in short: "kind text". What the two
// streams carry between two other events comes as one text each, stdout first:
// each stream keeps its order, but nothing is promised about the order between
// them.
func (r *rig) run(lang, code string) []string {
	r.t.Helper()
	body, _ := json.Marshal(map[string]string{"language": lang, "code": code})
	text := r.call(200, "POST", "/execute", string(body))
	var out []string
	streams := map[string]string{}
	flush := func() {
		for _, kind := range []string{"stdout", "stderr"} {
			if text := streams[kind]; text != "" {
				out = append(out, kind+" "+text)
			}
		}
		clear(streams)
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var e struct {
			Type, Text, Name, Value, HTML string
			Main                          bool `json:"is_main_result"`
			Timestamp                     string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			r.t.Fatalf("%v in %q", err, line)
		}
		switch e.Type {
		case "keepalive", "number_of_executions":
			continue
		case "stdout", "stderr":
			if _, err := time.Parse(time.RFC3339Nano, e.Timestamp); err != nil {
				r.t.Errorf("time %q", e.Timestamp)
			}
			streams[e.Type] += e.Text
			continue
		}
		flush()
		switch e.Type {
		case "error":
			out = append(out, "error "+e.Name+" "+e.Value)
		default:
			out = append(out, strings.TrimSpace(e.Type+" "+e.Text+e.HTML))
		}
	}
	flush()
	return out
}

func TestPython(t *testing.T) {
	needs(t, "python3")
	r := newRig(t)
	for _, c := range []struct {
		code string
		want []string
	}{
		{`x = 1`, nil},
		{`print("a"); x + 1`, []string{"stdout a\n", "result 2"}},
		{`"text"`, []string{"result text"}},
		{`x + 1;`, nil},
		{"import os, sys\nos.system('echo child; echo bad >&2')\nprint('after', file=sys.stderr)", []string{"stdout child\n", "stderr bad\nafter\n"}},
		{`1/0`, []string{"error ZeroDivisionError division by zero"}},
		{`def`, []string{"error SyntaxError invalid syntax (<cell 7>, line 1)"}},
		{"class H:\n  def __repr__(s): return 'h'\n  def _repr_html_(s): return '<i>'\nH()", []string{"result h<i>"}},
		{`display(1, 2)`, []string{"result 1", "result 2"}},
		{"import asyncio\nawait asyncio.sleep(0)\n'awaited'", []string{"result awaited"}},
		{"!echo from a shell", []string{"stdout from a shell\n"}},
		{`os.environ["GLOBAL"]`, []string{"result g"}},
		{`raise SystemExit(3)`, []string{"error SystemExit 3"}},
		{`print("é" * 3, end="")`, []string{"stdout ééé"}},
		{`input()`, []string{"error EOFError EOF when reading a line"}},
		{`os._exit(4)`, []string{"error UnexpectedEndOfExecution the kernel ended: exit status 4"}},
		{`x`, []string{"error NameError name 'x' is not defined"}},
	} {
		if d := cmp.Diff(append(c.want, "end_of_execution"), r.run("", c.code)); d != "" {
			t.Errorf("%s: %s", c.code, d)
		}
	}
}

func TestPythonLargeOutputKeepsOrder(t *testing.T) {
	needs(t, "python3")
	r := newRig(t)
	got := r.run("python", "for i in range(20000): print(i, '-' * 40)\n'end'")
	if len(got) != 3 || got[1] != "result end" || strings.Count(got[0], "\n") != 20000 || !strings.HasSuffix(got[0], "19999 "+strings.Repeat("-", 40)+"\n") {
		t.Errorf("%d events, the first with %d bytes", len(got), len(got[0]))
	}
}

func TestBash(t *testing.T) {
	needs(t, "bash")
	r := newRig(t)
	for _, c := range []struct {
		code string
		want []string
	}{
		{"v='a b'; cd /; f() { echo in f; }", nil},
		{"echo \"$v\"; pwd; f", []string{"stdout a b\n/\nin f\n"}},
		{"printf 'no newline'", []string{"stdout no newline"}},
		{"echo err >&2; exit_code() { return 3; }; exit_code", []string{"stderr err\n", "error ExitCode 3"}},
		{"cat", nil},
		{"if", []string{"stderr ", "error ExitCode 2"}},
		{"exit 5", []string{"error ExitCode 5"}},
		{"echo \"[$v]\"", []string{"stdout []\n"}},
	} {
		got := r.run("bash", c.code)
		for i, g := range got { // the shell's own words differ
			if strings.HasPrefix(g, "stderr bash:") || strings.HasPrefix(g, "stderr /") {
				got[i] = "stderr "
			}
		}
		if d := cmp.Diff(append(c.want, "end_of_execution"), got); d != "" {
			t.Errorf("%s: %s", c.code, d)
		}
	}
}

func TestJavaScript(t *testing.T) {
	needs(t, "node")
	r := newRig(t)
	for _, c := range []struct {
		code string
		want []string
	}{
		{"const a = await Promise.resolve(6)", nil},
		{"console.log('out'); console.error('err'); a * 7", []string{"stdout out\n", "stderr err\n", "result 42"}},
		{"process.stdout.write('raw')", []string{"stdout raw", "result true"}},
		{"throw new TypeError('no')", []string{"error TypeError no"}},
		{"let let", []string{"error SyntaxError let is disallowed as a lexically bound name"}},
		{"({ b: 1 })", []string{"result { b: 1 }"}},
		{"process.exit(3)", []string{"error UnexpectedEndOfExecution the kernel ended: exit status 3"}},
		{"typeof a", []string{"result undefined"}},
	} {
		if d := cmp.Diff(append(c.want, "end_of_execution"), r.run("js", c.code)); d != "" {
			t.Errorf("%s: %s", c.code, d)
		}
	}
}

func TestContexts(t *testing.T) {
	needs(t, "python3")
	r := newRig(t)
	if got := r.call(200, "GET", "/health", ""); got != `"OK"` {
		t.Errorf("health: %s", got)
	}
	if got := r.call(200, "GET", "/contexts", ""); got != "[]" {
		t.Errorf("contexts: %s", got)
	}
	var s session
	if err := json.Unmarshal([]byte(r.call(200, "POST", "/contexts", `{"cwd":"/"}`)), &s); err != nil || s.Language != "python" || s.CWD != "/" {
		t.Fatalf("%+v, %v", &s, err)
	}
	in := `{"context_id":"` + s.ID + `","code":"import os; y = 1; os.getcwd()"}`
	if got := r.call(200, "POST", "/execute", in); !strings.Contains(got, `"text": "/"`) {
		t.Errorf("cwd: %s", got)
	}
	r.call(200, "POST", "/contexts/"+s.ID+"/restart", "")
	if got := r.call(200, "POST", "/execute", `{"context_id":"`+s.ID+`","code":"y"}`); !strings.Contains(got, "NameError") {
		t.Errorf("after a restart: %s", got)
	}
	r.call(200, "DELETE", "/contexts/"+s.ID, "")
	r.call(404, "DELETE", "/contexts/"+s.ID, "")
	r.call(404, "POST", "/execute", in)
	r.call(400, "POST", "/execute", `{"context_id":"x","language":"python","code":"1"}`)
	r.call(400, "POST", "/execute", `{}`)
	r.call(400, "POST", "/execute", `{"code":"1","env_vars":{"A B":"x"}}`)
	r.call(422, "POST", "/execute", `[`)
	r.call(500, "POST", "/contexts", `{"language":"cobol"}`)
}

// TestCallerThatLeavesInterrupts: the next run need not wait for the first.
func TestCallerThatLeavesInterrupts(t *testing.T) {
	for lang, code := range map[string]string{
		"python": "print('begun', flush=True)\nwhile True: pass",
		"bash":   "echo begun; while :; do :; done",
	} {
		t.Run(lang, func(t *testing.T) {
			needs(t, strings.Replace(lang, "python", "python3", 1))
			r := newRig(t)
			ctx, cancel := context.WithCancel(t.Context())
			body, _ := json.Marshal(map[string]string{"language": lang, "code": code})
			res := r.do(ctx, "POST", "/execute", string(body))
			lines := bufio.NewScanner(res.Body)
			for lines.Scan() && !strings.Contains(lines.Text(), "begun") {
			}
			cancel()
			_ = res.Body.Close()
			if got := r.run(lang, "echo = 1\n"); len(got) == 0 || got[len(got)-1] != "end_of_execution" {
				t.Errorf("the next run: %v", got)
			}
		})
	}
}

//go:build linux

package isolate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/local/envd"
)

// actEnv names the part that a re-executed test binary plays instead of testing.
const actEnv = "ISOLATE_TEST_ACT"

// spareEnv makes every launcher of the tests keep a spare.
const spareEnv = "ISOLATE_TEST_SPARE"

func TestMain(m *testing.M) {
	if IsInit() {
		os.Exit(initMain(newTestAgent))
	}
	if act := os.Getenv(actEnv); act != "" {
		os.Exit(runAct(act))
	}
	goleak.VerifyTestMain(m)
}

// realAgent is the ID of sandboxes that have the real agent.
const realAgent = "ireal0123456789abcdef"

// newTestAgent runs commands for the tests: one JSON document in, one out.
func newTestAgent(cfg initConfig, sp envd.Spawner) http.Handler {
	if cfg.ID == realAgent {
		return newAgent(cfg, sp)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in runRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(runForTest(sp, in))
	})
}

type runRequest struct {
	User  string
	Argv  []string
	Env   []string
	Dir   string
	Stdin string
	TTY   bool
	// Leave answers at once, with the pid only.
	Leave bool
}

type runReply struct {
	PID    int
	Stdout []byte
	Stderr []byte
	Exit   envd.Exit
	Err    string
}

func runForTest(sp envd.Spawner, in runRequest) runReply {
	u, err := sp.Lookup(in.User)
	if err != nil {
		return runReply{Err: err.Error()}
	}
	env := append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name,
	}, in.Env...)
	spec := envd.Spec{Argv: in.Argv, Env: env, Dir: in.Dir, User: u}
	if spec.Dir == "" {
		spec.Dir = u.Home
	}
	if in.TTY {
		spec.TTY = &envd.Winsize{Cols: 80, Rows: 24}
	}
	c, err := sp.Spawn(spec)
	if err != nil {
		return runReply{Err: err.Error()}
	}
	var out runReply
	out.PID = c.PID()
	if in.Leave {
		return out
	}
	collected := make(chan struct{}, 2)
	collect := func(r io.ReadCloser, into *[]byte) {
		*into, _ = io.ReadAll(r)
		collected <- struct{}{}
	}
	var in2 io.WriteCloser
	var readers []io.Closer
	if in.TTY {
		in2 = c.TTY()
		readers = append(readers, c.TTY())
		go collect(c.TTY(), &out.Stdout)
	} else {
		in2 = c.Stdin()
		readers = append(readers, c.Stdout(), c.Stderr())
		go collect(c.Stdout(), &out.Stdout)
		go collect(c.Stderr(), &out.Stderr)
	}
	_, _ = io.WriteString(in2, in.Stdin)
	if !in.TTY {
		_ = in2.Close()
	}
	<-c.Done()
	// Whoever holds the pipes now is a descendant; its output does not count.
	time.AfterFunc(250*time.Millisecond, func() {
		for _, r := range readers {
			_ = r.Close()
		}
	})
	for range readers {
		<-collected
	}
	out.Exit = c.Exit()
	return out
}

// box is a running sandbox under test.
type box struct {
	*Sandbox
	home string
	sock string
	http *http.Client
}

func newLauncher(t testing.TB) *Launcher {
	t.Helper()
	l, err := NewLauncher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if os.Getenv(spareEnv) != "" {
		l.KeepSpare()
	}
	return l
}

// level is the strongest one here; tests of `namespace` are skipped without it.
func wantNamespace(t testing.TB, l *Launcher) {
	t.Helper()
	if _, err := l.Probe(context.Background(), client.IsolationNamespace); err != nil {
		t.Skip("no namespaces here: ", err)
	}
}

// tempDir is a short path that the caller alone can enter, gone after the test.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "iso")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func startBox(t testing.TB, l *Launcher, cfg Config) *box {
	t.Helper()
	dir := tempDir(t)
	b := &box{home: filepath.Join(dir, "home"), sock: filepath.Join(dir, "agent.sock")}
	if err := os.Mkdir(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.sock, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ln.SetUnlinkOnClose(false)
	lf, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	defer lf.Close()
	log, err := os.Create(filepath.Join(dir, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cfg.Home, cfg.Listener, cfg.LogFile = b.home, lf, log
	if cfg.ID == "" {
		cfg.ID = "i0123456789abcdefghij"
	}
	b.Sandbox, err = l.Start(context.Background(), cfg)
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("start: %v\n%s", err, text)
	}
	b.http = boxClient(t, b)
	t.Cleanup(func() {
		if err := b.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, `"level":"DEBUG"`) { // starts and ends of processes
				t.Errorf("the agent's log: %s", line)
			}
		}
	})
	return b
}

// boxClient talks to the agent; its connections are closed after the test.
func boxClient(t testing.TB, b *box) *http.Client {
	tr := &http.Transport{DialContext: b.dial}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func (b *box) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", b.sock)
}

// do runs one command.
func (b *box) do(t testing.TB, in runRequest) runReply {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.http.Post("http://agent/run", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out runReply
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sh runs a script and returns what it printed; it must succeed.
func (b *box) sh(t testing.TB, script string) string {
	t.Helper()
	out := b.do(t, runRequest{Argv: []string{"sh", "-c", script}})
	if out.Err != "" || out.Exit.Code != 0 {
		t.Fatalf("%s: %s %+v\n%s%s", script, out.Err, out.Exit, out.Stdout, out.Stderr)
	}
	return string(out.Stdout)
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatal("never: ", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// processesWith lists the host's processes that have the text in their
// arguments. It sees those in other pid namespaces too.
func processesWith(t testing.TB, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), text) {
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(f)), b))
		}
	}
	return found
}

// reexec prepares this test binary to run again, through a descriptor because
// its path may be closed to the user it runs as.
func reexec(t testing.TB, args []string, env []string) *exec.Cmd {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = self.Close() })
	cmd := exec.Command("/proc/self/fd/3", args...)
	cmd.Args[0] = "isolate.test"
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}

const nobody = 65534

// TestAsOrdinaryUser runs the other tests again without root's rights, in a
// home that nobody else may enter.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is one")
	}
	runAsNobody(t, ".", nil)
}

// TestAsDelegatedUser runs those that have to do with cgroups as an ordinary user
// who was given one, as a session manager does.
func TestAsDelegatedUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	p := findParents()
	if p.v2 == "" {
		t.Skip("no cgroup v2 here: ", p.missing)
	}
	dir := filepath.Join(p.v2, fmt.Sprintf("delegated-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeGroup(dir); err != nil {
			t.Error(err)
		}
	})
	for _, f := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(dir, f), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	into, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	out := runAsNobody(t, "Pause|Kill|Usage|Group|Rounds|Bomb|Exits", into)
	if !strings.Contains(out, "TestPause/namespace/cgroups=true (") || strings.Contains(out, "SKIP: TestPause/namespace/cgroups=true") {
		t.Errorf("no cgroup was used\n%s", out)
	}
}

// runAsNobody runs this test binary again as another user, in a cgroup if one is given.
func runAsNobody(t *testing.T, run string, into *os.File) string {
	t.Helper()
	home := tempDir(t)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v", "-test.run=" + run, "-test.short=" + fmt.Sprint(testing.Short()), "-test.timeout=5m"}
	cmd := reexec(t, args, []string{"HOME=" + home, "TMPDIR=" + home, roundsEnv + "=" + os.Getenv(roundsEnv), spareEnv + "=" + os.Getenv(spareEnv)})
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	intoGroup(cmd.SysProcAttr, into)
	cmd.Dir = home
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	} else if testing.Verbose() {
		t.Logf("as uid %d:\n%s", nobody, out)
	}
	return string(out)
}

// runAct plays another part.
func runAct(act string) int {
	var err error
	switch act {
	case "server":
		err = actServer()
	case "probe":
		err = actProbe()
	case "calls":
		err = actCalls()
	default:
		err = errors.New("unknown act " + act)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

//go:build linux

package local

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/local/server"
)

// wantServerError expects an E9010 whose text has all of the words.
func wantServerError(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if client.CodeOf(err) != client.CodeLocalServer {
		t.Errorf("%s: %v (%s), want E9010", what, err, client.CodeOf(err))
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r") || client.HintOf(err) == "" {
		t.Errorf("%s: %q with hint %q", what, err, client.HintOf(err))
	}
}

func TestUnusableFolders(t *testing.T) {
	root := tempRoot(t)
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{"below a file": file, "in a pseudo file system": "/proc/none"}
	if os.Geteuid() != 0 {
		closed := filepath.Join(root, "closed")
		if err := os.Mkdir(closed, 0o500); err != nil {
			t.Fatal(err)
		}
		bad["not writable"] = closed
	}
	for what, dir := range bad {
		p, err := New(Config{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Sandboxes().Create(t.Context(), client.CreateSpec{})
		wantServerError(t, what, err, "folder", dir)
		p.Close()
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 2 {
		t.Errorf("made %v, %v", left, err)
	}
}

func TestThingsOfOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	p := newProvider(t, Config{})
	run := p.paths.run
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(run, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	_, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	wantServerError(t, "folder", err, run, "65534")
	if left, err := os.ReadDir(run); err != nil || len(left) != 0 {
		t.Errorf("made %v, %v", left, err)
	}
	if f := p.Doctor(t.Context()); len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "65534") {
		t.Errorf("doctor: %v", f.Problems)
	}
	if err := os.Chown(run, 0, 0); err != nil {
		t.Fatal(err)
	}

	ln, err := server.ListenUnix(p.paths.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := os.Chown(p.paths.socket, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	_, createErr := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	_, listErr := p.Sandboxes().List(t.Context(), client.Query{})
	_, statusErr := p.Status(t.Context())
	for what, err := range map[string]error{
		"create": createErr, "list": listErr, "status": statusErr, "stop": p.Stop(t.Context(), true),
	} {
		wantServerError(t, what, err, p.paths.socket, "65534")
	}
	if err := os.Remove(p.paths.socket); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(run); err != nil || len(left) != 0 {
		t.Errorf("made %v, %v", left, err)
	}
}

func TestServerOfAnotherUserBehindOurSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user, too")
	}
	p := newProvider(t, Config{})
	if err := os.MkdirAll(p.paths.run, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := server.ListenUnix(p.paths.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := server.DialUnix(t.Context(), p.paths.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := checkPeer(c); err != nil {
		t.Errorf("our own: %v", err)
	}
	// The peer of a socket is who called listen; the test cannot change that
	// one, but it can change who asks.
	if err := syscall.Seteuid(nobody); err != nil {
		t.Fatal(err)
	}
	err = checkPeer(c)
	if e := syscall.Seteuid(0); e != nil {
		t.Fatal(e)
	}
	wantServerError(t, "peer", err, "user id 0")
}

func TestSomethingElseInTheSocketsPlace(t *testing.T) {
	p := newProvider(t, Config{})
	if err := os.MkdirAll(p.paths.run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.paths.socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	wantServerError(t, "create", err, "in the way")
	wantServerError(t, "run", p.Run(t.Context(), nil), "in the way")
	if err := os.Remove(p.paths.socket); err != nil {
		t.Fatal(err)
	}
}

func TestServerOfAnotherProtocol(t *testing.T) {
	p := newProvider(t, Config{})
	if err := os.MkdirAll(p.paths.run, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := server.ListenUnix(p.paths.socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(server.HeaderProtocol, "99")
		w.Header().Set(server.HeaderVersion, "7.7.7")
		if r.URL.Path == server.PathStatus {
			_, _ = io.WriteString(w, `{"pid":123456,"version":"7.7.7","protocol":99,"isolation":"namespace","sandboxes":2}`)
			return
		}
		_, _ = io.WriteString(w, "[]")
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	defer func() { srv.Close(); <-done; _ = os.Remove(p.paths.socket) }()

	_, createErr := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	_, listErr := p.Sandboxes().List(t.Context(), client.Query{})
	for what, err := range map[string]error{"create": createErr, "list": listErr} {
		wantServerError(t, what, err, "7.7.7", "sandboxes go on")
		if !strings.Contains(client.HintOf(err), "local stop") {
			t.Errorf("%s: hint %q", what, client.HintOf(err))
		}
	}
	st, err := p.Status(t.Context())
	if err != nil || !st.Running || st.Sandboxes != 2 || !strings.Contains(st.Note, "7.7.7") {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestStartThatFailsSaysWhy(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(tempRoot(t), "none"))
	p := newProvider(t, Config{MinIsolation: client.IsolationContainer})
	_, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	if client.CodeOf(err) != client.CodeIsolation || strings.Contains(err.Error(), "\n") {
		t.Errorf("create: %v (%s)", err, client.CodeOf(err))
	}
	if st, err := p.Status(t.Context()); err != nil || st.Running {
		t.Errorf("status %+v, %v", st, err)
	}
	nothingLeft(t, p)
}

func TestMinimumIsCheckedAgainstARunningServer(t *testing.T) {
	for _, c := range []struct {
		have, want client.Isolation
		ok         bool
	}{
		{client.IsolationProcess, "", true},
		{client.IsolationProcess, client.IsolationProcess, true},
		{client.IsolationNamespace, client.IsolationProcess, true},
		{client.IsolationProcess, client.IsolationNamespace, false},
		{client.IsolationNamespace, client.IsolationContainer, false},
		{"unheard of", client.IsolationNamespace, false},
	} {
		err := checkLevel(c.have, c.want)
		if (err == nil) != c.ok || err != nil && client.CodeOf(err) != client.CodeIsolation {
			t.Errorf("%s for %s: %v", c.have, c.want, err)
		}
	}
}

func TestReports(t *testing.T) {
	p := pathsIn(tempRoot(t), "")
	if err := p.readReport(strings.NewReader("{}")); err != nil {
		t.Errorf("success reads as %v", err)
	}
	err := p.readReport(strings.NewReader(`{"code":"E9011","message":"start the local server: no level","hint":"h"}`))
	if client.CodeOf(err) != "E9011" || err.Error() != "start the local server: no level" || client.HintOf(err) != "h" {
		t.Errorf("%v (%s), hint %q", err, client.CodeOf(err), client.HintOf(err))
	}
	wantServerError(t, "silence", p.readReport(strings.NewReader("")), "ended at once")
	if err := os.WriteFile(p.log, []byte("one\npanic: \x1b[31mboom\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = p.readReport(strings.NewReader("{"))
	wantServerError(t, "crash", err, "boom")
	if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("raw: %q", err)
	}
	if rep := reportOf(errors.New("a\nb")); rep.Code != client.CodeLocalServer || rep.Message != `a\nb` {
		t.Errorf("%+v", rep)
	}
}

func TestScrub(t *testing.T) {
	got := scrub([]string{
		"PATH=/bin", "HOME=/h", "ABX_SANDBOX_API_KEY=secret", "E2B_API_KEY=secret", "XDG_STATE_HOME=/x", "TERM=xterm",
		"ABXDASH_HOME=/a", "AWS_SECRET_ACCESS_KEY=secret", "LD_PRELOAD=/evil.so", "odd", "PATHX=1",
	})
	if d := cmp.Diff([]string{"PATH=/bin", "HOME=/h", "XDG_STATE_HOME=/x", "ABXDASH_HOME=/a"}, got); d != "" {
		t.Error(d)
	}
}

func TestFolders(t *testing.T) {
	for _, c := range []struct {
		home, xdg, abx, root string
		run, state           string
	}{
		{home: "/h", run: "/h/.local/state/abxdash/local", state: "/h/.local/state/abxdash/local"},
		// What finds the server follows from the home alone.
		{home: "/h", xdg: "/x", run: "/h/.local/state/abxdash/local", state: "/x/abxdash/local"},
		{home: "/h", xdg: "relative", run: "/h/.local/state/abxdash/local", state: "/h/.local/state/abxdash/local"},
		{home: "/h", xdg: "/x", abx: "/a", run: "/a/state/local", state: "/a/state/local"},
		{home: "/h", abx: "/a", root: "/r", run: "/r/state/local", state: "/r/state/local"},
	} {
		t.Setenv("HOME", c.home)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("ABXDASH_HOME", c.abx)
		got, err := Config{Root: c.root}.resolve()
		if err != nil || got.run != c.run || got.state != c.state || got.socket != c.run+"/server.sock" {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	t.Setenv("ABXDASH_HOME", "relative")
	if _, err := New(Config{}); client.CodeOf(err) != client.CodeConfig {
		t.Errorf("relative ABXDASH_HOME: %v", err)
	}
	t.Setenv("ABXDASH_HOME", "")
	t.Setenv("HOME", "")
	if os.Geteuid() == 0 {
		// The account's own folder stands in.
		if got, err := (Config{}).resolve(); err != nil || !strings.HasSuffix(got.run, "/.local/state/abxdash/local") || !filepath.IsAbs(got.run) {
			t.Errorf("no HOME: %+v, %v", got, err)
		}
	}
}

func TestFoldersAreClosed(t *testing.T) {
	dir := filepath.Join(tempRoot(t), "open")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := privateDir(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestLogIsBounded(t *testing.T) {
	dir := tempRoot(t)
	path, old := filepath.Join(dir, "log"), filepath.Join(dir, "log.old")
	f, err := openLog(path, old)
	if err != nil {
		t.Fatal(err)
	}
	w := &boundedLog{f: f}
	line := []byte(strings.Repeat("x", 1<<10))
	for range 3 << 10 {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	info, err := os.Stat(path)
	if err != nil || info.Size() > logLimit+2<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path, make([]byte, logLimit+1), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err = openLog(path, old)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for p, want := range map[string]int64{path: 0, old: logLimit + 1} {
		if info, err := os.Stat(p); err != nil || info.Size() != want {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
}

func TestUnsupportedOptionsOfCreate(t *testing.T) {
	p := newProvider(t, Config{})
	for what, spec := range map[string]client.CreateSpec{
		"template": {Template: "nope", Lifetime: time.Minute},
		"network":  {Network: &client.Network{AllowOut: []string{"example.com"}}, Lifetime: time.Minute},
	} {
		_, err := p.Sandboxes().Create(t.Context(), spec)
		var ce *client.Error
		if !errors.As(err, &ce) || ce.Status != 404 && ce.Status != 400 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c := p.Capabilities(); c.Has(client.CapTransfer) || c.Missing(Name, client.CapTransfer) == nil || !c.Has(client.CapPTY) {
		t.Errorf("capabilities %+v", c)
	}
}

// TestAtLevelProcess runs some tests where no user namespace can be made.
func TestAtLevelProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can set this up")
	}
	t.Parallel()
	home := tempRoot(t)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	tests := "TestFallsBackToProcess|TestKillLeaves|TestKillOfTheServerLeaves"
	if !raceBuild {
		tests += "|TestStopAsksFirst|TestCreateInOne"
	}
	cmd := exec.Command("/proc/self/exe", home, tests, fmt.Sprint(testing.Verbose()))
	cmd.Args[0] = "local.test"
	cmd.Env = []string{"PATH=/usr/bin:/bin", actEnv + "=limited"}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: nobody, HostID: nobody, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no user namespaces here: ", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
}

// actLimited forbids user namespaces in the one it is in, and runs tests there.
func actLimited(home, tests, verbose string) error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return err
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run="+tests, "-test.v="+verbose)
	cmd.Args[0] = "local.test"
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, limitedEnv + "=1"}
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd.Run()
}

const limitedEnv = "LOCAL_TEST_LIMITED"

// weak reports a level that needs no user namespace.
func weak(l client.Isolation) bool {
	return l == client.IsolationProcess || l == client.IsolationLandlock
}

func TestFallsBackToProcess(t *testing.T) {
	if os.Getenv(limitedEnv) == "" {
		t.Skip("user namespaces work here; TestAtLevelProcess runs this where they do not")
	}
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	st, err := p.Status(t.Context())
	if err != nil || !weak(sb.Isolation) || st.Isolation != sb.Isolation || !strings.HasPrefix(st.IsolationReason, "namespace: ") {
		t.Errorf("sandbox %s, status %+v, %v", sb.Isolation, st, err)
	}
	strict, err := New(Config{Root: p.cfg.Root, Version: testVersion, MinIsolation: client.IsolationNamespace})
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	if _, err := strict.Sandboxes().Create(t.Context(), client.CreateSpec{}); client.CodeOf(err) != client.CodeIsolation {
		t.Errorf("with a minimum: %v", err)
	}
	if f := strict.Doctor(t.Context()); f.ProbeErr == nil || len(f.Tried) == 0 || f.Tried[0].Level != client.IsolationNamespace {
		t.Errorf("doctor: %+v", f)
	}
}

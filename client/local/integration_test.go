//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"abxdash/client"
)

func TestLookingStartsNothing(t *testing.T) {
	t.Parallel()
	root := tempRoot(t)
	p := newProvider(t, Config{Root: root})
	ctx := t.Context()
	page, err := p.Sandboxes().List(ctx, client.Query{})
	if err != nil || len(page.Sandboxes) != 0 || page.MayBeIncomplete {
		t.Errorf("list: %+v, %v", page, err)
	}
	_, getErr := p.Sandboxes().Get(ctx, "inone")
	_, startErr := p.Commands().Start(ctx, "inone", client.Command{Argv: []string{"true"}})
	_, openErr := p.Files().Open(ctx, "inone", "/x")
	_, dialErr := p.DialPort(ctx, "inone", 9000)
	for what, err := range map[string]error{
		"get": getErr, "start": startErr, "open": openErr,
		"dial": dialErr, "kill": p.Sandboxes().Kill(ctx, "inone"),
		"lifetime": p.Sandboxes().SetLifetime(ctx, "inone", time.Minute),
	} {
		if !errors.Is(err, client.ErrNotFound) || client.CodeOf(err) != client.CodeNotFound {
			t.Errorf("%s: %v (%s)", what, err, client.CodeOf(err))
		}
	}
	st, err := p.Status(ctx)
	if err != nil || st.Running || st.PID != 0 || st.Sandboxes != 0 || st.Socket == "" {
		t.Errorf("status: %+v, %v", st, err)
	}
	if err := p.Stop(ctx, false); err != nil {
		t.Errorf("stop: %v", err)
	}
	if f := p.Doctor(ctx); f.StatusErr != nil || len(f.Problems) != 0 {
		t.Errorf("doctor: %+v", f)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("looking made %v, %v", left, err)
	}
}

func TestCreateInOneProcessExecInAnother(t *testing.T) {
	home := tempRoot(t)
	root := filepath.Join(home, ".local", "state", "abxdash", "local")
	out, err := other(t, "create", home).CombinedOutput()
	if err != nil {
		t.Fatalf("create: %v\n%s", err, out)
	}
	id := string(out)
	t.Setenv("HOME", home)
	t.Setenv("ABXDASH_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	p, err := New(Config{Version: testVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	defer nothingLeft(t, p)
	defer func() {
		if err := p.Stop(context.Background(), true); err != nil {
			t.Error(err)
		}
	}()
	if p.paths.run != root {
		t.Errorf("runs in %s, want %s", p.paths.run, root)
	}
	out, err = other(t, "exec", home, id, "sh", "-c", "echo hi; echo err >&2; exit 3").CombinedOutput()
	if err != nil || string(out) != "hi\nerr\nexit 3" {
		t.Errorf("exec: %v %q", err, out)
	}
	out, err = other(t, "exec", home, "inone", "true").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "E9001") {
		t.Errorf("exec in a sandbox that is not there: %v %q", err, out)
	}
	st, err := p.Status(t.Context())
	if err != nil || !st.Running || st.Sandboxes != 1 || st.Version != testVersion || st.Note != "" || st.Isolation == "" {
		t.Fatalf("status: %+v, %v", st, err)
	}
	checkDetached(t, st.PID, home)
}

// checkDetached looks at the server's process as the kernel shows it.
func checkDetached(t *testing.T, pid int, home string) {
	t.Helper()
	proc := "/proc/" + strconv.Itoa(pid)
	if cwd, err := os.Readlink(proc + "/cwd"); err != nil || cwd != "/" {
		t.Errorf("working directory %q, %v", cwd, err)
	}
	env, err := os.ReadFile(proc + "/environ")
	if err != nil || strings.Contains(string(env), "hunter2") || !strings.Contains(string(env), "HOME="+home) {
		t.Errorf("environment %q, %v", env, err)
	}
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
	if f[3] != strconv.Itoa(pid) || f[4] != "0" {
		t.Errorf("session %s and terminal %s, want its own and none", f[3], f[4])
	}
	log := filepath.Join(home, ".local", "state", "abxdash", "local", "server.log")
	for fd, want := range map[string]string{"0": "/dev/null", "1": log, "2": log} {
		if got, err := os.Readlink(proc + "/fd/" + fd); err != nil || got != want {
			t.Errorf("descriptor %s is %q, %v", fd, got, err)
		}
	}
	_ = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		info, ierr := d.Info()
		if err != nil || ierr != nil || strings.HasSuffix(path, "/home") || path == home {
			return fs.SkipDir
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return nil
	})
}

// daemons starts five kinds of background processes, each sleeping for a
// number of seconds that is found in no other process.
func daemons(t *testing.T, p *Provider, id client.ID) (marker string) {
	t.Helper()
	marker = fmt.Sprintf("%d.%09d", 3000+rand.IntN(1000), rand.IntN(1e9))
	run(t, p, id, strings.ReplaceAll(`
		( ( sleep M & ) & )
		setsid sleep M >/dev/null 2>&1 </dev/null &
		env -i /bin/sleep M >/dev/null 2>&1 </dev/null &
		nohup sleep M >/dev/null 2>&1 </dev/null &
		exit 0`, "M", marker))
	proc, err := p.Commands().Start(t.Context(), id, client.Command{Argv: []string{"sleep", marker}})
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "five daemons run", func() bool { return len(processesWith(marker)) == 5 })
	return marker
}

func TestKillLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{Metadata: map[string]string{"name": "n1"}})
	got, err := p.Sandboxes().Get(t.Context(), sb.ID)
	if d := cmp.Diff(got, sb, cmpopts.IgnoreFields(client.Sandbox{}, "Raw")); d != "" || err != nil {
		t.Errorf("create and get differ: %v\n%s", err, d)
	}
	if sb.CPU == 0 || sb.MemoryMB == 0 || sb.Name != "n1" || sb.Isolation == "" || sb.Template != "base" || sb.Provider != Name {
		t.Errorf("created %+v", sb)
	}
	run(t, p, sb.ID, "mkdir -p a/b && touch a/b/c && chmod 0 a/b && chmod 0 a && mkdir closed && chmod 0 closed")
	marker := daemons(t, p, sb.ID)
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(marker); len(left) != 0 {
		t.Errorf("left after kill: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(p.paths.state, "instances", "*", "sandboxes", "*")); len(left) != 0 {
		t.Errorf("left after kill: %v", left)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("second kill: %v", err)
	}
	page, err := p.Sandboxes().List(t.Context(), client.Query{})
	if err != nil || len(page.Sandboxes) != 0 {
		t.Errorf("list after kill: %+v, %v", page, err)
	}
}

func TestKillOfTheServerLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	create(t, p, client.CreateSpec{})
	run(t, p, sb.ID, "mkdir -p a/b && chmod 0 a")
	marker := daemons(t, p, sb.ID)
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its sandboxes' processes go", func() bool { return len(processesWith(marker)) == 0 })
	nothingLeft(t, p)
	page, err := p.Sandboxes().List(t.Context(), client.Query{})
	if err != nil || len(page.Sandboxes) != 0 {
		t.Errorf("list: %+v, %v", page, err)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("kill: %v", err)
	}
	if st, err := p.Status(t.Context()); err != nil || st.Running {
		t.Errorf("status: %+v, %v", st, err)
	}
	// The next create starts another server in the same place.
	again := create(t, p, client.CreateSpec{})
	if out := run(t, p, again.ID, "echo hi"); out != "hi\n" {
		t.Errorf("%q", out)
	}
}

func TestKillOfServerAndJanitorIsSweptAtTheNextStart(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	create(t, p, client.CreateSpec{})
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jan := processesWith(p.lockHolder().Instance)
	if len(jan) != 1 {
		t.Fatalf("janitors: %v", jan)
	}
	pid, err := strconv.Atoi(strings.Fields(jan[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	// It does not go on an orderly signal, only on the hard one.
	for _, k := range []struct {
		pid int
		sig syscall.Signal
	}{{pid, syscall.SIGTERM}, {pid, syscall.SIGINT}, {pid, syscall.SIGKILL}, {st.PID, syscall.SIGKILL}} {
		if err := syscall.Kill(k.pid, k.sig); err != nil {
			t.Fatalf("signal %v to %d: %v", k.sig, k.pid, err)
		}
	}
	eventually(t, "the server is gone", func() bool { return p.holder() == 0 })
	before, _ := filepath.Glob(filepath.Join(p.paths.state, "instances", "*.lock"))
	if len(before) != 1 {
		t.Fatalf("instances: %v", before)
	}
	create(t, p, client.CreateSpec{})
	after, _ := filepath.Glob(filepath.Join(p.paths.state, "instances", "*.lock"))
	if len(after) != 1 || after[0] == before[0] {
		t.Errorf("instances %v, before %v", after, before)
	}
}

func TestTwoSandboxesOnOnePort(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	var ids []client.ID
	for i := range 2 {
		sb := create(t, p, client.CreateSpec{Env: map[string]string{actEnv: "serve"}})
		if sb.Isolation == client.IsolationProcess {
			t.Skip("sandboxes share the host's network at this level")
		}
		ids = append(ids, sb.ID)
		if _, err := p.Files().Put(t.Context(), sb.ID, "bin/serve", strings.NewReader(string(self)), int64(len(self))); err != nil {
			t.Fatal(err)
		}
		run(t, p, sb.ID, "chmod +x bin/serve && (./bin/serve content-"+strconv.Itoa(i)+" >log 2>&1 &)")
	}
	get := func(id client.ID) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("E2b-Sandbox-Id", string(id))
		req.Header.Set("E2b-Sandbox-Port", "9000")
		res, err := p.raw.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	for i, id := range ids {
		eventually(t, "the server inside answers", func() bool { s, _ := get(id); return s == http.StatusOK })
		if _, body := get(id); body != "content-"+strconv.Itoa(i) {
			t.Errorf("sandbox %d answers %q", i, body)
		}
		c, err := p.DialPort(t.Context(), id, 9000)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(c)
		if err != nil || !strings.HasSuffix(string(all), "\r\n\r\ncontent-"+strconv.Itoa(i)) {
			t.Errorf("sandbox %d says %q on a raw connection, %v", i, all, err)
		}
		c.Close()
	}
	if _, err := p.DialPort(t.Context(), ids[0], 9001); client.CodeOf(err) != client.CodeConnect || !strings.Contains(err.Error(), "9001") {
		t.Errorf("closed port: %v (%s)", err, client.CodeOf(err))
	}
	if _, err := p.DialPort(t.Context(), "inone", 9000); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("unknown sandbox: %v", err)
	}
}

func TestConcurrentFirstCommandsStartOneServer(t *testing.T) {
	home := tempRoot(t)
	const n = 4
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		ids = map[string]bool{}
	)
	for range n {
		cmd := other(t, "create", home)
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("create: %v\n%s", err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[string(out)] = true
		})
	}
	wg.Wait()
	t.Setenv("HOME", home)
	t.Setenv("ABXDASH_HOME", "")
	p, err := New(Config{Version: testVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	defer nothingLeft(t, p)
	st, err := p.Status(t.Context())
	if err != nil || st.Sandboxes != n || len(ids) != n {
		t.Errorf("status %+v, %v, ids %v", st, err, ids)
	}
	log, err := os.ReadFile(p.paths.log)
	if err != nil || strings.Count(string(log), "msg=serving") != 1 {
		t.Errorf("log %s, %v", log, err)
	}
	if err := p.Stop(t.Context(), true); err != nil {
		t.Error(err)
	}
}

func TestIdleServerEnds(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{IdleAfter: 300 * time.Millisecond})
	sb := create(t, p, client.CreateSpec{})
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server ends", func() bool {
		// Looking must not keep it alive.
		st, err := p.Status(t.Context())
		return err == nil && !st.Running && p.holder() == 0
	})
	if ok, _ := exists(p.paths.socket); ok {
		t.Error("the socket is left")
	}
	nothingLeft(t, p)
}

func TestCreateMeetsEndingServers(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{IdleAfter: time.Millisecond})
	for range 20 {
		sb := create(t, p, client.CreateSpec{})
		if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLifetimeEnds(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{Lifetime: time.Second})
	eventually(t, "the sandbox ends", func() bool {
		_, err := p.Sandboxes().Get(t.Context(), sb.ID)
		return errors.Is(err, client.ErrNotFound)
	})
	eventually(t, "its folder goes", func() bool {
		left, _ := filepath.Glob(filepath.Join(p.paths.state, "instances", "*", "sandboxes", "*"))
		return len(left) == 0
	})
}

func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	marker := daemons(t, p, sb.ID)
	err := p.Stop(t.Context(), false)
	if client.CodeOf(err) != client.CodeConflict || !strings.Contains(err.Error(), "1 sandbox") {
		t.Errorf("stop: %v", err)
	}
	if out := run(t, p, sb.ID, "echo still"); out != "still\n" {
		t.Errorf("%q", out)
	}
	if err := p.Stop(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(marker); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	nothingLeft(t, p)
}

func TestStopOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	p.patience = 500 * time.Millisecond
	sb := create(t, p, client.CreateSpec{})
	marker := daemons(t, p, sb.ID)
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every thread of it stands still", func() bool {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", st.PID))
		for _, s := range stats {
			b, err := os.ReadFile(s)
			if err != nil || !strings.Contains(string(b), ") T ") {
				return false
			}
		}
		return len(stats) > 0
	})
	if err := p.Stop(t.Context(), false); client.CodeOf(err) != client.CodeLocalServer {
		t.Errorf("stop without force: %v", err)
	}
	if err := p.Stop(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(marker); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	nothingLeft(t, p)
}

func TestOrderlySignalEndsTheServer(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	create(t, p, client.CreateSpec{})
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, p)
}

func TestOtherVersion(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	newer, err := New(Config{Root: p.cfg.Root, Version: "9.9.9"})
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	sb := create(t, p, client.CreateSpec{})
	st, err := newer.Status(t.Context())
	if err != nil || st.Version != testVersion || !strings.Contains(st.Note, testVersion) || !strings.Contains(st.Note, "local stop") {
		t.Errorf("status %+v, %v", st, err)
	}
	// With the same protocol number it goes on, live sandboxes included.
	if out := run(t, newer, sb.ID, "echo hi"); out != "hi\n" {
		t.Errorf("%q", out)
	}
	second := create(t, newer, client.CreateSpec{})
	for _, id := range []client.ID{sb.ID, second.ID} {
		if err := newer.Sandboxes().Kill(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	// One that holds nothing is replaced.
	create(t, newer, client.CreateSpec{})
	if st, err := newer.Status(t.Context()); err != nil || st.Version != "9.9.9" || st.Note != "" || st.Sandboxes != 1 {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestLongHomePath(t *testing.T) {
	t.Parallel()
	root := tempRoot(t)
	for len(root) < 200 {
		root = filepath.Join(root, strings.Repeat("x", 50))
	}
	p := newProvider(t, Config{Root: root})
	sb := create(t, p, client.CreateSpec{})
	if out := run(t, p, sb.ID, "echo hi"); out != "hi\n" {
		t.Errorf("%q", out)
	}
}

func TestRunInTheForeground(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, done := make(chan Status, 1), make(chan error, 1)
	go func() { done <- p.Run(ctx, func(s Status) { ready <- s }) }()
	select {
	case st := <-ready:
		if st.PID != os.Getpid() || !st.Running || st.Isolation == "" {
			t.Errorf("ready with %+v", st)
		}
	case err := <-done:
		t.Fatal(err)
	}
	sb := create(t, p, client.CreateSpec{})
	if out := run(t, p, sb.ID, "echo hi"); out != "hi\n" {
		t.Errorf("%q", out)
	}
	second, err := New(p.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Run(t.Context(), nil); client.CodeOf(err) != client.CodeLocalServer || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second server: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	nothingLeft(t, p)
}

func TestManyCyclesLeaveNoDescriptors(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	open := func() int {
		st, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", st.PID))
		if err != nil {
			t.Fatal(err)
		}
		return len(fds)
	}
	cycle := func() {
		sb := create(t, p, client.CreateSpec{})
		run(t, p, sb.ID, "true")
		if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	before := open()
	for range 25 {
		cycle()
	}
	// A pooled connection more or less is no leak.
	eventually(t, "the descriptors are closed", func() bool { return open() <= before+2 })
}

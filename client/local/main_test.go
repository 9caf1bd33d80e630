//go:build linux

package local

import (
	"bytes"
	"context"
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

	"go.uber.org/goleak"

	"abxdash/client"
)

// actEnv names the part that a re-executed test binary plays instead of testing.
const actEnv = "LOCAL_TEST_ACT"

func TestMain(m *testing.M) {
	if Reexec() {
		return
	}
	if act := os.Getenv(actEnv); act != "" {
		if err := runAct(act, os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s (%s)\n", err, client.CodeOf(err))
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// runAct is one command of another process.
func runAct(act string, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if act == "serve" {
		// Inside a sandbox: a web server with its own content.
		return http.ListenAndServe("127.0.0.1:9000", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, args[0])
		}))
	}
	if act == "another host" {
		return actAnotherHost(args[0], args[1], args[2], args[3])
	}
	if act == "container" {
		return actContainer(args[0])
	}
	if act == "limited" {
		return actLimited(args[0], args[1], args[2])
	}
	p, err := New(Config{Version: testVersion})
	if err != nil {
		return err
	}
	defer p.Close()
	switch act {
	case "create":
		sb, err := p.Sandboxes().Create(ctx, client.CreateSpec{Lifetime: 10 * time.Minute})
		fmt.Print(sb.ID)
		return err
	case "exec":
		proc, err := p.Commands().Start(ctx, client.ID(args[0]), client.Command{Argv: args[1:]})
		if err != nil {
			return err
		}
		out, err := client.Collect(proc)
		fmt.Printf("%s%s%s", out.Stdout, out.Stderr, out.Exit)
		return err
	}
	return errors.New("unknown act " + act)
}

const (
	testVersion = "0.0.0-test"
	// waitLimit is generous: other work may share the machine.
	waitLimit = 90 * time.Second
)

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// tempRoot is a folder that is ours alone, gone after the test.
func tempRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "abx")
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

// newProvider is a provider with a server of its own, which is ended after the
// test; then nothing of it may be left.
func newProvider(t testing.TB, cfg Config) *Provider {
	t.Helper()
	if cfg.Root == "" {
		cfg.Root = tempRoot(t)
	}
	if cfg.Version == "" {
		cfg.Version = testVersion
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		if err := p.Stop(ctx, true); err != nil {
			t.Errorf("stop: %v", err)
		}
		nothingLeft(t, p)
	})
	return p
}

// nothingLeft waits until no process, mount or folder of p's server is there.
func nothingLeft(t testing.TB, p *Provider) {
	t.Helper()
	eventually(t, "the instances' folders go", func() bool {
		left, err := filepath.Glob(filepath.Join(p.paths.state, "instances", "*"))
		return err == nil && len(left) == 0
	})
	eventually(t, "the processes go", func() bool { return len(processesWith(p.paths.state)) == 0 && p.holder() == 0 })
	if ok, _ := exists(p.paths.socket); ok {
		// A killed server leaves its socket; the next one replaces it.
		if _, err := p.look(context.Background(), false); !errors.Is(err, errNoServer) {
			t.Errorf("the socket answers: %v", err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(p.paths.state)) {
		t.Errorf("mounts of %s are left (%v)", p.paths.state, err)
	}
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	return err == nil, err
}

// processesWith lists processes, in whatever pid namespace, that have text in
// their arguments.
func processesWith(text string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(text)) && filepath.Base(filepath.Dir(f)) != fmt.Sprint(os.Getpid()) {
			found = append(found, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}

// create makes a sandbox that lives for the test.
func create(t testing.TB, p *Provider, spec client.CreateSpec) client.Sandbox {
	t.Helper()
	if spec.Lifetime == 0 {
		spec.Lifetime = 10 * time.Minute
	}
	sb, err := p.Sandboxes().Create(t.Context(), spec)
	if err != nil {
		log, _ := os.ReadFile(p.paths.log)
		t.Fatalf("create: %v (%s)\nhint: %s\nlog:\n%s", err, client.CodeOf(err), client.HintOf(err), log)
	}
	return sb
}

// run runs a shell line in a sandbox and returns what it printed.
func run(t testing.TB, p *Provider, id client.ID, line string) string {
	t.Helper()
	proc, err := p.Commands().Start(t.Context(), id, client.Command{Argv: []string{"sh", "-c", line}})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer proc.Close()
	out, err := client.Collect(proc)
	if err != nil || !out.Exit.OK() {
		t.Fatalf("%s: %v, %s\n%s%s", line, err, out.Exit, out.Stdout, out.Stderr)
	}
	return string(out.Stdout)
}

// other prepares this test binary to run again with HOME home.
func other(t testing.TB, act, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "local.test"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, actEnv + "=" + act, "ABX_TEST_SECRET=hunter2"}
	cmd.Dir = home
	return cmd
}

const nobody = 65534

// TestAsOrdinaryUser runs the other tests again without root's rights, in a
// home that nobody else may enter.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is one")
	}
	t.Parallel()
	home := tempRoot(t)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	tests := "."
	if raceBuild {
		tests = "TestCreateInOne|TestKillLeaves|TestKillOfTheServerLeaves|TestConcurrent"
	}
	// Through a descriptor: the file's path may be closed to that user.
	cmd := exec.Command("/proc/self/fd/3", "-test.run="+tests, "-test.v="+fmt.Sprint(testing.Verbose()), "-test.short="+fmt.Sprint(testing.Short()), "-test.timeout=9m")
	cmd.Args[0] = "local.test"
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home}
	cmd.Dir = home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	} else if testing.Verbose() {
		t.Logf("as uid %d:\n%s", nobody, out)
	}
}

//go:build linux

package local

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/docker"
	"abxdash/client/docker/dockertest"
)

const (
	containerImage = "sandbox-base:1"
	otherImage     = "sandbox-other:1"
	// containerLabel is on every container of ours, whatever its value.
	containerLabel = "abxdash.sandbox"
)

// TestContainers is level container with an engine of its own. All parts share
// the engine, none shares a server.
func TestContainers(t *testing.T) {
	if !static(t, "/proc/self/exe") {
		runStatic(t)
		return
	}
	host := dockertest.Start(t)
	for _, image := range []string{containerImage, otherImage} {
		dockertest.Base(t, host, image)
	}
	t.Setenv("DOCKER_HOST", host)
	engine, err := docker.New(docker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	t.Run("one server", func(t *testing.T) {
		p := newContainers(t, engine)
		for name, test := range map[string]func(*testing.T, *Provider, *docker.Engine){
			"sandbox": testContainerSandbox, "port and terminal": testContainerPorts, "pause": testContainerPause,
			"limits": testContainerLimits, "kill": testContainerKill, "removed behind our back": testContainerRemoved,
			"network": testContainerNetwork, "folders": testContainerFolders, "template of an image": testContainerTemplate,
		} {
			t.Run(name, func(t *testing.T) { test(t, p, engine) })
		}
	})
	for name, test := range map[string]func(*testing.T, *docker.Engine){
		"server killed": testContainerServerKilled, "server and janitor killed": testContainerNextStart,
		"ordinary user": testContainerUser, "refusals": testContainerRefusals,
	} {
		t.Run(name, func(t *testing.T) { test(t, engine) })
	}
}

func static(t *testing.T, path string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// runStatic runs the test in a program that is linked statically, as a released
// one is: only that can run inside a container. The race detector needs the other.
func runStatic(t *testing.T) {
	t.Helper()
	bin := filepath.Join(tempRoot(t), "local.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a static test: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run=^TestContainers$", "-test.v="+fmt.Sprint(testing.Verbose()), "-test.timeout=9m")
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: TestContainers"):
		t.Skip(string(out))
	case testing.Verbose():
		t.Logf("%s", out)
	}
}

func newContainers(t *testing.T, engine *docker.Engine) *Provider {
	t.Helper()
	// Registered first, so that it looks after the server has ended.
	t.Cleanup(func() { noContainers(t, engine) })
	return newProvider(t, Config{MinIsolation: client.IsolationContainer, Image: containerImage})
}

// containers are those of the engine that are ours.
func containers(t *testing.T, engine *docker.Engine) []docker.Listed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	list, err := engine.Containers(ctx, containerLabel)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func noContainers(t *testing.T, engine *docker.Engine) {
	t.Helper()
	eventually(t, "the engine has no container of ours", func() bool { return len(containers(t, engine)) == 0 })
}

// containerOf is the engine's id of a sandbox.
func containerOf(t *testing.T, engine *docker.Engine, id client.ID) string {
	t.Helper()
	for _, l := range containers(t, engine) {
		if l.Labels[containerLabel] == string(id) {
			return l.ID
		}
	}
	t.Fatalf("no container of %s", id)
	return ""
}

// folderOf matches the folder of a sandbox.
func folderOf(p *Provider, id client.ID) string {
	return filepath.Join(p.paths.state, "instances", "*", "sandboxes", string(id))
}

// goneFrom makes sure that neither the engine nor the server has anything of a sandbox.
func goneFrom(t *testing.T, p *Provider, engine *docker.Engine, id client.ID) {
	t.Helper()
	for _, l := range containers(t, engine) {
		if l.Labels[containerLabel] == string(id) {
			t.Errorf("container left: %+v", l)
		}
	}
	if left, err := filepath.Glob(folderOf(p, id)); err != nil || len(left) != 0 {
		t.Errorf("folder left: %v, %v", left, err)
	}
}

func testContainerSandbox(t *testing.T, p *Provider, engine *docker.Engine) {
	sb := create(t, p, client.CreateSpec{Env: map[string]string{"GIVEN": "yes"}})
	if sb.Isolation != client.IsolationContainer {
		t.Errorf("isolation %q", sb.Isolation)
	}
	containerOf(t, engine, sb.ID)
	out := run(t, p, sb.ID, `echo "$HOME $GIVEN $ABX_SANDBOX_ID"; pwd; busybox whoami; busybox id -u; busybox id -g; busybox grep -E 'NoNewPrivs|CapBnd|CapEff' /proc/self/status`)
	f := strings.Fields(out)
	want := []string{"/home/user", "yes", string(sb.ID), "/home/user", "user"}
	if len(f) != 13 || strings.Join(f[:5], " ") != strings.Join(want, " ") {
		t.Fatalf("inside: %q", f)
	}
	if f[5] == "0" || f[6] == "0" {
		t.Errorf("user and group %v", f[5:7])
	}
	for i, value := range map[int]string{8: "0000000000000000", 10: "0000000000000000", 12: "1"} {
		if f[i] != value {
			t.Errorf("%s is %s, want %s", f[i-1], f[i], value)
		}
	}
	for _, line := range []string{
		"touch /x", "touch /etc/x", "touch /.abxdash/run/x", "cat /proc/1/environ", "ls /proc/1/fd", "kill -9 1 && test ! -d /proc/1",
		"ls /.abxdash/run/*", "ls /var/run/docker.sock", "mount -t tmpfs x /tmp", "busybox unshare -r true",
	} {
		run(t, p, sb.ID, "if "+line+" 2>/dev/null; then echo not refused; exit 1; fi")
	}
	if env := run(t, p, sb.ID, "busybox env"); strings.Contains(env, "DOCKER") || strings.Contains(env, p.paths.state) {
		t.Errorf("environment %s", env)
	}
	run(t, p, sb.ID, "mkdir -p d && echo in > d/f && echo t > /tmp/f")
	r, err := p.Files().Open(t.Context(), sb.ID, "/home/user/d/f")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if cerr := r.Close(); err != nil || cerr != nil || string(text) != "in\n" {
		t.Errorf("read %q, %v, %v", text, err, cerr)
	}
	if _, err := p.Files().Put(t.Context(), sb.ID, "new/f", strings.NewReader("out"), 3); err != nil {
		t.Fatal(err)
	}
	if got := run(t, p, sb.ID, "cat new/f && ls -ld new/f"); !strings.HasPrefix(got, "out-rw") || !strings.Contains(got, " user ") {
		t.Errorf("uploaded: %q", got)
	}
	// The image is the server's; one that holds nothing is replaced for another.
	another, err := New(Config{Root: p.cfg.Root, Version: testVersion, MinIsolation: client.IsolationContainer, Image: otherImage})
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	if _, err := another.Sandboxes().Create(t.Context(), client.CreateSpec{}); client.CodeOf(err) != client.CodeIsolation || !strings.Contains(err.Error(), containerImage) {
		t.Errorf("another image: %v", err)
	}
	run(t, p, sb.ID, "(busybox yes > /dev/null &) > /dev/null 2>&1")
	eventually(t, "what it uses is measured", func() bool {
		m, err := p.MetricsNow(t.Context(), []client.ID{sb.ID})
		return err == nil && m[sb.ID].MemUsed > 0
	})
}

func testContainerPorts(t *testing.T, p *Provider, _ *docker.Engine) {
	var ids []client.ID
	for i := range 2 {
		sb := create(t, p, client.CreateSpec{Env: map[string]string{actEnv: "serve"}})
		ids = append(ids, sb.ID)
		run(t, p, sb.ID, fmt.Sprintf("busybox ln -s /.abxdash/init serve && (./serve content-%d >log 2>&1 &)", i))
	}
	for i, id := range ids {
		var body string
		eventually(t, "port 9000 has content of its own", func() bool {
			body = overPort(p, id, 9000)
			_, body, _ = strings.Cut(body, "\r\n\r\n")
			return strings.HasPrefix(body, "content-")
		})
		if body != "content-"+strconv.Itoa(i) {
			t.Errorf("sandbox %d answers %q", i, body)
		}
	}
	proc, err := p.Commands().Start(t.Context(), ids[0], client.Command{
		Argv: []string{"sh", "-c", "test -t 0 && busybox stty size && read line && echo got $line"}, PTY: &client.Size{Cols: 91, Rows: 17},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if err := proc.Write(t.Context(), []byte("words\n")); err != nil {
		t.Fatal(err)
	}
	out, err := client.Collect(proc)
	if text := string(out.Stdout); err != nil || !out.Exit.OK() || !strings.Contains(text, "17 91") || !strings.Contains(text, "got words") {
		t.Errorf("terminal: %q %s, %v", text, out.Exit, err)
	}
}

// overPort is what a GET on a port of a sandbox answers, "" for none.
func overPort(p *Provider, id client.ID, port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	c, err := p.DialPort(ctx, id, port)
	if err != nil {
		return ""
	}
	defer c.Close()
	return getOver(c)
}

func testContainerPause(t *testing.T, p *Provider, engine *docker.Engine) {
	sb := create(t, p, client.CreateSpec{})
	run(t, p, sb.ID, "(i=0; while :; do i=$((i+1)); echo $i > count; busybox usleep 5000; done) >/dev/null 2>&1 &")
	home, err := filepath.Glob(filepath.Join(folderOf(p, sb.ID), "home"))
	if err != nil || len(home) != 1 {
		t.Fatalf("home %v, %v", home, err)
	}
	count := func() string { b, _ := os.ReadFile(filepath.Join(home[0], "count")); return string(b) }
	eventually(t, "it counts", func() bool { return count() != "" })
	pauser := p.Sandboxes().(client.Pauser)
	if err := pauser.Pause(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	still := count()
	if got, err := p.Sandboxes().Get(t.Context(), sb.ID); err != nil || got.State != client.StatePaused {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Commands().Start(t.Context(), sb.ID, client.Command{Argv: []string{"true"}}); err == nil {
		t.Error("a command starts in a paused sandbox")
	}
	if now := count(); now != still {
		t.Errorf("it counted on while paused: %q, then %q", still, now)
	}
	if err := pauser.Resume(t.Context(), sb.ID, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it counts on", func() bool { now := count(); return now != "" && now != still })
	// A paused one can be killed, and leaves nothing (newContainers checks).
	if err := pauser.Pause(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	goneFrom(t, p, engine, sb.ID)
}

func testContainerLimits(t *testing.T, p *Provider, engine *docker.Engine) {
	sb := create(t, p, client.CreateSpec{Metadata: map[string]string{"abxdash.memory-mb": "128", "abxdash.cpus": "1.5"}})
	if sb.MemoryMB != 128 || sb.CPU != 2 {
		t.Errorf("size %v CPUs, %v MiB", sb.CPU, sb.MemoryMB)
	}
	out := run(t, p, sb.ID, "busybox dd if=/dev/zero of=/dev/null bs=400M count=1 2>/dev/null; echo $?; busybox dd if=/dev/zero of=/dev/null bs=20M count=1 2>/dev/null; echo $?")
	if f := strings.Fields(out); len(f) != 2 || f[0] == "0" || f[1] != "0" {
		t.Errorf("400 MiB and 20 MiB of 128: %q", out)
	}
	// The shell that cannot fork any more ends; the sandbox goes on.
	bomb, err := p.Commands().Start(t.Context(), sb.ID, client.Command{Argv: []string{"sh", "-c", "while :; do sleep 1000 >/dev/null 2>&1 & done"}})
	if err != nil {
		t.Fatal(err)
	}
	defer bomb.Close()
	pid, err := engine.ContainerPID(t.Context(), containerOf(t, engine, sb.ID))
	if err != nil || pid == 0 {
		t.Fatalf("process %d, %v", pid, err)
	}
	if out, err := client.Collect(bomb); err != nil || out.Exit.OK() || !strings.Contains(string(out.Stderr), "fork") {
		t.Errorf("the bomb: %s %s, %v", out.Exit, out.Stderr, err)
	}
	// Threads of the agent count, too.
	if n := pidsOf(t, pid); n < 400 || n > 512+32 {
		t.Errorf("%d processes", n)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	goneFrom(t, p, engine, sb.ID)
}

// pidsOf counts the processes in the pid namespace of another one.
func pidsOf(t *testing.T, pid int) int {
	t.Helper()
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all {
		if link, err := os.Readlink(p); err == nil && link == ns {
			n++
		}
	}
	return n
}

func testContainerKill(t *testing.T, p *Provider, engine *docker.Engine) {
	sb := create(t, p, client.CreateSpec{})
	run(t, p, sb.ID, "mkdir -p a/b && touch a/b/c && busybox chmod 0 a/b && mkdir closed && busybox chmod 0 closed")
	marker := containerDaemons(t, p, sb.ID)
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(marker); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
	goneFrom(t, p, engine, sb.ID)
}

// containerDaemons is daemons with what a static busybox has.
func containerDaemons(t *testing.T, p *Provider, id client.ID) (marker string) {
	t.Helper()
	marker = fmt.Sprint(700_000_000 + os.Getpid())
	run(t, p, id, strings.ReplaceAll(`
		( ( sleep M & ) & ) >/dev/null 2>&1
		busybox setsid sleep M >/dev/null 2>&1 </dev/null &
		busybox env -i /bin/sleep M >/dev/null 2>&1 </dev/null &
		exit 0`, "M", marker))
	eventually(t, "three daemons run", func() bool { return len(processesWith(marker)) == 3 })
	return marker
}

func testContainerRemoved(t *testing.T, p *Provider, engine *docker.Engine) {
	sb := create(t, p, client.CreateSpec{})
	if err := engine.RemoveContainer(t.Context(), containerOf(t, engine, sb.ID)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sandbox is seen as ended", func() bool {
		_, err := p.Sandboxes().Get(t.Context(), sb.ID)
		return errors.Is(err, client.ErrNotFound)
	})
	eventually(t, "its folder goes", func() bool {
		left, err := filepath.Glob(folderOf(p, sb.ID))
		return err == nil && len(left) == 0
	})
}

func killNow(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func testContainerServerKilled(t *testing.T, engine *docker.Engine) {
	p := newContainers(t, engine)
	sb, paused := create(t, p, client.CreateSpec{}), create(t, p, client.CreateSpec{})
	marker := containerDaemons(t, p, sb.ID)
	if err := p.Sandboxes().(client.Pauser).Pause(t.Context(), paused.ID); err != nil {
		t.Fatal(err)
	}
	killNow(t, p.holder())
	eventually(t, "the processes go", func() bool { return len(processesWith(marker)) == 0 })
	noContainers(t, engine)
	nothingLeft(t, p)
}

func testContainerNextStart(t *testing.T, engine *docker.Engine) {
	p := newContainers(t, engine)
	sb := create(t, p, client.CreateSpec{})
	if err := p.Sandboxes().(client.Pauser).Pause(t.Context(), sb.ID); err != nil {
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
	server := p.holder()
	killNow(t, pid)
	killNow(t, server)
	eventually(t, "the server is gone", func() bool { return p.holder() == 0 })
	old := containers(t, engine)
	if len(old) != 1 {
		t.Fatalf("a frozen container without anybody: %+v", old)
	}
	create(t, p, client.CreateSpec{})
	if now := containers(t, engine); len(now) != 1 || now[0].ID == old[0].ID {
		t.Errorf("containers %+v, before %+v", now, old)
	}
}

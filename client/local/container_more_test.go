//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"abxdash/client"
	"abxdash/client/docker"
)

func testContainerNetwork(t *testing.T, p *Provider, _ *docker.Engine) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "outside") }))
	defer web.Close()
	get := func(id client.ID) string {
		return strings.TrimSpace(run(t, p, id, "http_proxy=${http_proxy:-} busybox wget -q -O - "+web.URL+" 2>/dev/null || echo refused"))
	}
	all, off := []string{"0.0.0.0/0"}, false
	sb := create(t, p, client.CreateSpec{Network: &client.Network{AllowOut: []string{strings.TrimPrefix(web.URL, "http://")}, DenyOut: all}})
	if got := get(sb.ID); got != "outside" {
		t.Errorf("allowed: %q", got)
	}
	if err := p.UpdateNetwork(t.Context(), sb.ID, client.NetworkUpdate{DenyOut: all}); err != nil {
		t.Fatal(err)
	}
	if got := get(sb.ID); got != "refused" {
		t.Errorf("after the change: %q", got)
	}
	closed := create(t, p, client.CreateSpec{Internet: &off})
	if got := get(closed.ID); got != "refused" {
		t.Errorf("off: %q", got)
	}
	if got := run(t, p, closed.ID, "busybox ip -o link | busybox wc -l"); strings.TrimSpace(got) != "1" {
		t.Errorf("interfaces: %q", got)
	}
}

func testContainerFolders(t *testing.T, p *Provider, engine *docker.Engine) {
	dir := tempRoot(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	sb := create(t, p, client.CreateSpec{Folders: []client.HostFolder{
		{Host: dir, Target: "/mnt/p", ReadOnly: true}, {Host: dir, Target: "/home/user/deep/p"}, {Host: dir, Target: "/home/user/copy", Copy: true},
	}})
	if got := run(t, p, sb.ID, "cat /mnt/p/f deep/p/f copy/f; touch /mnt/p/x 2>/dev/null || echo read-only; touch copy/x"); got != strings.Repeat("of the host", 3)+"read-only\n" {
		t.Errorf("%q", got)
	}
	_, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Folders: []client.HostFolder{{Host: filepath.Dir(engine.Socket()), Target: "/mnt/p"}}})
	if err == nil || !strings.Contains(err.Error(), "socket") {
		t.Errorf("the engine's socket: %v", err)
	}
}

func testContainerTemplate(t *testing.T, p *Provider, _ *docker.Engine) {
	b, err := p.CreateTemplate(t.Context(), client.TemplateSpec{Name: "made", Image: otherImage, Steps: []client.TemplateStep{
		{Type: client.StepWorkdir, Args: []string{"/app"}}, {Type: client.StepRun, Args: []string{"echo built > /app/f && echo home > ~/f"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var st client.BuildState
	eventually(t, "the build ends", func() bool {
		st, err = p.TemplateBuild(t.Context(), b, 0)
		return err != nil || st.Ready() || st.Failed()
	})
	if err != nil || st.Failed() {
		t.Fatalf("build: %+v, %v", st, err)
	}
	sb := create(t, p, client.CreateSpec{Template: "made"})
	if got := run(t, p, sb.ID, "pwd; cat f ~/f"); got != "/app\nbuilt\nhome\n" {
		t.Errorf("%q", got)
	}
	// What a template's programs left must not lead the engine out of the home.
	evil := create(t, p, client.CreateSpec{Template: "made"})
	run(t, p, evil.ID, "rm -r ~/.abx-root/app/f; busybox mv ~/.abx-root ~/was; busybox mkdir ~/.abx-root; busybox ln -s / ~/.abx-root/app")
	snap, err := p.Snapshot(t.Context(), evil.ID, "trap")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Template: snap.ID}); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("a link for a folder: %v", err)
	}
}

// testContainerUser runs the main job as somebody who may use the engine and is not root.
func testContainerUser(t *testing.T, engine *docker.Engine) {
	home := tempRoot(t)
	sock := engine.Socket()
	for _, err := range []error{os.Chown(home, nobody, nobody), os.Chmod(filepath.Dir(sock), 0o711), os.Chmod(sock, 0o666)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3")
	cmd.Args = []string{"local.test", containerImage}
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), actEnv + "=container"}
	cmd.Dir = home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "container 65534" {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	}
	noContainers(t, engine)
	left, err := filepath.Glob(filepath.Join(home, ".local", "state", "abxdash", "local", "instances", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// actContainer creates a sandbox, says what it is, and ends the server.
func actContainer(image string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	p, err := New(Config{Version: testVersion, MinIsolation: client.IsolationContainer, Image: image})
	if err != nil {
		return err
	}
	defer p.Close()
	sb, err := p.Sandboxes().Create(ctx, client.CreateSpec{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(ctx, true)) }()
	proc, err := p.Commands().Start(ctx, sb.ID, client.Command{Argv: []string{"busybox", "id", "-u"}})
	if err != nil {
		return err
	}
	out, err := client.Collect(proc)
	fmt.Print(sb.Isolation, " ", string(out.Stdout), string(out.Stderr))
	return err
}

func testContainerRefusals(t *testing.T, engine *docker.Engine) {
	// An engine alone is no reason to use it.
	plain := newProvider(t, Config{})
	if sb := create(t, plain, client.CreateSpec{}); sb.Isolation == client.IsolationContainer {
		t.Error("level container was taken unasked")
	}
	if list := containers(t, engine); len(list) != 0 {
		t.Errorf("containers %+v", list)
	}
	for _, c := range []struct{ host, image, says string }{
		{"unix://" + filepath.Join(tempRoot(t), "none"), containerImage, "no Docker engine answers"},
		{"tcp://127.0.0.1:1", containerImage, "unix socket"},
		{os.Getenv("DOCKER_HOST"), "not-there:1", "cannot be fetched"},
		{os.Getenv("DOCKER_HOST"), "../x", "no name of an image"},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", c.host)
			p := newProvider(t, Config{MinIsolation: client.IsolationContainer, Image: c.image})
			_, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
			if client.CodeOf(err) != client.CodeIsolation || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("create: %v (%s)", err, client.CodeOf(err))
			}
			if f := p.Doctor(t.Context()); f.ProbeErr == nil && c.says != "cannot be fetched" {
				t.Errorf("doctor: %+v", f)
			}
		})
	}
}

//go:build linux

package isolate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/docker"
)

func TestWithImageEnv(t *testing.T) {
	got := withImageEnv(map[string]string{"PATH": "/mine", "A": "1"}, []string{
		"PATH=/image", "LANG=C", "HOME=/root", "HOSTNAME=x", "PWD=/", "E2B_KEY=k", "SANDBOX_ID=s", "=odd", "none", "EQ=a=b",
	})
	want := map[string]string{"PATH": "/mine", "A": "1", "LANG": "C", "EQ": "a=b"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOwnFolderFollowsNoLink(t *testing.T) {
	home := t.TempDir()
	for name, to := range map[string]string{"out": "/", "in": "real", "file": ""} {
		var err error
		if to == "" {
			err = os.WriteFile(filepath.Join(home, name), nil, 0o600)
		} else {
			err = os.Symlink(to, filepath.Join(home, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for rel, ok := range map[string]bool{
		"real": true, "real/deep/er": true, "/real//x": true, "out": false, "out/etc": false, "in": false, "in/x": false, "file": false,
	} {
		got, err := ownFolder(home, rel)
		if (err == nil) != ok {
			t.Errorf("%s: %v", rel, err)
			continue
		}
		if info, err := os.Lstat(got); ok && (err != nil || !info.IsDir() || !strings.HasPrefix(got, home)) {
			t.Errorf("%s: %s, %v", rel, got, err)
		}
	}
}

func TestContainerSpec(t *testing.T) {
	c, err := NewContainers(ContainerConfig{Owner: t.TempDir(), Engine: "unix:///nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	box := t.TempDir()
	cfg := Config{ID: "i1", Home: filepath.Join(box, "home"), Places: []string{"/app"}, Limits: Limits{MemoryMB: 64, CPUs: 0.5, Processes: 10}}
	if err := os.Mkdir(cfg.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	spec, err := c.spec(cfg, box)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Image != DefaultImage || spec.Network != "none" || spec.Hostname != "sandbox" || spec.PIDs != 10+agentThreads || spec.CPUs != 0.5 || spec.MemoryBytes != 64<<20+agentMemory {
		t.Errorf("%+v", spec)
	}
	if uid, gid, _ := strings.Cut(spec.User, ":"); uid == "0" || gid == "0" || uid == "" || gid == "" {
		t.Errorf("user %q", spec.User)
	}
	if spec.Labels[labelSandbox] != "i1" || spec.Labels[labelOwner] != c.owner || spec.Labels[labelServer] != c.server || strings.Contains(c.owner, "/") {
		t.Errorf("labels %v", spec.Labels)
	}
	writable := map[string]string{}
	for _, b := range spec.Binds {
		if !b.ReadOnly {
			writable[b.Target] = b.Source
		}
	}
	if d := cmp.Diff(map[string]string{HomePath: cfg.Home, "/app": filepath.Join(cfg.Home, PlacesDir, "app")}, writable); d != "" {
		t.Error(d)
	}
	cfg.Network, cfg.Image = NetworkHost, "other:1"
	if spec, err = c.spec(cfg, box); err != nil || spec.Network != "" || spec.Image != "other:1" {
		t.Errorf("%+v, %v", spec, err)
	}
}

func TestContainersOfAnotherOwner(t *testing.T) {
	a, err := NewContainers(ContainerConfig{Owner: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := NewContainers(ContainerConfig{Owner: "/b"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if a.owner == b.owner || a.server != b.server {
		t.Errorf("owners %q and %q, servers %q and %q", a.owner, b.owner, a.server, b.server)
	}
}

func TestInitFileOfAClosedBinary(t *testing.T) {
	dir := t.TempDir()
	// No id of ours: the file must be executable by everybody, or a copy that is.
	c := &Containers{uid: os.Geteuid() + 1}
	path, err := c.initFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o001 == 0 || info.Size() == 0 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	if err := copyFile("/proc/self/exe", filepath.Join(dir, "copy"), 0o555); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "copy")); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("copy: %v, %v", info, err)
	}
}

func TestContainerNamesThatAreRefused(t *testing.T) {
	for name, ok := range map[string]bool{
		"debian:stable-slim": true, "localhost:5000/a/b:1": true, "a@sha256:" + strings.Repeat("0", 64): true,
		"": false, "-x": false, "../x": false, "a//b": false, "a?b": false, "a b": false, "a\nb": false,
	} {
		if err := docker.CheckImage(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := NewContainers(ContainerConfig{Image: "../x"}); client.CodeOf(err) != client.CodeIsolation {
		t.Errorf("%v (%s)", err, client.CodeOf(err))
	}
}

func TestPartsOfAContainer(t *testing.T) {
	cfg := Config{Level: client.IsolationContainer, Network: NetworkProxy, Egress: Egress{Allow: []string{"*"}}, LogFile: os.Stderr}
	p, err := newParts(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.undo()
	defer p.release()
	dir := t.TempDir()
	ln, err := listenIn(dir, handSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	sent := make(chan error, 1)
	go func() {
		conn, err := ln.AcceptUnix()
		if err == nil {
			err = p.send(conn)
			_ = conn.Close()
		}
		sent <- err
	}()
	got, err := receiveParts(filepath.Join(dir, handSocket))
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{partConfig, partStatus, partAlive, partControl, partLog, partEgress} {
		fd, ok := got[name]
		if !ok {
			t.Errorf("no %s came", name)
			continue
		}
		_ = os.NewFile(uintptr(fd), name).Close()
	}
	if _, ok := got[partListener]; ok || len(got) != 6 {
		t.Errorf("came: %v", got)
	}
	// Its last holder is gone.
	if n, err := p.alive.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("alive: %d, %v", n, err)
	}
}

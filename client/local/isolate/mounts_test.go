//go:build linux

package isolate

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestMountTarget(t *testing.T) {
	for in, want := range map[string]string{
		"/home/user/project": "/home/user/project", "/home/user/a/../b/": "/home/user/b", "/project": "/project", "/srv/x": "/srv/x", "/mnt/a/b": "/mnt/a/b",
		"/app/src": "/app/src", "/library": "/library",
		"": "", "work": "", "/": "", "/home": "", "/home/user": "", "/home/user/..": "", "/usr": "", "/usr/local/x": "", "/etc/x": "", "/tmp/x": "",
		"/proc/x": "", "/dev/shm/x": "", "/mnt": "", "/opt/../etc": "", "/a\x00b": "", "/lib/x": "", "/run/x": "", "/var/lib/x": "",
	} {
		got, err := mountTarget(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
}

// startRefused wants a usage error that says something.
func TestMountRefusals(t *testing.T) {
	home, dir := tempDir(t), tempDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shut := filepath.Join(dir, "shut")
	if err := os.Mkdir(shut, 0); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		level  client.Isolation
		mounts []Mount
		want   string
	}{
		"missing":     {"", []Mount{{Host: dir + "/none", Target: "/project"}}, "no such file"},
		"a file":      {"", []Mount{{Host: file, Target: "/project"}}, "not a folder"},
		"root":        {"", []Mount{{Host: "/", Target: "/project"}}, "own files"},
		"around home": {"", []Mount{{Host: filepath.Dir(home), Target: "/project"}}, "own files"},
		"proc":        {"", []Mount{{Host: "/proc/self", Target: "/project"}}, "kernel"},
		"bad target":  {"", []Mount{{Host: dir, Target: "/etc"}}, "sandbox's own"},
		"overlap":     {"", []Mount{{Host: dir, Target: "/project"}, {Host: dir, Target: "/project/x"}}, "overlap"},
		"weak level":  {client.IsolationProcess, []Mount{{Host: dir, Target: "/project"}}, "namespace or container only"},
	}
	if os.Geteuid() != 0 {
		cases["closed"] = struct {
			level  client.Isolation
			mounts []Mount
			want   string
		}{"", []Mount{{Host: shut, Target: "/project"}}, "permission denied"}
	}
	for name, c := range cases {
		if c.level == "" {
			c.level = client.IsolationNamespace
		}
		_, err := checkMounts(Config{Home: home, Level: c.level, Mounts: c.mounts})
		if client.CodeOf(err) != client.CodeUsage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMounts(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	owner, group := os.Geteuid(), os.Getegid()
	if owner == 0 {
		owner, group = 4321, 4322
	}
	project := func() string {
		dir := tempDir(t)
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("from the host"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{dir, filepath.Join(dir, "f")} {
			if err := os.Chown(p, owner, group); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	rw, ro, inHome := project(), project(), project()
	b := startBox(t, l, Config{Mounts: []Mount{
		{Host: rw, Target: "/project"}, {Host: ro, Target: "/srv/ro", ReadOnly: true}, {Host: inHome, Target: HomePath + "/a/b"},
	}})
	if got := b.sh(t, "cat /project/f /srv/ro/f ~/a/b/f; stat -c ' %U' /project/f /project; echo new >/project/new; echo x >>/project/f; echo y >~/a/b/g; stat -c %U /project/new"); got != "from the hostfrom the hostfrom the host user\n user\nuser\n" {
		t.Errorf("%q", got)
	}
	for _, refused := range []string{"echo x >/srv/ro/new", "rm /srv/ro/f", "chmod 4755 /project/f", "install -m 4755 /bin/true /project/x", "touch /project/../project2"} {
		if out := b.do(t, runRequest{Argv: []string{"sh", "-c", refused}}); out.Exit.Code == 0 {
			t.Errorf("allowed: %s", refused)
		}
	}
	flags := b.sh(t, "grep -E ' (/project|/srv/ro) ' /proc/self/mountinfo | cut -d' ' -f6")
	for line := range strings.Lines(flags) {
		if !strings.Contains(line, "nosuid") || !strings.Contains(line, "nodev") {
			t.Errorf("flags %q", line)
		}
	}
	info, err := os.Stat(filepath.Join(rw, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != owner {
		t.Errorf("new file belongs to %d, want %d", st.Uid, owner)
	}
	// A mount is not the home's content.
	b.sh(t, "head -c 5000000 /dev/zero >~/a/b/big")
	if n, err := b.DiskUse(context.Background()); err != nil || n > 1<<20 {
		t.Errorf("the home takes %d, %v", n, err)
	}
	if err := b.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := mountCount(t); n != 0 {
		t.Errorf("%d mounts left", n)
	}
}

// Root's own folders stay root's: readable where everybody may, never written.
func TestMountOfRootsFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	l := newLauncher(t)
	wantNamespace(t, l)
	dir := tempDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"open": 0o644, "shut": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	b := startBox(t, l, Config{Mounts: []Mount{{Host: dir, Target: "/project"}}})
	got := b.sh(t, "cat /project/open; cat /project/shut 2>/dev/null || echo ' refused'; echo x 2>/dev/null >/project/new || echo refused; stat -c %U /project/open")
	if diff := cmp.Diff("open refused\nrefused\nnobody\n", got); diff != "" {
		t.Error(diff)
	}
}

// A link that an earlier sandbox left in the home is not followed.
func TestMountThroughLink(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	victim, home, dir := tempDir(t), tempDir(t), tempDir(t)
	if err := os.Symlink(victim, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	lf, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	defer lf.Close()
	s, err := l.Start(context.Background(), Config{Home: home, Listener: lf, Mounts: []Mount{{Host: dir, Target: HomePath + "/link/x"}}})
	if err == nil {
		_ = s.Kill(context.Background())
		t.Error("started")
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("made in the folder that the link names: %v %v", left, err)
	}
	if err != nil && !strings.Contains(fmt.Sprint(err), HomePath+"/link/x") {
		t.Log(err)
	}
}

//go:build linux

package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

// ready reports whether a spare waits.
func (p *spares) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.next) > 0
}

// waiting is the spare that waits; it stays where it is.
func waiting(t testing.TB, l *Launcher) *spare {
	t.Helper()
	eventually(t, "a spare is there", l.spares.ready)
	l.spares.mu.Lock()
	defer l.spares.mu.Unlock()
	sp := <-l.spares.next
	l.spares.next <- sp
	if sp == nil {
		t.Fatal("no spare can be made")
	}
	return sp
}

// withSpare is a launcher whose spare waits.
func withSpare(t testing.TB) (*Launcher, *spare) {
	t.Helper()
	l := newLauncher(t)
	wantNamespace(t, l)
	l.KeepSpare()
	return l, waiting(t, l)
}

// What a sandbox is to its programs, in one text. Numbers that differ with every
// start are left out.
const selfPortrait = `
sed -E 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ //; s/size=[0-9]+k,?//' /proc/self/mountinfo | sort
grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap)' /proc/self/status; cat /proc/self/uid_map /proc/self/oom_score_adj
ulimit -a; umask; id; hostname; cat /etc/hosts /etc/passwd; ls -A / /etc /dev /home; cat /proc/1/cmdline /proc/self/cgroup | tr -d '0-9'
cut -d: -f1 /proc/net/dev; cat /proc/sys/user/max_user_namespaces; pwd; env | sort; ls /proc/self/fd | wc -l
ls -dln /home/user /tmp /app | cut -c1-20`

// A sandbox that was a spare is in no way another one.
func TestSpareIsLikeAnyOther(t *testing.T) {
	l, _ := withSpare(t)
	cold := newColdLauncher(t)
	cfg := Config{Hostname: "web-1", Places: []string{"/app"}, Env: map[string]string{"A": "b"}, Limits: Limits{MemoryMB: 300, Processes: 99, OpenFiles: 77}}
	for _, network := range []string{NetworkOff, NetworkProxy} {
		t.Run(network, func(t *testing.T) {
			cfg := cfg
			cfg.Network = network
			sp := waiting(t, l)
			was, fresh := startBox(t, l, cfg), startBox(t, cold, cfg)
			if was.PID() != sp.s.PID() {
				t.Fatal("it is not the spare")
			}
			portrait := func(b *box) string { return strings.ReplaceAll(b.sh(t, selfPortrait), b.home, "HOME") }
			a, z := portrait(was), portrait(fresh)
			if diff := cmp.Diff(z, a); diff != "" || !strings.Contains(a, " /usr ro,nosuid,nodev") {
				t.Errorf("any other (-), a spare (+):\n%s", diff)
			}
			if a, z := was.Means(), fresh.Means(); a != z {
				t.Errorf("%+v, any other %+v", a, z)
			}
			was.sh(t, "echo x >~/f && echo x >/app/g")
			for _, f := range []string{"f", filepath.Join(PlacesDir, "app", "g")} {
				if _, err := os.Stat(filepath.Join(was.home, f)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// newColdLauncher keeps no spare whatever the environment says.
func newColdLauncher(t testing.TB) *Launcher {
	t.Helper()
	l := newLauncher(t)
	l.spares.close()
	l.parents.next.Store(1000) // groups are named by process, which has another launcher here
	return l
}

// What a spare cannot become is started afresh, and the spare stays.
func TestSpareIsNotForEverything(t *testing.T) {
	l, sp := withSpare(t)
	for name, cfg := range map[string]Config{
		"host network": {Network: NetworkHost},
		"mount":        {Mounts: []Mount{{Host: tempDir(t), Target: "/mnt/x"}}},
		"processors":   {Limits: Limits{CPUs: 0.5}},
		"tmp":          {Limits: Limits{TmpBytes: 1 << 20}},
	} {
		b := startBox(t, l, cfg)
		b.sh(t, "echo hi")
		if b.PID() == sp.s.PID() {
			t.Errorf("%s: it was the spare", name)
		}
	}
	if b := startBox(t, l, Config{}); b.PID() != sp.s.PID() {
		t.Error("the spare was not used after all")
	}
}

// A spare that is no good does not keep a sandbox from starting.
func TestSpareThatFails(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, l *Launcher, sp *spare){
		"killed": func(t *testing.T, _ *Launcher, sp *spare) {
			if err := syscall.Kill(sp.s.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-sp.s.Done()
		},
		"killed unnoticed": func(t *testing.T, _ *Launcher, sp *spare) {
			if err := syscall.Kill(sp.s.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		"its starter killed": func(t *testing.T, _ *Launcher, sp *spare) {
			kids := descendants(sp.s.PID())
			if len(kids) != 1 {
				t.Fatalf("%d children", len(kids))
			}
			if err := syscall.Kill(kids[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it is dead", func() bool { return zombie(kids[0]) })
		},
		"no groups": func(t *testing.T, _ *Launcher, sp *spare) {
			if sp.s.hold.group == nil {
				t.Skip("there are none here")
			}
			sp.s.hold.group.kill()
			<-sp.s.Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, sp := withSpare(t)
			harm(t, l, sp)
			b := startBox(t, l, Config{})
			if b.sh(t, "echo hi") != "hi\n" || b.PID() == sp.s.PID() {
				t.Error("not started afresh")
			}
			eventually(t, "the next spare is there", l.spares.ready)
		})
	}
}

// What the host replaced since is not shown.
func TestSpareThatIsStale(t *testing.T) {
	dir := tempDir(t)
	file := filepath.Join(dir, "f")
	b := &builder{}
	b.look(file, false)
	b.look(dir, true)
	if err := b.fresh(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.fresh(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a new file: %v", err)
	}
	b = &builder{}
	b.look(file, false)
	if err := errors.Join(os.WriteFile(file+"2", nil, 0o600), os.Rename(file+"2", file)); err != nil {
		t.Fatal(err)
	}
	if err := b.fresh(); err == nil {
		t.Error("a replaced file was not noticed")
	}
	b = &builder{}
	b.look(dir, true)
	if err := os.Chtimes(dir, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := b.fresh(); err == nil {
		t.Error("a changed folder was not noticed")
	}
}

// Nothing of a spare is left after its launcher, whichever way that ends.
func TestSpareEndsWithItsLauncher(t *testing.T) {
	l, err := NewLauncher()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wantNamespace(t, l)
	l.KeepSpare()
	sp := waiting(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(sp.s.id) {
		t.Error("it outlived Close")
	}
	if g := sp.s.hold.group; g.canFreeze() {
		if _, err := os.Stat(g.v2); err == nil {
			t.Errorf("%s is left", g.v2)
		}
	}
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("left: %v", kids)
	}
	if l.spares.take(t.Context()) != nil {
		t.Error("there is a spare after Close")
	}
}

// A launcher that is killed takes its spare along, and the next one its groups.
func TestSpareOfKilledServer(t *testing.T) {
	wantNamespace(t, newLauncher(t))
	t.Setenv(spareEnv, "1")
	cmd, id, _ := startServer(t, client.IsolationNamespace)
	var all []Identity
	eventually(t, "the next spare is there", func() bool {
		all = nil
		for _, pid := range descendants(cmd.Process.Pid) {
			if start, err := startTime(pid); err == nil {
				all = append(all, Identity{pid, start})
			}
		}
		return len(all) >= 4 // the sandbox, the spare, and the starter of each
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(all, id) {
		eventually(t, "all are gone", func() bool { return !alive(p) })
	}
	_ = cmd.Wait()
	if err := SweepGroups(); err != nil {
		t.Error(err)
	}
	for _, dir := range append([]string{findParents().v2}, values(findParents().v1)...) {
		left, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%s*-%d-*", groupPrefix, cmd.Process.Pid)))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %s %v", left, err)
		}
	}
}

// Close while a spare is being made waits for its end.
func TestSpareInTheMaking(t *testing.T) {
	for range 5 {
		l, err := NewLauncher()
		if err != nil {
			t.Fatal(err)
		}
		l.KeepSpare()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if kids := descendants(os.Getpid()); len(kids) > 0 {
			t.Fatalf("left: %v", kids)
		}
	}
}

// A caller that goes away while the spare is being made does not lose it.
func TestSpareGivenBack(t *testing.T) {
	p := &spares{}
	made := make(chan *spare)
	p.keep(func(context.Context) (*spare, error) { return <-made, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p.take(ctx) != nil {
		t.Error("taken by nobody")
	}
	done := make(chan struct{})
	sp := &spare{s: &Sandbox{done: done}}
	go func() { made <- sp }()
	if got := p.take(t.Context()); got != sp {
		t.Errorf("%v", got)
	}
	// What is being made now is not waited for in vain.
	close(made)
	p.close()
}

// As many descriptors and processes are there after many sandboxes as before.
func TestSpareCyclesLeaveNothing(t *testing.T) {
	l, _ := withSpare(t)
	once := func() {
		t.Run("", func(t *testing.T) {
			b := startBox(t, l, Config{Network: NetworkProxy})
			if err := b.Kill(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
	once()
	waiting(t, l)
	fds := openFDs(t)
	for range 10 {
		once()
	}
	waiting(t, l)
	eventually(t, "descriptors are closed", func() bool { return openFDs(t) <= fds })
	if kids := descendants(os.Getpid()); len(kids) != 2 {
		t.Errorf("not just the spare and its starter of commands: %v", kids)
	}
}

// A spare that nobody needs goes, and the next start brings another.
func TestSpareExpires(t *testing.T) {
	l, sp := withSpare(t)
	l.spares.mu.Lock()
	next := l.spares.next
	l.spares.mu.Unlock()
	l.spares.expire(next)
	if !sp.gone() || l.spares.ready() {
		t.Error("it is still there")
	}
	l.spares.expire(next) // once is enough
	startBox(t, l, Config{}).sh(t, "echo hi")
	if again := waiting(t, l); again.s.PID() == sp.s.PID() {
		t.Error("the same one")
	}
}

// Many at once: each is its own sandbox.
func TestSpareAndManyAtOnce(t *testing.T) {
	l, _ := withSpare(t)
	const n = 6
	boxes := make(chan *box, n)
	for i := range n {
		go func() { boxes <- startBox(t, l, Config{Hostname: fmt.Sprint("n", i)}) }()
	}
	pids := map[int]bool{}
	names := map[string]bool{}
	for range n {
		b := <-boxes
		pids[b.PID()] = true
		names[b.sh(t, "hostname")] = true
	}
	if len(pids) != n || len(names) != n {
		t.Errorf("%d processes, %d names", len(pids), len(names))
	}
}

// A home that is not the one that the launcher saw is not taken.
func TestSpareHome(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root gives the home along")
	}
	l, sp := withSpare(t)
	dir := tempDir(t)
	conf := confOf(Config{Level: client.IsolationNamespace, Home: dir, ID: "x"})
	conf.FDs, conf.HomeDir = sp.fds, fileID{1, 1}
	l.spares.take(t.Context())
	defer sp.discard()
	if err := sendIdentity(sp.conn, conf, nil); err != nil {
		t.Fatal(err)
	}
	if err := readStatus(sp.status); err == nil || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("%v", err)
	}
}

func TestIdentityDescriptors(t *testing.T) {
	in := inherited{Listener: 1, Log: 3}
	if err := in.renumber([]int{7, 8, 9}); err != nil || in.Listener != 7 || in.Log != 9 || in.Home != 0 {
		t.Errorf("%+v %v", in, err)
	}
	for _, bad := range []inherited{{Listener: 4}, {Home: -1}} {
		if err := bad.renumber([]int{7, 8, 9}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

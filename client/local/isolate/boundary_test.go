//go:build linux

package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"abxdash/client"
)

func TestBoundary(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	secret := filepath.Join(tempDir(t), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := startBox(t, l, Config{Hostname: "web-1"})

	t.Run("nothing of the kernel's settings is writable", func(t *testing.T) {
		if got := b.sh(t, "find /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs -writable 2>/dev/null; true"); got != "" {
			t.Errorf("writable: %s", got)
		}
		if got := b.sh(t, "echo x 2>/dev/null >/proc/sys/kernel/core_pattern && echo WRITTEN; true"); got != "" {
			t.Error(got)
		}
	})
	t.Run("system is read-only", func(t *testing.T) {
		for _, dir := range []string{"/usr", "/usr/bin", "/etc", "/", "/var", "/dev", "/lib/"} {
			if got := b.sh(t, "touch "+dir+"/x 2>/dev/null && echo WRITTEN; true"); got != "" {
				t.Errorf("%s is writable", dir)
			}
		}
		for _, cmd := range []string{"mount -o remount,rw /usr", "mount -o remount,bind,rw /usr", "umount /usr", "umount /proc/sys", "mount -t tmpfs x /mnt", "unshare -m true", "unshare -Ur true", "unshare -n true", "chroot / true", "hostname other", "mknod n c 1 3"} {
			if got := b.do(t, runRequest{Argv: []string{"sh", "-c", cmd}}); got.Exit.Code == 0 {
				t.Errorf("%s was allowed", cmd)
			}
		}
	})
	t.Run("host files are not there", func(t *testing.T) {
		root, err := user.LookupId("0")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{
			secret, root.HomeDir, HomePath + "/../.." + root.HomeDir, ofPID1("root", root.HomeDir), ofPID1("environ"), ofPID1("fd", "3"),
			"/etc/shadow", "/etc/ssl/private", "/sys/kernel", "/var/run/docker.sock", "/old_root",
		} {
			if got := b.do(t, runRequest{Argv: []string{"sh", "-c", "ls " + p + "/ || cat " + p}}); got.Exit.Code == 0 {
				t.Errorf("%s can be seen: %s", p, got.Stdout)
			}
		}
		if got := b.sh(t, "cat /proc/self/mountinfo /proc/1/cmdline; env"); strings.Contains(got, b.home) {
			// The root of the home's mount shows where it lies on its file system.
			for line := range strings.Lines(got) {
				if strings.Contains(line, b.home) && !strings.Contains(line, " "+HomePath+" ") {
					t.Errorf("host path in %q", line)
				}
			}
		}
		if got := b.sh(t, "ls -A /"); got != "bin\ndev\netc\nhome\nlib\nlib64\nmnt\nopt\nproc\nrun\nsbin\nsrv\nsys\ntmp\nusr\nvar\n" {
			t.Logf("root: %s", strings.ReplaceAll(got, "\n", " "))
		}
	})
	t.Run("no capability, own ids", func(t *testing.T) {
		if got := b.sh(t, "grep CapEff /proc/self/status; id -u; id -g; whoami; hostname; echo ~"); got != "CapEff:\t0000000000000000\n1000\n1000\nuser\nweb-1\n/home/user\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("PID 1 cannot be touched", func(t *testing.T) {
		for _, sig := range []string{"KILL", "TERM", "INT", "QUIT", "HUP", "USR1", "SEGV", "BUS", "ABRT", "STOP", "ALRM", "PIPE", "TRAP"} {
			b.sh(t, "kill -"+sig+" 1; true")
		}
		b.sh(t, "echo still here")
		if got := b.do(t, runRequest{Argv: []string{"sh", "-c", "cat /proc/1/mem || readlink /proc/1/fd/1 || readlink /proc/1/exe || readlink /proc/1/root || cat /proc/1/maps /proc/1/environ"}}); got.Exit.Code == 0 {
			t.Errorf("PID 1 can be read: %s", got.Stdout)
		}
	})
	t.Run("neither can the starter of commands, nor the namespaces outside", func(t *testing.T) {
		find := `for p in /proc/[0-9]*; do case "$(cat $p/cmdline)" in abxdash-spawn*) break ;; esac; done; `
		if got := b.sh(t, find+"tr -d '\\0' <$p/cmdline"); got != "abxdash-spawn" {
			t.Fatalf("not found: %q", got)
		}
		for _, cmd := range []string{"cat $p/maps", "cat $p/environ", "readlink $p/fd/2", "echo >>$p/fd/2", "readlink $p/exe", "nsenter -t 1 -m true", "nsenter -t 1 -U true", "nsenter -t ${p#/proc/} -U true"} {
			if got := b.do(t, runRequest{Argv: []string{"sh", "-c", find + cmd}}); got.Exit.Code == 0 {
				t.Errorf("%s was allowed: %s", cmd, got.Stdout)
			}
		}
	})
	t.Run("host ids", func(t *testing.T) {
		b.do(t, runRequest{Argv: []string{"sleep", "300"}, Leave: true})
		for _, d := range append(descendants(b.PID()), b.PID()) {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(status)) {
				if (strings.HasPrefix(line, "Uid:") || strings.HasPrefix(line, "Gid:") || strings.HasPrefix(line, "Groups:")) && os.Geteuid() == 0 {
					for _, id := range strings.Fields(line)[1:] {
						if id == "0" {
							t.Errorf("host id 0 in process %d: %s", d, line)
						}
					}
				}
			}
		}
	})
	t.Run("temporary folders", func(t *testing.T) {
		b.sh(t, "for d in /tmp /var/tmp /dev/shm /run; do echo x >$d/f && rm $d/f || exit 1; done; echo x >/dev/null; head -c 4 /dev/urandom >/dev/null; ls /dev/fd/ >/dev/null; echo x >/dev/stdout")
	})
}

// Two sandboxes of one launcher are the same id to the kernel; nothing of one may
// be reached from the other all the same, nor the socket of its agent.
func TestSandboxesApart(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	a, b := startBox(t, l, Config{}), startBox(t, l, Config{})
	a.sh(t, "echo s3cret >f")
	mark := fmt.Sprintf("mark-apart-%d", a.PID())
	a.do(t, runRequest{Argv: []string{"sh", "-c", "while :; do sleep 1; done", mark}, Leave: true})
	eventually(t, "it runs", func() bool { return len(processesWith(t, mark)) > 0 })
	for _, p := range []string{a.home, a.home + "/f", a.sock, b.sock, filepath.Dir(a.sock)} {
		if out := b.do(t, runRequest{Argv: []string{"ls", p}}); out.Exit.Code == 0 {
			t.Errorf("%s can be seen: %s", p, out.Stdout)
		}
	}
	if out := b.do(t, runRequest{Argv: []string{"sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"}}); strings.Contains(string(out.Stdout), mark) {
		t.Errorf("its processes can be seen: %s", out.Stdout)
	}
	// It may take the starter of commands along before that has answered.
	b.do(t, runRequest{Argv: []string{"sh", "-c", "kill -9 -1"}})
	b.do(t, runRequest{Argv: []string{"sh", "-c", fmt.Sprintf("kill -9 %d", a.PID())}})
	if len(processesWith(t, mark)) == 0 {
		t.Error("its processes were killed")
	}
}

func TestNetworkOff(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if _, err := connectTo(t, b, port); err == nil {
		t.Error("a port of the host is reached")
	}
	if got := b.sh(t, "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '"); got != "lo\n" {
		t.Errorf("interfaces: %q", got)
	}
	host := startBox(t, l, Config{Network: NetworkHost})
	conn, err := connectTo(t, host, port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

const pyServer = `
import socket, sys
fam = socket.AF_INET6 if sys.argv[3] == "6" else socket.AF_INET
s = socket.socket(fam); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("::1" if sys.argv[3] == "6" else "127.0.0.1", int(sys.argv[1]))); s.listen()
open("ready", "w").close()
while True:
    c, _ = s.accept()
    data = b""
    while True:
        d = c.recv(65536)
        if not d: break
        data += d
    c.sendall(sys.argv[2].encode() + b":" + str(len(data)).encode()); c.close()
`

// connectTo opens a port of the sandbox through its agent.
func connectTo(t testing.TB, b *box, port string) (*net.UnixConn, error) {
	t.Helper()
	c, err := b.dial(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "CONNECT 127.0.0.1:%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n", port, port); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = c.Close()
		return nil, errors.New(resp.Status)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok || br.Buffered() > 0 {
		t.Fatal("unexpected answer")
	}
	return uc, nil
}

// Two sandboxes listen on the same port; half-closes pass both ways.
func TestPorts(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3 here")
	}
	l := newLauncher(t)
	wantNamespace(t, l)
	for _, family := range []string{"4", "6"} {
		if family == "6" && unix.Access("/proc/net/if_inet6", unix.R_OK) != nil {
			continue
		}
		boxes := []*box{startBox(t, l, Config{}), startBox(t, l, Config{})}
		for i, b := range boxes {
			out := b.do(t, runRequest{Argv: []string{"/usr/bin/python3", "-c", pyServer, "9000", fmt.Sprint("box", i), family}, Leave: true})
			if out.Err != "" {
				t.Fatal(out.Err)
			}
		}
		for i, b := range boxes {
			eventually(t, "the server listens", func() bool { _, err := os.Stat(filepath.Join(b.home, "ready")); return err == nil })
			c, err := connectTo(t, b, "9000")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, strings.Repeat("x", 1<<20)); err != nil {
				t.Fatal(err)
			}
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if want := fmt.Sprintf("box%d:1048576", i); err != nil || string(got) != want {
				t.Errorf("%q %v, want %q", got, err, want)
			}
			_ = c.Close()
			if _, err := connectTo(t, b, "9001"); err == nil || !strings.HasPrefix(err.Error(), "502") {
				t.Errorf("closed port: %v", err)
			}
		}
	}
}

// actProbe reports what Probe finds where user namespaces are switched off.
func actProbe() error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return err
	}
	l, err := NewLauncher()
	if err != nil {
		return err
	}
	defer l.Close()
	res, err := l.Probe(context.Background(), client.Isolation(os.Getenv("ISOLATE_TEST_LEVEL")))
	fmt.Printf("level=%s code=%s err=%v", res.Level, client.CodeOf(err), err)
	for _, a := range res.Tried {
		fmt.Printf(" tried=%s(%s)", a.Level, a.Reason)
	}
	return nil
}

func TestProbe(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	res, err := l.Probe(context.Background(), "")
	if err != nil || res.Level != client.IsolationNamespace || len(res.Tried) != 0 {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := l.Probe(context.Background(), client.IsolationContainer); client.CodeOf(err) != client.CodeIsolation {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Probe(ctx, ""); err == nil {
		t.Error("probed with a context that had ended")
	}
}

// The probe is real: with user namespaces switched off (here in a namespace
// around the test) it falls back and says why, or fails where it must not.
func TestProbeFallsBack(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	fallback := client.IsolationLandlock
	if landlockABI() == 0 {
		fallback = client.IsolationProcess
	}
	inside := []struct {
		name    string
		uid     int
		min     client.Isolation
		want    []string
		wantNot string
	}{
		{"ordinary user", 1000, "", []string{"level=" + string(fallback) + " ", "err=<nil>", "tried=namespace("}, "tried=process("},
		{"ordinary user with a minimum", 1000, client.IsolationNamespace, []string{"level= ", "code=E9011", "tried=namespace("}, "tried=process"},
		{"root", 0, "", []string{"level= ", "code=E9011", "tried=namespace(", "tried=process(root without", "tried=process+landlock("}, "err=<nil>"},
		{"root who insists", 0, client.IsolationProcess, []string{"level=" + string(fallback) + " ", "err=<nil>", "tried=namespace("}, "tried=process("},
	}
	for _, c := range inside {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			uid, gid := os.Geteuid(), os.Getegid()
			if uid == 0 {
				uid, gid = nobody, nobody
				if err := os.Chown(dir, uid, gid); err != nil {
					t.Fatal(err)
				}
			}
			cmd := reexec(t, nil, []string{actEnv + "=probe", "ISOLATE_TEST_LEVEL=" + string(c.min), "TMPDIR=" + dir})
			cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: c.uid, HostID: uid, Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: c.uid, HostID: gid, Size: 1}}
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid), NoSetGroups: true}
			cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_RESOURCE}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in %s", want, out)
				}
			}
			if strings.Contains(string(out), c.wantNot) {
				t.Errorf("%q in %s", c.wantNot, out)
			}
		})
	}
}

// A fork bomb meets the limit; the sandbox lives on.
func TestForkBomb(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{Limits: Limits{Processes: 40}})
	out := b.do(t, runRequest{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done"}})
	if !strings.Contains(string(out.Stderr), "fork") {
		t.Errorf("200 processes were made: %+v %s", out.Exit, out.Stderr)
	}
	if n := len(descendants(b.PID())); n < 20 || n > 60 {
		t.Errorf("%d processes", n)
	}
}

// ofPID1 is a path in what the kernel shows of the first process.
func ofPID1(names ...string) string { return filepath.Join(append([]string{"/proc/1"}, names...)...) }

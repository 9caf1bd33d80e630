//go:build linux

package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"abxdash/client"
)

// fiveDaemons starts what is hard to kill: a double fork, a session of its own,
// a cleared environment, nohup, and one in the foreground. mark is in the
// arguments of each.
func fiveDaemons(mark string) string {
	sleeper := "sh -c 'while :; do sleep 1; done' " + mark
	return fmt.Sprintf(`
(sh -c "%[1]s & " &) </dev/null >/dev/null 2>&1
setsid %[1]s </dev/null >/dev/null 2>&1 &
env -i setsid /bin/sh -c 'while :; do /bin/sleep 1; done' %[2]s </dev/null >/dev/null 2>&1 &
nohup %[1]s </dev/null >/dev/null 2>&1 &
exec %[1]s
`, sleeper, mark)
}

func startDaemons(t *testing.T, b *box, mark string) {
	t.Helper()
	out := b.do(t, runRequest{Argv: []string{"sh", "-c", fiveDaemons(mark)}, Leave: true})
	if out.Err != "" {
		t.Fatal(out.Err)
	}
	eventually(t, "five daemons run", func() bool { return len(daemons(t, mark)) >= 5 })
}

// daemons lists those with the mark as an argument of its own, not inside a script.
func daemons(t testing.TB, mark string) []string {
	t.Helper()
	var out []string
	for _, p := range processesWith(t, mark) {
		if strings.HasSuffix(p, `\x00`+mark+`\x00"`) {
			out = append(out, p)
		}
	}
	return out
}

func TestKillLeavesNothing(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		mark := fmt.Sprintf("mark-kill-%d-%d", os.Getpid(), b.PID())
		startDaemons(t, b, mark)
		if err := b.Kill(context.Background()); err != nil {
			t.Fatal(err)
		}
		// At once, not eventually: that is what Kill promises.
		if left := processesWith(t, mark); len(left) > 0 {
			t.Errorf("left: %s", left)
		}
		select {
		case <-b.Done():
		default:
			t.Error("not done after Kill")
		}
		if err := b.Kill(context.Background()); err != nil {
			t.Errorf("second kill: %v", err)
		}
	})
}

// A sandbox that was stopped by a signal from outside must end all the same.
func TestKillOfStoppedSandbox(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		if err := syscall.Kill(b.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := b.Kill(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// actServer is a stand-in for the local server: it starts one sandbox with five
// daemons, reports, and waits to be killed.
func actServer() error {
	level := client.Isolation(os.Getenv("ISOLATE_TEST_LEVEL"))
	l, err := NewLauncher()
	if err != nil {
		return err
	}
	dir := os.Getenv("ISOLATE_TEST_DIR")
	sock := filepath.Join(dir, "agent.sock")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: sock, Net: "unix"})
	if err != nil {
		return err
	}
	lf, err := ln.File()
	if err != nil {
		return err
	}
	if os.Getenv(spareEnv) != "" {
		l.KeepSpare()
	}
	s, err := l.Start(context.Background(), Config{ID: "x", Level: level, Home: filepath.Join(dir, "home"), Listener: lf})
	if err != nil {
		return err
	}
	fmt.Printf("%d %d\n", s.PID(), s.StartTime())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startServer runs actServer and returns it with the sandbox that it holds.
func startServer(t *testing.T, level client.Isolation) (*exec.Cmd, Identity, *box) {
	t.Helper()
	dir := tempDir(t)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := reexec(t, nil, []string{actEnv + "=server", "ISOLATE_TEST_LEVEL=" + string(level), "ISOLATE_TEST_DIR=" + dir, spareEnv + "=" + os.Getenv(spareEnv)})
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	a, z, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err1 := strconv.Atoi(a)
	start, err2 := strconv.ParseUint(z, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	b := &box{sock: filepath.Join(dir, "agent.sock")}
	b.http = boxClient(t, b)
	return cmd, Identity{PID: pid, StartTime: start}, b
}

func TestServerKilled(t *testing.T) {
	for _, level := range allLevels() {
		t.Run(string(level), func(t *testing.T) {
			l := newLauncher(t)
			if _, err := l.Probe(context.Background(), level); err != nil || level != client.IsolationNamespace && os.Geteuid() == 0 {
				t.Skip("not to be had here: ", err)
			}
			cmd, id, b := startServer(t, level)
			mark := fmt.Sprintf("mark-server-%d", id.PID)
			startDaemons(t, b, mark)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "nothing is left", func() bool { return len(processesWith(t, mark)) == 0 && !alive(id) })
		})
	}
}

// A janitor ends what another process started, by pid and start time.
func TestKillByIdentity(t *testing.T) {
	for _, level := range allLevels() {
		t.Run(string(level), func(t *testing.T) {
			l := newLauncher(t)
			if _, err := l.Probe(context.Background(), level); err != nil || level != client.IsolationNamespace && os.Geteuid() == 0 {
				t.Skip("not to be had here: ", err)
			}
			_, id, b := startServer(t, level)
			mark := fmt.Sprintf("mark-janitor-%d", id.PID)
			startDaemons(t, b, mark)
			other := id
			other.StartTime++
			if err := KillByIdentity(context.Background(), level, other); err != nil {
				t.Fatal(err)
			}
			if !alive(id) {
				t.Fatal("another start time was killed")
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := KillByIdentity(ctx, level, id); err != nil {
				t.Fatal(err)
			}
			if left := processesWith(t, mark); len(left) > 0 {
				t.Errorf("left: %s", left)
			}
			if err := KillByIdentity(ctx, level, id); err != nil {
				t.Errorf("second time: %v", err)
			}
		})
	}
}

// Closing the launcher ends its sandboxes of level namespace.
func TestCloseEndsSandboxes(t *testing.T) {
	l, err := NewLauncher()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if b.Err() == nil {
		t.Error("ended in order although it was killed")
	}
	if _, err := l.Start(context.Background(), Config{Home: b.home, Listener: os.Stdin}); err == nil {
		t.Error("started after Close")
	}
}

func TestCyclesLeaveNothing(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	n := 100
	if testing.Short() {
		n = 10
	}
	once := func() {
		t.Run("", func(t *testing.T) {
			b := startBox(t, l, Config{})
			b.sh(t, "echo x >f")
			if err := b.Kill(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
	once()
	fds, mounts := openFDs(t), mountCount(t)
	for range n {
		once()
	}
	if got := mountCount(t); got != mounts {
		t.Errorf("%d mounts, %d before", got, mounts)
	}
	eventually(t, "descriptors are closed", func() bool { return openFDs(t) <= fds })
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("left: %v", kids)
	}
}

func openFDs(t *testing.T) int {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

func mountCount(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), os.TempDir()+"/iso") // others on this machine mount things, too
}

//go:build linux

package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"abxdash/client"
)

func TestPauseResumeObserve(t *testing.T) {
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	run(t, p, sb.ID, "(i=0; while :; do i=$((i+1)); echo $i > ~/count; sleep 0.02; done) >/dev/null 2>&1 &")
	count := func() string { return run(t, p, sb.ID, "cat ~/count 2>/dev/null || true") }
	eventually(t, "it counts", func() bool { return count() != "" })

	pauser := p.Sandboxes().(client.Pauser)
	if err := pauser.Pause(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	if err := pauser.Pause(t.Context(), sb.ID); !errors.Is(err, client.ErrConflict) {
		t.Errorf("paused twice: %v", err)
	}
	if got, err := p.Sandboxes().Get(t.Context(), sb.ID); err != nil || got.State != client.StatePaused {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Commands().Start(t.Context(), sb.ID, client.Command{Argv: []string{"true"}}); err == nil {
		t.Error("a command starts in a paused sandbox")
	}
	if err := pauser.Resume(t.Context(), sb.ID, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	before := count()
	eventually(t, "it counts on", func() bool { return count() != before })

	points, err := p.Metrics(t.Context(), sb.ID, time.Time{}, time.Time{})
	if err != nil || len(points) == 0 || points[0].MemUsed <= 0 || points[0].CPUCount <= 0 {
		t.Errorf("metrics %+v, %v", points, err)
	}
	var words []string
	eventually(t, "the log tells of processes", func() bool {
		entries, err := p.Logs(t.Context(), sb.ID, time.Time{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		words = nil
		for _, e := range entries {
			words = append(words, e.Message)
		}
		return strings.Contains(strings.Join(words, ","), "process ended")
	})
	for _, want := range []string{"created", "process started", "paused", "resumed"} {
		if !strings.Contains(strings.Join(words, ","), want) {
			t.Errorf("the log lacks %q: %v", want, words)
		}
	}

	// A paused one can be killed, and leaves nothing (newProvider checks).
	if err := pauser.Pause(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotOutlivesServer(t *testing.T) {
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	run(t, p, sb.ID, "mkdir -p ~/d/closed && echo kept > ~/d/f && chmod 000 ~/d/f && ln -s /etc/hostname ~/d/l && mkfifo ~/d/pipe && chmod 500 ~/d/closed")
	snap, err := p.Snapshot(t.Context(), sb.ID, "saved")
	if err != nil || snap.ID != "saved:default" {
		t.Fatalf("%+v, %v", snap, err)
	}
	if err := p.Stop(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	list, _, err := p.Snapshots(t.Context(), client.SnapshotQuery{})
	if err != nil || len(list) != 1 || list[0].ID != snap.ID {
		t.Errorf("without a server: %+v, %v", list, err)
	}
	if st, _ := p.Status(t.Context()); st.Running {
		t.Error("looking started a server")
	}
	again := create(t, p, client.CreateSpec{Template: "saved"})
	got := run(t, p, again.ID, "stat -c %a ~/d/f ~/d/closed; chmod 600 ~/d/f; cat ~/d/f; readlink ~/d/l; test -e ~/d/pipe || echo no pipe; id -un; touch ~/d/new")
	if want := "0\n500\nkept\n/etc/hostname\nno pipe\nuser\n"; got != want {
		t.Errorf("restored:\n%s\nwant:\n%s", got, want)
	}
	if again.Template != "saved" {
		t.Errorf("template %q", again.Template)
	}
	if err := p.DeleteSnapshot(t.Context(), "saved"); err != nil {
		t.Error(err)
	}
	if err := p.DeleteSnapshot(t.Context(), "saved"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestKilledJanitorIsReplaced(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	create(t, p, client.CreateSpec{})
	lock := p.lockHolder().Instance
	pidOf := func() int {
		list := processesWith(lock)
		if len(list) != 1 {
			return 0
		}
		pid, err := strconv.Atoi(strings.Fields(list[0])[0])
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	first := pidOf()
	if first == 0 {
		t.Fatalf("janitors: %v", processesWith(lock))
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another janitor", func() bool { now := pidOf(); return now != 0 && now != first })
	// It does the work: the server is killed, and newProvider finds nothing left.
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its instance goes", func() bool { return !there(lock) })
}

func TestFoldersOfTheHost(t *testing.T) {
	p := newProvider(t, Config{})
	project := tempRoot(t)
	// As root the sandbox's user is another one on the host: what is shown must
	// be open to others.
	if err := os.Chmod(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "f"), []byte("from the host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sb := create(t, p, client.CreateSpec{Folders: []client.HostFolder{
		{Host: project, Target: "/mnt/p", ReadOnly: true}, {Host: project, Target: "/home/user/copy", Copy: true},
	}})
	got := run(t, p, sb.ID, "cat /mnt/p/f copy/f; touch /mnt/p/x 2>/dev/null || echo read-only; echo changed > copy/f")
	if want := "from the host\nfrom the host\nread-only\n"; got != want {
		t.Errorf("%q", got)
	}
	if data, err := os.ReadFile(filepath.Join(project, "f")); err != nil || string(data) != "from the host\n" {
		t.Errorf("the original: %q, %v", data, err)
	}
}

//go:build linux

package isolate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"abxdash/client"
)

// roundsEnv asks TestRounds for that many rounds; CI runs 200.
const roundsEnv = "ISOLATE_TEST_ROUNDS"

func roundCount(t *testing.T) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil {
		return n
	}
	if testing.Short() {
		t.Skip("short")
	}
	return 15
}

// TestRounds ends sandboxes with five daemons each in every way there is, at every
// level, some of them paused; nothing may be left of any.
func TestRounds(t *testing.T) {
	n := roundCount(t)
	levels := levelsForRounds(t)
	p := findParents()
	t.Logf("%d rounds at %v; cgroups: version 2 %t, of version 1 %v, none because: %q", n, levels, p.v2 != "", slices.Sorted(maps.Keys(p.v1)), p.missing)
	ends := []struct {
		name string
		run  func(t *testing.T, level client.Isolation, mark string)
	}{
		{"kill", roundKill},
		{"kill while paused", roundKillPaused},
		{"first process killed", roundInitKilled},
		{"server killed", roundServerKilled},
		{"killed by the janitor", roundJanitor},
	}
	for i := range n {
		level := levels[i/len(ends)%len(levels)]
		end := ends[i%len(ends)]
		if level != client.IsolationNamespace && end.name == "first process killed" && findParents().v2 == "" {
			// The one way that these levels do not cover without a cgroup; doc.go says so.
			level = client.IsolationNamespace
		}
		t.Run(fmt.Sprintf("%s/%s", level, end.name), func(t *testing.T) {
			mark := fmt.Sprintf("mark-round-%d-%d", os.Getpid(), i)
			end.run(t, level, mark)
			eventually(t, "no process is left", func() bool { return len(processesWith(t, mark)) == 0 })
		})
		if t.Failed() {
			return
		}
	}
	if err := SweepGroups(); err != nil { // of servers that this test killed before they could
		t.Error(err)
	}
	parents := findParents()
	for _, dir := range append([]string{parents.v2}, values(parents.v1)...) {
		left, err := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range left {
			if id, _, ok := groupOwner(filepath.Base(g)); ok && (id.PID == os.Getpid() || !alive(id)) {
				t.Errorf("left: %s", g)
			}
		}
	}
	if n := mountCount(t); n > 0 {
		t.Errorf("%d mounts left", n)
	}
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("children left: %v", kids)
	}
}

func levelsForRounds(t *testing.T) []client.Isolation {
	t.Helper()
	l := newLauncher(t)
	var out []client.Isolation
	for _, level := range allLevels() {
		if _, err := l.Probe(context.Background(), level); err == nil && (level == client.IsolationNamespace || os.Geteuid() != 0) {
			out = append(out, level)
		}
	}
	if len(out) == 0 {
		t.Skip("no level here")
	}
	return out
}

// roundBox is a sandbox with its daemons.
func roundBox(t *testing.T, level client.Isolation, mark string) *box {
	l := newLauncher(t)
	if level == client.IsolationNamespace {
		l.KeepSpare() // it is this sandbox, and another one when that ends
	}
	b := startBox(t, l, Config{Level: level})
	startDaemons(t, b, mark)
	return b
}

func roundKill(t *testing.T, level client.Isolation, mark string) {
	if err := roundBox(t, level, mark).Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("left after Kill: %s", left)
	}
}

func roundKillPaused(t *testing.T, level client.Isolation, mark string) {
	b := roundBox(t, level, mark)
	if err := b.Pause(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := b.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("left after Kill: %s", left)
	}
}

func roundInitKilled(t *testing.T, level client.Isolation, mark string) {
	b := roundBox(t, level, mark)
	if err := syscall.Kill(b.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("left after the first process: %s", left)
	}
}

func roundServerKilled(t *testing.T, level client.Isolation, mark string) {
	cmd, id, b := startServer(t, level)
	startDaemons(t, b, mark)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sandbox is gone", func() bool { return !alive(id) })
	_ = cmd.Wait()
	if err := KillByIdentity(context.Background(), level, id); err != nil {
		t.Fatal(err)
	}
}

func roundJanitor(t *testing.T, level client.Isolation, mark string) {
	_, id, b := startServer(t, level)
	startDaemons(t, b, mark)
	if err := KillByIdentity(context.Background(), level, id); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("left after KillByIdentity: %s", left)
	}
}

//go:build linux

package isolate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

// meansHere runs f with and without cgroups, where there are any, at each level.
func meansHere(t *testing.T, f func(t *testing.T, l *Launcher, level client.Isolation)) {
	t.Helper()
	for _, level := range allLevels() {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cgroups=%v", level, !bare), func(t *testing.T) {
				l := newLauncher(t)
				if _, err := l.Probe(context.Background(), level); err != nil {
					t.Skip("not to be had here: ", err)
				}
				switch {
				case bare:
					l.parents = &groupParents{missing: "left out by the test"}
				case l.parents.missing != "":
					t.Skip(l.parents.missing)
				}
				f(t, l, level)
			})
		}
	}
}

// counter is a file in the home that a command counts up in.
func counter(t testing.TB, b *box) func() int {
	t.Helper()
	out := b.do(t, runRequest{Leave: true, Argv: []string{"sh", "-c", "i=0; while :; do i=$((i+1)); echo $i >count.new; mv count.new count; done"}})
	if out.Err != "" {
		t.Fatal(out.Err)
	}
	read := func() int {
		text, err := os.ReadFile(filepath.Join(b.home, "count"))
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return n
	}
	eventually(t, "the counter counts", func() bool { return read() > 0 })
	return read
}

func TestPause(t *testing.T) {
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		ctx := context.Background()
		b := startBox(t, l, Config{Level: level})
		count := counter(t, b)
		t.Logf("%+v", b.Means())
		if want := BySignals; l.parents.missing != "" && b.Means().Pause != want {
			t.Errorf("pause by %q, want %q", b.Means().Pause, want)
		}
		for range 3 {
			if err := b.Pause(ctx); err != nil {
				t.Fatal(err)
			}
			if err := b.Pause(ctx); err != nil || !b.Paused() {
				t.Fatal("second pause: ", err)
			}
			before := count()
			// A command is refused at once, and the agent still answers.
			if out := b.do(t, runRequest{Argv: []string{"true"}}); !strings.Contains(out.Err, errPaused.Error()) {
				t.Errorf("a command while paused: %+v", out)
			}
			if _, err := b.Usage(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Millisecond) // long enough for hundreds of counts
			if after := count(); after != before {
				t.Fatalf("counted from %d to %d while paused", before, after)
			}
			if err := b.Resume(ctx); err != nil {
				t.Fatal(err)
			}
			if err := b.Resume(ctx); err != nil || b.Paused() {
				t.Fatal("second resume: ", err)
			}
			eventually(t, "it goes on", func() bool { return count() > before })
			b.sh(t, "true")
		}
	})
}

func TestKillWhilePaused(t *testing.T) {
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		b := startBox(t, l, Config{Level: level})
		mark := fmt.Sprintf("mark-paused-%d-%d", os.Getpid(), b.PID())
		startDaemons(t, b, mark)
		if err := b.Pause(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := b.Kill(context.Background()); err != nil {
			t.Fatal(err)
		}
		if left := processesWith(t, mark); len(left) > 0 {
			t.Errorf("left: %s", left)
		}
		if err := b.Pause(context.Background()); err == nil {
			t.Error("paused after the end")
		}
		wantNoGroups(t, l)
	})
}

// Processes that the user stopped stay stopped.
func TestResumeKeepsStopped(t *testing.T) {
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		b := startBox(t, l, Config{Level: level})
		out := b.do(t, runRequest{Argv: []string{"sh", "-c", "kill -STOP $$; echo on"}, Leave: true})
		stopped := func() bool {
			return strings.HasPrefix(b.sh(t, "cut -d' ' -f3 /proc/"+strconv.Itoa(out.PID)+"/stat"), "T")
		}
		eventually(t, "it stops itself", stopped)
		if err := b.Pause(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := b.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		if !stopped() {
			t.Error("resumed what the user had stopped")
		}
	})
}

// A pause that cannot be had in time leaves the sandbox running.
func TestPauseGivesUp(t *testing.T) {
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		b := startBox(t, l, Config{Level: level})
		count := counter(t, b)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := b.Pause(ctx); err == nil || b.Paused() {
			t.Fatal("paused: ", err)
		}
		before := count()
		eventually(t, "it still counts", func() bool { return count() > before })
		b.sh(t, "true")
	})
}

// wantNoGroups fails when one of this process's groups is left.
func wantNoGroups(t testing.TB, l *Launcher) {
	t.Helper()
	dirs := []string{l.parents.v2}
	for _, d := range l.parents.v1 {
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		if d == "" {
			continue
		}
		left, err := filepath.Glob(filepath.Join(d, l.parents.name+"*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("groups left: %s", left)
		}
	}
}

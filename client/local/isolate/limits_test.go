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

// eat is a program that takes and touches that many MiB.
func eat(mib int) []string {
	return []string{"/usr/bin/python3", "-c", fmt.Sprintf("b = bytearray(%d << 20); b[::4096] = b'x' * len(b[::4096]); print('ate')", mib)}
}

func needPython(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3 here")
	}
}

// By a cgroup or by rlimit: what takes more memory than allowed does not get it.
func TestMemoryLimit(t *testing.T) {
	needPython(t)
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		// By rlimit the starter of commands lives within it too, and under the race
		// detector each of its threads, more of them on a busy machine, has 8 MiB of stack.
		b := startBox(t, l, Config{Level: level, Limits: Limits{MemoryMB: 192}})
		t.Log(b.Means().Memory)
		if b.Means().Memory == "" {
			t.Skip("this level has no means for it here")
		}
		if out := b.do(t, runRequest{Argv: eat(500)}); out.Exit.Code == 0 || strings.Contains(string(out.Stdout), "ate") {
			t.Errorf("500 MiB were had: %+v %s", out.Exit, out.Stderr)
		}
		if out := b.do(t, runRequest{Argv: eat(30)}); out.Exit.Code != 0 {
			t.Errorf("30 MiB were not had: %+v %s", out.Exit, out.Stderr)
		}
	})
}

func TestCPULimit(t *testing.T) {
	needPython(t)
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{Limits: Limits{CPUs: 0.2}})
	if b.Means().CPU == "" {
		t.Skip("no cgroup for it here: ", l.parents.missing)
	}
	// The program's own time against the wall's; a busy machine only lowers it.
	out := b.do(t, runRequest{Argv: []string{"/usr/bin/python3", "-c", `
import time
w, c = time.monotonic(), time.process_time()
while time.monotonic() - w < 1.5: pass
print((time.process_time() - c) / (time.monotonic() - w))`}})
	share, err := strconv.ParseFloat(strings.TrimSpace(string(out.Stdout)), 64)
	if err != nil || share > 0.35 {
		t.Errorf("got %v of a processor, %v %s", share, err, out.Stderr)
	}
}

// A fork bomb is bounded, and ends with its sandbox.
func TestForkBombEnds(t *testing.T) {
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		b := startBox(t, l, Config{Level: level, Limits: Limits{Processes: 60}})
		if b.Means().PIDs == "" {
			t.Skip("nothing bounds it at this level here: it would be the machine's")
		}
		mark := fmt.Sprintf("mark-bomb-%d-%d", os.Getpid(), b.PID())
		// Each makes two more for as long as it lives; those that cannot try again.
		bomb := "trap '' TERM HUP; while :; do setsid sh -c \"$0\" \"$0\" " + mark + " & sh -c \"$0\" \"$0\" " + mark + " & wait; done"
		out := b.do(t, runRequest{Argv: []string{"sh", "-c", bomb, bomb, mark}, Leave: true})
		if out.Err != "" {
			t.Fatal(out.Err)
		}
		eventually(t, "the bomb went off", func() bool { return len(descendants(b.PID())) > 30 })
		if n := len(descendants(b.PID())); n > 100 {
			t.Errorf("%d processes", n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := b.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		if left := processesWith(t, mark); len(left) > 0 {
			t.Errorf("left: %s", left)
		}
		wantNoGroups(t, l)
	})
}

// The groups of a launcher that was killed are removed by the next one.
func TestGroupsOfDeadLauncher(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	if l.parents.missing != "" {
		t.Skip(l.parents.missing)
	}
	cmd, id, _ := startServer(t, client.IsolationNamespace)
	name, err := launcherName(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	groups := func() []string {
		var all []string
		for _, d := range append([]string{l.parents.v2}, values(l.parents.v1)...) {
			if d != "" {
				found, _ := filepath.Glob(filepath.Join(d, name+"*"))
				all = append(all, found...)
			}
		}
		return all
	}
	if len(groups()) == 0 {
		t.Fatal("the sandbox has no group")
	}
	if err := SweepGroups(); err != nil || len(groups()) == 0 {
		t.Fatal("groups of a launcher that lives were removed: ", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is dead", func() bool { return !alive(id) })
	_ = cmd.Wait()
	if err := KillByIdentity(context.Background(), client.IsolationNamespace, id); err != nil {
		t.Fatal(err)
	}
	if left := groups(); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func TestGroupOwner(t *testing.T) {
	for name, want := range map[string]Identity{
		"abxdash-4026531836-12-345-1": {PID: 12, StartTime: 345},
		"abxdash-1-2-3-4":             {PID: 2, StartTime: 3},
		"abxdash-1-2-3":               {},
		"abxdash-1-2-3-4-5":           {},
		"abxdash-x-2-3-4":             {},
		"abxdash--1-2-3":              {},
		"abxdash-tool":                {},
		"":                            {},
	} {
		got, _, ok := groupOwner(name)
		if got != want || ok != (want != Identity{}) {
			t.Errorf("%q: %+v %v, want %+v", name, got, ok, want)
		}
	}
}

func TestUsage(t *testing.T) {
	needPython(t)
	meansHere(t, func(t *testing.T, l *Launcher, level client.Isolation) {
		ctx := context.Background()
		b := startBox(t, l, Config{Level: level})
		look := func() Usage {
			t.Helper()
			u, err := b.Usage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if u.CPUSource == "" || u.Memory == nil || u.MemorySource == "" || u.PIDs == nil || u.PIDsSource == "" {
				t.Fatalf("not known: %+v", u)
			}
			return u
		}
		before := look()
		// Its time must count after it has ended, too.
		b.do(t, runRequest{Argv: []string{"/usr/bin/python3", "-c", "import time\nwhile time.process_time() < 0.3: pass"}})
		after := look()
		if d := after.CPU - before.CPU; d < 250*time.Millisecond || d > 10*time.Second {
			t.Errorf("0.3 s of work counted as %v (%s)", d, after.CPUSource)
		}
		last := after.CPU
		for range 20 {
			b.sh(t, "sh -c true & true; wait")
			if u := look(); u.CPU < last {
				t.Fatalf("time went back from %v to %v", last, u.CPU)
			} else {
				last = u.CPU
			}
		}
		// A process that holds 64 MiB is seen in memory and in the number.
		out := b.do(t, runRequest{Leave: true, Argv: []string{"/usr/bin/python3", "-c", "import time; b = bytearray(64 << 20); b[::4096] = b'x' * len(b[::4096]); open('ate', 'w').close(); time.sleep(300)"}})
		if out.Err != "" {
			t.Fatal(out.Err)
		}
		eventually(t, "it holds memory", func() bool { _, err := os.Stat(filepath.Join(b.home, "ate")); return err == nil })
		now := look()
		if d := int64(*now.Memory) - int64(*after.Memory); d < 50<<20 || d > 200<<20 {
			t.Errorf("64 MiB counted as %d (%s)", d, now.MemorySource)
		}
		if *now.PIDs != *after.PIDs+1 {
			t.Errorf("%d processes, %d before (%s)", *now.PIDs, *after.PIDs, now.PIDsSource)
		}
	})
}

func TestDiskUse(t *testing.T) {
	levelsHere(t, func(t *testing.T, b *box) {
		disk := func() uint64 {
			n, err := b.DiskUse(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := disk()
		b.sh(t, "head -c 3000000 /dev/zero >f; ln f g; ln -s /usr link; mkdir d; head -c 1000000 /dev/zero >d/h; mkdir shut; chmod 0 shut")
		if d := disk() - before; d < 4_000_000 || d > 4_200_000 {
			t.Errorf("4 MB take %d", d)
		}
		b.sh(t, "chmod 700 shut")
	})
}

// What is written for limits of v2, whose controllers a machine may not have.
func TestLimitFilesOfV2(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"pids.max", "memory.max", "memory.swap.max", "cpu.max"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := &group{controllers: wantedControllers(), limit: Limits{MemoryMB: 64, CPUs: 1.5, Processes: 100}}
	if err := g.limitV2(dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"pids.max": "116", "memory.max": "67108864", "memory.swap.max": "0", "cpu.max": "150000 100000"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", file, got, err, want)
		}
	}
}

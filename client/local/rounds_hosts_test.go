//go:build linux

package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"abxdash/client"
)

// roundsEnv asks for that many rounds, of this test as of the one in isolate; CI
// runs 200.
const roundsEnv = "ISOLATE_TEST_ROUNDS"

// TestRoundsOfTheServer ends sandboxes with five kinds of daemons by kill, by the
// end of their lifetime, and with their server by SIGTERM and SIGKILL. No
// process, mount, cgroup or folder may be left of any.
func TestRoundsOfTheServer(t *testing.T) {
	n := 8
	if v, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil {
		n = v
	} else if testing.Short() {
		t.Skip("short")
	}
	for name, end := range map[string]func(*rounds){
		"kill": (*rounds).kill, "lifetime": (*rounds).lifetime,
		"SIGTERM": func(r *rounds) { r.signal(syscall.SIGTERM) }, "SIGKILL": func(r *rounds) { r.signal(syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rounds{t: t, p: newProvider(t, Config{}), n: (n + 3) / 4, servers: map[int]bool{}}
			end(r)
			eventually(t, "the folders go", func() bool {
				left, err := filepath.Glob(filepath.Join(r.p.paths.state, "instances", "*", "sandboxes", "*"))
				return err == nil && len(left) == 0
			})
			// A server that goes on keeps one sandbox ready, which has groups of its own.
			eventually(t, "the cgroups go", func() bool { return len(r.groups()) <= 1 })
			if err := r.p.Stop(t.Context(), true); err != nil {
				t.Error(err)
			}
			eventually(t, "the last cgroups go", func() bool { return len(r.groups()) == 0 })
			t.Logf("%d rounds, %d servers", r.n, len(r.servers))
		})
	}
}

// rounds is one way to end, n times.
type rounds struct {
	t *testing.T
	p *Provider
	n int
	// servers are the pids of the servers that there were.
	servers map[int]bool
}

// begin makes a sandbox with its daemons.
func (r *rounds) begin(lifetime time.Duration) (id client.ID, marker string, server int) {
	r.t.Helper()
	sb := create(r.t, r.p, client.CreateSpec{Lifetime: lifetime})
	st, err := r.p.Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.servers[st.PID] = true
	return sb.ID, daemons(r.t, r.p, sb.ID), st.PID
}

func (r *rounds) none(marker string) {
	r.t.Helper()
	eventually(r.t, "no process is left", func() bool { return len(processesWith(marker)) == 0 })
}

func (r *rounds) kill() {
	for range r.n {
		id, marker, _ := r.begin(0)
		if err := r.p.Sandboxes().Kill(r.t.Context(), id); err != nil {
			r.t.Fatal(err)
		}
		// At once, not eventually: that is what a kill promises.
		if left := processesWith(marker); len(left) > 0 {
			r.t.Fatalf("left after the kill: %v", left)
		}
	}
}

// lifetime ends them ten at a time, since that takes a second at least.
func (r *rounds) lifetime() {
	for left := r.n; left > 0; left -= 10 {
		markers := map[client.ID]string{}
		for range min(left, 10) {
			id, marker, _ := r.begin(0)
			markers[id] = marker
		}
		for id := range markers {
			if err := r.p.Sandboxes().SetLifetime(r.t.Context(), id, time.Second); err != nil {
				r.t.Fatal(err)
			}
		}
		for id, marker := range markers {
			r.none(marker)
			eventually(r.t, "the sandbox is gone", func() bool {
				_, err := r.p.Sandboxes().Get(r.t.Context(), id)
				return errors.Is(err, client.ErrNotFound)
			})
		}
	}
}

// signal ends the server, with one sandbox each time.
func (r *rounds) signal(sig syscall.Signal) {
	for range r.n {
		_, marker, server := r.begin(0)
		if err := syscall.Kill(server, sig); err != nil {
			r.t.Fatal(err)
		}
		r.none(marker)
		eventually(r.t, "the server and its janitor are gone", func() bool {
			return r.p.holder() == 0 && len(processesWith(r.p.paths.state)) == 0
		})
	}
}

// groups are the names of the cgroups of the servers that there were: a sandbox
// has one name, in each hierarchy.
func (r *rounds) groups() map[string]bool {
	out := map[string]bool{}
	for pid := range r.servers {
		for _, pattern := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*"} {
			found, err := filepath.Glob(fmt.Sprintf("%s/abxdash-*-%d-*", pattern, pid))
			if err != nil {
				r.t.Fatal(err)
			}
			for _, dir := range found {
				out[filepath.Base(dir)] = true
			}
		}
	}
	return out
}

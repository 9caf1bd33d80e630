//go:build linux

package local

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/docker/dockertest"
)

// createBudget is product.md §7: create to the first command's output.
const createBudget = 25 * time.Millisecond

// BenchmarkCreateBesideOthers is create to first output through the whole path
// (provider, server, agent), beside `docker run` and bubblewrap to their first
// output, one after the other in one run so that the machine and its load cancel
// out. Ends are not counted. As a person does it there is time between two creates,
// in which the server gets the next sandbox ready; back to back there is none. Above
// a fifth of `docker run` it fails; the 25 ms are for a machine at rest, so they are
// shown and not enforced.
func BenchmarkCreateBesideOthers(b *testing.B) {
	p := newProvider(b, Config{})
	create(b, p, client.CreateSpec{}) // the server is there
	took := map[string]time.Duration{}
	run := func(name string, once func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				once(b)
			}
			took[name] = b.Elapsed() / time.Duration(b.N)
		})
	}
	run("abxdash", func(b *testing.B) {
		b.StopTimer()
		time.Sleep(spareTime)
		b.StartTimer()
		toOutput(b, p)
	})
	run("abxdash back to back", func(b *testing.B) { toOutput(b, p) })
	for name, argv := range map[string][]string{
		"bubblewrap": {"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "echo", "hi"},
		"docker run": dockerRun(b),
	} {
		if len(argv) == 0 || firstOutput(b.Context(), argv, func() {}) != nil {
			b.Logf("%s is not to be had here", name)
			continue
		}
		run(name, func(b *testing.B) {
			err := firstOutput(b.Context(), argv, b.StopTimer)
			b.StartTimer()
			if err != nil {
				b.Fatal(err)
			}
		})
	}
	b.Run("ratios", func(b *testing.B) {
		for b.Loop() { // nothing is measured here
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(took["abxdash"])/float64(createBudget), "of-25ms")
		for name, other := range took {
			if name != "abxdash" {
				b.ReportMetric(float64(took["abxdash"])/float64(other), "of-"+strings.ReplaceAll(name, " ", "-"))
			}
		}
		if load, err := os.ReadFile("/proc/loadavg"); err == nil {
			b.Logf("load %s", load)
		}
		if other := took["docker run"]; other > 0 && took["abxdash"] > other/5 {
			b.Errorf("%v, more than a fifth of docker run's %v", took["abxdash"], other)
		}
	})
}

// spareTime is more than the server takes to have the next sandbox ready again.
const spareTime = 400 * time.Millisecond

// toOutput creates a sandbox and runs a command until its output is there; the
// timer stands still while the sandbox ends.
func toOutput(b *testing.B, p *Provider) {
	sb := create(b, p, client.CreateSpec{Lifetime: time.Hour})
	proc, err := p.Commands().Start(b.Context(), sb.ID, client.Command{Argv: []string{"echo", "hi"}})
	if err != nil {
		b.Fatal(err)
	}
	for {
		f, err := proc.Next()
		if err != nil {
			b.Fatal(err)
		}
		if string(f.Data) == "hi\n" {
			break
		}
	}
	b.StopTimer()
	defer b.StartTimer()
	_ = proc.Close() // it ends with its sandbox
	if err := p.Sandboxes().Kill(b.Context(), sb.ID); err != nil {
		b.Fatal(err)
	}
}

// firstOutput runs a command, calls first when it has said hi, and waits for it.
func firstOutput(ctx context.Context, argv []string, first func()) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.ReadFull(out, make([]byte, len("hi\n")))
	first()
	if werr := cmd.Wait(); err == nil {
		err = werr
	}
	return err
}

// dockerRun is `docker run` with an engine of the test's own, nil where there is
// none.
func dockerRun(b *testing.B) []string {
	b.Helper()
	for _, program := range []string{"docker", "dockerd"} {
		if _, err := exec.LookPath(program); err != nil || os.Geteuid() != 0 {
			return nil
		}
	}
	const image = "abxdash-bench:1"
	host := dockertest.Start(b)
	dockertest.Base(b, host, image)
	return []string{"docker", "-H", host, "run", "--rm", "--network", "none", image, "echo", "hi"}
}

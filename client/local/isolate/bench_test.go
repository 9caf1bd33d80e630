//go:build linux

package isolate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"abxdash/client"
	"abxdash/client/docker/dockertest"
	"abxdash/client/envdpb/process"
	"abxdash/client/envdpb/process/processconnect"
)

// BenchmarkStart is one sandbox from nothing to an answering agent, and its end.
func BenchmarkStart(b *testing.B) {
	for _, level := range allLevels() {
		for _, bare := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/cgroups=%v", level, !bare), func(b *testing.B) { benchmarkStart(b, level, bare) })
		}
	}
}

func benchmarkStart(b *testing.B, level client.Isolation, bare bool) {
	l := newLauncher(b)
	if bare {
		l.parents = &groupParents{missing: "left out by the test"}
	}
	if _, err := l.Probe(context.Background(), level); err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		s := startBox(b, l, Config{Level: level})
		if err := s.Kill(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstOutput is the same with the output of one command.
func BenchmarkFirstOutput(b *testing.B) {
	l := newLauncher(b)
	wantNamespace(b, l)
	for b.Loop() {
		s := startBox(b, l, Config{})
		s.sh(b, "echo hi")
		if err := s.Kill(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstOutputFromSpare is what a person waits for: the spare is there, as
// some time after the last create. Its making and the end are not counted.
func BenchmarkFirstOutputFromSpare(b *testing.B) {
	l := newLauncher(b)
	wantNamespace(b, l)
	l.KeepSpare()
	for b.Loop() {
		b.StopTimer()
		eventually(b, "a spare is there", l.spares.ready)
		b.StartTimer()
		s := startBox(b, l, Config{})
		s.sh(b, "echo hi")
		b.StopTimer()
		if err := s.Kill(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkOthers is start to first output beside what else there is on the
// machine, one after the other in one run, so that the machine and its load cancel
// out. Its last line gives the ratios; above a fifth of `docker run` it fails
// (product.md §7).
func BenchmarkOthers(b *testing.B) {
	took := map[string]float64{}
	run := func(name string, once func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				once(b)
			}
			took[name] = b.Elapsed().Seconds() / float64(b.N)
		})
	}
	l := newLauncher(b)
	wantNamespace(b, l)
	run("abxdash", func(b *testing.B) {
		s := startBox(b, l, Config{})
		s.sh(b, "echo hi")
		if err := s.Kill(context.Background()); err != nil {
			b.Fatal(err)
		}
	})
	for name, argv := range map[string][]string{
		"bubblewrap": {"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "echo", "hi"},
		"docker run": dockerRun(b),
	} {
		if len(argv) == 0 {
			continue
		}
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil || string(out) != "hi\n" {
			b.Logf("%s is left out: %v %s", name, err, out)
			continue
		}
		run(name, func(b *testing.B) {
			if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.Run("ratios", func(b *testing.B) {
		for b.Loop() { // nothing is measured here
		}
		b.ReportMetric(0, "ns/op")
		for name, other := range took {
			if name != "abxdash" && other > 0 {
				b.ReportMetric(took["abxdash"]/other, "of-"+strings.ReplaceAll(name, " ", "-"))
			}
		}
		if other := took["docker run"]; other > 0 && took["abxdash"] > other/5 {
			b.Errorf("%.1f ms, more than a fifth of docker run's %.1f ms", 1000*took["abxdash"], 1000*other)
		}
	})
}

// dockerRun is `docker run` with an engine of the test's own; nil where there is
// none.
func dockerRun(b *testing.B) []string {
	if _, err := exec.LookPath("docker"); err != nil || os.Geteuid() != 0 {
		return nil
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return nil
	}
	const image = "abxdash-bench:1"
	host := dockertest.Start(b)
	dockertest.Base(b, host, image)
	return []string{"docker", "-H", host, "run", "--rm", "--network", "none", image, "echo", "hi"}
}

// BenchmarkOutput is output through the real agent, to a client that drops it.
func BenchmarkOutput(b *testing.B) {
	l := newLauncher(b)
	wantNamespace(b, l)
	s := startBox(b, l, Config{ID: realAgent})
	const size = 256 << 20
	b.SetBytes(size)
	for b.Loop() {
		req := connect.NewRequest(&process.StartRequest{Process: &process.ProcessConfig{
			Cmd: "head", Args: []string{"-c", strconv.Itoa(size), "/dev/zero"},
		}})
		stream, err := processconnect.NewProcessClient(s.http, "http://agent").Start(context.Background(), req)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for stream.Receive() {
			n += len(stream.Msg().GetEvent().GetData().GetStdout())
		}
		if err := stream.Err(); err != nil || n != size {
			b.Fatal(n, err)
		}
		_ = stream.Close()
	}
}

// BenchmarkCommand is one command in a running sandbox.
func BenchmarkCommand(b *testing.B) {
	l := newLauncher(b)
	wantNamespace(b, l)
	s := startBox(b, l, Config{})
	for b.Loop() {
		s.do(b, runRequest{Argv: []string{"/bin/true"}})
	}
}

//go:build linux

package isolate

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"connectrpc.com/connect"

	"abxdash/client"
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

// BenchmarkOthers is the same with what else there is on the machine, to compare.
func BenchmarkOthers(b *testing.B) {
	for name, argv := range map[string][]string{
		"bubblewrap": {"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "echo", "hi"},
		"docker":     {"docker", "run", "--rm", "--network", "none", "busybox", "echo", "hi"},
	} {
		b.Run(name, func(b *testing.B) {
			if out, err := exec.Command(argv[0], argv[1:]...).Output(); err != nil || string(out) != "hi\n" {
				b.Skip("not to be had here: ", err)
			}
			for b.Loop() {
				if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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

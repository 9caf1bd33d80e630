//go:build linux

package isolate

import (
	"context"
	"testing"

	"abxdash/client"
)

// BenchmarkStart is one sandbox from nothing to an answering agent, and its end.
func BenchmarkStart(b *testing.B) {
	for _, level := range []client.Isolation{client.IsolationNamespace, client.IsolationProcess} {
		b.Run(string(level), func(b *testing.B) {
			l := newLauncher(b)
			if _, err := l.Probe(context.Background(), level); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				s := startBox(b, l, Config{Level: level})
				if err := s.Kill(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
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

// BenchmarkCommand is one command in a running sandbox.
func BenchmarkCommand(b *testing.B) {
	l := newLauncher(b)
	wantNamespace(b, l)
	s := startBox(b, l, Config{})
	for b.Loop() {
		s.do(b, runRequest{Argv: []string{"/bin/true"}})
	}
}

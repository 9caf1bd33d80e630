//go:build linux

package local

import (
	"io"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

// BenchmarkCreateToOutput is create, one command, its output, again and again. The
// kill is not counted.
func BenchmarkCreateToOutput(b *testing.B) {
	p := newProvider(b, Config{})
	create(b, p, client.CreateSpec{}) // the server is there
	for b.Loop() {
		sb := create(b, p, client.CreateSpec{Lifetime: time.Hour})
		if out := run(b, p, sb.ID, "echo hi"); out != "hi\n" {
			b.Fatal(out)
		}
		b.StopTimer()
		if err := p.Sandboxes().Kill(b.Context(), sb.ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkOutput is a command's output from inside to the reader of frames.
func BenchmarkOutput(b *testing.B) {
	p := newProvider(b, Config{})
	sb := create(b, p, client.CreateSpec{})
	proc, err := p.Commands().Start(b.Context(), sb.ID, client.Command{Argv: []string{"sh", "-c", "exec cat /dev/zero"}})
	if err != nil {
		b.Fatal(err)
	}
	defer proc.Close()
	const unit = 1 << 20
	b.SetBytes(unit)
	have := 0
	for b.Loop() {
		for have < unit {
			f, err := proc.Next()
			if err != nil {
				b.Fatal(err)
			}
			have += len(f.Data)
		}
		have -= unit
	}
}

// BenchmarkFiles uploads and downloads one file of 64 MiB.
func BenchmarkFiles(b *testing.B) {
	p := newProvider(b, Config{})
	sb := create(b, p, client.CreateSpec{})
	data := strings.Repeat("0123456789abcdef", 4<<20)
	b.Run("put", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := p.Files().Put(b.Context(), sb.ID, "f", strings.NewReader(data), int64(len(data))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r, err := p.Files().Open(b.Context(), sb.ID, "f")
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if err != nil || n != int64(len(data)) {
				b.Fatal(n, err)
			}
			r.Close()
		}
	})
}

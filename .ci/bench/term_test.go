// Package bench compares the terminal emulator with two others in one run, so
// that the machine cancels out. It is a module of its own: nothing of it is
// needed to build or test the program.
package bench

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/hinshun/vt10x"

	"abxdash/ui/term"
)

const cols, rows = 200, 60

// colouredLines is what a build or a log looks like.
func colouredLines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "\x1b[90m%06d\x1b[0m \x1b[1;3%dm%-5s\x1b[0m \x1b[36mservice.%d\x1b[0m handled request \x1b[32m%d\x1b[0m in \x1b[38;5;%dm%d ms\x1b[0m\r\n",
			i, i%7+1, "INFO", i%9, 200+i%5, i%256, i%97)
	}
	return b.Bytes()
}

// inputs are what is fed; all emulators get the same.
func inputs() map[string][]byte {
	var edit bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&edit, "\x1b[%d;%dH\x1b[7mword\x1b[m\x1b[K", i%60+1, i%190+1)
	}
	return map[string][]byte{
		"coloured lines": colouredLines(1000),
		"plain lines":    []byte(strings.Repeat(strings.Repeat("plain text of a line ", 5)+"\r\n", 1000)),
		"edits":          edit.Bytes(),
	}
}

// feed measures one emulator on one input.
func feed(b *testing.B, w io.Writer, data []byte) {
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := w.Write(data); err != nil {
			b.Fatal(err)
		}
	}
}

// speed is bytes a second.
func speed(r testing.BenchmarkResult) float64 {
	return float64(r.Bytes) * float64(r.N) / r.T.Seconds()
}

// emulators makes each of the three. Their answers to queries are thrown away.
func emulators() map[string]func() io.Writer {
	return map[string]func() io.Writer{
		"abxdash": func() io.Writer { return term.New(cols, rows, term.Options{}) },
		"x/vt": func() io.Writer {
			e := vt.NewEmulator(cols, rows)
			go func() { _, _ = io.Copy(io.Discard, e) }()
			return e
		},
		"vt10x": func() io.Writer { return vt10x.New(vt10x.WithSize(cols, rows)) },
	}
}

func BenchmarkEmulators(b *testing.B) {
	for input, data := range inputs() {
		for name, make := range emulators() {
			b.Run(input+"/"+name, func(b *testing.B) { feed(b, make(), data) })
		}
	}
}

// The budget of the emulator: 20 MB/s of coloured lines, and ten times x/vt.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for a few seconds")
	}
	data, got := colouredLines(1000), map[string]float64{}
	for name, make := range emulators() {
		got[name] = speed(testing.Benchmark(func(b *testing.B) { feed(b, make(), data) }))
		t.Logf("%-8s %6.1f MB/s", name, got[name]/1e6)
	}
	if got["abxdash"] < 20e6 {
		t.Errorf("%.1f MB/s, the budget is 20", got["abxdash"]/1e6)
	}
	if r := got["abxdash"] / got["x/vt"]; r < 10 {
		t.Errorf("%.1f times x/vt, the budget is 10", r)
	}
}

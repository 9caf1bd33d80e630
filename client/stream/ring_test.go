package stream

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"abxdash/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Unix(1_700_000_000, 0)

func texts(r *Ring) []string {
	out := []string{}
	for i := range r.Len() {
		s, _, _ := r.At(i)
		out = append(out, s)
	}
	return out
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRingLines(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		opts   RingOptions
		chunks []string
		want   []string // after Finish
	}{
		"empty":               {want: []string{}},
		"one line":            {chunks: []string{"a\n"}, want: []string{"a"}},
		"no final newline":    {chunks: []string{"a\nb"}, want: []string{"a", "b"}},
		"blank lines stay":    {chunks: []string{"\n\na\n\n"}, want: []string{"", "", "a", ""}},
		"CRLF":                {chunks: []string{"a\r\nb\r\n"}, want: []string{"a", "b"}},
		"CRLF over chunks":    {chunks: []string{"a\r", "\nb\r", "\n"}, want: []string{"a", "b"}},
		"CR CR LF":            {chunks: []string{"a\r\r\nb\n"}, want: []string{"a", "b"}},
		"CR replaces":         {chunks: []string{"10%\r20%\r", "30%\n"}, want: []string{"30%"}},
		"CR at the end stays": {chunks: []string{"90%\r"}, want: []string{"90%"}},
		"CR alone":            {chunks: []string{"\r"}, want: []string{}},
		"long line is cut": {
			opts: RingOptions{LineBytes: 100}, chunks: []string{long, "\nafter\n"},
			want: []string{strings.Repeat("x", 100) + "… [200 bytes cut]", "after"},
		},
		"cut keeps runes whole": {
			opts: RingOptions{LineBytes: 4}, chunks: []string{"aé价z\n"},
			want: []string{"aé… [4 bytes cut]"},
		},
		"oldest go by lines": {
			opts: RingOptions{Lines: 2}, chunks: []string{"a\nb\nc\nd\n"}, want: []string{"c", "d"},
		},
		"oldest go by bytes": {
			opts: RingOptions{Bytes: 6}, chunks: []string{"aaa\nbbb\nccc\n"}, want: []string{"bbb", "ccc"},
		},
		"NUL stays":           {chunks: []string{"a\x00b\n"}, want: []string{"a\x00b"}},
		"bad byte stays":      {chunks: []string{"a\x9bb\n"}, want: []string{"a\x9bb"}},
		"half a rune, then":   {chunks: []string{"\xe4", "\xbb\xb7\n"}, want: []string{"价"}},
		"half a rune at end":  {chunks: []string{"ok \xe4\xbb"}, want: []string{"ok \uFFFD"}},
		"lone lead byte":      {chunks: []string{"\xf0"}, want: []string{"\uFFFD"}},
		"stray continuations": {chunks: []string{"\xbb\xbb\xbb\xbb"}, want: []string{"\xbb\xbb\xbb\xbb"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRing(c.opts)
			for _, s := range c.chunks {
				r.Append(client.Stdout, []byte(s), at)
			}
			r.Finish()
			r.Finish()
			if d := cmp.Diff(c.want, texts(r)); d != "" {
				t.Error(d)
			}
			if !r.Finished() {
				t.Error("not finished")
			}
		})
	}
}

func TestRingStreamsDoNotMix(t *testing.T) {
	r := NewRing(RingOptions{})
	r.Append(client.Stdout, []byte("out"), at)
	r.Append(client.Stderr, []byte("err\n"), at.Add(time.Second))
	r.Append(client.Stdout, []byte("put\n"), at.Add(2*time.Second))
	type row struct {
		Text   string
		Stderr bool
		At     time.Time
	}
	var got []row
	for i := range r.Len() {
		s, e, when := r.At(i)
		got = append(got, row{s, e, when})
	}
	want := []row{{"err", true, at.Add(time.Second)}, {"output", false, at.Add(2 * time.Second)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, i := range []int{-1, 2, 99} {
		if s, _, when := r.At(i); s != "" || !when.IsZero() {
			t.Errorf("At(%d) = %q, %v out of range", i, s, when)
		}
	}
}

func TestRingCountsWhatItDrops(t *testing.T) {
	r := NewRing(RingOptions{Lines: 3, Bytes: 10})
	for range 10 {
		r.Append(client.Stdout, []byte("abcd\n"), at)
	}
	if r.Dropped() != 8 || r.DroppedBytes() != 32 || r.Bytes() != 8 || r.Len() != 2 {
		t.Errorf("dropped %d lines, %d bytes; kept %d lines, %d bytes", r.Dropped(), r.DroppedBytes(), r.Len(), r.Bytes())
	}
}

// STR-01: every byte in a frame of its own.
func TestSplitRunes(t *testing.T) {
	var c struct {
		Chunks           [][]byte
		Expected         string
		Dangling         [][]byte
		DanglingExpected string `json:"dangling_expected"`
	}
	if err := json.Unmarshal(read(t, "split-rune.json"), &c); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		chunks [][]byte
		want   string
	}{{c.Chunks, strings.TrimSuffix(c.Expected, "\n")}, {c.Dangling, c.DanglingExpected}} {
		var raw []byte
		r := NewRing(RingOptions{Raw: func(_ client.StreamKind, p []byte) { raw = append(raw, p...) }})
		for _, chunk := range x.chunks {
			r.Append(client.Stdout, chunk, at)
			if strings.ContainsRune(r.String(), utf8.RuneError) {
				t.Errorf("a replacement character is shown while waiting: %q", r.String())
			}
		}
		r.Finish()
		if d := cmp.Diff([]string{x.want}, texts(r)); d != "" {
			t.Error(d)
		}
		if !bytes.Equal(raw, bytes.Join(x.chunks, nil)) {
			t.Errorf("raw output differs: %q", raw)
		}
	}
}

// STR-02: a progress bar is one line that shows its latest state.
func TestProgress(t *testing.T) {
	in := read(t, "cr-progress.bin")
	var raw bytes.Buffer
	r := NewRing(RingOptions{Raw: func(_ client.StreamKind, p []byte) { raw.Write(p) }})
	for chunk := range slices(in, 7) {
		r.Append(client.Stdout, chunk, at)
	}
	r.Finish()
	if d := cmp.Diff([]string{"fetch 100%", "done"}, texts(r)); d != "" {
		t.Error(d)
	}
	if !bytes.Equal(raw.Bytes(), in) {
		t.Error("raw output differs")
	}
}

// STR-08: nothing is lost after a NUL, and the raw copy is exact.
func TestControlBytesAreKept(t *testing.T) {
	in := read(t, "nul-c1.bin")
	var raw bytes.Buffer
	r := NewRing(RingOptions{Raw: func(_ client.StreamKind, p []byte) { raw.Write(p) }})
	r.Append(client.Stdout, in, at)
	if !bytes.Equal(raw.Bytes(), in) {
		t.Error("raw output differs")
	}
	r.Finish()
	if got, want := len(strings.ReplaceAll(r.String(), "\n", "")), len(bytes.ReplaceAll(in, []byte("\n"), nil)); got != want {
		t.Errorf("%d bytes of text, want %d", got, want)
	}
}

// STR-09: blank lines stay, CRLF is one end, the last line is there before the end and once.
func TestBlankLines(t *testing.T) {
	r := NewRing(RingOptions{})
	r.Append(client.Stdout, read(t, "blank-lines.bin"), at)
	want := []string{"", "", "a", "", "", "b", "", "d", "last-without-newline"}
	if d := cmp.Diff(want, texts(r)); d != "" {
		t.Errorf("before the end: %s", d)
	}
	r.Finish()
	if d := cmp.Diff(want, texts(r)); d != "" {
		t.Errorf("after the end: %s", d)
	}
}

// slices cuts b into pieces of n bytes.
func slices(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

// However the bytes are cut, the lines are the same, the bounds hold and nothing is lost uncounted.
func TestRingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r\xe4\xbb\xb7\xf0\x00"))).Draw(t, "data")
		opts := RingOptions{
			Lines: rapid.IntRange(1, 20).Draw(t, "lines"), Bytes: rapid.IntRange(1, 50).Draw(t, "bytes"),
			LineBytes: rapid.IntRange(1, 60).Draw(t, "line"),
		}
		whole, cut := NewRing(opts), NewRing(opts)
		whole.Append(client.Stdout, data, at)
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			v := cut.Version()
			cut.Append(client.Stdout, rest[:n], at)
			if cut.Version() == v {
				t.Fatal("the version did not change")
			}
			rest = rest[n:]
		}
		whole.Finish()
		cut.Finish()
		if d := cmp.Diff(texts(whole), texts(cut)); d != "" {
			t.Fatal(d)
		}
		if cut.Len() > opts.Lines {
			t.Fatalf("%d lines kept", cut.Len())
		}
		if cut.Len() > 1 && cut.Bytes() > opts.Bytes {
			t.Fatalf("%d bytes kept", cut.Bytes())
		}
		ends := bytes.Count(data, []byte("\n"))
		if got := cut.Len() + cut.Dropped(); got != ends && got != ends+1 {
			t.Fatalf("%d lines kept and dropped, %d ends in the data", got, ends)
		}
	})
}

func TestRingConcurrency(t *testing.T) {
	r := NewRing(RingOptions{Lines: 50, Signal: NewSignal()})
	var wg sync.WaitGroup
	for _, s := range []client.StreamKind{client.Stdout, client.Stderr} {
		wg.Go(func() {
			for range 2000 {
				r.Append(s, []byte("line of output\npart"), at)
			}
		})
	}
	wg.Go(func() {
		for range 500 {
			for i := range r.Len() {
				r.At(i)
			}
			r.Dropped()
		}
	})
	wg.Wait()
	if n := r.Len() + r.Dropped(); n != 4002 {
		t.Errorf("%d lines in all, want 4002", n)
	}
}

func BenchmarkRing(b *testing.B) {
	line := []byte(strings.Repeat("x", 79) + "\n")
	chunk := bytes.Repeat(line, 400)
	r := NewRing(RingOptions{Signal: NewSignal()})
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		r.Append(client.Stdout, chunk, at)
	}
}

// STR-03: 100 MB of output stay within the bounds, and what is dropped is counted.
func TestRingOfAHundredMegabytes(t *testing.T) {
	r := NewRing(RingOptions{Signal: NewSignal()})
	const perChunk, chunks = 1000, 1311 // of 80 bytes: 100 MiB
	chunk := []byte(strings.Repeat(strings.Repeat("x", 79)+"\n", perChunk))
	for range chunks {
		r.Append(client.Stdout, chunk, at)
	}
	r.Append(client.Stdout, []byte("the last line\n"), at)
	const lines = perChunk*chunks + 1
	r.Finish()
	if r.Len() != DefaultLines || r.Bytes() > DefaultBytes || r.Len()+r.Dropped() != lines {
		t.Errorf("%d lines and %d bytes are kept, %d lines were dropped", r.Len(), r.Bytes(), r.Dropped())
	}
	if last, _, _ := r.At(r.Len() - 1); last != "the last line" {
		t.Errorf("the last line is %q", last)
	}
}

// STR-10: a line of 300 kB is cut with a mark, and what follows shows.
func TestVeryLongLine(t *testing.T) {
	r := NewRing(RingOptions{})
	for chunk := range slices([]byte(strings.Repeat("z", 300_000)+"\nafter\n"), 32<<10) {
		r.Append(client.Stdout, chunk, at)
	}
	got := texts(r)
	if len(got) != 2 || len(got[0]) > DefaultLine+40 || !strings.HasSuffix(got[0], "… [234464 bytes cut]") || got[1] != "after" {
		t.Errorf("%d lines, the first has %d bytes and ends in %q", len(got), len(got[0]), got[0][len(got[0])-30:])
	}
}

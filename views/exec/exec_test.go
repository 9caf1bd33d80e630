package exec

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"abxdash/client"
	"abxdash/client/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever the pieces, what comes out is what went in, also past the memory bound.
func TestSpillKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s := &spill{dir: dir}
		defer s.close()
		var want []byte
		for range rapid.IntRange(0, 8).Draw(rt, "pieces") {
			p := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(rt, "piece"), rapid.IntRange(1, 40_000).Draw(rt, "times"))
			s.add(client.Stdout, p)
			want = append(want, p...)
		}
		var got bytes.Buffer
		lost, err := s.copyTo(&got)
		if err != nil || lost != 0 || !bytes.Equal(got.Bytes(), want) {
			rt.Fatalf("%d bytes of %d, %d lost, %v", got.Len(), len(want), lost, err)
		}
	})
}

// Nothing with a name is left on the disk while the command runs.
func TestSpillLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	s := &spill{dir: dir}
	s.add(client.Stdout, make([]byte, 2*spillMemory))
	if s.file == nil {
		t.Fatal("everything is in memory")
	}
	s.close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	s.add(client.Stdout, []byte("late")) // after the end is no fault
}

// A disk that takes nothing stops nothing, and the loss is said.
func TestSpillOnAFullDisk(t *testing.T) {
	s := &spill{dir: "/nonexistent/folder"}
	s.add(client.Stdout, make([]byte, spillMemory))
	s.add(client.Stdout, []byte("more"))
	s.add(client.Stdout, []byte("and more"))
	var got bytes.Buffer
	lost, err := s.copyTo(&got)
	if err != nil || got.Len() != spillMemory || lost != 12 {
		t.Errorf("%d bytes, %d lost, %v", got.Len(), lost, err)
	}
}

// Lines of one command stay whole in a merged stream, however they were cut.
func TestTeeKeepsLinesWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMerged(nil)
		a := &tee{ring: stream.NewRing(stream.RingOptions{}), label: []byte("A "), to: m}
		b := &tee{ring: stream.NewRing(stream.RingOptions{}), label: []byte("B "), to: m}
		var wantA, wantB int
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			to, word, n := a, "aa", &wantA
			if rapid.Bool().Draw(t, "b") {
				to, word, n = b, "bb", &wantB
			}
			text := word + word
			cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
			to.Append(client.Stdout, []byte(text[:cut]), time.Now())
			to.Append(client.Stdout, []byte(text[cut:]+"\n"), time.Now())
			*n++
		}
		a.Finish()
		b.Finish()
		gotA, gotB := strings.Count(m.ring.String(), "A aaaa\n"), strings.Count(m.ring.String(), "B bbbb\n")
		if gotA != wantA || gotB != wantB || m.ring.Len() != wantA+wantB {
			t.Fatalf("%d and %d lines of %d and %d:\n%s", gotA, gotB, wantA, wantB, m.ring.String())
		}
	})
}

package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// clock is a clock that is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time       { return c.at }
func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }
func newClock() *clock                { return &clock{at: time.Unix(1700000000, 0)} }
func open(t *testing.T, b []byte) *Recording {
	t.Helper()
	r, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func events(t *testing.T, r *Recording) []Event {
	t.Helper()
	var out []Event
	for i := range r.Len() {
		e, err := r.Event(i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestWriteAndRead(t *testing.T) {
	c, b := newClock(), &bytes.Buffer{}
	w := NewWriter(b, Header{Width: 80, Height: 24, Title: "web 1"}, Options{Now: c.now, Input: true})
	w.Output([]byte("a\xe6\xbc"))
	c.pass(1500 * time.Millisecond)
	w.Output([]byte("\xa2b\x1b[m\xff"))
	w.Input([]byte("ls\r"))
	c.pass(-time.Hour)
	w.Resize(100, 30)
	c.pass(2 * time.Hour)
	w.Mark("here")
	w.Output([]byte("half \xe6"))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	w.Output([]byte("too late"))
	r := open(t, b.Bytes())
	if d := cmp.Diff(Header{Version: 2, Width: 80, Height: 24, Timestamp: 1700000000, Title: "web 1"}, r.Header); d != "" {
		t.Error(d)
	}
	s := 1500 * time.Millisecond
	late := s - 2*time.Second + time.Hour + 2*time.Second
	want := []Event{
		{0, Output, "a"},
		{s, Output, "漢b\x1b[m\ufffd"},
		{s, Input, "ls\r"},
		{s, Resize, "100x30"},
		{late, Marker, "here"},
		{late, Output, "half "},
		{late, Output, "\ufffd"},
	}
	if d := cmp.Diff(want, events(t, r)); d != "" {
		t.Error(d)
	}
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d is no JSON: %s", i, line)
		}
	}
}

func TestInputIsNotRecordedUnlessAsked(t *testing.T) {
	b := &bytes.Buffer{}
	w := NewWriter(b, Header{Width: 1, Height: 1}, Options{})
	w.Input([]byte("password"))
	if err := w.Flush(); err != nil || strings.Contains(b.String(), "password") {
		t.Errorf("%v, %s", err, b)
	}
}

// However the output is cut, no secret is in the file and nothing else is lost.
func TestSecretsAreMasked(t *testing.T) {
	secrets := []string{"hunter22", "hunter22-long", "aaaab", "abc", ""}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"hunter22", "hunter22-long", "aaaab", "aaa", "hunter", "x", "漢", "\xe6", "-lon", "b", "\n", "abc"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		b := &bytes.Buffer{}
		w := NewWriter(b, Header{Width: 1, Height: 1, Title: "t hunter22"}, Options{Secrets: secrets})
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			w.Output([]byte(rest[:n]))
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets[:3] {
			if strings.Contains(b.String(), s) {
				t.Fatalf("%q is in the file", s)
			}
		}
		r, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i := range r.Len() {
			e, _ := r.Event(i)
			got.WriteString(e.Data)
		}
		whole := (&masker{secrets: []string{"hunter22-long", "hunter22", "aaaab"}}).take([]byte(text), true)
		if got.String() != whole || !utf8.ValidString(got.String()) {
			t.Fatalf("got %q, want %q", got.String(), whole)
		}
	})
}

func TestSizeIsBounded(t *testing.T) {
	b := &bytes.Buffer{}
	w := NewWriter(b, Header{Width: 1, Height: 1}, Options{MaxBytes: 1000})
	for range 1000 {
		w.Output([]byte("0123456789"))
	}
	if !errors.Is(w.Err(), ErrFull) {
		t.Errorf("err %v", w.Err())
	}
	if err := w.Flush(); err != nil || b.Len() > 1000 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	if r := open(t, b.Bytes()); r.Skipped != 0 || r.Len() == 0 {
		t.Errorf("%d events, %d skipped", r.Len(), r.Skipped)
	}
}

func TestFileHasItsNameOnlyWhenComplete(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, Name("we/b\x1b1", time.Unix(0, 0)))
	f, err := Create(path, Header{Width: 2, Height: 2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Output([]byte("x"))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the final name is there already")
	}
	if _, err := Create(path, Header{Width: 2, Height: 2}, Options{}); err == nil {
		t.Error("two recordings in one file")
	}
	if l, _ := List(dir); len(l) != 0 {
		t.Errorf("listed %v", l)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(path + PartSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the part is left")
	}
	if _, err := Create(path, Header{Width: 2, Height: 2}, Options{}); err == nil {
		t.Error("an existing recording was replaced")
	}
	if l, err := List(dir); err != nil || len(l) != 1 || l[0].Path != path {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := List(filepath.Join(dir, "none")); err != nil || l != nil {
		t.Errorf("%v, %v", l, err)
	}
}

// cells is a screen that keeps what was written since the last reset.
type cells struct {
	strings.Builder
	size string
}

func (c *cells) Resize(cols, rows int) { c.size = fmt.Sprintf("%dx%d", cols, rows) }

func sample(t *testing.T) *Recording {
	t.Helper()
	c, b := newClock(), &bytes.Buffer{}
	w := NewWriter(b, Header{Width: 80, Height: 24}, Options{Now: c.now})
	for i := range 10 {
		w.Output(fmt.Appendf(nil, "\x1b[1mstep\x1b[m %d ", i))
		if i == 5 {
			w.Resize(10, 5)
		}
		c.pass(time.Second)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return open(t, b.Bytes())
}

func TestPlayer(t *testing.T) {
	r, s := sample(t), &cells{}
	p := NewPlayer(r, s)
	seek := func(at time.Duration, want, size string) {
		t.Helper()
		if err := p.Seek(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(s.String(), want) || strings.Count(s.String(), "step\x1b[m 0") != 1 || s.size != size {
			t.Errorf("at %v: %q, size %s", at, s.String(), s.size)
		}
	}
	seek(3500*time.Millisecond, " 3 ", "80x24")
	if at, ok := p.Next(); !ok || at != 4*time.Second || p.Position() != 3500*time.Millisecond {
		t.Errorf("next %v %v at %v", at, ok, p.Position())
	}
	seek(7*time.Second, " 7 ", "10x5")
	seek(time.Second, " 1 ", "80x24")
	seek(time.Hour, " 9 ", "10x5")
	if _, ok := p.Next(); ok || p.Position() != 9*time.Second {
		t.Errorf("at the end: %v", p.Position())
	}
	seek(-time.Hour, " 0 ", "80x24")
}

func TestSearch(t *testing.T) {
	r := sample(t)
	for _, c := range []struct {
		q     string
		from  time.Duration
		older bool
		want  time.Duration
		found bool
	}{
		{"STEP 4", 0, false, 0, false},
		{"step 4", 0, false, 4 * time.Second, true},
		{"4 step 5", 0, false, 5 * time.Second, true},
		{"step", 4 * time.Second, false, 5 * time.Second, true},
		{"step", 4 * time.Second, true, 3 * time.Second, true},
		{"step 4", 4 * time.Second, true, 0, false},
		{"step 4", 9 * time.Second, true, 4 * time.Second, true},
		{"", 0, false, 0, false},
	} {
		at, found, err := r.Search(t.Context(), c.q, c.from, c.older)
		if err != nil || found != c.found || found && at != c.want {
			t.Errorf("%+v: %v %v %v", c, at, found, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Search(ctx, "nothing", 0, false); err == nil {
		t.Error("a cancelled search went on")
	}
}

func TestOpenRefusesWhatIsNoRecording(t *testing.T) {
	for _, text := range []string{"", "hello", `{"version":1,"width":1,"height":1}`, `{"version":3}`, `{"version":2}`, `[1,"o","x"]`} {
		if _, err := Open(strings.NewReader(text), int64(len(text))); err == nil {
			t.Errorf("%q was opened", text)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"version\":2,\"width\":3,\"height\":4}\n[0.5, \"o\", \"x\"]\n[0.1,\"r\",\"9x9\"]\n[1,"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var last time.Duration
		for i := range r.Len() {
			if r.At(i) < last {
				t.Fatal("time goes back")
			}
			last = r.At(i)
		}
		s := &cells{}
		if err := NewPlayer(r, s).Seek(t.Context(), r.Length()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Search(t.Context(), "x", 0, false); err != nil {
			t.Fatal(err)
		}
	})
}

package textbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Lines
	}{
		{"", nil},
		{"a", Lines{"a"}},
		{"a\nb\n", Lines{"a", "b"}},
		{"a\r\n\n", Lines{"a", ""}},
		{"\tx", Lines{"    x"}},
	} {
		if d := cmp.Diff(tt.want, Split(tt.in)); d != "" {
			t.Errorf("%q: %s", tt.in, d)
		}
	}
}

// No escape of a text that came from outside is left to be obeyed.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching("[\x1b\u009ba\\[;m]{0,10}")).Draw(t, "text")
		if got := Plain(s); strings.ContainsAny(got, "\x1b\u009b") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestBoxHoldsWhatItIsGiven(t *testing.T) {
	b := New(Options{Title: "T", Text: "a\x1b[31mb"})
	if got, _, _ := b.lines.At(0); got != "a␛[31mb" {
		t.Errorf("%q", got)
	}
	if b = New(Options{Text: "\x1b[31mb", Colors: true}); b.lines[0] != "\x1b[31mb" {
		t.Errorf("%q", b.lines[0])
	}
	for _, size := range [][2]int{{1, 1}, {3, 3}, {40, 10}, {200, 60}} {
		if w, h := b.Size(size[0], size[1]); w > size[0] || h > size[1] {
			t.Errorf("%dx%d does not fit into %v", w, h, size)
		}
	}
}

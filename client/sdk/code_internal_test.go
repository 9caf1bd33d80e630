package sdk

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadLine(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                     nil,
		"a\n\nb\r\nc":                          {"a", "", "b"},
		strings.Repeat("x", 200_000) + "\nz\n": {strings.Repeat("x", 200_000), "z"},
	} {
		r := bufio.NewReaderSize(strings.NewReader(text), 16)
		var got []string
		for {
			line, err := readLine(r, 1<<20)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
			got = append(got, string(line))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader("abcdef\n")), 5); !errors.Is(err, errLongLine) {
		t.Errorf("%v", err)
	}
}

// Whatever the interpreter sends: no panic, and success only with the end line.
func FuzzReadExecution(f *testing.F) {
	for _, s := range []string{
		"", "{\"type\": \"end_of_execution\"}\n", "{\"type\":\"stdout\",\"text\":\"x\"}\n{\"type\":\"end_of_execution\"}\n",
		"{\"type\":\"result\",\"png\":5,\"text\":\"t\"}\n", "{\"type\":\"error\",\"name\":[]}\n", "null\n[]\n{}\n", "{\"type\":\"end_of_execution\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := readExecution(strings.NewReader(s), func(CodeEvent) {})
		if err == nil && !strings.Contains(s, "end_of_execution") {
			// The word may be spelt with escapes, but then a backslash is there.
			if !strings.Contains(s, `\`) {
				t.Fatalf("%q counts as ended: %+v", s, x)
			}
		}
	})
}

package agentserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func collect(text string) ([]event, error) {
	var out []event
	for ev, err := range readEvents(strings.NewReader(text)) {
		if err != nil {
			return out, err
		}
		out = append(out, ev)
	}
	return out, nil
}

func TestReadEvents(t *testing.T) {
	for text, want := range map[string][]event{
		"":                                   nil,
		"data: a\n\n":                        {{"", "a"}},
		"\ufeffdata: a\n\n":                  {{"", "a"}},
		"event: x\ndata: a\ndata:b\n\n":      {{"x", "a\nb"}},
		"data: a\r\n\r\ndata: b\r\rdata\n\n": {{"", "a"}, {"", "b"}, {"", ""}},
		": c\n\nid: 1\nretry: 5\n\n":         nil,
		"event: x\n\ndata: a\n\n":            {{"", "a"}},
		"data: a":                            nil,
		"data: cut\n":                        nil,
		"data:  two\n\n":                     {{"", " two"}},
	} {
		got, err := collect(text)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(event{})); d != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, d)
		}
	}
	if _, err := collect("data: " + strings.Repeat("x", maxEvent+1) + "\n\n"); !errors.Is(err, errEventTooLong) {
		t.Errorf("a long line: %v", err)
	}
	if _, err := collect(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9) + "\n"); !errors.Is(err, errEventTooLong) {
		t.Errorf("a long event: %v", err)
	}
}

func FuzzReadEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata: {}\r\n\r\n", ":\n\n", "\ufeffdata", "data: a\r\rdata: b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := collect(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range got {
			if strings.ContainsAny(ev.name, "\r\n") || strings.Contains(ev.data, "\r") {
				t.Fatalf("%q holds a line end", ev)
			}
		}
	})
}

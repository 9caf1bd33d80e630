package opensandbox

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

// TestEvents reads a recorded stream (§10.2), with the forms that SDKs also take.
func TestEvents(t *testing.T) {
	const stream = `{"type":"init","text":"754e","timestamp":1}

{"type":"ping","text":"pong","timestamp":2}

data: {"type":"stderr","text":"err","timestamp":3}
{"type":"stdout","text":"a"}
{"type":"stdout","text":"\n"}
{"type":"stdout","text":"b"}
{"type":"later","text":"?"}
{"type":"error","error":{"ename":"CommandExecError","evalue":"3","traceback":["exit status 3"]}}
`
	e := newEvents(strings.NewReader(stream))
	var out, kinds string
	var exit client.Exit
	for {
		ev, err := e.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds += ev.Type + " "
		if ev.Type == "stdout" {
			out += string(ev.output())
		}
		if x, ok := ev.exit(); ok {
			exit = x
		}
	}
	if out != "a\n\nb\n" || kinds != "init ping stderr stdout stdout stdout later error " {
		t.Errorf("%q, %s", out, kinds)
	}
	if d := cmp.Diff(client.Exit{Code: 3, Status: "exit status 3"}, exit); d != "" {
		t.Error(d)
	}
}

func TestExits(t *testing.T) {
	for line, want := range map[string]client.Exit{
		`{"type":"execution_complete","execution_time":1}`:                                                       {Status: "exit status 0"},
		`{"type":"error","error":{"ename":"CommandExecError","evalue":"-1","traceback":["signal: killed"]}}`:     {Code: -1, Signal: 9, Status: "signal: killed"},
		`{"type":"error","error":{"ename":"CommandExecError","evalue":"-1","traceback":["signal: terminated"]}}`: {Code: -1, Signal: 15, Status: "signal: terminated"},
		`{"type":"error","error":{"ename":"CommandExecError","evalue":"fork/exec: no"}}`:                         {Code: 1, Status: "CommandExecError: fork/exec: no"},
		`{"code":"RUNTIME_ERROR","message":"timeout after 500ms"}`:                                               {Code: -1, Status: "timeout after 500ms"},
	} {
		ev, err := newEvents(strings.NewReader(line)).next()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := ev.exit()
		if d := cmp.Diff(want, got); !ok || d != "" {
			t.Errorf("%s: %v %s", line, ok, d)
		}
	}
	if _, err := newEvents(strings.NewReader(`{"type":"stdout","te`)).next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken line: %v", err)
	}
}

// TestErrorShapes: the six bodies of the server and of execd (§2.1, §4.1).
func TestErrorShapes(t *testing.T) {
	for body, want := range map[string]string{
		`{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}`:                               "gone",
		`{"detail":[{"loc":["body","timeout"],"msg":"too small"},{"loc":["x",1],"msg":"y"}]}`: "body.timeout: too small; x.1: y",
		`{"detail":"Not Found"}`: "Not Found",
		`{"error":"Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"}`: "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN",
		"Internal Server Error\nmore":                                   "Internal Server Error",
		`{"code":"A","message":"first"}{"code":"B","message":"second"}`: "first",
		"": "", "{": "",
	} {
		if _, got := (&refusal{status: 500, body: []byte(body)}).words(); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	for _, m := range []map[string]string{
		{"name": "plain", "team": "a.b", "empty": ""}, {"odd key": "ä & b"}, {"abx.x.41": "abx.x.zz"}, {"x": strings.Repeat("ü", 14)},
	} {
		wire, err := toLabels("test", m)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range wire {
			if !label(k, false) || !label(v, true) {
				t.Errorf("%q=%q is no label", k, v)
			}
		}
		if d := cmp.Diff(m, fromLabels(wire)); d != "" {
			t.Error(d)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("{\"type\":\"stdout\",\"text\":\"a\"}\n\ndata:{\"type\":\"error\",\"error\":{\"evalue\":\"-1\"}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		e := newEvents(strings.NewReader(text))
		for range len(text) + 2 {
			ev, err := e.next()
			if err != nil {
				return
			}
			if x, ok := ev.exit(); ok && x.Code != 0 && x.OK() {
				t.Errorf("%+v looks like success", x)
			}
		}
		t.Error("the stream does not end")
	})
}

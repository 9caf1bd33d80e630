package e2b

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"abxdash/client"
)

// Servers that answer a stream with JSON lines are understood (alicloud-express §8).
func TestStreamOfJSONLines(t *testing.T) {
	const begin = `{"event":{"start":{"pid":7}}}` + "\n\n" + `{"event":{"data":{"stdout":"aGkK"}}}` + "\r\n"
	for name, c := range map[string]struct {
		body string
		out  string
		code int
		kind error
	}{
		"exit":         {begin + `{"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3"}}}` + "\n", "hi\n", 3, nil},
		"no last line": {begin + `{"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3"}}}`, "hi\n", 3, nil},
		"cut":          {begin, "hi\n", 0, client.ErrStreamBroken},
		"cut inside":   {begin + `{"event":{"en`, "hi\n", 0, client.ErrStreamBroken},
		"error":        {begin + `{"error":{"code":"internal","message":"oh"}}` + "\n", "hi\n", 0, client.ErrStreamBroken},
	} {
		for _, ct := range []string{"application/x-ndjson", "application/json; charset=utf-8"} {
			t.Run(name+" "+ct, func(t *testing.T) {
				f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /process.Process/Start": func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", ct)
					_, _ = io.WriteString(w, c.body)
				}}))
				p, err := newTestClient(t, f, useJSON).Commands().Start(t.Context(), "i1", client.Command{Argv: []string{"x"}})
				if err != nil {
					t.Fatal(err)
				}
				got, err := client.Collect(p)
				if string(got.Stdout) != c.out || got.Exit.Code != c.code || !errors.Is(err, c.kind) {
					t.Errorf("%q, %+v, %v", got.Stdout, got.Exit, err)
				}
				_ = p.Close()
			})
		}
	}
	// A refusal as JSON instead of a stream.
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /process.Process/Start": answerJSON(http.StatusOK, `{"error":{"code":"invalid_argument","message":"cwd '/nope' does not exist"}}`)}))
	_, err := newTestClient(t, f, useJSON).Commands().Start(t.Context(), "i1", client.Command{Argv: []string{"x"}, Dir: "/nope"})
	if err == nil || !strings.Contains(err.Error(), "/nope") {
		t.Errorf("%v", err)
	}
}

// An error about the working directory names it, whatever the agent says (CMD-07).
func TestErrorNamesWorkingDirectory(t *testing.T) {
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /process.Process/Start": answerStream("proto", frames(
		`{"error":{"code":"internal","message":"error starting process 'true': fork/exec /bin/sh: not a directory"}}`))}))
	_, err := newTestClient(t, f).Commands().Start(t.Context(), "i1", client.Command{Argv: []string{"true"}, Dir: "/etc/hostname"})
	if err == nil || !strings.Contains(err.Error(), "(working directory /etc/hostname)") {
		t.Errorf("%v", err)
	}
}

func FuzzEnvelopes(f *testing.F) {
	for _, s := range []string{"", "{}\n", `{"event":{"end":{}}}`, "{\"error\":{}}\nx", "\n\n[1]\n", "{\"event\":5}\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := &envelopes{lines: bufio.NewReader(strings.NewReader(s)), body: io.NopCloser(strings.NewReader(""))}
		b, err := io.ReadAll(e)
		if err != nil {
			t.Fatal(err)
		}
		for len(b) > 0 { // every envelope is whole
			if len(b) < 5 {
				t.Fatalf("%q ends inside a prefix", b)
			}
			n := int(b[1])<<24 | int(b[2])<<16 | int(b[3])<<8 | int(b[4])
			if len(b) < 5+n {
				t.Fatalf("%q ends inside a payload", b)
			}
			b = b[5+n:]
		}
	})
}

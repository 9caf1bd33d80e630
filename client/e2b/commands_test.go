package e2b

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"abxdash/client"
	processpb "abxdash/client/envdpb/process"
)

const startPath = "/process.Process/Start"

// inCodec turns the JSON payloads of a golden stream into the codec's own. The
// end frame is JSON in both (e2b-protocol §8).
func inCodec(t testing.TB, codec string, payloads ...string) []byte {
	t.Helper()
	if codec == "json" {
		return frames(payloads...)
	}
	out := make([]string, len(payloads))
	for i, p := range payloads[:len(payloads)-1] {
		var m processpb.StartResponse
		if err := protojson.Unmarshal([]byte(p), &m); err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(b)
	}
	out[len(payloads)-1] = payloads[len(payloads)-1]
	return frames(out...)
}

// bothCodecs runs a test with each codec.
func bothCodecs(t *testing.T, fn func(t *testing.T, codec string, change func(*Config))) {
	for _, codec := range []string{"proto", "json"} {
		t.Run(codec, func(t *testing.T) { fn(t, codec, func(c *Config) { c.JSON = codec == "json" }) })
	}
}

// sent decodes the one message of a recorded stream request.
func sent(t *testing.T, r recorded, codec string, into proto.Message) {
	t.Helper()
	if len(r.body) < 5 || r.body[0] != 0 || int(binary.BigEndian.Uint32(r.body[1:5])) != len(r.body)-5 {
		t.Fatalf("not exactly one plain envelope: % x", r.body)
	}
	decodeAs(t, codec, r.body[5:], into)
}

func decodeAs(t *testing.T, codec string, b []byte, into proto.Message) {
	t.Helper()
	err := proto.Unmarshal(b, into)
	if codec == "json" {
		err = protojson.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func asJSON(t *testing.T, m proto.Message) any {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, b)
}

const startEvent = `{"event":{"start":{"pid":28458}}}`

func TestStartExit3(t *testing.T) { // 15.1
	bothCodecs(t, func(t *testing.T, codec string, change func(*Config)) {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{
			"POST " + startPath: answerStream(codec, inCodec(t, codec,
				startEvent,
				`{"event":{"data":{"stdout":"aGkK"}}}`,
				`{"event":{"data":{"stderr":"ZXJyCg=="}}}`,
				`{"event":{"end":{"exitCode":3, "exited":true, "status":"exit status 3", "error":"exit status 3"}}}`,
				`{}`)),
		}))
		c := newTestClient(t, f, change)
		p, err := c.Commands().Start(context.Background(), "i1", client.Command{
			Argv: []string{"/bin/bash", "-l", "-c", "echo hi; echo err >&2; exit 3"}, Env: map[string]string{"A": "1"}, User: "user",
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := client.Collect(p)
		if err != nil {
			t.Fatal(err)
		}
		want := client.Output{Stdout: []byte("hi\n"), Stderr: []byte("err\n"), Exit: client.Exit{Code: 3, Status: "exit status 3"}}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Error(diff)
		}
		if p.PID() != 28458 {
			t.Errorf("pid %d", p.PID())
		}
		if _, err := p.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("Next after the end: %v", err)
		}
		r := f.only(t, startPath)
		for name, want := range map[string]string{
			"Content-Type": "application/connect+" + codec, "Connect-Protocol-Version": "1", "Authorization": "Basic dXNlcjo=",
			"Keepalive-Ping-Interval": "50", "X-Access-Token": "tok-0123456789abcdef", "E2b-Sandbox-Id": "i1", "E2b-Sandbox-Port": "49983",
			"User-Agent": "abxdash/test", "Connect-Timeout-Ms": "", "Connect-Accept-Encoding": "", "X-Api-Key": "",
			"Accept-Encoding": "identity", "E2b-Traffic-Access-Token": "",
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		var req processpb.StartRequest
		sent(t, r, codec, &req)
		golden := `{"process":{"cmd":"/bin/bash","args":["-l","-c","echo hi; echo err >&2; exit 3"],"envs":{"A":"1"}},"stdin":false}`
		if diff := cmp.Diff(decoded(t, []byte(golden)), asJSON(t, &req)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStartProtobufBytes(t *testing.T) { // 15.3
	unhex := func(s string) string {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{
		"POST " + startPath: answerStream("proto", frames(
			unhex("0a050a0308bf0e"), unhex("0a0712050a0368690a"),
			unhex("0a131a1110011a0d65786974207374617475732030"), "{}")),
	}))
	p, err := newTestClient(t, f).Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"echo", "hi"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.Collect(p)
	if err != nil || string(out.Stdout) != "hi\n" || !out.Exit.OK() || p.PID() != 1855 {
		t.Errorf("pid %d, %+v, %v", p.PID(), out, err)
	}
	// The golden request leaves stdin out; ours says it: field 4, true.
	if got, want := hex.EncodeToString(f.only(t, startPath).body), "000000000e"+"0a0a0a046563686f12026869"+"2001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStartEnds(t *testing.T) { // 15.2, CMD-02, CMD-07
	cases := []struct {
		name     string
		timeout  time.Duration
		payloads []string
		exit     client.Exit
		shell    int
	}{
		{"exit 0", 0, []string{startEvent, `{"event":{"end":{"exited":true, "status":"exit status 0"}}}`, `{}`}, client.Exit{Status: "exit status 0"}, 0},
		{"SIGKILL", 0, []string{startEvent, `{"event":{"end":{"exitCode":-1, "status":"signal: killed", "error":"signal: killed"}}}`, `{}`}, client.Exit{Code: -1, Signal: 9, Status: "signal: killed"}, 137},
		{"SIGTERM", 0, []string{startEvent, `{"event":{"end":{"exitCode":-1, "status":"signal: terminated", "error":"signal: terminated"}}}`, `{}`}, client.Exit{Code: -1, Signal: 15, Status: "signal: terminated"}, 143},
		{"core dumped", 0, []string{startEvent, `{"event":{"end":{"status":"signal: segmentation fault (core dumped)"}}}`, `{}`}, client.Exit{Code: -1, Signal: 11, Status: "signal: segmentation fault (core dumped)"}, 139},
		{"unknown signal", 0, []string{startEvent, `{"event":{"end":{"exitCode":-1,"status":"signal: 34"}}}`, `{}`}, client.Exit{Code: -1, Status: "signal: 34"}, 255},
		{"timeout", time.Second, []string{startEvent, `{"error":{"code":"deadline_exceeded","message":"context deadline exceeded"}}`}, client.Exit{Code: -1, Status: "timed out after 1s", TimedOut: true}, 255},
		{"no command", 0, []string{startEvent, `{"event":{"data":{"stderr":"eA=="}}}`, `{"event":{"end":{"exitCode":127,"exited":true,"status":"exit status 127"}}}`, `{}`}, client.Exit{Code: 127, Status: "exit status 127"}, 127},
		{"keepalives", 0, []string{`{"event":{"keepalive":{}}}`, startEvent, `{"event":{"keepalive":{}}}`, `{"event":{"end":{"exited":true, "status":"exit status 0"}}}`, `{}`}, client.Exit{Status: "exit status 0"}, 0},
	}
	bothCodecs(t, func(t *testing.T, codec string, change func(*Config)) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST " + startPath: answerStream(codec, inCodec(t, codec, tc.payloads...))}))
				p, err := newTestClient(t, f, change).Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}, Timeout: tc.timeout})
				if err != nil {
					t.Fatal(err)
				}
				out, err := client.Collect(p)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.exit, out.Exit); diff != "" {
					t.Error(diff)
				}
				if got := out.Exit.ShellCode(); got != tc.shell {
					t.Errorf("shell code %d, want %d", got, tc.shell)
				}
				if out.Exit.OK() != (tc.shell == 0) {
					t.Errorf("OK is %v", out.Exit.OK())
				}
			})
		}
		for name, tc := range map[string]struct {
			payload, says string
			kind          error
		}{
			"bad cwd":    {`{"error":{"code":"invalid_argument","message":"cwd '/nope' does not exist"}}`, "'/nope'", nil},
			"bad user":   {`{"error":{"code":"unauthenticated","message":"invalid username: 'ghost'"}}`, "'ghost'", nil},
			"no process": {`{"error":{"code":"not_found","message":"process with pid 424242 not found"}}`, "424242", client.ErrNotFound},
			"no start":   {`{}`, "before the start", nil},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": answerStream(codec, frames(tc.payload))}))
				c := newTestClient(t, f, change)
				_, err := c.Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}, Dir: "/nope"})
				e := asClientError(t, err)
				if !strings.Contains(e.Error(), tc.says) || !errors.Is(e.Kind, tc.kind) || e.Code == "" {
					t.Errorf("start: %s %v %q", e.Code, e.Kind, e)
				}
				_, err = c.Commands().Attach(context.Background(), "i1", 424242)
				if e := asClientError(t, err); !strings.Contains(e.Error(), tc.says) || !errors.Is(e.Kind, tc.kind) {
					t.Errorf("attach: %s %v %q", e.Code, e.Kind, e)
				}
				if n := len(f.requests(startPath)); n != 1 {
					t.Errorf("started %d times", n)
				}
			})
		}
	})
}

func TestStreamFiles(t *testing.T) { // STR-04, STR-12, CMD-02
	broken := client.Exit{}
	cases := []struct {
		file, stdout string
		exit         client.Exit
		broken       bool
	}{
		{"no-endstream.bin", "step 1\nstep 2 of", broken, true},
		{"cut-in-frame.bin", "step 1\n", broken, true},
		{"clean-exit3.bin", "hi\n", client.Exit{Code: 3, Status: "exit status 3"}, false},
		{"new-events.bin", "kept\n", client.Exit{Status: "exit status 0"}, false},
		{"sigkill.bin", "working\n", client.Exit{Code: -1, Signal: 9, Status: "signal: killed"}, false},
	}
	for _, tc := range cases {
		t.Run(tc.file, func(t *testing.T) {
			f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST " + startPath: answerStream("json", file(t, tc.file))}))
			p, err := newTestClient(t, f, useJSON).Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := client.Collect(p)
			if string(out.Stdout) != tc.stdout {
				t.Errorf("output %q, want %q", out.Stdout, tc.stdout)
			}
			if errors.Is(err, client.ErrStreamBroken) != tc.broken || (err != nil) != tc.broken {
				t.Errorf("error %v", err)
			}
			if tc.broken {
				if e := asClientError(t, err); !strings.Contains(e.Error(), "exit code unknown, command may still run") {
					t.Errorf("text %q", e)
				}
				if _, again := p.Next(); !errors.Is(again, client.ErrStreamBroken) {
					t.Errorf("Next again: %v", again)
				}
				return
			}
			if diff := cmp.Diff(tc.exit, out.Exit); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An end envelope that holds an error, or comes without an end event, leaves
// the exit unknown.
func TestStreamEndsWithoutExit(t *testing.T) {
	for name, payloads := range map[string][]string{
		"clean end, no event":     {startEvent, `{}`},
		"error":                   {startEvent, `{"error":{"code":"unavailable","message":"sandbox is \u001b[2Jgone"}}`},
		"deadline nobody set":     {startEvent, `{"error":{"code":"deadline_exceeded","message":"late"}}`},
		"garbage for a message":   {startEvent, `]`, `{}`},
		"garbage for the end":     {startEvent, `]`},
		"an enormous length next": {startEvent},
	} {
		t.Run(name, func(t *testing.T) {
			body := frames(payloads...)
			if len(payloads) == 1 {
				body = append(frames(startEvent, "")[:5+len(startEvent)], 0, 0xff, 0xff, 0xff, 0xff, 'x')
			}
			f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST " + startPath: answerStream("json", body)}))
			p, err := newTestClient(t, f, useJSON).Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Collect(p)
			if e := asClientError(t, err); !errors.Is(e, client.ErrStreamBroken) || strings.ContainsFunc(e.Error(), client.Unsafe) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRuneSplitOverFrames(t *testing.T) { // STR-01
	var in struct {
		Chunks, Dangling []string
		Expected         string
	}
	if err := json.Unmarshal(file(t, "split-rune.json"), &in); err != nil {
		t.Fatal(err)
	}
	payloads := []string{startEvent}
	for _, c := range append(in.Chunks, in.Dangling...) {
		payloads = append(payloads, `{"event":{"data":{"stdout":"`+c+`"}}}`)
	}
	payloads = append(payloads, `{"event":{"end":{"exited":true}}}`, `{}`)
	bothCodecs(t, func(t *testing.T, codec string, change func(*Config)) {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST " + startPath: answerStream(codec, inCodec(t, codec, payloads...))}))
		p, err := newTestClient(t, f, change).Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		var held [][]byte
		for {
			fr, err := p.Next()
			if err != nil {
				break
			}
			held = append(held, fr.Data)
		}
		if got, want := string(bytes.Join(held, nil)), in.Expected+"ok \xe4\xbb"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Whatever bytes a server sends, a stream ends with io.EOF or an error of ours,
// and never as a success without an end event.
func FuzzStream(f *testing.F) {
	for _, name := range []string{"clean-exit3.bin", "cut-in-frame.bin", "new-events.bin", "no-endstream.bin", "sigkill.bin"} {
		f.Add(file(f, name), true)
	}
	f.Add(frames("\x0a\x05\x0a\x03\x08\xbf\x0e", "{}"), false)
	f.Fuzz(func(t *testing.T, body []byte, asJSON bool) {
		codec := "proto"
		if asJSON {
			codec = "json"
		}
		rt := roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/connect+" + codec}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: r,
			}, nil
		})
		c, err := New(Config{DataURL: "http://localhost", APIURL: "http://localhost", JSON: asJSON, HTTPClient: &http.Client{Transport: rt}})
		if err != nil {
			t.Fatal(err)
		}
		c.learn("i1", wireSandbox{})
		p, err := c.Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
		if err != nil {
			asClientError(t, err)
			return
		}
		out, err := client.Collect(p)
		if err != nil {
			asClientError(t, err)
			return
		}
		if out.Exit.OK() && !bytes.Contains(body, []byte("\x1a")) && !bytes.Contains(body, []byte("end")) {
			t.Fatal("success without an end event")
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

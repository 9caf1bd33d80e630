//go:build linux

package envd_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"abxdash/client/envdpb/process"
	"abxdash/client/local/envd"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
)

// e2b-protocol §15.1
func TestStartExit3(t *testing.T) {
	a := newAgent(t, envd.Config{})
	tr := a.startJSON(
		`{"process":{"cmd":"/bin/bash","args":["-l","-c","echo hi; echo err >&2; exit 3"],"envs":{"A":"1"}},"stdin":false}`,
		"Authorization", "Basic dXNlcjo=", "Keepalive-Ping-Interval", "50")
	if tr.stdout != "hi\n" || tr.stderr != "err\n" {
		t.Errorf("stdout %q, stderr %q", tr.stdout, tr.stderr)
	}
	want := map[string]any{"exitCode": 3.0, "exited": true, "status": "exit status 3", "error": "exit status 3"}
	if diff := cmp.Diff(want, tr.end); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
	if len(tr.trailer) != 0 {
		t.Errorf("trailer = %v", tr.trailer)
	}
}

// e2b-protocol §15.2
func TestEnds(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("afile", "")
	tests := map[string]struct {
		request string
		header  []string
		end     map[string]any
		trailer map[string]any
	}{
		"exit 0": {
			request: `{"process":{"cmd":"true"}}`,
			end:     map[string]any{"exited": true, "status": "exit status 0"},
		},
		"killed": {
			request: `{"process":{"cmd":"sh","args":["-c","kill -9 $$"]}}`,
			end:     map[string]any{"exitCode": -1.0, "status": "signal: killed", "error": "signal: killed"},
		},
		"terminated": {
			request: `{"process":{"cmd":"sh","args":["-c","kill $$"]}}`,
			end:     map[string]any{"exitCode": -1.0, "status": "signal: terminated", "error": "signal: terminated"},
		},
		"no command": {
			request: `{"process":{"cmd":"no-such-command-here"}}`,
			end:     map[string]any{"exitCode": 127.0, "exited": true, "status": "exit status 127", "error": "exit status 127"},
		},
		"timeout": {
			request: `{"process":{"cmd":"sleep","args":["60"]}}`,
			header:  []string{"Connect-Timeout-Ms", "300"},
			trailer: failure("deadline_exceeded", "context deadline exceeded"),
		},
		"timeout of 0": {
			request: `{"process":{"cmd":"sleep","args":["60"]}}`,
			header:  []string{"Connect-Timeout-Ms", "0"},
			trailer: failure("deadline_exceeded", "context deadline exceeded"),
		},
		"bad cwd": {
			request: `{"process":{"cmd":"true","cwd":"/nope"}}`,
			trailer: failure("invalid_argument", "cwd '/nope' does not exist"),
		},
		"cwd is a file": {
			request: `{"process":{"cmd":"true","cwd":"afile"}}`,
			trailer: failure("invalid_argument", "cwd '"+a.path("afile")+"' is not a directory"),
		},
		"bad user": {
			request: `{"process":{"cmd":"true"}}`,
			header:  []string{"Authorization", "Basic Z2hvc3Q6"},
			trailer: failure("unauthenticated", "invalid username: 'ghost'"),
		},
		"NUL in an argument": {
			request: `{"process":{"cmd":"echo","args":["a\u0000b"]}}`,
			trailer: failure("invalid_argument", "a command, argument or variable holds a NUL byte"),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := a.startJSON(tt.request, tt.header...)
			if diff := cmp.Diff(tt.end, tr.end); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
			if tt.trailer == nil {
				tt.trailer = map[string]any{}
			}
			if diff := cmp.Diff(tt.trailer, tr.trailer); diff != "" {
				t.Errorf("trailer (-want +got):\n%s", diff)
			}
			if name == "no command" && !strings.Contains(tr.stderr, "no-such-command-here") {
				t.Errorf("stderr = %q", tr.stderr)
			}
		})
	}
}

func failure(code, message string) map[string]any {
	return map[string]any{"error": map[string]any{"code": code, "message": message}}
}

// e2b-protocol §15.3: the payloads byte by byte.
func TestStartProtobuf(t *testing.T) {
	a := newAgent(t, envd.Config{})
	request, err := hex.DecodeString("0a0a0a046563686f12026869")
	if err != nil {
		t.Fatal(err)
	}
	resp := a.stream("/process.Process/Start", "application/connect+proto", envelope(0, string(request)))
	if got := resp.Header.Get("Content-Type"); got != "application/connect+proto" {
		t.Errorf("Content-Type = %q", got)
	}
	got := frames(t, resp)
	if len(got) != 4 {
		t.Fatalf("%d frames, want 4: %v", len(got), got)
	}
	if text := hex.EncodeToString(got[0].payload); !regexp.MustCompile(`^0a0[3-6]0a0[2-5]08`).MatchString(text) {
		t.Errorf("start = %s", text)
	}
	for i, want := range []string{"0a0712050a0368690a", "0a131a1110011a0d65786974207374617475732030", hex.EncodeToString([]byte("{}"))} {
		if text := hex.EncodeToString(got[i+1].payload); text != want {
			t.Errorf("frame %d = %s, want %s", i+1, text, want)
		}
	}
	if got[3].flag != 2 {
		t.Errorf("flag of the last frame = %d", got[3].flag)
	}
}

// running is a process that was started through a typed client.
type running struct {
	t      *testing.T
	cancel context.CancelFunc
	stream *connect.ServerStreamForClient[process.StartResponse]
	pid    uint32
	// output is what was read so far.
	output string
	end    *process.ProcessEvent_EndEvent
}

// start runs a command and waits for its start event.
func start(a *agent, req *process.StartRequest, opts ...connect.ClientOption) *running {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a.t.Cleanup(cancel)
	stream, err := a.processes(opts...).Start(ctx, connect.NewRequest(req))
	if err != nil {
		a.t.Fatal(err)
	}
	r := &running{t: a.t, cancel: cancel, stream: stream}
	if !stream.Receive() {
		a.t.Fatalf("no start event: %v", stream.Err())
	}
	if r.pid = stream.Msg().GetEvent().GetStart().GetPid(); r.pid == 0 {
		a.t.Fatalf("first event is %v", stream.Msg())
	}
	return r
}

// shell starts a shell line.
func shell(a *agent, line string, opts ...connect.ClientOption) *running {
	a.t.Helper()
	return start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", line}}}, opts...)
}

// read takes one event; false at the end of the stream.
func (r *running) read() bool {
	if !r.stream.Receive() {
		return false
	}
	event := r.stream.Msg().GetEvent()
	data := event.GetData()
	r.output += string(data.GetStdout()) + string(data.GetStderr()) + string(data.GetPty())
	if end := event.GetEnd(); end != nil {
		r.end = end
	}
	return true
}

// readUntil reads until the output holds text.
func (r *running) readUntil(text string) {
	r.t.Helper()
	for !strings.Contains(r.output, text) {
		if !r.read() {
			r.t.Fatalf("stream ended with output %q (%v), waiting for %q", r.output, r.stream.Err(), text)
		}
	}
}

// readAll reads to the end, which must be a clean one.
func (r *running) readAll() *process.ProcessEvent_EndEvent {
	r.t.Helper()
	for r.read() {
	}
	if err := r.stream.Err(); err != nil || r.end == nil {
		r.t.Fatalf("stream ended with %v, end %v, output %q", err, r.end, r.output)
	}
	return r.end
}

func byPID(pid uint32) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: pid}}
}

func byTag(tag string) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Tag{Tag: tag}}
}

// sendPTY types text.
func sendPTY(a *agent, pid uint32, text string) {
	a.t.Helper()
	_, err := a.processes().SendInput(a.t.Context(), connect.NewRequest(&process.SendInputRequest{
		Process: byPID(pid), Input: &process.ProcessInput{Input: &process.ProcessInput_Pty{Pty: []byte(text)}},
	}))
	if err != nil {
		a.t.Fatal(err)
	}
}

func sendStdin(a *agent, sel *process.ProcessSelector, text string) error {
	_, err := a.processes().SendInput(a.t.Context(), connect.NewRequest(&process.SendInputRequest{
		Process: sel, Input: &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: []byte(text)}},
	}))
	return err
}

func signal(a *agent, pid uint32, sig process.Signal) error {
	_, err := a.processes().SendSignal(a.t.Context(), connect.NewRequest(&process.SendSignalRequest{Process: byPID(pid), Signal: sig}))
	return err
}

// e2b-protocol §15.4
func TestPTY(t *testing.T) {
	codecs(t, func(t *testing.T, opts ...connect.ClientOption) {
		a := newAgent(t, envd.Config{})
		r := start(a, &process.StartRequest{
			Process: &process.ProcessConfig{
				Cmd: "/bin/bash", Args: []string{"-i", "-l"},
				Envs: map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
			},
			Pty: &process.PTY{Size: &process.PTY_Size{Cols: 80, Rows: 24}},
		}, opts...)
		sendPTY(a, r.pid, "stty size\n")
		r.readUntil("24 80\r\n")
		_, err := a.processes(opts...).Update(t.Context(), connect.NewRequest(&process.UpdateRequest{
			Process: byPID(r.pid), Pty: &process.PTY{Size: &process.PTY_Size{Cols: 132, Rows: 43}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		sendPTY(a, r.pid, "stty size\n")
		r.readUntil("43 132\r\n")
		// End-of-file counts only once the shell reads keys again.
		for !regexp.MustCompile(`43 132\r\n[^\n]*[#$] $`).MatchString(r.output) {
			if !r.read() {
				t.Fatalf("stream ended with output %q (%v)", r.output, r.stream.Err())
			}
		}
		if strings.Contains(r.output, "no job control") {
			t.Errorf("no job control: %q", r.output)
		}
		if err := sendStdin(a, byPID(r.pid), "x"); connect.CodeOf(err) != connect.CodeInternal {
			t.Errorf("stdin to a terminal: %v", err)
		}
		_, err = a.processes().CloseStdin(t.Context(), connect.NewRequest(&process.CloseStdinRequest{Process: byPID(r.pid)}))
		if connect.CodeOf(err) != connect.CodeUnknown {
			t.Errorf("CloseStdin of a terminal: %v", err)
		}
		sendPTY(a, r.pid, "\x04")
		if end := r.readAll(); end.GetExitCode() != 0 || !end.GetExited() {
			t.Errorf("end = %v", end)
		}
	})
}

// PTY-07: a terminal's last bytes come before its end, whatever error its
// reading ends with, and the first size is the one that was asked for (PTY-01).
func TestPTYLosesNothing(t *testing.T) {
	a := newAgent(t, envd.Config{})
	for i := range 50 {
		r := start(a, &process.StartRequest{
			Process: &process.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", `stty size; head -c 200000 /dev/zero | tr '\0' x; printf END; exit 7`}},
			Pty:     &process.PTY{Size: &process.PTY_Size{Cols: 132, Rows: 43}},
		})
		end := r.readAll()
		if want := "43 132\r\n" + strings.Repeat("x", 200000) + "END"; r.output != want || end.GetExitCode() != 7 {
			t.Fatalf("round %d: %d bytes of %d, end %v", i, len(r.output), len(want), end)
		}
	}
}

// e2b-protocol §15.5
func TestStdin(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "cat"}, Tag: new("t1")})
	if err := sendStdin(a, byPID(r.pid), "hello\n"); err != nil {
		t.Fatal(err)
	}
	r.readUntil("hello\n")

	body := envelope(0, fmt.Sprintf(`{"start":{"process":{"pid":%d}}}`, r.pid))
	body = append(body, envelope(0, `{"data":{"input":{"stdin":"c3RyZWFtZWQK"}}}`)...)
	body = append(body, envelope(0, `{"keepalive":{}}`)...)
	resp := a.stream("/process.Process/StreamInput", "application/connect+json", body)
	got := frames(t, resp)
	if len(got) != 2 || string(got[0].payload) != "{}" || got[1].flag != 2 || string(got[1].payload) != "{}" {
		t.Errorf("StreamInput answered %q", got)
	}
	r.readUntil("streamed\n")

	_, list := a.do(http.MethodPost, "/process.Process/List", strings.NewReader("{}"), "Content-Type", "application/json")
	want := map[string]any{"processes": []any{map[string]any{
		"config": map[string]any{"cmd": "cat"}, "pid": float64(r.pid), "tag": "t1",
	}}}
	if diff := cmp.Diff(want, decodeJSON(t, list)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for range 2 {
		if _, err := a.processes().CloseStdin(t.Context(), connect.NewRequest(&process.CloseStdinRequest{Process: byTag("t1")})); err != nil {
			t.Fatal(err)
		}
		if r.end == nil {
			break
		}
	}
	if end := r.readAll(); end.GetExitCode() != 0 {
		t.Errorf("end = %v", end)
	}
	_, list = a.do(http.MethodPost, "/process.Process/List", strings.NewReader("{}"), "Content-Type", "application/json")
	if diff := cmp.Diff(map[string]any{}, decodeJSON(t, list)); diff != "" {
		t.Errorf("list after the end (-want +got):\n%s", diff)
	}
}

func TestStdinOff(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "sh", Args: []string{"-c", "cat; echo eof; sleep 60"}}, Stdin: new(false)})
	r.readUntil("eof")
	if err := sendStdin(a, byPID(r.pid), "x"); connect.CodeOf(err) != connect.CodeInternal {
		t.Errorf("input without stdin: %v", err)
	}
	if err := signal(a, r.pid, process.Signal_SIGNAL_SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.readAll()
}

func TestLargeInputIsOrderedAndComplete(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "sh", Args: []string{"-c", "cksum"}}})
	piece := strings.Repeat("0123456789abcdef", 4096)
	for range 40 {
		if err := sendStdin(a, byPID(r.pid), piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.processes().CloseStdin(t.Context(), connect.NewRequest(&process.CloseStdinRequest{Process: byPID(r.pid)})); err != nil {
		t.Fatal(err)
	}
	r.readAll()
	if want := " " + strconv.Itoa(40*len(piece)) + "\n"; !strings.HasSuffix(r.output, want) {
		t.Errorf("cksum says %q, want the size %q", r.output, want)
	}
}

// A process that does not read must not hold a call whose caller has gone, and
// the next caller's input goes through once it reads.
func TestBlockedInputEndsWithItsCaller(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := shell(a, "trap 'exec cat >/dev/null' TERM; echo ready; while :; do sleep 0.01; done")
	r.readUntil("ready\n")
	input := func(n int) *connect.Request[process.SendInputRequest] {
		return connect.NewRequest(&process.SendInputRequest{
			Process: byPID(r.pid), Input: &process.ProcessInput{Input: &process.ProcessInput_Stdin{Stdin: make([]byte, n)}},
		})
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := a.processes().SendInput(ctx, input(1<<20))
		cancel()
		if code := connect.CodeOf(err); code != connect.CodeDeadlineExceeded {
			t.Fatalf("a full pipe took 1 MiB: %v", err)
		}
	}
	if err := signal(a, r.pid, process.Signal_SIGNAL_SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := a.processes().SendInput(ctx, input(1<<20)); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// e2b-protocol §15.6
func TestUnaryErrors(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := shell(a, "exec sleep 60")
	pid := strconv.Itoa(int(r.pid))
	tests := map[string]struct {
		method, body, header string
		status               int
		want                 map[string]any
	}{
		"unknown pid":   {method: "SendSignal", body: `{"process":{"pid":999999},"signal":"SIGNAL_SIGKILL"}`, status: 404, want: rpcFailure("not_found", "process with pid 999999 not found")},
		"unknown tag":   {method: "Update", body: `{"process":{"tag":"x"}}`, status: 404, want: rpcFailure("not_found", "process with tag x not found")},
		"bad signal":    {method: "SendSignal", body: `{"process":{"pid":` + pid + `},"signal":2}`, status: 501, want: rpcFailure("unimplemented", "invalid signal: 2")},
		"no selector":   {method: "CloseStdin", body: `{}`, status: 501, want: rpcFailure("unimplemented", "the process selector is empty")},
		"no input":      {method: "SendInput", body: `{"process":{"pid":` + pid + `}}`, status: 501, want: rpcFailure("unimplemented", "the input is empty")},
		"not a pty":     {method: "Update", body: `{"process":{"pid":` + pid + `},"pty":{"size":{"cols":1,"rows":1}}}`, status: 500, want: rpcFailure("internal", "the process has no terminal")},
		"update, no-op": {method: "Update", body: `{"process":{"pid":` + pid + `}}`, status: 200, want: map[string]any{}},
		"bad user":      {method: "List", body: `{}`, header: "Basic Z2hvc3Q6", status: 401, want: rpcFailure("unauthenticated", "invalid username: 'ghost'")},
		"unknown field": {method: "List", body: `{"later":{"x":[1]}}`, status: 200, want: nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := a.do(http.MethodPost, "/process.Process/"+tt.method, strings.NewReader(tt.body), "Content-Type", "application/json", "Authorization", tt.header)
			if resp.StatusCode != tt.status {
				t.Errorf("status = %d, want %d; %s", resp.StatusCode, tt.status, body)
			}
			if diff := cmp.Diff(tt.want, decodeJSON(t, body)); tt.want != nil && diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("wrong content type", func(t *testing.T) {
		resp, body := a.do(http.MethodPost, "/process.Process/List", strings.NewReader("{}"), "Content-Type", "text/plain")
		if resp.StatusCode != http.StatusUnsupportedMediaType || len(body) != 0 || resp.Header.Get("Accept-Post") == "" {
			t.Errorf("%d %q, Accept-Post %q", resp.StatusCode, body, resp.Header.Get("Accept-Post"))
		}
	})
	t.Run("GET", func(t *testing.T) {
		resp, _ := a.do(http.MethodGet, "/process.Process/List", nil)
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
		}
	})
	t.Run("Connect to nothing", func(t *testing.T) {
		tr := readTranscript(t, a.stream("/process.Process/Connect", "application/connect+json", envelope(0, `{"process":{"pid":424242}}`)))
		if diff := cmp.Diff(failure("not_found", "process with pid 424242 not found"), tr.trailer); diff != "" {
			t.Errorf("trailer (-want +got):\n%s", diff)
		}
	})
}

func rpcFailure(code, message string) map[string]any {
	return map[string]any{"code": code, "message": message}
}

func TestDataBeforeStartIsAnError(t *testing.T) {
	a := newAgent(t, envd.Config{})
	resp := a.stream("/process.Process/StreamInput", "application/connect+json", envelope(0, `{"data":{"input":{"stdin":"eA=="}}}`))
	got := frames(t, resp)
	want := failure("invalid_argument", "data before start in an input stream")
	if diff := cmp.Diff(want, decodeJSON(t, got[len(got)-1].payload)); diff != "" {
		t.Errorf("trailer (-want +got):\n%s", diff)
	}
	if resp, _ := a.do(http.MethodGet, "/health", nil); resp.StatusCode != http.StatusNoContent {
		t.Errorf("health = %d", resp.StatusCode)
	}
}

// The reference crashes on 0; here it means the least there is, 1 s.
func TestKeepaliveIsClamped(t *testing.T) {
	a := newAgent(t, envd.Config{})
	for _, interval := range []string{"0", "-5", "1"} {
		tr := a.startJSON(`{"process":{"cmd":"sleep","args":["1.7"]}}`, "Keepalive-Ping-Interval", interval)
		if tr.keepalives < 1 || tr.end == nil {
			t.Errorf("interval %q: %d keepalives, end %v", interval, tr.keepalives, tr.end)
		}
	}
	tr := a.startJSON(`{"process":{"cmd":"true"}}`, "Keepalive-Ping-Interval", "99999999999999999999")
	if tr.keepalives != 0 || tr.end == nil {
		t.Errorf("absurd interval: %d keepalives, end %v", tr.keepalives, tr.end)
	}
}

func TestLookupByTag(t *testing.T) {
	a := newAgent(t, envd.Config{})
	var started []*running
	for _, tag := range []string{"a", "b", "c", "b"} {
		started = append(started, start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "cat"}, Tag: new(tag)}))
	}
	// Every tag is found; of two the newest.
	for tag, r := range map[string]*running{"a": started[0], "b": started[3], "c": started[2]} {
		if err := sendStdin(a, byTag(tag), "to "+tag); err != nil {
			t.Fatal(err)
		}
		r.readUntil("to " + tag)
	}
}

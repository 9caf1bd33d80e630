//go:build linux

package envd_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"abxdash/client/envdpb/process"
	"abxdash/client/local/envd"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
)

// CMD-05: a descendant that keeps the pipes open does not hold back the end.
func TestBackgroundChildKeepsThePipe(t *testing.T) {
	for name, line := range map[string]string{
		"silent": "sleep 300 & echo $! hi",
		"noisy":  "yes > /dev/stderr & echo $! hi",
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, envd.Config{})
			r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-c", line}}})
			began := time.Now()
			var stdout string
			for r.stream.Receive() {
				event := r.stream.Msg().GetEvent()
				stdout += string(event.GetData().GetStdout())
				if event.GetEnd() != nil {
					r.end = event.GetEnd()
				}
			}
			if r.stream.Err() != nil || r.end.GetExitCode() != 0 || !r.end.GetExited() {
				t.Fatalf("end = %v, %v", r.end, r.stream.Err())
			}
			text, said := strings.CutSuffix(stdout, " hi\n")
			child, err := strconv.Atoi(text)
			if !said || err != nil {
				t.Fatalf("stdout = %q", stdout)
			}
			if took := time.Since(began); took > deadline/2 {
				t.Errorf("the end took %v", took)
			}
			if !processAlive(child) {
				t.Error("the child is gone")
			}
			killProcess(t, child)
		})
	}
}

// CMD-06: the timeout takes the process, its group and its session along, also
// when nobody listens any more.
func TestTimeoutKillsTheSession(t *testing.T) {
	for _, leave := range []bool{false, true} {
		t.Run(fmt.Sprintf("caller left %v", leave), func(t *testing.T) {
			a := newAgent(t, envd.Config{})
			resp := a.stream("/process.Process/Start", "application/connect+json",
				envelope(0, `{"process":{"cmd":"/bin/bash","args":["-m","-c","sleep 300 & echo $! $$; wait"]}}`),
				"Connect-Timeout-Ms", "1500")
			var text string
			for !strings.HasSuffix(text, "\n") {
				f, err := readFrame(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				event := decodeJSON(t, f.payload)["event"].(map[string]any)
				if data, ok := event["data"].(map[string]any); ok {
					text += fromBase64(t, data["stdout"])
				}
			}
			var child, parent int
			if _, err := fmt.Sscan(text, &child, &parent); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if leave {
				_ = resp.Body.Close()
			} else {
				rest := frames(t, resp)
				want := failure("deadline_exceeded", "context deadline exceeded")
				if diff := cmp.Diff(want, decodeJSON(t, rest[len(rest)-1].payload)); diff != "" {
					t.Errorf("trailer (-want +got):\n%s", diff)
				}
				for _, f := range rest {
					if strings.Contains(string(f.payload), `"end"`) {
						t.Errorf("an end event: %s", f.payload)
					}
				}
			}
			eventually(t, "both processes are gone", func() bool { return !processAlive(child) && !processAlive(parent) })
		})
	}
}

func TestDisconnectLeavesTheProcess(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := shell(a, "echo up; while ! [ -e go ]; do sleep 0.02; done; i=0; while [ $i -lt 3000 ]; do echo 'output that nobody reads, and more than a pipe holds'; i=$((i+1)); done; touch drained; sleep 60")
	r.readUntil("up\n")
	r.cancel()
	a.write("go", "")
	eventually(t, "output is drained", func() bool { return exists(a.path("drained")) })
	if _, err := a.processes().List(t.Context(), connect.NewRequest(&process.ListRequest{})); err != nil {
		t.Fatal(err)
	}
	if !processAlive(int(r.pid)) {
		t.Error("the process ended with its stream")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// attach follows a running process.
func attach(a *agent, sel *process.ProcessSelector) *connect.ServerStreamForClient[process.ConnectResponse] {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a.t.Cleanup(cancel)
	stream, err := a.processes().Connect(ctx, connect.NewRequest(&process.ConnectRequest{Process: sel}))
	if err != nil {
		a.t.Fatal(err)
	}
	if !stream.Receive() || stream.Msg().GetEvent().GetStart().GetPid() == 0 {
		a.t.Fatalf("no start event: %v", stream.Err())
	}
	return stream
}

func TestEndIsKeptForConnect(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := shell(a, "exit 7")
	r.readAll()
	stream := attach(a, byPID(r.pid))
	if !stream.Receive() || stream.Msg().GetEvent().GetEnd().GetExitCode() != 7 {
		t.Errorf("after the end: %v, %v", stream.Msg(), stream.Err())
	}
	if stream.Receive() || stream.Err() != nil {
		t.Errorf("more after the end: %v, %v", stream.Msg(), stream.Err())
	}
	if err := signal(a, r.pid, process.Signal_SIGNAL_SIGKILL); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("signal after the end: %v", err)
	}
}

func TestSeveralSubscribersGetEverything(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := shell(a, "while ! [ -e go ]; do sleep 0.02; done; i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done")
	second := attach(a, byPID(r.pid))
	a.write("go", "")
	r.readAll()
	var output string
	var end *process.ProcessEvent_EndEvent
	for second.Receive() {
		output += string(second.Msg().GetEvent().GetData().GetStdout())
		end = second.Msg().GetEvent().GetEnd()
	}
	if output != r.output || end.GetExitCode() != 0 || !strings.HasSuffix(output, "\n1999\n") {
		t.Errorf("second got %d bytes and %v, first %d", len(output), end, len(r.output))
	}
}

// A subscriber that stops reading is cut off and told; the others and the
// process go on.
func TestStalledSubscriberIsCutOff(t *testing.T) {
	a := newAgent(t, envd.Config{})
	const size = 64 << 20
	r := shell(a, fmt.Sprintf("while ! [ -e go ]; do sleep 0.02; done; head -c %d /dev/zero", size))
	stalled := attach(a, byPID(r.pid))
	a.write("go", "")
	got := 0
	for r.stream.Receive() {
		event := r.stream.Msg().GetEvent()
		got += len(event.GetData().GetStdout())
		if event.GetEnd() != nil {
			r.end = event.GetEnd()
		}
	}
	if got != size || r.end.GetExitCode() != 0 || r.stream.Err() != nil {
		t.Fatalf("the reader got %d of %d bytes, end %v, %v", got, size, r.end, r.stream.Err())
	}
	late := 0
	for stalled.Receive() {
		late += len(stalled.Msg().GetEvent().GetData().GetStdout())
	}
	if connect.CodeOf(stalled.Err()) != connect.CodeResourceExhausted || late >= size {
		t.Errorf("the stalled one got %d bytes and %v", late, stalled.Err())
	}
}

// A subscriber that is alone holds the process up instead of losing output.
func TestSoleSubscriberHasBackPressure(t *testing.T) {
	a := newAgent(t, envd.Config{})
	const size = 64 << 20
	r := shell(a, fmt.Sprintf("exec head -c %d /dev/zero", size))
	r.read()
	// The buffers on the way hold a few MiB; the process stands still then.
	last, same := int64(0), 0
	eventually(t, "the process stands still", func() bool {
		now := writtenBytes(t, int(r.pid))
		if now == last && now > 0 {
			same++
		} else {
			last, same = now, 0
		}
		return same >= 40
	})
	if last >= size || !processAlive(int(r.pid)) {
		t.Fatal("the process did not wait for its reader")
	}
	got := len(r.output)
	for r.stream.Receive() {
		event := r.stream.Msg().GetEvent()
		got += len(event.GetData().GetStdout())
		if event.GetEnd() != nil {
			r.end = event.GetEnd()
		}
	}
	if got != size || r.end.GetExitCode() != 0 {
		t.Errorf("got %d of %d bytes, end %v, %v", got, size, r.end, r.stream.Err())
	}
}

// The reference cuts output once a signal was sent.
func TestSignalDoesNotCutOutput(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "/bin/bash", Args: []string{
		"-c", `trap 'for i in $(seq 20000); do echo "said by the handler $i"; done; exit 5' TERM; echo ready; while :; do sleep 0.05; done`,
	}}})
	r.readUntil("ready\n")
	if err := signal(a, r.pid, process.Signal_SIGNAL_SIGTERM); err != nil {
		t.Fatal(err)
	}
	if end := r.readAll(); end.GetExitCode() != 5 || !strings.HasSuffix(r.output, "said by the handler 20000\n") {
		t.Errorf("end %v, output ends with %q", end, r.output[max(0, len(r.output)-40):])
	}
}

// STR-08: every byte comes through, in both codecs.
func TestOutputIsBinarySafe(t *testing.T) {
	sample, err := os.ReadFile("testdata/nul-c1.bin")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		sample = append(sample, byte(i))
	}
	codecs(t, func(t *testing.T, opts ...connect.ClientOption) {
		a := newAgent(t, envd.Config{})
		a.write("sample", string(sample))
		r := shell(a, "cat sample", opts...)
		r.readAll()
		if r.output != string(sample) {
			t.Errorf("output %q, want %q", r.output, sample)
		}
	})
}

func TestEnvironmentAndDirectory(t *testing.T) {
	t.Setenv("MUST_NOT_BE_INHERITED", "1")
	a := newAgent(t, envd.Config{GlobalEnv: map[string]string{"ABX_SANDBOX_ID": "iabc", "A": "global", "B": "global"}})
	r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "env", Envs: map[string]string{"B": "request", "C": "x=y"}}})
	r.readAll()
	got := map[string]string{}
	for line := range strings.Lines(r.output) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		got[name] = value
	}
	want := map[string]string{
		"PATH": envd.DefaultPath, "HOME": a.home, "USER": "user", "LOGNAME": "user",
		"ABX_SANDBOX_ID": "iabc", "A": "global", "B": "request", "C": "x=y",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	a.write("sub/dir/f", "")
	for cwd, want := range map[string]string{"": a.home, "~": a.home, "~/sub": a.path("sub"), "sub/dir": a.path("sub/dir"), "/": "/"} {
		r := start(a, &process.StartRequest{Process: &process.ProcessConfig{Cmd: "pwd", Cwd: new(cwd)}})
		r.readAll()
		if r.output != want+"\n" {
			t.Errorf("cwd %q is %q, want %q", cwd, r.output, want)
		}
	}
}

func TestCloseEndsStreamsAndProcesses(t *testing.T) {
	a := newAgent(t, envd.Config{})
	r := shell(a, "echo up; exec sleep 300")
	r.readUntil("up\n")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := a.server.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if processAlive(int(r.pid)) {
		t.Error("the process outlived the agent")
	}
	for r.read() {
	}
	_, err := a.processes().Start(ctx, connect.NewRequest(&process.StartRequest{Process: &process.ProcessConfig{Cmd: "true"}}))
	if err == nil {
		stream, startErr := a.processes().Start(ctx, connect.NewRequest(&process.StartRequest{Process: &process.ProcessConfig{Cmd: "true"}}))
		if startErr == nil {
			for stream.Receive() {
			}
			err = stream.Err()
		}
	}
	if connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("start after close: %v", err)
	}
}

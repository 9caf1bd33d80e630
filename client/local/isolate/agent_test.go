//go:build linux

package isolate

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"abxdash/client/envdpb/process"
	"abxdash/client/envdpb/process/processconnect"
	"abxdash/client/local/envd"
)

// The real agent as PID 1: what it does with files and processes must agree
// with what the commands see.
func TestRealAgent(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{ID: realAgent, AccessToken: "t0ken", Env: map[string]string{"ABX_SANDBOX_ID": realAgent}})

	get := func(method, path, token string, body io.Reader) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, "http://agent"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("X-Access-Token", token)
		}
		req.Header.Set("Content-Type", "application/octet-stream")
		resp, err := b.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if status, _ := get(http.MethodGet, "/health", "", nil); status != http.StatusNoContent {
		t.Errorf("health: %d", status)
	}
	if status, _ := get(http.MethodGet, "/files?path=f", "wrong", nil); status != http.StatusUnauthorized {
		t.Errorf("wrong token: %d", status)
	}
	if status, text := get(http.MethodPost, "/files?path=dir/f", "t0ken", strings.NewReader("uploaded")); status != http.StatusOK {
		t.Errorf("upload: %d %s", status, text)
	}

	out, code := runReal(t, b, "sh", "-c", `cat dir/f; stat -c ' %U %a' dir dir/f; echo more >>dir/f && pwd && echo "$ABX_SANDBOX_ID" && id -un && exit 4`)
	if want := "uploaded user 755\n user 644\n" + HomePath + "\n" + realAgent + "\nuser\n"; out != want || code != 4 {
		t.Errorf("%d %q, want %q", code, out, want)
	}
	if status, text := get(http.MethodGet, "/files?path=dir/f", "t0ken", nil); status != http.StatusOK || text != "uploadedmore\n" {
		t.Errorf("download: %d %q", status, text)
	}
	if out, code := runReal(t, b, "no-such-tool"); code != 127 {
		t.Errorf("missing command: %d %q", code, out)
	}
	if status, text := get(http.MethodGet, "/metrics", "t0ken", nil); status != http.StatusOK {
		t.Errorf("metrics: %d %s", status, text)
	}
	// What PID 1 alone may read is not served.
	for _, path := range []string{ofPID1("environ"), "/proc/self/fd/3", ofPID1("root", "etc", "passwd")} {
		if status, text := get(http.MethodGet, "/files?path="+path, "t0ken", nil); status == http.StatusOK {
			t.Errorf("%s is served: %q", path, text)
		}
	}
	if err := b.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
}

var _ envd.Spawner = (*spawner)(nil)

// runReal runs a command through the real agent, with the token of these tests.
func runReal(t *testing.T, b *box, cmd string, args ...string) (stdout string, code int32) {
	t.Helper()
	req := connect.NewRequest(&process.StartRequest{Process: &process.ProcessConfig{Cmd: cmd, Args: args}})
	req.Header().Set("X-Access-Token", "t0ken")
	stream, err := processconnect.NewProcessClient(b.http, "http://agent").Start(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var out, errs bytes.Buffer
	for stream.Receive() {
		ev := stream.Msg().GetEvent()
		out.Write(ev.GetData().GetStdout())
		errs.Write(ev.GetData().GetStderr())
		if end := ev.GetEnd(); end != nil {
			if errs.Len() > 0 {
				t.Logf("%s: %s", cmd, errs.String())
			}
			return out.String(), end.GetExitCode()
		}
	}
	t.Fatalf("no end: %v %s", stream.Err(), out.String())
	return "", 0
}

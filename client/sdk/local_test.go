//go:build linux

package sdk_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/local"
	"abxdash/client/sdk"
)

// tinyServer answers one named command, for sandboxes that have no
// agent-sandbox-server of their own.
const tinyServer = `
import http.server, json
class H(http.server.BaseHTTPRequestHandler):
    def send(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self): self.send(200, {"status": "ok"})
    def do_POST(self):
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send(200, {"result": "Hello, %s!" % args["name"]})
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 9000), H)
print("listening", flush=True)
s.serve_forever()
`

// localProvider starts a local server of the test's own.
func localProvider(t *testing.T) *local.Provider {
	t.Helper()
	root, err := os.MkdirTemp("", "abxdash-sdk-") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(local.Config{Version: "sdk-test", Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Stop(c, true); err != nil {
			t.Errorf("stop the local server: %v", err)
		}
		p.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return p
}

// The example of the Agent Sandbox skill against real local sandboxes.
func TestSkillExampleOnLocal(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	p := localProvider(t)
	var id client.ID
	err := sdk.With(ctx(t), p, client.CreateSpec{Lifetime: 300 * time.Second}, func(ctx context.Context, sb *sdk.Sandbox) error {
		id = sb.ID()
		result, err := sb.Run(ctx, "python3 --version", sdk.RunOptions{Timeout: 30 * time.Second})
		if err != nil || !strings.HasPrefix(result.Stdout, "Python 3") {
			t.Errorf("%+v %v", result, err)
		}
		server, err := sb.Server()
		if err != nil {
			return err
		}
		who := "the sandbox's own agent-sandbox-server"
		commands, err := server.Commands(ctx)
		has := err == nil && slices.ContainsFunc(commands, func(c agentserver.Command) bool { return c.Name == "hello" })
		switch {
		case has:
		case server.Health(ctx) == nil:
			_, err := sb.RunNamed(ctx, "hello", nil)
			wantCode(t, "hello", err, client.CodeRunCommand, client.ErrNotFound)
			t.Log("the sandbox has an agent-sandbox-server, but no command hello")
			return nil
		default:
			who = "a server that the test started: the sandbox has none of its own"
			if _, err := sb.Files().Write(ctx, "tiny.py", []byte(tinyServer)); err != nil {
				return err
			}
			cmd, err := sb.Start(ctx, "python3 tiny.py", sdk.RunOptions{})
			if err != nil {
				return err
			}
			defer func() { _ = cmd.Close() }()
			if _, err := cmd.Next(); err != nil { // it says so when it listens
				return err
			}
		}
		v, err := sb.RunNamed(ctx, "hello", map[string]any{"name": "Ada"})
		if err != nil || v.String() != "Hello, Ada!" {
			t.Errorf("hello: %s %v", v, err)
		}
		t.Logf("%s; %q by %s", strings.TrimSpace(result.Stdout), v, who)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Sandboxes().Get(ctx(t), id); client.CodeOf(err) != client.CodeNotFound {
		t.Errorf("after the kill: %v", err)
	}
}

// Trees go up into a local sandbox and come back.
func TestTransferOnLocal(t *testing.T) {
	p := localProvider(t)
	here := t.TempDir()
	write(t, filepath.Join(here, "a/run.sh"), "#!/bin/sh\necho ran\n", 0o755)
	write(t, filepath.Join(here, "a/sub/x"), strings.Repeat("x", 300_000), 0o600)
	err := sdk.With(ctx(t), p, client.CreateSpec{Lifetime: 5 * time.Minute}, func(ctx context.Context, sb *sdk.Sandbox) error {
		up, err := sb.Files().Upload(ctx, filepath.Join(here, "a"), "a", sdk.TransferOptions{})
		if err != nil || up.Files != 2 || len(up.Notes)+len(up.Skipped) != 0 {
			t.Errorf("%+v %v", up, err)
		}
		if r, err := sb.Run(ctx, "./a/run.sh", sdk.RunOptions{}); err != nil || r.Stdout != "ran\n" {
			t.Errorf("%+v %v", r, err)
		}
		down, err := sb.Files().Download(ctx, "a", filepath.Join(here, "b"), sdk.TransferOptions{})
		if err != nil || down.Files != 2 || len(down.Notes)+len(down.Skipped) != 0 {
			t.Errorf("%+v %v", down, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "sub/x": 0o600} {
		got, err := os.Stat(filepath.Join(here, "b", name))
		if err != nil || got.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

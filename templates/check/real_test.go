//go:build linux

package check

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/templates"
)

// tiny is the package of testdata as a wheel in dir.
func tiny(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "agent_sandbox_server-0.0.1-py3-none-any.whl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	from := os.DirFS("testdata/package")
	err = fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		data, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		e, err := w.Create(path)
		if err == nil {
			_, err = e.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// only commands whose arguments the tiny server knows.
const tinyCommands = `import os
from agent_sandbox.server import CapabilityGroup, command, default_table, start
default_table().enable_group(CapabilityGroup.DEV_TOOLS)

@command("hello", description="Say hello.")
def hello(name: str = "World") -> str:
    return f"Hello, {name}!"

if __name__ == "__main__":
    start(int(os.environ["ABX_SERVER_PORT"]))
`

// Where agent_sandbox.server can be imported it is what serves, whichever way
// it came there; nothing is left in the template folder.
func TestRealPackage(t *testing.T) {
	p := provider(t)
	outside := tiny(t, t.TempDir())
	express, other := templates.NewTarget("", "", nil), templates.NewTarget("opensandbox", "", nil)
	for _, tc := range []struct {
		name   string
		target templates.Target
		set    func(o *Options)
		log    string
	}{
		{"wheel of the flag, as the platform starts it", express, func(o *Options) { o.Wheel = outside }, "tiny server: serve"},
		{"wheel of the flag, as an image starts it", other, func(o *Options) { o.Wheel = outside }, "tiny server: port"},
		{"wheel in the folder", express, func(o *Options) { tiny(t, o.Dir) }, "tiny server: serve"},
		{"on the Python path", express, func(o *Options) {
			tiny(t, o.Dir)
			rename(t, o.Dir, "agent_sandbox_server-0.0.1-py3-none-any.whl", "other.zip")
			o.Env = map[string]string{"PYTHONPATH": "other.zip"}
		}, "tiny server: serve"},
		{"beside commands.py", other, func(o *Options) {
			if err := os.CopyFS(filepath.Join(o.Dir, "."), os.DirFS("testdata/package")); err != nil {
				t.Fatal(err)
			}
		}, "tiny server: port"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t, p, tc.target, map[string]string{"commands.py": tinyCommands})
			tc.set(&o)
			before := names(t, o.Dir)
			r, err := Run(t.Context(), o)
			if err != nil || !r.OK || r.Server != ServerReal || len(r.Calls) != 1 || string(r.Calls[0].Result) != `"Hello, Ada!"` {
				t.Fatalf("%+v, %v\n%s", r, err, strings.Join(r.Logs, "\n"))
			}
			if !slices.ContainsFunc(r.Logs, func(s string) bool { return strings.HasPrefix(s, tc.log) }) {
				t.Errorf("the log has no %q: %q", tc.log, r.Logs)
			}
			if after := names(t, o.Dir); after != before {
				t.Errorf("the folder changed:\n%s\n%s", before, after)
			}
		})
	}
	o := options(t, p, express, nil)
	o.Wheel = filepath.Join(o.Dir, "commands.py")
	if r, err := Run(t.Context(), o); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("got %v; lint: %+v", err, r.Lint.Problems)
	}
	o.Wheel = filepath.Join(t.TempDir(), "agent_sandbox_server-1.whl")
	if _, err := Run(t.Context(), o); client.CodeOf(err) != client.CodeFileNotFound {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(o.Wheel, []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); client.CodeOf(err) != client.CodeFiles || !strings.Contains(err.Error(), "is no wheel") {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, p)
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// A server that the platform did not start is started through the agent, once.
func TestServe(t *testing.T) {
	p := provider(t)
	sb, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Lifetime: lifetime})
	if err != nil {
		t.Fatal(err)
	}
	port := portFor(sb.Isolation)
	if port == templates.ServerPort {
		port = 9100 // the local sandbox has a server of its own on 9000
	}
	o := ServeOptions{Port: port, Command: `exec python3 -c "
import os, http.server
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200); self.send_header('Content-Length', '15'); self.end_headers(); self.wfile.write(b'{\"status\":\"ok\"}')
http.server.HTTPServer(('127.0.0.1', int(os.environ['ABX_SERVER_PORT'])), H).serve_forever()"`, Patience: patience}
	got, err := Serve(t.Context(), p, sb.ID, o)
	if err != nil || got.Already || got.PID == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = Serve(t.Context(), p, sb.ID, o); err != nil || !got.Already {
		t.Errorf("a second time: %+v, %v", got, err)
	}
	o.Port, o.Command = port+1, "echo no such thing >&2; exit 3"
	if _, err = Serve(t.Context(), p, sb.ID, o); client.CodeOf(err) != client.CodeRunExit || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v", err)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Error(err)
	}
	nothingLeft(t, p)
}

//go:build unix

package toolserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/agentserver"
)

const commandsPy = `from agent_sandbox.server import CapabilityGroup, command, default_table, start
import os

table = default_table()
table.enable_group(CapabilityGroup.DEV_TOOLS)

@command("hello", description="Say hello.")
def hello(name: str = "World"):
    return "Hello, " + name + "! " + os.environ.get("FLAVOUR", "plain")

@command("add")
def add(a: int, b: int):
    return a + b

@command()
def crash():
    raise KeyError("gone")

if __name__ == "__main__":
    start(9000)
`

// TestCommandsOfTheTemplate runs commands.py in the strict stand-in, which is
// named, and lets it turn groups on.
func TestCommandsOfTheTemplate(t *testing.T) {
	needs(t, "python3")
	r := newRig(t, "FLAVOUR=mint")
	if list, err := r.Commands(ctx(t)); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := r.Run(ctx(t), "hello", nil); client.CodeOf(err) != client.CodeRunCommand {
		t.Errorf("without a commands.py: %v", err)
	}
	r.write("app/commands.py", commandsPy)
	got, err := r.Run(ctx(t), "hello", map[string]any{"name": "Ada"})
	if err != nil || string(got) != `"Hello, Ada! mint"` {
		t.Fatalf("%s %v", got, err)
	}
	list, err := r.Commands(ctx(t))
	if err != nil || len(list) != 3 || list[0].Name != "hello" || list[0].Description != "Say hello." || list[1].Args[0].Type != "integer" {
		t.Errorf("%+v %v", list, err)
	}
	for name, want := range map[string]client.Code{"none": client.CodeRunCommand, "crash": client.CodeRun, "add": client.CodeUsage} {
		if _, err := r.Run(ctx(t), name, map[string]any{}); client.CodeOf(err) != want {
			t.Errorf("%s: %v (%s)", name, err, client.CodeOf(err))
		}
	}
	if text := r.raw(200, "GET", "/commands", ""); !strings.Contains(text, `"server":"stand-in"`) {
		t.Error(text)
	}
	groups, err := r.Capabilities(ctx(t))
	if err != nil || !groups[agentserver.GroupDevTools] || groups[agentserver.GroupAgents] {
		t.Errorf("%v %v", groups, err)
	}
	if out, err := r.RunCode(ctx(t), "echo on", "bash", 0); err != nil || out.Stdout != "on\n" {
		t.Errorf("%+v %v", out, err)
	}
	// A new file takes its place; what the reference forbids is refused, in words.
	r.write("app/commands.py", strings.ReplaceAll(commandsPy, "Hello, ", "Good morning, "))
	if got, err = r.Run(ctx(t), "hello", nil); err != nil || string(got) != `"Good morning, World! mint"` {
		t.Errorf("%s %v", got, err)
	}
	r.write("app/commands.py", "from agent_sandbox.server import start\nstart(9000)\n")
	if _, err = r.Run(ctx(t), "hello", nil); err == nil || !strings.Contains(err.Error(), "commands.py cannot be loaded") || !strings.Contains(err.Error(), "__main__") {
		t.Errorf("start at import time: %v", err)
	}
	if list, err := r.ListFiles(ctx(t), "app", true, 0); err != nil || len(list) != 1 {
		t.Errorf("left behind: %+v %v", list, err)
	}
}

// TestRealPackageFirst: where the interpreter has agent_sandbox.server, that one
// serves, started as the platform starts it. The test's package says what it was
// given.
func TestRealPackageFirst(t *testing.T) {
	needs(t, "python3")
	r := newRig(t)
	r.write("site/agent_sandbox/__init__.py", "")
	r.write("site/agent_sandbox/server/__init__.py", "")
	r.write("site/agent_sandbox/server/__main__.py", `import http.server, json, os, sys
class H(http.server.BaseHTTPRequestHandler):
    def reply(self):
        ok = self.headers.get("X-Access-Token") == os.environ["ABX_SERVER_TOKEN"]
        body = json.dumps({"result": sys.argv[1:2] + sys.argv[4:] + [self.path, ok], "commands": [{"name": "real"}], "groups": {"agents": True}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = reply
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[3])), H).serve_forever()
`)
	r.write("app/commands.py", "")
	r.tool.env["PYTHONPATH"] = r.home + "/site"
	got, err := r.Run(ctx(t), "a b", nil)
	want := `["serve", "--commands", "` + r.home + `/app/commands.py", "/commands/a%20b", true]`
	if err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	if text := r.raw(200, "GET", "/commands", ""); !strings.Contains(text, `"server":"agent-sandbox-server"`) {
		t.Error(text)
	}
	if text := r.raw(200, "GET", "/capabilities", ""); !strings.Contains(text, `"agents":true`) {
		t.Error(text)
	}
}

// TestBrokenCommandsAreLoadedOnce: the question whether a group is on does not
// load a broken file anew each time; whoever asks for its commands does, and is
// told the cause.
func TestBrokenCommandsAreLoadedOnce(t *testing.T) {
	needs(t, "python3")
	r := newRig(t)
	broken := "import os\nopen(os.path.expanduser('~/loads'), 'a').write('x')\nraise RuntimeError('no flavour is set')\n"
	r.write("app/commands.py", broken)
	loads := func() int {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(r.home, "loads"))
		if err != nil {
			t.Fatal(err)
		}
		return len(data)
	}
	off := func() { r.raw(404, "GET", "/browser/content", "") }
	off()
	once := loads()
	off()
	r.raw(200, "GET", "/capabilities", "")
	if got := loads(); got != once {
		t.Errorf("it was loaded %d times, then %d", once, got)
	}
	if _, err := r.Run(ctx(t), "hello", nil); err == nil || !strings.Contains(err.Error(), "no flavour is set") {
		t.Errorf("the cause is not told: %v", err)
	}
	asked := loads()
	if asked <= once {
		t.Error("a call of a command did not try again")
	}
	r.write("app/commands.py", broken+"# changed\n")
	if off(); loads() <= asked {
		t.Error("a changed file was not looked at")
	}
}

// TestLastWords: what a program wrote before its end is told though it has not
// been read yet.
func TestLastWords(t *testing.T) {
	words := &tail{read: make(chan struct{})}
	go func() {
		words.add([]byte("first\nthe cause\n"))
		close(words.read)
	}()
	if got := words.final(); got != "the cause" {
		t.Errorf("%q", got)
	}
}

// TestCommandsWithoutPython says so.
func TestCommandsWithoutPython(t *testing.T) {
	r := newRig(t, "PATH=/nowhere")
	r.write("app/commands.py", commandsPy)
	if _, err := r.Run(ctx(t), "hello", nil); err == nil || !strings.Contains(err.Error(), "python3 is not installed") {
		t.Error(err)
	}
}

package commandserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client/commandserver"
)

// standIn writes the stand-in and a commands.py and returns both folders.
func standIn(t *testing.T, commands string) (lib, file string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	lib = t.TempDir()
	files, err := commandserver.StandIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		full := filepath.Join(lib, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(t.TempDir(), "commands.py")
	if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	return lib, file
}

func command(ctx context.Context, lib string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "python3", args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+lib, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// freePort asks the system for a port that nobody uses.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// serve starts the stand-in and returns its address once it answers.
func serve(t *testing.T, asPlatform bool, commands string, env ...string) string {
	t.Helper()
	lib, file := standIn(t, commands)
	port := freePort(t)
	args := []string{file}
	if asPlatform {
		args = []string{"-m", "agent_sandbox.server", "serve", "--port", fmt.Sprint(port), "--commands", file}
	}
	cmd := command(t.Context(), lib, args...)
	cmd.Env = append(cmd.Env, "ABX_SERVER_PORT="+fmt.Sprint(port))
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		res, err := http.Get(url + "/health")
		if err == nil {
			_ = res.Body.Close()
			return url
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("it ended: %v\n%s", err, out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatal("it did not answer")
	return ""
}

func ask(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

const sample = `from __future__ import annotations
import os
from typing import Optional
from agent_sandbox.server import CapabilityGroup, command, default_table, start

table = default_table()
table.enable_group(CapabilityGroup.DEV_TOOLS)

@command("hello", description="Say hello.")
def hello(name: str = "World") -> str:
    return f"Hello, {name}!"

@command()
def kinds(i: int, f: float, b: bool, o: Optional[int] = None, l: list = ()):
    "All of them."
    return [i, f, b, o, l]

@command(hidden=True)
def secret():
    return 42

@command("boom")
def boom():
    raise KeyError("no")

@command("odd")
def odd():
    return object()

if __name__ == "__main__":
    start(int(os.environ["ABX_SERVER_PORT"]))
`

func TestServes(t *testing.T) {
	for _, asPlatform := range []bool{true, false} {
		t.Run(fmt.Sprintf("platform=%v", asPlatform), func(t *testing.T) {
			url := serve(t, asPlatform, sample)
			for _, tc := range []struct {
				method, path, body string
				status             int
				want               string
			}{
				{"GET", "/health", "", 200, `{"status": "ok", "server": "stand-in"}`},
				{"GET", "/health/", "", 200, `{"status": "ok", "server": "stand-in"}`},
				{"POST", "/commands/hello", `{"name":"Ada"}`, 200, `{"result": "Hello, Ada!"}`},
				{"POST", "/commands/hello", ``, 200, `{"result": "Hello, World!"}`},
				{"POST", "/commands/secret", `{}`, 200, `{"result": 42}`},
				{"POST", "/commands/kinds", `{"i":"7","f":1,"b":"no","l":[1]}`, 200, `{"result": [7, 1.0, false, null, [1]]}`},
				{"POST", "/commands/kinds", `{"i":1.5,"f":1,"b":true}`, 400, `{"error": "argument i must be integer", "type": "ValueError"}`},
				{"POST", "/commands/kinds", `{"i":1,"f":"x","b":true}`, 400, `{"error": "argument f must be float", "type": "ValueError"}`},
				{"POST", "/commands/kinds", `{"i":1,"f":1}`, 400, `{"error": "missing argument: b", "type": "ValueError"}`},
				{"POST", "/commands/hello", `{"nam":"x"}`, 400, `{"error": "unknown argument: nam", "type": "ValueError"}`},
				{"POST", "/commands/hello", `[1]`, 400, `{"error": "the body must be an object of arguments", "type": "TypeError"}`},
				{"POST", "/commands/nope", `{}`, 404, `{"error": "unknown command: nope", "type": "KeyError"}`},
				{"POST", "/commands/boom", `{}`, 500, `{"error": "'no'", "type": "KeyError"}`},
				{"GET", "/system/info", "", 404, `{"error": "the stand-in has no route GET /system/info", "type": "NotFound"}`},
			} {
				status, got := ask(t, tc.method, url+tc.path, tc.body)
				if status != tc.status || got != tc.want {
					t.Errorf("%s %s %s: %d %s, want %d %s", tc.method, tc.path, tc.body, status, got, tc.status, tc.want)
				}
			}
			if status, body := ask(t, "POST", url+"/commands/odd", "{}"); status != 500 || !strings.Contains(body, "no JSON") {
				t.Errorf("odd: %d %s", status, body)
			}
			if status, _ := ask(t, "PUT", url+"/commands/hello", "{}"); status != 501 {
				t.Errorf("PUT: %d", status)
			}
			lists(t, url)
		})
	}
}

func lists(t *testing.T, url string) {
	t.Helper()
	_, body := ask(t, "GET", url+"/commands", "")
	var got struct {
		Commands []struct {
			Name        string
			Description string
			Args        []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Commands {
		names = append(names, c.Name+": "+c.Description)
	}
	if diff := cmp.Diff([]string{"hello: Say hello.", "kinds: All of them.", "boom: ", "odd: "}, names); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"name": "name", "type": "string", "required": false, "default": "World"}
	if diff := cmp.Diff(want, got.Commands[0].Args[0]); diff != "" {
		t.Error(diff)
	}
	_, body = ask(t, "GET", url+"/capabilities", "")
	if !strings.Contains(body, `"dev_tools": true`) || !strings.Contains(body, `"browser": false`) {
		t.Error(body)
	}
}

func TestTokenAndGroups(t *testing.T) {
	url := serve(t, true, sample, "ABX_SERVER_TOKEN=t0ken", "ABX_SERVER_ENABLED_GROUPS=browser, agents")
	if status, body := ask(t, "POST", url+"/commands/hello", "{}"); status != 401 || body != `{"error": "unauthorized", "type": "AuthError"}` {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := ask(t, "POST", url+"/commands/hello", "{}", "X-Access-Token", "t0ken"); status != 200 {
		t.Errorf("with the token: %d", status)
	}
	if _, body := ask(t, "GET", url+"/capabilities", ""); !strings.Contains(body, `"agents": true`) {
		t.Error(body)
	}
}

// What the seed forbids fails, and says why.
func TestRefuses(t *testing.T) {
	const head = "from agent_sandbox.server import command, start, default_table\n"
	for name, tc := range map[string]struct{ in, want string }{
		"start at import":  {head + "start(9000)\n", "start() ran while the platform imported the file"},
		"registry.command": {head + "@registry.command('x')\ndef f(): pass\n", "NameError"},
		"sandbox.register": {"from agent_sandbox.server import sandbox\n", "agent_sandbox.server has no sandbox for commands.py"},
		"unknown import":   {"from agent_sandbox.server import registry\n", "it offers CapabilityGroup, command, default_table, start"},
		"client import":    {"from agent_sandbox import Sandbox\n", "agent_sandbox.Sandbox belongs to the client"},
		"client module":    {"import agent_sandbox.client\n", "No module named 'agent_sandbox.client'"},
		"method":           {head + "class A:\n    @command()\n    def f(self): pass\n", "at the top of commands.py"},
		"twice":            {head + "@command('a')\ndef f(): pass\n@command('a')\ndef g(): pass\n", "registered twice"},
		"bad name":         {head + "@command('a/b')\ndef f(): pass\n", "cannot be part of a URL"},
		"no function":      {head + "command('a')(3)\n", "belongs on a function"},
		"group":            {head + "default_table().enable_group('agents')\n", "takes a CapabilityGroup"},
		"keyword":          {head + "@command('a', timeout=3)\ndef f(): pass\n", "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			lib, file := standIn(t, tc.in)
			out, err := command(t.Context(), lib, "-m", "agent_sandbox.server", "serve", "--commands", file).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestRefusesReservedPorts(t *testing.T) {
	for _, port := range []string{"49983", "5000", "49999"} {
		lib, file := standIn(t, "from agent_sandbox.server import start\nif __name__ == '__main__': start("+port+")\n")
		out, err := command(t.Context(), lib, file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "port "+port+" belongs to") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

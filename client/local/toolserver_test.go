//go:build linux

package local

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/local/toolserver"
)

// TestToolServer speaks to the built-in server on port 9000 of a real sandbox.
func TestToolServer(t *testing.T) {
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return p.DialPort(ctx, sb.ID, toolserver.Port)
	}}
	defer tr.CloseIdleConnections()
	call := func(status int, method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://sandbox"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status {
			t.Errorf("%s %s: %d %s, %v; want %d", method, path, res.StatusCode, data, err, status)
		}
		return string(data)
	}
	has := func(text, part string) {
		t.Helper()
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	has(call(200, "GET", "/health/", ""), `"ok"`)
	has(call(200, "GET", "/capabilities", ""), `"dev_tools":false`)
	has(call(200, "GET", "/commands", ""), `{"commands":[]}`)
	call(404, "POST", "/commands/hello", `{}`)
	has(call(404, "GET", "/git/status", ""), "dev_tools")
	has(call(404, "POST", "/v1/agents/sessions", "{}"), "agents")
	call(404, "GET", "/nothing", "")
	call(501, "PUT", "/health", "")
	call(400, "POST", "/shell", "no json")

	content := base64.StdEncoding.EncodeToString([]byte("hello"))
	call(200, "POST", "/upload", `{"path":"d/e/f.txt","content_base64":"`+content+`"}`)
	has(call(200, "GET", "/download?path=/home/user/d/e/f.txt", ""), content)
	call(200, "POST", "/files/upload-stream?path=d/g.txt", "streamed")
	if got := call(200, "GET", "/files/download-stream?path=d/g.txt", ""); got != "streamed" {
		t.Errorf("%q", got)
	}
	has(call(200, "GET", "/files/list?path=d&recursive=true", ""), `"path":"d/e/f.txt"`)
	has(call(200, "GET", "/files/stat?path=d/none", ""), `"exists":false`)
	has(call(200, "GET", "/files/stat?path=d", ""), `"directory"`)
	call(200, "POST", "/files/mkdir", `{"path":"m/n"}`)
	call(200, "POST", "/files/move", `{"source":"d/g.txt","destination":"m/n/g.txt"}`)
	call(404, "DELETE", "/files?path=d/g.txt", "")
	// What was made is the user's own, and usable.
	if got := run(t, p, sb.ID, "stat -c %U d d/e d/e/f.txt m/n m/n/g.txt; echo x >> d/e/f.txt; ln -s /etc out; mkfifo pipe"); got != strings.Repeat("user\n", 5) {
		t.Errorf("owners: %q", got)
	}
	for _, path := range []string{"/etc/hostname", "../x", "out/hostname"} {
		call(400, "GET", "/download?path="+path, "")
	}
	call(400, "GET", "/download?path=pipe", "")
	call(400, "POST", "/upload", `{"path":"out/x","content_base64":""}`)
	call(400, "DELETE", "/files?path=/home/user", "")
	call(200, "DELETE", "/files?path=d", "")

	has(call(200, "POST", "/shell", `{"command":"sh -c 'echo out; echo err >&2; exit 3'"}`), `{"stdout":"out\n","stderr":"err\n","exit_code":3}`)
	has(call(200, "POST", "/shell", `{"command":"echo $HOME"}`), `$HOME`) // no shell
	var pid int
	if _, err := fmt.Sscanf(call(200, "POST", "/process/start", `{"command":"sleep 600"}`), `{"command":"sleep 600","pid":%d}`, &pid); err != nil {
		t.Fatal(err)
	}
	one := fmt.Sprintf("/process/%d", pid)
	has(call(200, "GET", one, ""), `"running"`)
	has(call(200, "GET", "/process/list", ""), `"sleep 600"`)
	call(400, "POST", one+"/signal", `{"signal":1}`)
	call(403, "POST", "/process/1/signal", `{"signal":9}`)
	call(404, "GET", "/process/999999", "")
	call(200, "POST", one+"/signal", `{"signal":9}`)
	eventually(t, "it ends", func() bool { return strings.Contains(call(200, "GET", one, ""), `"exited"`) })
	has(call(200, "GET", "/system/info", ""), `"linux"`)

	// A server of the sandbox's own takes the port's place.
	run(t, p, sb.ID, "mkdir site && echo mine > site/index.html && cd site && (python3 -m http.server 9000 >/dev/null 2>&1 &)")
	eventually(t, "its own server answers", func() bool {
		c, err := tr.RoundTrip(mustGet(t, "http://sandbox/index.html"))
		if err != nil {
			return false
		}
		defer c.Body.Close()
		data, _ := io.ReadAll(c.Body)
		return string(data) == "mine\n"
	})
}

// TestToolServerGroups uses, in a real sandbox, what needs the sandbox's own
// programs: a terminal, a commands.py, code, an agent's program and, where there
// is one, a browser.
func TestToolServerGroups(t *testing.T) {
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{Env: map[string]string{
		"ABX_SERVER_ENABLED_GROUPS": "dev_tools,agents,browser", "ABX_AGENT_COMMAND": "sh agent.sh",
	}})
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return p.DialPort(ctx, sb.ID, toolserver.Port)
	}}
	c := agentserver.New(agentserver.Config{
		HTTP: &http.Client{Transport: tr}, Provider: Name,
		Resolve: func(context.Context, int) (client.Address, error) { return client.Address{URL: "http://sandbox"}, nil },
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()

	pty, err := c.OpenPTY(ctx, "", client.Size{Cols: 81, Rows: 25}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	if _, err := pty.Write([]byte("stty size; whoami; exit\n")); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(pty); err != nil || !strings.Contains(string(out), "25 81\r\nuser\r\n") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := c.RunCode(ctx, "echo $((6*7)); id -un", "bash", 0); err != nil || out.Stdout != "42\nuser\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if err := c.WriteFile(ctx, "agent.sh", []byte(`read -r request; echo "I am $(id -un)"`)); err != nil {
		t.Fatal(err)
	}
	x, err := c.CreateSession(ctx, agentserver.AgentSpec{})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for ev, err := range c.Send(ctx, x.ID, "hi") {
		if err != nil {
			t.Fatal(err)
		}
		said += ev.Delta
	}
	if said != "I am user\n" {
		t.Errorf("the agent said %q", said)
	}
	t.Run("commands", func(t *testing.T) {
		if _, err := os.Stat("/usr/bin/python3"); err != nil {
			t.Skip("no python3 here")
		}
		commands := "from agent_sandbox.server import command\n\n@command()\ndef hello(name: str = 'World'):\n    return 'Hello, ' + name\n"
		if err := c.WriteFile(ctx, "app/commands.py", []byte(commands)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Run(ctx, "hello", map[string]any{"name": "Ada"}); err != nil || string(got) != `"Hello, Ada"` {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("browser", func(t *testing.T) {
		if _, err := os.Stat("/usr/bin/chromium"); err != nil {
			if _, err := c.Screenshot(ctx); !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("without a browser: %v", err)
			}
			return
		}
		if err := c.WriteFile(ctx, "page.html", []byte("<title>in here</title>")); err != nil {
			t.Fatal(err)
		}
		got, err := c.Browser(ctx, agentserver.BrowserNavigate, map[string]any{"url": "file:///home/user/page.html"})
		if err != nil || !strings.Contains(string(got), "in here") {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func mustGet(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/cli"
)

// agent is a client of the protocol at the other end of `abxdash mcp`.
type agent struct {
	t    *testing.T
	s    *mcp.ClientSession
	done chan int
	errs *strings.Builder
}

// connect starts the command on pipes and shakes hands. end closes its input.
func connect(t *testing.T, b *bench, args ...string) *agent {
	t.Helper()
	toServer, fromClient, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toClient, fromServer := io.Pipe()
	a := &agent{t: t, done: make(chan int, 1), errs: &strings.Builder{}}
	app := b.app(fromServer, a.errs)
	app.In = toServer
	go func() {
		a.done <- cli.Run(t.Context(), app, append([]string{"mcp"}, args...))
		_ = fromServer.Close()
		_ = toServer.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if a.s, err = c.Connect(ctx, &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil); err != nil {
		t.Fatal(err)
	}
	return a
}

// end hangs up and returns the exit code.
func (a *agent) end() int {
	a.t.Helper()
	_ = a.s.Close() // the pipes tell
	select {
	case code := <-a.done:
		return code
	case <-time.After(time.Minute):
		a.t.Fatal("the server does not end with its input")
		return 0
	}
}

// call uses a tool; failed is what it says when it could not.
func (a *agent) call(tool string, args map[string]any) (out map[string]any, failed string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	r, err := a.s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	if r.IsError {
		return nil, text.Text
	}
	if err := json.Unmarshal([]byte(text.Text), &out); err != nil {
		a.t.Fatalf("%s answered %q", tool, text.Text)
	}
	return out, ""
}

func (a *agent) tools() []string {
	a.t.Helper()
	var out []string
	for tool, err := range a.s.Tools(a.t.Context(), nil) {
		if err != nil {
			a.t.Fatal(err)
		}
		out = append(out, tool.Name)
	}
	slices.Sort(out)
	return out
}

func TestMCP(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	a := connect(t, b)
	want := []string{
		"create_sandbox", "get_url", "kill_sandbox", "list_files", "list_sandboxes", "read_file", "run_code", "run_command", "sandbox_info", "write_file",
	}
	if d := cmp.Diff(want, a.tools()); d != "" {
		t.Error(d)
	}
	list, _ := a.call("list_sandboxes", map[string]any{})
	if all, _ := list["sandboxes"].([]any); len(all) != 1 {
		t.Errorf("listed %v", list)
	}
	made, failed := a.call("create_sandbox", map[string]any{"name": "mine", "lifetime_s": 600})
	id, _ := made["id"].(string)
	if failed != "" || id == "" {
		t.Fatalf("created %v %s", made, failed)
	}
	meta, _ := made["metadata"].(map[string]any)
	if meta[client.MetaStarted] != "mcp" || meta[client.MetaOwner] != "ada" || made["expires_at"] != "2031-01-01T12:10:00Z" {
		t.Errorf("created %v", made)
	}
	ran, _ := a.call("run_command", map[string]any{"sandbox": "mine", "argv": []string{"sh", "-c", "cat; echo e >&2; exit 4"}, "stdin": "in"})
	if d := cmp.Diff(map[string]any{"stdout": "in", "stderr": "e\n", "exit_code": 4.0, "timed_out": false, "truncated": false}, ran); d != "" {
		t.Error(d)
	}
	if ran, _ = a.call("run_command", map[string]any{"sandbox": "mine", "argv": []string{"echo", "abcdef"}, "max_output": 3}); ran["stdout"] != "abc" || ran["truncated"] != true {
		t.Errorf("%v", ran)
	}
	if _, failed = a.call("run_command", map[string]any{"sandbox": "mine"}); !strings.Contains(failed, "E9002") {
		t.Errorf("nothing to run: %q", failed)
	}
	a.call("write_file", map[string]any{"sandbox": "mine", "path": "d/f", "text": "hé"})
	if got, _ := a.call("read_file", map[string]any{"sandbox": "mine", "path": "d/f"}); got["text"] != "hé" || got["base64"] != "" {
		t.Errorf("read %v", got)
	}
	// A cut in the middle of a character does not make text a binary.
	if got, _ := a.call("read_file", map[string]any{"sandbox": "mine", "path": "d/f", "max_bytes": 2}); got["text"] != "h" || got["truncated"] != true {
		t.Errorf("read %v", got)
	}
	a.call("write_file", map[string]any{"sandbox": "mine", "path": "d/b", "base64": "AP8="})
	if got, _ := a.call("read_file", map[string]any{"sandbox": "mine", "path": "d/b"}); got["base64"] != "AP8=" {
		t.Errorf("read %v", got)
	}
	if got, _ := a.call("list_files", map[string]any{"sandbox": "mine", "path": "d"}); len(got["files"].([]any)) != 2 {
		t.Errorf("listed %v", got)
	}
	if _, failed = a.call("read_file", map[string]any{"sandbox": "mine", "path": "none"}); !strings.Contains(failed, "E4001") {
		t.Errorf("a missing file: %q", failed)
	}
	// Only what was made here may be killed.
	if _, failed = a.call("kill_sandbox", map[string]any{"sandbox": "web"}); !strings.Contains(failed, "E9013") || !strings.Contains(failed, "--allow-kill-any") {
		t.Errorf("killing another's: %q", failed)
	}
	if got, _ := a.call("kill_sandbox", map[string]any{"sandbox": "mine"}); got["result"] != "killed" {
		t.Errorf("killed %v", got)
	}
	if got, _ := a.call("kill_sandbox", map[string]any{"sandbox": id}); got["result"] != "already_gone" {
		t.Errorf("killed %v", got)
	}
	if code := a.end(); code != 0 || a.errs.String() != "" {
		t.Errorf("ended with %d, said %q", code, a.errs)
	}
}

func TestMCPReadOnly(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	a := connect(t, b, "--read-only")
	if d := cmp.Diff([]string{"get_url", "list_files", "list_sandboxes", "read_file", "sandbox_info"}, a.tools()); d != "" {
		t.Error(d)
	}
	a.end()
	for _, call := range b.p.Calls() {
		if call.Op == fake.OpCreate || call.Op == fake.OpKill || call.Op == fake.OpPut {
			t.Errorf("%+v", call)
		}
	}
}

func TestMCPKills(t *testing.T) {
	b := newBench(t)
	ids := b.add(rows()[0], client.Sandbox{ID: "iacccccccccccccccccccc", Name: "safe", Metadata: map[string]string{client.MetaProtect: "true"}})
	a := connect(t, b, "--allow-kill-any", "--kill-on-exit")
	if got, failed := a.call("kill_sandbox", map[string]any{"sandbox": string(ids[0])}); got["result"] != "killed" {
		t.Errorf("killed %v %s", got, failed)
	}
	if _, failed := a.call("kill_sandbox", map[string]any{"sandbox": "safe"}); !strings.Contains(failed, "protected") {
		t.Errorf("killing a protected one: %q", failed)
	}
	a.call("create_sandbox", map[string]any{})
	a.end()
	page, err := b.p.List(t.Context(), client.Query{})
	if err != nil || len(page.Sandboxes) != 1 || page.Sandboxes[0].Name != "safe" {
		t.Errorf("%+v %v", page.Sandboxes, err)
	}
}

// What was piped in is answered, though the input ends with it.
func TestMCPPiped(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.p.Script(fake.OpList, "", fake.Step{Delay: 100 * time.Millisecond, Repeat: true})
	b.in = strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
this is no JSON

{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_sandboxes","arguments":{}}}`)
	code, out, errs := b.run("mcp")
	if code != 0 || !strings.Contains(out, `"id":7,"result"`) || !strings.Contains(out, "-32700") || strings.Count(out, "\n") != 3 || errs != "" {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
}

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
)

func TestWatchOnce(t *testing.T) {
	b := newBench(t)
	if out := b.ok("watch", "--once"); out != "" {
		t.Errorf("nothing to say, and says %q", out)
	}
	b.add(rows()...)
	out := b.ok("watch", "--once", "--notify")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "stray") || !strings.Contains(lines[0], "no owner tag") {
		t.Errorf("output %q", out)
	}
	var e struct{ Kind, Provider, ID, Text string }
	if err := json.Unmarshal([]byte(b.ok("watch", "--once", "--json")), &e); err != nil || e.Kind != "stray" || e.ID != "iabbbbbbbbbbbbbbbbbbb" {
		t.Errorf("%+v, %v", e, err)
	}
	b.p.Script(fake.OpList, "", fake.Step{Err: fake.Unauthorized()})
	if code, _, errs := b.run("watch", "--once"); code != 3 || !strings.Contains(errs, "not accepted") {
		t.Errorf("%d %q", code, errs)
	}
	if code, _, _ := b.run("watch", "--every", "1ms"); code != 2 {
		t.Errorf("a flood is accepted: %d", code)
	}
	for _, c := range b.p.Calls() {
		if c.Op != fake.OpList {
			t.Errorf("watching called %s", c.Op)
		}
	}
}

// The plain mode appends lines, runs the usual commands and ends with the input.
func TestPlainMode(t *testing.T) {
	b := newBench(t)
	b.add(client.Sandbox{ID: "iaaaaaaaaaaaaaaaaaaaa", Name: "web", StartedAt: noon.Add(-time.Hour)})
	b.in = strings.NewReader("exec web -- echo 'hello there'\n\nkill nobody\nkill web 'unclosed\nkill web --yes\nls\nquit\nexec web -- echo never\n")
	code, out, errs := b.run("--plain")
	if code != 0 || errs != "" {
		t.Fatalf("%d %q", code, errs)
	}
	for _, want := range []string{"plain mode", "web", "hello there\n", "exit 4", "no sandboxes"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "never") || len(b.p.CallsOf(fake.OpKill)) != 1 {
		t.Errorf("after quit, or kills %d:\n%s", len(b.p.CallsOf(fake.OpKill)), out)
	}
	if strings.ContainsAny(out, "\x1b\r\b") {
		t.Error("something moves the cursor")
	}
}

package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/cli"
)

// stubLocal plays the local server.
type stubLocal struct {
	mu     sync.Mutex
	status cli.LocalStatus
	forced []bool
	found  []string
}

func (s *stubLocal) Status(context.Context) (cli.LocalStatus, error) { return s.status, nil }

func (s *stubLocal) Run(ctx context.Context, ready func(cli.LocalStatus)) error {
	ready(s.status)
	<-ctx.Done()
	return ctx.Err()
}

func (s *stubLocal) Stop(_ context.Context, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = append(s.forced, force)
	if s.status.Sandboxes > 0 && !force {
		return &client.Error{Op: "stop the local server", Code: client.CodeConflict, Kind: client.ErrConflict, Message: "it holds 2 sandboxes"}
	}
	s.status = cli.LocalStatus{}
	return nil
}

func (s *stubLocal) Leftovers(context.Context, client.ID, string) ([]string, bool, error) {
	return s.found, true, nil
}

func TestLocal(t *testing.T) {
	b := newBench(t)
	if code, _, errs := b.run("local", "status"); code != 1 || !strings.Contains(errs, "E8004") {
		t.Errorf("without local sandboxes: %d %q", code, errs)
	}
	stub := &stubLocal{status: cli.LocalStatus{Running: true, PID: 7, Socket: "/s", Isolation: "namespace", Version: "1", Sandboxes: 2}}
	b.local = stub
	var got map[string]any
	if err := json.Unmarshal([]byte(b.ok("local", "status", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"running": true, "pid": 7.0, "socket": "/s", "isolation": "namespace", "isolation_reason": "", "version": "1", "sandboxes": 2.0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := b.ok("local", "status"); !strings.Contains(got, "yes, pid 7") {
		t.Errorf("%q", got)
	}
	if code, _, errs := b.run("local", "stop"); code != 1 || !strings.Contains(errs, "holds 2 sandboxes") {
		t.Errorf("without a terminal: %d %q", code, errs)
	}
	b.terminal, b.in = true, strings.NewReader("n\n")
	if code, _, _ := b.run("local", "stop"); code != 1 || !stub.status.Running {
		t.Errorf("answered no: %d", code)
	}
	b.terminal, b.in = true, strings.NewReader("y\n")
	if code, _, _ := b.run("local", "stop"); code != 0 || stub.status.Running {
		t.Errorf("answered yes: %d", code)
	}
	if d := cmp.Diff([]bool{false, false, false, true}, stub.forced); d != "" {
		t.Error(d)
	}
	b.signals <- os.Interrupt
	if code, _, errs := b.run("local", "run"); code != 0 && code != 130 || !strings.Contains(errs, "local server at") {
		t.Errorf("run: %d %q", code, errs)
	}
}

func TestTry(t *testing.T) {
	b := newBench(t)
	out := b.ok("try")
	for _, step := range []string{"create", "stream", "exit code", "write", "list", "read", "terminal", "background", "kill", "nothing left"} {
		if !regexp.MustCompile(`(?m)^ok +` + step + ` `).MatchString(out) {
			t.Errorf("%s is missing in\n%s", step, out)
		}
	}
	if len(b.p.All()) != 0 || b.opened.Provider != "local" {
		t.Errorf("%d sandboxes left, provider %q", len(b.p.All()), b.opened.Provider)
	}
}

func TestTryFails(t *testing.T) {
	for name, script := range map[string]func(*bench){
		"write":        func(b *bench) { b.p.Script(fake.OpPut, "", fake.Step{Err: fake.ServerError("disk full")}) },
		"stream":       func(b *bench) { b.p.Script(fake.OpStart, "", fake.Step{Err: fake.ServerError("no")}) },
		"terminal":     func(b *bench) { b.p.Script(fake.OpResize, "", fake.Step{Err: fake.ServerError("no")}) },
		"kill":         func(b *bench) { b.p.Script(fake.OpKill, "", fake.Step{Err: fake.ServerError("no")}) },
		"nothing left": func(b *bench) { b.p.Script(fake.OpKill, "", fake.Step{Skip: true}) },
		"create":       func(b *bench) { b.p.Script(fake.OpCreate, "", fake.Step{Err: fake.ServerError("no")}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			script(b)
			code, out, errs := b.run("try")
			if code != 1 || !regexp.MustCompile(`(?m)^FAILED +`+name+` `).MatchString(out) || !strings.HasPrefix(errs, "abxdash: ") {
				t.Errorf("%d\n%s%s", code, out, errs)
			}
			if name != "kill" && name != "nothing left" && len(b.p.All()) != 0 {
				t.Error("the sandbox was left behind")
			}
		})
	}
}

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/fake"
)

// script writes a local file and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// live is how many sandboxes there are.
func (b *bench) live() int {
	b.t.Helper()
	page, err := b.p.List(b.t.Context(), client.Query{})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(page.Sandboxes)
}

func TestProgram(t *testing.T) {
	b := newBench(t)
	file := script(t, "work", "whatever job takes\n")
	out := filepath.Join(t.TempDir(), "out")
	b.in = strings.NewReader("in\n")
	code, stdout, stderr := b.run("run", "--interpreter", "job -v", "--result", "result", "--out", out, file, "a b", "--json")
	if code != 3 || stdout != `got ["-v" "./.abxdash-program/work" "a b" "--json"]`+"\nin\n" || !strings.HasPrefix(stderr, "e\n") || b.live() != 0 {
		t.Errorf("code %d, out %q, err %q, %d live", code, stdout, stderr, b.live())
	}
	if got, err := os.ReadFile(filepath.Join(out, "result")); err != nil || string(got) != "r\n" {
		t.Errorf("%q %v", got, err)
	}
	// A result that is missing is told, and does not hide the program's code.
	code, _, stderr = b.run("run", "--interpreter", "job", "--result", "none", file)
	if code != 3 || !strings.Contains(stderr, "E4001") || b.live() != 0 {
		t.Errorf("code %d, err %q", code, stderr)
	}
	var got struct {
		Provider, ID, Stdout, Stderr string
		Kept                         bool
		ExitCode                     int `json:"exit_code"`
		Results                      []struct{ Path string }
	}
	b.in = strings.NewReader("")
	code, stdout, _ = b.run("run", "--json", "--keep", "--interpreter", "job", "--result", "result", "--out", out, file)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%q: %v", stdout, err)
	}
	if code != 3 || !got.Kept || got.ID == "" || got.Provider != "fake" || got.ExitCode != 3 || got.Stdout != `got ["./.abxdash-program/work"]`+"\n" || len(got.Results) != 1 || b.live() != 1 {
		t.Errorf("code %d, %+v, %d live", code, got, b.live())
	}
}

func TestProgramRefused(t *testing.T) {
	text := script(t, "words.txt", "hello there")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no file":       {[]string{"run"}, "needs a local file"},
		"missing":       {[]string{"run", "no-such-file.sh"}, "E4001"},
		"a folder":      {[]string{"run", t.TempDir()}, "is a folder"},
		"empty":         {[]string{"run", script(t, "empty.sh", "")}, "empty"},
		"no program":    {[]string{"run", text}, "neither a Linux binary nor a script"},
		"bad timeout":   {[]string{"run", "--timeout", "-1s", text}, "negative"},
		"bad env":       {[]string{"run", "--env", "A", text}, "KEY=VALUE"},
		"read-only":     {[]string{"--read-only", "run", text}, "E9013"},
		"no such named": {[]string{"run", "--interpreter", "no-such-program", text}, ""},
	} {
		b := newBench(t)
		code, out, errs := b.run(c.args...)
		if name == "no such named" {
			// The program's own failure, as the sandbox words it.
			if code != 127 || b.live() != 0 {
				t.Errorf("%s: %d %q", name, code, errs)
			}
			continue
		}
		if code != 125 || out != "" || !strings.Contains(errs, c.want) || len(b.p.Calls()) != 0 {
			t.Errorf("%s: %d %q %q, %d calls", name, code, out, errs, len(b.p.Calls()))
		}
	}
}

// A signal calls the program off; its sandbox goes even with --keep.
func TestProgramSignal(t *testing.T) {
	b := newBench(t)
	b.p.Script(fake.OpStart, "", fake.Step{Hang: true})
	job := script(t, "job.sh", "#!/bin/sh\necho hi\n")
	go func() { b.signals <- syscall.SIGTERM }()
	if code, _, errs := b.run("run", "--keep", job); code != 143 || b.live() != 0 {
		t.Errorf("code %d, %q, %d live", code, errs, b.live())
	}
}

func TestCodeRefused(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	empty, large := script(t, "empty.py", "\n\n"), script(t, "large.py", "")
	if err := os.Truncate(large, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"code", "web", "1"}, 1, "E8004"},
		{[]string{"code", "web", "--timeout", "-1s", "1"}, 2, "negative"},
		{[]string{"code", "web", "--file", "no-such-file"}, 4, "E4001"},
		{[]string{"code", "web", "--file", "x", "1"}, 2, "once"},
		{[]string{"code", "web", " \n"}, 2, "no code"},
		{[]string{"code", "web", "--file", empty}, 2, "no code"},
		{[]string{"code", "web", "--file", large}, 2, "over 64 MiB"},
		{[]string{"code", "web", "--file", t.TempDir()}, 2, "no file"},
		{[]string{"code", "web", "--contexts", "1"}, 2, "once"},
		{[]string{"code", "web", "--language", "r", "--context", "c", "1"}, 1, "context"},
		{[]string{"--read-only", "code", "web", "1"}, 1, "E9013"},
		{[]string{"code", "nothing", "1"}, 4, "E9001"},
	} {
		if code, out, errs := b.run(c.args...); code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %d %q %q", c.args, code, out, errs)
		}
	}
	b.terminal = true
	if code, _, errs := b.run("code", "web"); code != 2 || !strings.Contains(errs, "no code") {
		t.Errorf("%d %q", code, errs)
	}
}

func TestPsAndSignal(t *testing.T) {
	b := newBench(t)
	ids := b.add(rows()[0])
	if code, out, errs := b.run("ps", "web"); code != 0 || out != "" || !strings.Contains(errs, "no command") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if got := b.ok("ps", "web", "--json"); got != "[]\n" {
		t.Errorf("%q", got)
	}
	proc, err := b.p.Start(t.Context(), ids[0], client.Command{Argv: []string{"sh", "-c", "sleep 1000", "a\x1bb"}, Tag: "t\n"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = proc.Close() }()
	pid := strings.TrimSpace(b.ok("ps", "web", "-q"))
	want := "PID  TAG  COMMAND\n" + strings.Repeat(" ", 3-len(pid)) + pid + "  t\\n  sh -c sleep 1000 a\\u001bb\n"
	if d := cmp.Diff(want, b.ok("ps", "web")); d != "" {
		t.Error(d)
	}
	var list []struct {
		PID  int
		Argv []string
		Tag  string
	}
	if err := json.Unmarshal([]byte(b.ok("ps", "web", "--json")), &list); err != nil || len(list) != 1 || list[0].Argv[3] != "a\x1bb" || list[0].Tag != "t\n" {
		t.Errorf("%+v %v", list, err)
	}
	for _, args := range [][]string{{"web", pid, "HUP"}, {"web", "0"}, {"web", "x"}, {"web"}} {
		if code, _, errs := b.run(append([]string{"signal"}, args...)...); code != 2 {
			t.Errorf("%q: %d %q", args, code, errs)
		}
	}
	if code, _, _ := b.run("signal", "web", "99999"); code != 4 {
		t.Errorf("an unknown pid gives %d", code)
	}
	if code, _, _ := b.run("--read-only", "signal", "web", pid); code != 1 {
		t.Errorf("read-only gives %d", code)
	}
	b.ok("signal", "web", pid, "kill")
	out, err := client.Collect(proc)
	if err != nil || out.Exit.Signal != 9 {
		t.Errorf("%+v %v", out.Exit, err)
	}
}

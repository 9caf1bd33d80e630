package templates

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const seedCommands = `from __future__ import annotations

import os

from agent_sandbox.server import CapabilityGroup, command, default_table, start

table = default_table()
table.enable_group(CapabilityGroup.DEV_TOOLS)


@command("hello", description="Say hello.")
def hello(name: str = "World") -> str:
    return f"Hello, {name}!"


if __name__ == "__main__":
    start(int(os.environ.get("ABX_SERVER_PORT", "9000")))
`

func python(t *testing.T) string {
	t.Helper()
	p := Interpreter()
	if p == "" {
		t.Skip("there is no python3 on this machine")
	}
	return p
}

func checkCommands(t *testing.T, in string, target Target) (Commands, Problems) {
	t.Helper()
	return CheckCommands(t.Context(), python(t), FileCommands, []byte(in), target)
}

func TestSeedCommands(t *testing.T) {
	got, ps := checkCommands(t, seedCommands, NewTarget("", "", nil))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	got.Python = ""
	want := Commands{
		Checked: true, MainStart: true, Groups: []string{"dev_tools"},
		Commands: []Command{{
			Name: "hello", Function: "hello", Description: "Say hello.", Line: 12,
			Args: []Argument{{Name: "name", Type: "string", Default: []byte(`"World"`)}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArguments(t *testing.T) {
	got, ps := checkCommands(t, `import typing
import agent_sandbox.server as s
@s.command()
def f(a, b: int, c: float = 1.5, *, d: "bool" = True, e: int | None = None, g: typing.Optional[float] = None, h: list = []):
    """Does it.

    More."""
@s.command(name="x-y", hidden=True)
def g(): pass
if "__main__" == __name__: s.start(9000)
`, NewTarget("", "", nil))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	var args []string
	for _, a := range got.Commands[0].Args {
		text := a.Name + " " + a.Type
		if a.Required {
			text += " required"
		} else {
			text += " " + string(a.Default)
		}
		args = append(args, text)
	}
	want := []string{"a string required", "b integer required", "c float 1.5", "d boolean true", "e integer null", "g float null", "h string null"}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Error(diff)
	}
	if c := got.Commands[0]; c.Name != "f" || c.Description != "Does it." {
		t.Errorf("got %+v", c)
	}
	if c := got.Commands[1]; c.Name != "x-y" || !c.Hidden {
		t.Errorf("got %+v", c)
	}
}

func TestBrokenCommands(t *testing.T) {
	const head = "from agent_sandbox.server import command, start\n"
	const tail = "\nif __name__ == \"__main__\":\n    start(9000)\n"
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"start at import", head + "@command()\ndef f(): pass\nstart(9000)\n", []string{"error start-at-import 4:1"}},
		{"start in try", head + "try:\n    start(9000)\nfinally:\n    pass\n", []string{"error start-at-import 3:5"}},
		{"start in an expression", head + "x = [start(9000)]\n", []string{"error start-at-import 2:6"}},
		{"start through a function", head + "def go(): start(1)\ngo()\n", []string{"error start-at-import 3:1"}},
		{"start in else of main", head + "if __name__ == \"__main__\":\n    start(9000)\nelse:\n    start(9000)\n", []string{"error start-at-import 5:5"}},
		{"start of the module", "from agent_sandbox import server\nserver.start(9000)\n", []string{"error start-at-import 2:1"}},
		{"registry.command", head + "@registry.command('x')\ndef f(): pass" + tail, []string{"error old-style 2:2"}},
		{"sandbox.register", head + "@sandbox.register\ndef f(): pass" + tail, []string{"error old-style 2:2"}},
		{"sandbox", head + "@sandbox\ndef f(): pass" + tail, []string{"error old-style 2:2"}},
		{"unknown import", "from agent_sandbox.server import command, registry, start\n@command()\ndef f(): pass" + tail, []string{"error import 1:1"}},
		{"star", "from agent_sandbox.server import *\n", []string{"error import 1:1"}},
		{"client import", head + "from agent_sandbox import Sandbox\n@command()\ndef f(): pass" + tail, []string{"error client-import 2:1"}},
		{"client module", head + "import agent_sandbox\n@command()\ndef f(): pass" + tail, []string{"error client-import 2:1"}},
		{"client module inside a function", head + "@command()\ndef f():\n    from agent_sandbox.client import x" + tail, []string{"error client-import 4:5"}},
		{"below the server", "from agent_sandbox.server.app import command\n", []string{"error client-import 1:1"}},
		{"relative", head + "from . import x\n@command()\ndef f(): pass" + tail, []string{"error import 2:1"}},
		{"unknown attribute", "import agent_sandbox.server as s\n@s.command()\ndef f(): pass\ns.registry\n", []string{"error import 4:1"}},
		{"group", "from agent_sandbox.server import CapabilityGroup\nCapabilityGroup.SHELL\n", []string{"error group 2:1"}},
		{"method", head + "class A:\n    @command()\n    def f(self): pass" + tail, []string{"error command-place 4:5"}},
		{"under main", head + "if __name__ == \"__main__\":\n    @command()\n    def f(): pass\n    start(9000)\n", []string{"error command-place 4:5"}},
		{"not imported", "@command()\ndef f(): pass\n", []string{"error import 1:2"}},
		{"someone else's command", head + "import click\n@click.command()\ndef f(): pass\n@command()\ndef g(): pass" + tail, nil},
		{"someone else's register", head + "import atexit\n@atexit.register\ndef f(): pass\n@command()\ndef g(): pass" + tail, nil},
		{"twice", head + "@command('a')\ndef f(): pass\n@command('a')\ndef g(): pass" + tail, []string{"error command-name 5:1"}},
		{"slash", head + "@command('a/b')\ndef f(): pass" + tail, []string{"error command-name 3:1"}},
		{"computed name", head + "@command('a' + x)\ndef f(): pass" + tail, []string{"warning command-name 2:10"}},
		{"positional", head + "@command()\ndef f(a, /): pass" + tail, []string{"error argument 3:1"}},
		{"reserved port", head + "@command()\ndef f(): pass\nif __name__ == '__main__': start(49983)\n", []string{"error reserved-port 4:34"}},
		{"no start", head + "@command()\ndef f(): pass\n", []string{"warning no-start 0:0"}},
		{"no command", head + tail, []string{"warning no-command 0:0"}},
		{"syntax", head + "def f(:\n", []string{"error syntax 2:7"}},
		{"tab", head + "if x:\n\ta\n        b\n", []string{"error syntax 4:10"}},
		{"foreign variable", head + "import os\n@command()\ndef f(): return os.environ['E2B_API_KEY']" + tail, []string{"error foreign-variable 4:28"}},
		{"secret", head + "K = 'LTAI5tABCDEFGH0123456789'\n@command()\ndef f(): pass" + tail, []string{"error secret 2:0"}},
		{"column counts characters", head + "x = 'äöü'; start(9000)\n", []string{"error start-at-import 2:12"}},
		{"nul", "a\x00b", []string{"error syntax 0:0"}},
		{"deep", "x = " + strings.Repeat("(", 5000), []string{"error syntax"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, ps := checkCommands(t, tc.in, NewTarget("", "", nil))
			got := short(ps)
			if len(tc.want) == 1 && tc.want[0] == "error syntax" || tc.name == "tab" || tc.name == "nul" {
				// Where it is said to be differs between versions of Python.
				if len(ps) != 1 || ps[0].Rule != "syntax" || ps[0].Severity != SeverityError {
					t.Errorf("got %v", ps)
				}
				return
			}
			if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, ps)
			}
			checkClean(t, ps)
		})
	}
}

func TestOthersNeedStart(t *testing.T) {
	_, ps := checkCommands(t, "from agent_sandbox.server import command\n@command()\ndef f(): pass\n", NewTarget("opensandbox", "", nil))
	if len(ps) != 1 || ps[0].Severity != SeverityError || ps[0].Rule != "no-start" {
		t.Errorf("got %v", ps)
	}
}

func TestNothingRuns(t *testing.T) {
	_, ps := checkCommands(t, "import os, sys\nos.write(2, b'ran')\nsys.exit(3)\n", NewTarget("", "", nil))
	for _, p := range ps {
		if p.Rule == "not-checked" {
			t.Errorf("the file was run: %v", p)
		}
	}
}

func TestWithoutPython(t *testing.T) {
	got, ps := CheckCommands(t.Context(), "", FileCommands, []byte(seedCommands), NewTarget("", "", nil))
	if got.Checked || len(ps) != 1 || ps[0].Severity != SeverityInfo {
		t.Errorf("got %+v, %v", got, ps)
	}
}

func TestCheckThatFails(t *testing.T) {
	fail, err := exec.LookPath("false")
	if err != nil {
		t.Skip("there is no program `false`")
	}
	_, ps := CheckCommands(t.Context(), fail, FileCommands, []byte(seedCommands), NewTarget("", "", nil))
	if !ps.Failed() {
		t.Errorf("got %v", ps)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ps = CheckCommands(ctx, python(t), FileCommands, []byte(seedCommands), NewTarget("", "", nil)); !ps.Failed() {
		t.Errorf("cancelled: got %v", ps)
	}
}

package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/templates"
)

const someDockerfile = `FROM alpine AS tools
CMD ["x"]
FROM ubuntu:24.04
RUN apt-get update \
 && apt-get install -y jq
ENTRYPOINT ["/x", \
  "y"]
CMD z
`

func options(kind Kind, provider string) Options {
	o := Options{Kind: kind, Name: "demo", Target: templates.NewTarget(provider, "", nil)}
	if kind == FromDockerfile {
		o.Dockerfile = []byte(someDockerfile)
	}
	if kind == FromSandbox {
		o.Changes = &Changes{
			Files:  []File{{Path: "notes.txt", Data: []byte("a\n")}, {Path: "bin/tool", Data: []byte("#!/bin/sh\n"), Exec: true}, {Path: "web/package.json", Data: []byte("{}")}},
			Python: []string{"requests==2.32.0", "attrs==25.1"}, Node: []string{"@scope/tool@1.2.3"}, NodeFolders: []string{"web"},
		}
	}
	return o
}

func write(t *testing.T, dir string, o Options) {
	t.Helper()
	list, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Compare(dir, list)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, changes); err != nil {
		t.Fatal(err)
	}
}

// Every kind for every target passes the linter without a remark.
func TestEveryKindIsClean(t *testing.T) {
	for _, k := range Kinds() {
		for _, provider := range []string{templates.Express, "opensandbox"} {
			t.Run(string(k.Kind)+" "+provider, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "demo")
				o := options(k.Kind, provider)
				write(t, dir, o)
				r, err := templates.Lint(t.Context(), dir, templates.LintOptions{Target: o.Target, Python: templates.Interpreter()})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Problems) > 0 && r.Commands.Checked || !r.OK {
					t.Errorf("%v", r.Problems)
				}
				if r.Commands.Checked && r.Commands.Commands[0].Name != "hello" {
					t.Errorf("commands: %+v", r.Commands)
				}
			})
		}
	}
}

// The seed's own files, word for word.
func TestSeedShape(t *testing.T) {
	list, err := New(options(Python, ""))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range list {
		got[f.Path] = string(f.Data)
	}
	want := `name: demo
version: "1.0.0"
description: "A Python sandbox"
user: user
workdir: /home/user/app
capabilities:
  - shell
  - files
  - code
ports:
  - 9000
`
	if diff := cmp.Diff(want, got["template.yaml"]); diff != "" {
		t.Errorf("template.yaml (-want +got):\n%s", diff)
	}
	want = `FROM fc-e2b-registry.cn-hangzhou.cr.aliyuncs.com/runtime/base:v0.0.49
COPY *.whl /tmp/
RUN if ls /tmp/*.whl 1>/dev/null 2>&1; then \
        pip install --no-cache-dir /tmp/*.whl && rm -f /tmp/*.whl; \
    else \
        pip install --no-cache-dir agent-sandbox-server; \
    fi
WORKDIR /home/user/app
COPY commands.py /home/user/app/commands.py
EXPOSE 9000
`
	if diff := cmp.Diff(want, got["Dockerfile"]); diff != "" {
		t.Errorf("Dockerfile (-want +got):\n%s", diff)
	}
	want = `from __future__ import annotations

import os

from agent_sandbox.server import CapabilityGroup, command, default_table, start

table = default_table()
table.enable_group(CapabilityGroup.DEV_TOOLS)


@command("hello", description="Say hello.")
def hello(name: str = "World") -> str:
    return f"Hello, {name}!"


@command("add", description="Add two numbers.")
def add(a: int, b: int = 1) -> int:
    return a + b


if __name__ == "__main__":
    start(int(os.environ.get("ABX_SERVER_PORT", "9000")))
`
	if diff := cmp.Diff(want, got["commands.py"]); diff != "" {
		t.Errorf("commands.py (-want +got):\n%s", diff)
	}
	list, err = New(options(Minimal, "opensandbox"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(list[1].Data); !strings.HasPrefix(text, "FROM python:3.12-slim\n") || !strings.HasSuffix(text, "WORKDIR /app\nCOPY commands.py .\nEXPOSE 9000\nCMD [\"python3\", \"commands.py\"]\n") {
		t.Errorf("Dockerfile:\n%s", text)
	}
	if text := string(list[2].Data); strings.Contains(text, "\n\n\n\n") || strings.Contains(text, "default_table") {
		t.Errorf("commands.py:\n%s", text)
	}
}

func TestAdaptedDockerfile(t *testing.T) {
	list, err := New(options(FromDockerfile, ""))
	if err != nil {
		t.Fatal(err)
	}
	text := string(list[1].Data)
	for _, want := range []string{
		"FROM alpine AS tools\nCMD [\"x\"]\n", "# FROM ubuntu:24.04\nFROM fc-e2b-registry.", "# ENTRYPOINT [\"/x\", \\\n#   \"y\"]\n# CMD z\n", "RUN apt-get update \\\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		code client.Code
	}{
		"reserved":    {Options{Kind: Python, Name: "Codex"}, client.CodeTemplateParse},
		"bad name":    {Options{Kind: Python, Name: "a b"}, client.CodeUsage},
		"no name":     {Options{Kind: Python}, client.CodeUsage},
		"kind":        {Options{Kind: "cobol", Name: "a"}, client.CodeUsage},
		"group":       {Options{Kind: Python, Name: "a", Groups: []string{"shell"}}, client.CodeUsage},
		"capability":  {Options{Kind: Python, Name: "a", Capabilities: []string{"teleport"}}, client.CodeTemplateParse},
		"size":        {Options{Kind: Python, Name: "a", MemoryMB: 1}, client.CodeTemplateParse},
		"no file":     {Options{Kind: FromDockerfile, Name: "a"}, client.CodeUsage},
		"no FROM":     {Options{Kind: FromDockerfile, Name: "a", Dockerfile: []byte("RUN x\n")}, client.CodeTemplateParse},
		"description": {Options{Kind: Python, Name: "a", Description: "sk-abcdefghijklmnop0123456789"}, client.CodeTemplateParse},
	} {
		if _, err := New(tc.o); client.CodeOf(err) != tc.code {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNeverOverwritesUnseen(t *testing.T) {
	dir := t.TempDir()
	o := options(Minimal, "")
	write(t, dir, o)
	mine := filepath.Join(dir, "commands.py")
	if err := os.WriteFile(mine, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Compare(dir, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		switch c.Path {
		case "commands.py":
			if c.Action != Replace || !strings.Contains(c.Diff, "-mine\n") {
				t.Errorf("%s: %s\n%s", c.Path, c.Action, c.Diff)
			}
		default:
			if c.Action != Unchanged {
				t.Errorf("%s: %s", c.Path, c.Action)
			}
		}
	}
	if err := os.WriteFile(mine, []byte("mine again\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, changes); client.CodeOf(err) != client.CodeConflict {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(mine); err != nil || string(got) != "mine again\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "x")
	if err := os.Symlink(outside, filepath.Join(dir, "Dockerfile")); err != nil {
		t.Skip(err)
	}
	list, err := New(options(Minimal, ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(dir, list); client.CodeOf(err) != client.CodeFiles {
		t.Errorf("got %v", err)
	}
}

// TPL-09: the ignore file excludes every secret that a scan would name.
func TestIgnoreCoversSecrets(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, options(Minimal, ""))
	for _, name := range []string{".env", ".env.local", ".claude/settings.local.json", "id_ed25519", ".git/config", "deep/key.pem", ".aws/credentials"} {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("token = ghp_0123456789abcdefghijABCDEFGHIJ\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, ps, err := templates.ScanContext(dir, "Dockerfile")
	if err != nil || len(ps) > 0 || len(c.Secrets) > 0 {
		t.Errorf("%v, %v, %v", err, ps, c.Secrets)
	}
}

func TestGeneratedTestPasses(t *testing.T) {
	python := templates.Interpreter()
	if python == "" {
		t.Skip("there is no python3 on this machine")
	}
	for _, k := range []Kind{Minimal, Python, Node, Agent} {
		dir := t.TempDir()
		write(t, dir, options(k, ""))
		cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "discover", "-s", "tests")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", k, err, out)
		}
	}
}

func TestNameFor(t *testing.T) {
	for in, want := range map[string]string{"demo": "demo", "/a/My Template/": "my-template", "./_x_": "x", "..": "my-template", strings.Repeat("a", 80): strings.Repeat("a", 63)} {
		if got := NameFor(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

// What a sandbox had becomes files, modes and lines of the Dockerfile.
func TestFromSandbox(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	o := options(FromSandbox, templates.Express)
	write(t, dir, o)
	info, err := os.Stat(filepath.Join(dir, "home", "bin", "tool"))
	if err != nil || runtime.GOOS != "windows" && info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"RUN pip install --no-cache-dir \\\n        requests==2.32.0 \\\n        attrs==25.1\n", "RUN npm install -g \\\n        @scope/tool@1.2.3\n",
		"COPY --chown=user:user home/ /home/user/\n", "RUN cd /home/user/web && npm install\n", "RUN command -v node",
	} {
		if !strings.Contains(string(data), line) {
			t.Errorf("no %q in\n%s", line, data)
		}
	}
	// Again: nothing differs, modes neither. A lost exec bit does.
	list, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "home", "bin", "tool"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes, err := Compare(dir, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		want := Unchanged
		if c.Path == "home/bin/tool" && runtime.GOOS != "windows" {
			want = Replace
		}
		if c.Action != want {
			t.Errorf("%s: %s", c.Path, c.Action)
		}
	}
	// Its own commands.py takes the place of ours.
	o.Changes.Files = append(o.Changes.Files, File{Path: "app/commands.py", Data: []byte("mine = 1\n")})
	if list, err = New(o); err != nil || string(list[2].Data) != "mine = 1\n" || slices.ContainsFunc(list, func(f File) bool { return f.Path == "home/app/commands.py" }) {
		t.Errorf("%v", err)
	}
	for name, c := range map[string]*Changes{
		"nothing":       {},
		"none":          nil,
		"python":        {Python: []string{"x==1; rm -rf /"}},
		"node":          {Node: []string{"x@1 && false"}},
		"node folder":   {Node: []string{"x@1"}, NodeFolders: []string{"a b"}},
		"python option": {Python: []string{"--index-url=x==1"}},
	} {
		o.Changes = c
		if _, err := New(o); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names out of a sandbox never leave the folder.
func TestWriteStaysInside(t *testing.T) {
	for _, name := range []string{"../x", "/x", "a/../../x", "", "a//b"} {
		dir := filepath.Join(t.TempDir(), "demo")
		if err := Write(dir, []Change{{File: File{Path: name, Data: []byte("x")}, Action: Create}}); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

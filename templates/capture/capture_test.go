//go:build linux

package capture

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/local"
)

func TestMain(m *testing.M) {
	// The test's own binary plays the local server and its helpers.
	if local.Reexec() {
		return
	}
	goleak.VerifyTestMain(m)
}

const patience = 2 * time.Minute

// sandbox is a local sandbox in which a script has run.
func sandbox(t *testing.T, script string) (client.Provider, client.Sandbox) {
	t.Helper()
	root, err := os.MkdirTemp("", "abxdash-capture")
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(local.Config{Root: root, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Stop(ctx, true); err != nil {
			t.Errorf("stop the local server: %v", err)
		}
		p.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	sb, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Lifetime: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	shell(t, p, sb.ID, script)
	return p, sb
}

func shell(t *testing.T, p client.Provider, id client.ID, script string) {
	t.Helper()
	proc, err := p.Commands().Start(t.Context(), id, client.Command{Argv: []string{"/bin/sh", "-ec", script}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if out, err := client.Collect(proc); err != nil || !out.Exit.OK() {
		t.Fatalf("%v %s, %v", out.Exit, out.Stderr, err)
	}
}

// everything is the whole home with its times.
func everything(t *testing.T, p client.Provider, id client.ID) string {
	t.Helper()
	c := &capture{p: p, id: id}
	text, ok, err := c.run(t.Context(), "/bin/sh", "-c", `find "$HOME" -printf '%p %C@ %s\n' | sort`)
	if err != nil || !ok || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	return text
}

// work is what somebody may have done in a sandbox.
const work = `
mkdir -p proj/src .ssh .config node_modules/x web/node_modules/y .cache
echo hi > proj/notes.txt
printf '#!/bin/sh\necho tool\n' > proj/tool; chmod 755 proj/tool
printf 'a\0b\377' > proj/data.bin
echo 'KEY=1' > proj/.env
echo k > .ssh/id_rsa
echo '{"name":"web"}' > web/package.json
echo 'aws = "AKIAABCDEFGH12345678"' > proj/src/settings.py
ln -s notes.txt proj/link
mkfifo proj/pipe
echo x > "$(printf 'proj/odd\nname')"
echo h > .bash_history
echo z > .cache/z
touch -d 2001-01-01 proj/old.txt
head -c 17000000 /dev/zero > proj/big
`

func paths(f Found) []string {
	var out []string
	for _, file := range f.Files {
		text := file.Path
		if file.Exec {
			text += "*"
		}
		out = append(out, text)
	}
	return out
}

func TestCapture(t *testing.T) {
	p, sb := sandbox(t, work)
	before := everything(t, p, sb.ID)
	var said []string
	got, err := Run(t.Context(), p, sb, Options{Say: func(s string) { said = append(said, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, everything(t, p, sb.ID)); diff != "" {
		t.Errorf("looking changed the sandbox:\n%s", diff)
	}
	// old.txt was unpacked with an old date: it is new all the same.
	want := []string{"proj/data.bin", "proj/notes.txt", "proj/old.txt", "proj/tool*", "web/package.json"}
	if diff := cmp.Diff(want, paths(got)); diff != "" {
		t.Error(diff)
	}
	if string(got.Files[0].Data) != "a\x00b\xff" || len(said) == 0 {
		t.Errorf("%q, said %q", got.Files[0].Data, said)
	}
	if diff := cmp.Diff([]string{"web"}, got.NodeFolders); diff != "" {
		t.Error(diff)
	}
	var left []string
	for _, l := range got.Left {
		if strings.ContainsAny(l.Path+l.Why, "\n\x1b") {
			t.Errorf("%q", l)
		}
		left = append(left, l.Path+": "+l.Why)
	}
	wantLeft := []string{
		".config: a folder that belongs to a tool, or to one machine",
		".ssh: a folder that belongs to a tool, or to one machine",
		"node_modules: packages, which npm install makes again",
		"proj/.env: looks like a secret: environment file",
		"proj/big: over 16 MiB",
		"proj/link: a link",
		`proj/odd\nname: its name cannot be kept on every machine`,
		"proj/pipe: neither a file nor a folder",
		"proj/src/settings.py: looks like it holds an AWS access key",
		"web/node_modules: packages, which npm install makes again",
	}
	if diff := cmp.Diff(wantLeft, left); diff != "" {
		t.Error(diff)
	}
}

// Without GNU find the folders are read one by one, with the same outcome but
// for what was unpacked with an old date.
func TestWalk(t *testing.T) {
	p, sb := sandbox(t, work)
	c := &capture{p: p, id: sb.ID, since: sb.StartedAt}
	byFind, err := c.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	walked, err := c.walk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []candidate) []string {
		var out []string
		for _, f := range c.choose(slices.Clone(list)) {
			out = append(out, f.path+" "+f.mode.String())
		}
		return out
	}
	want := slices.DeleteFunc(names(byFind), func(s string) bool { return strings.HasPrefix(s, "proj/old.txt") })
	if diff := cmp.Diff(want, names(walked.list)); diff != "" {
		t.Error(diff)
	}
	if c.since = (time.Time{}); !slices.ContainsFunc(names(walked.list), func(s string) bool { return strings.HasPrefix(s, "proj/old.txt") }) {
		t.Error("with every file the old one is missing")
	}
}

// Packages that came since the start are listed, their programs are not copied.
func TestPythonPackages(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	p, sb := sandbox(t, `
site=$(python3 -m site --user-site)
mkdir -p "$site/tinything-1.2.dist-info" "$site/local_thing-1.dist-info" .local/bin
printf 'Metadata-Version: 2.1\nName: tinything\nVersion: 1.2\n' > "$site/tinything-1.2.dist-info/METADATA"
printf '../../../bin/tiny,,\n' > "$site/tinything-1.2.dist-info/RECORD"
printf 'Metadata-Version: 2.1\nName: local-thing\nVersion: 1\n' > "$site/local_thing-1.dist-info/METADATA"
echo '{"url":"file:///x"}' > "$site/local_thing-1.dist-info/direct_url.json"
printf '#!/usr/bin/python3\n' > .local/bin/tiny; chmod 755 .local/bin/tiny
printf '#!/bin/sh\n' > .local/bin/mine; chmod 755 .local/bin/mine
`)
	got, err := Run(t.Context(), p, sb, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"tinything==1.2"}, got.Python); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{".local/bin/mine*"}, paths(got)); diff != "" {
		t.Error(diff)
	}
	if len(got.Left) != 1 || got.Left[0].Path != "local-thing==1" {
		t.Errorf("left %v", got.Left)
	}
}

// A sandbox that is not there, and a cancelled look.
func TestCaptureFails(t *testing.T) {
	p, sb := sandbox(t, "true")
	if _, err := Run(t.Context(), p, client.Sandbox{ID: "i00000000000000000000"}, Options{}); err == nil {
		t.Error("a sandbox that is gone was captured")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, p, sb, Options{}); err == nil {
		t.Error("no error after the end of its context")
	}
	got, err := Run(t.Context(), p, sb, Options{})
	if err != nil || len(got.Files)+len(got.Python)+len(got.Node) != 0 {
		t.Errorf("an untouched sandbox has %+v, %v", got, err)
	}
}

func TestParseFind(t *testing.T) {
	got := parseFind("f 1700000000.5 3 755 a b\x00x\x00d 1 0 0 .cache\x00f x 1 1 c\x00l 1 2 777 l\x00f 1 z 644 y\x00").list
	if len(got) != 2 || got[0].path != "a b" || got[0].mode != 0o755 || got[0].changed.UnixMilli() != 1700000000500 || !got[1].link {
		t.Errorf("%+v", got)
	}
}

// A home with more names than are looked at says so.
func TestTooManyNames(t *testing.T) {
	line := "f 1700000000 1 644 x\x00"
	for n, want := range map[int][]Left{
		maxListed:     nil,
		maxListed + 1: {{Path: ".", Why: "over 100000 names, the rest was not looked at"}},
	} {
		c := &capture{}
		found := parseFind(strings.Repeat(line, n))
		c.tellRest(found)
		if diff := cmp.Diff(want, c.out.Left); diff != "" || len(found.list) != maxListed {
			t.Errorf("%d names: %d kept\n%s", n, len(found.list), diff)
		}
	}
}

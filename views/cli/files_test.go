package cli_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/fake"
)

func TestFilesCommands(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	write := func(name, text string) {
		b.in = strings.NewReader(text)
		b.ok("files", "write", "web:"+name)
	}
	write("d/f.txt", "text\n")
	write("d/a\nb", "x")
	b.ok("files", "mkdir", "web:d/sub", "web:d/sub")
	if got := b.ok("files", "ls", "web:d", "-q"); got != "a\\nb\nf.txt\nsub\n" {
		t.Errorf("ls gave %q", got)
	}
	if got := b.ok("files", "ls", "web:d"); !strings.Contains(got, "  sub/\n") || !strings.Contains(got, "5B") {
		t.Errorf("ls gave %q", got)
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(b.ok("files", "ls", "web:d", "--json")), &list); err != nil || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	for _, key := range []string{"name", "path", "type", "size", "mode", "permissions", "owner", "group", "modified_at", "link_target"} {
		if _, ok := list[0][key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	if list[0]["name"] != "a\nb" || list[1]["type"] != "file" || list[1]["size"] != 5.0 || list[2]["type"] != "dir" {
		t.Errorf("%v", list)
	}
	var one map[string]any
	if err := json.Unmarshal([]byte(b.ok("files", "stat", "web:d/f.txt", "--json")), &one); err != nil || one["size"] != 5.0 {
		t.Errorf("%v %v", one, err)
	}
	b.ok("files", "mv", "web:d/f.txt", "d/sub")
	b.ok("files", "mv", "web:d/sub/f.txt", "web:d/g.txt")
	if got := b.ok("files", "cat", "web:d/g.txt", "web:d/g.txt"); got != "text\ntext\n" {
		t.Errorf("cat gave %q", got)
	}
	if code, _, errs := b.run("files", "rm", "web:d"); code != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("%d %q", code, errs)
	}
	b.ok("files", "rm", "web:d", "--yes")
	// Whether the provider tells that a path is not there or not.
	b.ok("files", "rm", "web:d", "--yes")
	missing := &client.Error{Op: "remove file", Code: client.CodeFileNotFound, Kind: client.ErrNotFound}
	b.p.Script(fake.OpRemove, "", fake.Step{Err: missing})
	if code, _, errs := b.run("files", "rm", "web:d", "--yes"); code != 0 || !strings.Contains(errs, "was not there") {
		t.Errorf("%d %q", code, errs)
	}
	gone := &client.Error{Op: "remove file", Code: client.CodeNotFound, Kind: client.ErrNotFound}
	b.p.Script(fake.OpRemove, "", fake.Step{Err: gone})
	if code, _, _ := b.run("files", "rm", "web:d", "--yes"); code != 4 {
		t.Errorf("of a sandbox that is gone: %d", code)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"ls", "web:d"}, 4},
		{[]string{"cat", "web:d/f"}, 4},
		{[]string{"stat", "web:d/f"}, 4},
		{[]string{"cat", "web"}, 2},
		{[]string{"cat", ":x"}, 2},
		{[]string{"mv", "web:a", "other:b"}, 2},
		{[]string{"mv", "web:a", ""}, 2},
		{[]string{"rm", "web:", "--yes"}, 2},
		{[]string{"ls", "nothing"}, 4},
	} {
		if code, out, errs := b.run(append([]string{"files"}, c.args...)...); code != c.code || out != "" {
			t.Errorf("%q: %d %q %q", c.args, code, out, errs)
		}
	}
	for _, args := range [][]string{{"write", "web:x"}, {"mkdir", "web:x"}, {"mv", "web:x", "y"}, {"rm", "web:x", "--yes"}} {
		if code, _, errs := b.run(append([]string{"--read-only", "files"}, args...)...); code != 1 || !strings.Contains(errs, "E9013") {
			t.Errorf("%q: %d %q", args, code, errs)
		}
	}
}

// On a terminal the bytes of a file cannot move it.
func TestFilesCatOnTerminal(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	long := strings.Repeat("x", 200_000)
	b.in = strings.NewReader("a\tb\r\n\x1b]0;title\x07\n" + long)
	b.ok("files", "write", "web:f")
	b.terminal = true
	if got := b.ok("files", "cat", "web:f"); got != "a\tb\n\\u001b]0;title\\u0007\n"+long {
		t.Errorf("cat gave %.80q… (%d bytes)", got, len(got))
	}
	// The question names what would go, and no is no.
	b.in = strings.NewReader("n\n")
	if code, _, errs := b.run("files", "rm", "web:f"); code != 1 || !strings.Contains(errs, "Remove web:f? [y/N]") {
		t.Errorf("%d %q", code, errs)
	}
	b.in = strings.NewReader("y\n")
	b.ok("files", "rm", "web:f")
}

// listTree lists what is below a folder.
func listTree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		out = append(out, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCopyTree(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	dir := filepath.Join(t.TempDir(), "tree")
	for name, mode := range map[string]os.FileMode{"a": 0o644, "sub/run": 0o755, "sub/deep/b": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if code, _, errs := b.run("cp", dir, "web:"); code != 1 || !strings.Contains(errs, "cp -r") {
		t.Errorf("%d %q", code, errs)
	}
	if code, _, errs := b.run("cp", "-r", dir, "web:"); code != 0 || !strings.Contains(errs, "link: left out: a link") || !strings.Contains(errs, "3 files") {
		t.Errorf("%d %q", code, errs)
	}
	back := t.TempDir()
	var got struct {
		Files, Dirs    int
		Bytes          int64
		Skipped, Notes []struct{ Path, Text string }
	}
	if err := json.Unmarshal([]byte(b.ok("cp", "-r", "--json", "web:tree", back)), &got); err != nil || got.Files != 3 || got.Dirs != 3 || got.Bytes != 18 {
		t.Errorf("%+v %v", got, err)
	}
	want := []string{"tree", "tree/a", "tree/sub", "tree/sub/deep", "tree/sub/deep/b", "tree/sub/run"}
	if d := cmp.Diff(want, listTree(t, back)); d != "" {
		t.Error(d)
	}
	// A folder that exists gets it as a part; a file stays where that is wanted.
	if err := os.WriteFile(filepath.Join(back, "tree", "a"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := b.run("cp", "-r", "--no-clobber", "web:tree", back); code != 0 || !strings.Contains(errs, "a: left out") {
		t.Errorf("%d %q", code, errs)
	}
	if text, _ := os.ReadFile(filepath.Join(back, "tree", "a")); string(text) != "mine" {
		t.Errorf("replaced by %q", text)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"cp", "--no-clobber", "web:tree", back}, 2},
		{[]string{"cp", "-r", "web:none", back}, 4},
		{[]string{"cp", "-r", filepath.Join(dir, "none"), "web:"}, 1},
		{[]string{"--read-only", "cp", "-r", dir, "web:"}, 1},
	} {
		if code, _, errs := b.run(c.args...); code != c.code {
			t.Errorf("%q: %d %q", c.args, code, errs)
		}
	}
}

// Progress is one line that is written over and leaves nothing behind.
func TestCopyTreeProgress(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f\x1b[2J"), []byte("text"), 0o600); err != nil {
		t.Skip(err)
	}
	b.terminal = true
	code, _, errs := b.run("cp", "-r", dir, "web:")
	if code != 0 || !strings.Contains(errs, "\r100%") || !strings.Contains(errs, `f\u001b[2J`) {
		t.Errorf("%d %q", code, errs)
	}
	lines := strings.Split(errs, "\r")
	if rest := lines[len(lines)-1]; !strings.HasPrefix(rest, "web:: 1 file") {
		t.Errorf("%q", errs)
	}
	if code, _, errs = b.run("cp", "-r", "-q", dir, "web:"); code != 0 || errs != "" {
		t.Errorf("quiet: %d %q", code, errs)
	}
}

func TestCompletion(t *testing.T) {
	b := newBench(t)
	b.add(append(rows(), client.Sandbox{ID: "iaddddddddddddddddddd", Name: "web two"})...)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"exec", ""}, []string{"web\tfake, running", "iabbbbbbbbbbbbbbbbbbb\tfake, paused", "iaddddddddddddddddddd\tfake, running"}},
		{[]string{"exec", "w"}, []string{"web\tfake, running"}},
		{[]string{"kill", "x", "w"}, []string{"web\tfake, running"}},
		{[]string{"files", "cat", "w"}, []string{"web:\tfake, running"}},
		{[]string{"cp", "w"}, []string{"web:\tfake, running"}},
		{[]string{"ttl", "web", ""}, nil},
	} {
		out := b.ok(append([]string{"__complete"}, c.args...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		lines = lines[:len(lines)-1] // the directive
		missing := false
		for _, w := range c.want {
			missing = missing || !strings.Contains("\n"+out, "\n"+w+"\n")
		}
		if len(lines) != len(c.want) || missing {
			t.Errorf("%q: %q", c.args, lines)
		}
	}
}

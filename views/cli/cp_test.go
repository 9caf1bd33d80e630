package cli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/fake"
)

type ctxType = context.Context

// tree lists the files below dir with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, b *bench, id client.ID, name, text string) {
	t.Helper()
	if _, err := b.p.Put(t.Context(), id, name, strings.NewReader(text), -1); err != nil {
		t.Fatal(err)
	}
}

func TestCpOut(t *testing.T) {
	b := newBench(t)
	id := b.add(rows()[0])[0]
	put(t, b, id, "dir/a.txt", "content\n")
	dir := t.TempDir()
	b.ok("cp", "web:dir/a.txt", filepath.Join(dir, "b.txt"))
	b.ok("cp", "web:/home/user/dir/a.txt", dir)
	b.ok("cp", "fake/"+string(id)+":dir/a.txt", dir+"/")
	if d := cmp.Diff(map[string]string{"a.txt": "content\n", "b.txt": "content\n"}, tree(t, dir)); d != "" {
		t.Error(d)
	}
	if got := b.ok("cp", "web:dir/a.txt", "-"); got != "content\n" {
		t.Errorf("%q", got)
	}
	for what, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"missing":      {[]string{"web:none", dir}, 4, "none"},
		"directory":    {[]string{"web:dir", dir}, 1, "cp -r"},
		"no folder":    {[]string{"web:dir/a.txt", filepath.Join(dir, "none") + "/"}, 1, "no folder"},
		"deep":         {[]string{"web:dir/a.txt", filepath.Join(dir, "x", "y")}, 4, "no such file"},
		"two remote":   {[]string{"web:a", "web:b"}, 2, "exactly one"},
		"two local":    {[]string{"./a:b", "/c:d"}, 2, "exactly one"},
		"no sandbox":   {[]string{"none:a", dir}, 4, "none"},
		"not the name": {[]string{"iaa:none/x", dir}, 4, "none/x"},
	} {
		if code, _, errs := b.run(append([]string{"cp"}, c.args...)...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: %d %q", what, code, errs)
		}
	}
	if len(tree(t, dir)) != 2 {
		t.Errorf("files after failures: %v", tree(t, dir))
	}
}

// trickFiles lies about one file.
type trickFiles struct {
	*fake.Provider
	entry client.Entry
	data  string
	err   error
}

func (p *trickFiles) Files() client.Files { return p }

func (p *trickFiles) Stat(ctxType, client.ID, string) (client.Entry, error) { return p.entry, nil }

func (p *trickFiles) Open(ctxType, client.ID, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader(p.data), failing{p.err})), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// FIL-08: never a short file under the final name, the old one stays, nothing is left beside it.
func TestCpOutCut(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		size int64
		says string
	}{
		"connection lost": {errBoom, 10, "got 4 of 10 bytes: boom"},
		"too short":       {nil, 10, "got 4 of 10 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add(rows()[0])
			b.providers[0] = &trickFiles{b.p, client.Entry{Name: "f", Path: "/f", Type: client.FileRegular, Size: c.size, Mode: 0o644}, "half", c.err}
			dir := t.TempDir()
			old := filepath.Join(dir, "old")
			if err := os.WriteFile(old, []byte("as it was"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, target := range []string{old, filepath.Join(dir, "new")} {
				if code, _, errs := b.run("cp", "web:f", target); code != 1 || !strings.Contains(errs, c.says) {
					t.Errorf("%d %q", code, errs)
				}
			}
			if d := cmp.Diff(map[string]string{"old": "as it was"}, tree(t, dir)); d != "" {
				t.Error(d)
			}
		})
	}
}

// FIL-06: the name that the sandbox gives cannot lead out of the chosen folder.
func TestCpOutEvilNames(t *testing.T) {
	for _, name := range []string{"../canary", "/etc/x", "a/b", "..", ".", "", "x\x00y", `..\canary`} {
		b := newBench(t)
		b.add(rows()[0])
		b.providers[0] = &trickFiles{b.p, client.Entry{Name: name, Path: "/f", Type: client.FileRegular}, "evil", nil}
		parent := t.TempDir()
		dir := filepath.Join(parent, "chosen")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := b.run("cp", "web:f", dir); code != 1 || !strings.Contains(errs, "no file name here") {
			t.Errorf("%q: %d %q", name, code, errs)
		}
		if got := tree(t, parent); len(got) != 0 {
			t.Errorf("%q wrote %v", name, got)
		}
	}
}

// FIL-11: the executable bit survives, set-uid does not; FIL-09: size 0 says nothing.
func TestCpOutModeAndSize(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.providers[0] = &trickFiles{b.p, client.Entry{Name: "run.sh", Path: "/run.sh", Type: client.FileRegular, Mode: 0o4755}, "#!/bin/sh\n", nil}
	dir := t.TempDir()
	b.ok("cp", "web:run.sh", dir)
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	if err != nil || info.Mode() != 0o755 || info.Size() != 10 {
		t.Errorf("%v, %d bytes, %v", info.Mode(), info.Size(), err)
	}
}

// FIL-09: a special file is refused by its type, without opening it.
func TestCpOutSpecial(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.providers[0] = &trickFiles{b.p, client.Entry{Name: "pipe", Path: "/pipe", Type: client.FileOther}, "", errBoom}
	if code, _, errs := b.run("cp", "web:pipe", t.TempDir()); code != 1 || !strings.Contains(errs, "special file") {
		t.Errorf("%d %q", code, errs)
	}
}

func TestCpIn(t *testing.T) {
	b := newBench(t)
	id := b.add(rows()[0])[0]
	local := filepath.Join(t.TempDir(), "l.txt")
	if err := os.WriteFile(local, []byte("local\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"", "sub/", "/tmp", "name.txt"} {
		b.ok("cp", local, "web:"+target)
	}
	b.in = strings.NewReader("piped")
	b.ok("cp", "-", "web:in.txt")
	for name, want := range map[string]string{
		home("l.txt"): "local\n", home("sub/l.txt"): "local\n", "/tmp/l.txt": "local\n", home("name.txt"): "local\n", home("in.txt"): "piped",
	} {
		r, err := b.p.Open(t.Context(), id, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _ := io.ReadAll(r); string(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	for what, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"missing": {[]string{filepath.Join(filepath.Dir(local), "none"), "web:"}, 4, "no such file"},
		"folder":  {[]string{filepath.Dir(local), "web:"}, 1, "a folder"},
		"no name": {[]string{"-", "web:"}, 1, "no name"},
		"device":  {[]string{os.DevNull, "web:x"}, 1, "special file"},
	} {
		if code, _, errs := b.run(append([]string{"cp"}, c.args...)...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: %d %q", what, code, errs)
		}
	}
}

func home(name string) string { return "/home/user/" + name }

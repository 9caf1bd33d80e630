//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// FIL-10: an upload of a folder ends and says what it left out.
func TestUploadTree(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	a := filepath.Join(t.TempDir(), "a")
	write(t, filepath.Join(a, "f"), "1", 0o644)
	write(t, filepath.Join(a, "sub/run.sh"), "2", 0o755)
	write(t, filepath.Join(a, "k"), "3", 0o600)
	for _, err := range []error{
		os.Mkdir(filepath.Join(a, "e"), 0o755), os.Symlink("..", filepath.Join(a, "loop")), syscall.Mkfifo(filepath.Join(a, "pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", filepath.Join(a, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r, err := sb.Files().Upload(ctx(t), a, "dest", sdk.TransferOptions{})
	if err != nil || r.Files != 3 || r.Dirs != 3 || r.Bytes != 3 {
		t.Errorf("%+v %v", r, err)
	}
	home := s.Home(string(sb.ID()))
	if d := cmp.Diff([]string{"e/", "f", "k", "sub/", "sub/run.sh"}, tree(t, filepath.Join(home, "dest"))); d != "" {
		t.Error(d)
	}
	var skipped []string
	for _, n := range r.Skipped {
		skipped = append(skipped, n.Path+" "+n.Text)
	}
	want := []string{"loop left out: a link", "pipe left out: neither a file nor a directory", "s.sock left out: neither a file nor a directory"}
	if d := cmp.Diff(want, skipped); d != "" {
		t.Error(d)
	}
	for name, mode := range map[string]fs.FileMode{"k": 0o600, "sub/run.sh": 0o755} {
		if fi, err := os.Stat(filepath.Join(home, "dest", name)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, fi.Mode(), err)
		}
	}
	if os.Getuid() != 0 {
		write(t, filepath.Join(a, "x"), "4", 0)
		if r, err := sb.Files().Upload(ctx(t), a, "dest2", sdk.TransferOptions{}); err != nil || len(r.Skipped) != 4 {
			t.Errorf("%+v %v", r, err)
		}
	}
}

// FIL-01: names come back byte for byte.
func TestTreeOfOddNames(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	data, err := os.ReadFile("testdata/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Names [][]byte }
	if err := json.Unmarshal(data, &file); err != nil || len(file.Names) < 20 {
		t.Fatalf("%d names, %v", len(file.Names), err)
	}
	// FIL-02: twins that look alike stay two.
	file.Names = append(file.Names, []byte("caf\u00e9"), []byte("cafe\u0301"))
	here := t.TempDir()
	src, dst := filepath.Join(here, "src"), filepath.Join(here, "dst")
	for _, n := range file.Names {
		write(t, filepath.Join(src, string(n)), string(n), 0o644)
	}
	r, err := sb.Files().Upload(ctx(t), src, "odd", sdk.TransferOptions{})
	if err != nil || r.Files != len(file.Names) || len(r.Skipped)+len(r.Notes) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = sb.Files().Download(ctx(t), "odd", dst, sdk.TransferOptions{})
	if err != nil || r.Files != len(file.Names) || len(r.Skipped)+len(r.Notes) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if d := cmp.Diff(tree(t, src), tree(t, dst)); d != "" {
		t.Error(d)
	}
	for _, n := range file.Names {
		if got, err := os.ReadFile(filepath.Join(dst, string(n))); err != nil || string(got) != string(n) {
			t.Errorf("%q: %q %v", n, got, err)
		}
	}
}

// FIL-06: what a listing says never decides where a file goes.
func TestEvilListing(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	home := s.Home(string(sb.ID()))
	write(t, filepath.Join(home, "d/ok.txt"), "okay", 0o644)
	data, err := os.ReadFile("testdata/evil-listing.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Entries []struct{ Name, Path string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	pf := &files{Files: p.Files(), readDir: func(string) ([]client.Entry, error) {
		var out []client.Entry
		for _, e := range file.Entries {
			out = append(out, client.Entry{Name: e.Name, Path: "/etc/passwd", Type: client.FileRegular, Size: 4})
		}
		return out, nil
	}}
	box, err := sdk.Open(ctx(t), &patched{Provider: p, files: pf}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	chosen := filepath.Join(parent, "in/chosen")
	if err := os.MkdirAll(chosen, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := box.Files().Download(ctx(t), "d", chosen, sdk.TransferOptions{})
	if err != nil || r.Files != 1 || len(r.Skipped) != len(file.Entries)-1 {
		t.Errorf("%+v %v", r, err)
	}
	if d := cmp.Diff([]string{"in/", "in/chosen/", "in/chosen/d/", "in/chosen/d/ok.txt"}, tree(t, parent)); d != "" {
		t.Error(d)
	}
	if got, _ := os.ReadFile(filepath.Join(chosen, "d/ok.txt")); string(got) != "okay" {
		t.Errorf("%q", got)
	}
	// A link planted in the chosen place does not lead out of it.
	out := filepath.Join(parent, "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(parent, "in/trap")); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Files().Download(ctx(t), "d", filepath.Join(parent, "in"), sdk.TransferOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, out); len(got) != 0 {
		t.Errorf("written outside: %q", got)
	}
}

// FIL-05 and FIL-09: links, pipes and devices are refused at once, and files of
// /proc come whole.
func TestSpecialFiles(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	d := filepath.Join(s.Home(string(sb.ID())), "d")
	write(t, filepath.Join(d, "ok.txt"), "1", 0o644)
	for _, err := range []error{
		os.Symlink("none", filepath.Join(d, "dead")), os.Symlink("self", filepath.Join(d, "self")),
		os.Symlink("..", filepath.Join(d, "up")), syscall.Mkfifo(filepath.Join(d, "pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	here := t.TempDir()
	r, err := sb.Files().Download(ctx(t), "d", filepath.Join(here, "d"), sdk.TransferOptions{})
	if err != nil || r.Files != 1 || len(r.Skipped) != 4 {
		t.Errorf("%+v %v", r, err)
	}
	if diff := cmp.Diff([]string{"ok.txt"}, tree(t, filepath.Join(here, "d"))); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{"d/pipe", "/dev/zero"} {
		_, err := sb.Files().Download(ctx(t), path, filepath.Join(here, "x"), sdk.TransferOptions{})
		wantCode(t, path, err, client.CodeFiles, nil)
	}
	if _, err := os.Stat("/proc/cpuinfo"); err == nil {
		r, err := sb.Files().Download(ctx(t), "/proc/version", filepath.Join(here, "version"), sdk.TransferOptions{})
		got, _ := os.ReadFile(filepath.Join(here, "version"))
		want, _ := os.ReadFile("/proc/version")
		if err != nil || !bytes.Equal(got, want) || r.Bytes != int64(len(want)) {
			t.Errorf("%q %+v %v", got, r, err)
		}
	}
}

// Files of a tree move a few at once; one that fails ends it, with its own error
// and without halves.
func TestTreeFails(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(t.TempDir(), "src")
	for i := range 40 {
		write(t, filepath.Join(src, fmt.Sprintf("f%02d", i)), strings.Repeat("x", 1000), 0o644)
	}
	full := &client.Error{Op: "write file", Code: client.CodeFiles, Status: 507, Message: "no space left"}
	pf := &files{Files: p.Files()}
	pf.put = func(path string, r io.Reader, size int64) (client.Entry, error) {
		if strings.Contains(path, "f20") {
			return client.Entry{}, full
		}
		return p.Files().Put(context.Background(), sb.ID(), path, r, size)
	}
	box, err := sdk.Open(ctx(t), &patched{Provider: p, files: pf}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	r, err := box.Files().Upload(ctx(t), src, "a", sdk.TransferOptions{})
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	got := tree(t, filepath.Join(s.Home(string(sb.ID())), "a"))
	if len(got) != r.Files || r.Files >= 40 || slices.ContainsFunc(got, func(n string) bool { return strings.HasSuffix(n, ".part") }) {
		t.Errorf("%d files said, there are %q", r.Files, got)
	}
	pf.put = nil
	var last sdk.Progress
	r, err = box.Files().Upload(ctx(t), src, "b", sdk.TransferOptions{Progress: func(p sdk.Progress) {
		if p.Bytes < last.Bytes {
			t.Errorf("went back from %+v to %+v", last, p)
		}
		last = p
	}})
	if err != nil || r.Files != 40 || r.Bytes != 40_000 || last.Bytes != 40_000 {
		t.Errorf("%+v %v, last %+v", r, err, last)
	}
	// What is there already is left alone, file by file.
	r, err = box.Files().Download(ctx(t), "b", src, sdk.TransferOptions{})
	if err != nil || r.Files != 40 {
		t.Errorf("%+v %v", r, err)
	}
	r, err = box.Files().Download(ctx(t), "b", src, sdk.TransferOptions{})
	if err != nil || r.Files != 0 || len(r.Skipped) != 40 || r.Skipped[0].Path != "f00" {
		t.Errorf("%+v %v", r, err)
	}
}

// counted counts the commands that are started.
type counted struct {
	client.Provider
	started *atomic.Int32
}

type countedCommands struct {
	client.Commands
	started *atomic.Int32
}

func (c countedCommands) Start(ctx context.Context, id client.ID, cmd client.Command) (client.Process, error) {
	c.started.Add(1)
	return c.Commands.Start(ctx, id, cmd)
}

func (c counted) Commands() client.Commands { return countedCommands{c.Provider.Commands(), c.started} }

// Modes and checksums of a whole tree cost a command for a hundred files, not one each.
func TestTreeModesByBatch(t *testing.T) {
	real, s := provider(t, expresstest.Switches{})
	p := counted{real, new(atomic.Int32)}
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tree")
	const files = 230
	for i := range files {
		mode := fs.FileMode(0o644)
		if i%2 == 0 {
			mode = 0o755
		}
		write(t, filepath.Join(dir, fmt.Sprintf("d%d", i%7), fmt.Sprintf("-f %d\n'", i)), strings.Repeat("x", i), mode)
	}
	r, err := sb.Files().Upload(ctx(t), dir, "", sdk.TransferOptions{})
	if err != nil || r.Files != files || len(r.Notes)+len(r.Skipped) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if n := p.started.Load(); n > 6 {
		t.Errorf("%d commands for %d files", n, files)
	}
	for i := range files {
		info, err := os.Stat(filepath.Join(s.Home(string(sb.ID())), "tree", fmt.Sprintf("d%d", i%7), fmt.Sprintf("-f %d\n'", i)))
		if err != nil || info.Size() != int64(i) || (info.Mode().Perm() == 0o755) != (i%2 == 0) {
			t.Fatalf("file %d: %v %v", i, info, err)
		}
	}
	if left := tree(t, filepath.Join(s.Home(string(sb.ID())), "tree")); len(left) != files+7 {
		t.Errorf("%d entries", len(left))
	}
}

// Without commands the modes that get lost are named.
func TestTreeModesWithoutCommands(t *testing.T) {
	real, _ := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), bare{real}, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run"), "x", 0o755)
	write(t, filepath.Join(dir, "plain"), "x", 0o644)
	r, err := sb.Files().Upload(ctx(t), dir, "t", sdk.TransferOptions{})
	if err != nil || r.Files != 2 || len(r.Notes) != 1 || r.Notes[0].Path != "run" || !strings.Contains(r.Notes[0].Text, "0755") {
		t.Errorf("%+v %v", r, err)
	}
}

// bare is a provider that runs no commands.
type bare struct{ client.Provider }

func (b bare) Capabilities() client.Capabilities {
	c := b.Provider.Capabilities()
	c.Have = maps.Clone(c.Have)
	delete(c.Have, client.CapCommands)
	return c
}

//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// tree lists what is below a folder, directories with a slash.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	out := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			rel += "/"
		}
		out = append(out, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// FIL-04 and FIL-11 for single files, both ways.
func TestUploadDownload(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	home, here := s.Home(string(sb.ID())), t.TempDir()
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	for name, c := range map[string]struct {
		content string
		mode    fs.FileMode
	}{
		"empty": {"", 0o644}, "png": {"\x89PNG\r\n\x1a\n", 0o600}, "big": {string(big), 0o644}, "run.sh": {"#!/bin/sh\n", 0o755},
	} {
		local := filepath.Join(here, name)
		write(t, local, c.content, c.mode)
		var last sdk.Progress
		r, err := sb.Files().Upload(ctx(t), local, "up/"+name, sdk.TransferOptions{Progress: func(p sdk.Progress) { last = p }})
		if err != nil || r.Files != 1 || r.Bytes != int64(len(c.content)) || r.SHA256 != sum([]byte(c.content)) || len(r.Notes) != 0 {
			t.Errorf("upload %s: %+v %v", name, r, err)
		}
		if c.content != "" && (last.Done != int64(len(c.content)) || last.Total != last.Done || last.Name != name) {
			t.Errorf("upload %s: progress %+v", name, last)
		}
		fi, err := os.Stat(filepath.Join(home, "up", name))
		if err != nil || fi.Mode().Perm() != c.mode {
			t.Errorf("upload %s: mode %v, %v", name, fi.Mode(), err)
		}
		back := filepath.Join(here, "back-"+name)
		r, err = sb.Files().Download(ctx(t), "up/"+name, back, sdk.TransferOptions{})
		if err != nil || r.SHA256 != sum([]byte(c.content)) || r.Bytes != int64(len(c.content)) {
			t.Errorf("download %s: %+v %v", name, r, err)
		}
		got, _ := os.ReadFile(back)
		fi, err = os.Stat(back)
		if err != nil || string(got) != c.content || fi.Mode().Perm() != c.mode {
			t.Errorf("download %s: %d bytes, mode %v", name, len(got), fi.Mode())
		}
	}
	if d := cmp.Diff([]string{"big", "empty", "png", "run.sh"}, tree(t, filepath.Join(home, "up"))); d != "" {
		t.Error(d)
	}
}

// What exists is replaced only with leave, and never by a half.
func TestNothingIsReplacedUnasked(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	home, here := s.Home(string(sb.ID())), t.TempDir()
	write(t, filepath.Join(here, "f"), "mine", 0o644)
	write(t, filepath.Join(home, "f"), "theirs", 0o644)
	_, err := sb.Files().Upload(ctx(t), filepath.Join(here, "f"), "f", sdk.TransferOptions{})
	wantCode(t, "upload", err, client.CodeFiles, client.ErrConflict)
	_, err = sb.Files().Download(ctx(t), "f", filepath.Join(here, "f"), sdk.TransferOptions{})
	wantCode(t, "download", err, client.CodeFiles, client.ErrConflict)
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return string(b)
	}
	if read(filepath.Join(here, "f")) != "mine" || read(filepath.Join(home, "f")) != "theirs" {
		t.Error("something was replaced")
	}
	if _, err := sb.Files().Download(ctx(t), "f", filepath.Join(here, "f"), sdk.TransferOptions{Overwrite: true}); err != nil || read(filepath.Join(here, "f")) != "theirs" {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(here, "f"), "mine", 0o644)
	if _, err := sb.Files().Upload(ctx(t), filepath.Join(here, "f"), "f", sdk.TransferOptions{Overwrite: true}); err != nil || read(filepath.Join(home, "f")) != "mine" {
		t.Errorf("%v", err)
	}
	// Into directories that exist, under its own name.
	if _, err := sb.Files().MakeDir(ctx(t), "dir"); err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Files().Upload(ctx(t), filepath.Join(here, "f"), "dir", sdk.TransferOptions{}); err != nil || read(filepath.Join(home, "dir/f")) != "mine" {
		t.Errorf("%v", err)
	}
	sub := filepath.Join(here, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Files().Download(ctx(t), "f", sub, sdk.TransferOptions{}); err != nil || read(filepath.Join(sub, "f")) != "mine" {
		t.Errorf("%v", err)
	}
	if got := tree(t, here); slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, ".part") }) {
		t.Errorf("left %q", got)
	}
}

// broken is a stream that breaks after some bytes.
type broken struct {
	io.ReadCloser
	left int
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &client.Error{Op: "read file", Code: client.CodeNetwork, Kind: client.ErrUnavailable, Message: "connection reset"}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// FIL-08: a cut or cancelled download never leaves a short file under the final
// name, and goes on from where it was.
func TestDownloadCut(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("abcdefgh"), 200_000)
	write(t, filepath.Join(s.Home(string(sb.ID())), "f"), string(content), 0o644)
	real := p.Files().(client.RangeOpener)
	var offsets []int64
	breakAfter := 700_000
	pf := &files{Files: p.Files(), openAt: func(path string, offset int64) (io.ReadCloser, error) {
		offsets = append(offsets, offset)
		r, err := real.OpenAt(context.Background(), sb.ID(), path, offset)
		if err != nil || breakAfter < 0 {
			return r, err
		}
		return &broken{r, breakAfter}, nil
	}}
	box, err := sdk.Open(ctx(t), &patched{Provider: p, files: pf}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	if _, err := box.Files().Download(ctx(t), "f", filepath.Join(here, "f"), sdk.TransferOptions{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{0, 700_000, 1_400_000}, offsets); d != "" {
		t.Error(d)
	}
	if got, _ := os.ReadFile(filepath.Join(here, "f")); !bytes.Equal(got, content) {
		t.Error("the file differs")
	}

	// It breaks and breaks without a byte: an error that says how much came.
	offsets, breakAfter = nil, 0
	_, err = box.Files().Download(ctx(t), "f", filepath.Join(here, "g"), sdk.TransferOptions{Tries: 2})
	if err == nil || !strings.Contains(err.Error(), "got 0 of 1600000 bytes") || len(offsets) != 2 {
		t.Errorf("%v after %d tries", err, len(offsets))
	}
	if d := cmp.Diff([]string{"f"}, tree(t, here)); d != "" {
		t.Error(d)
	}

	// Cancelled in the middle; with Resume the second call goes on from there.
	breakAfter = -1
	for _, resume := range []bool{false, true} {
		offsets = nil
		c, cancel := context.WithCancel(ctx(t))
		slow := func(p sdk.Progress) {
			if p.Done > 500_000 {
				cancel()
			}
		}
		pf.openAt = func(path string, offset int64) (io.ReadCloser, error) {
			offsets = append(offsets, offset)
			return real.OpenAt(c, sb.ID(), path, offset)
		}
		_, err = box.Files().Download(c, "f", filepath.Join(here, "h"), sdk.TransferOptions{Resume: resume, Progress: slow})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("resume %v: %v", resume, err)
		}
		if _, err := os.Stat(filepath.Join(here, "h")); err == nil {
			t.Error("a half file has its final name")
		}
		if got := tree(t, here); len(got) == 1 == resume {
			t.Errorf("resume %v: left %q", resume, got)
		}
		cancel()
	}
	offsets = nil
	pf.openAt = func(path string, offset int64) (io.ReadCloser, error) {
		offsets = append(offsets, offset)
		return real.OpenAt(context.Background(), sb.ID(), path, offset)
	}
	if _, err := box.Files().Download(ctx(t), "f", filepath.Join(here, "h"), sdk.TransferOptions{Resume: true}); err != nil {
		t.Fatal(err)
	}
	if len(offsets) != 1 || offsets[0] < 500_000 {
		t.Errorf("it began again at %d", offsets)
	}
	if got, _ := os.ReadFile(filepath.Join(here, "h")); !bytes.Equal(got, content) {
		t.Error("the file differs")
	}
	if d := cmp.Diff([]string{"f", "h"}, tree(t, here)); d != "" {
		t.Error(d)
	}
}

// A content that changes on the way is found out by its checksum.
func TestChecksum(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Home(string(sb.ID())), "f"), "right", 0o644)
	pf := &files{Files: p.Files()}
	pf.openAt = func(string, int64) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("wrong")), nil }
	pf.put = func(path string, r io.Reader, size int64) (client.Entry, error) {
		_, _ = io.Copy(io.Discard, r)
		return p.Files().Put(context.Background(), sb.ID(), path, strings.NewReader("wrong"), 5)
	}
	box, err := sdk.Open(ctx(t), &patched{Provider: p, files: pf}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	_, err = box.Files().Download(ctx(t), "f", filepath.Join(here, "f"), sdk.TransferOptions{})
	if err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(here, "g"), "right", 0o644)
	_, err = box.Files().Upload(ctx(t), filepath.Join(here, "g"), "g", sdk.TransferOptions{})
	if err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff([]string{"f"}, tree(t, s.Home(string(sb.ID())))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"g"}, tree(t, here)); d != "" {
		t.Error(d)
	}
	if _, err := box.Files().Download(ctx(t), "f", filepath.Join(here, "h"), sdk.TransferOptions{SkipChecksum: true}); err != nil {
		t.Errorf("unchecked: %v", err)
	}
}

// A resumable upload sends only the pieces that are not there yet.
func TestUploadResume(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("abcdefghij"), 100_000)
	here := t.TempDir()
	write(t, filepath.Join(here, "f"), string(content), 0o755)
	left, sent := 3, 0
	down := &client.Error{Op: "write file", Code: client.CodeNetwork, Kind: client.ErrUnavailable, Message: "connection reset"}
	pf := &files{Files: p.Files(), put: func(path string, r io.Reader, size int64) (client.Entry, error) {
		if left == 0 {
			return client.Entry{}, down
		}
		left--
		sent += int(size)
		return p.Files().Put(context.Background(), sb.ID(), path, r, size)
	}}
	box, err := sdk.Open(ctx(t), &patched{Provider: p, files: pf}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	opts := sdk.TransferOptions{Resume: true, Chunk: 128 << 10}
	_, err = box.Files().Upload(ctx(t), filepath.Join(here, "f"), "d/f -x", opts)
	if !errors.Is(err, client.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
	home := s.Home(string(sb.ID()))
	if _, err := os.Stat(filepath.Join(home, "d/f -x")); err == nil {
		t.Error("a half file has its final name")
	}
	left, sent = 1000, 0
	r, err := box.Files().Upload(ctx(t), filepath.Join(here, "f"), "d/f -x", opts)
	if err != nil || r.SHA256 != sum(content) || sent != len(content)-3*(128<<10) {
		t.Errorf("%+v %v, sent %d", r, err, sent)
	}
	got, _ := os.ReadFile(filepath.Join(home, "d/f -x"))
	if fi, err := os.Stat(filepath.Join(home, "d/f -x")); err != nil || !bytes.Equal(got, content) || fi.Mode().Perm() != 0o755 {
		t.Errorf("the file differs, %v", err)
	}
	if d := cmp.Diff([]string{"d/", "d/f -x"}, tree(t, home)); d != "" {
		t.Error(d)
	}
}

// An upload that fails leaves nothing behind, and one that is broken is repeated.
func TestUploadFails(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	write(t, filepath.Join(here, "f"), "content", 0o644)
	tries := 0
	pf := &files{Files: p.Files()}
	pf.put = func(path string, r io.Reader, size int64) (client.Entry, error) {
		if tries++; tries == 2 {
			return p.Files().Put(context.Background(), sb.ID(), path, r, size)
		}
		_, _ = p.Files().Put(context.Background(), sb.ID(), path, io.LimitReader(r, 3), 3)
		return client.Entry{}, &client.Error{Op: "write file", Code: client.CodeNetwork, Kind: client.ErrUnavailable}
	}
	box, err := sdk.Open(ctx(t), &patched{Provider: p, files: pf}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Files().Upload(ctx(t), filepath.Join(here, "f"), "f", sdk.TransferOptions{}); err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
	s.Fail(expresstest.Fault{Data: true, Method: "POST", Path: "/files", Status: 507, Body: `{"code":507,"message":"no space left"}`})
	pf.put = nil
	_, err = box.Files().Upload(ctx(t), filepath.Join(here, "f"), "g", sdk.TransferOptions{})
	if err == nil || !strings.Contains(client.HintOf(err), "disk is full") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff([]string{"f"}, tree(t, s.Home(string(sb.ID())))); d != "" {
		t.Error(d)
	}
}

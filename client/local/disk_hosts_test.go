//go:build linux

package local

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"abxdash/client"
)

// smallDisk mounts a file system of a few MiB; root alone can.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := tempRoot(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes all of a disk and returns what gives it back.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestFullDisk: what does not fit is said to be the disk's fault, leaves nothing
// half-written, and works once there is room.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "size=4m,mode=0700")
	p := newProvider(t, Config{Root: dir})
	sb := create(t, p, client.CreateSpec{})
	put := func(size int) error {
		_, err := p.Files().Put(t.Context(), sb.ID, "sub/f", bytes.NewReader(make([]byte, size)), int64(size))
		return err
	}
	if err := put(1000); err != nil {
		t.Fatal(err)
	}
	noSpace := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "space") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v (%s)", what, err, client.CodeOf(err))
		}
	}
	err := put(8 << 20)
	noSpace("upload", err)
	if code := client.CodeOf(err); !strings.HasPrefix(string(code), "E4") {
		t.Errorf("upload: code %s", code)
	}
	if out := run(t, p, sb.ID, "ls -A sub; wc -c < sub/f"); out != "f\n1000\n" {
		t.Errorf("after the upload: %q", out)
	}
	empty := fill(t, dir)
	_, err = p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	noSpace("create", err)
	homes, globErr := filepath.Glob(filepath.Join(p.paths.state, "instances", "*", "sandboxes", "*"))
	if globErr != nil || len(homes) != 1 {
		t.Errorf("folders %v, %v", homes, globErr)
	}
	if list, err := p.Sandboxes().List(t.Context(), client.Query{}); err != nil || len(list.Sandboxes) != 1 {
		t.Errorf("listed %v, %v", list, err)
	}
	if out := run(t, p, sb.ID, "echo x > g 2>/dev/null || echo full"); out != "full\n" {
		t.Errorf("a command: %q", out)
	}
	empty()
	create(t, p, client.CreateSpec{})
	if err := put(2000); err != nil {
		t.Error(err)
	}
}

// TestFullDiskBeforeTheServer: the first create says why it cannot start one.
func TestFullDiskBeforeTheServer(t *testing.T) {
	dir := smallDisk(t, "size=256k,mode=0700")
	p := newProvider(t, Config{Root: dir})
	empty := fill(t, dir)
	_, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
	if err == nil || !strings.Contains(err.Error(), "space") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v (%s)", err, client.CodeOf(err))
	}
	if st, err := p.Status(t.Context()); err != nil || st.Running {
		t.Errorf("status %+v, %v", st, err)
	}
	nothingLeft(t, p)
	empty()
	create(t, p, client.CreateSpec{})
}

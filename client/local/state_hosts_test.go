//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"abxdash/client"
)

// TestCorruptStateFiles: files of the server that somebody, or a crash, has torn
// keep neither the next server from starting nor the good ones from being used,
// and what they describe does not come back to life.
func TestCorruptStateFiles(t *testing.T) {
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	for _, name := range []string{"good", "torn"} {
		if _, err := p.Snapshot(t.Context(), sb.ID, name); err != nil {
			t.Fatal(err)
		}
	}
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jan := processesWith(p.lockHolder().Instance)
	if len(jan) != 1 {
		t.Fatalf("janitors: %v", jan)
	}
	janitor, err := strconv.Atoi(strings.Fields(jan[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{janitor, st.PID} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the server is gone", func() bool { return p.holder() == 0 })
	spoil := func(pattern, holds string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(p.paths.state, pattern))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), holds) {
				n++
				if err := os.WriteFile(f, data[:len(data)/2], 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n != 1 {
			t.Fatalf("%s: %d of %v", pattern, n, files)
		}
	}
	spoil("instances/*/sandboxes/*/meta.json", string(sb.ID))
	spoil("templates/*/template.json", `"torn"`)

	list, _, err := p.Snapshots(t.Context(), client.SnapshotQuery{})
	if err != nil || len(list) != 1 || list[0].ID != "good:default" {
		t.Errorf("without a server: %+v, %v", list, err)
	}
	again := create(t, p, client.CreateSpec{Template: "good"})
	if out := run(t, p, again.ID, "echo hi"); out != "hi\n" {
		t.Errorf("%q", out)
	}
	if _, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Template: "torn"}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("the torn one: %v", err)
	}
	if all, err := p.Sandboxes().List(t.Context(), client.Query{}); err != nil || len(all.Sandboxes) != 1 || all.Sandboxes[0].ID != again.ID {
		t.Errorf("listed %v, %v", all, err)
	}
	// The dead server's folder is gone, torn file and all.
	if old, err := filepath.Glob(filepath.Join(p.paths.state, "instances", "*", "sandboxes", string(sb.ID))); err != nil || len(old) != 0 {
		t.Errorf("left %v, %v", old, err)
	}
	log, err := os.ReadFile(p.paths.log)
	if err != nil || !strings.Contains(string(log), "template.json") && !strings.Contains(string(log), "unexpected end of JSON") {
		t.Errorf("the log does not tell: %s %v", log, err)
	}
}

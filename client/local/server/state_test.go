package server

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"abxdash/client"
)

func TestRemoveTree(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, build := range map[string]func(dir string){
		"missing": func(dir string) { must(os.Remove(dir)) },
		"plain":   func(dir string) { must(os.WriteFile(dir+"/a\nb", nil, 0)) },
		"closed folders": func(dir string) {
			must(os.MkdirAll(dir+"/a/b/c", 0o700))
			must(os.WriteFile(dir+"/a/b/c/f", nil, 0o400))
			for _, d := range []string{"/a/b/c", "/a/b", "/a", ""} {
				must(os.Chmod(dir+d, 0))
			}
		},
		"links out": func(dir string) {
			must(os.Symlink(outside, dir+"/file"))
			must(os.Symlink(filepath.Dir(outside), dir+"/folder"))
			must(os.Mkdir(dir+"/closed", 0))
		},
		"names of its own": func(dir string) {
			must(os.MkdirAll(dir+"/x/y", 0o700))
			must(os.Mkdir(dir+".gone-1", 0o700))
			must(os.Mkdir(dir+".gone-7", 0))
		},
	} {
		// Both ways must do: the plain one is enough for root.
		for how, remove := range map[string]func(string) error{"whole": removeTree, "flat": flatten} {
			t.Run(name+"/"+how, func(t *testing.T) {
				root := t.TempDir()
				dir := filepath.Join(root, "box")
				must(os.Mkdir(dir, 0o700))
				build(dir)
				if err := remove(dir); err != nil {
					t.Errorf("remove: %v", err)
				}
				left, err := os.ReadDir(root)
				if err != nil || how == "flat" && len(left) != 0 {
					t.Errorf("left %v, %v", left, err)
				}
				if ok, err := exists(dir); ok || err != nil {
					t.Errorf("folder: %v, %v", ok, err)
				}
			})
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestFlattenDeepTree(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "box")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// Deeper than any path can name: built by descending.
	t.Chdir(dir)
	name := strings.Repeat("d", 200)
	for range 60 {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chdir(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chdir(root); err != nil {
		t.Fatal(err)
	}
	if err := flatten(dir); err != nil {
		t.Errorf("%.300v", err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

type killed struct {
	level client.Isolation
	pid   int
	start uint64
}

func TestSweepRemovesDeadInstancesOnly(t *testing.T) {
	state := t.TempDir()
	alive, err := NewInstance(state)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := NewInstance(state)
	if err != nil {
		t.Fatal(err)
	}
	for id, m := range map[string]meta{
		"ia": {ID: "ia", PID: 4242, StartTime: 99, Level: client.IsolationNamespace, Boot: bootID()},
		"ib": {ID: "ib", PID: 4243, StartTime: 99, Level: client.IsolationNamespace, Boot: "another boot"},
		"ic": {ID: "ic", PID: 1, StartTime: 99, Boot: bootID()},
		"id": {ID: "id", PID: 4244, Boot: bootID()},
	} {
		box := filepath.Join(dead.Dir, sandboxesDir, id)
		if err := os.MkdirAll(box+"/home", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeMeta(box, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dead.Dir, sandboxesDir, "nometa"), 0); err != nil {
		t.Fatal(err)
	}
	var seen []killed
	kill := func(l client.Isolation, pid int, start uint64) error {
		seen = append(seen, killed{l, pid, start})
		return nil
	}
	// While its lock is held nothing of it is touched.
	if err := Sweep(state, kill); err != nil || len(seen) != 0 {
		t.Fatalf("sweep of live instances: %v, killed %v", err, seen)
	}
	dead.lock.Close() // the server dies

	failing := func(client.Isolation, int, uint64) error { return errBoom }
	if err := Sweep(state, failing); !errors.Is(err, errBoom) {
		t.Errorf("a failed kill: %v", err)
	}
	if ok, _ := exists(dead.Dir); !ok {
		t.Error("the folder went although something may still run in it")
	}
	if err := Sweep(state, kill); err != nil {
		t.Errorf("sweep: %v", err)
	}
	if want := []killed{{client.IsolationNamespace, 4242, 99}}; !slices.Equal(seen, want) {
		t.Errorf("killed %v, want %v", seen, want)
	}
	names := func() (out []string) {
		entries, err := os.ReadDir(filepath.Join(state, instancesDir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	base := filepath.Base(alive.Dir)
	if got := names(); !slices.Equal(got, []string{base, base + lockSuffix}) {
		t.Errorf("left %v", got)
	}
	if err := alive.Remove(); err != nil {
		t.Error(err)
	}
	if got := names(); len(got) != 0 {
		t.Errorf("after its own end: %v", got)
	}
	if err := Sweep(filepath.Join(state, "none"), kill); err != nil {
		t.Errorf("nothing to sweep: %v", err)
	}
}

func TestJanitorWaitsForTheEndAndTidies(t *testing.T) {
	in, err := NewInstance(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	box := filepath.Join(in.Dir, sandboxesDir, "ia")
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeMeta(box, meta{ID: "ia", PID: 4242, StartTime: 5, Boot: bootID()}); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	kills := make(chan int, 8)
	tries := 0
	done := make(chan error, 1)
	go func() {
		done <- Janitor(r, in.LockPath, func(_ client.Isolation, pid int, _ uint64) error {
			kills <- pid
			if tries++; tries == 1 {
				return errBoom // it tries again
			}
			return nil
		})
	}()
	select {
	case err := <-done:
		t.Fatalf("ended before the server: %v", err)
	case <-kills:
		t.Fatal("killed while the server lives")
	default:
	}
	in.lock.Close()
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(kills) != 2 {
		t.Errorf("%d kills", len(kills))
	}
	for _, p := range []string{in.Dir, in.LockPath} {
		if ok, err := exists(p); ok || err != nil {
			t.Errorf("%s: %v, %v", p, ok, err)
		}
	}
}

func TestJanitorAfterAnOrderlyEnd(t *testing.T) {
	in, err := NewInstance(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Remove(); err != nil {
		t.Fatal(err)
	}
	never := func(client.Isolation, int, uint64) error { t.Error("killed something"); return nil }
	if err := Janitor(strings.NewReader(""), in.LockPath, never); err != nil {
		t.Error(err)
	}
	if err := Janitor(strings.NewReader(""), t.TempDir()+"/x.lock", never); err == nil {
		t.Error("took a lock that is no instance's")
	}
}

func TestLongSocketPaths(t *testing.T) {
	dir := t.TempDir()
	for len(dir) < 300 {
		dir = filepath.Join(dir, strings.Repeat("x", 40))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.sock")
	ln, err := ListenUnix(path)
	if err != nil {
		t.Skipf("long socket paths are not possible here: %v", err)
	}
	defer ln.Close()
	c, err := DialUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := ln.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if uid, err := PeerUID(in); err != nil || uid != os.Geteuid() {
		t.Errorf("peer %d, %v", uid, err)
	}
}

func TestOtherUsersAreCutOff(t *testing.T) {
	path := t.TempDir() + "/s.sock"
	ln, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	own := OwnPeers(ln, New(Options{Dir: t.TempDir()}).log).(*ownPeers)
	own.uid++ // we are now somebody else
	accepted := make(chan error, 1)
	go func() {
		c, err := own.Accept()
		if err == nil {
			c.Close()
		}
		accepted <- err
	}()
	c, err := DialUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes", n)
	}
	ln.Close()
	if err := <-accepted; err == nil {
		t.Error("accepted another user's connection")
	}
}

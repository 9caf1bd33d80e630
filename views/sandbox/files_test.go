package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/views/present"
)

// taps is a provider whose files come out of a tap: each read waits for a turn.
type taps struct {
	*fake.Provider
	turns chan struct{}
	// breakAt cuts the stream once after so many bytes, 0 never.
	mu      sync.Mutex
	breakAt int64
	opened  []int64
}

func (p *taps) Files() client.Files { return p }

func (p *taps) Open(ctx context.Context, id client.ID, path string) (io.ReadCloser, error) {
	return p.OpenAt(ctx, id, path, 0)
}

// OpenAt implements client.RangeOpener.
func (p *taps) OpenAt(ctx context.Context, id client.ID, path string, at int64) (io.ReadCloser, error) {
	r, err := p.Provider.Open(ctx, id, path)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, at); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened = append(p.opened, at)
	left := p.breakAt
	if left > 0 {
		p.breakAt = 0
	} else {
		left = 1 << 40
	}
	return &tap{ctx: ctx, r: r, turns: p.turns, left: left}, nil
}

type tap struct {
	ctx   context.Context
	r     io.ReadCloser
	turns chan struct{}
	left  int64
}

func (t *tap) Read(b []byte) (int, error) {
	if t.left <= 0 {
		return 0, client.ErrStreamBroken
	}
	if t.turns != nil {
		select {
		case <-t.turns:
		case <-t.ctx.Done():
			return 0, t.ctx.Err()
		}
	}
	n, err := t.r.Read(b[:min(int64(len(b)), 4096, t.left)])
	t.left -= int64(n)
	return n, err
}

func (t *tap) Close() error { return t.r.Close() }

// settle waits until the list of files is there.
func (w *world) settle() {
	w.T.Helper()
	w.Until("the listing", func() bool { return !w.Shows("reading") && w.Shows("~") })
}

// on puts the cursor on a name by filtering for it.
func (w *world) on(name string) {
	w.T.Helper()
	w.Keys("/ ctrl+u")
	w.Type(name)
	w.Keys("enter g")
}

// said waits until a message was given, whatever is shown of it now, and
// returns the list of messages.
func (w *world) said(text string) string {
	w.T.Helper()
	end := time.Now().Add(20 * time.Second)
	for {
		w.press(":", "enter accept")
		w.Type("messages")
		w.press("enter", "─ Messages ─")
		all := w.Text()
		w.closes("esc", "─ Messages ─")
		switch {
		case strings.Contains(all, text):
			return all
		case time.Now().After(end):
			w.T.Fatalf("%q was not said:\n%s", text, all)
		}
	}
}

// press presses a key and waits for what it shows.
func (w *world) press(key, shows string) {
	w.T.Helper()
	w.Keys(key)
	w.UntilShows(shows)
}

// closes presses a key and waits until something is no longer shown.
func (w *world) closes(key, text string) {
	w.T.Helper()
	w.Keys(key)
	w.Until("an end of "+text, func() bool { return !w.Shows(text) })
}

func (w *world) local(name string) string {
	w.T.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.T.Fatal(err)
	}
	return string(data)
}

func (w *world) remote(path string) string {
	w.T.Helper()
	r, err := w.fake.Open(context.Background(), w.id, path)
	if err != nil {
		w.T.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(data)
}

func (w *world) exists(path string) bool {
	_, err := w.fake.Stat(context.Background(), w.id, path)
	return err == nil
}

// nothingHalf fails if a part of a transfer is left in the download folder.
func (w *world) nothingHalf() {
	w.T.Helper()
	if left, _ := filepath.Glob(filepath.Join(w.dir, ".*part*")); len(left) > 0 {
		w.T.Errorf("half files are left: %v", left)
	}
}

func TestFilesDownloadsAFolderAsAWhole(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	put(t, w, "proj/a.txt", "one")
	put(t, w, "proj/deep/er/b.txt", "two")
	w.Keys("ctrl+r")
	w.UntilShows("proj/")
	w.on("proj")
	w.Keys("d enter")
	w.UntilShows("downloaded")
	if a, b := w.local("proj/a.txt"), w.local("proj/deep/er/b.txt"); a != "one" || b != "two" {
		t.Errorf("downloaded %q and %q", a, b)
	}
	w.nothingHalf()
	w.press("w", "2/2 files")
	w.UntilShows("done")
	w.Keys("c")
	w.UntilShows("no transfers")
}

func TestFilesPauseGoOnAndCancel(t *testing.T) {
	turns := make(chan struct{}, 64)
	w := open(t, setup{tab: present.TabFiles, wrap: func(p *fake.Provider) client.Provider {
		return &taps{Provider: p, turns: turns}
	}})
	put(t, w, "zz-big.bin", strings.Repeat("0123456789abcdef", 4096)) // 64 KiB, 16 turns
	for range 64 {
		turns <- struct{}{} // the preview takes some of them
	}
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("zz-big.bin")
	w.on("zz-big")
	w.UntilShows("0123456789abcdef")
	for len(turns) > 0 {
		<-turns
	}
	w.Keys("d enter")
	turns <- struct{}{}
	turns <- struct{}{}
	w.Until("two turns of bytes", func() bool { return w.Shows("zz-big.bin 8.0K of 64K 12%") })
	w.press("w", "Transfers")
	w.press("p", "paused")
	w.closes("p", "paused")
	w.press("x", "cancelled")
	w.Until("the half file to go", func() bool {
		left, _ := filepath.Glob(filepath.Join(w.dir, ".*part*"))
		return len(left) == 0
	})
	if _, err := os.Stat(filepath.Join(w.dir, "zz-big.bin")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cancelled download has its final name: %v", err)
	}
	for range 20 {
		turns <- struct{}{}
	}
	w.closes("esc", "Transfers")
	w.press("d", "save as:")
	w.press("enter", "downloaded")
	if got := w.local("zz-big.bin"); len(got) != 64<<10 {
		t.Errorf("%d bytes", len(got))
	}
}

// FIL-08: a cut stream goes on where it broke, and the whole has its bytes.
func TestFilesResumesACutDownload(t *testing.T) {
	var files *taps
	w := open(t, setup{tab: present.TabFiles, wrap: func(p *fake.Provider) client.Provider {
		files = &taps{Provider: p}
		return files
	}})
	text := strings.Repeat("resume me ", 5000)
	put(t, w, "zz-cut.txt", text)
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("zz-cut.txt")
	w.on("zz-cut")
	w.UntilShows("resume me")
	files.mu.Lock()
	files.breakAt, files.opened = 20_000, nil
	files.mu.Unlock()
	w.Keys("d enter")
	w.UntilShows("downloaded")
	if got := w.local("zz-cut.txt"); got != text {
		t.Errorf("%d bytes of %d", len(got), len(text))
	}
	files.mu.Lock()
	defer files.mu.Unlock()
	if len(files.opened) != 2 || files.opened[1] != 20_000 {
		t.Errorf("opened at %v, want 0 and 20000", files.opened)
	}
}

func TestFilesRetryAfterAFailure(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	if err := os.WriteFile(filepath.Join(w.dir, "up.txt"), []byte("payload"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.fake.Script(fake.OpPut, "", fake.Step{Err: fake.ServerError("disk full")})
	w.Keys("u")
	w.Type("up.txt")
	w.Keys("enter")
	w.UntilShows("disk full")
	if w.exists("/home/user/up.txt") {
		t.Error("a failed upload has its final name")
	}
	w.press("w", "R retry")
	w.press("R", "done")
	w.closes("esc", "Transfers")
	w.Until("the file in its place", func() bool { return w.exists("/home/user/up.txt") })
	if got := w.remote("/home/user/up.txt"); got != "payload" {
		t.Errorf("uploaded %q", got)
	}
}

// FIL-10: links and special files of a folder are left out and said.
func TestFilesUploadsAFolderWithoutItsLinks(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	src := filepath.Join(w.dir, "tree")
	if err := os.MkdirAll(filepath.Join(src, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(src, "f.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(src, "loop")); err != nil {
		t.Skip("no symbolic links here")
	}
	w.settle()
	w.Keys("u")
	w.Type("tree")
	w.Keys("enter")
	w.UntilShows("1 entry left out: loop")
	w.UntilShows("tree/")
	if got := w.remote("/home/user/tree/f.txt"); got != "x" || !w.exists("/home/user/tree/empty") {
		t.Errorf("f.txt is %q, empty is there: %v", got, w.exists("/home/user/tree/empty"))
	}
}

func TestFilesRenameMkdirDelete(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	put(t, w, "old.txt", "kept")
	put(t, w, "other.txt", "o")
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("old.txt")
	w.Keys("a")
	w.Type("sub/dir")
	w.Keys("enter")
	w.UntilShows("made /home/user/sub/dir")
	w.on("old")
	w.Keys("R")
	w.Until("the name to change", func() bool { return w.Shows("rename to: old.txt") })
	w.Keys("ctrl+u")
	w.Type("other.txt")
	w.Keys("enter")
	w.UntilShows("exists already")
	w.Keys("R ctrl+u")
	w.Type("sub/new.txt")
	w.Keys("enter")
	w.Until("the file to move", func() bool { return w.exists("/home/user/sub/new.txt") && !w.exists("/home/user/old.txt") })
	if got := w.remote("/home/user/sub/new.txt"); got != "kept" {
		t.Errorf("moved %q", got)
	}
	w.Keys("esc")
	w.on("sub")
	w.UntilShows("sub/")
	w.Keys("X")
	w.UntilShows("Delete 1 entry")
	w.UntilShows("with everything in it")
	w.Keys("enter") // enter is not yes
	if !w.exists("/home/user/sub/new.txt") {
		t.Fatal("enter deleted")
	}
	w.closes("n", "Delete 1 entry")
	if !w.exists("/home/user/sub") {
		t.Fatal("n does not keep it")
	}
	w.press("X", "Delete 1 entry")
	w.Keys("y")
	w.said("deleted /home/user/sub")
	if w.exists("/home/user/sub") {
		t.Error("the folder is still there")
	}
}

func TestFilesDeletesWhatIsMarkedAndOnlyThat(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	for _, n := range []string{"m1.log", "m2.log", "m3.log"} {
		put(t, w, n, n)
	}
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("m3.log")
	w.on(".log")
	w.Keys("space space")
	w.UntilShows("2 marked")
	w.fake.Script(fake.OpRemove, "", fake.Step{Err: fake.ServerError("busy")})
	w.Keys("X")
	w.UntilShows("/home/user/m2.log")
	w.Keys("y")
	w.UntilShows("1 of 2 could not be deleted")
	if !w.exists("/home/user/m1.log") || w.exists("/home/user/m2.log") || !w.exists("/home/user/m3.log") {
		t.Error("the wrong files are gone")
	}
}

func TestFilesSearchByNameGoesThere(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	put(t, w, "a/b/c/needle-one.txt", "found me")
	w.settle()
	w.Keys("S")
	w.Type("needle")
	w.Keys("enter")
	w.UntilShows("a/b/c/needle-one.txt")
	w.Keys("enter")
	w.UntilShows("~/a/b/c")
	w.UntilShows("found me")
	w.Keys("S")
	w.Type("nosuchname")
	w.Keys("enter")
	w.UntilShows("no name holds nosuchname")
	if got := w.changed(); len(got) != 1 { // the put of the test
		t.Errorf("searching changed something: %v", got)
	}
}

func TestFilesEditSendsWhatChanged(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles, edit: func(p string) error {
		return os.WriteFile(p, []byte("edited"), 0o600)
	}})
	put(t, w, "zz-conf.ini", "a=1")
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("zz-conf.ini")
	w.on("zz-conf")
	w.Keys("e")
	w.UntilShows("saved zz-conf.ini")
	if got := w.remote("/home/user/zz-conf.ini"); got != "edited" {
		t.Errorf("saved %q", got)
	}
	puts := len(w.fake.CallsOf(fake.OpPut))
	w.settle() // the folder is listed anew
	w.Keys("e")
	w.said("nothing was sent")
	if n := len(w.fake.CallsOf(fake.OpPut)); n != puts {
		t.Error("an unchanged file was sent")
	}
}

func TestFilesEditAsksOnAConflict(t *testing.T) {
	var w *world
	w = open(t, setup{tab: present.TabFiles, edit: func(p string) error {
		put(t, w, "zz-conf.ini", "theirs")
		return os.WriteFile(p, []byte("mine"), 0o600)
	}})
	put(t, w, "zz-conf.ini", "base")
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("zz-conf.ini")
	w.on("zz-conf")
	w.Keys("e")
	w.UntilShows("was changed in the sandbox while you edited it")
	if got := w.remote("/home/user/zz-conf.ini"); got != "theirs" {
		t.Fatalf("it was overwritten before asking: %q", got)
	}
	w.Keys("enter")
	w.UntilShows("saved zz-conf.ini")
	if a, b := w.remote("/home/user/zz-conf.ini"), w.remote("/home/user/zz-conf.ini.mine"); a != "theirs" || b != "mine" {
		t.Errorf("theirs %q, mine %q", a, b)
	}
}

func TestFilesReadOnlyRefusesEveryChange(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles, readOnly: "read-only mode"})
	w.settle()
	w.Keys("g j")
	for _, key := range []string{"a", "R", "X", "e"} {
		w.Keys(key + " enter y")
	}
	w.said("read-only mode")
	if got := w.changed(); got != nil {
		t.Errorf("something was changed: %v", got)
	}
}

// The preview colours by its own rules; what a file holds is never obeyed.
func TestFilesPreviewObeysNothing(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	put(t, w, "zz.py", "import os # \x1b[31mred\x1b]0;evil\x07\n")
	put(t, w, "zz.bin", "\x89PNG\r\n\x1a\n\x00\x01")
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("zz.py")
	w.on("zz.py")
	w.UntilShows("import os # ␛[31mred␛]0;evil␇")
	w.Keys("esc")
	w.on("zz.bin")
	w.UntilShows("00000000  89 50 4e 47")
	w.UntilShows("hex")
}

func TestFilesHiddenChoiceIsKept(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "state", "files.json")
	w := open(t, setup{tab: present.TabFiles, prefs: kept})
	w.settle()
	w.UntilShows(".profile")
	w.Keys(".")
	if w.Shows(".profile") {
		t.Fatal("dot files are still shown")
	}
	w.Until("the choice to be kept", func() bool {
		data, err := os.ReadFile(kept)
		return err == nil && bytes.Contains(data, []byte("true"))
	})
	again := open(t, setup{tab: present.TabFiles, prefs: kept})
	again.settle()
	again.UntilShows("README.md")
	if again.Shows(".profile") {
		t.Error("the next run shows dot files again")
	}
}

func TestFilesCompareTwo(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	put(t, w, "v1.txt", "same\nold line\nend\n")
	put(t, w, "v2.txt", "same\nnew line\nend\n")
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("v2.txt")
	w.on("v")
	w.Keys("D")
	w.UntilShows("mark one file")
	w.on("v1")
	w.Keys("space")
	w.on("v2")
	w.Keys("D")
	w.UntilShows("-old line")
	w.UntilShows("+new line")
}

func TestFilesTransfersSurviveTheScreenAndAreAtStake(t *testing.T) {
	turns := make(chan struct{}, 64)
	w := open(t, setup{tab: present.TabFiles, wrap: func(p *fake.Provider) client.Provider {
		return &taps{Provider: p, turns: turns}
	}})
	put(t, w, "zz-slow.bin", strings.Repeat("x", 64<<10))
	for range 64 {
		turns <- struct{}{}
	}
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("zz-slow.bin")
	w.on("zz-slow")
	w.UntilShows("xxxxxxxx")
	for len(turns) > 0 {
		<-turns
	}
	w.Keys("d enter")
	w.Until("it to begin", func() bool { return w.Shows("zz-slow.bin 0B of 64K") })
	w.Keys("1")
	w.UntilShows("1 transfer")
	w.Keys("ctrl+c")
	w.UntilShows("download of zz-slow.bin")
	w.closes("n", "Quit?")
	for range 20 {
		turns <- struct{}{}
	}
	w.UntilShows("downloaded")
	w.Send(ui.TickMsg{})
	if got := w.local("zz-slow.bin"); len(got) != 64<<10 {
		t.Errorf("%d bytes", len(got))
	}
}

// TUI-09: leaving the sandbox and coming back finds the same folder and row.
func TestFilesComeBackToTheirPlace(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles, twice: true})
	put(t, w, "a/b/one.txt", "1")
	put(t, w, "a/b/two.txt", "2")
	w.settle()
	w.Keys("ctrl+r")
	w.UntilShows("a/")
	w.on("a")
	w.Keys("enter")
	w.UntilShows("~/a")
	w.Keys("G enter")
	w.UntilShows("~/a/b")
	w.Keys("G")
	w.UntilShows("two.txt  1B")
	w.reopen()
	w.UntilShows("~/a/b")
	w.UntilShows("two.txt  1B")
	if err := w.fake.Remove(context.Background(), w.id, "a"); err != nil {
		t.Fatal(err)
	}
	w.reopen()
	w.UntilShows("README.md")
}

//go:build linux

package e2e

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// images is where `make images` wants the pictures; without it they are made and thrown away.
var images = flag.String("images", "", "write the pictures of docs/images to this `folder`")

// album takes pictures of one program.
type album struct {
	*program
	dir string
	ground
}

// take waits for a text and takes a picture of the screen that shows it.
func (a *album) take(name, text string) {
	a.t.Helper()
	a.untilShows(text)
	a.settled()
	svg := picture(a.term, a.ground)
	if !bytes.Contains(svg, []byte("<text")) {
		a.t.Errorf("%s is empty", name)
	}
	if err := os.WriteFile(filepath.Join(a.dir, name+".svg"), svg, 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// settled waits until two looks in a row see the same screen.
func (a *album) settled() {
	last := ""
	a.until("the screen to rest", func() bool {
		now := a.screen()
		same := now == last
		last = now
		return same
	})
}

// TestE2EImages walks through the screens and draws them.
func TestE2EImages(t *testing.T) {
	dir := *images
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	u := newUser(t, os.Getuid())
	imagesOfTheDemo(u, dir)
	imagesOfLocal(t, u, dir)
}

// imagesOfTheDemo are those that need many sandboxes.
func imagesOfTheDemo(u *user, dir string) {
	a := &album{u.open(120, 36, "demo"), dir, darkGround()}
	a.take("list", "● running")
	a.typ("S")
	a.take("strays", " of 5000")
	a.typ("  x")
	a.take("kill-sheet", "Kill 2 sandboxes")
	a.typ("\x1b")
	a.untilGone("Kill 2 sandboxes")
	a.typ("S\r")
	a.take("overview", "Overview")
	a.typ("?")
	a.take("help", "Keys here")
	a.typ("\x1b")
	a.untilGone("Keys here")
	a.typ("\x0b")
	a.take("palette", "what do you want")
	a.typ("\x1b")
	a.untilGone("what do you want")
	a.typ("q")
	a.untilShows("sort: age")
	a.typ("M")
	a.take("templates", "Templates")
	a.typ("\x03\x03")
	a.leaves()
	config := filepath.Join(u.home, ".config", "abxdash")
	if err := os.MkdirAll(config, 0o700); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.yaml"), []byte("theme: light\n"), 0o600); err != nil {
		u.t.Fatal(err)
	}
	light := &album{u.open(80, 24, "demo"), dir, lightGround()}
	light.take("list-80x24-light", "● running")
	light.typ("\x03\x03")
	light.leaves()
	if err := os.RemoveAll(config); err != nil {
		u.t.Fatal(err)
	}
}

// imagesOfLocal are those with something real in them.
func imagesOfLocal(t *testing.T, u *user, dir string) {
	t.Helper()
	u.must("create", "--name", "web-agent")
	u.must("exec", "web-agent", "printf '# notes\\n\\n- first\\n' > notes.md; mkdir -p src; printf 'print(\"hello\")\\n' > src/main.py")
	a := &album{u.open(120, 36), dir, darkGround()}
	a.take("local", "web-agent")
	a.typ("N")
	a.take("create", "New sandbox")
	a.typ("\x1b")
	a.untilGone("New sandbox")
	a.typ("!")
	a.untilShows("a shell line")
	a.typ("for i in 1 2 3; do echo step $i; done; uname -s\r")
	a.take("output", "exit 0")
	a.typ("\x1b")
	a.untilShows("! types a command")
	a.typ("3")
	a.take("files", "notes.md")
	a.typ("6")
	a.take("metrics", "chart up to")
	a.typ("s")
	a.untilShows("$")
	a.typ("ls -la --color\r")
	a.take("shell", "notes.md")
	a.typ("\x1dd")
	a.untilShows("detached")
	a.typ("q")
	a.untilShows("NAME/ID")
	a.typ("@")
	a.take("providers", "Providers")
	a.typ("\x03\x03")
	a.leaves()
	u.must("kill", "web-agent", "--yes")
}

//go:build linux

package e2e

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
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

// still is for how many looks in a row nothing may be written: a large frame
// arrives in several pieces.
const still = 25

// settled waits until the screen rests.
func (a *album) settled() {
	last, looks := int64(-1), 0
	a.until("the screen to rest", func() bool {
		if now := a.written.Load(); now != last {
			last, looks = now, 0
		}
		looks++
		return looks > still
	})
}

// closes types keys and waits for a text to go.
func (a *album) closes(keys, text string) {
	a.t.Helper()
	a.typ(keys)
	a.untilGone(text)
}

// quits ends the program.
func (a *album) quits() {
	a.t.Helper()
	a.typ("\x03\x03")
	a.leaves()
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
	imagesOfTheDemoElsewhere(u, dir)
	imagesOfLocal(t, u, dir)
}

// imagesOfTheDemo are those that need many sandboxes.
func imagesOfTheDemo(u *user, dir string) {
	a := &album{u.open(120, 36, "demo"), dir, darkGround()}
	a.take("list", "● running")
	a.typ("C")
	a.take("columns", "Columns")
	a.closes("\x1b", "Columns")
	a.typ("S")
	a.take("strays", " of 5000")
	a.typ("  x")
	a.take("kill-sheet", "Kill 2 sandboxes")
	a.typ("y")
	a.take("kill-undo", "z undo")
	a.untilGone("z undo")
	a.typ("S\r")
	a.take("overview", "Overview")
	a.typ("J")
	a.take("json", "as abxdash reports it")
	a.closes("\x1b", "as abxdash reports it")
	a.typ("?")
	a.take("help", "Keys here")
	a.closes("\x1b", "Keys here")
	a.typ("\x0b")
	a.take("palette", "what do you want")
	a.closes("\x1b", "what do you want")
	a.typ("q")
	a.untilShows("sort: age")
	a.typ("M")
	a.take("templates", "Templates")
	a.typ("j\r")
	a.untilGone("asking")
	a.take("template", "Live sandboxes")
	a.quits()
}

// imagesOfTheDemoElsewhere are a small light terminal, the smallest there may
// be, and another language.
func imagesOfTheDemoElsewhere(u *user, dir string) {
	config := filepath.Join(u.home, ".config", "abxdash")
	if err := os.MkdirAll(config, 0o700); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.yaml"), []byte("theme: light\n"), 0o600); err != nil {
		u.t.Fatal(err)
	}
	light := &album{u.open(80, 24, "demo"), dir, lightGround()}
	light.take("list-80x24-light", "● running")
	light.quits()
	if err := os.RemoveAll(config); err != nil {
		u.t.Fatal(err)
	}
	small := &album{u.open(40, 10, "demo"), dir, darkGround()}
	small.take("list-40x10", "●")
	small.quits()
	chinese := &album{u.open(120, 36, "demo", "--lang", "zh"), dir, darkGround()}
	chinese.take("list-zh", "● 运行")
	chinese.quits()
}

// imagesOfLocal are those with something real in them.
func imagesOfLocal(t *testing.T, u *user, dir string) {
	t.Helper()
	u.must("create", "--name", "web-agent")
	u.must("create", "--name", "api-worker")
	u.must("exec", "web-agent", "printf '# notes\\n\\n- first\\n' > notes.md; mkdir -p src; printf 'print(\"hello\")\\n' > src/main.py")
	u.must("exec", "web-agent", "nohup python3 -m http.server 8000 >/dev/null 2>&1 &")
	drawing(t, u)
	u.must("template", "init", "hello", "--kind", "python", "--yes", "--provider", "local")
	a := &album{u.open(120, 36), dir, darkGround()}
	a.untilShows("api-worker")
	a.take("local", "web-agent")
	a.typ("N")
	a.take("create", "New sandbox")
	a.closes("\x1b", "New sandbox")
	imagesOfBroadcast(a)
	imagesOfTabs(a)
	imagesOfShell(a)
	imagesOfTemplates(a)
	a.typ("q")
	a.untilShows("NAME/ID")
	a.typ("@")
	a.take("providers", "Providers")
	a.closes("\x1b", "Providers")
	a.typ("/\x15\r*x")
	a.untilShows("Kill 2 sandboxes")
	a.typ("y")
	wait(t, "an empty list", func() bool { return len(u.list()) == 0 })
	a.typ(":kills\r")
	a.take("kill-history", "Killed from this machine")
	a.quits()
}

// drawing puts a picture into the home of the sandbox web-agent.
func drawing(t *testing.T, u *user) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 160, 120))
	for y := range 120 {
		for x := range 160 {
			c := color.RGBA{R: uint8(40 + x), G: uint8(60 + y), B: 190, A: 255}
			if math.Hypot(float64(x-80), float64(y-60)) < 40 {
				c = color.RGBA{R: 250, G: 200, B: 70, A: 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	path := filepath.Join(u.home, "sun.png")
	var data bytes.Buffer
	if err := png.Encode(&data, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	u.must("cp", path, "web-agent:sun.png")
}

// imagesOfBroadcast runs one command in both sandboxes.
func imagesOfBroadcast(a *album) {
	a.typ("*!")
	a.untilShows("Run in 2 sandboxes")
	a.typ("ls -x notes.md src && python3 --version\r")
	a.take("broadcast", "Results 2 of 2")
	a.closes("\x1b", "Results 2 of 2")
	a.untilGone("1 failed")
	a.typ("\x1c") // marks off
	a.untilGone("2 marked")
}

// imagesOfTabs walks through the tabs of web-agent, which the cursor is below.
func imagesOfTabs(a *album) {
	a.typ("/web\r")
	a.untilGone("api-worker")
	a.typ("!")
	a.untilShows("a shell line")
	a.typ("for i in 1 2 3; do echo step $i; done; uname -s\r")
	a.take("output", "exit 0")
	a.typ("\x1b")
	a.untilShows("! types a command")
	a.typ("3")
	a.take("files", "drwx") // not a name: the line of the broadcast may be seen still
	a.typ("G")
	a.take("files-image", "png 160×120")
	a.typ("5")
	a.take("ports", "8000")
	a.typ("6")
	a.take("metrics", "chart up to")
	a.typ("7")
	a.take("logs", "process started")
}

// imagesOfShell works in a shell and plays what was recorded of it.
func imagesOfShell(a *album) {
	a.typ("s")
	a.untilShows("$")
	a.typ("\x1dr")
	a.untilShows("● rec ")
	a.typ("ls -la --color\r")
	a.until("a second prompt", func() bool { return strings.Count(a.screen(), "user@sandbox:~$") == 2 })
	a.take("shell", "notes.md")
	a.typ("for i in 3 2 1; do echo $i; sleep 1; done; echo done-$((1+1))\r")
	a.untilShows("done-2")
	a.typ("\x1dr")
	a.untilShows("recorded ")
	a.untilGone("recorded ") // it names a folder of this test
	a.typ("\x1dd")
	a.untilShows("detached")
	a.typ(":play\r")
	a.untilShows("Recordings")
	a.typ("\r")
	a.take("replay", "ended")
	a.typ("q")
	a.untilGone("ended")
	a.typ("q")
	a.untilShows("NAME/ID")
}

// imagesOfTemplates goes from the templates on disk to the question before a deploy.
func imagesOfTemplates(a *album) {
	a.typ("M")
	a.untilShows("On disk")
	a.typ("2")
	a.take("template-folders", "✓ clean")
	a.typ("c")
	a.take("template-check", "all of it worked")
	a.typ("\x1b")
	a.untilShows("check, stand-in")
	a.typ("D")
	a.take("template-deploy", "Deploy hello")
	a.typ("\r")
	a.take("template-plan", "no image is pushed")
	a.closes("\x1b", "no image is pushed")
	a.typ("n")
	a.untilShows("New template")
	a.typ("\r\r")
	a.take("template-wizard", "a capability that sandboxes of it have")
	a.closes("\x1b", "a capability that sandboxes of it have")
	a.typ("\x1b")
	a.untilShows("< python >")
	a.typ("\x1b")
	a.untilShows("Template folders")
}

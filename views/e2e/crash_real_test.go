//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bugs are the places where the real program gets a bug: the file, the line
// before it, and what is called there. One is in the loop of the dashboard, the
// other where raw attach asks for its title.
func bugs() map[string]string {
	return map[string]string{
		"ui/root.go":          "func (r *Root) Update(msg tea.Msg) (tea.Model, tea.Cmd) {\n",
		"ui/attach/attach.go": "func (a *attached) showStatus(pending bool) {\n",
	}
}

// bug panics once there is a file named crash in the home.
const bug = `
import "os"

func bugForTheTest() {
	if _, err := os.Stat(os.Getenv("HOME") + "/crash"); err == nil {
		panic("a bug for the test")
	}
}
`

// buildWithBugs builds the program with bugs in place of two of its files;
// nothing of them is in the tree.
func buildWithBugs(t *testing.T) string {
	t.Helper()
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	put := func(file, text string) {
		t.Helper()
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(tree, file)] = at
	}
	for file, line := range bugs() {
		text, err := os.ReadFile(filepath.Join(tree, file))
		if err != nil {
			t.Fatal(err)
		}
		before, after, ok := strings.Cut(string(text), line)
		if !ok {
			t.Fatalf("%s has no line %q", file, line)
		}
		put(file, before+line+"\tbugForTheTest()\n"+after)
		put(filepath.Dir(file)+"/bugforthetest.go", "package "+filepath.Base(filepath.Dir(file))+"\n"+bug)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	put("overlay.json", string(overlay))
	exe := filepath.Join(filepath.Dir(binary), "abxdash-with-bugs")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", exe, "abxdash")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}

// A bug that ends the real program, with a shell in a pane or with the whole
// terminal, leaves the terminal clean. (PTY-09)
func TestE2EPanicOfTheRealProgram(t *testing.T) {
	exe := buildWithBugs(t)
	for _, c := range []struct{ name, key string }{{"pane", "s"}, {"raw", "A"}} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(t, os.Getuid())
			u.must("create", "--name", "crashbox")
			u.exe = exe
			p := u.open(100, 30)
			u.exe = binary
			p.untilShows("crashbox")
			p.typ(c.key)
			p.untilShows("user@sandbox:~$")
			if c.name == "raw" {
				p.untilTitle("crashbox — TTL")
			}
			p.typ(leaveOn)
			p.untilShows("modes-2")
			if err := os.WriteFile(filepath.Join(u.home, "crash"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_ = p.end()
			p.clean()
			if p.cmd.ProcessState.ExitCode() == 0 {
				t.Errorf("it ended as if nothing had happened; the screen shows:\n%s", p.screen())
			}
			if m := p.term.Modes(); m.Kitty != 0 || m.ModifyOtherKeys != 0 {
				t.Errorf("keyboard modes are left on: %+v", m)
			}
		})
	}
}

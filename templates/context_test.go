package templates

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder makes a folder of files; a name that ends in / is a directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func scanned(t *testing.T, dir string) (BuildContext, Problems) {
	t.Helper()
	c, ps, err := ScanContext(dir, FileDockerfile)
	if err != nil {
		t.Fatal(err)
	}
	return c, ps
}

func paths(c BuildContext) []string {
	var out []string
	for _, e := range c.Entries {
		if !e.Mode.IsDir() {
			out = append(out, e.Path)
		}
	}
	slices.Sort(out)
	return out
}

func rules(ps Problems) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, string(p.Severity)+" "+p.Rule+" "+p.File)
	}
	slices.Sort(out)
	return out
}

// TPL-07
func TestIgnoreHidesTheDockerfile(t *testing.T) {
	dir := folder(t, map[string]string{
		".dockerignore": string(caseFile(t, "dockerignore-hides-dockerfile")),
		"Dockerfile":    "FROM a\n", "a.md": "", "keep.md": "", "node_modules/x": "", "node_modules/keep.md": "", "sub/a.md": "",
	})
	c, ps := scanned(t, dir)
	if len(ps) > 0 {
		t.Error(ps)
	}
	// As docker: *.md matches at the top only, the last pattern that fits wins.
	if diff := cmp.Diff([]string{".dockerignore", "Dockerfile", "keep.md", "sub/a.md"}, paths(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIgnoreOfTheDockerfileWins(t *testing.T) {
	dir := folder(t, map[string]string{"Dockerfile": "", "Dockerfile.dockerignore": "b\r\n", ".dockerignore": "a\n", "a": "", "b": ""})
	c, _ := scanned(t, dir)
	if diff := cmp.Diff([]string{".dockerignore", "Dockerfile", "Dockerfile.dockerignore", "a"}, paths(c)); diff != "" {
		t.Error(diff)
	}
}

func TestIgnoreWithDoubleStars(t *testing.T) {
	dir := folder(t, map[string]string{".dockerignore": "**/x\n!deep/er/x\n", "x": "", "a/x": "", "deep/er/x": "", "deep/y": ""})
	c, _ := scanned(t, dir)
	if diff := cmp.Diff([]string{".dockerignore", "deep/er/x", "deep/y"}, paths(c)); diff != "" {
		t.Error(diff)
	}
}

func TestBadIgnore(t *testing.T) {
	dir := folder(t, map[string]string{".dockerignore": "[\n", "x": ""})
	if _, ps := scanned(t, dir); !ps.Failed() || ps[0].File != ".dockerignore" {
		t.Errorf("got %v", ps)
	}
}

// TPL-09
func TestSecretsInTheContext(t *testing.T) {
	files := map[string]string{
		".env": "A=1", ".env.local": "B=2", ".env.example": "A=", ".claude/settings.local.json": "{}", "id_ed25519": "x",
		".git/config": "[remote]\n url = https://x:ghp_0123456789abcdefghijABCDEFGHIJ@example.com/a\n", ".git/HEAD": "x", "Dockerfile": "FROM a\nCOPY . .\n",
		"app.py": "KEY = 'LTAI5tABCDEFGH0123456789'", "fine.py": "print(1)",
	}
	c, ps := scanned(t, folder(t, files))
	want := []string{".claude/settings.local.json", ".env", ".env.local", ".git/config", "app.py", "id_ed25519"}
	got := slices.Sorted(slices.Values(c.Secrets))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, p := range ps {
		if strings.Contains(p.Message, "ghp_0123") || p.Severity != SeverityError {
			t.Errorf("%v", p)
		}
	}
	if slices.Contains(paths(c), ".env") {
		t.Error("the folder's own .env would be sent")
	}
}

func TestTooLargeAContext(t *testing.T) {
	dir := folder(t, map[string]string{"small": "x"})
	for name, size := range map[string]int64{"big.bin": 900 << 20, "sub.bin": 200 << 20} {
		if err := os.Truncate(filepath.Join(folderFile(t, dir, name)), size); err != nil {
			t.Fatal(err)
		}
	}
	_, ps := scanned(t, dir)
	if !ps.Failed() || !strings.Contains(ps[0].Message, "big.bin (900 MiB), sub.bin (200 MiB)") {
		t.Errorf("got %v", ps)
	}
}

// 1 GiB to the byte is refused, one byte less is not.
func TestContextOfExactlyOneGiB(t *testing.T) {
	dir := t.TempDir()
	for size, refused := range map[int64]bool{1 << 30: true, 1<<30 - 1: false} {
		if err := os.Truncate(folderFile(t, dir, "big.bin"), size); err != nil {
			t.Fatal(err)
		}
		_, ps := scanned(t, dir)
		if ps.Failed() != refused || refused && !strings.Contains(ps[0].Message, "big.bin (1024 MiB)") {
			t.Errorf("%d bytes: %v", size, ps)
		}
	}
}

func folderFile(t *testing.T, dir, name string) string {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return full
}

func TestWheels(t *testing.T) {
	c, _ := scanned(t, folder(t, map[string]string{"agent_sandbox_server-1.0-py3-none-any.whl": "", "other-1.whl": "", "x/agent_sandbox_server-1.0-py3-none-any.whl": ""}))
	if diff := cmp.Diff([]string{"agent_sandbox_server-1.0-py3-none-any.whl"}, c.Wheels); diff != "" {
		t.Error(diff)
	}
}

func TestLintOfNoFolder(t *testing.T) {
	_, err := Lint(t.Context(), filepath.Join(t.TempDir(), "none"), LintOptions{Target: NewTarget("", "", nil)})
	if err == nil || !strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("got %v", err)
	}
}

func TestLintOfAnEmptyFolder(t *testing.T) {
	r, err := Lint(t.Context(), t.TempDir(), LintOptions{Target: NewTarget("", "", nil)})
	if err != nil || r.OK || r.Errors != 1 || r.Problems[0].Rule != "missing" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestSecretsCanBeAllowed(t *testing.T) {
	dir := folder(t, map[string]string{"template.yaml": "name: a\n", "Dockerfile": "FROM a\nCMD x\n", "id_rsa": "x"})
	o := LintOptions{Target: NewTarget("e2b", "", nil)}
	if r, err := Lint(t.Context(), dir, o); err != nil || r.OK {
		t.Errorf("got %+v, %v", r, err)
	}
	o.AllowSecrets = true
	if r, err := Lint(t.Context(), dir, o); err != nil || !r.OK {
		t.Errorf("got %v, %v", r.Problems, err)
	}
}

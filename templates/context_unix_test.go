//go:build unix

package templates

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TPL-08
func TestSpecialFilesAndLinks(t *testing.T) {
	dir := folder(t, map[string]string{"Dockerfile.plain": string(caseFile(t, "Dockerfile.plain"))})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	t.Chdir(dir) // a socket's path has to be short
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "sock"}); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"host": "/etc/hostname", "gone": "nothing", "Dockerfile": "Dockerfile.plain", "up": "../x"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c, ps := scanned(t, dir)
	if ps.Failed() {
		t.Fatal(ps)
	}
	links := map[string]string{}
	for _, e := range c.Entries {
		links[e.Path] = e.Link
	}
	want := map[string]string{"Dockerfile": "Dockerfile.plain", "Dockerfile.plain": "", "host": "/etc/hostname", "gone": "nothing", "up": "../x"}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantRules := []string{"info special-file pipe", "info special-file sock", "warning dangling-link gone", "warning link-outside host", "warning link-outside up"}
	if diff := cmp.Diff(wantRules, rules(ps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Dockerfile != "Dockerfile" {
		t.Errorf("the linked Dockerfile was not found")
	}
}

//go:build unix

package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PTY-06: a sandbox that does not know our terminal or locale gets the nearest it has.
func TestInteractiveShellFallsBack(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	run := func(terminfo, locales string) string {
		t.Helper()
		home, bin := t.TempDir(), t.TempDir()
		for _, name := range strings.Fields(terminfo) {
			file := filepath.Join(home, ".terminfo", name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if locales != "-" {
			write("locale", "printf '%s\\n' "+locales)
		}
		write("bash", `echo "$TERM $LANG ${LC_ALL-unset} $*"`)
		// The machine's own descriptions must not count.
		script := strings.ReplaceAll(interactiveShell, " /etc/terminfo /lib/terminfo /usr/share/terminfo /usr/lib/terminfo /usr/local/share/terminfo", "")
		if script == interactiveShell {
			t.Fatal("the script is not what this test knows")
		}
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Env = []string{"HOME=" + home, "PATH=" + bin, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, c := range []struct{ terminfo, locales, want string }{
		{"x/xterm-256color x/xterm", "C C.utf8 POSIX", "xterm-256color C.UTF-8 C.UTF-8 -i -l"},
		{"78/xterm-256color", "-", "xterm-256color C.UTF-8 C.UTF-8 -i -l"},
		{"x/xterm v/vt100", "C.UTF-8", "xterm C.UTF-8 C.UTF-8 -i -l"},
		{"v/vt100", "C POSIX en_US.utf8 de_DE.utf8", "vt100 en_US.utf8 en_US.utf8 -i -l"},
		{"", "C POSIX", "xterm-256color C unset -i -l"},
	} {
		if got := run(c.terminfo, c.locales); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.terminfo, c.locales, got, c.want)
		}
	}
}

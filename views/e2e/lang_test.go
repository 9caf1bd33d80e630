//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestE2ELanguage holds which language the dashboard speaks: the flag's, else
// the configuration's, else the locale's.
func TestE2ELanguage(t *testing.T) {
	u := newUser(t, os.Getuid())
	conf := filepath.Join(u.home, ".config", "abxdash", "config.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(conf), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	speaks := func(want string, args ...string) {
		t.Helper()
		p := u.open(120, 24, args...)
		p.untilShows(want)
		p.typ("q")
		p.leaves()
	}
	speaks("? help", "demo")
	speaks("? 帮助", "demo", "--lang", "zh")
	write("language: zh\nleader: ctrl+a\n")
	speaks("? 帮助", "demo")
	speaks("? help", "demo", "--lang", "en")
	write("language: tlh\n")
	u.open(120, 24, "demo").untilShows("it is one of en, zh (E")
	u.open(120, 24, "demo", "--lang", "elvish").untilShows(`no language "elvish"`)
}

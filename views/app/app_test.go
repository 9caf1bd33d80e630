package app

import (
	"os"
	"path/filepath"
	"testing"

	"abxdash/client/config"
	"abxdash/views/cli"
)

// testWorld is a world with this configuration.
func testWorld(t *testing.T, conf string) *world {
	t.Helper()
	home := t.TempDir()
	folders, err := config.Find(func(name string) string {
		return map[string]string{"ABXDASH_HOME": filepath.Join(home, "abxdash")}[name]
	}, home)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(folders.File()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folders.File(), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return &world{folders: folders}
}

// A recording and the scroll-back look as the dashboard does: its theme, also a
// named one, no colours where none are wanted, its keys and its language.
func TestOneScreenLooksLikeTheDashboard(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	w := testWorld(t, "theme: nord\nno_mouse: true\nascii: true\nlanguage: zh\nleader: ctrl+a\n")
	o, err := w.aloneOptions(cli.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if o.Theme != "nord" || o.NoColor || !o.NoMouse || !o.ASCII || o.Keys.Leader() != "ctrl+a" || o.Lang.T("Themes") == "Themes" {
		t.Errorf("%q, no colour %v, no mouse %v, ASCII %v, leader %q, %q", o.Theme, o.NoColor, o.NoMouse, o.ASCII, o.Keys.Leader(), o.Lang.T("Themes"))
	}
	if o, err = w.aloneOptions(cli.Flags{NoColor: true}); err != nil || !o.NoColor {
		t.Errorf("--no-color: %v, %v", o.NoColor, err)
	}
	t.Setenv("NO_COLOR", "1")
	if o, err = w.aloneOptions(cli.Flags{}); err != nil || !o.NoColor {
		t.Errorf("NO_COLOR: %v, %v", o.NoColor, err)
	}
	if _, err := testWorld(t, "theme: none-such\n").aloneOptions(cli.Flags{}); err == nil {
		t.Error("a theme that does not exist")
	}
}

func TestTemplateFolders(t *testing.T) {
	got := templateFolders(config.Config{TemplateFolders: []string{"~/a/", "/b/../c"}}, filepath.FromSlash("/home/me"))
	if len(got) != 2 || got[0] != filepath.FromSlash("/home/me/a") || got[1] != filepath.FromSlash("/c") {
		t.Errorf("%q", got)
	}
}

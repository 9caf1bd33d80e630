package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"abxdash/client"
)

// What the user wrote beside an entry stays, in a file of comments too.
func TestProviderEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "config.yaml")
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := AddProvider(path, "lab", map[string]string{"type": "e2b", "api_url": "https://lab.test"}); err != nil {
		t.Fatal(err)
	}
	if want := "providers:\n  lab:\n    api_url: https://lab.test\n    type: e2b\n"; read() != want {
		t.Errorf("made:\n%s", read())
	}
	for before, want := range map[string]string{
		"# mine\n": "# mine\n\nproviders:\n  lab:\n    type: e2b\n",
		"theme: dark # why\nproviders: # none yet\n": "theme: dark # why\nproviders: # none yet\n  lab:\n    type: e2b\n",
	} {
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AddProvider(path, "lab", map[string]string{"type": "e2b"}); err != nil {
			t.Fatal(err)
		}
		if got := read(); got != want {
			t.Errorf("%q became\n%s\nwant\n%s", before, got, want)
		}
		if err := AddProvider(path, "lab", nil); client.CodeOf(err) != client.CodeConflict {
			t.Errorf("twice: %v", err)
		}
		if err := AddProvider(path, "bad", map[string]string{"nonsense": "1"}); client.CodeOf(err) != client.CodeConfig || read() != want {
			t.Errorf("a setting that does not exist: %v\n%s", err, read())
		}
		if err := RemoveProvider(path, "none"); client.CodeOf(err) != client.CodeNotFound {
			t.Error(err)
		}
		if err := RemoveProvider(path, "lab"); err != nil {
			t.Error(err)
		}
		if c, err := Read(path); err != nil || len(c.Providers) != 0 {
			t.Errorf("%+v %v", c.Providers, err)
		}
		if comment := before[strings.Index(before, "#"):]; !strings.Contains(read(), strings.TrimSpace(comment[:strings.Index(comment, "\n")])) {
			t.Errorf("the comment went:\n%s", read())
		}
	}
}

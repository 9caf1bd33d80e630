package credentials

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"abxdash/client"
)

func TestStore(t *testing.T) {
	s := &Store{File: filepath.Join(t.TempDir(), "config", "keys.env")}
	for provider, key := range map[string]string{Express: "first-key-of-express", "e2b": "e2b_0123456789"} {
		if name, file, err := s.SaveKey(provider, " "+key+"\n"); err != nil || name != KeyNames(provider)[0] || file != s.File {
			t.Fatalf("%q %q %v", name, file, err)
		}
	}
	if _, _, err := s.SaveKey(Express, "second-key-of-express"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.File)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	// It is the last place that is asked.
	set := Load(Options{SavedFile: s.File, LookupEnv: func(name string) (string, bool) {
		return map[string]string{"ABX_E2B_API_KEY": "from-the-process"}[name], true
	}})
	if v, err := set.Lookup("ABX_SANDBOX_API_KEY"); err != nil || v.Reveal() != "second-key-of-express" || v.Source.Kind != FromSaved || !strings.Contains(v.String(), s.File) {
		t.Errorf("%v %v", v, err)
	}
	if v, err := set.Lookup("ABX_E2B_API_KEY"); err != nil || v.Reveal() != "from-the-process" {
		t.Errorf("%v %v", v, err)
	}
	if found, err := s.ForgetKey(Express); !found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if found, err := s.ForgetKey(Express); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if v, err := Load(Options{SavedFile: s.File}).Lookup("ABX_E2B_API_KEY"); err != nil || v.Reveal() != "e2b_0123456789" {
		t.Errorf("the other key: %v %v", v, err)
	}
	for _, bad := range []string{"", "  ", "two words", "quo'te", strings.Repeat("x", 1<<20)} {
		_, _, err := s.SaveKey(Express, bad)
		if client.CodeOf(err) != client.CodeUsage || len(bad) > 2 && strings.Contains(err.Error(), bad) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if found, err := (&Store{File: filepath.Join(t.TempDir(), "none")}).ForgetKey("e2b"); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

// An address of a project's file does not get a key that was kept here.
func TestStoreKeyStaysHome(t *testing.T) {
	dir := t.TempDir()
	s := &Store{File: filepath.Join(dir, "keys.env")}
	if _, _, err := s.SaveKey("e2b", "e2b_0123456789"); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, ".env")
	if err := os.WriteFile(project, []byte("ABX_E2B_API_URL=https://elsewhere.test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := Load(Options{SavedFile: s.File, ProjectFile: project}).Account("e2b"); client.CodeOf(err) != client.CodeConfig {
		t.Errorf("%+v %v", a, err)
	}
}

// A file that is a link stays one, whether a key is kept or forgotten.
func TestStoreFollowsALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.env"), filepath.Join(dir, "keys.env")
	if err := os.WriteFile(real, []byte("OTHER=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	s := &Store{File: link}
	if _, _, err := s.SaveKey("e2b", "e2b_0123456789"); err != nil {
		t.Fatal(err)
	}
	if found, err := s.ForgetKey("e2b"); !found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info, err)
	}
	if data, err := os.ReadFile(real); err != nil || string(data) != "OTHER=1\n" {
		t.Errorf("%q %v", data, err)
	}
}

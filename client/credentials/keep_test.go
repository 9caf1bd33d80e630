package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeepReplacesOneKeyOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "abx", ".env")
	if err := Keep(path, "ABX_LAB_API_KEY", "first-1"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	text := "# mine\r\nexport ABX_LAB_API_KEY=\"old\nover two lines\"\nOTHER='a # b'\nABX_LAB_API_KEY=old2 # two\nLAST=x"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Keep(path, "ABX_LAB_API_KEY", "new-2"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "# mine\r\nOTHER='a # b'\nLAST=x\nABX_LAB_API_KEY='new-2'\n"; string(got) != want {
		t.Errorf("file\n%q, want\n%q", got, want)
	}
	info, err = os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could read stays readable: %v, %v", info.Mode(), err)
	}
	v, err := Load(Options{HomeFile: path}).Lookup("ABX_LAB_API_KEY")
	if err != nil || v.Reveal() != "new-2" {
		t.Errorf("read back %v, %v", v, err)
	}
	list, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".env-*"))
	if err != nil || len(list) != 0 {
		t.Errorf("left over: %v, %v", list, err)
	}
}

func TestKeepRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	before := "A=1\nB=${ABX_LAB_API_KEY}\nABX_LAB_API_KEY=x\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"a line that uses it":  {"ABX_LAB_API_KEY", "secret-1"},
		"a family never kept":  {"E2B_API_KEY", "secret-1"},
		"no name":              {"A B", "secret-1"},
		"a quote in the key":   {"ABX_OTHER_API_KEY", "secret-1'"},
		"a line end":           {"ABX_OTHER_API_KEY", "secret-1\nE2B_API_KEY=y"},
		"nothing":              {"ABX_OTHER_API_KEY", ""},
		"an escape in the key": {"ABX_OTHER_API_KEY", "secret-1\x1b"},
	} {
		err := Keep(path, c[0], c[1])
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error holds the key: %v", name, err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != before {
		t.Errorf("the file was changed: %q, %v", got, err)
	}
}

func TestKeepFollowsALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real"), filepath.Join(dir, ".env")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := Keep(link, "ABX_LAB_API_KEY", "k"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "ABX_LAB_API_KEY='k'\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestWithCountsAsAFlag(t *testing.T) {
	s := Load(Options{LookupEnv: func(string) (string, bool) { return "env", true }})
	w := s.With(map[string]string{"ABX_LAB_API_KEY": "typed"})
	v, err := w.Lookup("ABX_LAB_API_KEY")
	if err != nil || v.Reveal() != "typed" || v.Source.Kind != FromFlag {
		t.Errorf("%v, %v", v, err)
	}
	if v, _ := s.Lookup("ABX_LAB_API_KEY"); v.Reveal() != "env" {
		t.Error("the set itself was changed")
	}
}

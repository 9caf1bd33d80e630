package present

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"abxdash/client"
)

const hour = 60 * 60 * 1e9 // time.Hour as an untyped number

type remembered struct {
	A string
	B []int
}

func TestFolderRemembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "state")
	f := NewFolder(dir)
	if v, err := Load[remembered](f, "x.json"); err != nil || v.A != "" {
		t.Fatalf("nothing there: %+v, %v", v, err)
	}
	if err := Save(f, "x.json", remembered{"a", []int{1, 2}}); err != nil {
		t.Fatal(err)
	}
	if v, err := Load[remembered](f, "x.json"); err != nil || v.A != "a" || !slices.Equal(v.B, []int{1, 2}) {
		t.Errorf("%+v, %v", v, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "x.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left over: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"A": 3`), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := Load[remembered](f, "x.json"); err == nil || v.A != "" {
		t.Errorf("broken: %+v, %v", v, err)
	}
	var none Folder
	if err := Save(none, "x.json", 1); err != nil {
		t.Error(err)
	}
	if _, err := Load[int](none, "x.json"); err != nil {
		t.Error(err)
	}
}

func TestJournalKeepsTheNewestAndSkipsBrokenLines(t *testing.T) {
	dir := t.TempDir()
	f := NewFolder(dir)
	for i := range 5 {
		if err := Append(f, "log.jsonl", remembered{B: []int{i}}); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(filepath.Join(dir, "log.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("{\"A\":\"cut sh\n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Append(f, "log.jsonl", remembered{B: []int{9}}); err != nil {
		t.Fatal(err)
	}
	got, err := Tail[remembered](f, "log.jsonl", 2)
	if err != nil || len(got) != 2 || got[0].B[0] != 4 || got[1].B[0] != 9 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProtectedList(t *testing.T) {
	f := NewFolder(t.TempDir())
	p, err := LoadProtected(f)
	if err != nil {
		t.Fatal(err)
	}
	a, b := Key{"e2b", "a"}, Key{"local", "b"}
	for _, save := range []func() error{p.Set(a, true), p.Set(b, true), p.Set(a, false)} {
		if err := save(); err != nil {
			t.Fatal(err)
		}
	}
	p, err = LoadProtected(f)
	if err != nil || p.Has(a) || !p.Has(b) {
		t.Errorf("a %v, b %v, %v", p.Has(a), p.Has(b), err)
	}
	if !p.Of(client.Sandbox{Provider: "x", Metadata: map[string]string{client.MetaProtect: "true"}}) {
		t.Error("its own tag does not protect")
	}
	var none *Protected
	if none.Has(a) || none.Of(client.Sandbox{}) {
		t.Error("no list protects something")
	}
}

func TestCost(t *testing.T) {
	now := client.Sandbox{}.StartedAt.AddDate(2030, 0, 0)
	r := Rates{Date: "2026-11-01", Providers: map[string]Rate{
		"e2b":  {CPUHour: 0.05, GBHour: 0.02},
		"size": {Hour: 1, Sizes: map[string]float64{"2x4096": 0.5}},
	}}
	box := func(provider string, cpu float64, mem int64) client.Sandbox {
		return client.Sandbox{Provider: provider, CPU: cpu, MemoryMB: mem, State: client.StateRunning, StartedAt: now.Add(-2 * hour), ExpiresAt: now.Add(hour)}
	}
	for name, c := range map[string]struct {
		s                        client.Sandbox
		hourly, spent, projected string
	}{
		"parts":      {box("e2b", 2, 2048), "$0.14", "$0.28", "$0.42"},
		"by size":    {box("size", 2, 4096), "$0.50", "$1.00", "$1.50"},
		"other size": {box("size", 4, 4096), "$1.00", "$2.00", "$3.00"},
		"no rate":    {box("x", 2, 4096), "—", "—", "—"},
		"no size":    {box("e2b", 0, 0), "—", "—", "—"},
	} {
		got := [3]string{r.Cost(c.s), MoneyOr(r.Spent(c.s, now)), MoneyOr(r.Projected(c.s, now))}
		if got != [3]string{c.hourly, c.spent, c.projected} {
			t.Errorf("%s: %v", name, got)
		}
	}
	local := box("local", 2, 512)
	local.Isolation = client.IsolationNamespace
	if r.Cost(local) != "$0" {
		t.Errorf("local costs %s", r.Cost(local))
	}
	paused := box("e2b", 2, 2048)
	paused.State = client.StatePaused
	if r.Cost(paused) != "$0" {
		t.Errorf("paused costs %s", r.Cost(paused))
	}
	endless := box("e2b", 2, 2048)
	endless.End = client.EndNever
	if _, ok := r.Projected(endless, now); ok {
		t.Error("an endless one has a projected cost")
	}
	if r.Label() != "estimate, rates of 2026-11-01" || (Rates{}).Label() != "estimate" {
		t.Errorf("label %q", r.Label())
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"local/i1": "local/i1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "a;b": "'a;b'", "$HOME": "'$HOME'", "a\nb": "'a\nb'", "--": "--",
	} {
		if got := ShellQuote(in); got != want {
			t.Errorf("%q becomes %s, want %s", in, got, want)
		}
	}
}

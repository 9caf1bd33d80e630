package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// strip takes the colours out that highlight puts in.
func strip(s string) string {
	return strings.NewReplacer(colComment, "", colString, "", colNumber, "", colWord, "", colHead, "", colOff, "").Replace(s)
}

// Colouring changes no text, whatever the file holds.
func TestHighlightKeepsTheText(t *testing.T) {
	names := []string{"a.py", "a.go", "a.js", "a.rs", "a.json", "a.md", "a.html", "a.sql", "a.diff", "Dockerfile", "Makefile", "a.yaml", "a.css", "a.lua", "a.c", "run"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z"'/*# \n0-9.\\x]{0,80}`)).Draw(t, "text")
		lines := textbox.Split(textbox.Plain(text))
		first := ""
		if len(lines) > 0 {
			first = lines[0]
		}
		lang, ok := languageOf(rapid.SampledFrom(names).Draw(t, "name"), first)
		if !ok {
			return
		}
		got := highlight(lines, lang)
		for i := range lines {
			if strip(got[i]) != lines[i] {
				t.Fatalf("%q became %q", lines[i], got[i])
			}
		}
	})
}

func TestHighlight(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"x.py", "def f(): # c", colWord + "def" + colOff + " f(): " + colComment + "# c" + colOff},
		{"x.go", `s := "a//b" + 12`, "s := " + colString + `"a//b"` + colOff + " + " + colNumber + "12" + colOff},
		{"x.py", "\"\"\"a\nreturn\n\"\"\"", colString + `"""` + colOff + colString + "a" + colOff + "\n" + colString + "return" + colOff + "\n" + colString + `"""` + colOff},
		{"x.c", "a /* b\n c */ return", "a " + colComment + "/*" + colOff + colComment + " b" + colOff + "\n" + colComment + " c */" + colOff + " " + colWord + "return" + colOff},
		{"run", "#!/usr/bin/env python3\nimport os", colComment + "#!/usr/bin/env python3" + colOff + "\n" + colWord + "import" + colOff + " os"},
		{"x.go", `"\"" x`, colString + `"\""` + colOff + " x"},
	} {
		lines := strings.Split(tt.text, "\n")
		lang, ok := languageOf(tt.name, lines[0])
		if !ok {
			t.Errorf("%s is not known", tt.name)
			continue
		}
		if d := cmp.Diff(tt.want, strings.Join(highlight(lines, lang), "\n")); d != "" {
			t.Errorf("%s %q: %s", tt.name, tt.text, d)
		}
	}
}

func TestHexLines(t *testing.T) {
	got := hexLines([]byte("\x89PNG\r\n\x1a\n0123456789"))
	want := []string{
		"00000000  89 50 4e 47 0d 0a 1a 0a  30 31 32 33 34 35 36 37  .PNG....01234567",
		"00000010  38 39                                             89",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := len(hexLines(make([]byte, 1<<20))); n != maxHex/16 {
		t.Errorf("%d lines", n)
	}
}

// A comparison gives back both texts: without the + lines the first, without the - lines the second.
func TestCompareLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 12)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		var left, right []string
		for _, e := range compareLines(a, b) {
			if e.op != '+' {
				left = append(left, e.text)
			}
			if e.op != '-' {
				right = append(right, e.text)
			}
		}
		if strings.Join(left, "") != strings.Join(a, "") || strings.Join(right, "") != strings.Join(b, "") {
			t.Fatalf("%v and %v gave %v and %v", a, b, left, right)
		}
	})
}

// evil is a provider whose one folder lists what it likes.
type evil struct {
	*fake.Provider
	names []client.Entry
}

func (p *evil) ReadDir(ctx context.Context, id client.ID, path string) ([]client.Entry, error) {
	if strings.HasSuffix(path, "/dl") {
		return p.names, nil
	}
	return p.Provider.ReadDir(ctx, id, path)
}

// FIL-06: a listing that wants to write elsewhere writes one file, in the folder.
func TestDownloadTreeStaysInItsFolder(t *testing.T) {
	data, err := os.ReadFile("testdata/evil-names.json")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		t.Fatal(err)
	}
	p := &evil{Provider: fake.New(fake.Options{})}
	id := p.Add(client.Sandbox{State: client.StateRunning})[0]
	t.Cleanup(p.Close)
	put := func(path string) {
		if _, err := p.Put(context.Background(), id, path, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	put("dl/ok.txt")
	for _, n := range names {
		p.names = append(p.names, client.Entry{Name: n, Type: client.FileRegular, Size: 1})
	}
	p.names = append(p.names,
		client.Entry{Name: "up", Type: client.FileDir, LinkTarget: ".."},
		client.Entry{Name: "pipe", Type: client.FileOther},
		client.Entry{Name: "ok.txt", Type: client.FileRegular, Size: 1})
	outside := t.TempDir()
	to := filepath.Join(outside, "in", "dl")
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	tr := &transfer{key: present.Key{ID: id}, fs: p, from: "/home/user/dl", to: to, name: "dl"}
	if err := tr.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var found []string
	if err := filepath.Walk(outside, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			rel, _ := filepath.Rel(outside, path)
			found = append(found, rel)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{filepath.Join("in", "dl", "ok.txt")}, found); d != "" {
		t.Error(d)
	}
	if want := len(names) + 2; len(tr.copy.skipped) != want {
		t.Errorf("%d left out, want %d: %q", len(tr.copy.skipped), want, tr.copy.skipped)
	}
}

func TestPlainName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./\\a]{0,6}`)).Draw(t, "name")
		if !plainName(name) {
			return
		}
		root := filepath.Join("some", "where")
		if got := filepath.Join(root, name); filepath.Dir(got) != root {
			t.Fatalf("%q leads to %q", name, got)
		}
	})
}

// A download never replaces what is there, not even what appeared meanwhile.
func TestPlaceKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	part, to := filepath.Join(dir, "part"), filepath.Join(dir, "to")
	for path, text := range map[string]string{part: "new", to: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := place(part, to); err == nil {
		t.Error("no error")
	}
	if got, _ := os.ReadFile(to); string(got) != "old" {
		t.Errorf("it holds %q", got)
	}
}

func TestSpeed(t *testing.T) {
	var s speed
	at := time.Unix(100, 0)
	for i := range 10 {
		s.sample(int64(i)*1000, at.Add(time.Duration(i)*time.Second))
	}
	if s.value < 990 || s.value > 1010 {
		t.Errorf("%f bytes per second, want 1000", s.value)
	}
	s.sample(0, at.Add(11*time.Second))
	if s.value < 0 {
		t.Errorf("negative: %f", s.value)
	}
}

func FuzzHighlight(f *testing.F) {
	f.Add("x.go", "a /* \"b\n*/ `c\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		lines := textbox.Split(textbox.Plain(text))
		if lang, ok := languageOf(name, ""); ok {
			for i, s := range highlight(lines, lang) {
				if strip(s) != lines[i] {
					t.Fatalf("%q became %q", lines[i], s)
				}
			}
		}
	})
}

func BenchmarkHighlight(b *testing.B) {
	text := strings.Repeat("func (s *Screen) Draw(a, b int) { return \"text\" + 12 } // and so on\n", maxPreview/68)
	lines := textbox.Split(text)
	lang, _ := languageOf("x.go", "")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		highlight(lines, lang)
	}
}

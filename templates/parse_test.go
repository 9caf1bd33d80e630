package templates

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// short words problems as "severity rule line:column", for tables.
func short(ps Problems) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s %s %d:%d", p.Severity, p.Rule, p.Line, p.Column))
	}
	return out
}

func caseFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseForm(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"fine", "name: demo\n", nil},
		{"tabs TPL-01", string(caseFile(t, "tabs.yaml")), []string{"error tab 3:1", "error tab 4:1"}},
		{"empty", "", []string{"error empty 1:0"}},
		{"only a comment", "# nothing\n", []string{"error empty 1:0"}},
		{"a list", "- a\n", []string{"error type 1:1"}},
		{"a word", "demo\n", []string{"error type 1:1"}},
		{"null", "~\n", []string{"error type 1:1"}},
		{"two documents", "name: a\n---\nname: b\n", []string{"error documents 2:1"}},
		{"utf-16", "\xff\xfen\x00a\x00", []string{"error encoding 1:1"}},
		{"bom", "\xef\xbb\xbfname: demo\n", []string{"warning encoding 1:1"}},
		{"latin-1", "name: demo\ndescription: caf\xe9\n", []string{"error encoding 2:17"}},
		{"nul", "name: de\x00mo\n", []string{"error encoding 1:9"}},
		{"crlf", "name: demo\r\nversion: \"1\"\r\n", nil},
		{"bomb", bomb, []string{"error anchors 1:5"}},
		{"merge key", "x: &x {cpu: 4}\nname: demo\nresources:\n  <<: *x\n  memory: 512\n", []string{"warning unknown-key 1:1"}},
		{"own tag", "name: !mine demo\n", []string{"error tag 1:7"}},
		{"python tag", "name: !!python/object:os.system demo\n", []string{"error tag 1:7"}},
		{"key is a list", "name: a\n? [a]\n: b\n", []string{"error type 2:3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, ps := Parse(FileTemplate, []byte(tc.in))
			got := short(ps)
			if tc.name == "bomb" && len(got) == 1 {
				got = []string{"error anchors 1:5"} // where it overflows does not matter
			}
			if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSyntaxHasALine(t *testing.T) {
	_, ps := Parse(FileTemplate, []byte("name: demo\nports: [1, 2\nx: y\n"))
	if len(ps) != 1 || ps[0].Rule != "syntax" || ps[0].Line < 2 || ps[0].Excerpt == "" {
		t.Fatalf("got %+v", ps)
	}
}

func TestTabIsNamed(t *testing.T) {
	_, ps := Parse("template.yaml", caseFile(t, "tabs.yaml"))
	if s := ps[0].String(); !strings.HasPrefix(s, "template.yaml:3:1:") || !strings.Contains(s, "tab") {
		t.Errorf("got %q", s)
	}
}

func TestDuplicateKeyNamesBothLines(t *testing.T) {
	_, ps := Parse(FileTemplate, caseFile(t, "dup-keys.yaml"))
	if len(ps) != 1 || ps[0].Severity != SeverityError || !strings.Contains(ps[0].Message, `"workdir"`) ||
		!strings.Contains(ps[0].Message, "lines 2 and 5") {
		t.Errorf("got %v", ps)
	}
}

// TPL-03: text keeps its source text.
func TestTextKeepsItsSource(t *testing.T) {
	tpl, ps := Parse(FileTemplate, caseFile(t, "version.yaml"))
	if tpl == nil {
		t.Fatal(ps)
	}
	got := []string{tpl.Version, tpl.Description, tpl.User, tpl.BaseImage}
	if diff := cmp.Diff([]string{"1.10", "0123", "5319e7", "3.20"}, got); diff != "" {
		t.Error(diff)
	}
	if ps.Failed() || len(ps) < 3 || !strings.Contains(ps[0].Hint, `"1.10"`) {
		t.Errorf("problems: %v", ps)
	}
	tpl, ps = Parse(FileTemplate, []byte("name: on\nuser: no\nversion: 2026-01-02\n"))
	if got := []string{tpl.Name, tpl.User, tpl.Version}; cmp.Diff([]string{"on", "no", "2026-01-02"}, got) != "" || len(ps) != 3 {
		t.Errorf("got %q, %v", got, ps)
	}
}

// TPL-04: all of it at once, each with its line.
func TestEverythingAtOnce(t *testing.T) {
	tpl, ps := Parse(FileTemplate, caseFile(t, "unknown-and-types.yaml"))
	ps = append(ps, tpl.Check(NewTarget("", "", nil), Surroundings{})...).sorted()
	want := []string{
		"warning unknown-key 2:1", "error type 4:8", "error type 5:8", "error capability 6:23",
		"error custom-commands 7:18", "warning server-block 8:9",
	}
	if diff := cmp.Diff(want, short(ps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ps[0].Hint != "did you mean ports?" {
		t.Errorf("hint %q", ps[0].Hint)
	}
	for _, p := range ps {
		if p.Code != "E2004" {
			t.Errorf("%v has code %s", p, p.Code)
		}
	}
	out, err := tpl.YAML()
	if err != nil || !strings.Contains(string(out), "portz: [8080]") {
		t.Errorf("saved: %v\n%s", err, out)
	}
}

func TestTypes(t *testing.T) {
	for in, want := range map[string]string{
		"ports: [0x2328]":                   "error type",
		"ports: [9_000]":                    "error type",
		"ports: [010]":                      "error type",
		`ports: ["9000"]`:                   "error type",
		"ports: [70000]":                    "error port",
		"ports: [9000.0]":                   "error type",
		"resources: {cpu: .inf}":            "error type",
		"resources: {memory: 1.5}":          "error type",
		"resources: [1]":                    "error type",
		"capabilities: shell":               "error type",
		"env: [A=b]":                        "error type",
		"name:":                             "error type",
		"name: [a]":                         "error type",
		"generation: two":                   "error type",
		"resources: {memroy: 2}":            "warning unknown-key",
		"system_packages: git":              "error type",
		"copy_files: {a: [b]}":              "error type",
		"description: {a: b}":               "error type",
		"resources:\n  cpu_count: 2\n":      "",
		"base: {image: python}":             "",
		"capabilities: [shell, *x]":         "error syntax",
		"capabilities: [\"shell\", 'code']": "",
	} {
		_, ps := Parse(FileTemplate, []byte(in))
		got := ""
		if len(ps) > 0 {
			got = string(ps[0].Severity) + " " + ps[0].Rule
		}
		if got != want || len(ps) > 1 {
			t.Errorf("%q: got %v, want %q", in, ps, want)
		}
	}
}

func TestCaretStandsUnderThePlace(t *testing.T) {
	_, ps := Parse(FileTemplate, []byte("description: \"ä\"\nports: [1, \"ö\u202e\", x]\n"))
	if len(ps) == 0 {
		t.Fatal("no problem")
	}
	tpl := ps[len(ps)-1]
	caret := tpl.Caret()
	if caret == nil || strings.ContainsRune(caret[0], 0x202e) {
		t.Fatalf("caret %q", caret)
	}
	at := len(caret[1]) - 1
	if []rune(caret[0])[at] != 'x' {
		t.Errorf("the mark is under %q:\n%s\n%s", []rune(caret[0])[at], caret[0], caret[1])
	}
}

func TestSetStringKeepsTheRest(t *testing.T) {
	tpl, _ := Parse(FileTemplate, []byte("# top\nname: old # why\nportz: [1]\n"))
	tpl.SetString("name", "new")
	tpl.SetString("version", "1.10")
	out, err := tpl.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# top", `name: "new" # why`, "portz: [1]", `version: "1.10"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"tabs.yaml", "dup-keys.yaml", "version.yaml", "unknown-and-types.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "cases", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("a: &a [*a]\n<<: *a"))
	f.Add([]byte("? {a: b}\n: c"))
	f.Add([]byte("name: \"\\u202e\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tpl, ps := Parse(FileTemplate, data)
		if tpl == nil && !ps.Failed() {
			t.Fatal("no template and no error")
		}
		if tpl != nil {
			ps = append(ps, tpl.Check(NewTarget("", "", nil), Surroundings{Dockerfile: true})...)
			if _, err := tpl.YAML(); err != nil && !ps.Failed() {
				t.Fatalf("cannot be saved: %v", err)
			}
		}
		checkClean(t, ps)
	})
}

// checkClean holds that no problem carries anything a terminal could obey.
func checkClean(t *testing.T, ps Problems) {
	t.Helper()
	for _, p := range ps {
		for _, text := range []string{p.Message, p.Hint, p.Excerpt, p.String()} {
			for _, r := range text {
				if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 {
					t.Fatalf("control character %#x in %q", r, text)
				}
			}
		}
		p.Caret()
	}
}

package client

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// CMD-03: a shell only for an unquoted pipe, redirect or `&&`.
func TestCommandLineCases(t *testing.T) {
	data, err := os.ReadFile("testdata/quoting.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows []struct {
			Line, Error string
			Shell       bool
			Argv        []string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Rows) < 16 {
		t.Fatalf("%d rows", len(file.Rows))
	}
	for _, row := range file.Rows {
		got, err := CommandLine(row.Line)
		switch {
		case row.Error != "":
			if err == nil || CodeOf(err) != CodeUsage || !strings.Contains(row.Error, "NUL") && !strings.Contains(err.Error(), row.Error) {
				t.Errorf("%q: %q, %v; want %s", row.Line, got, err, row.Error)
			}
		case err != nil:
			t.Errorf("%q: %v", row.Line, err)
		case row.Shell:
			if d := cmp.Diff([]string{"sh", "-c", row.Line}, got); d != "" {
				t.Error(d)
			}
		case row.Argv != nil:
			if d := cmp.Diff(row.Argv, got); d != "" {
				t.Error(d)
			}
		case got[0] == "sh" && got[2] == row.Line:
			t.Errorf("%q got a shell of ours", row.Line)
		}
	}
}

func TestCommandLineMore(t *testing.T) {
	for line, want := range map[string][]string{
		`a;b`:           {"a;b"},
		`a & b`:         {"a", "&", "b"},
		`a ''`:          {"a", ""},
		`a\ b`:          {"a b"},
		`"a\nb" 'c\d'`:  {`a\nb`, `c\d`},
		`"a\"b\\c"`:     {`a"b\c`},
		"a\tb\n c":      {"a", "b", "c"},
		`x"y"'z'`:       {"xyz"},
		`sort < in`:     {"sh", "-c", "sort < in"},
		`a || b`:        {"sh", "-c", "a || b"},
		`echo "a" \> b`: {"echo", "a", ">", "b"},
		`日本 "語 |"`:      {"日本", "語 |"},
	} {
		got, err := CommandLine(line)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", line, err, d)
		}
	}
	if _, err := CommandLine(`a\`); CodeOf(err) != CodeUsage {
		t.Errorf("a lone backslash: %v", err)
	}
}

// Quoted arguments come back exactly, whatever they hold.
func TestCommandLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[^\x00]{0,12}`), 1, 5).Draw(t, "argv")
		got, err := CommandLine(ShellJoin(want))
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("%v %s", err, d)
		}
	})
}

// Whatever the line: no panic, no empty command, and a shell only for a line
// that holds a pipe, a redirect or `&&`.
func FuzzCommandLine(f *testing.F) {
	for _, s := range []string{"", "a b", `a "b c" 'd'`, "a | b", `a \| b`, "a && b", "a & b", `"a`, `a\`, "a\x00b", "a > b", `"a > b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv, err := CommandLine(line)
		if err != nil {
			if CodeOf(err) != CodeUsage || argv != nil {
				t.Fatalf("%q: %q, %v", line, argv, err)
			}
			return
		}
		if len(argv) == 0 {
			t.Fatalf("%q: nothing to run", line)
		}
		shell := len(argv) == 3 && argv[0] == "sh" && argv[1] == "-c" && argv[2] == line
		if shell && !strings.ContainsAny(line, "|<>") && !strings.Contains(line, "&&") {
			t.Fatalf("%q got a shell", line)
		}
	})
}

func TestShellJoin(t *testing.T) {
	for want, argv := range map[string][]string{
		"echo a=b x/y":            {"echo", "a=b", "x/y"},
		"'a=b' c=d":               {"a=b", "c=d"},
		`'' 'a b' 'it'\''s' '$x'`: {"", "a b", "it's", "$x"},
	} {
		if got := ShellJoin(argv); got != want {
			t.Errorf("%q becomes %s, want %s", argv, got, want)
		}
	}
}

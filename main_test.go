package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// pkg is what `go list -json` says about one package.
type pkg struct {
	ImportPath   string
	Deps         []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// arrow is one forbidden direction: a package under from may not depend on one under to.
type arrow struct {
	from, to string
	// except lists packages below `to` that are allowed.
	except []string
	why    string
}

// arrows are the import rules of docs/architecture.md.
var arrows = []arrow{
	{"abxdash/client", "charm.land/", nil, "the client must be usable without a terminal"},
	{"abxdash/client", "abxdash/ui", nil, "the client knows no screens"},
	{"abxdash/client", "abxdash/views", nil, "the client knows no screens"},
	{"abxdash/templates", "charm.land/", nil, "templates must be usable without a terminal"},
	{"abxdash/templates", "abxdash/ui", nil, "templates know no screens"},
	{"abxdash/templates", "abxdash/views", nil, "templates know no screens"},
	{"abxdash/ui", "abxdash/client", nil, "widgets know nothing about sandboxes"},
	{"abxdash/ui", "abxdash/views", nil, "the shell is handed its screens"},
	{"abxdash/keymap", "abxdash/", []string{"abxdash/keymap"}, "keymap stands at the bottom"},
	{"abxdash/theme", "abxdash/", []string{"abxdash/theme"}, "theme stands at the bottom"},
	// Bubble Tea v1 blocks the first frame on terminals that do not answer a colour query.
	{"abxdash", "github.com/charmbracelet/bubbletea", nil, "only version 2 (charm.land/bubbletea/v2)"},
	{"abxdash", "github.com/charmbracelet/bubbles", nil, "only version 2 (charm.land/bubbles/v2)"},
	{"abxdash", "github.com/charmbracelet/lipgloss", nil, "only version 2 (charm.land/lipgloss/v2)"},
}

func TestImportsPointOneWay(t *testing.T) {
	pkgs := listPackages(t)
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	for _, p := range pkgs {
		for _, a := range arrows {
			if !under(p.ImportPath, a.from) {
				continue
			}
			for _, d := range p.Deps {
				if under(d, a.to) && !underAny(d, a.except) {
					t.Errorf("%s depends on %s: %s", p.ImportPath, d, a.why)
				}
			}
		}
		checkView(t, p)
	}
}

// checkView holds the rules for screens: a view imports interfaces of the
// client only, and no other view but views/present. The commands in views/cli
// are handed their providers too.
func checkView(t *testing.T, p pkg) {
	t.Helper()
	if !under(p.ImportPath, "abxdash/views") {
		return
	}
	for _, d := range p.Imports {
		switch {
		case under(d, "abxdash/views/present"), d == p.ImportPath, under(d, p.ImportPath):
		case under(d, "abxdash/views"):
			t.Errorf("%s imports %s: views ask for one another by message", p.ImportPath, d)
		case under(d, "abxdash/client") && d != "abxdash/client" && d != "abxdash/client/stream":
			t.Errorf("%s imports %s: views see the client's interfaces only", p.ImportPath, d)
		}
	}
}

func under(path, prefix string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func underAny(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if under(path, p) {
			return true
		}
	}
	return false
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Deps,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

package registry

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/e2b"
	"abxdash/client/services"
)

// capabilityTable is the table of docs/providers.md, from the code.
func capabilityTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	list := services.BuiltIn()
	b.WriteString("| |")
	for _, s := range list {
		fmt.Fprintf(&b, " %s |", s.ID)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(list)) + "\n")
	o := Options{}
	for _, k := range client.AllCapabilities() {
		fmt.Fprintf(&b, "| `%s` |", k)
		for _, s := range list {
			caps := o.static(s)
			if s.Dialect == services.Local {
				p, err := NewLocal(config.Config{}, "test", nil)
				if err != nil {
					t.Fatal(err)
				}
				caps = p.Capabilities()
				p.Close()
			}
			mark := "–"
			if caps.Has(k) {
				mark = "yes"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// presetTable is the table of presets.
func presetTable() string {
	var b strings.Builder
	b.WriteString("| type | Service | Where | Needs |\n|---|---|---|---|\n")
	for _, s := range services.All() {
		if s.BuiltIn {
			continue
		}
		where := s.Domain
		if where == "" {
			where = s.APIURL
		}
		if where == "" {
			where = "your own address"
		} else {
			where = "`" + where + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.ID, s.Title, where, s.Needs)
	}
	return b.String()
}

func quirkList() string { return "`" + strings.Join(e2b.QuirkNames(), "`, `") + "`\n" }

// TestDocs keeps docs/providers.md at what the code says. UPDATE_DOCS=1 writes it.
func TestDocs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no local provider on windows")
	}
	t.Setenv("ABXDASH_HOME", t.TempDir())
	const file = "../../docs/providers.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, want := range map[string]string{"capabilities": capabilityTable(t), "presets": presetTable(), "quirks": quirkList()} {
		re := regexp.MustCompile(`(?s)(<!-- generated: ` + name + ` -->\n).*?(<!-- end -->)`)
		if !re.MatchString(text) {
			t.Fatalf("%s has no place for %s", file, name)
		}
		text = re.ReplaceAllStringFunc(text, func(old string) string {
			m := re.FindStringSubmatch(old)
			return m[1] + want + m[2]
		})
	}
	if text == string(data) {
		return
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what the code says; run UPDATE_DOCS=1 go test ./client/registry -run TestDocs", file)
}

// TestDocsNameEverySetting: every setting of an entry is explained.
func TestDocsNameEverySetting(t *testing.T) {
	data, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../config/provider.go")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, m := range regexp.MustCompile("yaml:\"([a-z_]+)\"").FindAllStringSubmatch(string(source), -1) {
		if !strings.Contains(string(data), "`"+m[1]+"`") {
			missing = append(missing, m[1])
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Errorf("docs/providers.md does not name %q", missing)
	}
}

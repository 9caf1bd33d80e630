package templates

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TPL-05
func TestReservedNames(t *testing.T) {
	names := strings.Split(strings.TrimRight(string(caseFile(t, "reserved-names.txt")), "\n"), "\n")
	if len(names) != 6 {
		t.Fatalf("%d names", len(names))
	}
	for i, name := range names {
		refused := i < 4
		want := map[bool]string{true: "openai-codex", false: "openclaw-agent"}[strings.Contains(strings.ToLower(name), "codex")]
		tpl, _ := Parse(FileTemplate, []byte("name: \""+name+"\"\n"))
		for what, ps := range map[string]Problems{
			"name":  tpl.Check(NewTarget("", "", nil), Surroundings{}),
			"alias": CheckNames(name, ""),
			"repo":  CheckNames("", name),
		} {
			if ps.Failed() != refused {
				t.Errorf("%s %q: %v", what, name, ps)
			}
			if refused && !strings.Contains(ps[0].Hint, want) {
				t.Errorf("%s %q: hint %q", what, name, ps[0].Hint)
			}
		}
	}
}

func TestReservedInAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"codex", "openclaw"}).Draw(t, "name")
		upper := rapid.SliceOfN(rapid.Bool(), len(name), len(name)).Draw(t, "upper")
		b := []byte(name)
		for i, u := range upper {
			if u {
				b[i] -= 'a' - 'A'
			}
		}
		blanks := rapid.StringMatching(`[ \t]{0,3}`)
		text := blanks.Draw(t, "before") + string(b) + rapid.SampledFrom([]string{"", ":latest"}).Draw(t, "tag") + blanks.Draw(t, "after")
		if Reserved(text) == "" {
			t.Fatalf("%q is free", text)
		}
		if Reserved(text+"-2") != "" && !strings.Contains(text, ":") && strings.TrimRight(text, " \t") == text {
			t.Fatalf("%q is reserved", text+"-2")
		}
	})
}

func TestRules(t *testing.T) {
	express, other := NewTarget("", "", nil), NewTarget("opensandbox", "", nil)
	for _, tc := range []struct {
		in     string
		target Target
		want   string // "" is none
	}{
		{"name: a", express, ""},
		{"version: \"1\"", express, "error name"},
		{"name: ' '", express, "error name"},
		{"name: Big_Name", express, "warning name"},
		{"name: a\nports: [9000, 49983]", express, "error reserved-port"},
		{"name: a\nports: [5000, 9000]", express, "error reserved-port"},
		{"name: a\nports: [9000, 49999]", other, "warning reserved-port"},
		{"name: a\nports: [8080]", express, "warning port"},
		{"name: a\nports: [9000, 9000]", express, "warning port"},
		{"name: a\ncapabilities: [shell, shell]", express, "warning capability"},
		{"name: a\ncapabilities: []", express, "warning capability"},
		{"name: a\ncapabilities: [Shell]", express, "error capability"},
		{"name: a\ngeneration: 3", express, "error generation"},
		{"name: a\nresources: {cpu: 3}", express, "warning size"},
		{"name: a\nresources: {cpu: -1}", express, "error size"},
		{"name: a\nresources: {memory: 64}", express, "error size"},
		{"name: a\nworkdir: app", express, "warning workdir"},
		{"name: a\nbase: python", express, "info not-a-build-input"},
		{"name: a\nserver: {groups: [dev_tools]}", express, "warning server-block"},
		{"name: a\ncopy_files: {../x: /y}", express, "error copy-files"},
		{"name: a\nenv: {API_TOKEN: abcdef}", express, "error secret"},
		{"name: a\nenv: {API_TOKEN: REPLACE_ME}", express, ""},
		{"name: a\nenv: {E2B_API_URL: x}", express, "error foreign-variable"},
		{"name: a\nenv: {PUBLIC_KEY_FILE: /x}", express, ""},
		{"name: a\nfoo: sk-abcdefghijklmnop0123456789", express, "error secret"},
	} {
		tpl, _ := Parse(FileTemplate, []byte(tc.in))
		ps := tpl.Check(tc.target, Surroundings{Dockerfile: true})
		got := ""
		if len(ps) > 0 {
			got = string(ps[0].Severity) + " " + ps[0].Rule
		}
		if got != tc.want || len(ps) > 1 {
			t.Errorf("%q for %s: got %v, want %q", tc.in, tc.target.Provider, ps, tc.want)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	const secret = "LTAI5tABCDEFGH0123456789"
	tpl, _ := Parse(FileTemplate, []byte("name: a\nenv:\n  X: "+secret+"\n"))
	_, docker := LintDockerfile(FileDockerfile, []byte("FROM a\nENV API_KEY="+secret+"\n"), NewTarget("e2b", "", nil), false)
	ps := append(tpl.Check(NewTarget("", "", nil), Surroundings{}), docker...)
	if !ps.Failed() {
		t.Fatal("not found")
	}
	for _, p := range ps {
		if strings.Contains(p.String()+p.Excerpt+p.Hint, secret) {
			t.Errorf("shown in %+v", p)
		}
	}
}

func TestSecretPairs(t *testing.T) {
	for pair, want := range map[string]bool{
		"API_KEY=abc": true, "DB_PASSWORD=1234": true, "GITHUB_TOKEN=x": true, "aws_secret_access_key=x": true, "DASHSCOPE_API_KEY=x": true,
		"MAX_TOKENS=4096": false, "TOKEN_LIMIT=4096": false, "CACHE_KEY=v1": false, "API_KEY_FILE=/run/k": false, "API_KEY=": false,
		"API_KEY=REPLACE_ME": false, "API_KEY=$KEY": false, "TOKENIZERS_PARALLELISM=x": false, "SSH_PUBLIC_KEY=x": false, "KEYBOARD=us": false,
	} {
		name, value, _ := strings.Cut(pair, "=")
		if got := secretPair(name, value); got != want {
			t.Errorf("%s: %v", pair, got)
		}
	}
}

func TestSecretText(t *testing.T) {
	for text, want := range map[string]bool{
		"-----BEGIN OPENSSH PRIVATE KEY-----":                    true,
		"https://user:hunter22@example.com/x":                    true,
		"https://user:$PASS@example.com/x":                       false,
		"https://example.com:443/a@b":                            false,
		"pip install scikit-learn sk-learn-contrib-something-ok": false,
		"ghp_0123456789abcdefghijABCDEFGHIJ":                     true,
		"task-0123456789abcdefghij0123":                          false,
		"e2b_0123456789abcdef0123":                               true,
	} {
		if got := SecretText(text) != ""; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestBaseTagOverride(t *testing.T) {
	target := NewTarget("", "cn-beijing", func(k string) string {
		if k == "ABX_BASE_IMAGE_TAG" {
			return " v0.0.52 "
		}
		return ""
	})
	if got, want := target.BaseImage(), "fc-e2b-registry.cn-beijing.cr.aliyuncs.com/runtime/base:v0.0.52"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := NewTarget("", "", nil).BaseImage(), "fc-e2b-registry.cn-hangzhou.cr.aliyuncs.com/runtime/base:v0.0.49"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestPluginBase(t *testing.T) {
	target := NewTarget("my-cloud", "", nil)
	target.Base = "registry.test/base:v1"
	if got := target.BaseImage(); got != target.Base {
		t.Errorf("got %s", got)
	}
	lint := func(from string) string {
		_, ps := LintDockerfile("Dockerfile", []byte("FROM "+from+"\nEXPOSE 9000\nWORKDIR /app\nCOPY commands.py ./\nCMD [\"python3\", \"commands.py\"]\n"), target, true)
		var out []string
		for _, p := range ps {
			out = append(out, p.Rule)
		}
		return strings.Join(out, " ")
	}
	if got := lint("registry.test/base:v1"); strings.Contains(got, "base-image") {
		t.Errorf("its own base: %s", got)
	}
	if got := lint("python:3.12-slim"); !strings.Contains(got, "base-image") {
		t.Errorf("another base: %s", got)
	}
	express := NewTarget("", "", nil)
	express.Base = "registry.test/base:v1"
	if got := express.BaseImage(); strings.Contains(got, "registry.test") {
		t.Errorf("Express builds on %s", got)
	}
}

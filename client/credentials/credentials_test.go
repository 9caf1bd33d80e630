package credentials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"abxdash/client"
)

const key = "abxtest_0000000000000000000000000000deadbeef"

// values scans a file of the test data and returns the texts and the words of what was odd.
func values(t *testing.T, name string) (map[string]string, []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return scanText(name, string(data))
}

func scanText(name, text string) (map[string]string, []string) {
	vars, problems := scan(name, []byte(text))
	got := map[string]string{}
	for k, e := range vars {
		got[k] = e.text
	}
	var words []string
	for _, p := range problems {
		words = append(words, p.String())
	}
	return got, words
}

func TestScanCaseFiles(t *testing.T) {
	var hash map[string]string
	data, err := os.ReadFile("testdata/hash.expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &hash); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct { // AUT-03 to AUT-07
		want  map[string]string
		words []string
	}{
		"bom-crlf.env": {want: map[string]string{"ABX_SANDBOX_API_KEY": key, "ABX_SANDBOX_DOMAIN": "sandbox.test"}},
		"hash.env":     {want: hash},
		"dollar.env": {
			want: map[string]string{"P1": "pa$$Wd$X9", "P2": "ab$NOPE9cd", "P3": "xzzy", "HOSTPART": "zz", "P4": "$keep"},
			words: []string{
				`dollar.env:2:4: P2 holds a $ with a name that this file does not define; it is kept as it is (write \$ or use single quotes)`,
			},
		},
		"broken.env": {
			want:  map[string]string{"FINE": "1", "ABX_SANDBOX_API_KEY": key},
			words: []string{"broken.env:2:7: only letters, digits and _ may stand before ="},
		},
		"export-quotes.env": {
			want: map[string]string{"ABX_SANDBOX_API_KEY": key, "ABX_SANDBOX_DOMAIN": "second.test", "EMPTY": ""},
			words: []string{
				"export-quotes.env:3: ABX_SANDBOX_DOMAIN is set on lines 2 and 3; line 3 counts",
				"export-quotes.env:4:9: there is no = on this line",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, words := values(t, name)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.words, words); d != "" {
				t.Error(d)
			}
			for _, w := range words {
				if strings.Contains(w, "hush") || strings.Contains(w, "beef") || strings.Contains(w, "NOPE") {
					t.Errorf("%q holds a part of a value", w)
				}
			}
		})
	}
}

func TestScanLines(t *testing.T) {
	for text, c := range map[string]struct {
		want  map[string]string
		words []string
	}{
		"A='x'":                 {want: map[string]string{"A": "x"}},
		"  A = x y  # c":        {want: map[string]string{"A": "x y"}},
		"exporter=1":            {want: map[string]string{"exporter": "1"}},
		"A=\"l1\nl2\" # c\nB=2": {want: map[string]string{"A": "l1\nl2", "B": "2"}},
		`A="a\"b\\c\nd\te"`:     {want: map[string]string{"A": "a\"b\\c\nd\\te"}},
		`A=C:\new\$x`:           {want: map[string]string{"A": `C:\new$x`}},
		`A=it's`:                {want: map[string]string{"A": "it's"}},
		`A="tail\\"`:            {words: []string{"f:1:3: the value of A mixes quotes and backslashes in a way that cannot be read safely"}, want: map[string]string{}},
		"A=$A":                  {want: map[string]string{"A": "$A"}, words: []string{`f:1:3: A holds a $ with a name that this file does not define; it is kept as it is (write \$ or use single quotes)`}},
		"A=${B}\nB=${A}1":       {want: map[string]string{"A": "${A}1", "B": "${B}1"}},
		"A='x' y":               {want: map[string]string{}, words: []string{"f:1:6: there is text after the closing quote"}},
		"A=\"x\nB=2":            {want: map[string]string{"B": "2"}, words: []string{"f:1:3: the quote is not closed"}},
		"A='x\ny' z\nC=1":       {want: map[string]string{"C": "1"}, words: []string{"f:1:3: the quote is not closed on this line", "f:2:2: only letters, digits and _ may stand before ="}},
		"=x":                    {want: map[string]string{}, words: []string{"f:1:1: a name must begin with a letter or _"}},
		"ä=x":                   {want: map[string]string{}, words: []string{"f:1:1: a name must begin with a letter or _"}},
		"A=1\nA=":               {want: map[string]string{"A": "1"}, words: []string{"f:2: A is set on lines 1 and 2; line 1 counts"}},
		"E2B_API_KEY=s\nSANDBOX_X=s\nA=${E2B_API_KEY}": {
			want:  map[string]string{"A": "${E2B_API_KEY}"},
			words: []string{`f:3:3: A holds a $ with a name that this file does not define; it is kept as it is (write \$ or use single quotes)`},
		},
		"# only\n\n": {want: map[string]string{}},
	} {
		t.Run(text, func(t *testing.T) {
			got, words := scanText("f", text)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.words, words); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever is written in single quotes comes back exactly, or is refused; it is never shortened.
func TestScanNeverShortens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -&(-~ä価]{0,30}`).Draw(t, "text")
		got, words := scanText("f", "A='"+text+"'")
		if v, ok := got["A"]; ok && v != text {
			t.Fatalf("%q became %q", text, v)
		} else if !ok && len(words) == 0 {
			t.Fatalf("%q vanished silently", text)
		}
	})
}

func FuzzScan(f *testing.F) {
	for _, name := range []string{"bom-crlf.env", "broken.env", "dollar.env", "export-quotes.env", "hash.env"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		vars, problems := scan("f", []byte(text))
		for name := range vars {
			if forbidden(name) {
				t.Errorf("%s was kept", name)
			}
		}
		for _, p := range problems {
			if p.Line < 1 || strings.ContainsAny(p.String(), "\n\x1b") {
				t.Errorf("problem %+v", p)
			}
		}
	})
}

// load writes the two files and returns a set over them and the given process environment.
func load(t *testing.T, project, homeFile string, env, flags map[string]string) *Set {
	t.Helper()
	opts := Options{Flags: flags, LookupEnv: func(name string) (string, bool) {
		if forbidden(name) {
			t.Errorf("%s was looked up", name)
		}
		v, ok := env[name]
		return v, ok
	}}
	dir := t.TempDir()
	for _, f := range []struct {
		to   *string
		name string
		text string
	}{{&opts.ProjectFile, "project.env", project}, {&opts.HomeFile, "home.env", homeFile}} {
		*f.to = filepath.Join(dir, f.name)
		if f.text == "" {
			continue
		}
		if err := os.WriteFile(*f.to, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(opts)
}

// AUT-07: argument, process, ./.env, ~/.abx/.env; blank never counts.
func TestOrder(t *testing.T) {
	const name = "ABX_SANDBOX_API_KEY"
	flags, env := map[string]string{name: "f"}, map[string]string{name: "e"}
	blank := map[string]string{name: " \t"}
	for what, c := range map[string]struct {
		project, home string
		env, flags    map[string]string
		want          string
		kind          Kind
	}{
		"all":               {name + "=p", name + "=h", env, flags, "f", FromFlag},
		"no flag":           {name + "=p", name + "=h", env, nil, "e", FromProcess},
		"blank flag":        {name + "=p", name + "=h", env, blank, "e", FromProcess},
		"blank process":     {name + "=p", name + "=h", blank, nil, "p", FromProject},
		"blank in project":  {name + "=''", name + "=h", nil, nil, "h", FromHome},
		"nothing":           {"", "", nil, nil, "", FromNowhere},
		"project file only": {name + "=p", "", nil, nil, "p", FromProject},
	} {
		t.Run(what, func(t *testing.T) {
			v, err := load(t, c.project, c.home, c.env, c.flags).Lookup(name)
			if err != nil || v.Reveal() != c.want || v.Source.Kind != c.kind {
				t.Errorf("%s (%v), %v; want %q", v.Reveal(), v, err, c.want)
			}
		})
	}
}

// AUT-02: outer blanks go with a note, inner ones are refused by place.
func TestOddCharacters(t *testing.T) {
	const name = "ABX_SANDBOX_API_KEY"
	s := load(t, "", "", map[string]string{name: " \t" + key + "\r\n"}, nil)
	for range 2 {
		if v, err := s.Lookup(name); err != nil || v.Reveal() != key {
			t.Fatalf("%v, %v", v, err)
		}
	}
	if len(s.Problems()) != 1 || !s.Problems()[0].Warning || strings.Contains(s.Problems()[0].String(), "beef") {
		t.Errorf("notes: %v", s.Problems())
	}
	for value, want := range map[string]string{
		key[:5] + "\n" + key[5:]: "character 6 of the value from the process environment is U+000A",
		key[:5] + "\u00a0x":      "character 6",
		"a\x1b[31m" + key:        "U+001B",
		"ä\u202e" + key:          "character 2",
	} {
		s := load(t, "", "", map[string]string{name: value}, nil)
		_, err := s.Lookup(name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "beef") {
			t.Errorf("%q: %v", value, err)
		}
		if _, err := s.Account(Express); err == nil {
			t.Errorf("%q gave an account", value)
		}
	}
}

// AUT-01 and AUT-09.
func TestAccountErrors(t *testing.T) {
	for what, c := range map[string]struct {
		provider string
		env      map[string]string
		code     client.Code
		says     []string
	}{
		"no key":             {Express, nil, client.CodeAuthMissing, []string{"ABX_SANDBOX_API_KEY", "ALICLOUD_ACCESS_KEY_ID", "project.env", "home.env"}},
		"foreign key":        {Express, map[string]string{"E2B_API_KEY": "x"}, client.CodeAuthMissing, []string{"ABX_SANDBOX_API_KEY"}},
		"other provider":     {"e2b", map[string]string{"ABX_SANDBOX_API_KEY": "x"}, client.CodeAuthMissing, []string{"ABX_E2B_API_KEY"}},
		"dashes":             {"my-own", nil, client.CodeAuthMissing, []string{"ABX_MY_OWN_API_KEY"}},
		"half a pair":        {Express, map[string]string{"ALICLOUD_ACCESS_KEY_ID": "x"}, client.CodeAuthAKSK, []string{"ALICLOUD_ACCESS_KEY_SECRET is not"}},
		"the other half":     {Express, map[string]string{"ALICLOUD_ACCESS_KEY_SECRET": "x"}, client.CodeAuthAKSK, []string{"ALICLOUD_ACCESS_KEY_ID is not"}},
		"opensandbox no key": {"opensandbox", nil, client.CodeAuthMissing, []string{"ABX_OPENSANDBOX_API_KEY or OPEN_SANDBOX_API_KEY"}},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := load(t, "", "", c.env, nil).Account(c.provider)
			if client.CodeOf(err) != c.code || !errors.Is(err, client.ErrUnauthorized) || client.HintOf(err) == "" {
				t.Errorf("%v (%s)", err, client.CodeOf(err))
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestAccounts(t *testing.T) {
	s := load(t, "", "", map[string]string{
		"ABX_SANDBOX_API_KEY": key, "ABX_SANDBOX_REGION": "r1", "ABX_E2B_API_KEY": "sk_e2b_x", "OPEN_SANDBOX_API_KEY": "o",
		"ABX_SELF_HOSTED_API_KEY": "plain", "ABX_SELF_HOSTED_API_URL": "https://c.test", "ALICLOUD_ACCESS_KEY_ID": "half",
	}, nil)
	express, err := s.Account(Express)
	if err != nil || express.Key.Reveal() != key || express.RegionName.Reveal() != "r1" || express.AccessKeyID.Set() {
		t.Errorf("%+v, %v", express, err)
	}
	e2b, err := s.Account("e2b")
	if err != nil || !strings.Contains(e2b.Hint, "access token") {
		t.Errorf("%+v, %v", e2b, err)
	}
	own, err := s.Account("self-hosted")
	if err != nil || own.Hint != "" || own.Key.Reveal() != "plain" || own.APIURL.Reveal() != "https://c.test" {
		t.Errorf("%+v, %v", own, err)
	}
	if !s.Has("opensandbox") || s.Has("cubesandbox") {
		t.Error("Has is wrong")
	}
}

// A cloned repository must not receive the key of the user's own file.
func TestProjectAddressNeedsProjectKey(t *testing.T) {
	const domain = "ABX_SANDBOX_DOMAIN=evil.test"
	keyLine := "ABX_SANDBOX_API_KEY=" + key
	for what, c := range map[string]struct {
		project, home string
		env, flags    map[string]string
		ok            bool
	}{
		"key of the home file":   {domain, keyLine, nil, nil, false},
		"key of the process":     {domain, "", map[string]string{"ABX_SANDBOX_API_KEY": key}, nil, false},
		"key in the same file":   {domain + "\n" + keyLine, "", nil, nil, true},
		"key as a flag":          {domain, "", nil, map[string]string{"ABX_SANDBOX_API_KEY": key}, true},
		"address of the process": {"", keyLine, map[string]string{"ABX_SANDBOX_DOMAIN": "d.test"}, nil, true},
		"address at home":        {keyLine, domain, nil, nil, true},
		"pair of the process":    {"ABX_SANDBOX_API_URL=https://evil.test", "", map[string]string{"ALICLOUD_ACCESS_KEY_ID": "a", "ALICLOUD_ACCESS_KEY_SECRET": "b"}, nil, false},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := load(t, c.project, c.home, c.env, c.flags).Account(Express)
			if (err == nil) != c.ok {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				return
			}
			if client.CodeOf(err) != client.CodeConfig || !strings.Contains(err.Error(), "project.env line 1") || strings.Contains(err.Error(), "beef") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestValuesDoNotPrint(t *testing.T) {
	a, err := load(t, "", "", map[string]string{"ABX_SANDBOX_API_KEY": key}, nil).Account(Express)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", a.Key, "account", a)
	all := fmt.Sprintf("%v %+v %#v %s %q %v", a, a, a, a.Key, a.Key, &a) + log.String()
	if strings.Contains(all, "beef") || strings.Contains(all, key[:12]) {
		t.Errorf("a key was printed: %s", all)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	s := Load(Options{ProjectFile: dir, HomeFile: filepath.Join(dir, "none")})
	if len(s.Problems()) != 1 || !strings.Contains(s.Problems()[0].String(), "not an environment file") {
		t.Errorf("%v", s.Problems())
	}
}

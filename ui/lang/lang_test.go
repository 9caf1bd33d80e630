package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func load(t *testing.T, name string) *Catalog {
	t.Helper()
	c, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnglishIsWhatTheCodeSays(t *testing.T) {
	for _, c := range []*Catalog{nil, load(t, "en"), load(t, "en_US.UTF-8")} {
		if got := c.T("created %s on %s, TTL %s", "a", "b", "1h"); got != "created a on b, TTL 1h" {
			t.Errorf("T: %q", got)
		}
		for n, want := range map[int]string{0: "Kill 0 sandboxes", 1: "Kill 1 sandbox", 2: "Kill 2 sandboxes"} {
			if got := c.N(n, "Kill %d sandbox", "Kill %d sandboxes", n); got != want {
				t.Errorf("N(%d): %q", n, got)
			}
		}
		if c.Name() != English || c.Word("running") != "running" || Mark("x") != "x" {
			t.Error("words are changed in English")
		}
	}
}

func TestChinese(t *testing.T) {
	c := load(t, "zh-CN")
	if c.Name() != Chinese {
		t.Errorf("it is called %q", c.Name())
	}
	for _, n := range []int{1, 3} {
		if got, want := c.N(n, "Kill %d sandbox", "Kill %d sandboxes", n), fmt.Sprintf("终止 %d 个沙箱", n); got != want {
			t.Errorf("N(%d): %q", n, got)
		}
	}
	// The order of arguments is the translation's.
	if got := c.T("created %s on %s, TTL %s", "web", "local", "1h"); got != "已在 local 上创建 web，剩余 1h" {
		t.Errorf("T: %q", got)
	}
	if got := c.Word("hibernating"); got != "hibernating" {
		t.Errorf("a word nobody knows becomes %q", got)
	}
	if got := c.T("no such %s", "text"); got != "no such text" {
		t.Errorf("a text without a translation becomes %q", got)
	}
}

func TestErr(t *testing.T) {
	c := load(t, "zh")
	inner := Errorf("%s is set by abxdash itself", "abxdash.x")
	err := Errorf("line %d: %s", 2, inner)
	if got := err.Error(); got != "line 2: abxdash.x is set by abxdash itself" {
		t.Errorf("in English: %q", got)
	}
	if got := c.Err(err); got != "第 2 行：abxdash.x 由 abxdash 自行设置" {
		t.Errorf("in Chinese: %q", got)
	}
	// What somebody else said around it must not be lost.
	for _, err := range []error{errors.New("disk full"), fmt.Errorf("form: %w", inner)} {
		if got := c.Err(err); got != err.Error() {
			t.Errorf("%q becomes %q", err, got)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{nil, English},
		{map[string]string{"LANG": "zh_CN.UTF-8"}, Chinese},
		{map[string]string{"LANG": "zh"}, Chinese},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, English},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_TW"}, Chinese},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, English},
		{map[string]string{"LC_ALL": "fr_FR@euro"}, English},
		{map[string]string{"LC_ALL": "zhx_XX"}, English},
	} {
		if got := Detect(func(k string) string { return tt.env[k] }); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.env, got, tt.want)
		}
	}
}

func TestLoadNamesTheLanguages(t *testing.T) {
	_, err := Load("tlh")
	if err == nil || !strings.Contains(err.Error(), "en, zh") || !strings.Contains(err.Error(), `"tlh"`) {
		t.Errorf("%v", err)
	}
}

func TestParse(t *testing.T) {
	got, err := parse("# head\nmsgid \"\"\nmsgstr \"Language: zh\\n\"\n\nmsgid \"a \\\"b\\\" %s\"\nmsgstr \"甲 \"\n\"乙 %s\"\n")
	if err != nil || len(got) != 1 || got[0].id != `a "b" %s` || got[0].text != "甲 乙 %s" || got[0].line != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	for po, want := range map[string]string{
		"msgid \"a\"\nmsgstr \"\"\n": "no translation",
		"msgid \"a\"\n":              "no translation",
		"msgid \"a\"\nmsgstr \"b\"\nmsgid \"a\"\nmsgstr \"c\"\n": "stands in line 1 too",
		"msgstr \"b\"\n": "line 1 is not",
		"msgid a\n":      "double quotes",
		"msgid \"a\"\nmsgid_plural \"as\"\nmsgstr \"b\"\n": "line 2 is not",
		"\"a\"\n": "line 1 is not",
	} {
		if _, err := parse(po); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", po, err, want)
		}
	}
}

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/fake"
)

// account plays an Express account with one key.
type account struct {
	err     error
	created []string
	deleted []string
}

const madeKey = "e2b_0123456789abcdef0123456789abcdef01234567"

func (a *account) Account() (string, error) { return "ALICLOUD_ACCESS_KEY_ID from a test", a.err }

func (a *account) List(context.Context) ([]client.APIKey, error) {
	return []client.APIKey{{ID: "k1", Name: "ci\x1b", Mask: "e2b_…67", Team: "default", Status: "Enabled", CreatedAt: "2031-01-01T00:00:00Z"}}, a.err
}

func (a *account) Create(_ context.Context, name, team string) (client.APIKey, string, error) {
	a.created = append(a.created, name+"/"+team)
	return client.APIKey{ID: "k2", Name: name}, madeKey, a.err
}

func (a *account) Delete(_ context.Context, id string) error {
	a.deleted = append(a.deleted, id)
	return a.err
}

func TestKeysOfAccount(t *testing.T) {
	b := newBench(t)
	acc := &account{}
	store := &credentials.Store{File: filepath.Join(t.TempDir(), "config", "keys.env")}
	b.keys, b.store = acc, store
	var list []map[string]any
	if err := json.Unmarshal([]byte(b.ok("keys", "ls", "--json")), &list); err != nil || len(list) != 1 || list[0]["id"] != "k1" || list[0]["created_at"] != "2031-01-01T00:00:00Z" {
		t.Errorf("%v %v", list, err)
	}
	if _, has := list[0]["key"]; has {
		t.Error("a list has no values")
	}
	if out := b.ok("keys", "ls"); !strings.Contains(out, `ci\u001b`) {
		t.Errorf("%q", out)
	}
	// Nothing is made without being asked for.
	if code, _, errs := b.run("keys", "create", "laptop"); code != 2 || !strings.Contains(errs, "--yes") || len(acc.created) != 0 {
		t.Errorf("%d %q %q", code, errs, acc.created)
	}
	if code, _, errs := b.run("--read-only", "keys", "create", "laptop", "--yes"); code != 1 || !strings.Contains(errs, "E9013") || len(acc.created) != 0 {
		t.Errorf("%d %q", code, errs)
	}
	code, out, errs := b.run("keys", "create", "laptop", "--team", "t", "--yes")
	if code != 0 || out != madeKey+"\n" || strings.Contains(errs, madeKey) || acc.created[0] != "laptop/t" {
		t.Errorf("%d %q %q %q", code, out, errs, acc.created)
	}
	if _, err := os.Stat(store.File); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was kept without being asked for")
	}
	// Kept, it is shown nowhere.
	code, out, errs = b.run("keys", "create", "laptop", "--yes", "--save")
	if code != 0 || strings.Contains(out+errs, madeKey) || !strings.Contains(errs, store.File) {
		t.Errorf("%d %q %q", code, out, errs)
	}
	info, err := os.Stat(store.File)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	// One that cannot be kept is not lost.
	b.store = &credentials.Store{File: filepath.Join(store.File, "below")}
	if code, out, errs = b.run("keys", "create", "laptop", "--yes", "--save"); code == 0 || out != madeKey+"\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if code, _, _ := b.run("keys", "rm", "k1"); code != 2 || len(acc.deleted) != 0 {
		t.Errorf("%d %q", code, acc.deleted)
	}
	if b.ok("keys", "rm", "k1", "k2", "--yes"); len(acc.deleted) != 2 {
		t.Errorf("%q", acc.deleted)
	}
	if code, _, errs := b.run("--provider", "e2b", "keys", "ls"); code != 1 || !strings.Contains(errs, "E8004") {
		t.Errorf("%d %q", code, errs)
	}
	acc.err = &client.Error{Op: "list API keys", Code: client.CodeAuthAKSK, Kind: client.ErrUnauthorized, Message: "no"}
	if code, _, _ := b.run("keys", "ls"); code != 3 {
		t.Errorf("a refused pair gives %d", code)
	}
}

func TestKeysSave(t *testing.T) {
	b := newBench(t)
	store := &credentials.Store{File: filepath.Join(t.TempDir(), "keys.env")}
	b.store = store
	b.in = strings.NewReader(madeKey + "\n")
	if code, out, errs := b.run("keys", "save", "e2b"); code != 0 || out != "" || strings.Contains(errs, madeKey) {
		t.Errorf("%d %q %q", code, out, errs)
	}
	v, err := credentials.Load(credentials.Options{SavedFile: store.File}).Lookup("ABX_E2B_API_KEY")
	if err != nil || v.Reveal() != madeKey {
		t.Errorf("%v %v", v, err)
	}
	for _, bad := range []string{"", "two words", "tab\tin"} {
		b.in = strings.NewReader(bad)
		if code, _, errs := b.run("keys", "save"); code != 2 || strings.Contains(errs, "words") {
			t.Errorf("%q: %d %q", bad, code, errs)
		}
	}
	b.ok("keys", "forget", "e2b")
	if code, _, _ := b.run("keys", "forget", "e2b"); code != 4 {
		t.Errorf("forgetting nothing gives %d", code)
	}
}

func TestKeysTest(t *testing.T) {
	b := newBench(t)
	if out := b.ok("keys", "test"); !strings.Contains(out, "ok  fake  it answers, and has no sandbox") {
		t.Errorf("%q", out)
	}
	b.p.Script(fake.OpList, "", fake.Step{Err: &client.Error{Op: "list sandboxes", Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized, Message: "bad\x1b key", Hint: "look"}, Repeat: true})
	code, out, errs := b.run("keys", "test", "fake", "--json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 3 || list[0]["ok"] != false || list[0]["code"] != "E1001" || !strings.Contains(errs, "hint: look") {
		t.Errorf("%d %v %v %q", code, list, err, errs)
	}
	if b.opened.Provider != "fake" {
		t.Errorf("opened %+v", b.opened)
	}
}

func TestConfigCommands(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "config", "config.yaml")
	b.settings = &config.Settings{File: file}
	if got := b.ok("config", "path"); got != file+"\n" {
		t.Errorf("%q", got)
	}
	if got := b.ok("config", "show", "--json"); got != "[]\n" {
		t.Errorf("%q", got)
	}
	b.ok("config", "set", "providers.lab.api_url", "https://ada:hush-hush@lab.test")
	b.ok("config", "set", "providers.lab.type", "e2b")
	b.ok("config", "set", "ascii", "true")
	out := b.ok("config", "show")
	if strings.Contains(out, "hush") || !strings.Contains(out, "ascii") {
		t.Errorf("%q", out)
	}
	if got := b.ok("config", "get", "ascii"); got != "true\n" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"get", "theme"}, 4},
		{[]string{"get", "nonsense"}, 1},
		{[]string{"set", "nonsense", "1"}, 1},
		{[]string{"set", "ascii", "perhaps"}, 1},
		{[]string{"unset", "theme"}, 4},
		{[]string{"set", "theme"}, 2},
	} {
		if code, out, errs := b.run(append([]string{"config"}, c.args...)...); code != c.code || out != "" {
			t.Errorf("%q: %d %q %q", c.args, code, out, errs)
		}
	}
	if code, _, _ := b.run("--read-only", "config", "set", "ascii", "false"); code != 1 {
		t.Errorf("read-only gives %d", code)
	}
	b.ok("config", "unset", "ascii")
	if code, _, _ := b.run("config", "get", "ascii"); code != 4 {
		t.Errorf("unset gives %d", code)
	}
	if out := b.ok("__complete", "config", "set", "attention.no_"); out != "attention.no_bell\nattention.no_notify\n:4\n" {
		t.Errorf("%q", out)
	}
}

package keymap

import (
	"slices"
	"strings"
	"testing"
)

func TestPresets(t *testing.T) {
	list := []Context{List, Sandbox, Move, Global, Always}
	for _, name := range Presets() {
		m, err := Preset(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Whatever the preset, killing takes the sheet and another key.
		if open, confirm := m.KeysFor(SandboxKill), m.KeysFor(SheetConfirm); slices.ContainsFunc(open, func(k string) bool { return slices.Contains(confirm, k) }) {
			t.Errorf("%s: %v opens and confirms", name, open)
		}
		for _, b := range m.All() {
			if b.Danger && slices.ContainsFunc(b.Keys, func(k string) bool { return strings.HasPrefix(k, "ctrl+") }) {
				t.Errorf("%s: %s is dangerous on %v", name, b.Action, b.Keys)
			}
		}
	}
	if _, err := Preset("nano"); err == nil || !strings.Contains(err.Error(), "default, vim, emacs") {
		t.Errorf("nano: %v", err)
	}
	press := func(preset string, keys ...string) Action {
		m, err := Preset(preset)
		if err != nil {
			t.Fatal(err)
		}
		a, _, _ := m.Match(list, keys[:len(keys)-1], keys[len(keys)-1])
		return a
	}
	if press("vim", "g", "g") != MoveTop || press("vim", "Z", "Z") != NavQuit || press("vim", "x") != SandboxKill {
		t.Error("vim keys")
	}
	if press("emacs", "ctrl+n") != MoveDown || press("emacs", "ctrl+x", "ctrl+c") != NavQuit || press("emacs", "ctrl+s") != ListFilter || press("emacs", "ctrl+g") != NavBack {
		t.Error("emacs keys")
	}
}

func TestReplaceReachesEveryHolder(t *testing.T) {
	m := Default()
	held := m
	by, err := Default().Override(map[string][]string{"sandbox.kill": {"K"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Replace(by)
	if got := held.KeysFor(SandboxKill); !slices.Equal(got, []string{"K"}) {
		t.Errorf("keys %v", got)
	}
}

func TestVerbsAreCommands(t *testing.T) {
	m := Default()
	for verb, name := range verbs() {
		if b, ok := m.Lookup(verb); !ok || b.Command != name {
			t.Errorf(":%s is %q, want %q", verb, b.Command, name)
		}
	}
}

package keymap

import (
	"strings"
	"testing"
)

// TestTranslated holds that other texts stay with a map through a leader and a
// user's keys, and that nothing but texts is changed.
func TestTranslated(t *testing.T) {
	m := Default().Translated(func(s string) string { return "<" + s + ">" })
	m, err := m.WithLeader("ctrl+a")
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Override(map[string][]string{"sandbox.kill": {"K"}}); err != nil {
		t.Fatal(err)
	}
	if got := m.Title(List); got != "<List>" {
		t.Errorf("the heading is %q", got)
	}
	if got := Default().Title(List); got != "List" {
		t.Errorf("the default map was changed: %q", got)
	}
	for i, b := range m.All() {
		was := Default().All()[i]
		if b.Action != was.Action || b.Command != was.Command || b.Context != was.Context || b.Danger != was.Danger {
			t.Errorf("%s is not what it was: %+v", was.Action, b)
		}
		if want := "<" + strings.ReplaceAll(was.Help, DefaultLeader, "ctrl+a") + ">"; b.Help != want {
			t.Errorf("%s: help %q, want %q", b.Action, b.Help, want)
		}
		if want := "<" + was.Short + ">"; was.Short == "" && b.Short != "" || was.Short != "" && b.Short != want {
			t.Errorf("%s: hint %q, was %q", b.Action, b.Short, was.Short)
		}
	}
	if got := m.Hint(SandboxKill); got != "K" {
		t.Errorf("the user's key is %q", got)
	}
}

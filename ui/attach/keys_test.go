package attach

import (
	"strings"
	"testing"

	"abxdash/keymap"
)

func TestKeysOf(t *testing.T) {
	m, err := keymap.Default().WithLeader("ctrl+a")
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Override(map[string][]string{"shell.detach": {"ctrl+a x", "ctrl+a X"}, "shell.new": {"ctrl+a k"}, "shell.zoom": nil}); err != nil {
		t.Fatal(err)
	}
	k, err := KeysOf(m)
	if err != nil {
		t.Fatal(err)
	}
	if k.Leader.Byte != 1 || k.Detach != 'x' {
		t.Errorf("leader %v, detach %q", k.Leader, k.Detach)
	}
	for r, want := range map[rune]keymap.Action{
		'x': keymap.ShellDetach, 'X': keymap.ShellDetach, 'k': keymap.ShellNew, 'R': keymap.ShellRecordInput,
		'[': keymap.ShellScrollback, 'c': "", 'd': "", 'z': "",
	} {
		if k.Actions[r] != want {
			t.Errorf("%q does %q, want %q", r, k.Actions[r], want)
		}
	}
	has := func(a keymap.Action) bool { return a == keymap.ShellDetach || a == keymap.ShellNew }
	if hint := k.Hint(m, has); hint != "x detach · k new" {
		t.Errorf("hint %q", hint)
	}
	if leave := k.For(has); len(leave) != 2 || !strings.ContainsRune(leave, 'X') || !strings.ContainsRune(leave, 'k') {
		t.Errorf("keys that leave beside the first: %q", leave)
	}
}

// Without a key that detaches there is still a way out.
func TestKeysOfAlwaysDetach(t *testing.T) {
	m, err := keymap.Default().Override(map[string][]string{"shell.detach": nil})
	if err != nil {
		t.Fatal(err)
	}
	if k, err := KeysOf(m); err != nil || k.Detach != 'd' || k.Actions['d'] != keymap.ShellDetach {
		t.Errorf("%+v, %v", k, err)
	}
}

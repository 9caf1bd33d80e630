package keymap

import "testing"

func TestWithLeader(t *testing.T) {
	m, err := Default().WithLeader("ctrl+a")
	if err != nil {
		t.Fatal(err)
	}
	if a, _, ok := m.Match([]Context{Shell}, []string{"ctrl+a"}, "d"); !ok || a != ShellDetach {
		t.Errorf("ctrl+a d is %q", a)
	}
	if a, _, ok := m.Match([]Context{Shell}, []string{"ctrl+a"}, "ctrl+a"); !ok || a != ShellLiteral {
		t.Errorf("ctrl+a ctrl+a is %q", a)
	}
	if a, more, ok := m.Match([]Context{Shell}, nil, "ctrl+]"); ok || more {
		t.Errorf("ctrl+] is still %q", a)
	}
	if a, ok := m.AfterLeader("t"); m.Leader() != "ctrl+a" || !ok || a != ShellExtend {
		t.Errorf("leader %s, t is %q", m.Leader(), a)
	}
	if Default().Leader() != DefaultLeader {
		t.Error("the default map was changed")
	}
	for _, bad := range []string{"a", "ctrl+", "ctrl+é", "alt+x", "ctrl+ab", "ctrl+1"} {
		if _, err := Default().WithLeader(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if same, err := Default().WithLeader(""); err != nil || same.Leader() != DefaultLeader {
		t.Errorf("no leader: %v", err)
	}
}

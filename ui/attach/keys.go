package attach

import (
	"strings"

	"abxdash/keymap"
)

// SecondKeys are the keys after the leader while attached, as a keymap has them.
type SecondKeys struct {
	Leader Leader
	// Detach is the key that leaves.
	Detach rune
	// Actions are what the keys of one character do, Detach among them.
	Actions map[rune]keymap.Action
}

// KeysOf reads them from a keymap. A leader that is not one byte, which
// [keymap.Map.WithLeader] does not allow, is an error.
func KeysOf(m *keymap.Map) (SecondKeys, error) {
	leader, err := ParseLeader(m.Leader())
	if err != nil {
		return SecondKeys{}, err
	}
	k := SecondKeys{Leader: leader, Actions: map[rune]keymap.Action{}}
	for _, b := range m.Bindings([]keymap.Context{keymap.Shell}) {
		for _, r := range k.of(b) {
			k.Actions[r] = b.Action
			if b.Action == keymap.ShellDetach && k.Detach == 0 {
				k.Detach = r
			}
		}
	}
	if k.Detach == 0 {
		k.Detach = 'd' // there has to be a way out
		k.Actions['d'] = keymap.ShellDetach
	}
	return k, nil
}

// of are the second keys of a binding, the first one first.
func (k SecondKeys) of(b keymap.Binding) []rune {
	var out []rune
	for _, seq := range b.Keys {
		rest, ok := strings.CutPrefix(seq, k.Leader.String()+" ")
		if r := []rune(rest); ok && len(r) == 1 {
			out = append(out, r[0])
		}
	}
	return out
}

// For are the keys of actions, as [Options.Keys] wants them.
func (k SecondKeys) For(leave func(keymap.Action) bool) string {
	var out strings.Builder
	for r, a := range k.Actions {
		if r != k.Detach && leave(a) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Hint is what the title says while a leader is pending: keys and the short
// names of their actions, those that has accepts.
func (k SecondKeys) Hint(m *keymap.Map, has func(keymap.Action) bool) string {
	var out []string
	for _, b := range m.Bindings([]keymap.Context{keymap.Shell}) {
		if keys := k.of(b); len(keys) > 0 && b.Short != "" && has(b.Action) {
			out = append(out, string(keys[0])+" "+b.Short)
		}
	}
	return strings.Join(out, " · ")
}

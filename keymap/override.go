package keymap

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Override returns the map with a user's keys in place of the default ones.
// Names are actions ("sandbox.kill"), or a context and an action
// ("detail:tab.next") to change it in one place only; an empty list unbinds.
// The error names every mistake: an unknown name, a key that cannot be
// pressed, a key that is used twice where both uses hold together, and a key
// that another binding begins with.
func (m *Map) Override(user map[string][]string) (*Map, error) {
	bs := slices.Clone(m.bindings)
	changed := make(map[int]bool)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(user)) {
		where, action := Context(""), Action(name)
		if c, a, ok := strings.Cut(name, ":"); ok {
			where, action = Context(c), Action(a)
		}
		hit := false
		for i := range bs {
			if bs[i].Action == action && (where == "" || bs[i].Context == where) {
				bs[i].Keys = slices.Clone(user[name])
				changed[i], hit = true, true
			}
		}
		if !hit {
			errs = append(errs, fmt.Errorf("keys: there is no action %q", name))
		}
		for _, k := range user[name] {
			if err := checkKey(k); err != nil {
				errs = append(errs, fmt.Errorf("keys: %s: %w", name, err))
			}
		}
	}
	out := m.with(bs)
	allowed := make(map[clash]bool)
	for _, c := range m.clashes(nil) {
		allowed[c] = true
	}
	for _, c := range out.clashes(changed) {
		if !allowed[c] {
			errs = append(errs, c)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// clash is two bindings that want the same key in contexts that hold together.
type clash struct {
	a, b       Action
	ctxA, ctxB Context
	keyA, keyB string
}

func (c clash) Error() string {
	if c.keyA == c.keyB {
		return fmt.Sprintf("keys: %q is both %s (%s) and %s (%s)", c.keyA, c.a, c.ctxA, c.b, c.ctxB)
	}
	return fmt.Sprintf("keys: %q of %s (%s) begins with %q, which is %s (%s)", c.keyB, c.b, c.ctxB, c.keyA, c.a, c.ctxA)
}

// clashes lists all clashes in which a binding of changed takes part; nil means all.
func (m *Map) clashes(changed map[int]bool) []clash {
	var out []clash
	for i := range m.bindings {
		for j := range m.bindings {
			a, b := &m.bindings[i], &m.bindings[j]
			if i == j || a.Action == b.Action || !m.together(a.Context, b.Context) {
				continue
			}
			if changed != nil && !changed[i] && !changed[j] {
				continue
			}
			for _, ka := range a.Keys {
				for _, kb := range b.Keys {
					if (ka == kb && i < j) || strings.HasPrefix(kb, ka+" ") {
						out = append(out, clash{a.Action, b.Action, a.Context, b.Context, ka, kb})
					}
				}
			}
		}
	}
	return out
}

// together reports whether two contexts can hold at the same time.
func (m *Map) together(a, b Context) bool {
	if a == b {
		return true
	}
	for _, in := range m.info {
		if (in.name == a && slices.Contains(in.under, b)) || (in.name == b && slices.Contains(in.under, a)) {
			return true
		}
	}
	return false
}

// keyNames are keys that have a name instead of a character.
func keyNames() []string {
	return []string{
		"enter", "esc", "tab", "space", "backspace", "delete", "insert", "up", "down", "left", "right",
		"home", "end", "pgup", "pgdown", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
	}
}

// checkKey tells why a key or sequence cannot be pressed.
func checkKey(seq string) error {
	if seq == "" || strings.TrimSpace(seq) != seq || strings.Contains(seq, "  ") {
		return fmt.Errorf("%q is not a key; a sequence has one blank between its keys, the space bar is called space", seq)
	}
	for k := range strings.SplitSeq(seq, " ") {
		base := k
		for {
			mod, rest, ok := strings.Cut(base, "+")
			if !ok || rest == "" || mod == "" {
				break
			}
			if mod != "ctrl" && mod != "alt" && mod != "shift" {
				return fmt.Errorf("%q is not a key: %q is not ctrl, alt or shift", k, mod)
			}
			base = rest
		}
		if utf8.RuneCountInString(base) != 1 && !slices.Contains(keyNames(), base) {
			return fmt.Errorf("%q is not a key: there is none called %q", k, base)
		}
	}
	return nil
}

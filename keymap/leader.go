package keymap

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultLeader begins every key of a shell.
const DefaultLeader = "ctrl+]"

// Leader is the key that begins the keys of a shell: what detaching begins with.
func (m *Map) Leader() string {
	for _, k := range m.KeysFor(ShellDetach) {
		if first, _, ok := strings.Cut(k, " "); ok {
			return first
		}
	}
	return DefaultLeader
}

// WithLeader returns the map with another leader in place of the present one.
// It is ctrl and one of a–z [ \ ] ^ _ or space, because in raw attach it must
// be one byte; "" changes nothing.
func (m *Map) WithLeader(leader string) (*Map, error) {
	old := m.Leader()
	if leader == "" || leader == old {
		return m, nil
	}
	name, ok := strings.CutPrefix(leader, "ctrl+")
	if !ok || name != "space" && (len(name) != 1 || !strings.Contains(`abcdefghijklmnopqrstuvwxyz[\]^_`, name)) {
		return nil, fmt.Errorf(`leader %q: it is ctrl+ and one of a–z [ \ ] ^ _ space`, leader)
	}
	bs := slices.Clone(m.bindings)
	for i := range bs {
		bs[i].Help = strings.ReplaceAll(bs[i].Help, old, leader)
		if bs[i].Context != Shell {
			continue
		}
		keys := slices.Clone(bs[i].Keys)
		for j, k := range keys {
			parts := strings.Split(k, " ")
			if parts[0] != old {
				continue
			}
			for n := range parts {
				if parts[n] == old {
					parts[n] = leader
				}
			}
			keys[j] = strings.Join(parts, " ")
		}
		bs[i].Keys = keys
	}
	return m.with(bs), nil
}

// AfterLeader returns the action of a second key, such as "d", in a shell.
func (m *Map) AfterLeader(key string) (Action, bool) {
	a, _, ok := m.Match([]Context{Shell}, []string{m.Leader()}, key)
	return a, ok
}

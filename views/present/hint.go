package present

import "abxdash/keymap"

// KeyIn returns the key of an action in one context as shown to people, or "".
// It is for hints about a box's or a pane's own keys; keymap.Map.Hint gives
// the key of the first context that has the action.
func KeyIn(m *keymap.Map, c keymap.Context, a keymap.Action) string {
	for _, b := range m.Bindings([]keymap.Context{c}) {
		if b.Action == a && len(b.Keys) > 0 {
			return keymap.Label(b.Keys[0])
		}
	}
	return ""
}

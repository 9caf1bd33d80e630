// Package keymap is the one list of actions: what they are called, what they
// do, which keys run them and where. Help, the footer, the palette, ":" and the
// README table are generated from it; screens match actions, never keys.
package keymap

// Action names something a user can do, e.g. "sandbox.kill".
type Action string

// Context names a place in which bindings apply, e.g. "list".
type Context string

// Binding is one action in one context.
type Binding struct {
	Action  Action
	Context Context
	// Keys in the notation of tea.Key.String ("ctrl+k", "enter", "x", "space");
	// a sequence is separated by a blank (", n").
	Keys []string
	// Help is one sentence for "?"; Short is one or two words for the footer, "" keeps it out of the footer.
	Help  string
	Short string
	// Command is the ":" and palette name, "" keeps it out of both.
	Command string
	// Danger marks actions that destroy; they are refused in read-only mode.
	Danger bool
}

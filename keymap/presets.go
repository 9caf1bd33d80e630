package keymap

import (
	"fmt"
	"strings"
)

// Presets lists the sets of keys that can be chosen by name.
func Presets() []string { return []string{"default", "vim", "emacs"} }

// Preset returns a named set; "" is the default one. A user's own keys are laid
// over it with Override.
func Preset(name string) (*Map, error) {
	switch name {
	case "", "default":
		return Default(), nil
	case "vim":
		return Default().Override(vim())
	case "emacs":
		return Default().Override(emacs())
	default:
		return nil, fmt.Errorf("keymap is one of %s, not %q", strings.Join(Presets(), ", "), name)
	}
}

// vim adds what fingers trained there expect beyond the default keys, which
// follow vim already. Nothing that kills is put on a doubled letter.
func vim() map[string][]string {
	return map[string][]string{
		"move.top":     {"g g", "home"},
		"nav.quit":     {"q", "Z Z"},
		"list.open":    {"enter", "L"},
		"app.command":  {":"},
		"app.redraw":   {"ctrl+l"},
		"sandbox.logs": {"l"},
	}
}

// emacs puts movement, search and leaving on its usual keys. Letters keep their
// meaning: there is nothing to type in a list.
func emacs() map[string][]string {
	return map[string][]string{
		"move.up":          {"ctrl+p", "up", "k"},
		"move.down":        {"ctrl+n", "down", "j"},
		"move.page-up":     {"alt+v", "pgup"},
		"move.page-down":   {"ctrl+v", "pgdown"},
		"move.half-up":     nil,
		"move.half-down":   nil,
		"move.top":         {"alt+<", "home"},
		"move.bottom":      {"alt+>", "end"},
		"list.filter":      {"ctrl+s", "/"},
		"list.save-view":   {"ctrl+x ctrl+s"},
		"log.save":         {"ctrl+x ctrl+s"},
		"mark.toggle":      {"space"},
		"mark.clear":       {"ctrl+u", `ctrl+\`},
		"app.palette":      {"alt+x", "ctrl+k"},
		"app.command":      {"alt+:", ":"},
		"list:app.undo":    {"ctrl+/", "u"},
		"search.open":      {"ctrl+s", "/"},
		"global:nav.quit":  {"ctrl+x ctrl+c", "q"},
		"global:nav.back":  {"ctrl+g", "esc"},
		"sheet:nav.back":   {"ctrl+g", "esc", "q"},
		"menu:nav.back":    {"ctrl+g", "esc", "q"},
		"confirm:nav.back": {"ctrl+g", "esc", "q"},
		"help:nav.back":    {"ctrl+g", "esc", "q", "?"},
		"message:nav.back": {"ctrl+g", "esc", "q", "enter"},
		"input:nav.back":   {"ctrl+g", "esc"},
		"palette:nav.back": {"ctrl+g", "esc"},
	}
}

package attach

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Leader is the key that starts a command while attached; always ctrl and one character.
type Leader struct {
	// Char is the character without ctrl.
	Char rune
	// Byte is what a terminal without a keyboard protocol sends.
	Byte byte
}

// DefaultLeader is ctrl+].
func DefaultLeader() Leader { return Leader{Char: ']', Byte: 0x1d} }

// ParseLeader reads the notation of key bindings: "ctrl+" and one of a–z [ \ ] ^ _ space.
func ParseLeader(s string) (Leader, error) {
	name, ok := strings.CutPrefix(s, "ctrl+")
	if name == "space" {
		name = " "
	}
	r, n := utf8.DecodeRuneInString(name)
	if !ok || n != len(name) {
		return Leader{}, fmt.Errorf("leader %q: want ctrl+ and one character", s)
	}
	switch {
	case r >= 'a' && r <= 'z':
		return Leader{Char: r, Byte: byte(r-'a') + 1}, nil
	case r == ' ':
		return Leader{Char: r}, nil
	case r >= '[' && r <= '_':
		return Leader{Char: r, Byte: byte(r - '@')}, nil
	}
	return Leader{}, fmt.Errorf("leader %q: ctrl with this character is not one byte", s)
}

// String is the notation of key bindings.
func (l Leader) String() string {
	if l.Char == ' ' {
		return "ctrl+space"
	}
	return "ctrl+" + string(l.Char)
}

package client

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes untrusted text safe for one line of an error or a log: control,
// format and bidirectional characters become visible escapes, invalid UTF-8
// becomes \xNN, and the result is cut to max runes with an ellipsis.
func OneLine(s string, maxRunes int) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); {
		if n >= maxRunes {
			b.WriteRune('…')
			break
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteByte(' ')
		case Unsafe(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
		n++
	}
	return b.String()
}

// Unsafe reports whether r must not reach a terminal from untrusted text:
// C0, DEL, C1, and format characters that reorder or hide text. The zero-width
// joiner and variation selectors stay: emoji need them.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f, r >= 0x80 && r <= 0x9f:
		return true
	case r == 0x200d, r == 0xfe0e, r == 0xfe0f:
		return false
	case unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
		return true
	}
	return false
}

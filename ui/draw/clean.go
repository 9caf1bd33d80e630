package draw

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside safe to paint on one row: every control
// character becomes a visible symbol (ESC as ␛, a C1 control as its code),
// broken UTF-8 becomes U+FFFD, and marks that reorder or hide text (such as
// the right-to-left override) are shown by their code. Text that is already
// clean is returned as it is.
func Clean(s string) string {
	i := firstDirty(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r == utf8.RuneError && n == 1 {
			b.WriteRune(utf8.RuneError)
			continue
		}
		writeVisible(&b, r)
	}
	return b.String()
}

// firstDirty is the place of the first byte that Clean would change, or -1.
func firstDirty(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && n == 1) || hidden(r) {
			return i
		}
		i += n
	}
	return -1
}

// hidden reports whether a rune beyond ASCII would act on the terminal or
// change how its neighbours read, instead of being seen.
func hidden(r rune) bool {
	switch {
	case r < 0xa0: // C1
		return true
	case r == 0x200d: // joins emoji
		return false
	}
	return unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029
}

// writeVisible writes a rune, or a symbol for it if it would not be seen.
func writeVisible(b *strings.Builder, r rune) {
	switch {
	case r == '\t':
		b.WriteByte(' ')
	case r < 0x20:
		b.WriteRune(0x2400 + r)
	case r == 0x7f:
		b.WriteRune(0x2421)
	case r >= utf8.RuneSelf && hidden(r):
		fmt.Fprintf(b, "<%02X>", r)
	default:
		b.WriteRune(r)
	}
}

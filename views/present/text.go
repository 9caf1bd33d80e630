package present

import (
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
)

// maxText bounds any one untrusted text on screen, in runes.
const maxText = 512

// Clean makes untrusted text safe for one line of a terminal: control, format
// and bidirectional characters become visible escapes, and long text is cut.
func Clean(s string) string { return CleanMax(s, maxText) }

// CleanMax is [Clean] with a limit of its own, in runes.
func CleanMax(s string, maxRunes int) string {
	if plainASCII(s) && len(s) <= maxRunes {
		return s
	}
	return client.OneLine(s, maxRunes)
}

// plainASCII reports whether s needs no cleaning at all; nearly every name is
// like that and then costs no allocation.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Elide cuts s in the middle so that both ends of an identity stay visible. s
// must be clean; width is in cells.
func Elide(s string, width int) string {
	w := ansi.StringWidth(s)
	if w <= width {
		return s
	}
	if width <= 1 {
		return ansi.Truncate(s, max(0, width), "")
	}
	head := width / 2
	tail := width - 1 - head
	out := ansi.Truncate(s, head, "") + "…" + ansi.TruncateLeft(s, w-tail, "")
	if ansi.StringWidth(out) > width {
		// A cluster that the cut would have split came along whole.
		return ansi.Truncate(s, width, "…")
	}
	return out
}

// Package clip puts text on the clipboard of the terminal (OSC 52).
package clip

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Max is the largest text in bytes: with base64 and the frame around it the
// sequence stays within the 100,000 bytes that terminals accept.
const Max = 74994

// Copy returns a command that sets the clipboard. inTmux sends the sequence
// wrapped as well, for a tmux that passes it on to the terminal around it
// (allow-passthrough) but takes none itself (set-clipboard external). A text
// over Max is refused: half of it would be worse than none.
func Copy(text string, inTmux bool) (tea.Cmd, error) {
	if len(text) > Max {
		return nil, fmt.Errorf("%d bytes are too many for the clipboard (%d at most)", len(text), Max)
	}
	if !inTmux {
		return tea.SetClipboard(text), nil
	}
	return tea.Sequence(tea.SetClipboard(text), tea.Raw(Wrap(ansi.SetSystemClipboard(text)))), nil
}

// Wrap makes tmux pass a sequence on.
func Wrap(seq string) string {
	return "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
}

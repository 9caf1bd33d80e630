package clip

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestCopy(t *testing.T) {
	if n := len(ansi.SetSystemClipboard(strings.Repeat("x", Max))); n > 100_000 || n < 99_990 {
		t.Errorf("the largest sequence has %d bytes", n)
	}
	for _, tmux := range []bool{false, true} {
		if cmd, err := Copy(strings.Repeat("x", Max), tmux); err != nil || cmd == nil {
			t.Errorf("tmux %v: %v", tmux, err)
		}
		if cmd, err := Copy(strings.Repeat("x", Max+1), tmux); err == nil || cmd != nil {
			t.Errorf("tmux %v: a text that is too large was taken", tmux)
		}
	}
	if got := Wrap("\x1b]52;c;aGk=\x07"); got != "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\" {
		t.Errorf("wrapped %q", got)
	}
}

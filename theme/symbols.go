package theme

import uv "github.com/charmbracelet/ultraviolet"

func unicodeSymbols() Symbols {
	return Symbols{
		Cursor: "▌", Mark: "✓", Stray: "S", OK: "✓", Fail: "✗", Warn: "!", Info: "i", Busy: "◐", Ellipsis: "…",
		Up: "↑", Down: "↓", Folder: "▸", File: " ", Link: "→", Lock: "⊘", GaugeFull: "━", GaugeEmpty: "─",
		H: "─", V: "│", TL: "╭", TR: "╮", BL: "╰", BR: "╯", TeeL: "├", TeeR: "┤",
		Spark:   []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
		Spinner: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
	}
}

func asciiSymbols() Symbols {
	return Symbols{
		Cursor: ">", Mark: "*", Stray: "S", OK: "+", Fail: "x", Warn: "!", Info: "i", Busy: "o", Ellipsis: "~",
		Up: "^", Down: "v", Folder: "/", File: " ", Link: "@", Lock: "#", GaugeFull: "#", GaugeEmpty: "-",
		H: "-", V: "|", TL: "+", TR: "+", BL: "+", BR: "+", TeeL: "+", TeeR: "+",
		Spark:   []string{"_", ".", ":", "-", "=", "+", "*", "#"},
		Spinner: []string{"|", "/", "-", `\`},
	}
}

// stateStyles styles the state words of sandboxes. Words are those of
// client.State and of the dashboard's own transitions; case matters not at the caller.
func stateStyles(t *TextStyles, ascii bool) (map[string]StateStyle, StateStyle) {
	pick := func(st uv.Style, u, a string) StateStyle {
		if ascii {
			return StateStyle{Style: st, Symbol: a}
		}
		return StateStyle{Style: st, Symbol: u}
	}
	run, wait, quiet := pick(t.OK, "●", "*"), pick(t.Info, "◌", "~"), pick(t.Dim, "○", "o")
	paused, ending, bad := pick(t.Warn, "◐", "="), pick(t.Warn, "◌", "~"), pick(t.Error, "✗", "x")
	gone := pick(t.Dim, "✗", "x")
	return map[string]StateStyle{
		"running": run, "live": run, "ready": run,
		"creating": wait, "starting": wait, "pending": wait, "resuming": wait, "building": wait,
		"paused": paused, "pausing": ending, "idle": quiet, "stopped": quiet,
		"killing": ending, "deleting": ending, "stopping": ending,
		"killed": gone, "gone": gone, "expired": gone, "deleted": gone,
		"failed": bad, "error": bad, "unreachable": bad,
	}, pick(t.Dim, "·", "?")
}

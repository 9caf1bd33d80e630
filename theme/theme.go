// Package theme maps meaning to style. Screens ask for what a thing is
// (Row.Selected, State("running")), never for a colour. A theme is a value
// handed down, rebuilt when the terminal's background becomes known.
package theme

import uv "github.com/charmbracelet/ultraviolet"

// Theme is a complete set of styles and symbols. Every state and level has a
// symbol or a word too: colour is never the only carrier.
type Theme struct {
	Name    string
	Dark    bool
	NoColor bool

	Text   TextStyles
	Row    RowStyles
	Border BorderStyles
	Keys   KeyStyles
	Bar    BarStyles
	Symbol Symbols

	states map[string]StateStyle
	other  StateStyle
}

// TextStyles are for running text.
type TextStyles struct {
	Normal, Dim, Strong, Title, Link   uv.Style
	OK, Info, Warn, Error              uv.Style
	Input, Placeholder, Match, Heading uv.Style
}

// RowStyles are for lines of a list or table. Selected must be visible without colour.
type RowStyles struct {
	Normal, Selected, SelectedDim, Marked, Tombstone, Stale, Header, HeaderSorted uv.Style
	// KeepColors lets the cells of a selected row keep their own colours: the
	// background of Selected is chosen so that they stay readable.
	KeepColors bool
}

// BorderStyles are for frames.
type BorderStyles struct{ Normal, Focused, Danger, Title, TitleFocused uv.Style }

// KeyStyles are for hints in the footer and in help.
type KeyStyles struct{ Key, Help, Disabled, Reason uv.Style }

// BarStyles are for the header, the status line, tabs, chips and gauges.
type BarStyles struct {
	Header, Status, Tab, TabActive, TabDisabled uv.Style
	Chip, ChipOK, ChipWarn, ChipError           uv.Style
	GaugeFull, GaugeEmpty, GaugeLow             uv.Style
}

// StateStyle is how a sandbox state is shown.
type StateStyle struct {
	Style  uv.Style
	Symbol string
}

// Symbols is one set of marks; there is a Unicode and an ASCII one. Each is one cell wide unless said otherwise.
type Symbols struct {
	Cursor, Mark, Stray, OK, Fail, Warn, Info, Busy, Ellipsis string
	Up, Down, Folder, File, Link, Lock, GaugeFull, GaugeEmpty string
	// Border pieces.
	H, V, TL, TR, BL, BR, TeeL, TeeR string
	// Spark levels, lowest first.
	Spark []string
	// Spinner frames.
	Spinner []string
}

// State returns the style of a sandbox state word; unknown words get a neutral one.
func (t *Theme) State(word string) StateStyle {
	if s, ok := t.states[word]; ok {
		return s
	}
	return t.other
}

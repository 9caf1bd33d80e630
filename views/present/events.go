package present

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
)

// EventKind says what sort of thing happened to a sandbox.
type EventKind uint8

// Kinds of event.
const (
	// EventState is a change that the provider reported: state or lifetime.
	EventState EventKind = iota
	// EventCommand is a command started or ended from this dashboard.
	EventCommand
	// EventShell is a shell attached or left.
	EventShell
	// EventFile is a file changed or moved from this dashboard.
	EventFile
	// EventKill is a kill asked for, undone or answered.
	EventKill
	// EventNote is anything else.
	EventNote
)

// EventMsg says that something happened to a sandbox, for its timeline. Any
// view may send one. Text is clean and says no secret: command lines are cut,
// output is never in it.
type EventMsg struct {
	Key Key
	// At is local time.
	At   time.Time
	Kind EventKind
	Text string
	// Bad marks what failed.
	Bad bool
	// Took is how long it took, 0 if that is not known or means nothing.
	Took time.Duration
}

// Event returns a command that sends e.
func Event(e EventMsg) tea.Cmd { return ui.Cmd(e) }

// Shown and hidden: what a tab of the sandbox screen is told.
type (
	// TabShownMsg tells a tab that it is the one shown from now on.
	TabShownMsg struct{}
	// TabHiddenMsg tells a tab that it is no longer shown: polling stops.
	TabHiddenMsg struct{}
)

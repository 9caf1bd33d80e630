package present

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
)

// Routes of the screens that several views open.
const (
	RouteSandboxes ui.Route = "sandboxes"
	// RouteSandbox takes SandboxParams.
	RouteSandbox ui.Route = "sandbox"
	// RouteShell takes ShellParams: one shell over the whole window. Detaching
	// goes back to where it was opened.
	RouteShell ui.Route = "shell"
)

// Tab names a part of the sandbox screen.
type Tab string

// Tabs of the sandbox screen.
const (
	TabOverview Tab = "overview"
	TabOutput   Tab = "output"
	TabFiles    Tab = "files"
	TabShell    Tab = "shell"
	TabPorts    Tab = "ports"
	TabMetrics  Tab = "metrics"
	TabLogs     Tab = "logs"
)

// SandboxParams opens the sandbox screen on one of its tabs.
type SandboxParams struct {
	Sandbox client.Sandbox
	Tab     Tab
}

// ShellParams opens a shell in a sandbox.
type ShellParams struct {
	Sandbox client.Sandbox
	// Raw hands the whole terminal to the shell as soon as it runs.
	Raw bool
}

// OpenSandbox goes into s on the given tab.
func OpenSandbox(s client.Sandbox, t Tab) tea.Cmd {
	return ui.Open(RouteSandbox, SandboxParams{Sandbox: s, Tab: t})
}

// OpenShell attaches a shell in s; detaching comes back here.
func OpenShell(s client.Sandbox) tea.Cmd { return ui.Open(RouteShell, ShellParams{Sandbox: s}) }

// OpenRawShell hands the whole terminal to a shell in s; detaching comes back here.
func OpenRawShell(s client.Sandbox) tea.Cmd {
	return ui.Open(RouteShell, ShellParams{Sandbox: s, Raw: true})
}

// KillTarget is one sandbox to be reviewed for killing.
type KillTarget struct {
	Sandbox client.Sandbox
	// Stray lists the reasons, if it is one.
	Stray []string
}

// Outcome is how one kill ended.
type Outcome uint8

// Outcomes of a kill.
const (
	// KillAccepted: the provider said that it ends the sandbox.
	KillAccepted Outcome = iota + 1
	// KillAlreadyGone: the provider no longer knew it, which is fine.
	KillAlreadyGone
	// KillFailed: it was refused or could not be sent; see KillResultMsg.Err.
	KillFailed
)

// Messages between views. Root delivers them to every screen, overlay and background.
type (
	// KillRequestMsg asks for the review sheet. The targets are those of this
	// moment; no later refresh changes them.
	KillRequestMsg struct{ Targets []KillTarget }
	// KillPendingMsg says that these will be killed At, unless undone. Nothing has been sent.
	KillPendingMsg struct {
		Keys []Key
		At   time.Time
	}
	// KillUndoneMsg says that these are left alone after all.
	KillUndoneMsg struct{ Keys []Key }
	// KillSendingMsg says that the grace time is over and kills are under way.
	KillSendingMsg struct{ Keys []Key }
	// KillResultMsg is the answer for one sandbox.
	KillResultMsg struct {
		Key     Key
		Outcome Outcome
		// Waited is set when it succeeded only after the wait the provider asked for.
		Waited bool
		Err    error
	}
	// KillDoneMsg ends a batch; only the failed ones are worth marking again.
	KillDoneMsg struct{ Killed, Failed []Key }
	// CreateRequestMsg opens the create dialog, with all options if Full.
	// Template is filled in, "" leaves it to the provider.
	CreateRequestMsg struct {
		Full     bool
		Provider string
		Template string
	}
	// CreatedMsg announces a sandbox that was just made here.
	CreatedMsg struct{ Sandbox client.Sandbox }
	// UpdatedMsg carries a sandbox as its provider reports it now.
	UpdatedMsg struct{ Sandbox client.Sandbox }
	// GoneMsg names sandboxes that were known and no longer exist.
	GoneMsg struct{ Keys []Key }
	// ListedMsg is one provider's answer to a listing. The store applies it;
	// a screen that shows one sandbox may look it up in the page.
	ListedMsg struct {
		Provider string
		// Gen numbers the listings of one provider; an older one than the last asked for is dropped.
		Gen  uint64
		Page client.Page
		// At is the local time of the answer.
		At  time.Time
		Err error
	}
	// BroadcastMsg asks to run one shell line in many sandboxes, those of this
	// moment. Without a line it is asked for first.
	BroadcastMsg struct {
		Targets []client.Sandbox
		Line    string
	}
	// RefreshMsg asks for a fresh list now; Provider "" means all.
	RefreshMsg struct{ Provider string }
	// ShellCountMsg says how many shells of this dashboard are open in a sandbox.
	ShellCountMsg struct {
		Key Key
		N   int
	}
)

// RouteReplay takes ReplayParams: the player of a recorded shell.
const RouteReplay ui.Route = "replay"

// ReplayParams names a recording.
type ReplayParams struct{ Path string }

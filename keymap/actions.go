package keymap

// Contexts. A screen lists those that apply now, most specific first; Global
// and Always are added by the shell and need not be listed.
const (
	// Always holds in every screen and every modal box that does not capture keys.
	Always Context = "always"
	// Global holds in every screen without a modal box.
	Global Context = "global"
	// Move is moving a cursor or a view; screens list it after their own context.
	Move Context = "move"
	// Sandbox holds wherever one or several sandboxes are meant: list and detail.
	Sandbox    Context = "sandbox"
	List       Context = "list"
	Detail     Context = "detail"
	Overview   Context = "overview"
	Output     Context = "output"
	Files      Context = "files"
	Preview    Context = "preview"
	Logs       Context = "logs"
	Shell      Context = "shell"
	Scrollback Context = "scrollback"
	// Replay is the player of recordings.
	Replay  Context = "replay"
	Tasks   Context = "tasks"
	Sheet   Context = "sheet"
	Create  Context = "create"
	Form    Context = "form"
	Input   Context = "input"
	Menu    Context = "menu"
	Confirm Context = "confirm"
	Message Context = "message"
	// Ports, Metrics and Box are the tabs of those names and a box of text.
	Ports   Context = "ports"
	Metrics Context = "metrics"
	Box     Context = "box"
	Help    Context = "help"
	Palette Context = "palette"
	// Columns is the box in which columns are chosen; Results the grid of a broadcast.
	Columns Context = "columns"
	Results Context = "results"
	// Providers is the screen of all providers.
	Providers Context = "providers"
	// Templates and TemplateFolders are the two halves of the templates screen,
	// TemplateDetail is one template, TemplateRun a build or deploy, TemplateCheck
	// a template that runs here, Wizard the making of a new one.
	Templates       Context = "templates"
	TemplateFolders Context = "template-folders"
	TemplateDetail  Context = "template"
	TemplateRun     Context = "template-run"
	TemplateCheck   Context = "template-check"
	Wizard          Context = "wizard"
)

// Actions of the dashboard itself.
const (
	AppHelp      Action = "app.help"
	AppPalette   Action = "app.palette"
	AppCommand   Action = "app.command"
	AppRefresh   Action = "app.refresh"
	AppTasks     Action = "app.tasks"
	AppMouse     Action = "app.mouse"
	AppMessages  Action = "app.messages"
	AppUndo      Action = "app.undo"
	AppRedraw    Action = "app.redraw"
	AppSuspend   Action = "app.suspend"
	AppInterrupt Action = "app.interrupt"
	AppQuit      Action = "app.quit"
	// AppKills shows what was killed, by whom and when.
	AppKills Action = "app.kills"
	// AppTheme takes the name of a theme; without one it offers a menu.
	AppTheme Action = "app.theme"
	// AppMute takes a kind of attention to silence: strays, expiry, failures, all.
	AppMute Action = "app.mute"
	// AppProviders shows all providers; with names it narrows the list to them.
	AppProviders Action = "app.providers"
	// AppCopyCommand copies the command that does what the screen shows.
	AppCopyCommand Action = "app.copy-command"
)

// Navigation.
const (
	// NavBack (esc) goes to the screen, which leaves its own mode (search,
	// filter, range) or returns ui.BackMsg.
	NavBack Action = "nav.back"
	// NavQuit (q) goes back one level and quits at the list; the shell does it.
	NavQuit Action = "nav.quit"

	MoveUp       Action = "move.up"
	MoveDown     Action = "move.down"
	MoveLeft     Action = "move.left"
	MoveRight    Action = "move.right"
	MovePageUp   Action = "move.page-up"
	MovePageDown Action = "move.page-down"
	MoveHalfUp   Action = "move.half-up"
	MoveHalfDown Action = "move.half-down"
	MoveTop      Action = "move.top"
	MoveBottom   Action = "move.bottom"
)

// The list.
const (
	ListOpen    Action = "list.open"
	ListNew     Action = "list.new"
	ListOptions Action = "list.new-with-options"
	ListFilter  Action = "list.filter"
	ListStrays  Action = "list.strays"
	KillStrays  Action = "list.kill-strays"
	// ListColumns chooses columns, ListViews goes to a named view.
	ListColumns    Action = "list.columns"
	ListViews      Action = "list.views"
	ListSaveView   Action = "list.save-view"
	ListDeleteView Action = "list.delete-view"
	ListBroadcast  Action = "list.broadcast"

	MarkToggle Action = "mark.toggle"
	MarkRange  Action = "mark.range"
	MarkAll    Action = "mark.all"
	MarkClear  Action = "mark.clear"

	SortName      Action = "sort.name"
	SortAge       Action = "sort.age"
	SortTTL       Action = "sort.ttl"
	SortCost      Action = "sort.cost"
	SortState     Action = "sort.state"
	SortProvider  Action = "sort.provider"
	SortReverse   Action = "sort.reverse"
	SortCPU       Action = "sort.cpu"
	SortMemory    Action = "sort.memory"
	SortOwner     Action = "sort.owner"
	SortTemplate  Action = "sort.template"
	SortIsolation Action = "sort.isolation"
)

// What can be done to a sandbox.
const (
	SandboxKill   Action = "sandbox.kill"
	SandboxShell  Action = "sandbox.shell"
	SandboxRun    Action = "sandbox.run"
	SandboxFiles  Action = "sandbox.files"
	SandboxLogs   Action = "sandbox.logs"
	SandboxExtend Action = "sandbox.extend"
	SandboxPause  Action = "sandbox.pause"
	SandboxResume Action = "sandbox.resume"
	SandboxCopyID Action = "sandbox.copy-id"
	SandboxRaw    Action = "sandbox.raw"
	SandboxDetail Action = "sandbox.detail"
	// SandboxAttach hands the whole terminal to a shell.
	SandboxAttach Action = "sandbox.attach"
	// SandboxSetTTL sets the remaining time to a duration that is asked for.
	SandboxSetTTL Action = "sandbox.set-ttl"
	// SandboxProtect sets a sandbox apart from killing in bulk, or not any more.
	SandboxProtect Action = "sandbox.protect"
)

// Tabs and panes.
const (
	TabNext    Action = "tab.next"
	TabPrev    Action = "tab.prev"
	Tab1       Action = "tab.1"
	Tab2       Action = "tab.2"
	Tab3       Action = "tab.3"
	Tab4       Action = "tab.4"
	Tab5       Action = "tab.5"
	Tab6       Action = "tab.6"
	Tab7       Action = "tab.7"
	Tab8       Action = "tab.8"
	Tab9       Action = "tab.9"
	PaneGrow   Action = "pane.grow"
	PaneShrink Action = "pane.shrink"
)

// Output, logs, previews.
const (
	OutputCancel Action = "output.cancel"
	OutputRerun  Action = "output.rerun"
	OutputOlder  Action = "output.older"
	OutputNewer  Action = "output.newer"
	OutputInput  Action = "output.input"
	OutputStdin  Action = "output.stdin"
	OutputMerged Action = "output.merged"

	LogFollow Action = "log.follow"
	LogTime   Action = "log.time"
	LogErrors Action = "log.errors"
	LogCopy   Action = "log.copy"
	LogSave   Action = "log.save"
	LogLine   Action = "log.line"
	ViewWrap  Action = "view.wrap"

	SearchOpen Action = "search.open"
	SearchNext Action = "search.next"
	SearchPrev Action = "search.prev"
)

// Files.
const (
	FilesOpen     Action = "files.open"
	FilesParent   Action = "files.parent"
	FilesHome     Action = "files.home"
	FilesDownload Action = "files.download"
	FilesUpload   Action = "files.upload"
	FilesEdit     Action = "files.edit"
	FilesCopyPath Action = "files.copy-path"
	FilesHidden   Action = "files.hidden"
	FilesFilter   Action = "files.filter"
	FilesRename   Action = "files.rename"
	FilesDelete   Action = "files.delete"
	FilesMkdir    Action = "files.mkdir"
	FilesSearch   Action = "files.search"
	FilesDiff     Action = "files.diff"
	// FilesCompare takes one side of a comparison, and the other one from
	// another sandbox.
	FilesCompare Action = "files.compare"
)

// Ports and metrics.
const (
	PortOpen    Action = "port.open"
	PortCopy    Action = "port.copy"
	PortQR      Action = "port.qr"
	PortForward Action = "port.forward"

	MetricsRange Action = "metrics.range"
)

// Shells: all after the leader key.
const (
	ShellDetach     Action = "shell.detach"
	ShellNext       Action = "shell.next"
	ShellPrev       Action = "shell.prev"
	ShellNew        Action = "shell.new"
	ShellScrollback Action = "shell.scrollback"
	ShellPaste      Action = "shell.paste"
	ShellRecord     Action = "shell.record"
	ShellZoom       Action = "shell.zoom"
	ShellUndo       Action = "shell.undo"
	ShellHelp       Action = "shell.help"
	// ShellLiteral sends the leader key itself to the shell, once.
	ShellLiteral Action = "shell.literal"
	// ShellRaw hands the whole terminal to the shell until it is detached.
	ShellRaw    Action = "shell.raw"
	ShellRename Action = "shell.rename"
	ShellExtend Action = "shell.extend"
	// ShellSplit shows two shells beside each other, ShellFocus goes to the other one.
	ShellSplit Action = "shell.split"
	ShellFocus Action = "shell.focus"
	// ShellLinks lists the links on the screen.
	ShellLinks Action = "shell.links"
	// ShellRecordInput records what is typed too.
	ShellRecordInput Action = "shell.record-input"
)

// The scroll-back of a shell.
const (
	ScrollSelect Action = "scroll.select"
	ScrollLines  Action = "scroll.select-lines"
	ScrollCopy   Action = "scroll.copy"
	ScrollLink   Action = "scroll.link"
	ScrollStart  Action = "scroll.line-start"
	ScrollEnd    Action = "scroll.line-end"
	// PromptOlder and PromptNewer go to the previous and next command.
	PromptOlder Action = "scroll.older-prompt"
	PromptNewer Action = "scroll.newer-prompt"
)

// Playing a recording.
const (
	// RecordPlay takes a file; without one it offers those in the state folder.
	RecordPlay    Action = "record.play"
	ReplayPause   Action = "replay.pause"
	ReplayFaster  Action = "replay.faster"
	ReplaySlower  Action = "replay.slower"
	ReplayBack    Action = "replay.back"
	ReplayForward Action = "replay.forward"
	ReplayStart   Action = "replay.start"
	ReplayEnd     Action = "replay.end"
)

// Modal boxes and lines of input.
const (
	TaskCancel   Action = "task.cancel"
	TaskPause    Action = "task.pause"
	TaskRetry    Action = "task.retry"
	TaskClear    Action = "task.clear"
	SheetConfirm Action = "sheet.confirm"
	SheetKeep    Action = "sheet.keep"
	SheetPause   Action = "sheet.pause"

	ConfirmYes Action = "confirm.yes"
	ConfirmNo  Action = "confirm.no"
	MenuChoose Action = "menu.choose"

	FormNext   Action = "form.next"
	FormPrev   Action = "form.prev"
	FormLeft   Action = "form.left"
	FormRight  Action = "form.right"
	FormToggle Action = "form.toggle"
	FormSubmit Action = "form.submit"

	InputAccept   Action = "input.accept"
	InputPrev     Action = "input.prev"
	InputNext     Action = "input.next"
	InputComplete Action = "input.complete"

	HelpSearch Action = "help.search"

	ColumnToggle Action = "columns.toggle"
	ColumnUp     Action = "columns.up"
	ColumnDown   Action = "columns.down"
	ColumnReset  Action = "columns.reset"

	// ResultsStop ends what a broadcast still runs; ResultsCopy copies the grid.
	ResultsStop  Action = "results.stop"
	ResultsCopy  Action = "results.copy"
	ResultsGroup Action = "results.group"
)

// The screen of providers.
const (
	ProviderShow    Action = "provider.show"
	ProviderAll     Action = "provider.all"
	ProviderDoctor  Action = "provider.doctor"
	ProviderTest    Action = "provider.test"
	ProviderKey     Action = "provider.key"
	ProviderDefault Action = "provider.default"
)

// Templates.
const (
	TemplatesOpen    Action = "templates.open"
	TemplateStart    Action = "template.start"
	TemplateRollback Action = "template.rollback"
	TemplateTags     Action = "template.tags"
	TemplateDelete   Action = "template.delete"
	// TemplateLint and the next ones are about a folder on this machine.
	TemplateLint   Action = "template.lint"
	TemplateTry    Action = "template.check"
	TemplateEdit   Action = "template.edit"
	TemplateBuild  Action = "template.build"
	TemplateDeploy Action = "template.deploy"
	TemplateTarget Action = "template.target"
	// TemplateCall asks for the arguments of a named command and calls it.
	TemplateCall  Action = "template.call"
	TemplateWatch Action = "template.watch"
	TemplateRetry Action = "template.retry"
	TemplateStop  Action = "template.stop"
	// TemplateJob shows the last build or deploy of a folder.
	TemplateJob Action = "template.job"
	// SortUsed sorts templates by how many live sandboxes are of them.
	SortUsed Action = "sort.used"

	// WizardWrite ends the wizard, WizardNext and WizardPrev show another file.
	WizardWrite Action = "wizard.write"
	WizardNext  Action = "wizard.next-file"
	WizardPrev  Action = "wizard.previous-file"
)

// TabNumber returns which tab (0 is the first) a Tab1 … Tab9 action means.
func TabNumber(a Action) (int, bool) {
	if len(a) == len(Tab1) && a >= Tab1 && a <= Tab9 {
		return int(a[len(a)-1] - '1'), true
	}
	return 0, false
}

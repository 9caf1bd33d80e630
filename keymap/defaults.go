package keymap

// contextInfo describes a context: its heading in help and the contexts that
// may hold together with it. Modal contexts hold alone (with Always).
type contextInfo struct {
	name  Context
	title string
	// under are the contexts below this one in a screen's list.
	under []Context
	// capture contexts are looked at while a screen captures raw keys.
	capture bool
}

// contexts is every context in the order of help and of the README table.
func contexts() []contextInfo {
	screen := []Context{Move, Global, Always}
	inDetail := append([]Context{Detail, Sandbox}, screen...)
	return []contextInfo{
		{name: List, title: "List", under: append([]Context{Sandbox}, screen...)},
		{name: Overview, title: "Overview", under: inDetail},
		{name: Output, title: "Output", under: append([]Context{Logs}, inDetail...)},
		{name: Files, title: "Files", under: append([]Context{Preview}, inDetail...)},
		{name: Preview, title: "Preview", under: inDetail},
		{name: Logs, title: "Logs", under: inDetail},
		{name: Detail, title: "Tabs", under: append([]Context{Sandbox}, screen...)},
		{name: Sandbox, title: "Sandbox", under: screen},
		{name: Shell, title: "Shell", capture: true},
		{name: Scrollback, title: "Scroll-back", under: screen},
		{name: Tasks, title: "Tasks", under: screen},
		{name: Move, title: "Move", under: []Context{Global, Always}},
		{name: Global, title: "Everywhere", under: []Context{Always}},
		{name: Always, title: "Always"},
		{name: Sheet, title: "Kill sheet", under: []Context{Move, Always}},
		{name: Create, title: "New sandbox", under: []Context{Form}},
		{name: Form, title: "Form"},
		{name: Input, title: "Line of input"},
		{name: Menu, title: "Menu", under: []Context{Move, Always}},
		{name: Confirm, title: "Question", under: []Context{Always}},
		{name: Message, title: "Message", under: []Context{Move, Always}},
		{name: Help, title: "Help", under: []Context{Move, Always}},
		{name: Palette, title: "Palette"},
	}
}

// defaultBindings is the registry. Within a context, order is the order of the
// footer and of help: what is needed most comes first.
func defaultBindings() []Binding {
	k := func(keys ...string) []string { return keys }
	return []Binding{
		{ListOpen, List, k("enter"), "Open the sandbox under the cursor.", "open", "open", false},
		{ListNew, List, k("n"), "Create a sandbox with the usual settings.", "new", "new", false},
		{ListOptions, List, k("N"), "Create a sandbox and choose its settings.", "", "new-with-options", false},
		{ListFilter, List, k("/"), "Filter: text, !not, ~regex, -f fuzzy, key=value, state:, provider:, stray.", "filter", "filter", false},
		{MarkToggle, List, k("space"), "Mark or unmark the row and go to the next one.", "mark", "", false},
		{MarkRange, List, k("v"), "Start or end marking a range.", "", "", false},
		{MarkAll, List, k("*"), "Mark every row that the filter shows.", "", "mark-all", false},
		{MarkClear, List, k(`ctrl+\`, "esc esc"), "Clear all marks.", "", "unmark-all", false},
		{ListStrays, List, k("S"), "Show only strays, or everything again.", "strays", "strays", false},
		{KillStrays, List, k("X"), "Review and kill all strays.", "", "kill-strays", true},
		{SortName, List, k(", n"), "Sort by name; again to reverse.", "", "sort-name", false},
		{SortAge, List, k(", a"), "Sort by age.", "", "sort-age", false},
		{SortTTL, List, k(", t"), "Sort by remaining time.", "", "sort-ttl", false},
		{SortCost, List, k(", c"), "Sort by cost.", "", "sort-cost", false},
		{SortState, List, k(", s"), "Sort by state.", "", "sort-state", false},
		{SortProvider, List, k(", p"), "Sort by provider.", "", "sort-provider", false},
		{SortReverse, List, k(", ,"), "Reverse the order.", "", "sort-reverse", false},
		{PaneGrow, List, k("+"), "Give the preview pane more room.", "", "", false},
		{PaneShrink, List, k("_"), "Give the preview pane less room.", "", "", false},
		{AppUndo, List, k("u"), "Undo a kill that has not been sent yet.", "", "", false},

		{OutputCancel, Output, k("c"), "Interrupt the running command.", "stop", "stop-command", false},
		{OutputRerun, Output, k("R"), "Run the shown command again.", "rerun", "rerun", false},
		{OutputOlder, Output, k("{"), "Show the previous command.", "", "", false},
		{OutputNewer, Output, k("}"), "Show the next command.", "", "", false},

		{FilesOpen, Files, k("enter", "l", "right"), "Open the folder or preview the file.", "open", "", false},
		{FilesParent, Files, k("h", "left", "backspace"), "Go to the parent folder.", "up", "", false},
		{FilesDownload, Files, k("d"), "Download to this machine.", "download", "download", false},
		{FilesUpload, Files, k("u"), "Upload a file into this folder.", "upload", "upload", false},
		{FilesEdit, Files, k("e"), "Edit in $EDITOR.", "", "edit", false},
		{FilesCopyPath, Files, k("y"), "Copy the path.", "", "copy-path", false},
		{FilesHidden, Files, k("."), "Show or hide dot files.", "", "hidden-files", false},
		{FilesHome, Files, k("~"), "Go to the home folder.", "", "", false},
		{FilesFilter, Files, k("/"), "Filter the folder.", "filter", "", false},

		{SearchOpen, Preview, k("/"), "Search in the text.", "search", "", false},
		{SearchNext, Preview, k("n"), "Next match.", "", "", false},
		{SearchPrev, Preview, k("N"), "Previous match.", "", "", false},
		{ViewWrap, Preview, k("w"), "Wrap long lines or not.", "wrap", "", false},

		{LogFollow, Logs, k("f"), "Follow new lines or pause.", "follow", "", false},
		{ViewWrap, Logs, k("w"), "Wrap long lines or not.", "wrap", "", false},
		{LogTime, Logs, k("t"), "Show or hide the time of each line.", "time", "", false},
		{SearchOpen, Logs, k("/"), "Search in the lines.", "search", "", false},
		{SearchNext, Logs, k("n"), "Next match.", "", "", false},
		{SearchPrev, Logs, k("N"), "Previous match.", "", "", false},
		{LogErrors, Logs, k("e"), "Show standard error only.", "errors", "", false},
		{LogCopy, Logs, k("Y"), "Copy all lines.", "", "copy-all", false},
		{LogSave, Logs, k("ctrl+s"), "Save to a file.", "", "save", false},

		{TabNext, Detail, k("tab", "]"), "Next tab.", "tabs", "", false},
		{TabPrev, Detail, k("shift+tab", "["), "Previous tab.", "", "", false},
		{Tab1, Detail, k("1", "alt+1"), "First tab.", "", "", false},
		{Tab2, Detail, k("2", "alt+2"), "Second tab.", "", "", false},
		{Tab3, Detail, k("3", "alt+3"), "Third tab.", "", "", false},
		{Tab4, Detail, k("4", "alt+4"), "Fourth tab.", "", "", false},
		{Tab5, Detail, k("5", "alt+5"), "Fifth tab.", "", "", false},
		{Tab6, Detail, k("6", "alt+6"), "Sixth tab.", "", "", false},
		{Tab7, Detail, k("7", "alt+7"), "Seventh tab.", "", "", false},
		{Tab8, Detail, k("8", "alt+8"), "Eighth tab.", "", "", false},
		{Tab9, Detail, k("9", "alt+9"), "Ninth tab.", "", "", false},

		{SandboxShell, Sandbox, k("s"), "Open a shell; ctrl+] d comes back.", "shell", "shell", false},
		{SandboxRun, Sandbox, k("!"), "Run one command and see its output.", "run", "run", false},
		{SandboxFiles, Sandbox, k("f"), "Browse files.", "files", "files", false},
		{SandboxLogs, Sandbox, k("l"), "Show the output of commands.", "", "logs", false},
		{SandboxKill, Sandbox, k("x"), "Kill: shows a review sheet first.", "kill", "kill", true},
		{SandboxExtend, Sandbox, k("t"), "Extend the remaining time.", "extend", "extend", false},
		{SandboxPause, Sandbox, k("p"), "Pause.", "", "pause", false},
		{SandboxResume, Sandbox, k("r"), "Resume.", "", "resume", false},
		{SandboxCopyID, Sandbox, k("y"), "Copy the id.", "", "copy-id", false},
		{SandboxRaw, Sandbox, k("J"), "Show what the provider says, as JSON.", "", "json", false},
		{SandboxDetail, Sandbox, k("d"), "Show the details.", "", "details", false},

		{ShellDetach, Shell, k("ctrl+] d"), "Leave the shell running and go back.", "detach", "", false},
		{ShellNext, Shell, k("ctrl+] n"), "Next shell.", "next", "", false},
		{ShellPrev, Shell, k("ctrl+] p"), "Previous shell.", "prev", "", false},
		{ShellNew, Shell, k("ctrl+] c"), "Open another shell.", "new", "", false},
		{ShellScrollback, Shell, k("ctrl+] ["), "Scroll back.", "scroll", "", false},
		{ShellPaste, Shell, k("ctrl+] ]"), "Paste what was copied in the scroll-back.", "", "", false},
		{ShellRecord, Shell, k("ctrl+] r"), "Start or stop recording.", "", "", false},
		{ShellZoom, Shell, k("ctrl+] z"), "Use the whole window, or the pane again.", "zoom", "", false},
		{ShellUndo, Shell, k("ctrl+] u"), "Undo a kill that has not been sent yet.", "", "", false},
		{ShellHelp, Shell, k("ctrl+] ?"), "Show the keys that work here.", "keys", "", false},
		{ShellLiteral, Shell, k("ctrl+] ctrl+]"), "Send the leader key to the shell.", "", "", false},

		{SearchOpen, Scrollback, k("/"), "Search in the scroll-back.", "search", "", false},
		{SearchNext, Scrollback, k("n"), "Next match.", "", "", false},
		{SearchPrev, Scrollback, k("N"), "Previous match.", "", "", false},
		{NavBack, Scrollback, k("esc", "q"), "Back to the live shell.", "live", "", false},

		{TaskCancel, Tasks, k("x"), "Cancel the task.", "cancel", "", false},

		{MoveUp, Move, k("k", "up"), "Up.", "", "", false},
		{MoveDown, Move, k("j", "down"), "Down.", "", "", false},
		{MoveLeft, Move, k("h", "left"), "Left.", "", "", false},
		{MoveRight, Move, k("right"), "Right.", "", "", false},
		{MovePageUp, Move, k("pgup", "ctrl+b"), "One page up.", "", "", false},
		{MovePageDown, Move, k("pgdown", "ctrl+f"), "One page down.", "", "", false},
		{MoveHalfUp, Move, k("ctrl+u"), "Half a page up.", "", "", false},
		{MoveHalfDown, Move, k("ctrl+d"), "Half a page down.", "", "", false},
		{MoveTop, Move, k("g", "home"), "First line.", "", "", false},
		{MoveBottom, Move, k("G", "end"), "Last line.", "", "", false},

		{AppHelp, Global, k("?", "f1"), "Show the keys that work here.", "help", "help", false},
		{AppPalette, Global, k("ctrl+k"), "Find any action by name.", "find", "", false},
		{AppCommand, Global, k(":"), "Type a command.", "", "", false},
		{NavBack, Global, k("esc"), "Back: leave a mode, then the screen.", "", "back", false},
		{NavQuit, Global, k("q"), "Back one level; quits at the list.", "quit", "", false},
		{AppRefresh, Global, k("ctrl+r"), "Refresh now.", "", "refresh", false},
		{AppTasks, Global, k("w"), "Show transfers and other work in the background.", "", "tasks", false},
		{AppMouse, Global, k("m"), "Give the mouse to the terminal, or take it back.", "", "mouse", false},
		{AppMessages, Global, nil, "Show the messages so far.", "", "messages", false},
		{AppQuit, Global, nil, "Quit.", "", "quit", false},

		{AppUndo, Always, k("z"), "Undo a kill that has not been sent yet.", "", "undo", false},
		{AppRedraw, Always, k("ctrl+l"), "Draw the screen again.", "", "redraw", false},
		{AppSuspend, Always, k("ctrl+z"), "Suspend; fg comes back.", "", "suspend", false},
		{AppInterrupt, Always, k("ctrl+c"), "Ask to quit; twice quits.", "", "", false},

		{SheetConfirm, Sheet, k("y"), "Kill in five seconds.", "kill in 5 s", "", true},
		{SheetKeep, Sheet, k("space"), "Keep this one.", "keep this one", "", false},
		{SheetPause, Sheet, k("p"), "Pause instead of killing.", "", "", false},
		{NavBack, Sheet, k("esc", "q"), "Back; nothing is killed.", "back", "", false},

		{FormSubmit, Create, k("ctrl+s"), "Create it now.", "create", "", false},

		{FormSubmit, Form, k("enter"), "Accept.", "accept", "", false},
		{FormNext, Form, k("tab", "down"), "Next field.", "next field", "", false},
		{FormPrev, Form, k("shift+tab", "up"), "Previous field.", "", "", false},
		{FormLeft, Form, k("left"), "Previous choice.", "", "", false},
		{FormRight, Form, k("right"), "Next choice.", "", "", false},
		{FormToggle, Form, k("space"), "Switch on or off.", "", "", false},
		{NavBack, Form, k("esc"), "Cancel.", "cancel", "", false},

		{InputAccept, Input, k("enter"), "Accept.", "accept", "", false},
		{InputComplete, Input, k("tab"), "Complete.", "", "", false},
		{InputPrev, Input, k("up", "ctrl+p"), "Previous in history.", "history", "", false},
		{InputNext, Input, k("down", "ctrl+n"), "Next in history.", "", "", false},
		{NavBack, Input, k("esc"), "Cancel.", "cancel", "", false},

		{MenuChoose, Menu, k("enter"), "Choose.", "choose", "", false},
		{NavBack, Menu, k("esc", "q"), "Back.", "back", "", false},

		{ConfirmYes, Confirm, k("y"), "Yes.", "yes", "", false},
		{ConfirmNo, Confirm, k("n"), "No.", "no", "", false},
		{NavBack, Confirm, k("esc", "q"), "Back; nothing happens.", "back", "", false},

		{NavBack, Message, k("esc", "q", "enter"), "Close.", "close", "", false},

		{HelpSearch, Help, k("/"), "Search.", "search", "", false},
		{NavBack, Help, k("esc", "q", "?"), "Close.", "close", "", false},

		{InputAccept, Palette, k("enter"), "Run it.", "run", "", false},
		{InputComplete, Palette, k("tab"), "Complete.", "", "", false},
		{InputPrev, Palette, k("up", "ctrl+p"), "Up.", "", "", false},
		{InputNext, Palette, k("down", "ctrl+n"), "Down.", "", "", false},
		{NavBack, Palette, k("esc"), "Close.", "close", "", false},
	}
}

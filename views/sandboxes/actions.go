package sandboxes

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

func gone(err error) bool { return errors.Is(err, client.ErrNotFound) }

// act carries out one action of the list.
func (s *Screen) act(msg ui.ActionMsg) tea.Cmd {
	if key := sortKey(msg.Action); key != "" {
		s.table.SortBy(key)
		s.keepSort()
		return nil
	}
	switch msg.Action {
	case keymap.MarkToggle, keymap.MarkRange, keymap.MarkAll, keymap.MarkClear:
		// Marks that the user touched are the user's.
		clear(s.leftover)
	}
	if s.table.Do(msg.Action) {
		if msg.Action == keymap.SortReverse {
			s.keepSort()
		}
		return nil
	}
	if takesNames(msg.Action) && msg.Arg != "" {
		if err := s.goTo(msg.Arg); err != nil {
			return ui.Toast(ui.ToastWarn, s.env.Lang.Err(err))
		}
	}
	switch msg.Action {
	case keymap.NavBack:
		s.back()
	case keymap.ListFilter:
		return s.startFilter(msg.Arg)
	case keymap.ListStrays:
		s.strayOnly = !s.strayOnly
		s.applyFilter()
	case keymap.ListNew, keymap.ListOptions:
		return s.create(msg.Action == keymap.ListOptions)
	case keymap.PaneGrow:
		s.pane = min(2, s.pane+1)
	case keymap.PaneShrink:
		s.pane = max(0, s.pane-1)
	case keymap.ListColumns:
		return ui.OpenOverlay(newColumnsBox(s.columnKeys(), s.usualColumns()))
	case keymap.ListViews:
		return s.goView(msg.Arg)
	case keymap.ListSaveView:
		return s.saveView(msg.Arg)
	case keymap.ListDeleteView:
		return s.deleteView(msg.Arg)
	default:
		return s.actOnBoxes(msg)
	}
	return nil
}

// actOnBoxes carries out what means sandboxes.
func (s *Screen) actOnBoxes(msg ui.ActionMsg) tea.Cmd {
	switch msg.Action {
	case keymap.KillStrays:
		return s.killStrays()
	case keymap.SandboxKill:
		return s.kill(s.targets())
	case keymap.SandboxExtend:
		return s.extend(msg.Arg)
	case keymap.SandboxSetTTL:
		return s.setTTL(msg.Arg)
	case keymap.SandboxPause, keymap.SandboxResume:
		return s.pauseResume(msg.Action == keymap.SandboxPause)
	case keymap.SandboxProtect:
		return s.protect()
	case keymap.SandboxCopyID:
		return s.copyIDs()
	case keymap.AppCopyCommand:
		return s.copyCommand()
	case keymap.ListBroadcast:
		return s.broadcast(msg.Arg)
	case keymap.SandboxRun:
		if s.table.MarkedCount() > 0 || s.table.Ranging() || msg.Arg != "" {
			return s.broadcast(msg.Arg)
		}
	}
	return s.goInto(msg.Action)
}

// takesNames reports whether what follows a ":" command names a sandbox.
func takesNames(a keymap.Action) bool {
	switch a {
	case keymap.ListOpen, keymap.SandboxDetail, keymap.SandboxRaw, keymap.SandboxLogs, keymap.SandboxFiles, keymap.SandboxShell,
		keymap.SandboxKill, keymap.SandboxPause, keymap.SandboxResume, keymap.SandboxProtect, keymap.SandboxCopyID:
		return true
	default:
		return false
	}
}

// goTo puts the cursor on the one row that text names, and clears marks, so
// that the action means that row alone.
func (s *Screen) goTo(text string) error {
	var exact, prefix []*entry
	for _, e := range s.store.entries() {
		switch id := string(e.sb.ID); {
		case e.id == text, id == text, e.sb.Name == text:
			exact = append(exact, e)
		case strings.HasPrefix(id, text):
			prefix = append(prefix, e)
		}
	}
	found := exact
	if len(found) == 0 {
		found = prefix
	}
	switch {
	case len(found) == 0:
		return lang.Errorf("no sandbox here is called %s", present.CleanMax(text, 40))
	case len(found) > 1:
		return lang.Errorf("%s fits %d sandboxes; give more of the id", present.CleanMax(text, 40), len(found))
	case !s.table.SetCursor(found[0].id):
		return lang.Errorf("the filter hides %s", present.Label(found[0].sb))
	}
	s.table.ClearMarks()
	return nil
}

// sortKey is the column that a sort action means, or "".
func sortKey(a keymap.Action) string {
	switch a {
	case keymap.SortName:
		return "name"
	case keymap.SortAge:
		return "age"
	case keymap.SortTTL:
		return "ttl"
	case keymap.SortCost:
		return "cost"
	case keymap.SortState:
		return "state"
	case keymap.SortProvider:
		return "provider"
	case keymap.SortCPU:
		return "cpu"
	case keymap.SortMemory:
		return "memory"
	case keymap.SortOwner:
		return "owner"
	case keymap.SortTemplate:
		return "template"
	case keymap.SortIsolation:
		return "isolation"
	default:
		return ""
	}
}

// goInto opens another screen on the row under the cursor.
func (s *Screen) goInto(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.ListOpen, keymap.SandboxDetail, keymap.SandboxRaw:
		return s.open(present.TabOverview)
	case keymap.SandboxRun, keymap.SandboxLogs:
		return s.open(present.TabOutput)
	case keymap.SandboxFiles:
		return s.open(present.TabFiles)
	case keymap.SandboxShell:
		return s.shell(present.OpenShell)
	case keymap.SandboxAttach:
		return s.shell(present.OpenRawShell)
	}
	return nil
}

// back leaves the innermost mode of the list; at the bottom there is nothing to leave.
func (s *Screen) back() {
	switch {
	case s.table.Ranging():
		s.table.CancelRange()
	case !s.filter.Empty():
		s.setFilter("")
	case s.strayOnly:
		s.strayOnly = false
		s.applyFilter()
	}
}

// startFilter edits the filter line, or takes what followed a ":" command.
func (s *Screen) startFilter(arg string) tea.Cmd {
	if arg == "" {
		s.editFilter()
		return nil
	}
	s.setFilter(arg)
	if s.filterErr != "" {
		text := s.filterErr
		s.filterErr = ""
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("filter: %s", text))
	}
	return nil
}

func (s *Screen) create(full bool) tea.Cmd {
	if s.opt.ReadOnly {
		return s.readOnly()
	}
	return ui.Cmd(present.CreateRequestMsg{Full: full})
}

func (s *Screen) open(tab present.Tab) tea.Cmd {
	e := s.current()
	if e == nil {
		return nil
	}
	return present.OpenSandbox(e.sb.Clone(), tab)
}

// shell attaches. A state in which that may not work is said first; the same
// key again goes on.
func (s *Screen) shell(open func(client.Sandbox) tea.Cmd) tea.Cmd {
	e := s.current()
	if e == nil {
		return nil
	}
	if !e.sb.Running() && s.asked != e.id {
		s.asked = e.id
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("its state is %q: a shell may not open, press %s again to try",
			s.env.Lang.Word(present.StateWord(e.sb)), present.KeyIn(s.env.Keys, keymap.Sandbox, keymap.SandboxShell)))
	}
	s.asked = ""
	return open(e.sb.Clone())
}

// kill asks for the review sheet with copies of the targets.
func (s *Screen) kill(rows []*entry) tea.Cmd {
	if len(rows) == 0 {
		return nil
	}
	msg := present.KillRequestMsg{Targets: make([]present.KillTarget, len(rows))}
	for i, e := range rows {
		msg.Targets[i] = present.KillTarget{Sandbox: e.sb.Clone(), Stray: e.stray}
	}
	return ui.Cmd(msg)
}

// killStrays reviews every stray of the providers shown, whatever the filter shows.
func (s *Screen) killStrays() tea.Cmd {
	var rows []*entry
	for _, e := range s.store.entries() {
		if len(e.stray) > 0 && e.kill == killNone && !e.stale() && !s.store.hides(e.src) {
			rows = append(rows, e)
		}
	}
	if len(rows) == 0 {
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("no strays"))
	}
	return s.kill(rows)
}

func (s *Screen) copyIDs() tea.Cmd {
	rows := s.targets()
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i, e := range rows {
		// Ids come from outside; only clean text goes to the clipboard.
		ids[i] = present.Clean(string(e.sb.ID))
	}
	text := s.env.Lang.T("copied %s", ids[0])
	if len(ids) > 1 {
		text = s.env.Lang.T("copied %d ids", len(ids))
	}
	return tea.Batch(tea.SetClipboard(strings.Join(ids, "\n")), ui.Toast(ui.ToastOK, text))
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	switch a {
	case keymap.KillStrays:
		if s.counts.stray == 0 {
			return s.env.Lang.T("there are no strays")
		}
	}
	need, ok := needs(a)
	if !ok {
		return ""
	}
	e := s.current()
	if e == nil {
		return s.env.Lang.T("there is no sandbox here")
	}
	p := s.opt.Providers.Get(e.sb.Provider)
	if need == "" || p == nil {
		return ""
	}
	return present.Lacks(p, need, s.env.Lang)
}

// needs tells which actions mean a sandbox, and the capability they take, if any.
func needs(a keymap.Action) (need client.Capability, ok bool) {
	switch a {
	case keymap.ListOpen, keymap.SandboxDetail, keymap.SandboxRaw, keymap.SandboxLogs,
		keymap.SandboxKill, keymap.SandboxExtend, keymap.SandboxSetTTL, keymap.SandboxCopyID, keymap.SandboxProtect:
		return "", true
	case keymap.SandboxPause, keymap.SandboxResume:
		return client.CapPause, true
	case keymap.SandboxShell, keymap.SandboxAttach:
		return client.CapPTY, true
	case keymap.SandboxRun, keymap.ListBroadcast:
		return client.CapCommands, true
	case keymap.SandboxFiles:
		return client.CapFiles, true
	default:
		return "", false
	}
}

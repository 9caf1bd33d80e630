package sandboxes

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
)

func gone(err error) bool { return errors.Is(err, client.ErrNotFound) }

// act carries out one action of the list.
func (s *Screen) act(msg ui.ActionMsg) tea.Cmd {
	if key := sortKey(msg.Action); key != "" {
		s.table.SortBy(key)
		return nil
	}
	switch msg.Action {
	case keymap.MarkToggle, keymap.MarkRange, keymap.MarkAll, keymap.MarkClear:
		// Marks that the user touched are the user's.
		clear(s.leftover)
	}
	if s.table.Do(msg.Action) {
		return nil
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
	case keymap.KillStrays:
		return s.killStrays()
	case keymap.SandboxKill:
		return s.kill(s.targets())
	case keymap.SandboxExtend:
		return s.extend()
	case keymap.SandboxCopyID:
		return s.copyIDs()
	default:
		return s.goInto(msg.Action)
	}
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
		return s.shell()
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
		return ui.Toast(ui.ToastWarn, "filter: "+text)
	}
	return nil
}

func (s *Screen) create(full bool) tea.Cmd {
	if s.opt.ReadOnly {
		return readOnly()
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
func (s *Screen) shell() tea.Cmd {
	e := s.current()
	if e == nil {
		return nil
	}
	if !e.sb.Running() && s.asked != e.id {
		s.asked = e.id
		return ui.Toast(ui.ToastWarn, fmt.Sprintf("its state is %q: a shell may not open, press %s again to try",
			present.StateWord(e.sb), present.KeyIn(s.env.Keys, keymap.Sandbox, keymap.SandboxShell)))
	}
	s.asked = ""
	return present.OpenShell(e.sb.Clone())
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

// killStrays reviews every stray, whatever the filter shows.
func (s *Screen) killStrays() tea.Cmd {
	var rows []*entry
	for _, e := range s.store.entries() {
		if len(e.stray) > 0 && e.kill == killNone && !e.stale() {
			rows = append(rows, e)
		}
	}
	if len(rows) == 0 {
		return ui.Toast(ui.ToastInfo, "no strays")
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
	text := "copied " + ids[0]
	if len(ids) > 1 {
		text = fmt.Sprintf("copied %d ids", len(ids))
	}
	return tea.Batch(tea.SetClipboard(strings.Join(ids, "\n")), ui.Toast(ui.ToastOK, text))
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	switch a {
	case keymap.SandboxPause, keymap.SandboxResume:
		return "pausing is not offered yet"
	case keymap.KillStrays:
		if s.counts.stray == 0 {
			return "there are no strays"
		}
	}
	need, ok := needs(a)
	if !ok {
		return ""
	}
	e := s.current()
	if e == nil {
		return "there is no sandbox here"
	}
	p := s.opt.Providers.Get(e.sb.Provider)
	if need == "" || p == nil {
		return ""
	}
	if err := p.Capabilities().Missing(p.Name(), need); err != nil {
		return present.ErrorLine(err)
	}
	return ""
}

// needs tells which actions mean a sandbox, and the capability they take, if any.
func needs(a keymap.Action) (need client.Capability, ok bool) {
	switch a {
	case keymap.ListOpen, keymap.SandboxDetail, keymap.SandboxRaw, keymap.SandboxLogs,
		keymap.SandboxKill, keymap.SandboxExtend, keymap.SandboxCopyID:
		return "", true
	case keymap.SandboxShell:
		return client.CapPTY, true
	case keymap.SandboxRun:
		return client.CapCommands, true
	case keymap.SandboxFiles:
		return client.CapFiles, true
	default:
		return "", false
	}
}

package shell

import (
	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/attach"
	"abxdash/views/present"
)

// goRaw hands the whole terminal to the shell, as soon as there is one.
func (s *Screen) goRaw() tea.Cmd {
	s.raw, s.released = true, false
	if s.cur() == nil || s.cur().over() {
		return s.again()
	}
	return s.rawWhenReady()
}

// rawWhenReady goes on once the shell runs, if that was wished for.
func (s *Screen) rawWhenReady() tea.Cmd {
	l := s.live()
	p := s.opts.Manager.providers.Get(s.sb.Provider)
	if !s.raw || l == nil || p == nil || s.expiry != nil || s.closed {
		return nil
	}
	keys, err := rawKeys(s.env.Keys)
	if err != nil {
		s.raw = false
		return ui.Toast(ui.ToastWarn, err.Error())
	}
	s.expiry = present.FollowExpiry(s.env.Ctx, p, s.sb, s.env.Now, s.opts.Manager.opts.ReadOnly).In(s.env.Lang)
	s.inRaw = newRawShell(s, keys)
	return attach.Command(s.env.Ctx, l, attach.Options{
		Leader: keys.Leader, Detach: keys.Detach, Keys: keys.For(leavesRaw),
		Hint:  keys.Hint(s.env.Keys, func(a keymap.Action) bool { return a != keymap.ShellRaw }),
		Alert: s.expiry.Alert, Handle: s.inRaw.handle, Calls: s.inRaw.calls, Status: s.inRaw.status,
		Lang: s.env.Lang,
	})
}

// rawKeys are the same keys as in a pane.
func rawKeys(m *keymap.Map) (attach.SecondKeys, error) {
	keys, err := attach.KeysOf(m)
	for r, a := range keys.Actions {
		if a == keymap.ShellRaw { // it has the whole terminal
			delete(keys.Actions, r)
		}
	}
	return keys, err
}

// leavesRaw reports whether an action needs the dashboard. Most of them come
// back to the raw terminal.
func leavesRaw(a keymap.Action) bool {
	switch a {
	case keymap.ShellExtend, keymap.ShellNext, keymap.ShellPrev, keymap.ShellNew, keymap.ShellPaste,
		keymap.ShellRecord, keymap.ShellRecordInput:
		return false
	}
	return true
}

// left goes on after the raw terminal was left, with the key that left it.
func (s *Screen) left(m attach.DoneMsg) tea.Cmd {
	x := s.cur()
	if s.expiry == nil || x == nil || m.Result.Session != x.live {
		return nil
	}
	later, keys := s.inRaw.later(), s.inRaw.keys
	s.inRaw = nil
	s.sb = s.expiry.Sandbox()
	s.expiry.Stop()
	s.expiry = nil
	updated := tea.Batch(ui.Cmd(present.UpdatedMsg{Sandbox: s.sb.Clone()}), later)
	switch m.Result.Reason {
	case attach.Detached:
		return tea.Batch(updated, s.leftWith(keys.Actions[m.Result.Key]))
	case attach.Failed:
		s.raw = false
		return tea.Batch(updated, ui.Toast(ui.ToastError, present.ErrorLine(m.Result.Err)))
	case attach.Ended:
		s.raw = false
		if s.opts.Raw {
			return tea.Batch(updated, s.ended(x))
		}
	}
	s.raw = false
	return updated
}

// leftWith carries out the key that left. What changes nothing that is seen
// comes back to the raw terminal.
func (s *Screen) leftWith(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.ShellDetach:
		s.raw = false
		if s.opts.Raw {
			return ui.Cmd(ui.BackMsg{})
		}
		return nil
	case keymap.ShellUndo:
		cmd, again := s.act(a), s.rawWhenReady()
		s.raw = again != nil
		return tea.Sequence(cmd, again)
	case keymap.ShellZoom:
		s.raw = false
		return nil // the pane, in place of the raw terminal
	}
	s.raw = false
	return s.act(a)
}

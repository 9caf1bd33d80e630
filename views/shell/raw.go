package shell

import (
	"strings"

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
	leader, err := attach.ParseLeader(s.env.Keys.Leader())
	if err != nil {
		s.raw = false
		return ui.Toast(ui.ToastWarn, err.Error())
	}
	s.expiry = present.FollowExpiry(s.env.Ctx, p, s.sb, s.env.Now, s.opts.Manager.opts.ReadOnly).In(s.env.Lang)
	s.inRaw = newRawShell(s, rawKeys(s.env.Keys))
	return attach.Command(s.env.Ctx, l, attach.Options{
		Leader: leader, Detach: s.inRaw.keys.detach, Keys: s.inRaw.keys.leave, Hint: s.inRaw.keys.hint,
		Alert: s.expiry.Alert, Handle: s.inRaw.handle, Calls: s.inRaw.calls, Status: s.inRaw.status,
		Lang: s.env.Lang,
	})
}

// secondKeys are the keys after the leader in raw attach.
type secondKeys struct {
	detach  rune
	leave   string
	hint    string
	actions map[rune]keymap.Action
}

// rawKeys are the same keys as in a pane. Those that need the dashboard leave
// the raw terminal; most of them come back to it.
func rawKeys(m *keymap.Map) secondKeys {
	out := secondKeys{detach: 'd', actions: map[rune]keymap.Action{}}
	prefix := m.Leader() + " "
	var hints []string
	for _, b := range m.Bindings([]keymap.Context{keymap.Shell}) {
		for i, k := range b.Keys {
			rest, ok := strings.CutPrefix(k, prefix)
			r := []rune(rest)
			if !ok || len(r) != 1 || b.Action == keymap.ShellRaw {
				continue
			}
			if i == 0 && b.Short != "" {
				hints = append(hints, rest+" "+b.Short)
			}
			out.actions[r[0]] = b.Action
			switch b.Action {
			case keymap.ShellDetach:
				out.detach = r[0]
			case keymap.ShellExtend, keymap.ShellNext, keymap.ShellPrev, keymap.ShellNew, keymap.ShellPaste,
				keymap.ShellRecord, keymap.ShellRecordInput:
			default:
				out.leave += rest
			}
		}
	}
	out.hint = strings.Join(hints, " · ")
	return out
}

// left goes on after the raw terminal was left, with the key that left it.
func (s *Screen) left(m attach.DoneMsg) tea.Cmd {
	x := s.cur()
	if s.expiry == nil || x == nil || m.Result.Session != x.live {
		return nil
	}
	later := s.inRaw.later()
	s.inRaw = nil
	s.sb = s.expiry.Sandbox()
	s.expiry.Stop()
	s.expiry = nil
	updated := tea.Batch(ui.Cmd(present.UpdatedMsg{Sandbox: s.sb.Clone()}), later)
	switch m.Result.Reason {
	case attach.Detached:
		return tea.Batch(updated, s.leftWith(rawKeys(s.env.Keys).actions[m.Result.Key]))
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

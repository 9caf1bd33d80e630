package shell

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/attach"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// act carries out an action; those of the shell come after the leader key.
func (s *Screen) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.ShellDetach:
		if s.opts.Whole {
			return ui.Cmd(ui.BackMsg{})
		}
		s.released = true
	case keymap.ShellNew:
		return s.start()
	case keymap.ShellNext:
		s.turn(1)
	case keymap.ShellPrev:
		s.turn(-1)
	case keymap.ShellSplit:
		return s.split()
	case keymap.ShellFocus:
		s.focus = (s.focus + 1) % len(s.panes)
	case keymap.ShellRename:
		return s.rename()
	case keymap.ShellLiteral:
		if l := s.live(); l != nil {
			l.Send(s.leaderBytes())
		}
	case keymap.ShellScrollback:
		if s.live() != nil {
			s.pane().widget.Browse(true)
		}
	case keymap.ShellPaste:
		return s.paste(s.opts.Manager.clip)
	case keymap.ShellZoom:
		if !s.opts.Whole {
			return ui.Open(present.RouteShell, present.ShellParams{Sandbox: s.sb})
		}
		return ui.Cmd(ui.BackMsg{})
	case keymap.ShellRaw, keymap.SandboxAttach:
		return s.goRaw()
	case keymap.ShellRecord, keymap.ShellRecordInput:
		return s.record(a == keymap.ShellRecordInput)
	case keymap.ShellExtend:
		return s.extend()
	case keymap.ShellLinks:
		return s.links()
	case keymap.ShellUndo:
		return ui.Cmd(ui.ActionMsg{Action: keymap.AppUndo})
	case keymap.ShellHelp:
		return ui.Cmd(ui.ActionMsg{Action: keymap.AppHelp})
	case keymap.NavBack:
		return s.back()
	case keymap.MenuChoose, keymap.SandboxShell:
		if !s.browsing() {
			return s.again()
		}
	default:
		return s.scrollback(a)
	}
	return nil
}

// leaderBytes is what the leader key sends to a program.
func (s *Screen) leaderBytes() []byte {
	l, err := attach.ParseLeader(s.env.Keys.Leader())
	if err != nil {
		l = attach.DefaultLeader() // a leader that is no ctrl key cannot be sent
	}
	return []byte{l.Byte}
}

// back leaves the scroll-back, or the screen.
func (s *Screen) back() tea.Cmd {
	if s.browsing() {
		w := s.pane().widget
		w.Browse(false)
		w.ScrollBottom()
		return nil
	}
	var forget tea.Cmd
	if x := s.cur(); x != nil && x.over() && (x.said || x.err != nil) {
		forget = s.opts.Manager.forget(x)
		s.remove(x)
	}
	return tea.Batch(forget, ui.Cmd(ui.BackMsg{}))
}

// again takes the keys back, or starts a new shell where the old one has ended.
func (s *Screen) again() tea.Cmd {
	x := s.cur()
	switch {
	case s.looking:
		return nil
	case s.confirm:
		return s.first()
	case x == nil:
		return s.start()
	case x.over():
		cmd := s.opts.Manager.forget(x)
		s.pane().s = nil
		return tea.Batch(cmd, s.start())
	}
	s.released = false
	return nil
}

// rename asks for a name.
func (s *Screen) rename() tea.Cmd {
	x := s.cur()
	if x == nil {
		return nil
	}
	return ui.OpenOverlay(dialog.Prompt(dialog.PromptOptions{
		Title: s.env.Lang.T("Name the shell"), Label: s.env.Lang.T("name: "), Value: x.name, Check: checkName,
		OnText: func(text string) tea.Cmd { return s.opts.Manager.rename(x, strings.TrimSpace(text)) },
	}))
}

// record begins or ends recording the shell that is typed into.
func (s *Screen) record(keys bool) tea.Cmd {
	if s.live() == nil {
		return nil
	}
	return s.opts.Manager.toggleRecording(s.cur(), present.Label(s.sb), keys)
}

// extend adds to the lifetime and says what that did.
func (s *Screen) extend() tea.Cmd {
	p := s.opts.Manager.providers.Get(s.sb.Provider)
	if p == nil {
		return nil
	}
	ctx, sb, now, tr := s.env.Ctx, s.sb, s.env.Now(), s.env.Lang
	return func() tea.Msg {
		r := present.Extend(ctx, p, sb, present.ExtendStep, now)
		if r.Err != nil {
			return ui.ToastMsg{Level: ui.ToastError, Text: present.ErrorLine(r.Err)}
		}
		level := ui.ToastOK
		if r.Short {
			level = ui.ToastWarn
		}
		return tea.BatchMsg{
			ui.Cmd(present.UpdatedMsg{Sandbox: r.After}), ui.Cmd(extendedMsg{r.Key, r.In(tr)}),
			ui.Toast(level, present.Label(sb)+": "+r.In(tr)),
		}
	}
}

// extendedMsg is what an extension did. The bar says it too: a warning may
// hide the message.
type extendedMsg struct {
	key  present.Key
	text string
}

// extendedTime is how long the bar says what an extension did.
const extendedTime = 10 * time.Second

// Bounds of a paste.
const (
	// askBytes and askLines are the largest paste that is not asked about.
	askBytes = 4 << 10
	askLines = 20
	// maxPaste is the largest paste at all: what a shell takes as typed input.
	maxPaste = 1 << 20
)

// paste types text into the shell; a large one is asked about first.
func (s *Screen) paste(text string) tea.Cmd {
	l, tr := s.live(), s.env.Lang
	if l == nil || text == "" {
		return nil
	}
	switch {
	case len(text) > maxPaste:
		return ui.Toast(ui.ToastError, tr.T("nothing pasted: it has %s, at most 1M can be typed into a shell; upload it as a file (u in Files, abxdash cp)", present.Size(int64(len(text)))))
	case !asksFirst(text):
		return s.pasteNow(text)
	}
	what, warning := pasteSize(text, tr), ""
	if !l.Terminal().Modes().BracketedPaste && pastedLines(text) > 1 {
		warning = "\n" + tr.T("The program does not tell a paste from typing: every line runs as if enter were pressed.")
	}
	return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: tr.T("Paste into the shell?"), Lines: dialog.Plain(what + warning + "\n\n" + firstLines(text, 5)), Yes: tr.T("paste"), No: tr.T("no"),
		OnYes: func() tea.Msg { return pasteMsg{s, text} },
	}))
}

func pastedLines(text string) int {
	return strings.Count(strings.ReplaceAll(text, "\r", "\n"), "\n") + 1
}

// asksFirst reports whether a paste is so large that it may be a mistake.
func asksFirst(text string) bool { return len(text) > askBytes || pastedLines(text) > askLines }

func pasteSize(text string, tr *lang.Catalog) string {
	n := pastedLines(text)
	return tr.N(len(text), "%d byte", "%d bytes", len(text)) + " " + tr.N(n, "in %d line", "in %d lines", n)
}

// pasteMsg is a large paste that was confirmed.
type pasteMsg struct {
	to   *Screen
	text string
}

func (s *Screen) pasteNow(text string) tea.Cmd {
	l := s.live()
	if l == nil {
		return nil
	}
	s.pane().widget.ScrollBottom()
	if !l.Paste(text) {
		return ui.Toast(ui.ToastError, s.env.Lang.T("nothing pasted: the shell has not read the last input yet"))
	}
	return nil
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.ReplaceAll(text, "\r\n", "\n"), "\n", n+1)
	more := ""
	if len(lines) > n {
		lines, more = lines[:n], "\n…"
	}
	for i := range lines {
		lines[i] = present.CleanMax(lines[i], 70)
	}
	return strings.Join(lines, "\n") + more
}

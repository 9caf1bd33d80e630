package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/clip"
	"abxdash/ui/dialog"
	"abxdash/ui/form"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// scrollback carries out an action while the text is moved through.
func (s *Screen) scrollback(a keymap.Action) tea.Cmd {
	w := s.pane().widget
	if w == nil || !s.browsing() {
		return nil
	}
	w.Browse(true)
	switch a {
	case keymap.SearchOpen:
		s.search = form.NewInput(s.env.Keys, keymap.Input, "/")
	case keymap.SearchNext, keymap.SearchPrev:
		// A search goes back in time, so the next match is the older one.
		return s.find(a == keymap.SearchNext)
	case keymap.ScrollSelect:
		w.ToggleSelect(false)
	case keymap.ScrollLines:
		w.ToggleSelect(true)
	case keymap.ScrollCopy:
		text := w.LineText()
		if w.Selected() {
			text = w.Text()
		}
		w.ClearSelection()
		return s.copy(text)
	case keymap.ScrollLink:
		return s.openLink(w.CursorLink())
	case keymap.PromptOlder, keymap.PromptNewer:
		if !w.MovePrompt(a == keymap.PromptOlder) {
			return ui.Toast(ui.ToastInfo, s.env.Lang.T("no further prompt; they are known where the shell marks them"))
		}
	default:
		move(w, a)
	}
	return nil
}

// move moves the browsing cursor.
func move(w *term.Widget, a keymap.Action) {
	switch a {
	case keymap.MoveUp:
		w.MoveCursor(0, -1)
	case keymap.MoveDown:
		w.MoveCursor(0, 1)
	case keymap.MoveLeft:
		w.MoveCursor(-1, 0)
	case keymap.MoveRight:
		w.MoveCursor(1, 0)
	case keymap.MovePageUp, keymap.MoveHalfUp:
		w.MovePage(1)
	case keymap.MovePageDown, keymap.MoveHalfDown:
		w.MovePage(-1)
	case keymap.MoveTop:
		w.MoveEdge(true)
	case keymap.MoveBottom:
		w.MoveEdge(false)
	case keymap.ScrollStart:
		w.MoveInLine(false)
	case keymap.ScrollEnd:
		w.MoveInLine(true)
	}
}

// searchKey edits the search line.
func (s *Screen) searchKey(msg tea.Msg) tea.Cmd {
	switch s.search.Update(msg) {
	case form.Cancelled:
		s.search = nil
	case form.Accepted:
		q := s.search.Value()
		s.search = nil
		if w := s.pane().widget; w != nil {
			w.SetQuery(q)
			return s.find(true)
		}
	}
	return nil
}

func (s *Screen) find(older bool) tea.Cmd {
	w := s.pane().widget
	if w.Query() == "" {
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("nothing is searched for yet"))
	}
	found, around := w.FindNext(older)
	switch {
	case !found:
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("not found: %s", present.CleanMax(w.Query(), 40)))
	case around && older:
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("went on at the bottom"))
	case around:
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("went on at the top"))
	}
	return nil
}

// copy puts text on the clipboard of the real terminal and keeps it for pasting.
func (s *Screen) copy(text string) tea.Cmd {
	if text == "" {
		return nil
	}
	s.opts.Manager.clip = text
	cmd, err := clip.Copy(text, s.opts.Manager.opts.Tmux)
	if err != nil {
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("%s; %s pastes it into a shell all the same", err, present.KeyIn(s.env.Keys, keymap.Shell, keymap.ShellPaste)))
	}
	n := len([]rune(text))
	return tea.Batch(cmd, ui.Toast(ui.ToastOK, s.env.Lang.N(n, "copied %d character", "copied %d characters", n)))
}

// links lists what the shell shows, to be opened or copied.
func (s *Screen) links() tea.Cmd {
	w := s.view(s.pane())
	if w == nil {
		return nil
	}
	found := w.Links()
	switch len(found) {
	case 0:
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("no links on the screen"))
	case 1:
		return s.openLink(found[0])
	}
	var items []dialog.Item
	for _, l := range found {
		items = append(items, dialog.Item{Label: present.CleanMax(l, 200), Cmd: ui.Cmd(linkMsg{s, l})})
	}
	return ui.OpenOverlay(dialog.Menu(s.env.Lang.T("Links"), items))
}

// linkMsg is a link that was chosen, openMsg one that was confirmed.
type (
	linkMsg struct {
		to     *Screen
		target string
	}
	openMsg struct {
		to     *Screen
		target string
	}
	copyMsg struct {
		to   *Screen
		text string
	}
)

// openLink asks before anything leaves the dashboard. The question shows the
// whole target, because a program may show another text than it links to.
func (s *Screen) openLink(target string) tea.Cmd {
	switch {
	case target == "":
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("there is no link here"))
	case s.opts.Manager.opts.OpenLink == nil || !term.WebLink(target):
		return s.askLink(target, s.env.Lang.T("Copy this link?"), s.env.Lang.T("copy"), ui.Cmd(copyMsg{s, target}))
	}
	return s.askLink(target, s.env.Lang.T("Open this link in a browser?"), s.env.Lang.T("open"), ui.Cmd(openMsg{s, target}))
}

func (s *Screen) askLink(target, title, yes string, then tea.Cmd) tea.Cmd {
	return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: title, Lines: dialog.Plain(present.CleanMax(target, 2000)), Yes: yes, No: s.env.Lang.T("no"), OnYes: then,
	}))
}

func (s *Screen) openNow(target string) tea.Cmd {
	open, tr := s.opts.Manager.opts.OpenLink, s.env.Lang
	return func() tea.Msg {
		if err := open(target); err != nil {
			return ui.ToastMsg{Level: ui.ToastError, Text: tr.T("not opened: %s", present.ErrorLine(err))}
		}
		return ui.ToastMsg{Level: ui.ToastOK, Text: tr.T("opened in the browser")}
	}
}

// drag is what the mouse is doing.
type drag struct {
	pane   *pane
	at     time.Time
	x, y   int
	clicks int
	moved  bool
}

// multiClick is how soon a click counts as another one of the same.
const multiClick = 400 * time.Millisecond

// mouse goes to the program if it wants it, else selects and scrolls. With
// shift it is never the program's.
func (s *Screen) mouse(m tea.MouseMsg) tea.Cmd {
	at := m.Mouse()
	if s.drag.pane != nil {
		if cmd, used := s.dragged(m); used {
			return cmd
		}
	}
	for i, p := range s.panes {
		if !(uv.Position{X: at.X, Y: at.Y}).In(p.area) {
			continue
		}
		if _, ok := m.(tea.MouseClickMsg); ok {
			s.focus, s.released = i, false
		}
		if i == s.focus {
			return s.mouseIn(p, m)
		}
	}
	return nil
}

func (s *Screen) mouseIn(p *pane, m tea.MouseMsg) tea.Cmd {
	w := s.view(p)
	if w == nil {
		return nil
	}
	at := m.Mouse()
	x, y := at.X-p.area.Min.X, at.Y-p.area.Min.Y
	if p.s.running() && !s.browsing() && at.Mod&uv.ModShift == 0 && p.s.live.Mouse(m, x, y) {
		return nil
	}
	switch m := m.(type) {
	case tea.MouseWheelMsg:
		switch m.Button {
		case tea.MouseWheelUp:
			w.Scroll(3)
		case tea.MouseWheelDown:
			w.Scroll(-3)
		}
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft {
			return s.clicked(p, w, x, y, at.Mod&uv.ModCtrl != 0)
		}
	}
	return nil
}

// clicked begins a selection; twice selects a word, three times a line. With
// ctrl it opens the link.
func (s *Screen) clicked(p *pane, w *term.Widget, x, y int, ctrl bool) tea.Cmd {
	if ctrl {
		if l := w.LinkAt(x, y); l != "" {
			return s.openLink(l)
		}
	}
	now, clicks := s.env.Now(), 1
	if d := s.drag; d.x == x && d.y == y && now.Sub(d.at) < multiClick {
		clicks = d.clicks%3 + 1
	}
	s.drag = drag{pane: p, at: now, x: x, y: y, clicks: clicks}
	switch clicks {
	case 1:
		w.SelectFrom(x, y)
	case 2:
		w.SelectWord(x, y)
	case 3:
		w.SelectLine(x, y)
	}
	return nil
}

// dragged extends the selection, and copies it when the button is let go.
func (s *Screen) dragged(m tea.MouseMsg) (tea.Cmd, bool) {
	d := &s.drag
	w, at := d.pane.widget, m.Mouse()
	if w == nil {
		d.pane = nil
		return nil, false
	}
	switch m.(type) {
	case tea.MouseMotionMsg:
		d.moved = true
		w.SelectTo(at.X-d.pane.area.Min.X, at.Y-d.pane.area.Min.Y)
		return nil, true
	case tea.MouseReleaseMsg:
		d.pane = nil
		if w.Selected() {
			return s.copy(w.Text()), true
		}
		return nil, true
	}
	return nil, false
}

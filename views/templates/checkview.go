package templates

import (
	"fmt"
	"hash/fnv"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/logpane"
	"abxdash/ui/table"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// Check is the view of a folder that runs here: its commands with their last
// results, and the log. Opening it runs the folder once.
type Check struct {
	m     *Manager
	c     *checking
	env   ui.Env
	table *table.Table[string]
	pane  *logpane.Pane
	// inLog is set while the log has the keys.
	inLog bool
}

// NewCheck makes the view of a folder.
func NewCheck(m *Manager, p CheckParams) *Check { return &Check{m: m, c: m.check(p.Dir)} }

// Init implements ui.Screen.
func (s *Check) Init(env ui.Env) tea.Cmd {
	s.env = env
	s.pane = logpane.New(env.Keys, s.c.log)
	s.pane.Lang = env.Lang
	s.pane.SetWrap(true)
	s.table = s.newTable()
	s.table.SetRows(s.c.names())
	if s.c.running || s.c.done {
		return nil
	}
	return s.m.runCheck(s.c, "", nil)
}

func (s *Check) newTable() *table.Table[string] {
	tr := s.env.Lang
	return table.New(table.Config[string]{
		ID: func(name string) string { return name }, Empty: tr.T("No command is known yet."),
		Columns: []table.Column[string]{
			{Key: "name", Title: tr.T("COMMAND"), Min: 10, Max: 24, Weight: 1, ElideMiddle: true, Cell: func(n string, _ int) []table.Span {
				return []table.Span{{Text: present.CleanMax(n, 60), Style: s.env.Theme.Text.Strong}}
			}},
			{Key: "args", Title: tr.T("ARGUMENTS"), Min: 14, Max: 40, Weight: 2, Priority: 2, Cell: func(n string, _ int) []table.Span {
				return []table.Span{{Text: s.signature(n), Style: s.env.Theme.Text.Dim}}
			}},
			{Key: "result", Title: tr.T("LAST RESULT"), Min: 14, Weight: 4, Cell: func(n string, _ int) []table.Span {
				text, st := s.result(n)
				return []table.Span{{Text: text, Style: st}}
			}},
			{Key: "took", Title: tr.T("TOOK"), Min: 6, Priority: 1, Align: table.Right, Cell: func(n string, _ int) []table.Span {
				text := ""
				if call, ok := s.c.calls[n]; ok {
					text = fmt.Sprintf("%dms", call.Milliseconds)
				}
				return []table.Span{{Text: text, Style: s.env.Theme.Text.Dim}}
			}},
		},
	})
}

// signature is a command's arguments: "name=\"world\", n: integer".
func (s *Check) signature(name string) string {
	var out []string
	for _, a := range s.c.args(name) {
		text := present.CleanMax(a.name, 40)
		if a.preset != "" {
			text += "=" + present.CleanMax(a.preset, 40)
		} else {
			text += ": " + present.CleanMax(a.kind, 20)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (s *Check) result(name string) (string, uv.Style) {
	t := s.env.Theme
	if s.c.running && (s.c.call == name || s.c.call == "") {
		return t.Symbol.Busy + " …", t.Text.Info
	}
	call, ok := s.c.calls[name]
	switch {
	case !ok:
		return present.TTLUnset, t.Text.Dim
	case !call.OK:
		return t.Symbol.Fail + " " + present.CleanMax(call.Error, 300) + " (" + string(call.Code) + ")", t.Text.Error
	}
	return t.Symbol.OK + " " + present.CleanMax(string(call.Result), 300), t.Text.OK
}

// Close implements ui.Screen; the check goes on.
func (s *Check) Close() {}

// Title implements ui.Screen.
func (s *Check) Title() string { return s.m.env.Lang.T("Check %s", s.m.folderName(s.c.dir)) }

// Keys implements ui.Screen.
func (s *Check) Keys() []keymap.Context {
	switch {
	case s.pane.Captures():
		return s.pane.Keys()
	case s.inLog:
		return []keymap.Context{keymap.TemplateCheck, keymap.Logs, keymap.Move}
	}
	return []keymap.Context{keymap.TemplateCheck, keymap.Move}
}

// Captures implements ui.Capturer.
func (s *Check) Captures() bool { return s.pane.Captures() }

// Disabled implements ui.Disabler.
func (s *Check) Disabled(a keymap.Action) string {
	switch a {
	case keymap.TemplatesOpen:
		return s.m.here()
	case keymap.LogErrors, keymap.LogSave, keymap.LogLine:
		return s.env.Lang.T("not in this log")
	case keymap.TemplateCall:
		if s.table.CursorID() == "" {
			return s.env.Lang.T("no command is known")
		}
		return s.m.checkCannot(s.c)
	case keymap.TemplateRetry:
		return s.m.checkCannot(s.c)
	case keymap.TemplateWatch:
		if s.m.opt.ReadOnly {
			return s.env.Lang.T("read-only mode: no sandbox is made")
		}
	case keymap.TemplateStop:
		if !s.c.running {
			return s.env.Lang.T("nothing runs")
		}
	case keymap.TemplateDeploy:
		return s.m.folderCannot(a, s.c.dir)
	}
	return ""
}

// Update implements ui.Screen.
func (s *Check) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = msg.Theme
		s.table.Invalidate()
	case ui.TickMsg, checkMsg:
		if s.c.running {
			s.table.Invalidate()
		}
	case checkDoneMsg:
		if msg.check == s.c {
			s.table.SetRows(s.c.names())
			s.table.Invalidate()
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		s.pane.Update(msg)
	case tea.MouseMsg:
		if s.table.Mouse(msg, s.env.Now()) == table.HitDouble {
			return ui.Do(keymap.TemplateCall)
		}
		s.pane.Update(msg)
	case callMsg:
		if msg.check == s.c {
			return s.m.runCheck(s.c, msg.name, msg.args)
		}
	case ui.ActionMsg:
		return s.act(msg.Action)
	}
	return nil
}

func (s *Check) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		switch {
		case s.pane.Back():
		case s.inLog:
			s.inLog = false
		default:
			return ui.Back()
		}
	case keymap.TabNext:
		s.inLog = !s.inLog
	case keymap.TemplateCall:
		return s.call(s.table.CursorID())
	case keymap.TemplateRetry, keymap.AppRefresh:
		return s.m.runCheck(s.c, "", nil)
	case keymap.TemplateStop:
		s.c.stop(s.env.Lang)
	case keymap.TemplateWatch:
		return s.m.watch(s.c)
	case keymap.TemplateLint:
		return ui.OpenOverlay(textbox.New(textbox.Options{Title: s.env.Lang.T("Lint of %s for %s", s.m.folderName(s.c.dir), present.Clean(s.c.target)), Text: lintText(s.env.Lang, s.c.result.Lint.Problems)}))
	case keymap.TemplateEdit, keymap.TemplateDeploy:
		name := ""
		if t := s.c.result.Lint.Template; t != nil {
			name = t.Name
		}
		return s.m.actOnDir(s.c.dir, s.c.target, name, a)
	case keymap.LogCopy:
		return tea.Batch(tea.SetClipboard(s.pane.Text()), ui.Toast(ui.ToastOK, s.env.Lang.T("copied the log")))
	default:
		if s.inLog {
			s.pane.Do(a)
		} else {
			s.table.Do(a)
		}
	}
	return nil
}

// call asks for arguments, or calls at once what takes none.
func (s *Check) call(name string) tea.Cmd {
	args := s.c.args(name)
	if len(args) == 0 {
		return s.m.runCheck(s.c, name, nil)
	}
	return ui.OpenOverlay(newCallForm(s.c, name, args))
}

// Signature implements ui.Timed.
func (s *Check) Signature() uint64 {
	h := fnv.New64a()
	if s.c.running {
		fmt.Fprint(h, s.env.Now().Unix())
	}
	return h.Sum64()
}

// Draw implements ui.Screen.
func (s *Check) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	if area.Dx() < 6 || area.Dy() < 3 {
		return nil
	}
	head := s.headLines()
	drawLines(scr, uv.Rect(area.Min.X+1, area.Min.Y, area.Dx()-2, len(head)), head)
	rest := uv.Rect(area.Min.X, area.Min.Y+len(head), area.Dx(), max(area.Dy()-len(head), 0))
	h := min(max(s.table.Total(), 1)+3, max(rest.Dy()/2, 4), rest.Dy())
	border, title := t.Border.Focused, t.Border.TitleFocused
	logBorder, logTitle := t.Border.Normal, t.Border.Title
	if s.inLog {
		border, title, logBorder, logTitle = logBorder, logTitle, border, title
	}
	in := draw.Box(scr, uv.Rect(rest.Min.X, rest.Min.Y, rest.Dx(), h), t, s.env.Lang.T("Commands"), border, title)
	s.table.Draw(scr, in, t, !s.inLog)
	log := uv.Rect(rest.Min.X, rest.Min.Y+h, rest.Dx(), rest.Dy()-h)
	if log.Dy() < 3 {
		return nil
	}
	return s.pane.Draw(scr, draw.Box(scr, log, t, s.env.Lang.T("Log")+" ─ "+s.pane.Status(), logBorder, logTitle), t)
}

// headLines say what runs, how it went and which server answered.
func (s *Check) headLines() []line {
	t, tr, c := s.env.Theme, s.env.Lang, s.c
	watching := ""
	if c.watching {
		watching = "   " + tr.T("watching: every save leads to a check")
	}
	what := tr.T("for %s", present.Clean(c.target)) + watching
	switch {
	case c.running:
		word := tr.T("checking")
		if c.call != "" {
			word = tr.T("calling %s", present.CleanMax(c.call, 40))
		}
		return []line{{fmt.Sprintf("%s %s %s   %s", t.Symbol.Busy, word, present.Duration(s.env.Now().Sub(c.began)), what), t.Text.Info}}
	case c.stopped:
		return []line{{t.Symbol.Warn + " " + tr.T("stopped") + "   " + what, t.Text.Warn}}
	case c.err != nil:
		out := []line{{t.Symbol.Fail + " " + present.ErrorLine(c.err), t.Text.Error}}
		if h := present.Hint(c.err); h != "" {
			out = append(out, line{tr.T("hint: %s", tr.Word(h)), t.Text.Dim})
		}
		return out
	case !c.done:
		return []line{{tr.T("not checked yet") + "   " + what, t.Text.Dim}}
	}
	return s.verdictLines(t, what)
}

func (s *Check) verdictLines(t *theme.Theme, what string) []line {
	r, tr := s.c.result, s.env.Lang
	first := line{t.Symbol.OK + " " + tr.T("all of it worked"), t.Text.OK}
	switch {
	case s.c.call != "" && r.OK:
		first.text = t.Symbol.OK + " " + tr.T("%s answered", present.CleanMax(s.c.call, 40))
	case !r.OK && r.Lint.Errors > 0:
		first = line{t.Symbol.Fail + " " + tr.T("the files need work first; nothing was run"), t.Text.Error}
	case !r.OK && r.Error != "":
		first = line{t.Symbol.Fail + " " + present.CleanMax(r.Error, 300) + " (" + string(r.Code) + ")", t.Text.Error}
	case !r.OK:
		first = line{t.Symbol.Fail + " " + tr.T("not all of it worked"), t.Text.Error}
	}
	first.text += "   " + s.c.server(tr)
	out := []line{first}
	if r.Hint != "" {
		out = append(out, line{tr.T("hint: %s", present.Clean(r.Hint)), t.Text.Dim})
	}
	lint, st := problemWord(t, tr, r.Lint.Problems)
	return append(out, line{tr.T("lint %s", lint) + "   " + what, st})
}

package templates

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/draw"
	"abxdash/ui/logpane"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// Run is the view of a build or deploy: its steps with their times, and the
// log. Leaving it ends nothing.
type Run struct {
	m    *Manager
	j    *job
	env  ui.Env
	pane *logpane.Pane
	// step is the one whose log is shown, -1 for all.
	step int
}

// NewRun makes the view of a job.
func NewRun(m *Manager, p RunParams) *Run { return &Run{m: m, j: m.job(p.Number), step: -1} }

// Init implements ui.Screen.
func (r *Run) Init(env ui.Env) tea.Cmd {
	r.env = env
	if r.j == nil {
		r.pane = logpane.New(env.Keys, nil)
		return nil
	}
	r.pane = logpane.New(env.Keys, r.j.log)
	r.pane.Lang = env.Lang
	r.pane.SetWrap(true)
	return nil
}

// Close implements ui.Screen; the job goes on.
func (r *Run) Close() {}

// Title implements ui.Screen.
func (r *Run) Title() string {
	if r.j == nil {
		return r.m.env.Lang.T("Build")
	}
	return r.j.title(r.m.env.Lang)
}

// Keys implements ui.Screen.
func (r *Run) Keys() []keymap.Context {
	if r.pane.Captures() {
		return r.pane.Keys()
	}
	return []keymap.Context{keymap.TemplateRun, keymap.Logs, keymap.Move}
}

// Captures implements ui.Capturer.
func (r *Run) Captures() bool { return r.pane.Captures() }

// Disabled implements ui.Disabler.
func (r *Run) Disabled(a keymap.Action) string {
	if a == keymap.TemplatesOpen {
		return r.m.here()
	}
	if a == keymap.LogErrors || a == keymap.LogLine {
		return r.env.Lang.T("not in this log")
	}
	if r.j == nil {
		return ""
	}
	switch a {
	case keymap.TemplateStop:
		if !r.j.running {
			return r.env.Lang.T("it has ended")
		}
	case keymap.TemplateRetry:
		if _, ok := r.j.failedStep(); r.j.running || !ok {
			return r.env.Lang.T("only a step that failed can be tried again")
		}
		if r.m.opt.ReadOnly {
			return r.env.Lang.T("read-only mode")
		}
	case keymap.TemplateStart:
		if !r.j.ready() {
			return r.env.Lang.T("there is no ready template yet")
		}
		if r.m.opt.ReadOnly {
			return r.env.Lang.T("read-only mode")
		}
	case keymap.TemplateRollback:
		if r.j.provider == "" || r.j.running || r.m.find(r.j.provider, r.j.name) == nil {
			return r.env.Lang.T("there is no template to roll back")
		}
		return r.m.frozen()
	}
	return ""
}

// Update implements ui.Screen.
func (r *Run) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		r.env.Theme = msg.Theme
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseMsg:
		r.pane.Update(msg)
	case tagsMsg:
		if msg.owner == r {
			return r.m.gotTags(msg)
		}
	case ui.ActionMsg:
		return r.act(msg.Action)
	}
	return nil
}

func (r *Run) act(a keymap.Action) tea.Cmd {
	if a == keymap.NavBack {
		if r.pane.Back() {
			return nil
		}
		return ui.Back()
	}
	if r.j == nil {
		return nil
	}
	switch a {
	case keymap.TemplateStop:
		j, tr := r.j, r.env.Lang
		return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
			Title: tr.T("Cancel: %s", j.title(tr)), Danger: true, Yes: tr.T("cancel it"), No: tr.T("let it go on"),
			Lines: dialog.Plain(tr.T("The step %s ends; what was pushed or created so far stays.\nThe step can be tried again.", j.where())),
			OnYes: func() tea.Msg { return stopMsg{job: j} },
		}))
	case keymap.TemplateRetry:
		return r.m.run(r.j, r.j.retryFrom())
	case keymap.TemplateStart:
		return start(r.j.provider, r.j.result.Name)
	case keymap.TemplateRollback:
		return r.m.askTags(r, r.j.provider, r.j.name, rollBack)
	case keymap.TemplateEdit:
		return r.m.chooseFile(r.j.dir)
	case keymap.OutputOlder:
		r.show(r.step - 1)
	case keymap.OutputNewer:
		r.show(r.step + 1)
	case keymap.LogCopy:
		text := r.pane.Text()
		if len(text) > textbox.MaxCopy {
			return ui.Toast(ui.ToastWarn, r.env.Lang.T("too long for the clipboard; save it to a file"))
		}
		return tea.Batch(tea.SetClipboard(text), ui.Toast(ui.ToastOK, r.env.Lang.T("copied the log")))
	case keymap.LogSave:
		return r.save()
	default:
		r.pane.Do(a)
	}
	return nil
}

// stopMsg ends a job after its question.
type stopMsg struct{ job *job }

// show changes to the log of one step; beyond both ends it is that of all.
func (r *Run) show(step int) {
	switch n := len(r.j.phases); {
	case step < -1:
		step = n - 1
	case step >= n:
		step = -1
	}
	if r.step = step; step < 0 {
		r.pane.SetLines(r.j.log)
		return
	}
	r.pane.SetLines(r.j.phases[step].log)
}

// save writes the log into the current folder, under a name that is free.
func (r *Run) save() tea.Cmd {
	name := fmt.Sprintf("%s-%s.log", filepath.Base(r.j.dir), r.env.Now().Format("20060102-150405"))
	return present.SaveLog(r.env.Lang, r.m.opt.Dir, name, r.pane.Text())
}

// Signature implements ui.Timed: a running step counts its seconds.
func (r *Run) Signature() uint64 {
	h := fnv.New64a()
	if r.j != nil && r.j.running {
		fmt.Fprint(h, r.env.Now().Unix())
	}
	return h.Sum64()
}

// Draw implements ui.Screen.
func (r *Run) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := r.env.Theme
	if r.j == nil {
		draw.Text(scr, area.Min.X+1, area.Min.Y, area.Dx()-2, r.env.Lang.T("there is no such build any more"), t.Text.Dim)
		return nil
	}
	if area.Dx() < 6 || area.Dy() < 3 {
		return nil
	}
	lines := r.stepLines()
	summary := wrapLines(r.summary(), area.Dx()-2)
	room := max(area.Dy()-3-len(summary), 1)
	if len(lines) > room {
		lines = r.around(lines, room)
	}
	y := area.Min.Y
	drawLines(scr, uv.Rect(area.Min.X+1, y, area.Dx()-2, len(lines)), lines)
	y += len(lines)
	drawLines(scr, uv.Rect(area.Min.X+1, y, area.Dx()-2, len(summary)), summary)
	y += len(summary)
	return r.drawLog(scr, uv.Rect(area.Min.X, y, area.Dx(), area.Max.Y-y))
}

// wrapLines breaks lines that are too long for the width.
func wrapLines(lines []line, width int) []line {
	var out []line
	for _, l := range lines {
		for _, text := range wrap(l.text, width) {
			out = append(out, line{text, l.style})
		}
	}
	return out
}

// around keeps the lines near the current step where there is no room for all.
func (r *Run) around(lines []line, room int) []line {
	at := min(max(r.j.current()-room/2, 0), len(lines)-room)
	return lines[at : at+room]
}

// stepLines are the steps, one line each.
func (r *Run) stepLines() []line {
	t := r.env.Theme
	var out []line
	for i, p := range r.j.phases {
		symbol, st, took := phaseLook(t, p, r.env.Now())
		text := fmt.Sprintf("%s %-7s %6s", symbol, p.step, took)
		if p.state == phaseRunning && p.detail != "" {
			text += "   " + p.detail
		}
		if i == r.step {
			text += "   " + r.env.Lang.T("(its log)")
		}
		out = append(out, line{text, st})
	}
	return out
}

func phaseLook(t *theme.Theme, p phase, now time.Time) (symbol string, st uv.Style, took string) {
	switch p.state {
	case phaseRunning:
		return t.Symbol.Busy, t.Text.Info, present.Duration(now.Sub(p.began))
	case phaseDone:
		return t.Symbol.OK, t.Text.OK, shortTime(p.took)
	case phaseFailed:
		return t.Symbol.Fail, t.Text.Error, shortTime(p.took)
	case phaseCancelled:
		return t.Symbol.Warn, t.Text.Warn, shortTime(p.took)
	case phaseSkipped:
		return "-", t.Text.Dim, ""
	}
	return "·", t.Text.Dim, ""
}

// shortTime words how long a step took: tenths of a second below ten.
func shortTime(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return present.Duration(d)
}

// summary is how it went, and what can be done next.
func (r *Run) summary() []line {
	t, tr, j := r.env.Theme, r.env.Lang, r.j
	key := func(a keymap.Action) string { return present.KeyIn(r.env.Keys, keymap.TemplateRun, a) }
	elapsed := shortTime(j.took)
	switch {
	case j.running:
		return []line{{tr.T("%s, %s elapsed; it goes on when this is left", j.title(tr), present.Duration(r.env.Now().Sub(j.began))), t.Text.Dim}}
	case j.stopped:
		return []line{{tr.T("cancelled after %s; %s tries the step again", elapsed, key(keymap.TemplateRetry)), t.Text.Warn}}
	case j.err != nil:
		out := []line{{present.ErrorLine(j.err), t.Text.Error}}
		hint := present.Hint(j.err)
		if hint != "" {
			out = append(out, line{tr.T("hint: %s", tr.Word(hint)), t.Text.Dim})
		}
		next := tr.T("%s tries the failed step again, %s edits the files", key(keymap.TemplateRetry), key(keymap.TemplateEdit))
		if r.Disabled(keymap.TemplateRollback) == "" {
			next += tr.T(", %s goes back to the last good tag", key(keymap.TemplateRollback))
		}
		return append(out, line{next, t.Text.Dim})
	case j.result.TemplateID != "":
		what := tr.T("created %s", present.Clean(j.result.Name))
		if j.result.Updated {
			what = tr.T("updated %s", present.Clean(j.result.Name))
		}
		return []line{{
			tr.T("%s, template %s, %s, in %s; %s starts a sandbox from it", what, present.Clean(j.result.TemplateID),
				orDash(present.Clean(tr.Word(j.result.State))), elapsed, key(keymap.TemplateStart)), t.Text.OK,
		}}
	}
	return []line{{tr.T("built %s in %s", present.Clean(j.result.Image), elapsed), t.Text.OK}}
}

func (r *Run) drawLog(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := r.env.Theme
	title := r.env.Lang.T("Log") + " ─ " + r.pane.Status()
	if r.step >= 0 {
		title = r.env.Lang.T("Log of %s", r.j.phases[r.step].step) + " ─ " + r.pane.Status()
	}
	if area.Dy() < 3 {
		return r.pane.Draw(scr, area, t)
	}
	return r.pane.Draw(scr, draw.Box(scr, area, t, title, t.Border.Focused, t.Border.TitleFocused), t)
}

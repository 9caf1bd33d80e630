package exec

import (
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
	"abxdash/ui/logpane"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// maxCopy is how much goes to the clipboard: more is refused by terminals.
const maxCopy = 74_994

// Options is how the tab stands in the dashboard.
type Options struct {
	Manager *Manager
	// ReadOnly refuses to run anything, with this reason.
	ReadOnly string
	// Dir is where saved output goes.
	Dir string
}

// Screen is the Output tab.
type Screen struct {
	opts Options
	env  ui.Env
	sb   client.Sandbox
	box  *box

	input  *form.Input
	typing bool
	// feed is the line for a running command's standard input, nil while none is typed.
	feed  *form.Input
	shown *run
	// merged shows the commands of all sandboxes instead of shown.
	merged bool
	pane   *logpane.Pane
	log    uv.Rectangle
}

// New makes the tab for s.
func New(o Options, s client.Sandbox) *Screen {
	return &Screen{opts: o, sb: s, box: o.Manager.box(present.KeyOf(s))}
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	s.env = env
	s.pane = logpane.New(env.Keys, nil)
	s.pane.Lang = env.Lang
	s.input = form.NewInput(env.Keys, keymap.Input, "$ ")
	s.prompt()
	s.input.SetHistory(s.box.history)
	if n := len(s.box.runs); n > 0 {
		s.show(s.box.runs[n-1])
	}
	s.typing = len(s.box.runs) == 0 && s.opts.ReadOnly == ""
	return nil
}

// Close implements ui.Screen. Commands go on.
func (s *Screen) Close() {}

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.env.Lang.T("Output") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	if s.typing || s.feed != nil {
		return []keymap.Context{keymap.Input}
	}
	return append([]keymap.Context{keymap.Output}, s.pane.Keys()...)
}

// Captures implements ui.Capturer.
func (s *Screen) Captures() bool { return s.typing || s.feed != nil || s.pane.Captures() }

// prompt words the command line by whether standard input will be open.
func (s *Screen) prompt() {
	s.input.Prompt, s.input.Placeholder = "$ ", s.env.Lang.T("a shell line, run in the sandbox; enter runs it")
	if s.box.stdin {
		s.input.Prompt, s.input.Placeholder = "$< ", s.env.Lang.T("a shell line whose standard input stays open; enter runs it")
	}
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	switch a {
	case keymap.SandboxRun, keymap.OutputRerun:
		if s.opts.ReadOnly != "" {
			return s.opts.ReadOnly
		}
		if a == keymap.OutputRerun && s.shown == nil {
			return s.env.Lang.T("no command has been run yet")
		}
	case keymap.OutputCancel:
		if s.shown == nil || s.shown.over {
			return s.env.Lang.T("nothing is running here")
		}
	case keymap.OutputInput:
		switch {
		case s.opts.ReadOnly != "":
			return s.opts.ReadOnly
		case s.shown == nil || s.shown.over || s.shown.pump == nil:
			return s.env.Lang.T("nothing is running here")
		case !s.shown.stdin:
			return s.env.Lang.T("this command has no standard input; %s keeps it open for the next ones", s.env.Keys.Hint(keymap.OutputStdin))
		case s.shown.closedIn:
			return s.env.Lang.T("the end of its input was sent")
		}
	case keymap.OutputStdin:
		return s.opts.ReadOnly
	}
	return ""
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(s.sb) {
			s.sb = m.Sandbox.Clone()
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		return s.typed(msg)
	case tea.MouseMsg:
		if (uv.Position{X: m.Mouse().X, Y: m.Mouse().Y}).In(s.log) {
			s.pane.Update(m)
		}
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

// typed takes raw keys: for a search in the output, else for the command line.
func (s *Screen) typed(msg tea.Msg) tea.Cmd {
	if s.feed != nil {
		return s.fed(msg)
	}
	if !s.typing {
		s.pane.Update(msg)
		return nil
	}
	switch s.input.Update(msg) {
	case form.Cancelled:
		s.typing = false
	case form.Accepted:
		return s.run(strings.TrimSpace(s.input.Value()))
	}
	return nil
}

// fed takes raw keys for the line to the running command: enter sends it,
// ctrl+d on an empty line ends the input.
func (s *Screen) fed(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "ctrl+d" && s.feed.Value() == "" {
		s.feed = nil
		return s.opts.Manager.send(s.shown, input{eof: true})
	}
	switch s.feed.Update(msg) {
	case form.Cancelled:
		s.feed = nil
	case form.Accepted:
		text := s.feed.Value()
		s.feed.Remember(text)
		s.feed.SetValue("")
		return s.opts.Manager.send(s.shown, input{text: text})
	}
	return nil
}

// Interrupt implements ui.Interrupter. As in a shell, it stops what runs, else
// drops the line; with neither it is left to the dashboard.
func (s *Screen) Interrupt() (tea.Cmd, bool) {
	switch {
	case !s.typing && s.feed == nil:
		return nil, false
	case s.shown != nil && !s.shown.over:
		return s.opts.Manager.stop(s.shown), true
	case s.input.Value() != "":
		s.input.SetValue("")
		return nil, true
	}
	return nil, false
}

// run starts a line; an empty one does nothing.
func (s *Screen) run(line string) tea.Cmd {
	if line == "" {
		return nil
	}
	r, cmd := s.opts.Manager.start(present.KeyOf(s.sb), present.Label(s.sb), line)
	s.box.history = s.input.Remember(line)
	s.input.SetValue("")
	s.show(r)
	return cmd
}

func (s *Screen) show(r *run) {
	s.shown, s.merged, s.feed = r, false, nil
	s.pane.SetLines(r.ring)
}

func (s *Screen) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		if !s.pane.Back() {
			return ui.Cmd(ui.BackMsg{})
		}
	case keymap.SandboxRun:
		s.typing = true
	case keymap.OutputCancel:
		if s.shown != nil {
			return s.opts.Manager.stop(s.shown)
		}
	case keymap.OutputRerun:
		if s.shown != nil {
			return s.run(s.shown.line)
		}
	case keymap.OutputInput:
		s.feed = form.NewInput(s.env.Keys, keymap.Input, s.env.Lang.T("input: "))
		s.feed.Placeholder = s.env.Lang.T("enter sends the line, ctrl+d on an empty one ends the input, esc leaves")
	case keymap.OutputStdin:
		s.box.stdin = !s.box.stdin
		s.prompt()
		if s.box.stdin {
			return ui.Toast(ui.ToastInfo, s.env.Lang.T("the next commands keep standard input open; %s types to one", s.env.Keys.Hint(keymap.OutputInput)))
		}
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("the next commands have no standard input"))
	case keymap.OutputMerged:
		return s.toggleMerged()
	case keymap.LogLine:
		return s.fullLine()
	case keymap.OutputOlder:
		s.step(-1)
	case keymap.OutputNewer:
		s.step(1)
	case keymap.LogCopy:
		return s.copyAll()
	case keymap.LogSave:
		return s.save()
	default:
		s.pane.Do(a)
	}
	return nil
}

// toggleMerged shows the commands of all sandboxes in one stream, or one again.
func (s *Screen) toggleMerged() tea.Cmd {
	if s.merged {
		s.merged = false
		if s.shown != nil {
			s.pane.SetLines(s.shown.ring)
		} else {
			s.pane.SetLines(nil)
		}
		return nil
	}
	m, cmd := s.opts.Manager.merge()
	s.merged = true
	s.pane.SetLines(m.ring)
	return cmd
}

// fullLine shows a line that does not fit in a box of its own.
func (s *Screen) fullLine() tea.Cmd {
	text, ok := s.pane.FullLine()
	if !ok {
		return nil
	}
	return ui.OpenOverlay(textbox.New(textbox.Options{Title: s.env.Lang.N(len(text), "%d byte in this line", "%d bytes in this line", len(text)), Text: text, Colors: true}))
}

// step shows an older or newer command.
func (s *Screen) step(d int) {
	for i, r := range s.box.runs {
		if r == s.shown {
			s.show(s.box.runs[max(0, min(i+d, len(s.box.runs)-1))])
			return
		}
	}
}

func (s *Screen) copyAll() tea.Cmd {
	text := s.pane.Text()
	if len(text) > maxCopy {
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("%s is too much for the clipboard; save it to a file instead", present.Size(int64(len(text)))))
	}
	n := strings.Count(text, "\n")
	return tea.Batch(tea.SetClipboard(text), ui.Toast(ui.ToastOK, s.env.Lang.N(n, "copied %d line", "copied %d lines", n)))
}

// save writes the output, byte by byte as it came, to a new file and says where.
func (s *Screen) save() tea.Cmd {
	if s.shown == nil && !s.merged {
		return nil
	}
	dir, tr := s.opts.Dir, s.env.Lang
	if s.merged {
		return present.SaveLog(tr, dir, "abxdash-merged.log", s.opts.Manager.merged.ring.String())
	}
	name, write := fmt.Sprintf("abxdash-%s-%d.log", s.sb.ID, s.shown.n), s.shown.spill.copyTo
	return func() tea.Msg {
		var lost int64
		path, err := present.SaveNew(dir, name, func(w io.Writer) (err error) {
			lost, err = write(w)
			return err
		})
		switch {
		case err != nil:
			return present.SaveFailed(tr, err)
		case lost > 0:
			return ui.ToastMsg{Level: ui.ToastWarn, Text: tr.T("saved %s without the last %s: more than is kept", present.Clean(path), present.Size(lost))}
		}
		return ui.ToastMsg{Level: ui.ToastOK, Text: tr.T("saved %s", present.Clean(path))}
	}
}

// Draw implements ui.Screen: earlier commands, the output, the line to type into.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	inputY := area.Max.Y - 1
	list := min(len(s.box.runs), 4, max(0, area.Dy()-8))
	s.drawRuns(scr, uv.Rect(area.Min.X, area.Min.Y, area.Dx(), list))
	s.log = uv.Rect(area.Min.X, area.Min.Y+list, area.Dx(), max(0, inputY-area.Min.Y-list))
	cur := s.drawLog(scr, s.log)
	line := uv.Rect(area.Min.X, inputY, area.Dx(), 1)
	if s.feed != nil {
		return s.feed.Draw(scr, line, t)
	}
	if s.typing {
		return s.input.Draw(scr, line, t)
	}
	hint := s.env.Lang.T("%s types a command", s.env.Keys.Hint(keymap.SandboxRun))
	if s.shown != nil && !s.shown.over && s.shown.stdin && !s.shown.closedIn {
		hint += "   " + s.env.Lang.T("%s types to the running one", s.env.Keys.Hint(keymap.OutputInput))
	}
	if s.opts.ReadOnly != "" {
		hint = s.opts.ReadOnly
	}
	draw.Line(scr, line, 0, " "+hint, t.Text.Dim)
	return cur
}

// drawRuns lists the last commands, the one shown among them.
func (s *Screen) drawRuns(scr uv.Screen, area uv.Rectangle) {
	t := s.env.Theme
	runs := s.box.runs
	last := len(runs)
	for i, r := range runs {
		if r == s.shown {
			last = min(len(runs), max(i+1, area.Dy()))
		}
	}
	first := max(0, last-area.Dy())
	for row := range area.Dy() {
		r := runs[first+row]
		st := t.Row.Normal
		if r == s.shown {
			st = t.Row.SelectedDim
		}
		draw.Line(scr, area, row, "", st)
		mark, ms := t.Symbol.Busy, t.Text.Info
		switch {
		case r.ok():
			mark, ms = t.Symbol.OK, t.Text.OK
		case r.over:
			mark, ms = t.Symbol.Fail, t.Text.Error
		}
		dim := t.Text.Dim
		ms.Bg, dim.Bg = st.Bg, st.Bg
		x, y := area.Min.X+1, area.Min.Y+row
		x += draw.Text(scr, x, y, area.Max.X-x, fmt.Sprintf("#%d ", r.n), dim)
		x += draw.Text(scr, x, y, area.Max.X-x, mark+" ", ms)
		right := fmt.Sprintf(" %s  %s ", present.CleanMax(r.ending(s.env.Lang), 60), took(r.took(s.env.Now())))
		wide := draw.Width(right)
		room := area.Max.X - x - wide
		if room > 8 {
			draw.Text(scr, x, y, room, present.Clean(r.line), st)
			draw.Text(scr, area.Max.X-wide, y, wide, right, ms)
		} else {
			draw.Text(scr, x, y, area.Max.X-x, present.Clean(r.line), st)
		}
	}
}

func (s *Screen) drawLog(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if area.Dx() < 2 || area.Dy() < 2 {
		return nil
	}
	t := s.env.Theme
	border, title := t.Border.Focused, t.Border.TitleFocused
	if s.typing {
		border, title = t.Border.Normal, t.Border.Title
	}
	if s.merged {
		in := draw.Box(scr, area, t, s.env.Lang.T("all sandboxes")+" ─ "+s.pane.Status(), border, title)
		return s.pane.Draw(scr, in, t)
	}
	if s.shown == nil {
		in := draw.Box(scr, area, t, s.Title(), border, title)
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, s.env.Lang.T("Nothing has been run here yet."), t.Text.Dim)
		return nil
	}
	head := fmt.Sprintf("#%d %s ─ %s ─ %s", s.shown.n, present.CleanMax(s.shown.line, max(8, area.Dx()/3)), present.CleanMax(s.shown.ending(s.env.Lang), 60), s.pane.Status())
	in := draw.Box(scr, area, t, head, border, title)
	return s.pane.Draw(scr, in, t)
}

// took words a running time: tenths below a minute.
func took(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return present.Duration(d)
}

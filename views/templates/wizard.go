package templates

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	tpl "abxdash/templates"
	"abxdash/templates/scaffold"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/form"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Keys of the wizard's fields.
const (
	wizKind        = "kind"
	wizFrom        = "from"
	wizBox         = "box"
	wizTarget      = "target"
	wizRegion      = "region"
	wizCPU         = "cpu"
	wizMemory      = "memory"
	wizName        = "name"
	wizFolder      = "folder"
	wizDescription = "description"
	// wizCapability and wizGroup begin the keys of check boxes.
	wizCapability = "capability "
	wizGroup      = "group "
)

// Steps of the wizard.
const (
	stepKind = iota
	stepTarget
	stepCapabilities
	stepSize
	stepName
	stepCount
)

func stepNames(tr *lang.Catalog) []string {
	return []string{tr.T("Kind"), tr.T("Provider"), tr.T("Capabilities"), tr.T("Size"), tr.T("Name")}
}

// Wizard makes a new template folder in five steps, with a preview of the files.
type Wizard struct {
	m   *Manager
	env ui.Env
	// d is the manager's draft.
	d    *draft
	form *form.Form

	files    []scaffold.File
	filesErr error
	// shown is the file in the preview, top its first row, chosen is set once the
	// user picked it.
	shown, top int
	chosen     bool
	rows       int

	// busy is set while something is read, compared or written.
	busy bool
	err  error
}

type (
	// dockerfileMsg is the Dockerfile to start from.
	dockerfileMsg struct {
		owner *Wizard
		path  string
		data  []byte
		err   error
	}
	// comparedMsg is what writing would change.
	comparedMsg struct {
		owner   *Wizard
		dir     string
		changes []scaffold.Change
		err     error
	}
	// writtenMsg is the end of writing.
	writtenMsg struct {
		owner *Wizard
		dir   string
		wrote int
		err   error
	}
	// wroteMsg tells the list about a new folder.
	wroteMsg struct{ dir string }
)

// NewWizard makes the wizard; it goes on with the draft.
func NewWizard(m *Manager) *Wizard { return &Wizard{m: m, d: &m.draft} }

// Init implements ui.Screen.
func (w *Wizard) Init(env ui.Env) tea.Cmd {
	w.env = env
	w.build()
	w.refresh()
	return nil
}

// Close implements ui.Screen; the draft is kept.
func (w *Wizard) Close() {}

// Title implements ui.Screen.
func (w *Wizard) Title() string { return w.env.Lang.T("New template") }

// Keys implements ui.Screen.
func (w *Wizard) Keys() []keymap.Context { return []keymap.Context{keymap.Wizard, keymap.Form} }

// Captures implements ui.Capturer.
func (w *Wizard) Captures() bool { return true }

// build makes the form of the current step.
func (w *Wizard) build() {
	w.form = form.New(w.env.Keys, []keymap.Context{keymap.Wizard}, w.fields()...)
	w.form.Lang = w.env.Lang
	w.chosen = false
}

// refresh makes the files anew and shows the one that the step is about.
func (w *Wizard) refresh() {
	files, err := w.m.files(w.d)
	if w.filesErr = err; err == nil {
		w.files = files
	}
	if w.chosen {
		return
	}
	about := [stepCount]string{tpl.FileCommands, tpl.FileDockerfile, tpl.FileCommands, tpl.FileTemplate, tpl.FileTemplate}[w.d.step]
	w.top = 0
	for i, f := range w.files {
		if f.Path == about {
			w.shown = i
		}
	}
}

// Update implements ui.Screen.
func (w *Wizard) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		w.env.Theme = msg.Theme
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg:
		return w.input(msg)
	case dockerfileMsg:
		if msg.owner == w {
			return w.gotDockerfile(msg)
		}
	case capturedMsg:
		if msg.owner == w {
			return w.captured(msg)
		}
	case comparedMsg:
		if msg.owner == w {
			return w.compared(msg)
		}
	case writtenMsg:
		if msg.owner == w {
			return w.written(msg)
		}
	}
	return nil
}

func (w *Wizard) input(msg tea.Msg) tea.Cmd {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		a, _, _ := w.env.Keys.Match([]keymap.Context{keymap.Wizard}, nil, key.String())
		switch a {
		case keymap.WizardWrite:
			return w.write()
		case keymap.WizardNext, keymap.WizardPrev:
			w.turn(a == keymap.WizardNext)
			return nil
		case keymap.MovePageUp, keymap.MovePageDown:
			w.scroll(a == keymap.MovePageDown)
			return nil
		}
	}
	if w.busy {
		return nil
	}
	step := w.form.Update(msg)
	w.read()
	switch step {
	case form.Cancelled:
		return w.back()
	case form.Accepted:
		return w.next()
	case form.Changed:
		w.err = nil
	}
	w.refresh()
	return nil
}

// turn shows another file in the preview.
func (w *Wizard) turn(forward bool) {
	if n := len(w.files); n > 0 {
		w.shown = (w.shown + map[bool]int{true: 1, false: n - 1}[forward]) % n
		w.top, w.chosen = 0, true
	}
}

func (w *Wizard) scroll(down bool) {
	page := max(w.rows-1, 1)
	if down {
		w.top += page
	} else {
		w.top -= page
	}
	w.top = max(w.top, 0)
}

// back goes to the step before; at the first it leaves, and the draft is kept.
func (w *Wizard) back() tea.Cmd {
	w.err = nil
	if w.d.step == 0 {
		return ui.Back()
	}
	w.d.step--
	w.build()
	w.refresh()
	return nil
}

// next goes on; after the last step the files are written.
func (w *Wizard) next() tea.Cmd {
	w.err = nil
	d := w.d
	if d.step == stepKind && d.kind == string(scaffold.FromDockerfile) {
		return w.readDockerfile()
	}
	if d.step == stepKind && d.kind == string(scaffold.FromSandbox) {
		return w.capture()
	}
	if d.step == stepCount-1 {
		return w.write()
	}
	d.step++
	w.build()
	w.refresh()
	return nil
}

// maxDockerfile bounds a Dockerfile to start from.
const maxDockerfile = 1 << 20

func (w *Wizard) readDockerfile() tea.Cmd {
	w.busy = true
	from := w.d.from
	if from == "" {
		from = tpl.FileDockerfile
	}
	plain := draft{folder: from}
	msg := dockerfileMsg{owner: w, path: w.m.dir(&plain)}
	return func() tea.Msg {
		f, err := os.Open(msg.path)
		if err == nil {
			msg.data, err = io.ReadAll(io.LimitReader(f, maxDockerfile+1))
			_ = f.Close() // it was only read
		}
		if err == nil && len(msg.data) > maxDockerfile {
			err = errors.New("it is over 1 MiB")
		}
		if err != nil {
			msg.err = &client.Error{Op: "read the Dockerfile", Code: client.CodeFiles, Err: err}
		}
		return msg
	}
}

func (w *Wizard) gotDockerfile(msg dockerfileMsg) tea.Cmd {
	w.busy = false
	if w.err = msg.err; msg.err != nil {
		return nil
	}
	before := w.d.dockerfile
	w.d.dockerfile = msg.data
	if _, err := w.m.files(w.d); err != nil {
		w.d.dockerfile, w.err = before, err
		return nil
	}
	w.d.step++
	w.build()
	w.refresh()
	return nil
}

// write compares the files with what is there; nothing is replaced unseen.
func (w *Wizard) write() tea.Cmd {
	if w.busy {
		return nil
	}
	if cmd := w.m.readOnly(); cmd != nil {
		return cmd
	}
	if !w.form.Valid() {
		return nil
	}
	w.read()
	w.refresh()
	if w.err = w.filesErr; w.err != nil {
		return nil
	}
	w.busy = true
	files, msg := slices.Clone(w.files), comparedMsg{owner: w, dir: w.m.dir(w.d)}
	return func() tea.Msg {
		msg.changes, msg.err = scaffold.Compare(msg.dir, files)
		return msg
	}
}

// compared writes what is new at once, and shows a diff of what would be replaced.
func (w *Wizard) compared(msg comparedMsg) tea.Cmd {
	w.busy = false
	if w.err = msg.err; msg.err != nil {
		return nil
	}
	tr := w.env.Lang
	var lines []dialog.Line
	replaced := 0
	for _, c := range msg.changes {
		if c.Action == scaffold.Replace {
			replaced++
			lines = append(lines, diffLines(w.env, c.Diff)...)
		}
	}
	if replaced == 0 {
		return w.put(msg)
	}
	return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: tr.N(replaced, "Replace %d file in %s", "Replace %d files in %s", replaced, w.m.folderName(msg.dir)), Lines: lines, Danger: true,
		Yes: tr.T("replace"), No: tr.T("write nothing"), OnYes: w.put(msg),
	}))
}

// diffLines colours a diff; its text is made safe.
func diffLines(env ui.Env, diff string) []dialog.Line {
	t := env.Theme
	var out []dialog.Line
	for l := range strings.Lines(diff) {
		l = strings.TrimRight(l, "\r\n")
		st := t.Text.Normal
		switch {
		case strings.HasPrefix(l, "+"):
			st = t.Text.OK
		case strings.HasPrefix(l, "-"):
			st = t.Text.Error
		case strings.HasPrefix(l, "@@"):
			st = t.Text.Dim
		}
		out = append(out, dialog.Line{Text: present.CleanMax(l, 400), Style: st})
	}
	return out
}

func (w *Wizard) put(msg comparedMsg) tea.Cmd {
	return func() tea.Msg {
		out := writtenMsg{owner: w, dir: msg.dir, err: scaffold.Write(msg.dir, msg.changes)}
		for _, c := range msg.changes {
			if c.Action == scaffold.Create || c.Action == scaffold.Replace {
				out.wrote++
			}
		}
		return out
	}
}

// written leaves the wizard; the next one begins anew.
func (w *Wizard) written(msg writtenMsg) tea.Cmd {
	if w.err = msg.err; msg.err != nil {
		return nil
	}
	w.m.targets[msg.dir] = w.d.target
	text := w.env.Lang.N(msg.wrote, "%d file written into %s (%s); %s checks it here", "%d files written into %s (%s); %s checks it here", msg.wrote,
		w.m.folderName(msg.dir), w.d.summary(w.env.Lang), present.KeyIn(w.env.Keys, keymap.TemplateFolders, keymap.TemplateTry))
	w.m.draft = w.m.newDraft()
	return tea.Sequence(ui.Back(), tea.Batch(ui.Cmd(wroteMsg{dir: msg.dir}), ui.Toast(ui.ToastOK, text)))
}

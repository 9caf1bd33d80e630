// Package files is the Files tab of a sandbox: walk its folders, preview what
// is in them, move files and folders up and down, rename, delete, edit, compare
// and search. The [Transfers] own what is on its way, which goes on when the
// tab is closed; [Screen] shows one sandbox. Looking changes nothing.
package files

import (
	"context"
	"path"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/form"
	"abxdash/ui/logpane"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// Options is what main hands in.
type Options struct {
	Provider  client.Provider
	Transfers *Transfers
	// Prefs may be nil.
	Prefs *Prefs
	// ReadOnly refuses everything that changes a file in the sandbox, with this reason.
	ReadOnly string
	// Dir is where downloads go and uploads are looked for when a relative path is typed.
	Dir string
	// Editor is the command line of the user's editor.
	Editor string
	// RunEditor, if set, edits a local file instead of Editor.
	RunEditor func(path string, left func(error) tea.Msg) tea.Cmd
}

// Screen is the Files tab.
type Screen struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc
	sb     client.Sandbox

	cwd    string // absolute, "" until the first answer
	home   string
	list   *table.Table[client.Entry]
	places map[string]string // folder → name under the cursor when it was left
	back   bool              // the first folder read is the one left last time
	filter string

	gen     uint64 // of the listing asked for last
	loading string // folder being read, "" when none
	err     error

	view    *logpane.Pane
	preview preview
	focus   pane

	input  *form.Input
	ask    question
	notice string

	// searching numbers the searches by name; lookingFor is what the one under
	// way looks for, and stopSearch ends it.
	searching  uint64
	lookingFor string
	stopSearch context.CancelFunc
	// comparing stops a comparison under way, nil if none is; compared numbers them.
	comparing context.CancelFunc
	compared  uint64

	geo layout
}

// pane is what keys go to.
type pane uint8

const (
	paneList pane = iota
	panePreview
)

// question is what the line of input asks for.
type question uint8

const (
	askNothing question = iota
	askFilter
	askDownload
	askUpload
	askRename
	askMkdir
	askSearch
)

// New makes the tab for s.
func New(o Options, s client.Sandbox) *Screen {
	if o.Prefs == nil {
		o.Prefs = &Prefs{}
	}
	return &Screen{opts: o, sb: s, list: newList(nil), places: map[string]string{}}
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	s.list = newList(env.Lang)
	if was, ok := s.opts.Prefs.places[present.KeyOf(s.sb)]; ok {
		s.places, s.back = was.inner, true
		return s.load(was.dir, was.cursor)
	}
	return s.load("", "")
}

// Close implements ui.Screen. Transfers go on, and the place is remembered.
func (s *Screen) Close() {
	if s.cwd != "" {
		p := s.opts.Prefs
		if p.places == nil {
			p.places = map[present.Key]left{}
		}
		p.places[present.KeyOf(s.sb)] = left{dir: s.cwd, cursor: s.list.CursorID(), inner: s.places}
	}
	s.stopCompare()
	s.cancel()
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.env.Lang.T("Files") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	switch {
	case s.ask != askNothing:
		return []keymap.Context{keymap.Input}
	case s.focus == panePreview:
		return []keymap.Context{keymap.Preview}
	}
	return []keymap.Context{keymap.Files}
}

// Captures implements ui.Capturer: only while a line is being typed.
func (s *Screen) Captures() bool {
	return s.ask != askNothing || s.focus == panePreview && s.view != nil && s.view.Captures()
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	switch a {
	case keymap.FilesUpload, keymap.FilesMkdir:
		return s.opts.ReadOnly
	case keymap.FilesDownload:
		if !s.onEntry() {
			return s.env.Lang.T("put the cursor on a file or a folder to download it")
		}
	case keymap.FilesDelete, keymap.FilesRename:
		if s.opts.ReadOnly == "" && !s.onEntry() {
			return s.env.Lang.T("put the cursor on a file or a folder")
		}
		return s.opts.ReadOnly
	case keymap.FilesDiff:
		if _, _, ok := s.pair(); !ok {
			return s.env.Lang.T("mark one file and put the cursor on the other, or mark two")
		}
	case keymap.FilesEdit:
		switch e, ok := s.list.Cursor(); {
		case s.opts.ReadOnly != "":
			return s.opts.ReadOnly
		case !ok || e.Type != client.FileRegular:
			return s.env.Lang.T("put the cursor on a file to edit it")
		case e.Size > maxEdit:
			return s.env.Lang.T("too large to edit here: download, edit, upload")
		}
	}
	return ""
}

// onEntry reports whether something that can be moved or deleted is meant.
func (s *Screen) onEntry() bool {
	if s.list.MarkedCount() > 0 {
		return true
	}
	e, ok := s.list.Cursor()
	return ok && e.Name != ".."
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
		s.list.Invalidate()
	case listedMsg:
		return s.listed(m)
	case previewMsg:
		return s.previewed(m)
	case arrivedMsg:
		return s.arrived(m)
	case changedMsg:
		return s.changed(m)
	case foundMsg:
		return s.found(m)
	case goMsg:
		if m.owner == s {
			return s.load(path.Dir(m.path), path.Base(m.path))
		}
	case diffMsg:
		return s.diffed(m)
	case prefsMsg:
		if m.owner == s && m.err != nil {
			return ui.Toast(ui.ToastWarn, s.env.Lang.T("the choice is not kept: %s", present.CleanMax(m.err.Error(), 200)))
		}
	case editReadyMsg, editLeftMsg, editJudgedMsg, editSavedMsg, editFailedMsg:
		return s.editStep(m)
	case tea.KeyPressMsg, tea.PasteMsg:
		return s.typed(msg)
	case tea.MouseMsg:
		return s.mouse(m)
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

// act carries out an action in the pane that has the focus.
func (s *Screen) act(a keymap.Action) tea.Cmd {
	if s.focus == panePreview {
		if a == keymap.NavBack {
			if !s.view.Back() {
				s.focus = paneList
			}
			return nil
		}
		s.view.Do(a)
		return nil
	}
	switch a {
	case keymap.NavBack:
		switch {
		case s.comparing != nil:
			s.stopCompare()
			return nil
		case s.lookingFor != "":
			s.stopSearch()
			s.lookingFor = ""
			return nil
		case s.list.Ranging() || s.list.MarkedCount() > 0:
			s.list.ClearMarks()
			return nil
		case s.filter != "":
			s.setFilter("")
			return nil
		}
		return ui.Cmd(ui.BackMsg{})
	case keymap.FilesOpen, keymap.ListOpen, keymap.MoveRight:
		return s.open()
	case keymap.FilesParent, keymap.MoveLeft:
		return s.up()
	case keymap.FilesHome:
		return s.load("", "")
	case keymap.FilesHidden:
		s.opts.Prefs.hideDots = !s.opts.Prefs.hideDots
		s.refilter()
		return tea.Batch(s.keepPrefs(), s.look())
	case keymap.FilesFilter:
		s.startAsk(askFilter, s.env.Lang.T("filter: "), s.filter)
	case keymap.FilesDownload:
		switch list := s.targets(); len(list) {
		case 0:
		case 1:
			s.startAsk(askDownload, s.env.Lang.T("save as: "), localName(list[0].Name))
		default:
			s.startAsk(askDownload, s.env.Lang.T("save %d into: ", len(list)), ".")
		}
	case keymap.FilesRename:
		if e, ok := s.list.Cursor(); ok {
			s.startAsk(askRename, s.env.Lang.T("rename to: "), e.Name)
		}
	case keymap.FilesMkdir:
		s.startAsk(askMkdir, s.env.Lang.T("new folder: "), "")
	case keymap.FilesSearch:
		s.startAsk(askSearch, s.env.Lang.T("names that hold: "), "")
	case keymap.FilesDelete:
		return s.delete()
	case keymap.FilesEdit:
		return s.edit()
	case keymap.FilesDiff:
		return s.diff()
	case keymap.FilesCompare:
		return s.compareSides()
	case keymap.MarkToggle:
		if e, ok := s.list.Cursor(); ok && e.Name == ".." {
			s.list.Move(1)
			return nil
		}
		s.list.Do(a)
	case keymap.FilesUpload:
		s.startAsk(askUpload, s.env.Lang.T("upload: "), "")
	case keymap.FilesCopyPath:
		return s.copyPath()
	case keymap.AppRefresh:
		return s.load(s.cwd, s.list.CursorID())
	default:
		s.list.Do(a)
	}
	return s.look()
}

func (s *Screen) copyPath() tea.Cmd {
	e, ok := s.list.Cursor()
	if !ok {
		return nil
	}
	return tea.Batch(tea.SetClipboard(e.Path), ui.Toast(ui.ToastOK, s.env.Lang.T("copied %s", present.Clean(e.Path))))
}

// open goes into the folder under the cursor, or into the preview of the file.
func (s *Screen) open() tea.Cmd {
	e, ok := s.list.Cursor()
	if !ok {
		return nil
	}
	if e.Name == ".." {
		return s.up()
	}
	if e.Type == client.FileDir {
		s.places[s.cwd] = e.Name
		return s.load(e.Path, s.places[e.Path])
	}
	s.focus = panePreview
	return s.look()
}

// up goes to the parent folder, cursor on the folder left behind.
func (s *Screen) up() tea.Cmd {
	if s.cwd == "" || s.cwd == "/" {
		return nil
	}
	s.places[s.cwd] = s.list.CursorID()
	return s.load(path.Dir(s.cwd), path.Base(s.cwd))
}

// prefsMsg says whether a choice could be kept.
type prefsMsg struct {
	owner *Screen
	err   error
}

func (s *Screen) keepPrefs() tea.Cmd {
	file, f := s.opts.Prefs.path, prefsFile{HideDots: s.opts.Prefs.hideDots}
	return func() tea.Msg { return prefsMsg{owner: s, err: savePrefs(file, f)} }
}

func (s *Screen) setFilter(text string) {
	s.filter = text
	s.refilter()
}

func (s *Screen) refilter() {
	text, hidden := strings.ToLower(s.filter), !s.opts.Prefs.hideDots
	s.list.SetFilter(func(e client.Entry) bool {
		if e.Name == ".." {
			return text == ""
		}
		if !hidden && strings.HasPrefix(e.Name, ".") {
			return false
		}
		return strings.Contains(strings.ToLower(e.Name), text)
	})
}

// startAsk opens the line of input.
func (s *Screen) startAsk(q question, prompt, value string) {
	s.ask, s.notice = q, ""
	s.input = form.NewInput(s.env.Keys, keymap.Input, prompt)
	s.input.SetValue(value)
}

// typed takes raw keys for the line of input, or for a search in the preview.
func (s *Screen) typed(msg tea.Msg) tea.Cmd {
	if s.ask == askNothing {
		if s.view != nil {
			s.view.Update(msg)
		}
		return nil
	}
	switch ev := s.input.Update(msg); ev {
	case form.Cancelled:
		if s.ask == askFilter {
			s.setFilter("")
		}
		s.ask = askNothing
	case form.Complete:
		if s.ask == askDownload || s.ask == askUpload {
			s.input.SetValue(complete(s.opts.Dir, s.input.Value()))
		}
	case form.Changed:
		s.notice = ""
		if s.ask == askFilter {
			s.setFilter(s.input.Value())
		}
	case form.Accepted:
		return s.accept()
	}
	return nil
}

// accept carries out what the line of input asked for; a bad path keeps the line open and says why.
func (s *Screen) accept() tea.Cmd {
	q, text := s.ask, strings.TrimSpace(s.input.Value())
	if q != askFilter && text == "" {
		s.ask = askNothing
		return nil
	}
	var cmd tea.Cmd
	var err error
	switch q {
	case askDownload:
		cmd, err = s.download(text)
	case askUpload:
		cmd, err = s.upload(text)
	case askRename:
		cmd, err = s.rename(text)
	case askMkdir:
		cmd, err = s.mkdir(text)
	case askSearch:
		cmd = s.search(text)
	}
	if err != nil {
		s.notice = present.CleanMax(s.env.Lang.Err(err), 200)
		return nil
	}
	s.ask = askNothing
	if q == askFilter {
		return s.look()
	}
	return cmd
}

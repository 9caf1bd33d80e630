// Package files is the Files tab of a sandbox: walk its folders, preview text,
// download one file, upload one file. Nothing here changes the sandbox except
// an upload that was asked for.
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
	Provider client.Provider
	// ReadOnly refuses uploads, with this reason.
	ReadOnly string
	// Dir is where downloads go and uploads are looked for when a relative path is typed.
	Dir string
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
	hidden bool
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

	transfers []*transfer
	geo       layout
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
)

// New makes the tab for s.
func New(o Options, s client.Sandbox) *Screen {
	return &Screen{opts: o, sb: s, list: newList(), places: map[string]string{}, hidden: true}
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	return s.load("", "")
}

// Close implements ui.Screen. Transfers under way are cancelled; nothing half
// done keeps its final name.
func (s *Screen) Close() { s.cancel() }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Files" }

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

// AtStake implements ui.Staker.
func (s *Screen) AtStake() []string {
	var out []string
	for _, t := range s.transfers {
		if !t.over() {
			out = append(out, t.what())
		}
	}
	return out
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	switch a {
	case keymap.FilesUpload:
		return s.opts.ReadOnly
	case keymap.FilesDownload:
		if e, ok := s.list.Cursor(); !ok || e.Type != client.FileRegular {
			return "put the cursor on a file to download it"
		}
	case keymap.FilesEdit:
		return "editing in place is not there yet: download, edit, upload"
	}
	return ""
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
	case transferMsg:
		return s.transferred(m)
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
		if s.filter != "" {
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
		s.hidden = !s.hidden
		s.refilter()
	case keymap.FilesFilter:
		s.startAsk(askFilter, "filter: ", s.filter)
	case keymap.FilesDownload:
		if e, ok := s.list.Cursor(); ok {
			s.startAsk(askDownload, "save as: ", localName(e.Name))
		}
	case keymap.FilesUpload:
		s.startAsk(askUpload, "upload: ", "")
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
	return tea.Batch(tea.SetClipboard(e.Path), ui.Toast(ui.ToastOK, "copied "+present.Clean(e.Path)))
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

func (s *Screen) setFilter(text string) {
	s.filter = text
	s.refilter()
}

func (s *Screen) refilter() {
	text, hidden := strings.ToLower(s.filter), s.hidden
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
		if s.ask != askFilter {
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
	}
	if err != nil {
		s.notice = present.CleanMax(err.Error(), 200)
		return nil
	}
	s.ask = askNothing
	if q == askFilter {
		return s.look()
	}
	return cmd
}

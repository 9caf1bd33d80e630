package templates

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/form"
	"abxdash/ui/table"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// Screen is the templates screen: those of the providers, and folders on disk.
type Screen struct {
	m      *Manager
	env    ui.Env
	cancel context.CancelFunc
	disk   *catalogue

	// onDisk is set while the second half is shown.
	onDisk  bool
	table   *table.Table[*row]
	folders *table.Table[*folder]
	// seen are the versions of what the tables show.
	listed, counted, disked uint64

	filter     present.Filter
	diskFilter string
	input      *form.Input // not nil while a filter is edited
	before     string
	filterErr  string

	// want is a folder that the cursor goes to once it is found.
	want    string
	blurred bool
	// drawn is set by Draw and taken back by each tick: without it nobody looks.
	drawn bool
}

// NewScreen makes the screen.
func NewScreen(m *Manager) *Screen { return &Screen{m: m} }

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	s.disk = newCatalogue(s.m, env.Ctx)
	s.table = s.newTable()
	s.table.SetSort(colAge, false)
	s.folders = s.newFolderTable()
	s.listed = s.m.listed - 1
	s.sync()
	// Without a provider that has templates the folders are what there is to see.
	s.onDisk = !s.anyTemplates()
	s.drawn = true
	return tea.Batch(s.m.refresh(env.Now(), false), s.disk.arm())
}

func (s *Screen) anyTemplates() bool {
	for _, src := range s.m.sources {
		if src.api != nil {
			return true
		}
	}
	return false
}

// Close implements ui.Screen.
func (s *Screen) Close() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.m.env.Lang.T("Templates") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	switch {
	case s.input != nil:
		return []keymap.Context{keymap.Input}
	case s.onDisk:
		return []keymap.Context{keymap.TemplateFolders, keymap.Move}
	}
	return []keymap.Context{keymap.Templates, keymap.Move}
}

// Captures implements ui.Capturer.
func (s *Screen) Captures() bool { return s.input != nil }

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	if a == keymap.TemplatesOpen {
		return s.env.Lang.T("these are the templates")
	}
	if s.onDisk {
		return s.folderDisabled(a)
	}
	return s.rowDisabled(a)
}

func (s *Screen) rowDisabled(a keymap.Action) string {
	r, ok := s.table.Cursor()
	switch a {
	case keymap.ListOpen, keymap.SandboxCopyID, keymap.SandboxRaw, keymap.AppCopyCommand:
		if !ok {
			return s.env.Lang.T("no template here")
		}
	case keymap.TemplateStart, keymap.TemplateDelete, keymap.TemplateTags, keymap.TemplateRollback:
		if !ok {
			return s.env.Lang.T("no template here")
		}
		return s.m.cannot(a, r)
	}
	return ""
}

// cannot says why an action on a template is not possible, "" if it is.
func (m *Manager) cannot(a keymap.Action, r *row) string {
	if m.opt.ReadOnly && a != keymap.TemplateTags {
		return m.env.Lang.T("read-only mode")
	}
	switch a {
	case keymap.TemplateTags, keymap.TemplateRollback:
		if _, ok := client.Find[client.TemplateTagger](r.src.provider); !ok {
			return m.env.Lang.T("%s has no template tags", present.Clean(r.src.name))
		}
	case keymap.TemplateDelete:
		if n := len(r.used); n > 0 {
			return m.env.Lang.N(n, "used by %d live sandbox; kill them first", "used by %d live sandboxes; kill them first", n)
		}
	}
	return ""
}

func (s *Screen) folderDisabled(a keymap.Action) string {
	switch a {
	case keymap.TemplateTry, keymap.TemplateLint, keymap.TemplateEdit, keymap.TemplateDeploy, keymap.TemplateBuild,
		keymap.TemplateTarget, keymap.TemplateJob, keymap.SandboxCopyID, keymap.AppCopyCommand:
		f, ok := s.folders.Cursor()
		if !ok {
			return s.env.Lang.T("no folder here")
		}
		return s.m.folderCannot(a, f.dir)
	}
	return ""
}

// folderCannot says why an action on a folder is not possible, "" if it is.
func (m *Manager) folderCannot(a keymap.Action, dir string) string {
	switch a {
	case keymap.TemplateTry:
		switch {
		case m.opt.ReadOnly:
			return m.env.Lang.T("read-only mode: no sandbox is made")
		case m.opt.CheckIn == nil:
			return m.env.Lang.T("there is no local provider to run it in")
		}
	case keymap.TemplateJob:
		if m.jobOf(dir) == nil {
			return m.env.Lang.T("it was neither built nor deployed yet")
		}
	case keymap.TemplateDeploy, keymap.TemplateBuild:
		switch {
		case m.opt.ReadOnly:
			return m.env.Lang.T("read-only mode")
		case m.jobOf(dir) != nil && m.jobOf(dir).running:
			return m.env.Lang.T("it is being built already")
		}
	}
	return ""
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	cmd := s.handle(msg)
	s.sync()
	return cmd
}

func (s *Screen) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ActionMsg:
		return s.act(msg.Action)
	case ui.TickMsg:
		seen := s.drawn
		s.drawn = false
		if !seen {
			return nil
		}
		at := msg.Now
		if s.blurred {
			at = at.Add(-(unfocusedTimes - 1) * refreshEvery)
		}
		return s.m.refresh(at, false)
	case ui.FocusMsg:
		s.blurred = !msg.Focused
	case ui.ThemeMsg:
		s.env.Theme = msg.Theme
		s.table.Invalidate()
		s.folders.Invalidate()
	case tea.KeyPressMsg, tea.PasteMsg:
		s.typed(msg)
	case tea.MouseMsg:
		return s.mouse(msg)
	case jobDoneMsg, checkDoneMsg:
		s.folders.Invalidate()
	case relintMsg:
		return s.disk.relint(msg.dir)
	case targetMsg:
		s.m.targets[msg.dir] = msg.target
		return s.disk.relint(msg.dir)
	case wroteMsg:
		s.onDisk, s.want = true, msg.dir
		return s.disk.scan()
	case tagsMsg:
		if msg.owner == s {
			return s.m.gotTags(msg)
		}
	case usersMsg:
		if msg.owner == s {
			return s.m.gotUsers(msg)
		}
	}
	return s.disk.update(msg)
}

// sync takes over what manager and disk have that is new.
func (s *Screen) sync() {
	if s.listed != s.m.listed || s.counted != s.m.counted {
		s.listed, s.counted = s.m.listed, s.m.counted
		s.table.SetRows(s.m.rows())
	}
	if s.disked != s.disk.version {
		s.disked = s.disk.version
		s.folders.SetRows(s.disk.folders)
		if s.want != "" && s.folders.SetCursor(s.want) {
			s.want = ""
		}
	}
}

func (s *Screen) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		return s.back()
	case keymap.AppRefresh:
		return tea.Batch(s.m.refresh(s.env.Now(), true), s.disk.scan())
	case keymap.TabNext, keymap.TabPrev:
		s.onDisk = !s.onDisk
	case keymap.Tab1, keymap.Tab2:
		s.onDisk = a == keymap.Tab2
	case keymap.ListNew, keymap.ListOptions:
		if cmd := s.m.readOnly(); cmd != nil {
			return cmd
		}
		return ui.Open(RouteWizard, nil)
	case keymap.ListFilter:
		s.editFilter()
	default:
		if s.onDisk {
			return s.actOnFolder(a)
		}
		return s.actOnRow(a)
	}
	return nil
}

// back leaves the filter, then the screen.
func (s *Screen) back() tea.Cmd {
	switch {
	case s.onDisk && s.diskFilter != "":
		s.setFilter("")
	case !s.onDisk && !s.filter.Empty():
		s.setFilter("")
	default:
		return ui.Back()
	}
	return nil
}

func (s *Screen) actOnRow(a keymap.Action) tea.Cmd {
	if s.table.Do(a) {
		return nil
	}
	for action, key := range map[keymap.Action]string{
		keymap.SortName: colName, keymap.SortAge: colAge, keymap.SortState: colState, keymap.SortProvider: colProvider, keymap.SortUsed: colUsed,
	} {
		if a == action {
			s.table.SortBy(key)
			return nil
		}
	}
	r, ok := s.table.Cursor()
	if !ok {
		return nil
	}
	if a == keymap.ListOpen {
		return ui.Open(RouteDetail, DetailParams{Provider: r.src.name, ID: r.info.ID})
	}
	return s.m.actOn(r, a, s)
}

// actOn carries out what the list and the detail of a template have in common.
// owner gets the answers.
func (m *Manager) actOn(r *row, a keymap.Action, owner ui.Screen) tea.Cmd {
	switch a {
	case keymap.TemplateStart:
		return start(r.src.name, r.ref())
	case keymap.TemplateTags:
		return m.askTags(owner, r.src.name, r.ref(), showTags)
	case keymap.TemplateRollback:
		return m.askTags(owner, r.src.name, r.ref(), rollBack)
	case keymap.TemplateDelete:
		return m.askUsers(owner, r)
	case keymap.SandboxCopyID:
		return tea.Batch(tea.SetClipboard(r.info.ID), ui.Toast(ui.ToastOK, m.env.Lang.T("copied %s", present.Clean(r.info.ID))))
	case keymap.SandboxRaw:
		return ui.OpenOverlay(textbox.New(textbox.Options{Title: r.label(), Text: rawJSON(r.info), NoWrap: true}))
	case keymap.AppCopyCommand:
		line := "abxdash template info " + present.ShellQuote(r.ref()) + " --provider " + present.ShellQuote(r.src.name)
		return tea.Batch(tea.SetClipboard(line), ui.Toast(ui.ToastOK, m.env.Lang.T("copied: %s", present.Clean(line))))
	}
	return nil
}

func (s *Screen) mouse(msg tea.MouseMsg) tea.Cmd {
	if s.onDisk {
		if s.folders.Mouse(msg, s.env.Now()) == table.HitDouble {
			return ui.Do(keymap.TemplateTry)
		}
		return nil
	}
	if s.table.Mouse(msg, s.env.Now()) == table.HitDouble {
		return ui.Do(keymap.ListOpen)
	}
	return nil
}

func (s *Screen) editFilter() {
	s.before = s.filterText()
	s.input = form.NewInput(s.env.Keys, keymap.Input, "/")
	s.input.Placeholder = s.env.Lang.T("text  !not  ~regex  -f fuzzy  state:ready  provider:  age>2d")
	if s.onDisk {
		s.input.Placeholder = s.env.Lang.T("part of the folder or the name")
	}
	s.input.SetValue(s.before)
}

func (s *Screen) filterText() string {
	if s.onDisk {
		return s.diskFilter
	}
	return s.filter.String()
}

func (s *Screen) typed(msg tea.Msg) {
	if s.input == nil {
		return
	}
	switch s.input.Update(msg) {
	case form.Changed:
		s.setFilter(s.input.Value())
	case form.Accepted:
		s.input, s.filterErr = nil, ""
	case form.Cancelled:
		s.setFilter(s.before)
		s.input, s.filterErr = nil, ""
	}
}

// setFilter filters the half that is shown; what cannot be read yet leaves the
// rows as they are.
func (s *Screen) setFilter(text string) {
	if s.onDisk {
		s.diskFilter = strings.ToLower(strings.TrimSpace(text))
		if s.diskFilter == "" {
			s.folders.SetFilter(nil)
			return
		}
		s.folders.SetFilter(func(f *folder) bool {
			return strings.Contains(strings.ToLower(f.dir+"\n"+f.name()), s.diskFilter)
		})
		return
	}
	f, err := present.ParseFilter(text)
	if err != nil {
		s.filterErr = s.env.Lang.Err(err)
		return
	}
	s.filter, s.filterErr = f, ""
	if f.Empty() {
		s.table.SetFilter(nil)
		return
	}
	s.table.SetFilter(func(r *row) bool {
		fr := present.NewFilterRow(present.Row{Sandbox: asSandbox(r), Now: s.env.Now()})
		return f.Match(&fr)
	})
}

// asSandbox shows a template to the filter of the list of sandboxes.
func asSandbox(r *row) client.Sandbox {
	return client.Sandbox{
		ID: client.ID(r.info.ID), Name: strings.Join(r.info.Names, " "), Template: strings.Join(r.info.Names, "\n"),
		Provider: r.src.name, State: client.State(r.info.State), StartedAt: r.info.CreatedAt,
	}
}

// Signature implements ui.Timed: ages and countdowns change with time.
func (s *Screen) Signature() uint64 {
	s.drawn = true
	h := fnv.New64a()
	fmt.Fprint(h, s.env.Now().Truncate(time.Minute).Unix(), s.m.listed, s.m.counted, s.disk.version)
	for _, n := range s.m.notices() {
		fmt.Fprint(h, n.text)
	}
	return h.Sum64()
}

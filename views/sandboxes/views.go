package sandboxes

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

const (
	sessionFile = "session.json"
	// sessionVersion changes with the shape of the file; others are not read.
	sessionVersion = 1
	maxViews       = 50
)

// View is a way to look at the list: which columns, which rows, in which order.
type View struct {
	Name string `json:",omitempty"`
	// Columns are keys in the order shown; empty means the usual ones.
	Columns []string `json:",omitempty"`
	Filter  string   `json:",omitempty"`
	Strays  bool     `json:",omitempty"`
	// Providers are those whose sandboxes are shown; empty means all.
	Providers []string `json:",omitempty"`
	// Sort is the key of a column.
	Sort string `json:",omitempty"`
	Desc bool   `json:",omitempty"`
}

// session is what the list remembers between runs.
type session struct {
	Version int
	Views   []View
	// Current is what was looked at last, Cursor the row in it.
	Current View
	Cursor  string
	// Pane is the size of the preview.
	Pane    int
	History []string
}

// restore takes over the session of the last run.
func (s *Screen) restore() {
	last, err := present.Load[session](s.opt.State, sessionFile)
	if err != nil {
		s.notice = s.env.Lang.T("the last session could not be read: %s", present.CleanMax(err.Error(), 100))
		return
	}
	if last.Version != sessionVersion {
		return
	}
	s.views = last.Views[:min(len(last.Views), maxViews)]
	s.view = last.Current
	s.pane = min(2, max(0, last.Pane))
	s.history = last.History
	s.want = last.Cursor
}

// current is the view as it is now.
func (s *Screen) currentView() View {
	v := s.view
	v.Filter, v.Strays, v.Providers = s.filter.String(), s.strayOnly, slices.Clone(s.store.only)
	v.Sort, v.Desc = s.table.Sort()
	return v
}

func (s *Screen) session() session {
	return session{
		Version: sessionVersion, Views: s.views, Current: s.currentView(), Cursor: s.table.CursorID(),
		Pane: s.pane, History: s.history,
	}
}

// remember writes the session; it is for moments that matter, such as a view
// that was saved. The rest is written when the list is closed.
func (s *Screen) remember() tea.Cmd {
	if !s.opt.State.Remembers() {
		return nil
	}
	now, f, tr := s.session(), s.opt.State, s.env.Lang
	now.Views = slices.Clone(now.Views)
	return func() tea.Msg {
		if err := present.Save(f, sessionFile, now); err != nil {
			return ui.ToastMsg{Level: ui.ToastWarn, Text: tr.T("the view is not remembered: %s", err)}
		}
		return nil
	}
}

// keepSort makes a new order part of the named view.
func (s *Screen) keepSort() {
	key, desc := s.table.Sort()
	for i := range s.views {
		if v := &s.views[i]; v.Name != "" && v.Name == s.view.Name {
			v.Sort, v.Desc = key, desc
		}
	}
}

// show goes to a view. What it does not say is as usual.
func (s *Screen) show(v View) {
	s.view = v
	s.strayOnly = v.Strays
	s.store.showOnly(v.Providers)
	f, err := present.ParseFilter(v.Filter)
	if err != nil {
		f = present.Filter{}
	}
	s.filter = f
	s.rebuild()
	key := v.Sort
	if key == "" {
		key = usualSort
	}
	s.table.SetSort(key, v.Desc)
	s.applyFilter()
}

// usualSort is the order of a list nobody sorted.
const usualSort = "age"

// saveView asks for a name, or takes the one that followed a ":" command.
func (s *Screen) saveView(name string) tea.Cmd {
	if name != "" {
		return s.saveAs(name)
	}
	return ui.OpenOverlay(dialog.Prompt(dialog.PromptOptions{
		Title: s.env.Lang.T("Save this view"), Label: s.env.Lang.T("name: "), Value: s.view.Name,
		Lines: dialog.Plain(s.env.Lang.T("Columns, filter and order under one name.")),
		Check: checkViewName,
		OnText: func(text string) tea.Cmd {
			return ui.Cmd(saveViewMsg{strings.TrimSpace(text)})
		},
	}))
}

// saveViewMsg comes back from the box that asks for a name.
type saveViewMsg struct{ name string }

func checkViewName(text string) error {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return lang.Errorf("a view needs a name")
	case len(text) > 40 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }):
		return lang.Errorf("up to 40 letters")
	case strings.EqualFold(text, usualName):
		return lang.Errorf("%q is the name of the view without any choice", usualName)
	}
	return nil
}

// usualName is what the view without any choice is called.
const usualName = "all"

func (s *Screen) saveAs(name string) tea.Cmd {
	if err := checkViewName(name); err != nil {
		return ui.Toast(ui.ToastWarn, s.env.Lang.Err(err))
	}
	v := s.currentView()
	v.Name = name
	if i := s.viewIndex(name); i >= 0 {
		s.views[i] = v
	} else {
		if len(s.views) == maxViews {
			return ui.Toast(ui.ToastWarn, s.env.Lang.T("there are %d views already; forget one first", maxViews))
		}
		s.views = append(s.views, v)
	}
	s.view = v
	return tea.Batch(s.remember(), ui.Toast(ui.ToastOK, s.env.Lang.T("saved as view %s", present.Clean(name))))
}

func (s *Screen) viewIndex(name string) int {
	return slices.IndexFunc(s.views, func(v View) bool { return strings.EqualFold(v.Name, name) })
}

// goView goes to the view of a name, or offers all of them.
func (s *Screen) goView(name string) tea.Cmd {
	switch {
	case strings.EqualFold(name, usualName):
		s.show(View{})
		return nil
	case name != "":
		i := s.viewIndex(name)
		if i < 0 {
			return ui.Toast(ui.ToastWarn, s.env.Lang.T("there is no view %s", present.Clean(name)))
		}
		s.show(s.views[i])
		return nil
	}
	items := []dialog.Item{{Label: usualName, Hint: s.env.Lang.T("every sandbox, the usual columns"), Cmd: ui.Cmd(showViewMsg{View{}})}}
	for _, v := range s.views {
		items = append(items, dialog.Item{Label: present.Clean(v.Name), Hint: v.describe(s.env.Lang), Cmd: ui.Cmd(showViewMsg{v})})
	}
	return ui.OpenOverlay(dialog.Menu(s.env.Lang.T("Views"), items))
}

// showViewMsg comes back from the menu of views.
type showViewMsg struct{ view View }

// describe words what is special about a view.
func (v View) describe(tr *lang.Catalog) string {
	var out []string
	if v.Filter != "" {
		out = append(out, "/"+present.CleanMax(v.Filter, 40))
	}
	if v.Strays {
		out = append(out, tr.T("strays"))
	}
	if len(v.Providers) > 0 {
		out = append(out, present.CleanMax(strings.Join(v.Providers, ", "), 40))
	}
	if v.Sort != "" && v.Sort != usualSort {
		out = append(out, tr.T("by %s", tr.Word(v.Sort)))
	}
	if len(v.Columns) > 0 {
		out = append(out, tr.N(len(v.Columns), "%d column", "%d columns", len(v.Columns)))
	}
	return strings.Join(out, ", ")
}

func (s *Screen) deleteView(name string) tea.Cmd {
	if name == "" {
		name = s.view.Name
	}
	i := s.viewIndex(name)
	if i < 0 {
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("name the view to forget, such as :delete-view mine"))
	}
	s.views = slices.Delete(s.views, i, i+1)
	if strings.EqualFold(s.view.Name, name) {
		s.view.Name = ""
	}
	return tea.Batch(s.remember(), ui.Toast(ui.ToastOK, s.env.Lang.T("forgot view %s", present.Clean(name))))
}

package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// listedMsg is the answer to one listing.
type listedMsg struct {
	owner   *Screen
	gen     uint64
	dir     string
	cursor  string
	home    string // "" if it was not asked for
	entries []client.Entry
	err     error
}

// newList makes the table of a folder: folders first, then by name.
func newList(tr *lang.Catalog) *table.Table[client.Entry] {
	kind := func(e client.Entry) int {
		switch {
		case e.Name == "..":
			return 0
		case e.Type == client.FileDir:
			return 1
		}
		return 2
	}
	t := table.New(table.Config[client.Entry]{
		ID: func(e client.Entry) string { return e.Name },
		Columns: []table.Column[client.Entry]{
			{
				Key: "name", Title: tr.T("NAME"), Min: 12, Weight: 1, ElideMiddle: true,
				Compare: func(a, b client.Entry) int {
					if n := cmp.Compare(kind(a), kind(b)); n != 0 {
						return n
					}
					return strings.Compare(a.Name, b.Name)
				},
				Cell: func(e client.Entry, _ int) []table.Span { return []table.Span{{Text: entryName(e)}} },
			},
			{
				Key: "size", Title: tr.T("SIZE"), Min: 5, Max: 6, Priority: 1, Align: table.Right,
				Compare: func(a, b client.Entry) int { return cmp.Compare(a.Size, b.Size) },
				Cell: func(e client.Entry, _ int) []table.Span {
					if e.Type != client.FileRegular {
						return nil
					}
					return []table.Span{{Text: present.Size(e.Size)}}
				},
			},
			{
				Key: "modified", Title: tr.T("MODIFIED"), Min: 16, Max: 16, Priority: 2,
				Compare: func(a, b client.Entry) int { return a.ModifiedAt.Compare(b.ModifiedAt) },
				Cell: func(e client.Entry, _ int) []table.Span {
					if e.ModifiedAt.IsZero() {
						return nil
					}
					return []table.Span{{Text: e.ModifiedAt.Local().Format("2006-01-02 15:04")}}
				},
			},
			{
				Key: "mode", Title: tr.T("MODE"), Min: 10, Max: 11, Priority: 3,
				Cell: func(e client.Entry, _ int) []table.Span {
					return []table.Span{{Text: present.CleanMax(e.Permissions, 11)}}
				},
			},
		},
		Empty: tr.T("This folder is empty. u uploads a file."), EmptyFiltered: tr.T("Nothing here matches the filter."),
	})
	t.SetSort("name", false)
	return t
}

// entryName is how an entry is listed: folders end in "/", links show where they lead.
func entryName(e client.Entry) string {
	name := present.Clean(e.Name)
	switch {
	case e.LinkTarget != "":
		return name + " → " + present.CleanMax(e.LinkTarget, 80)
	case e.Type == client.FileDir:
		return name + "/"
	}
	return name
}

// load reads a folder, "" being the home, and puts the cursor on a name. What
// is shown stays until the answer is there.
func (s *Screen) load(dir, cursor string) tea.Cmd {
	s.gen++
	home := s.home
	gen, ctx, fs, id := s.gen, s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	s.loading = dir
	if dir == "" {
		s.loading = "home"
	}
	return func() tea.Msg {
		m := listedMsg{owner: s, gen: gen, dir: dir, cursor: cursor}
		if dir == "" || home == "" {
			e, err := fs.Stat(ctx, id, "")
			if err != nil {
				m.err = err
				return m
			}
			m.home = e.Path
			if dir == "" {
				m.dir = e.Path
			}
		}
		m.entries, m.err = fs.ReadDir(ctx, id, m.dir)
		return m
	}
}

// listed takes a listing, unless a newer one was asked for.
func (s *Screen) listed(m listedMsg) tea.Cmd {
	if m.owner != s || m.gen != s.gen {
		return nil
	}
	s.loading = ""
	if errors.Is(m.err, context.Canceled) {
		return nil
	}
	back := s.back
	s.back = false
	s.err = m.err
	if m.err != nil {
		if back {
			return s.load("", "") // the folder is gone by now
		}
		if s.cwd == "" {
			return nil
		}
		return ui.Toast(ui.ToastError, present.ErrorLine(m.err))
	}
	if m.home != "" {
		s.home = m.home
	}
	if m.dir != s.cwd {
		s.filter = ""
		s.list.ClearMarks()
	}
	s.cwd = m.dir
	rows := make([]client.Entry, 0, len(m.entries)+1)
	if m.dir != "/" {
		rows = append(rows, client.Entry{Name: "..", Path: path.Dir(m.dir), Type: client.FileDir})
	}
	s.list.SetRows(append(rows, m.entries...))
	s.refilter()
	if m.cursor != "" {
		s.list.SetCursor(m.cursor)
	}
	return s.look()
}

// where words the folder for the frame's title.
func (s *Screen) where() string {
	dir := s.cwd
	if dir == "" {
		dir = "home"
	}
	if s.home != "" && (dir == s.home || strings.HasPrefix(dir, s.home+"/")) {
		dir = "~" + strings.TrimPrefix(dir, s.home)
	}
	out := present.Clean(dir)
	if s.filter != "" {
		out += fmt.Sprintf(" ─ /%s", present.CleanMax(s.filter, 30))
	}
	if n := s.list.MarkedCount(); n > 0 {
		out += " ─ " + s.env.Lang.T("%d marked", n)
	}
	if first := s.opts.Prefs.side; first != nil {
		out += " ─ = " + first.name()
	}
	switch {
	case s.comparing != nil:
		out += " ─ " + s.env.Lang.T("comparing …")
	case s.lookingFor != "":
		out += " ─ " + s.env.Lang.T("searching for %s …", present.CleanMax(s.lookingFor, 30))
	case s.loading != "":
		out += " ─ " + s.env.Lang.T("reading …")
	}
	return out
}

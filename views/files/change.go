package files

import (
	"context"
	"errors"
	"path"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// targets are the marked entries, or the one under the cursor; never "..".
func (s *Screen) targets() []client.Entry {
	var out []client.Entry
	for _, e := range s.list.Targets() {
		if e.Name != ".." {
			out = append(out, e)
		}
	}
	return out
}

// remotePath is what a typed path means inside the sandbox.
func (s *Screen) remotePath(text string) string {
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		return path.Join(s.home, rest)
	}
	return path.Join(s.cwd, text)
}

// rename gives the entry under the cursor another name or place. What has that
// name already is never replaced.
func (s *Screen) rename(text string) (tea.Cmd, error) {
	e, ok := s.list.Cursor()
	if !ok || e.Name == ".." {
		return nil, lang.Errorf("put the cursor on a file or a folder")
	}
	to := s.remotePath(text)
	if to == e.Path {
		return nil, nil
	}
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	m := changedMsg{owner: s, text: s.env.Lang.T("renamed %s to %s", present.Clean(e.Name), present.Clean(to))}
	if path.Dir(to) == s.cwd {
		m.cursor = path.Base(to)
	}
	return func() tea.Msg {
		switch _, err := fs.Stat(ctx, id, to); {
		case err == nil:
			m.err = &client.Error{Op: "rename", Code: client.CodeFiles, Kind: client.ErrConflict, Message: present.Clean(to) + " exists already"}
		case !errors.Is(err, client.ErrNotFound):
			m.err = err
		default:
			m.err = fs.Rename(ctx, id, e.Path, to)
		}
		return m
	}, nil
}

// mkdir makes a folder, with its parents, and puts the cursor on it.
func (s *Screen) mkdir(text string) (tea.Cmd, error) {
	to := s.remotePath(text)
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	m := changedMsg{owner: s, text: s.env.Lang.T("made %s", present.Clean(to))}
	if rel, ok := strings.CutPrefix(to, strings.TrimSuffix(s.cwd, "/")+"/"); ok {
		m.cursor, _, _ = strings.Cut(rel, "/")
	}
	return func() tea.Msg {
		m.err = fs.Mkdir(ctx, id, to)
		return m
	}, nil
}

// askCount is the number of entries from which it has to be typed.
const askCount = 10

// delete asks, naming everything, and then deletes one after the other.
func (s *Screen) delete() tea.Cmd {
	list := s.targets()
	if len(list) == 0 {
		return nil
	}
	t, tr := s.env.Theme, s.env.Lang
	var lines []dialog.Line
	folders := 0
	for i, e := range list {
		if e.Type == client.FileDir && e.LinkTarget == "" {
			folders++
		}
		if i < 12 {
			lines = append(lines, dialog.Line{Text: present.CleanMax(e.Path, 200), Style: t.Text.Strong})
		}
	}
	if n := len(list) - 12; n > 0 {
		lines = append(lines, dialog.Line{Text: tr.T("and %d more", n), Style: t.Text.Dim})
	}
	if folders > 0 {
		lines = append(lines, dialog.Line{Text: tr.N(folders, "%d folder with everything in it. This cannot be undone.", "%d folders with everything in it. This cannot be undone.", folders), Style: t.Text.Warn})
	} else {
		lines = append(lines, dialog.Line{Text: tr.T("This cannot be undone."), Style: t.Text.Dim})
	}
	count := 0
	if len(list) > askCount {
		count = len(list)
	}
	return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: tr.N(len(list), "Delete %d entry in %s?", "Delete %d entries in %s?", len(list), present.Label(s.sb)),
		Lines: lines, Yes: tr.T("delete"), No: tr.T("keep"), Danger: true, Count: count, OnYes: s.remove(list),
	}))
}

func (s *Screen) remove(list []client.Entry) tea.Cmd {
	ctx, fs, id, tr := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID, s.env.Lang
	return func() tea.Msg {
		m := changedMsg{owner: s, all: len(list), text: tr.N(len(list), "deleted %d entry", "deleted %d entries", len(list))}
		if len(list) == 1 {
			m.text = tr.T("deleted %s", present.Clean(list[0].Path))
		}
		for _, e := range list {
			if err := fs.Remove(ctx, id, e.Path); err != nil {
				m.failed++
				m.err = err
			}
		}
		return m
	}
}

// Bounds of a search by name.
const (
	maxSearchDirs = 3000
	maxFound      = 200
)

// foundMsg is the end of a search by name.
type foundMsg struct {
	owner *Screen
	gen   uint64
	text  string
	root  string
	found []client.Entry
	// partial is set when a bound ended it, or something could not be read.
	partial bool
	err     error
}

// search looks for names that hold text, in the folder shown and below.
func (s *Screen) search(text string) tea.Cmd {
	if s.stopSearch != nil {
		s.stopSearch()
	}
	ctx, stop := context.WithCancel(s.env.Ctx)
	s.stopSearch = stop
	s.searching++
	fs, id := s.opts.Provider.Files(), s.sb.ID
	m := foundMsg{owner: s, gen: s.searching, text: text, root: s.cwd}
	s.lookingFor = text
	return func() tea.Msg {
		defer stop()
		m.found, m.partial, m.err = findNames(ctx, fs, id, m.root, text)
		return m
	}
}

// findNames walks breadth first, so that what is near comes first.
func findNames(ctx context.Context, fs client.Files, id client.ID, root, text string) (found []client.Entry, partial bool, err error) {
	text = strings.ToLower(text)
	folders := []string{root}
	for n := 0; len(folders) > 0; n++ {
		if n >= maxSearchDirs {
			return found, true, nil
		}
		dir := folders[0]
		folders = folders[1:]
		entries, err := fs.ReadDir(ctx, id, dir)
		if err != nil {
			if ctx.Err() != nil || n == 0 {
				return found, true, err
			}
			partial = true // one folder that cannot be read hides no other
			continue
		}
		for _, e := range entries {
			p := path.Join(dir, e.Name)
			if strings.Contains(strings.ToLower(e.Name), text) {
				e.Path = p
				if found = append(found, e); len(found) >= maxFound {
					return found, true, nil
				}
			}
			if e.Type == client.FileDir && e.LinkTarget == "" && p != "/proc" && p != "/sys" {
				folders = append(folders, p)
			}
		}
	}
	return found, partial, nil
}

// found shows what a search by name came to.
func (s *Screen) found(m foundMsg) tea.Cmd {
	if m.owner != s || m.gen != s.searching {
		return nil
	}
	s.lookingFor = ""
	switch {
	case errors.Is(m.err, context.Canceled):
		return nil
	case m.err != nil:
		return ui.Toast(ui.ToastError, present.ErrorLine(m.err))
	case len(m.found) == 0:
		text := s.env.Lang.T("no name holds %s", present.CleanMax(m.text, 60))
		if m.partial {
			text = s.env.Lang.T("no name holds %s, as far as was looked", present.CleanMax(m.text, 60))
		}
		return ui.Toast(ui.ToastInfo, text)
	}
	items := make([]dialog.Item, len(m.found))
	for i, e := range m.found {
		rel := strings.TrimPrefix(strings.TrimPrefix(e.Path, m.root), "/")
		it := dialog.Item{Label: present.Clean(rel), Cmd: ui.Cmd(goMsg{owner: s, path: e.Path})}
		if e.Type == client.FileDir {
			it.Label += "/"
		} else {
			it.Hint = present.Size(e.Size)
		}
		items[i] = it
	}
	n := len(m.found)
	title := s.env.Lang.N(n, "%d name holds %s", "%d names hold %s", n, present.CleanMax(m.text, 40))
	if m.partial {
		title += ", " + s.env.Lang.T("there may be more")
	}
	return ui.OpenOverlay(dialog.Menu(title, items))
}

// goMsg goes to a file that was searched for.
type goMsg struct {
	owner *Screen
	path  string
}

package files

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// download takes on what is marked, or what is under the cursor. Nothing that
// exists is ever replaced: the line stays open and says so.
func (s *Screen) download(text string) (tea.Cmd, error) {
	list := s.targets()
	if len(list) == 0 {
		return nil, lang.Errorf("the file is gone")
	}
	to := localPath(s.opts.Dir, text)
	st, err := os.Stat(to)
	into := err == nil && st.IsDir()
	if len(list) > 1 && !into {
		return nil, lang.Errorf("%s is not a folder on this machine", to)
	}
	if st, err := os.Stat(filepath.Dir(to)); !into && (err != nil || !st.IsDir()) {
		return nil, lang.Errorf("%s is not a folder on this machine", filepath.Dir(to))
	}
	var add []*transfer
	for _, e := range list {
		place := to
		if into {
			place = filepath.Join(to, localName(e.Name))
		}
		if _, err := os.Lstat(place); err == nil || s.opts.Transfers.claims(place) {
			return nil, lang.Errorf("%s exists already: type another name", place)
		}
		add = append(add, &transfer{key: present.KeyOf(s.sb), fs: s.opts.Provider.Files(), from: e.Path, to: place, name: e.Name})
	}
	s.list.ClearMarks()
	return s.takeOn(add), nil
}

// claims reports whether a transfer under way will bear that name.
func (m *Transfers) claims(to string) bool {
	for _, t := range m.list {
		if !t.up && t.to == to && (!t.over() || t.state == failed) {
			return true
		}
	}
	return false
}

func (s *Screen) takeOn(list []*transfer) tea.Cmd {
	var cmds []tea.Cmd
	for _, t := range list {
		cmds = append(cmds, s.opts.Transfers.add(t))
	}
	return tea.Batch(cmds...)
}

// upload sends the local file or folder that text names into the folder shown.
func (s *Screen) upload(text string) (tea.Cmd, error) {
	from := localPath(s.opts.Dir, text)
	st, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, lang.Errorf("%s cannot be read: %s", from, errors.Unwrap(err))
	case !st.Mode().IsRegular() && !st.IsDir():
		return nil, lang.Errorf("%s is neither a file nor a folder", from)
	}
	name := filepath.Base(from)
	if _, ok := s.list.Get(name); ok {
		return nil, lang.Errorf("%s exists here already: rename one of them first", name)
	}
	t := &transfer{key: present.KeyOf(s.sb), fs: s.opts.Provider.Files(), up: true, from: from, to: path.Join(s.cwd, name), name: name}
	return s.takeOn([]*transfer{t}), nil
}

// arrived looks again when something came into the folder shown.
func (s *Screen) arrived(m arrivedMsg) tea.Cmd {
	if !m.up || m.key != present.KeyOf(s.sb) || path.Dir(m.to) != s.cwd {
		return nil
	}
	return s.load(s.cwd, s.list.CursorID())
}

// localName is the name a remote file gets here: one path element, never one
// that leads elsewhere.
func localName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == filepath.Separator || client.Unsafe(r) {
			return '_'
		}
		return r
	}, name)
	if name == "" || name == "." || name == ".." || !filepath.IsLocal(name) {
		return "download"
	}
	return name
}

// localPath is what a typed path means on this machine.
func localPath(dir, text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok || text == "~" {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(dir, text)
}

// complete extends a typed path as far as the names on this machine are of one mind.
func complete(dir, text string) string {
	folder, part := filepath.Split(text)
	entries, err := os.ReadDir(localPath(dir, folder+"."))
	if err != nil {
		return text
	}
	var common string
	found := 0
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, part) || part == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		if found++; found == 1 {
			common = name
			continue
		}
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	if found == 0 {
		return text
	}
	return folder + strings.ToValidUTF8(common, "")
}

// changedMsg is the end of a rename, a new folder or a deletion.
type changedMsg struct {
	owner *Screen
	// text says what was done, clean; cursor is where the cursor goes then.
	text, cursor string
	err          error
	// failed counts what could not be deleted, of all.
	failed, all int
}

// changed says how a change went and looks again.
func (s *Screen) changed(m changedMsg) tea.Cmd {
	if m.owner != s {
		return nil
	}
	cursor := m.cursor
	if cursor == "" {
		cursor = s.list.CursorID()
	}
	again := s.load(s.cwd, cursor)
	ev := present.EventMsg{Key: present.KeyOf(s.sb), At: s.env.Now(), Kind: present.EventFile, Text: m.text, Bad: m.err != nil}
	if m.err != nil {
		text := present.ErrorLine(m.err)
		if m.all > 1 {
			text = s.env.Lang.T("%d of %d could not be deleted: %s", m.failed, m.all, text)
		}
		return tea.Batch(again, ui.Toast(ui.ToastError, text), present.Event(ev))
	}
	return tea.Batch(again, ui.Toast(ui.ToastOK, m.text), present.Event(ev))
}

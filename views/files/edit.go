package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/views/present"
)

// maxEdit is the largest file that is taken to an editor, in bytes.
const maxEdit = 8 << 20

// editing is one file at the editor.
type editing struct {
	owner *Screen
	// path is where the file is in the sandbox, "" entry Name its name.
	entry client.Entry
	// dir is a private folder of this machine that holds local, the copy.
	dir, local string
	before     []byte
	after      []byte
}

// Messages of an edit, in order.
type (
	editReadyMsg  struct{ e *editing }
	editLeftMsg   struct{ e *editing }
	editJudgedMsg struct {
		e *editing
		// remote says what became of the file meanwhile, "" for nothing.
		remote string
	}
	editSavedMsg struct {
		e   *editing
		err error
	}
	editFailedMsg struct {
		owner *Screen
		err   error
	}
)

// edit fetches the file under the cursor and opens the user's editor on it.
func (s *Screen) edit() tea.Cmd {
	e, ok := s.list.Cursor()
	if !ok {
		return nil
	}
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	return func() tea.Msg {
		fail := func(err error) tea.Msg { return editFailedMsg{owner: s, err: err} }
		data, err := whole(ctx, fs, id, e.Path)
		if err != nil {
			return fail(err)
		}
		dir, err := os.MkdirTemp("", "abxdash-edit-")
		if err != nil {
			return fail(err)
		}
		ed := &editing{owner: s, entry: e, dir: dir, local: filepath.Join(dir, localName(e.Name)), before: data}
		if err := os.WriteFile(ed.local, data, 0o600); err != nil {
			_ = os.RemoveAll(dir)
			return fail(err)
		}
		return editReadyMsg{ed}
	}
}

// whole reads a file that is small enough to be edited.
func whole(ctx context.Context, fs client.Files, id client.ID, path string) ([]byte, error) {
	r, err := fs.Open(ctx, id, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxEdit+1))
	if err == nil && len(data) > maxEdit {
		err = fmt.Errorf("files over %s are not edited here: download, edit, upload", present.Size(maxEdit))
	}
	return data, err
}

// editStep carries an edit on.
func (s *Screen) editStep(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case editFailedMsg:
		if m.owner == s {
			return ui.Toast(ui.ToastError, s.env.Lang.T("edit: %s", present.ErrorLine(m.err)))
		}
	case editReadyMsg:
		if m.e.owner == s {
			return s.runEditor(m.e)
		}
	case editLeftMsg:
		if m.e.owner == s {
			return tea.Batch(tea.ClearScreen, s.judge(m.e))
		}
	case editJudgedMsg:
		if m.e.owner == s {
			return s.judged(m)
		}
	case editSavedMsg:
		if m.e.owner == s {
			return s.editSaved(m)
		}
	}
	return nil
}

// runEditor hands the terminal to the editor.
func (s *Screen) runEditor(e *editing) tea.Cmd {
	if s.opts.RunEditor != nil {
		return s.opts.RunEditor(e.local, func(err error) tea.Msg { return editorLeft(e, err) })
	}
	cmd, err := present.EditorCommand(s.env.Ctx, s.env.Lang, s.opts.Editor, e.local)
	if err != nil {
		_ = os.RemoveAll(e.dir)
		return ui.Toast(ui.ToastError, err.Error())
	}
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return editorLeft(e, err) })
}

func editorLeft(e *editing, err error) tea.Msg {
	if err != nil {
		_ = os.RemoveAll(e.dir)
		return editFailedMsg{owner: e.owner, err: fmt.Errorf("the editor ended with %w; nothing was sent", err)}
	}
	return editLeftMsg{e}
}

// judge compares what the editor left with what was there, and the file in the
// sandbox with what it was.
func (s *Screen) judge(e *editing) tea.Cmd {
	ctx, fs, id, tr := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID, s.env.Lang
	name := present.CleanMax(e.entry.Name, 40)
	return func() tea.Msg {
		data, err := os.ReadFile(e.local)
		if err != nil {
			return editFailedMsg{owner: s, err: err}
		}
		e.after = data
		m := editJudgedMsg{e: e}
		if bytes.Equal(e.before, e.after) {
			return m
		}
		now, err := whole(ctx, fs, id, e.entry.Path)
		switch {
		case errors.Is(err, client.ErrNotFound):
			m.remote = tr.T("%s was deleted in the sandbox while you edited it", name)
		case err != nil:
			return editFailedMsg{owner: s, err: fmt.Errorf("%w; the edited copy is %s", err, e.local)}
		case !bytes.Equal(now, e.before):
			m.remote = tr.T("%s was changed in the sandbox while you edited it", name)
		}
		return m
	}
}

// judged saves, or asks when somebody else changed the file meanwhile.
func (s *Screen) judged(m editJudgedMsg) tea.Cmd {
	e := m.e
	switch {
	case bytes.Equal(e.before, e.after):
		_ = os.RemoveAll(e.dir)
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("%s is as it was; nothing was sent", present.Clean(e.entry.Name)))
	case m.remote == "":
		return s.put(e, e.entry.Path)
	}
	// Whoever leaves the box without choosing still learns where the copy is.
	tr := s.env.Lang
	where := ui.Toast(ui.ToastInfo, tr.T("the edited copy is %s", present.Clean(e.local)))
	return tea.Batch(where, ui.OpenOverlay(dialog.Menu(m.remote, []dialog.Item{
		{Label: tr.T("Keep mine beside it"), Hint: present.CleanMax(e.entry.Name, 40) + ".mine", Cmd: s.put(e, e.entry.Path+".mine")},
		{Label: tr.T("Send nothing"), Hint: tr.T("the copy stays here: %s", present.CleanMax(e.local, 60)), Cmd: where},
		{Label: tr.T("Replace the one in the sandbox"), Hint: tr.T("loses what changed there"), Cmd: s.put(e, e.entry.Path)},
	})))
}

func (s *Screen) put(e *editing, to string) tea.Cmd {
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	return func() tea.Msg {
		_, err := fs.Put(ctx, id, to, bytes.NewReader(e.after), int64(len(e.after)))
		return editSavedMsg{e: e, err: err}
	}
}

func (s *Screen) editSaved(m editSavedMsg) tea.Cmd {
	name := present.Clean(m.e.entry.Name)
	if m.err != nil {
		return ui.Toast(ui.ToastError, s.env.Lang.T("%s; the edited copy is %s", present.ErrorLine(m.err), present.Clean(m.e.local)))
	}
	_ = os.RemoveAll(m.e.dir)
	return tea.Batch(ui.Toast(ui.ToastOK, s.env.Lang.T("saved %s", name)), s.load(s.cwd, s.list.CursorID()),
		present.Event(present.EventMsg{Key: present.KeyOf(s.sb), At: s.env.Now(), Kind: present.EventFile, Text: s.env.Lang.T("edited %s", name)}))
}

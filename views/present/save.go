package present

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
)

// maxNames is how many names SaveNew tries.
const maxNames = 1000

// SaveNew writes a new file of this machine, which only its owner can read, and
// says where it is: name below dir, or with a number where there is one already
// ("a.log", "a-1.log"). fs.ErrExist is the error when no name is free. What could
// not be written whole is removed.
func SaveNew(dir, name string, write func(w io.Writer) error) (path string, err error) {
	name = filepath.Base(name)
	ext := filepath.Ext(name)
	for i := range maxNames {
		path = filepath.Join(dir, name)
		if i > 0 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return path, err
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return path, errors.Join(err, os.Remove(path))
		}
		return path, nil
	}
	return path, fmt.Errorf("%s: %w", path, fs.ErrExist)
}

// SaveLog saves a text as SaveNew does, and says where or why not.
func SaveLog(tr *lang.Catalog, dir, name, text string) tea.Cmd {
	return func() tea.Msg {
		path, err := SaveNew(dir, name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return SaveFailed(tr, err)
		}
		return ui.ToastMsg{Level: ui.ToastOK, Text: tr.T("saved %s", Clean(path))}
	}
}

// SaveFailed words an error of SaveNew.
func SaveFailed(tr *lang.Catalog, err error) ui.ToastMsg {
	text := tr.T("save: %s", CleanMax(err.Error(), 200))
	if errors.Is(err, fs.ErrExist) {
		text = tr.T("save: too many files of that name")
	}
	return ui.ToastMsg{Level: ui.ToastError, Text: text}
}

// EditorCommand is the command that opens a file in the user's editor, whose
// setting may have options but needs no shell. The error says what to set, in the
// language of tr.
func EditorCommand(ctx context.Context, tr *lang.Catalog, editor, file string) (*exec.Cmd, error) {
	argv, err := client.CommandLine(editor)
	if err != nil || argv[0] == "sh" {
		return nil, errors.New(tr.T("set $VISUAL or $EDITOR to the name of an editor, with options if it needs any"))
	}
	return exec.CommandContext(ctx, argv[0], append(argv[1:], file)...), nil
}

package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"abxdash/client"
)

// Action is what writing a file does.
type Action string

// Actions.
const (
	Create    Action = "created"
	Unchanged Action = "unchanged"
	Replace   Action = "replaced"
	Keep      Action = "kept"
)

// Change is what writing one file would do to a folder.
type Change struct {
	File
	Action Action
	// Diff is a unified diff for Replace; its text is untrusted.
	Diff string
}

// maxOld bounds a file that is compared.
const maxOld = 1 << 20

// Compare says what writing the files into dir would change. A dir that is not
// there yet is fine.
func Compare(dir string, list []File) ([]Change, error) {
	const op = "look at the folder"
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		var out []Change
		for _, f := range list {
			out = append(out, Change{File: f, Action: Create})
		}
		return out, nil
	}
	if err != nil {
		return nil, &client.Error{Op: op, Code: client.CodeFiles, Err: err}
	}
	defer root.Close()
	var out []Change
	for _, f := range list {
		c := Change{File: f, Action: Create}
		info, err := root.Lstat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, &client.Error{Op: op, Code: client.CodeFiles, Err: err}
		case !info.Mode().IsRegular():
			return nil, &client.Error{Op: op, Code: client.CodeFiles, Message: f.Path + " is there and is no regular file", Hint: "move it away first"}
		case info.Size() > maxOld:
			return nil, &client.Error{Op: op, Code: client.CodeFiles, Message: f.Path + " is there and too large to be compared", Hint: "move it away first"}
		default:
			old, err := root.ReadFile(f.Path)
			if err != nil {
				return nil, &client.Error{Op: op, Code: client.CodeFiles, Err: err}
			}
			c.Action = Unchanged
			if exec := info.Mode()&0o100 != 0; string(old) != string(f.Data) || f.Exec && !exec && runtime.GOOS != "windows" {
				c.Action, c.Diff = Replace, diff(f, old)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// diff shows what a replacement changes; of what is no text only that.
func diff(f File, old []byte) string {
	switch {
	case string(old) == string(f.Data):
		return f.Path + " becomes a program\n"
	case !utf8.Valid(old) || !utf8.Valid(f.Data):
		return fmt.Sprintf("%s is no text: %d bytes become %d\n", f.Path, len(old), len(f.Data))
	}
	return udiff.Unified(f.Path+" (there)", f.Path+" (new)", string(old), string(f.Data))
}

// Write carries changes out: files to create or to replace. A file that came
// or changed since [Compare] is not touched (E9003). Each file appears whole
// or not at all.
func Write(dir string, changes []Change) error {
	const op = "write the template folder"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &client.Error{Op: op, Code: client.CodeFiles, Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &client.Error{Op: op, Code: client.CodeFiles, Err: err}
	}
	defer root.Close()
	again, err := Compare(dir, filesOf(changes))
	if err != nil {
		return err
	}
	for i, c := range changes {
		if c.Action != again[i].Action && c.Action != Keep || c.Action == Replace && c.Diff != again[i].Diff {
			return &client.Error{Op: op, Code: client.CodeConflict, Kind: client.ErrConflict, Message: c.Path + " changed meanwhile, nothing was written"}
		}
	}
	for _, c := range changes {
		if c.Action != Create && c.Action != Replace {
			continue
		}
		if err := put(root, c.File); err != nil {
			return &client.Error{Op: op, Code: client.CodeFiles, Err: fmt.Errorf("%s: %w", c.Path, err)}
		}
	}
	return nil
}

func filesOf(changes []Change) []File {
	var out []File
	for _, c := range changes {
		out = append(out, c.File)
	}
	return out
}

// put writes beside the file and renames.
func put(root *os.Root, f File) (err error) {
	if !fs.ValidPath(f.Path) || !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return errors.New("not a path inside the folder")
	}
	if dir := path.Dir(f.Path); dir != "." {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	temp := f.Path + ".new"
	mode := fs.FileMode(0o644)
	if f.Exec {
		mode = 0o755
	}
	w, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp) // the first error is the one that matters
		}
	}()
	if _, err := w.Write(f.Data); err != nil {
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return root.Rename(temp, f.Path)
}

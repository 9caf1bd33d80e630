package present

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"abxdash/ui"
)

func TestSaveNew(t *testing.T) {
	dir := t.TempDir()
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	for _, want := range []string{"a.b.log", "a.b-1.log", "a.b-2.log"} {
		// A name never leads out of the folder.
		path, err := SaveNew(dir, "../x/a.b.log", text(want))
		if err != nil || path != filepath.Join(dir, want) {
			t.Fatalf("%s, %v; want %s", path, err, want)
		}
		data, err := os.ReadFile(path)
		if err != nil || string(data) != want {
			t.Errorf("%q, %v", data, err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	broken := errors.New("broken")
	if _, err := SaveNew(dir, "half.log", func(w io.Writer) error { return errors.Join(text("half")(w), broken) }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "half*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := SaveNew(filepath.Join(dir, "none"), "a.log", text("")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for i := range maxNames {
		name := "c"
		if i > 0 {
			name = fmt.Sprintf("c-%d", i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := SaveNew(dir, "c", text("")); !errors.Is(err, fs.ErrExist) || SaveFailed(nil, err).Text != "save: too many files of that name" {
		t.Errorf("all names taken: %v", err)
	}
}

func TestSaveLog(t *testing.T) {
	dir := t.TempDir()
	msg, ok := SaveLog(nil, dir, "a.log", "text\n")().(ui.ToastMsg)
	if !ok || msg.Level != ui.ToastOK || msg.Text != "saved "+filepath.Join(dir, "a.log") {
		t.Errorf("%+v", msg)
	}
	if msg, ok = SaveLog(nil, filepath.Join(dir, "none"), "a.log", "")().(ui.ToastMsg); !ok || msg.Level != ui.ToastError {
		t.Errorf("%+v", msg)
	}
}

func TestEditorCommand(t *testing.T) {
	cmd, err := EditorCommand(t.Context(), nil, `code --wait "--user-data-dir=a b"`, "the file")
	if err != nil || !slices.Equal(cmd.Args, []string{"code", "--wait", "--user-data-dir=a b", "the file"}) {
		t.Errorf("%q, %v", cmd, err)
	}
	for _, bad := range []string{"", "vi | cat", `vi "`} {
		if cmd, err := EditorCommand(t.Context(), nil, bad, "x"); err == nil {
			t.Errorf("%q runs %q", bad, cmd.Args)
		}
	}
}

package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui/logpane"
	"abxdash/views/present"
)

// maxPreview is how much of a file is read to show it.
const maxPreview = 256 << 10

// preview is what is known of the file under the cursor.
type preview struct {
	// path and changed say which file it is; busy names the one being read.
	path    string
	changed time.Time
	busy    string
	text    textLines
	note    string // shown instead of text
	cut     bool
}

// previewMsg is a file that was read.
type previewMsg struct {
	owner *Screen
	entry client.Entry
	data  []byte
	cut   bool
	err   error
}

// look starts reading the file under the cursor, one file at a time.
func (s *Screen) look() tea.Cmd {
	e, ok := s.list.Cursor()
	if !ok || s.preview.busy != "" {
		return nil
	}
	if s.preview.path == e.Path && s.preview.changed.Equal(e.ModifiedAt) {
		return nil
	}
	if e.Type != client.FileRegular {
		s.show(e, nil, kindNote(e), false)
		return nil
	}
	s.preview.busy = e.Path
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	return func() tea.Msg {
		data, cut, err := head(ctx, fs, id, e.Path)
		return previewMsg{owner: s, entry: e, data: data, cut: cut, err: err}
	}
}

// head reads the beginning of a file.
func head(ctx context.Context, fs client.Files, id client.ID, path string) (data []byte, cut bool, err error) {
	r, err := fs.Open(ctx, id, path)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, maxPreview+1))
	if len(data) > maxPreview {
		data, cut = data[:maxPreview], true
	}
	return data, cut, err
}

// previewed takes a file that was read and goes on with the one under the cursor.
func (s *Screen) previewed(m previewMsg) tea.Cmd {
	if m.owner != s {
		return nil
	}
	s.preview.busy = ""
	if errors.Is(m.err, context.Canceled) {
		return nil
	}
	switch {
	case m.err != nil:
		s.show(m.entry, nil, present.ErrorLine(m.err), false)
	case len(m.data) == 0:
		s.show(m.entry, nil, "empty file", false)
	case binary(m.data):
		s.show(m.entry, nil, fmt.Sprintf("binary file, %s; d downloads it", present.Size(m.entry.Size)), false)
	default:
		s.show(m.entry, m.data, "", m.cut)
	}
	return s.look()
}

// show puts a file, or a note about it, into the preview.
func (s *Screen) show(e client.Entry, data []byte, note string, cut bool) {
	s.preview = preview{path: e.Path, changed: e.ModifiedAt, note: note, cut: cut}
	s.preview.text = splitLines(data)
	s.view = logpane.New(s.env.Keys, s.preview.text)
	s.view.Do(keymap.MoveTop)
	if note != "" && s.focus == panePreview {
		s.focus = paneList
	}
}

func kindNote(e client.Entry) string {
	switch {
	case e.Name == "..":
		return "the folder above"
	case e.Type == client.FileDir:
		return "folder; enter goes in"
	case e.LinkTarget != "":
		return "link to " + present.Clean(e.LinkTarget) + ", which does not exist"
	}
	return "not a file: nothing to show"
}

// binary guesses from the beginning of a file, as most tools do: a NUL byte,
// or text that is not UTF-8 for more than a few bytes.
func binary(data []byte) bool {
	data = data[:min(len(data), 8<<10)]
	if bytes.IndexByte(data, 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		// A rune cut at the end of the piece looked at is not a fault.
		if r == utf8.RuneError && n == 1 && len(data)-i >= utf8.UTFMax {
			bad++
		}
		i += n
	}
	return bad > len(data)/10
}

// textLines is a file that does not change, as lines for a log pane.
type textLines []string

func splitLines(data []byte) textLines {
	if len(data) == 0 {
		return nil
	}
	text := strings.TrimSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    ")
	}
	return lines
}

// Len implements logpane.Lines.
func (t textLines) Len() int { return len(t) }

// At implements logpane.Lines.
func (t textLines) At(i int) (string, bool, time.Time) {
	if i < 0 || i >= len(t) {
		return "", false, time.Time{}
	}
	return t[i], false, time.Time{}
}

// Dropped implements logpane.Lines.
func (t textLines) Dropped() int { return 0 }

// Version implements logpane.Lines.
func (t textLines) Version() uint64 { return 1 }

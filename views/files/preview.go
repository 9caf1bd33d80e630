package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui/lang"
	"abxdash/ui/logpane"
	"abxdash/ui/textbox"
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
	text    textbox.Lines
	note    string // shown instead of text
	cut     bool
	// hex is set for what is not text.
	hex bool
	// picture is set for an image; about says which one, or why it is none.
	picture *picture
	about   string
}

// previewMsg is a file that was read and made ready to be shown.
type previewMsg struct {
	owner *Screen
	entry client.Entry
	shown preview
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
		s.show(preview{path: e.Path, changed: e.ModifiedAt, note: kindNote(e, s.env.Lang)})
		return nil
	}
	s.preview.busy = e.Path
	ctx, fs, id, tr := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID, s.env.Lang
	return func() tea.Msg {
		m := previewMsg{owner: s, entry: e}
		data, cut, err := head(ctx, fs, id, e.Path)
		if err != nil {
			m.err = err
			return m
		}
		m.shown = render(tr, e, data, cut)
		return m
	}
}

// head reads the beginning of a file, or a whole image.
func head(ctx context.Context, fs client.Files, id client.ID, path string) (data []byte, cut bool, err error) {
	r, err := fs.Open(ctx, id, path)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, maxPreview+1))
	if err == nil && len(data) > maxPreview && looksLikeImage(data) {
		// Half an image shows nothing.
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(r, int64(maxImage+1-len(data))))
		data = append(data, rest...)
		return data, len(data) > maxImage, err
	}
	if len(data) > maxPreview {
		data, cut = data[:maxPreview], true
	}
	return data, cut, err
}

// render makes what is shown of a file: coloured text, or numbers for what is
// not text. It takes tens of milliseconds and runs beside the program's loop.
func render(tr *lang.Catalog, e client.Entry, data []byte, cut bool) preview {
	p := preview{path: e.Path, changed: e.ModifiedAt, cut: cut}
	switch {
	case len(data) == 0:
		p.note = lang.Mark("empty file")
	case looksLikeImage(data) && imagePreview(tr, &p, data, cut):
	case binary(data):
		p.hex, p.cut = true, cut || len(data) > maxHex
		p.text = hexLines(data)
	default:
		p.text = textbox.Split(textbox.Plain(string(data)))
		first := ""
		if len(p.text) > 0 {
			first = p.text[0]
		}
		if code, ok := languageOf(e.Name, first); ok {
			p.text = highlight(p.text, code)
		}
	}
	return p
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
	if m.err != nil {
		m.shown = preview{path: m.entry.Path, changed: m.entry.ModifiedAt, note: present.ErrorLine(m.err)}
	}
	s.show(m.shown)
	return s.look()
}

// show puts a file, or a note about it, into the preview.
func (s *Screen) show(p preview) {
	s.preview = p
	s.view = logpane.New(s.env.Keys, p.text)
	s.view.Lang = s.env.Lang
	s.view.Do(keymap.MoveTop)
	if p.note != "" && s.focus == panePreview {
		s.focus = paneList
	}
}

func kindNote(e client.Entry, tr *lang.Catalog) string {
	switch {
	case e.Name == "..":
		return tr.T("the folder above")
	case e.Type == client.FileDir:
		return tr.T("folder; enter goes in")
	case e.LinkTarget != "":
		return tr.T("link to %s, which does not exist", present.Clean(e.LinkTarget))
	}
	return tr.T("not a file: nothing to show")
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

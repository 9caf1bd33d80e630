package files

import (
	"bytes"
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// maxDiff is the largest file that is compared line by line, in bytes.
const maxDiff = 1 << 20

// diffMsg is two files that were read to be compared.
type diffMsg struct {
	owner *Screen
	text  string
	same  bool
	title string
	err   error
}

// pair are the two files to compare: two marked ones, or a marked one and the cursor.
func (s *Screen) pair() (a, b client.Entry, ok bool) {
	marked := s.list.Marked()
	switch len(marked) {
	case 1:
		cur, on := s.list.Cursor()
		if !on || cur.Name == marked[0].Name {
			return a, b, false
		}
		a, b = marked[0], cur
	case 2:
		a, b = marked[0], marked[1]
	default:
		return a, b, false
	}
	return a, b, a.Type == client.FileRegular && b.Type == client.FileRegular
}

// diff reads both and compares.
func (s *Screen) diff() tea.Cmd {
	a, b, ok := s.pair()
	if !ok {
		return nil
	}
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	return func() tea.Msg {
		m := diffMsg{owner: s, title: present.CleanMax(a.Name, 40) + " and " + present.CleanMax(b.Name, 40)}
		var left, right []byte
		if left, m.err = limited(ctx, fs, id, a.Path); m.err != nil {
			return m
		}
		if right, m.err = limited(ctx, fs, id, b.Path); m.err != nil {
			return m
		}
		switch {
		case bytes.Equal(left, right):
			m.same = true
		case binary(left) || binary(right):
			m.text = fmt.Sprintf("They differ and are not text: %s and %s.", present.Size(int64(len(left))), present.Size(int64(len(right))))
		default:
			m.text = unified(textbox.Split(textbox.Plain(string(left))), textbox.Split(textbox.Plain(string(right))))
		}
		return m
	}
}

// limited reads a file that is small enough to be compared.
func limited(ctx context.Context, fs client.Files, id client.ID, path string) ([]byte, error) {
	r, err := fs.Open(ctx, id, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxDiff+1))
	if err == nil && len(data) > maxDiff {
		err = client.Usagef("compare", "files over %s are not compared here", present.Size(maxDiff))
	}
	return data, err
}

func (s *Screen) diffed(m diffMsg) tea.Cmd {
	switch {
	case m.owner != s:
		return nil
	case m.err != nil:
		return ui.Toast(ui.ToastError, present.ErrorLine(m.err))
	case m.same:
		return ui.Toast(ui.ToastOK, m.title+" are the same")
	}
	return ui.OpenOverlay(textbox.New(textbox.Options{Title: m.title, Text: m.text, Colors: true, NoWrap: true, Copy: stripColors(m.text)}))
}

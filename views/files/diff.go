package files

import (
	"context"
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
	// compared numbers the comparison over sandboxes that this is; 0 is none.
	compared uint64
	err      error
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
	ctx, fs, id, tr := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID, s.env.Lang
	return func() tea.Msg {
		m := diffMsg{owner: s, title: tr.T("%s and %s", present.CleanMax(a.Name, 40), present.CleanMax(b.Name, 40))}
		var left, right []byte
		if left, m.err = limited(ctx, fs, id, a.Path); m.err != nil {
			return m
		}
		if right, m.err = limited(ctx, fs, id, b.Path); m.err != nil {
			return m
		}
		m.text, m.same = compareBytes(tr, left, right)
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
	if m.owner != s || m.compared != 0 && m.compared != s.compared {
		return nil
	}
	if m.compared != 0 {
		s.stopCompare()
	}
	switch {
	case stopped(m.err):
		return nil
	case m.err != nil:
		return ui.Toast(ui.ToastError, present.ErrorLine(m.err))
	case m.same:
		return ui.Toast(ui.ToastOK, s.env.Lang.T("%s are the same", m.title))
	}
	return ui.OpenOverlay(textbox.New(textbox.Options{Title: m.title, Text: m.text, Colors: true, NoWrap: true, Copy: stripColors(m.text)}))
}

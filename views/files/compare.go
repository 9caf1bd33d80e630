package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// Bounds of comparing two folders: entries on a side, depth, what is read of
// files of one size in all, lines of the result, and the time.
const (
	maxCompared     = 5000
	maxCompareDepth = 16
	maxCompareRead  = 32 << 20
	maxCompareLines = 2000
	compareTime     = 2 * time.Minute
)

// side is one file or folder of a comparison over sandboxes.
type side struct {
	key   present.Key
	label string
	entry client.Entry
	files client.Files
}

// name is "web:app.py"; clean.
func (s side) name() string { return s.label + ":" + present.CleanMax(s.entry.Name, 40) }

// reading opens what a side has at a path below its entry.
func (s side) read(ctx context.Context, p string) ([]byte, error) {
	return limited(ctx, s.files, s.key.ID, p)
}

// compareSides takes the first side of a comparison, and with the second one
// compares: files by their lines, folders by what is in them.
func (s *Screen) compareSides() tea.Cmd {
	e, ok := s.list.Cursor()
	if !ok || e.Name == ".." || e.Type != client.FileRegular && e.Type != client.FileDir {
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("put the cursor on a file or a folder to compare it"))
	}
	here := side{key: present.KeyOf(s.sb), label: present.CleanMax(present.Label(s.sb), 24), entry: e, files: s.opts.Provider.Files()}
	first := s.opts.Prefs.side
	switch {
	case first == nil:
		s.opts.Prefs.side = &here
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("%s is one side: = on a file or folder of another sandbox is the other, = here forgets it", here.name()))
	case first.key == here.key && first.entry.Path == e.Path:
		s.opts.Prefs.side = nil
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("forgot %s", here.name()))
	case first.entry.Type != e.Type:
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("%s and %s: one is a folder, the other a file", first.name(), here.name()))
	case s.comparing != nil:
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("a comparison is under way; esc stops it"))
	}
	s.opts.Prefs.side = nil
	ctx, cancel := context.WithTimeout(s.env.Ctx, compareTime)
	s.comparing = cancel
	s.compared++
	number, tr := s.compared, s.env.Lang
	return func() tea.Msg {
		m := diffMsg{owner: s, title: tr.T("%s and %s", first.name(), here.name()), compared: number}
		if e.Type == client.FileDir {
			m.text, m.same, m.err = compareFolders(ctx, tr, *first, here)
			return m
		}
		var left, right []byte
		if left, m.err = first.read(ctx, first.entry.Path); m.err != nil {
			return m
		}
		if right, m.err = here.read(ctx, e.Path); m.err == nil {
			m.text, m.same = compareBytes(tr, left, right)
		}
		return m
	}
}

// compareBytes words the differences of two files, with colours.
func compareBytes(tr *lang.Catalog, left, right []byte) (text string, same bool) {
	switch {
	case bytes.Equal(left, right):
		return "", true
	case binary(left) || binary(right):
		return tr.T("They differ and are not text: %s and %s.", present.Size(int64(len(left))), present.Size(int64(len(right)))), false
	default:
		return unified(tr, textbox.Split(textbox.Plain(string(left))), textbox.Split(textbox.Plain(string(right)))), false
	}
}

// tree lists what is below a folder by its path there; links are not followed.
// more says that there was more than is looked at.
func (s side) tree(ctx context.Context) (out map[string]client.Entry, more bool, err error) {
	out = map[string]client.Entry{}
	type folder struct {
		path, below string
		depth       int
	}
	todo := []folder{{path: s.entry.Path}}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		list, err := s.files.ReadDir(ctx, s.key.ID, at.path)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", s.name(), err)
		}
		for _, e := range list {
			if len(out) >= maxCompared {
				return out, true, nil
			}
			below := path.Join(at.below, e.Name)
			out[below] = e
			if e.Type != client.FileDir || e.LinkTarget != "" {
				continue
			}
			if at.depth >= maxCompareDepth {
				more = true
				continue
			}
			todo = append(todo, folder{path: e.Path, below: below, depth: at.depth + 1})
		}
	}
	return out, more, nil
}

// outcome counts what comparing two folders found.
type outcome struct {
	tr                                *lang.Catalog
	left, right, differ, same, unread int
	lines                             []string
}

// compareFolders words how two folders differ: what only one has, and files
// that differ by size or, as far as that is bounded, by what is in them.
func compareFolders(ctx context.Context, tr *lang.Catalog, a, b side) (text string, same bool, err error) {
	left, moreLeft, err := a.tree(ctx)
	if err != nil {
		return "", false, err
	}
	right, moreRight, err := b.tree(ctx)
	if err != nil {
		return "", false, err
	}
	var names []string
	for n := range left {
		names = append(names, n)
	}
	for n := range right {
		if _, both := left[n]; !both {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	o := outcome{tr: tr}
	budget := int64(maxCompareRead)
	for _, n := range names {
		l, inLeft := left[n]
		r, inRight := right[n]
		switch {
		case !inRight:
			o.left++
			o.add("\x1b[31m", "- "+entryLine(n, l))
		case !inLeft:
			o.right++
			o.add(colString, "+ "+entryLine(n, r))
		default:
			if err := o.both(ctx, n, a, b, l, r, &budget); err != nil {
				return "", false, err
			}
		}
	}
	return o.words(a, b, moreLeft || moreRight), o.left+o.right+o.differ+o.unread == 0 && !moreLeft && !moreRight, nil
}

// both judges what is on both sides.
func (o *outcome) both(ctx context.Context, name string, a, b side, l, r client.Entry, budget *int64) error {
	switch {
	case l.Type != r.Type || l.LinkTarget != r.LinkTarget:
		o.differ++
		o.add(colHead, "~ "+o.tr.T("%s  is another kind of file there", entryLine(name, l)))
	case l.Type != client.FileRegular || l.LinkTarget != "":
		o.same++
	case l.Size != r.Size:
		o.differ++
		o.add(colHead, "~ "+o.tr.T("%s  %s, there %s", present.Clean(name), present.Size(l.Size), present.Size(r.Size)))
	case l.Size > maxDiff || *budget < l.Size:
		o.unread++
	default:
		*budget -= l.Size
		left, err := a.read(ctx, l.Path)
		if err == nil {
			var right []byte
			if right, err = b.read(ctx, r.Path); err == nil {
				if bytes.Equal(left, right) {
					o.same++
				} else {
					o.differ++
					o.add(colHead, "~ "+o.tr.T("%s  %s, not the same", present.Clean(name), present.Size(l.Size)))
				}
				return nil
			}
		}
		if ctx.Err() != nil {
			return err
		}
		o.unread++ // such as one that may not be read
	}
	return nil
}

func (o *outcome) add(color, text string) {
	if len(o.lines) < maxCompareLines {
		o.lines = append(o.lines, color+text+colOff)
	}
}

// words is a summary and the lines below it.
func (o *outcome) words(a, b side, more bool) string {
	out := []string{
		o.tr.T("%d differ, %d only in %s (-), %d only in %s (+), %d the same", o.differ, o.left, a.name(), o.right, b.name(), o.same),
	}
	if o.unread > 0 {
		out = append(out, o.tr.T("%d of the same size were not read", o.unread))
	}
	if more {
		out = append(out, o.tr.T("only the first %d entries and %d levels of each were looked at", maxCompared, maxCompareDepth))
	}
	if n := o.differ + o.left + o.right; n > len(o.lines) {
		out = append(out, o.tr.T("the first %d of %d differences:", len(o.lines), n))
	}
	return strings.Join(append(append(out, ""), o.lines...), "\n")
}

// entryLine is a path and a size; clean.
func entryLine(name string, e client.Entry) string {
	if e.Type == client.FileDir {
		return present.Clean(name) + "/"
	}
	return present.Clean(name) + "  " + present.Size(e.Size)
}

// stopCompare ends a comparison under way.
func (s *Screen) stopCompare() {
	if s.comparing != nil {
		s.comparing()
		s.comparing = nil
	}
}

// stopped reports an error that only says that the user stopped.
func stopped(err error) bool { return errors.Is(err, context.Canceled) }

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/views/present"
)

// transfer is one file on its way. Done bytes are counted by the copying
// goroutine and read by the screen.
type transfer struct {
	up    bool
	name  string
	total int64 // -1 if unknown
	done  atomic.Int64
	ended atomic.Bool
}

func (t *transfer) over() bool { return t.ended.Load() }

func (t *transfer) what() string {
	if t.up {
		return "upload of " + present.Clean(t.name)
	}
	return "download of " + present.Clean(t.name)
}

// progress words how far it is, e.g. "↑ model.bin 212M of 840M 25%".
func (t *transfer) progress() string {
	arrow := "↓"
	if t.up {
		arrow = "↑"
	}
	done := t.done.Load()
	out := fmt.Sprintf("%s %s %s", arrow, present.CleanMax(t.name, 40), present.Size(done))
	if t.total > 0 {
		out += fmt.Sprintf(" of %s %d%%", present.Size(t.total), min(100, done*100/t.total))
	}
	return out
}

// transferMsg says that a transfer ended.
type transferMsg struct {
	owner *Screen
	t     *transfer
	// text says what was done when err is nil.
	text string
	err  error
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// download saves the file under the cursor as text says. An existing file is
// never replaced: the line stays open and says so.
func (s *Screen) download(text string) (tea.Cmd, error) {
	e, ok := s.list.Cursor()
	if !ok || e.Type != client.FileRegular {
		return nil, errors.New("the file is gone")
	}
	to := localPath(s.opts.Dir, text)
	if st, err := os.Stat(to); err == nil && st.IsDir() {
		to = filepath.Join(to, localName(e.Name))
	}
	if _, err := os.Lstat(to); err == nil {
		return nil, fmt.Errorf("%s exists already: type another name", to)
	}
	if st, err := os.Stat(filepath.Dir(to)); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s is not a folder on this machine", filepath.Dir(to))
	}
	t := &transfer{name: e.Name, total: e.Size}
	s.transfers = append(s.transfers, t)
	ctx, fs, id := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID
	return func() tea.Msg {
		err := save(ctx, fs, id, e.Path, to, &t.done)
		return transferMsg{owner: s, t: t, text: "downloaded " + present.Clean(to), err: err}
	}, nil
}

// save streams a remote file into a temporary one beside to, and gives it its
// name only when it is whole.
func save(ctx context.Context, fs client.Files, id client.ID, from, to string, n *atomic.Int64) (err error) {
	r, err := fs.Open(ctx, id, from)
	if err != nil {
		return err
	}
	defer r.Close()
	tmp, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the half file has no use to anyone
		}
	}()
	_, err = io.Copy(tmp, counter{r, n})
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	// Link refuses to replace a file that appeared meanwhile; where the file
	// system has no links, rename is the next best.
	if lerr := os.Link(tmp.Name(), to); lerr == nil {
		return os.Remove(tmp.Name())
	} else if errors.Is(lerr, os.ErrExist) {
		return lerr
	}
	return os.Rename(tmp.Name(), to)
}

// upload sends the local file text names into the folder shown.
func (s *Screen) upload(text string) (tea.Cmd, error) {
	from := localPath(s.opts.Dir, text)
	st, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", from, errors.Unwrap(err))
	case st.IsDir():
		return nil, fmt.Errorf("%s is a folder: name one file", from)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", from)
	}
	name := filepath.Base(from)
	for i := range s.list.Total() {
		if e, ok := s.list.Row(i); ok && e.Name == name {
			return nil, fmt.Errorf("%s exists here already: rename one of them first", name)
		}
	}
	t := &transfer{up: true, name: name, total: st.Size()}
	s.transfers = append(s.transfers, t)
	ctx, fs, id, to := s.env.Ctx, s.opts.Provider.Files(), s.sb.ID, path.Join(s.cwd, name)
	return func() tea.Msg {
		err := send(ctx, fs, id, from, to, st.Size(), &t.done)
		return transferMsg{owner: s, t: t, text: "uploaded " + present.Clean(to), err: err}
	}, nil
}

// send streams a local file into the sandbox.
func send(ctx context.Context, fs client.Files, id client.ID, from, to string, size int64, n *atomic.Int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fs.Put(ctx, id, to, counter{f, n}, size)
	return err
}

// transferred ends a transfer and says how it went.
func (s *Screen) transferred(m transferMsg) tea.Cmd {
	if m.owner != s {
		return nil
	}
	m.t.ended.Store(true)
	left := s.transfers[:0]
	for _, t := range s.transfers {
		if t != m.t {
			left = append(left, t)
		}
	}
	s.transfers = left
	switch {
	case errors.Is(m.err, context.Canceled):
		return nil
	case m.err != nil:
		return ui.Toast(ui.ToastError, m.t.what()+": "+present.ErrorLine(m.err))
	}
	return tea.Batch(ui.Toast(ui.ToastOK, m.text), s.load(s.cwd, s.list.CursorID()))
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
	if name == "" || name == "." || name == ".." {
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

package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Bounds of a folder that is moved as a whole.
const (
	maxTreeEntries = 50_000
	maxTreeDepth   = 100
)

// reopens is how often a broken download goes on from where it broke by itself.
const reopens = 3

// discardTime bounds the removal of what is half done inside a sandbox, after
// the transfer's own context has ended.
const discardTime = 5 * time.Second

// copyState is what a transfer keeps between two attempts. It belongs to the
// goroutine that runs the transfer, and to the loop while none does.
type copyState struct {
	// part is where the bytes are kept until the whole is there, on this machine
	// for a download, inside the sandbox for an upload; "" before the first attempt.
	part string
	// size and changed are the remote file's at the first attempt.
	size    int64
	changed time.Time
	// finished are the files of a folder that are whole, by their path in it.
	finished map[string]int64
	// skipped says what was left out and why.
	skipped []leftOut
}

// leftOut is an entry of a folder that was not moved, and why. The path is
// untrusted, the reason one for [lang.Catalog.Word].
type leftOut struct{ path, why string }

func (l leftOut) words(tr *lang.Catalog) string { return l.path + " (" + tr.Word(l.why) + ")" }

func (t *transfer) run(ctx context.Context) error {
	t.copy.skipped = nil
	if t.copy.finished == nil {
		t.copy.finished = map[string]int64{}
	}
	if t.up {
		return t.upload(ctx)
	}
	return t.download(ctx)
}

// mark is a name that nothing else has.
func mark() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// download fetches a file or a folder next to its target and names it only
// when it is whole.
func (t *transfer) download(ctx context.Context) error {
	e, err := t.fs.Stat(ctx, t.key.ID, t.from)
	if err != nil {
		return err
	}
	if t.copy.part == "" {
		t.copy.part = filepath.Join(filepath.Dir(t.to), "."+filepath.Base(t.to)+".part-"+mark())
	}
	switch e.Type {
	case client.FileDir:
		if err := t.downloadTree(ctx); err != nil {
			return err
		}
	case client.FileRegular:
		t.counters.total.Store(e.Size)
		if !e.ModifiedAt.Equal(t.copy.changed) || e.Size != t.copy.size {
			// Another file by now: nothing kept of it can be used.
			if err := os.Remove(t.copy.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			t.copy.changed, t.copy.size = e.ModifiedAt, e.Size
		}
		t.counters.bytes.Store(0)
		if err := t.fetch(ctx, e, t.from, t.copy.part); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is not a file or a folder", present.Clean(t.from))
	}
	if err := place(t.copy.part, t.to); err != nil {
		return err
	}
	t.copy.part = ""
	return nil
}

// fetch streams a remote file into part, going on where part ends if the
// provider can read from the middle.
func (t *transfer) fetch(ctx context.Context, e client.Entry, from, part string) error {
	ranged, _ := t.fs.(client.RangeOpener)
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for try := 0; ; try++ {
		at, err := f.Seek(0, io.SeekEnd)
		if err == nil && at > 0 && ranged == nil {
			at = 0
			err = errors.Join(f.Truncate(0), seekStart(f))
		}
		if err != nil {
			return err
		}
		before := t.counters.bytes.Load()
		t.counters.bytes.Store(before + at)
		n, err := t.pour(ctx, f, from, at)
		if err == nil && at+n < e.Size {
			err = fmt.Errorf("got %d of %d bytes: %w", at+n, e.Size, client.ErrStreamBroken)
		}
		if err == nil {
			return finishFile(f, e)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ranged == nil || n == 0 || try >= reopens {
			return err
		}
		t.counters.bytes.Store(before)
	}
}

func seekStart(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// pour copies the remote file from an offset on to the end of f.
func (t *transfer) pour(ctx context.Context, f *os.File, from string, at int64) (int64, error) {
	var r io.ReadCloser
	var err error
	if at > 0 {
		r, err = t.fs.(client.RangeOpener).OpenAt(ctx, t.key.ID, from, at)
	} else {
		r, err = t.fs.Open(ctx, t.key.ID, from)
	}
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(f, meter{ctx: ctx, r: r, t: t})
}

// finishFile gives a downloaded file the time of the original and, if that can
// be run, the right to be run by its owner.
func finishFile(f *os.File, e client.Entry) error {
	if e.Mode&0o111 != 0 {
		if err := f.Chmod(0o700); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if e.ModifiedAt.IsZero() {
		return nil
	}
	return os.Chtimes(f.Name(), e.ModifiedAt, e.ModifiedAt)
}

// place gives a finished file or folder its name; one that appeared meanwhile is kept.
func place(part, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists already: %w", present.Clean(to), fs.ErrExist)
	}
	// Link refuses to replace a file that appears just now; folders, and file
	// systems without links, are renamed.
	if err := os.Link(part, to); err == nil {
		return os.Remove(part)
	} else if errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(part, to)
}

// meter counts what is read through it and stops at a shut gate.
type meter struct {
	ctx context.Context
	r   io.Reader
	t   *transfer
}

// Read implements io.Reader.
func (m meter) Read(p []byte) (int, error) {
	if err := m.t.gate.pass(m.ctx); err != nil {
		return 0, err
	}
	n, err := m.r.Read(p)
	m.t.counters.bytes.Add(int64(n))
	return n, err
}

// node is one entry of a folder, by its path in it with slashes.
type node struct {
	rel   string
	entry client.Entry
}

// downloadTree fetches a folder into part: first it learns what there is.
func (t *transfer) downloadTree(ctx context.Context) error {
	nodes, err := t.survey(ctx)
	if err != nil {
		return err
	}
	var kept int64
	for _, n := range t.copy.finished {
		kept += n
	}
	t.counters.bytes.Store(kept)
	if err := os.MkdirAll(t.copy.part, 0o700); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := t.gate.pass(ctx); err != nil {
			return err
		}
		to := filepath.Join(t.copy.part, filepath.FromSlash(n.rel))
		if n.entry.Type == client.FileDir {
			if err := os.MkdirAll(to, 0o700); err != nil {
				return err
			}
			continue
		}
		if _, ok := t.copy.finished[n.rel]; ok {
			continue
		}
		if _, err := os.Lstat(to); err == nil {
			// Begun by an earlier attempt, or a name that this disk takes for another one's.
			if err := os.Remove(to); err != nil {
				return err
			}
		}
		if err := t.fetch(ctx, n.entry, path.Join(t.from, n.rel), to); err != nil {
			return err
		}
		t.copy.finished[n.rel] = n.entry.Size
		t.counters.files.Add(1)
	}
	return nil
}

// survey lists a remote folder with everything below, folders before what they
// hold. Names that could lead elsewhere, links to folders and special files are
// left out and noted.
func (t *transfer) survey(ctx context.Context) ([]node, error) {
	var out []node
	var total, files int64
	folders := []string{""}
	for len(folders) > 0 {
		dir := folders[0]
		folders = folders[1:]
		entries, err := t.fs.ReadDir(ctx, t.key.ID, path.Join(t.from, dir))
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, e := range entries {
			rel := path.Join(dir, e.Name)
			if why := refused(e, seen); why != "" {
				t.copy.skipped = append(t.copy.skipped, leftOut{dir + "/" + e.Name, why})
				continue
			}
			if len(out) >= maxTreeEntries || strings.Count(rel, "/") > maxTreeDepth {
				return nil, fmt.Errorf("the folder holds more than %d entries or is deeper than %d: take a part of it", maxTreeEntries, maxTreeDepth)
			}
			out = append(out, node{rel: rel, entry: e})
			if e.Type == client.FileDir {
				folders = append(folders, rel)
				continue
			}
			total += e.Size
			files++
		}
	}
	t.counters.total.Store(total)
	t.counters.allFiles.Store(files)
	t.counters.files.Store(int64(len(t.copy.finished)))
	return out, nil
}

// refused says why an entry of a remote listing is not written here, "" if it
// is. seen holds the names of its folder, folded: two that this disk may take
// for one are not mixed up.
func refused(e client.Entry, seen map[string]bool) string {
	switch {
	case !plainName(e.Name):
		return lang.Mark("its name leads elsewhere")
	case e.Type == client.FileDir && e.LinkTarget != "":
		return lang.Mark("a link to a folder")
	case e.Type != client.FileDir && e.Type != client.FileRegular:
		return lang.Mark("not a file")
	}
	folded := e.Name
	if runtime.GOOS != "linux" {
		folded = strings.ToLower(folded)
	}
	if seen[folded] {
		return lang.Mark("this disk takes another name here for the same")
	}
	seen[folded] = true
	return ""
}

// plainName reports whether a name is one path element that stays in its
// folder on any system.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 &&
		!strings.ContainsAny(name, "/\\\x00") && filepath.IsLocal(name)
}

// upload sends a file or a folder under a hidden name beside its target and
// renames it when it is whole.
func (t *transfer) upload(ctx context.Context) error {
	st, err := os.Stat(t.from)
	if err != nil {
		return err
	}
	if t.copy.part == "" {
		t.copy.part = path.Join(path.Dir(t.to), ".part-"+mark()+"-"+path.Base(t.to))
		if len(path.Base(t.copy.part)) > 255 {
			t.copy.part = path.Join(path.Dir(t.to), ".part-"+mark())
		}
	}
	if st.IsDir() {
		err = t.uploadTree(ctx)
	} else {
		t.counters.total.Store(st.Size())
		t.counters.bytes.Store(0)
		err = t.send(ctx, t.from, t.copy.part)
	}
	if err != nil {
		return err
	}
	if _, err := t.fs.Stat(ctx, t.key.ID, t.to); err == nil {
		return fmt.Errorf("%s exists there already: %w", present.Clean(t.to), fs.ErrExist)
	} else if !errors.Is(err, client.ErrNotFound) {
		return err
	}
	if err := t.fs.Rename(ctx, t.key.ID, t.copy.part, t.to); err != nil {
		return err
	}
	t.copy.part = ""
	return nil
}

// send streams one local file into the sandbox.
func (t *transfer) send(ctx context.Context, from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = t.fs.Put(ctx, t.key.ID, to, meter{ctx: ctx, r: f, t: t}, st.Size())
	return err
}

// uploadTree sends a local folder with everything below. Links and special
// files are left out and noted, so that a loop or a FIFO holds nothing up.
func (t *transfer) uploadTree(ctx context.Context) error {
	var files, dirs []string
	var total int64
	err := filepath.WalkDir(t.from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(t.from, p)
		if err != nil {
			return err
		}
		switch {
		case len(files)+len(dirs) >= maxTreeEntries:
			return fmt.Errorf("the folder holds more than %d entries: send a part of it", maxTreeEntries)
		case d.IsDir():
			dirs = append(dirs, rel)
			return ctx.Err()
		case !d.Type().IsRegular():
			t.copy.skipped = append(t.copy.skipped, leftOut{rel, lang.Mark("not a regular file")})
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		files = append(files, rel)
		return nil
	})
	if err != nil {
		return err
	}
	t.counters.total.Store(total)
	t.counters.allFiles.Store(int64(len(files)))
	t.counters.files.Store(int64(len(t.copy.finished)))
	var kept int64
	for _, n := range t.copy.finished {
		kept += n
	}
	t.counters.bytes.Store(kept)
	for _, d := range dirs {
		err := t.fs.Mkdir(ctx, t.key.ID, path.Join(t.copy.part, filepath.ToSlash(d)))
		if err != nil && !errors.Is(err, client.ErrConflict) {
			return err
		}
	}
	for _, rel := range files {
		if _, ok := t.copy.finished[rel]; ok {
			continue
		}
		if err := t.gate.pass(ctx); err != nil {
			return err
		}
		before := t.counters.bytes.Load()
		if err := t.send(ctx, filepath.Join(t.from, rel), path.Join(t.copy.part, filepath.ToSlash(rel))); err != nil {
			return err
		}
		t.copy.finished[rel] = t.counters.bytes.Load() - before
		t.counters.files.Add(1)
	}
	return nil
}

// discard removes what is half done, here or in the sandbox.
func (t *transfer) discard() {
	if t.copy.part == "" {
		return
	}
	if !t.up {
		_ = os.RemoveAll(t.copy.part) // the half file has no use to anyone
		t.copy.part = ""
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), discardTime)
	defer stop()
	// Nobody is left to tell; the name says what it is.
	_ = t.fs.Remove(ctx, t.key.ID, t.copy.part)
	t.copy.part = ""
}

package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"abxdash/client"
)

// Download fetches a file or a whole directory to a local path. A local
// directory that exists receives it under its own name. Nothing is written
// outside the chosen place, whatever names the sandbox sends; links, sockets and
// devices are left out and listed in the report. When ctx ends, no half file
// bears its final name.
func (f *Files) Download(ctx context.Context, remote, local string, opts TransferOptions) (Report, error) {
	const op = "download"
	e, err := f.Stat(ctx, remote)
	if err != nil {
		return Report{}, err
	}
	t := newTransfer(f, opts)
	switch e.Type {
	case client.FileRegular, client.FileDir:
	default:
		return Report{}, &client.Error{Op: op, Provider: f.sb.p.Name(), Code: client.CodeFiles, Message: "this is neither a file nor a directory"}
	}
	if fi, err := os.Stat(local); err == nil && fi.IsDir() {
		if !localName(e.Name) {
			return Report{}, client.Usagef(op, "%q cannot be a name on this machine; name the target", client.OneLine(e.Name, 80))
		}
		local = filepath.Join(local, e.Name)
	}
	dir, base := filepath.Split(filepath.Clean(local))
	if dir == "" {
		dir = "."
	}
	if base == "" || base == "." || base == ".." {
		return Report{}, client.Usagef(op, "%q names no target", client.OneLine(local, 80))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, fileError(op, err)
	}
	defer func() { _ = root.Close() }()
	if e.Type == client.FileDir {
		err = t.getTree(ctx, root, e.Path, base)
	} else {
		t.report.SHA256, err = t.getFile(ctx, root, e, base, e.Name)
	}
	return t.done(), fileError(op, err)
}

// localName reports whether a name can be a single path element here. Names that
// would lead elsewhere on a system of another kind are refused on all.
func localName(name string) bool {
	switch {
	case name == "" || strings.ContainsAny(name, "/\x00") || !filepath.IsLocal(name):
		return false
	case slices.Contains(strings.Split(name, `\`), ".."), len(name) > 2 && name[1:3] == `:\`, name == ".":
		return false
	}
	return runtime.GOOS != "windows" || !strings.ContainsAny(name, `<>:"|?*\`)
}

// maxDepth ends the descent into a tree that a sandbox makes up.
const maxDepth = 200

// folder is a directory still to be fetched.
type folder struct {
	remote, local, name string
	depth               int
}

// getTree fetches a directory, a few files at once; one bad entry never hides the
// others.
func (t *transfer) getTree(ctx context.Context, root *os.Root, remote, local string) error {
	files, ctx := errgroup.WithContext(ctx)
	files.SetLimit(parallel)
	err := t.getDirs(ctx, root, remote, local, files)
	// The first error of a file is why the walk was called off.
	if ferr := files.Wait(); ferr != nil {
		return ferr
	}
	return err
}

// getDirs walks the directories and hands their files on.
func (t *transfer) getDirs(ctx context.Context, root *os.Root, remote, local string, files *errgroup.Group) error {
	todo := []folder{{remote, local, "", 0}}
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := root.MkdirAll(d.local, 0o755); err != nil {
			return err
		}
		t.mu.Lock()
		t.report.Dirs++
		t.mu.Unlock()
		entries, err := t.entries(ctx, d)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(d.name, e.Name)
			switch {
			case !localName(e.Name):
				t.leave(Note{Path: name, Text: "refused: the name cannot be one here", Failed: true})
			case e.LinkTarget != "" || e.Type == client.FileSymlink:
				t.skip(name, "left out: a link")
			case e.Type == client.FileDir && d.depth >= maxDepth:
				t.fail(name, "too deep")
			case e.Type == client.FileDir:
				todo = append(todo, folder{path.Join(d.remote, e.Name), filepath.Join(d.local, e.Name), name, d.depth + 1})
			case e.Type != client.FileRegular:
				t.skip(name, "left out: neither a file nor a directory")
			default:
				// The path is built here: a listing may claim any.
				e.Path = path.Join(d.remote, e.Name)
				target := filepath.Join(d.local, e.Name)
				files.Go(func() error { return t.getEntry(ctx, root, e, target, name) })
			}
		}
	}
	return nil
}

// getEntry fetches one file of a tree. What concerns it alone leaves it out.
func (t *transfer) getEntry(ctx context.Context, root *os.Root, e client.Entry, local, name string) error {
	_, err := t.getFile(ctx, root, e, local, name)
	switch {
	case errors.Is(err, client.ErrConflict):
		t.skip(name, "left out: %s", err)
		return nil
	case errors.Is(err, fs.ErrPermission) || client.CodeOf(err) == client.CodeFileNotFound:
		t.fail(name, err.Error())
		return nil
	}
	return err
}

// entries lists a directory and notes the names that the provider refused.
func (t *transfer) entries(ctx context.Context, d folder) ([]client.Entry, error) {
	type lister interface {
		ReadDirRefused(ctx context.Context, id client.ID, path string) ([]client.Entry, []string, error)
	}
	l, ok := t.f.api().(lister)
	if !ok {
		return t.f.List(ctx, d.remote)
	}
	entries, refused, err := l.ReadDirRefused(ctx, t.f.sb.id, d.remote)
	for _, name := range refused {
		t.leave(Note{Path: path.Join(d.name, client.OneLine(name, 255)), Text: "refused: the name is not a single path element", Failed: true})
	}
	return entries, err
}

// getFile fetches one file to a place below root and returns its sum.
func (t *transfer) getFile(ctx context.Context, root *os.Root, e client.Entry, local, name string) (string, error) {
	const op = "download file"
	if _, err := root.Lstat(local); err == nil && !t.opts.Overwrite {
		return "", t.conflict(op, name)
	}
	identity := fmt.Sprint(t.f.sb.id, "\x00", e.Path, "\x00", e.Size, "\x00", e.ModifiedAt.UnixNano())
	part := filepath.FromSlash(partName(filepath.ToSlash(local), identity, t.opts.Resume))
	flags := os.O_CREATE | os.O_RDWR
	if !t.opts.Resume {
		flags |= os.O_EXCL
	}
	file, err := root.OpenFile(part, flags, 0o600)
	if err != nil {
		return "", err
	}
	sum, n, err := t.fill(ctx, file, e, name)
	if err == nil {
		err = t.checkDownload(ctx, e, name, sum)
		if err != nil {
			_ = file.Truncate(0) // whatever is in it is no good to go on from
		}
	}
	mode := fs.FileMode(e.Mode & 0o777) // never setuid
	if mode == 0 {
		mode = 0o644
	}
	if err == nil && runtime.GOOS != "windows" {
		err = file.Chmod(mode)
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil && ctx.Err() != nil {
		err = cancelled(ctx)
	}
	if err == nil {
		err = t.publish(root, part, local, name)
	}
	if err != nil {
		if !t.opts.Resume || errors.Is(err, client.ErrConflict) {
			_ = root.Remove(part)
		}
		return "", err
	}
	t.moved(name, n)
	return sum, nil
}

// fill reads the file into part, from where part ends, and takes a broken
// connection up again. It returns the sum of the whole, and its size.
func (t *transfer) fill(ctx context.Context, part *os.File, e client.Entry, name string) (string, int64, error) {
	h := sha256.New()
	have, err := io.Copy(h, part)
	if err != nil {
		return "", 0, err
	}
	if have > e.Size {
		h.Reset()
		have = 0
		if err := part.Truncate(0); err != nil {
			return "", 0, err
		}
		if _, err := part.Seek(0, io.SeekStart); err != nil {
			return "", 0, err
		}
	}
	total := e.Size
	if total == 0 {
		total = -1 // files of /proc say 0 and have content
	}
	for try := 1; ; try++ {
		n, err := t.piece(ctx, part, h, e.Path, have, func(done int64) { t.progress(name, have+done, total) })
		have += n
		if err == nil && have < e.Size {
			err = &client.Error{
				Op: "download file", Provider: t.f.sb.p.Name(), Code: client.CodeFiles, Err: io.ErrUnexpectedEOF,
				Message: fmt.Sprintf("got %d of %d bytes", have, e.Size),
			}
		}
		if err == nil {
			return hex.EncodeToString(h.Sum(nil)), have, nil
		}
		if n > 0 {
			try = 0 // it moves: only tries in a row without a byte count
		}
		if try >= t.opts.Tries || !again(ctx, err) {
			return "", have, short(err, have, e.Size)
		}
	}
}

// short adds to an error how much had come.
func short(err error, have, size int64) error {
	var e *client.Error
	if errors.As(err, &e) && !strings.Contains(e.Message, " bytes") && size > 0 {
		c := *e
		c.Message = fmt.Sprintf("got %d of %d bytes: %s", have, size, strings.TrimPrefix(e.Error(), e.Op+": "))
		return &c
	}
	return err
}

// writeError marks an error of the target, which no second try mends.
type writeError struct{ err error }

func (w *writeError) Error() string { return w.err.Error() }
func (w *writeError) Unwrap() error { return w.err }

// target marks the errors of writing.
type target struct{ w io.Writer }

func (t target) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// piece reads once, from an offset on, until the stream ends or breaks.
func (t *transfer) piece(ctx context.Context, part io.Writer, h hash.Hash, remote string, offset int64, moved func(int64)) (int64, error) {
	r, err := t.openAt(ctx, remote, offset)
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	return io.CopyBuffer(io.MultiWriter(target{part}, h), &counting{ctx: ctx, r: r, moved: moved}, make([]byte, 256<<10))
}

// openAt opens a file at an offset, by reading over what comes before if need be.
func (t *transfer) openAt(ctx context.Context, remote string, offset int64) (io.ReadCloser, error) {
	if o, ok := t.f.api().(client.RangeOpener); ok {
		return o.OpenAt(ctx, t.f.sb.id, remote, offset)
	}
	r, err := t.f.Open(ctx, remote)
	if err != nil || offset == 0 {
		return r, err
	}
	if _, err := io.CopyN(io.Discard, r, offset); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// checkDownload compares sums. A file of /proc has no lasting content to compare.
func (t *transfer) checkDownload(ctx context.Context, e client.Entry, name, sum string) error {
	if t.nosums.Load() || e.Size == 0 {
		return nil
	}
	if want := t.finish(ctx, []sent{{name: name, part: e.Path}})[0]; want != "" && want != sum {
		return t.differs("download file")
	}
	return nil
}

// publish gives a whole file its final name. Without leave to replace, a file
// that has come up meanwhile is left as it is.
func (t *transfer) publish(root *os.Root, part, local, name string) error {
	if t.opts.Overwrite {
		return root.Rename(part, local)
	}
	err := root.Link(part, local)
	switch {
	case errors.Is(err, fs.ErrExist):
		return t.conflict("download file", name)
	case err == nil:
		return root.Remove(part)
	}
	// A disk without hard links.
	if _, err := root.Lstat(local); err == nil {
		return t.conflict("download file", name)
	}
	return root.Rename(part, local)
}

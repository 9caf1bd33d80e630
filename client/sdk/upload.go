package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"abxdash/client"
)

// Upload sends a local file or a whole directory to a path in the sandbox. A
// remote directory that exists receives it under its own name. Links are not
// followed below the named path; links, sockets and devices are left out and
// listed in the report. Permission bits are kept, times are not. When ctx ends,
// no half file bears its final name.
func (f *Files) Upload(ctx context.Context, local, remote string, opts TransferOptions) (Report, error) {
	const op = "upload"
	fi, err := os.Stat(local)
	if err != nil {
		return Report{}, fileError(op, err)
	}
	if !fi.IsDir() && !fi.Mode().IsRegular() {
		return Report{}, client.Usagef(op, "%s is neither a file nor a directory", client.OneLine(local, 80))
	}
	abs, err := filepath.Abs(local)
	if err != nil {
		return Report{}, fileError(op, err)
	}
	into := remote == "" || strings.HasSuffix(remote, "/")
	if !into {
		e, err := f.Stat(ctx, remote)
		if err != nil && client.CodeOf(err) != client.CodeFileNotFound {
			return Report{}, err
		}
		into = err == nil && e.Type == client.FileDir
	}
	if into {
		remote = path.Join(remote, filepath.Base(abs))
	}
	t := newTransfer(f, opts)
	if fi.IsDir() {
		err = t.putTree(ctx, abs, remote)
	} else {
		t.report.SHA256, err = t.putFile(ctx, func() (*os.File, error) { return os.Open(abs) }, remote, path.Base(remote))
	}
	return t.done(), fileError(op, err)
}

// putTree sends a directory, a few files at once, by a root that no link leads
// out of.
func (t *transfer) putTree(ctx context.Context, local, remote string) error {
	root, err := os.OpenRoot(local)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	outer := ctx
	files, ctx := errgroup.WithContext(ctx)
	files.SetLimit(parallel)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		target := path.Join(remote, name)
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx)
		case err != nil:
			t.fail(name, reason(err))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if _, err := t.f.MakeDir(ctx, target); err != nil {
				return err
			}
			t.mu.Lock()
			t.report.Dirs++
			t.mu.Unlock()
		case d.Type()&fs.ModeSymlink != 0:
			t.skip(name, "left out: a link")
		case !d.Type().IsRegular():
			t.skip(name, "left out: neither a file nor a directory")
		default:
			files.Go(func() error { return t.putEntry(ctx, root, target, name) })
		}
		return nil
	})
	// The first error of a file is why the walk was called off.
	if ferr := files.Wait(); ferr != nil {
		err = ferr
	}
	if err == nil {
		err = t.settle(outer, t.batch.take(0, 0))
	}
	if err != nil {
		t.discard(outer, t.batch.take(0, 0))
	}
	return err
}

// putEntry sends one file of a tree, which is settled with others. What concerns
// it alone leaves it out.
func (t *transfer) putEntry(ctx context.Context, root *os.Root, target, name string) error {
	x, err := t.sendFile(ctx, func() (*os.File, error) { return root.Open(filepath.FromSlash(name)) }, target, name)
	if err == nil {
		t.batch.add(x)
		return t.settle(ctx, t.batch.take(batchFiles, batchBytes))
	}
	switch {
	case errors.Is(err, errUnreadable):
		t.fail(name, reason(err))
		return nil
	case errors.Is(err, client.ErrConflict):
		t.skip(name, "left out: %s", err)
		return nil
	}
	return err
}

// errUnreadable marks a local file that cannot be read.
var errUnreadable = errors.New("cannot be read")

// reason is the cause of a local error, without its path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// putFile sends one file and returns its sum.
func (t *transfer) putFile(ctx context.Context, open func() (*os.File, error), remote, name string) (string, error) {
	x, err := t.sendFile(ctx, open, remote, name)
	if err != nil {
		return "", err
	}
	return x.sum, t.settle(ctx, []sent{x})
}

// sendFile sends one file under another name. The caller settles it.
func (t *transfer) sendFile(ctx context.Context, open func() (*os.File, error), remote, name string) (sent, error) {
	file, err := open()
	if err != nil {
		return sent{}, errors.Join(errUnreadable, err)
	}
	defer func() { _ = file.Close() }()
	fi, err := file.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return sent{}, errors.Join(errUnreadable, err)
	}
	if !t.opts.Overwrite {
		if _, err := t.f.Stat(ctx, remote); err == nil {
			return sent{}, t.conflict("upload file", name)
		} else if client.CodeOf(err) != client.CodeFileNotFound {
			return sent{}, err
		}
	}
	identity := fmt.Sprint(remote, "\x00", fi.Size(), "\x00", fi.ModTime().UnixNano())
	x := sent{name: name, part: partName(remote, identity, t.opts.Resume), remote: remote, size: fi.Size()}
	if mode := uint32(fi.Mode().Perm()); mode != 0o644 { // what a new file has anyway
		x.mode = mode
	}
	if x.sum, err = t.send(ctx, file, fi.Size(), x.part, name); err != nil {
		t.discard(ctx, []sent{x})
		return sent{}, err
	}
	return x, nil
}

// send sends the whole file to part and returns its sum.
func (t *transfer) send(ctx context.Context, file *os.File, size int64, part, name string) (string, error) {
	if t.opts.Resume && size > t.opts.Chunk && t.f.sb.p.Capabilities().Has(client.CapCommands) {
		return t.sendChunks(ctx, file, size, part, name)
	}
	return t.sendOnce(ctx, io.NewSectionReader(file, 0, size), size, part, func(done int64) { t.progress(name, done, size) })
}

// sendOnce sends a section as one file, again from its start when the connection
// breaks, and returns its sum.
func (t *transfer) sendOnce(ctx context.Context, section *io.SectionReader, size int64, part string, moved func(int64)) (string, error) {
	for try := 1; ; try++ {
		if _, err := section.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		h := sha256.New()
		body := &counting{ctx: ctx, r: io.TeeReader(section, h), moved: moved}
		_, err := t.f.api().Put(ctx, t.f.sb.id, part, body, size)
		switch {
		case err == nil && body.done == size:
			return hex.EncodeToString(h.Sum(nil)), nil
		case err == nil:
			return "", &client.Error{Op: "upload file", Code: client.CodeFiles, Message: fmt.Sprintf("the file changed while it was sent: %d of %d bytes", body.done, size)}
		case try >= t.opts.Tries || !again(ctx, err):
			return "", err
		}
	}
}

// sendChunks sends pieces as files of their own, leaving out those that a
// transfer before this one has brought over, and joins them in the sandbox.
func (t *transfer) sendChunks(ctx context.Context, file *os.File, size int64, part, name string) (string, error) {
	var pieces []string
	for at := int64(0); at < size; at += t.opts.Chunk {
		n := min(t.opts.Chunk, size-at)
		piece := fmt.Sprintf("%s.%06d", part, len(pieces))
		pieces = append(pieces, piece)
		e, err := t.f.Stat(ctx, piece)
		if err == nil && e.Size == n {
			t.progress(name, at+n, size)
			continue
		}
		if err != nil && client.CodeOf(err) != client.CodeFileNotFound {
			return "", err
		}
		// Whole pieces only have their name: a broken one is sent again.
		half := piece + ".half"
		if _, err := t.sendOnce(ctx, io.NewSectionReader(file, at, n), n, half, func(done int64) { t.progress(name, at+done, size) }); err != nil {
			return "", err
		}
		if err := t.f.Rename(ctx, half, piece); err != nil {
			return "", err
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(file, 0, size)); err != nil {
		return "", err
	}
	if err := t.join(ctx, pieces, part); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// join puts pieces together in order and removes them once that is done, so
// that a join that breaks can be repeated.
func (t *transfer) join(ctx context.Context, pieces []string, part string) error {
	argv := []string{"sh", "-c", `out=$1; shift; : > "$out" && for p in "$@"; do cat < "$p" >> "$out" || exit 1; done && rm -f -- "$@"`, "sh", here(part)}
	for _, p := range pieces {
		argv = append(argv, here(p))
	}
	out, err := t.f.sb.RunArgs(ctx, argv, RunOptions{Timeout: -1, MaxOutput: 4 << 10})
	if err != nil {
		return err
	}
	if !out.Exit.OK() {
		return &client.Error{
			Op: "upload file", Provider: t.f.sb.p.Name(), Code: client.CodeFiles,
			Message: "the pieces could not be joined: " + client.OneLine(strings.TrimSpace(out.Stderr), 200),
		}
	}
	return nil
}

// here keeps a relative name from being read as an option.
func here(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "./" + name
}

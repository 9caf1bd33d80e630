package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// copyBuffer is the size of one read while copying.
const copyBuffer = 1 << 20

func (c *cli) cpCmd() *cobra.Command {
	var tree treeFlags
	cmd := &cobra.Command{
		Use: "cp SANDBOX:PATH LOCAL | cp LOCAL SANDBOX:PATH", Aliases: []string{"upload", "download"},
		Short: "Copy a file or folder out of or into a sandbox",
		Long: `cp copies one file, or with -r a folder with all that is in it. Inside a sandbox a
path is absolute or starts at the home. A local - is standard input or output. A
file appears under its name only when it is complete, and keeps its permission
bits; times are not kept.

With -r four files move at once, each is compared by checksum where the sandbox
can compute one, links are left out, and what was left out is listed. A folder
that exists gets the copied one as a part of it.`,
		Args: argCount(2, 2, "cp needs a source and a target, one of them SANDBOX:PATH"),
		RunE: c.run(func(ctx context.Context, args []string) error { return c.copy(ctx, tree, args[0], args[1]) }),
	}
	f := cmd.Flags()
	f.BoolVarP(&tree.recursive, "recursive", "r", false, "copy folders")
	f.BoolVar(&tree.noClobber, "no-clobber", false, "with -r: leave files that exist as they are")
	f.BoolVar(&tree.resume, "resume", false, "with -r: take up what a broken copy left")
	f.BoolVar(&tree.noChecksum, "no-checksum", false, "with -r: do not compare checksums")
	return cmd
}

// remotePath splits SANDBOX:PATH. A path that exists here, begins with . or / or
// names a Windows drive is local.
func remotePath(arg string) (name, file string, ok bool) {
	name, file, ok = strings.Cut(arg, ":")
	if !ok || name == "" || strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "/") || filepath.VolumeName(arg) != "" {
		return "", "", false
	}
	return name, file, true
}

func (c *cli) copy(ctx context.Context, tree treeFlags, from, to string) error {
	srcName, srcFile, srcRemote := remotePath(from)
	dstName, dstFile, dstRemote := remotePath(to)
	if srcRemote == dstRemote {
		e := client.Usagef("cp", "exactly one of source and target must be SANDBOX:PATH")
		e.Hint = "a local path with a colon can be written as ./PATH"
		return e
	}
	if !tree.recursive && (tree.noClobber || tree.resume || tree.noChecksum) {
		return client.Usagef("cp", "--no-clobber, --resume and --no-checksum go with -r")
	}
	if dstRemote {
		if err := c.writable("cp"); err != nil {
			return err
		}
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if srcRemote {
		sb, p, err := c.find(ctx, s, srcName)
		if err != nil {
			return err
		}
		if tree.recursive && to != "-" {
			return c.copyTree(ctx, tree, false, sb, p, srcFile, to)
		}
		return c.download(ctx, p.Files(), sb.ID, srcFile, to)
	}
	sb, p, err := c.find(ctx, s, dstName)
	if err != nil {
		return err
	}
	if tree.recursive && from != "-" {
		return c.copyTree(ctx, tree, true, sb, p, dstFile, from)
	}
	return c.upload(ctx, p.Files(), sb, from, dstFile)
}

// download copies one file out. Its bytes go to a temporary file beside the
// target, which is renamed when all of them have arrived.
func (c *cli) download(ctx context.Context, files client.Files, id client.ID, remote, local string) error {
	statCtx, cancel := c.call(ctx)
	entry, err := files.Stat(statCtx, id, remote)
	cancel()
	if err != nil {
		return err
	}
	if entry.Type != client.FileRegular {
		return notCopied("copy out", entry.Path, kindWord(entry.Type), entry.Type == client.FileDir)
	}
	r, err := files.Open(ctx, id, remote)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // what was read is checked below
	if local == "-" {
		_, err := c.receive(ctx, c.Out, r, entry)
		return err
	}
	target, err := localTarget(local, entry.Name)
	if err != nil {
		return err
	}
	n, err := c.save(ctx, r, entry, target)
	if err != nil {
		return err
	}
	c.say("%s: %s", present.Clean(target), present.Size(n))
	return nil
}

// localTarget is the file to write: the argument, or a file of the remote name
// in the folder that it names. The remote name cannot lead out of that folder.
func localTarget(local, name string) (string, error) {
	info, err := os.Stat(local)
	isDir := err == nil && info.IsDir()
	if !isDir && !strings.HasSuffix(local, "/") && !strings.HasSuffix(local, string(filepath.Separator)) {
		return local, nil
	}
	if !isDir {
		return "", fileError("copy out", "there is no folder %s", present.Clean(local))
	}
	if name == "" || name == "." || name != filepath.Base(name) || !filepath.IsLocal(name) || strings.ContainsAny(name, "/\\\x00") {
		return "", fileError("copy out", "the name %s is no file name here; give the target's name", present.Clean(fmt.Sprintf("%q", name)))
	}
	return filepath.Join(local, name), nil
}

// save writes r to a temporary file beside target and renames it.
func (c *cli) save(ctx context.Context, r io.Reader, entry client.Entry, target string) (n int64, err error) {
	if info, serr := os.Lstat(target); serr == nil && info.IsDir() {
		return 0, fileError("copy out", "%s is a folder", present.Clean(target))
	}
	// The sandbox has no say in this name.
	tmp, err := os.CreateTemp(filepath.Dir(target), ".abxdash-*.part")
	if err != nil {
		return 0, localError("copy out", err)
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if n, err = c.receive(ctx, tmp, r, entry); err != nil {
		return n, err
	}
	// Only the nine permission bits: set-uid is never set here.
	if err = tmp.Chmod(fs.FileMode(entry.Mode&0o777) | 0o600); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return n, localError("copy out", err)
	}
	if err = tmp.Close(); err != nil {
		return n, localError("copy out", err)
	}
	if err = os.Rename(tmp.Name(), target); err != nil {
		return n, localError("copy out", err)
	}
	return n, nil
}

// receive copies and checks that the file came whole. A size of 0 says nothing:
// files under /proc have it.
func (c *cli) receive(ctx context.Context, w io.Writer, r io.Reader, entry client.Entry) (int64, error) {
	n, err := io.CopyBuffer(onlyWriter{w}, ctxReader{ctx, r}, make([]byte, copyBuffer))
	switch {
	case ctx.Err() != nil:
		return n, ctx.Err()
	case brokenPipe(err):
		return n, err
	case err != nil:
		return n, &client.Error{
			Op: "copy out", Code: client.CodeFiles, Err: err,
			Message: fmt.Sprintf("got %d of %d bytes: %s", n, entry.Size, client.OneLine(err.Error(), 200)),
		}
	case n < entry.Size:
		return n, fileError("copy out", "got %d of %d bytes", n, entry.Size)
	}
	return n, nil
}

// upload copies one file in.
func (c *cli) upload(ctx context.Context, files client.Files, sb client.Sandbox, local, remote string) error {
	name, r, size, err := c.source(local)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	target, err := c.remoteTarget(ctx, files, sb.ID, remote, name)
	if err != nil {
		return err
	}
	entry, err := files.Put(ctx, sb.ID, target, ctxReader{ctx, r}, size)
	if err != nil {
		return err
	}
	c.say("%s:%s: %s", present.Label(sb), present.Clean(entry.Path), present.Size(entry.Size))
	return nil
}

// source opens what is copied in. A FIFO or a device is refused by its type, without opening it (FIL-10).
func (c *cli) source(local string) (name string, r io.ReadCloser, size int64, err error) {
	if local == "-" {
		return "", io.NopCloser(c.In), -1, nil
	}
	info, err := os.Stat(local)
	if err != nil {
		return "", nil, 0, localError("copy in", err)
	}
	if !info.Mode().IsRegular() {
		what := "a special file"
		if info.IsDir() {
			what = "a folder"
		}
		return "", nil, 0, notCopied("copy in", local, what, info.IsDir())
	}
	f, err := os.Open(local)
	if err != nil {
		return "", nil, 0, localError("copy in", err)
	}
	return filepath.Base(local), f, info.Size(), nil
}

// remoteTarget adds the file's name when the target is a directory.
func (c *cli) remoteTarget(ctx context.Context, files client.Files, id client.ID, remote, name string) (string, error) {
	if remote != "" && !strings.HasSuffix(remote, "/") {
		statCtx, cancel := c.call(ctx)
		defer cancel()
		entry, err := files.Stat(statCtx, id, remote)
		switch {
		case errors.Is(err, client.ErrNotFound), err == nil && entry.Type != client.FileDir:
			// A sandbox that is gone says so again when the file is put.
			return remote, nil
		case err != nil:
			return "", err
		}
	}
	if name == "" {
		return "", fileError("copy in", "standard input has no name; give the target's")
	}
	return path.Join(remote, name), nil
}

// notCopied refuses what is no file, and names -r for a folder.
func notCopied(op, name, what string, folder bool) error {
	e := &client.Error{Op: op, Code: client.CodeFiles, Message: fmt.Sprintf("%s is %s; only files can be copied", present.Clean(name), what)}
	if folder {
		e.Message, e.Hint = fmt.Sprintf("%s is %s", present.Clean(name), what), "copy it with all that is in it: abxdash cp -r"
	}
	return e
}

func kindWord(t client.FileType) string {
	switch t {
	case client.FileDir:
		return "a directory"
	case client.FileSymlink:
		return "a link"
	default:
		return "a special file"
	}
}

func fileError(op, format string, args ...any) error {
	return &client.Error{Op: op, Code: client.CodeFiles, Message: fmt.Sprintf(format, args...)}
}

// localError words an error of this machine's file system.
func localError(op string, err error) error {
	e := &client.Error{Op: op, Code: client.CodeFiles, Message: client.OneLine(err.Error(), 300), Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code, e.Kind = client.CodeFileNotFound, client.ErrNotFound
	case errors.Is(err, fs.ErrPermission):
		e.Code = client.CodeFilePermission
	}
	return e
}

// ctxReader ends a copy when the context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// onlyWriter hides ReadFrom, so that the copy uses the given buffer.
type onlyWriter struct{ io.Writer }

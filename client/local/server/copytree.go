package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies the content of a folder into dst. Files, folders and links are copied with their modes and times; sockets, pipes and
// devices are left out, and hard links become files of their own.
//
// The folder may belong to a sandbox whose programs are not to be trusted, and
// this process may have more rights than they: nothing outside from is opened,
// whatever links there are.
func copyTree(ctx context.Context, from string, dst *os.Root) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return (&treeCopy{ctx: ctx, src: src, dst: dst}).folder(".")
}

type treeCopy struct {
	ctx      context.Context
	src, dst *os.Root
}

// folder copies what a folder holds; the folder itself is there.
func (c *treeCopy) folder(name string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	d, err := c.open(name)
	if err != nil {
		return err
	}
	entries, err := d.ReadDir(-1)
	_ = d.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		info, err := c.src.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err == nil {
			err = c.entry(path, info)
		}
		if err != nil {
			return fmt.Errorf("copy %q: %w", path, err)
		}
	}
	return nil
}

func (c *treeCopy) entry(path string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case fs.ModeDir:
		if err := c.dst.Mkdir(path, 0o700); err != nil {
			return err
		}
		if err := c.folder(path); err != nil {
			return err
		}
	case fs.ModeSymlink:
		target, err := c.src.Readlink(path)
		if err != nil {
			return err
		}
		return c.dst.Symlink(target, path)
	case 0:
		if err := c.file(path); err != nil {
			return err
		}
	default:
		return nil
	}
	if err := c.dst.Chmod(path, info.Mode().Perm()); err != nil {
		return err
	}
	return c.dst.Chtimes(path, info.ModTime(), info.ModTime())
}

func (c *treeCopy) file(path string) error {
	in, err := c.open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return err // it was swapped for something else: leave it out
	}
	out, err := c.dst.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, contextReader{c.ctx, in})
	return errors.Join(err, out.Close())
}

// open opens a file or folder, also one that its own owner has closed to
// himself. It never waits for the other end of a pipe.
func (c *treeCopy) open(path string) (*os.File, error) {
	f, err := c.src.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	info, err := c.src.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := c.src.Chmod(path, info.Mode().Perm()|0o500); err != nil {
		return nil, err
	}
	f, err = c.src.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	return f, errors.Join(err, c.src.Chmod(path, info.Mode().Perm()))
}

// contextReader ends a long copy with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

package plugin

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Limits of what a plug-in may hold.
const (
	maxUnpacked = 256 << 20
	maxFiles    = 20000
)

var errTooBig = errors.New("it is over 256 MiB, or has over 20,000 files")

// unpacker writes files below one folder and counts.
type unpacker struct {
	root  *os.Root
	bytes int64
	files int
}

// copyIn copies a folder or unpacks an archive. Links are refused, and nothing
// can be written outside to.
func copyIn(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{root: root}
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return u.folder(from)
	case strings.HasSuffix(from, ".zip"):
		return u.zip(from)
	case strings.HasSuffix(from, ".tar.gz"), strings.HasSuffix(from, ".tgz"):
		return u.tar(from)
	}
	return errors.New("it is no folder and no .tar.gz, .tgz or .zip")
}

// write stores one file; its mode is 0700 or 0600.
func (u *unpacker) write(name string, r io.Reader, executable bool) error {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q leads out of the plug-in", name)
	}
	if u.files++; u.files > maxFiles {
		return errTooBig
	}
	if err := u.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if executable {
		mode = 0o700
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(r, maxUnpacked-u.bytes+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if u.bytes += n; err == nil && u.bytes > maxUnpacked {
		err = errTooBig
	}
	return err
}

func (u *unpacker) folder(from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", d.Name())
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return u.write(filepath.ToSlash(rel), f, info.Mode()&0o100 != 0)
	})
}

func (u *unpacker) zip(from string) error {
	z, err := zip.OpenReader(from)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		mode := f.Mode()
		if mode.IsDir() {
			continue
		}
		if !mode.IsRegular() {
			return fmt.Errorf("%q is no regular file", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		err = u.write(f.Name, r, mode&0o100 != 0)
		_ = r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) tar(from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	defer gz.Close()
	for t := tar.NewReader(gz); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
		case tar.TypeReg:
			if err := u.write(h.Name, t, h.Mode&0o100 != 0); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%q is no regular file", h.Name)
		}
	}
}

// lift takes the one folder that an archive often wraps everything in away.
func lift(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || !entries[0].IsDir() {
		return err
	}
	inner := filepath.Join(dir, entries[0].Name())
	tmp := dir + ".lifted"
	if err := os.Rename(inner, tmp); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

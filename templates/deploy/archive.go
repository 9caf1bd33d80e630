package deploy

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/templates"
)

// maxWheel bounds a wheel that is put into the context.
const maxWheel = 256 << 20

// placeholder lets `COPY *.whl` find a file where there is no wheel: the
// classic builder refuses a pattern without a match, and the Dockerfile's own
// `ls /tmp/*.whl` does not see a name that starts with a dot.
const placeholder = ".whl"

// Wheel says which server package an image gets.
type Wheel struct {
	// Path is the wheel's file, "" if the image installs the published package.
	Path string
	// Inside tells that the file is part of the folder's own context.
	Inside bool
}

// String words it for people.
func (w Wheel) String() string {
	if w.Path == "" {
		return "no wheel: the image installs the published agent-sandbox-server"
	}
	return "server package from " + w.Path
}

// FindWheel looks for the server's wheel: the flag, the setting, the folder.
func FindWheel(flag, setting string, c templates.BuildContext) (Wheel, error) {
	for _, name := range []string{flag, setting} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return Wheel{}, &client.Error{Op: "find the server wheel", Code: client.CodeFileNotFound, Kind: client.ErrNotFound, Err: err}
		case !info.Mode().IsRegular() || info.Size() > maxWheel || !strings.HasSuffix(name, ".whl"):
			return Wheel{}, client.Usagef("find the server wheel", "%s is no wheel file", client.OneLine(name, 120))
		}
		return Wheel{Path: name}, nil
	}
	if len(c.Wheels) > 0 {
		return Wheel{Path: c.Wheels[len(c.Wheels)-1], Inside: true}, nil
	}
	return Wheel{}, nil
}

// archive writes the build context as a tar: the same bytes for the same
// files, whatever their times and owners.
func archive(ctx context.Context, w io.Writer, c templates.BuildContext, wheel Wheel) error {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	tw := tar.NewWriter(w)
	wheels := false
	for _, e := range c.Entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		wheels = wheels || !strings.Contains(e.Path, "/") && strings.HasSuffix(e.Path, ".whl")
		if err := add(tw, root, e, c.Dockerfile); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	switch {
	case wheel.Path != "" && !wheel.Inside:
		if err := addWheel(tw, wheel.Path); err != nil {
			return err
		}
	case !wheels:
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: placeholder, Mode: 0o644, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
	}
	return tw.Close()
}

func add(tw *tar.Writer, root *os.Root, e templates.ContextEntry, dockerfile string) error {
	h := &tar.Header{Name: e.Path, Mode: int64(e.Mode.Perm()), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
	switch {
	case e.Mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
		return tw.WriteHeader(h)
	case e.Mode&fs.ModeSymlink != 0 && e.Path == dockerfile:
		// The engine needs the file itself; it has to be inside the folder (TPL-08).
		h.Mode = 0o644
	case e.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.Link, 0o777
		return tw.WriteHeader(h)
	}
	f, err := root.Open(filepath.FromSlash(e.Path))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file any more")
	}
	h.Size = info.Size()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(tw, f, h.Size)
	return err
}

func addWheel(tw *tar.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Base(filepath.ToSlash(name)), Mode: 0o644, Size: info.Size(), ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	_, err = io.CopyN(tw, f, info.Size())
	return err
}

// digest is a short name for the content of a build context.
func digest(ctx context.Context, c templates.BuildContext, wheel Wheel) (string, error) {
	h := sha256.New()
	if err := archive(ctx, h, c, wheel); err != nil {
		return "", readFailed(ctx, err)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

func readFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &client.Error{Op: "read the build context", Code: client.CodeFiles, Message: client.OneLine(err.Error(), 200), Err: err}
}

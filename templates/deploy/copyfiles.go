package deploy

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"abxdash/client"
	"abxdash/templates"
)

// Kinds of file in st_mode, which the hash of a COPY's files has (e2b-protocol §12.2).
const (
	modeRegular = 0o100000
	modeDir     = 0o040000
	modeLink    = 0o120000
)

// placed is one file of a COPY step: from the folder, or the server's wheel
// from elsewhere.
type placed struct {
	templates.ContextEntry
	// outside is the wheel's own path, "" for files of the folder.
	outside string
}

// tree is what COPY steps can take: the build context, and the wheel beside it.
func tree(c templates.BuildContext, wheel Wheel) ([]placed, error) {
	var out []placed
	for _, e := range c.Entries {
		out = append(out, placed{ContextEntry: e})
	}
	if wheel.Path != "" && !wheel.Inside {
		info, err := os.Stat(wheel.Path)
		if err != nil {
			return nil, &client.Error{Op: "find the server wheel", Code: client.CodeFileNotFound, Kind: client.ErrNotFound, Err: err}
		}
		e := templates.ContextEntry{Path: filepath.Base(wheel.Path), Mode: 0o644, Size: info.Size()}
		out = append(out, placed{ContextEntry: e, outside: wheel.Path})
	}
	return out, nil
}

// sources are the files and folders that one source of a COPY names: a pattern
// may name several.
func sources(all []placed, pattern string) []string {
	if pattern == "." {
		return []string{"."}
	}
	var out []string
	for _, p := range all {
		if ok, err := path.Match(pattern, p.Path); p.Path == pattern || err == nil && ok {
			out = append(out, p.Path)
		}
	}
	if len(out) == 0 && len(below(all, pattern)) > 0 {
		return []string{pattern} // a folder of which .dockerignore leaves only some files
	}
	return out
}

// below are the files of one source: itself, and a folder's content.
func below(all []placed, source string) []placed {
	var out []placed
	for _, p := range all {
		if source == "." || p.Path == source || strings.HasPrefix(p.Path, source+"/") {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b placed) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// copyStep makes the step that copies one source.
func copyStep(ctx context.Context, dir string, all []placed, source string, args []string) (client.TemplateStep, error) {
	files := below(all, source)
	args = append([]string{source}, args[1:]...)
	hash, err := filesHash(ctx, dir, files, source, args[1])
	if err != nil {
		return client.TemplateStep{}, readFailed(ctx, err)
	}
	return client.TemplateStep{Type: client.StepCopy, Args: args, FilesHash: hash, Files: func(ctx context.Context) (client.TemplateFiles, error) {
		return pack(ctx, dir, files)
	}}, nil
}

// filesHash is the SHA-256 that the SDKs make of a COPY (e2b-protocol §12.2),
// but for the size of folders, which depends on the file system: it is 0 here.
func filesHash(ctx context.Context, dir string, files []placed, source, dest string) (string, error) {
	h := sha256.New()
	_, _ = io.WriteString(h, "COPY "+source+" "+dest) // a hash takes everything
	for _, p := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		mode, size := int64(p.Mode.Perm())|modeRegular, p.Size
		switch {
		case p.Mode.IsDir():
			mode, size = int64(p.Mode.Perm())|modeDir, 0
		case p.Mode&fs.ModeSymlink != 0:
			mode, size = 0o777|modeLink, int64(len(p.Link))
		}
		_, _ = io.WriteString(h, p.Path+strconv.FormatInt(mode, 10)+strconv.FormatInt(size, 10))
		switch {
		case p.Mode.IsDir():
		case p.Mode&fs.ModeSymlink != 0:
			_, _ = io.WriteString(h, p.Link)
		default:
			if err := p.copyTo(dir, h); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyTo writes the content of a regular file, exactly Size bytes of it.
func (p placed) copyTo(dir string, w io.Writer) error {
	f, err := p.open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyN(w, f, p.Size); err != nil {
		return fmt.Errorf("%s changed while it was read: %w", p.Path, err)
	}
	return nil
}

func (p placed) open(dir string) (*os.File, error) {
	if p.outside != "" {
		return os.Open(p.outside)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(filepath.FromSlash(p.Path))
}

// archiveFile is a temporary file that goes when it is closed.
type archiveFile struct{ *os.File }

// Close also deletes the file.
func (a archiveFile) Close() error {
	err := a.File.Close()
	if rerr := os.Remove(a.Name()); err == nil {
		err = rerr
	}
	return err
}

// pack makes the gzipped tar of a COPY (e2b-protocol §12.3). Its length has to
// be known before it is sent, so it goes through a temporary file outside the
// template folder.
func pack(ctx context.Context, dir string, files []placed) (out client.TemplateFiles, err error) {
	temp, err := os.CreateTemp("", "abxdash-copy-*.tar.gz")
	if err != nil {
		return out, &client.Error{Op: "pack the files", Code: client.CodeFiles, Err: err}
	}
	a := archiveFile{temp}
	defer func() {
		if err != nil {
			_ = a.Close() // the first error is the one that matters
		}
	}()
	zw := gzip.NewWriter(temp)
	tw := tar.NewWriter(zw)
	for _, p := range files {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err := p.addTo(tw, dir); err != nil {
			return out, readFailed(ctx, err)
		}
	}
	if err := tw.Close(); err != nil {
		return out, readFailed(ctx, err)
	}
	if err := zw.Close(); err != nil {
		return out, readFailed(ctx, err)
	}
	size, err := temp.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return out, readFailed(ctx, err)
	}
	return client.TemplateFiles{ReadCloser: a, Size: size}, nil
}

func (p placed) addTo(tw *tar.Writer, dir string) error {
	h := &tar.Header{Name: p.Path, Mode: int64(p.Mode.Perm()), Typeflag: tar.TypeReg, Size: p.Size}
	switch {
	case p.Mode.IsDir():
		h.Typeflag, h.Name, h.Size = tar.TypeDir, p.Path+"/", 0
		return tw.WriteHeader(h)
	case p.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname, h.Mode, h.Size = tar.TypeSymlink, p.Link, 0o777, 0
		return tw.WriteHeader(h)
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	return p.copyTo(dir, tw)
}

// steps makes the provider's steps of a recipe; lines are where the Dockerfile
// has them, 0 for added ones. A COPY becomes one step for each source. A pattern for wheels may find none: the image then installs the
// published package; anything else that is not there is an error with its line.
func steps(ctx context.Context, r templates.Recipe, c templates.BuildContext, wheel Wheel) (out []client.TemplateStep, lines []int, err error) {
	all, err := tree(c, wheel)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range r.Steps {
		if s.Type != client.StepCopy {
			out, lines = append(out, client.TemplateStep{Type: s.Type, Args: s.Args}), append(lines, s.Line)
			continue
		}
		found := sources(all, s.Args[0])
		if len(found) == 0 && !strings.HasSuffix(s.Args[0], "*.whl") {
			return nil, nil, &client.Error{
				Op: "read the Dockerfile", Code: client.CodeTemplateParse,
				Message: fmt.Sprintf("%s:%d: COPY %s: there is no such file", c.Dockerfile, s.Line, client.OneLine(s.Args[0], 120)),
				Hint:    "is the file there, and not excluded by .dockerignore?",
			}
		}
		args := s.Args
		if len(found) > 1 && !strings.HasSuffix(args[1], "/") {
			args = slices.Clone(args)
			args[1] += "/"
		}
		for _, source := range found {
			step, err := copyStep(ctx, c.Dir, all, source, args)
			if err != nil {
				return nil, nil, err
			}
			out, lines = append(out, step), append(lines, s.Line)
		}
	}
	return out, lines, nil
}

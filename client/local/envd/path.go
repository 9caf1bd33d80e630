package envd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errRefused marks paths that the agent does not touch on behalf of a caller
// (see the package comment).
var errRefused = errors.New("the agent does not serve this path")

// errOtherHome is the answer to "~name", which no home is known for.
var errOtherHome = errors.New("a path may start with ~ or ~/ only")

// resolvePath turns a path argument into a clean absolute one (e2b-protocol
// §7.2): empty is the working directory, ~ the home, and a relative path
// starts at the home, never at the working directory.
func resolvePath(path, workdir string, u User) (string, error) {
	switch {
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%q: %w", path, syscall.EINVAL)
	case path == "" && workdir != "":
		return filepath.Clean(workdir), nil
	case path == "" || path == "~":
		return filepath.Clean(u.Home), nil
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(u.Home, path[2:]), nil
	case strings.HasPrefix(path, "~"):
		return "", fmt.Errorf("%q: %w", path, errOtherHome)
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Join(u.Home, path), nil
}

// close gives the descriptor of a handle back, if it has one.
func (h *handle) close() {
	if h != nil && h.f != nil {
		_ = h.f.Close()
	}
}

// stat describes what the handle refers to.
func (h *handle) stat() (os.FileInfo, error) {
	if h.f != nil {
		return h.f.Stat()
	}
	return os.Stat(h.sys)
}

// child is a path for system calls to an entry of a directory handle. It isn't
// cleaned: the part before the name is a link that must be followed.
func (h *handle) child(name string) string { return h.sys + string(filepath.Separator) + name }

// place is a directory entry, there or not yet: an open parent and a name in
// it. Calls through sys cannot be led elsewhere by swapping parent directories.
type place struct {
	parent *handle
	name   string
}

func (p *place) close()       { p.parent.close() }
func (p *place) sys() string  { return p.parent.child(p.name) }
func (p *place) real() string { return filepath.Join(p.parent.real, p.name) }

// openPlace opens the parent of an absolute, clean path.
func openPlace(path string) (*place, error) {
	if path == string(filepath.Separator) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EBUSY}
	}
	parent, err := openHandle(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return &place{parent: parent, name: filepath.Base(path)}, nil
}

// openWritablePlace opens the parent of path, making missing directories for u,
// and refuses file systems that nothing is written to.
func (s *Server) openWritablePlace(path string, u User) (*place, error) {
	if path == string(filepath.Separator) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	parent, err := s.makeDirs(filepath.Dir(path), u)
	if err != nil {
		return nil, err
	}
	p := &place{parent: parent, name: filepath.Base(path)}
	if parent.pseudo() {
		p.close()
		return nil, &fs.PathError{Op: "write", Path: path, Err: errRefused}
	}
	return p, nil
}

// maxLinks is how many symbolic links a target may go through, as in the kernel.
const maxLinks = 40

// openTarget is openWritablePlace with symbolic links at the last name
// followed, so that writing through a link replaces what it points at.
func (s *Server) openTarget(path string, u User) (*place, error) {
	at := path
	for range maxLinks {
		p, err := s.openWritablePlace(at, u)
		if err != nil {
			return nil, err
		}
		link, isLink := readLink(p.sys())
		if !isLink {
			return p, nil
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(p.parent.real, link)
		}
		p.close()
		at = filepath.Clean(link)
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// readLink is the text of a link; false for anything else, there or not.
func readLink(path string) (string, bool) {
	text, err := os.Readlink(path)
	return text, err == nil
}

// makeDirs opens a directory and makes it and its parents first where they are
// missing: mode 0755, owned by u.
func (s *Server) makeDirs(path string, u User) (*handle, error) {
	h, err := openHandle(path)
	if err == nil {
		return asDir(h, path)
	}
	if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return nil, err
	}
	parent, err := s.makeDirs(filepath.Dir(path), u)
	if err != nil {
		return nil, err
	}
	defer parent.close()
	if parent.pseudo() {
		return nil, &fs.PathError{Op: "mkdir", Path: path, Err: errRefused}
	}
	name := filepath.Base(path)
	if err := os.Mkdir(parent.child(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, shownAs(err, path)
	} else if err == nil {
		if err := s.cfg.Spawner.Own(filepath.Join(parent.real, name), u); err != nil {
			return nil, fmt.Errorf("giving %s to its user: %w", path, err)
		}
	}
	h, err = openHandle(path)
	if err != nil {
		return nil, err
	}
	return asDir(h, path)
}

// asDir closes and refuses a handle that is not a directory.
func asDir(h *handle, path string) (*handle, error) {
	fi, err := h.stat()
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	if err != nil {
		h.close()
		return nil, shownAs(err, path)
	}
	return h, nil
}

// shownAs gives a file error the path that the caller knows instead of a
// descriptor's.
func shownAs(err error, path string) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return &fs.PathError{Op: le.Op, Path: path, Err: le.Err}
	}
	return err
}

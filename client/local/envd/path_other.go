//go:build !linux

package envd

import (
	"os"
	"path/filepath"
)

// handle is a file or directory that was found. Elsewhere than on Linux the
// agent has the caller's own rights only, so a path is all there is to it.
type handle struct {
	f    *os.File
	sys  string
	real string
}

// openHandle finds an absolute path, following symbolic links.
func openHandle(path string) (*handle, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, shownAs(err, path)
	}
	return &handle{sys: real, real: real}, nil
}

// noFollow asks openHandleAt to take a link itself.
const noFollow = 1

// openHandleAt is openHandle for a name in the directory dir (nil: an absolute path).
func openHandleAt(dir *handle, name string, flags uint64) (*handle, error) {
	path := name
	if dir != nil {
		path = dir.child(name)
	}
	if flags != noFollow {
		return openHandle(path)
	}
	if _, err := os.Lstat(path); err != nil {
		return nil, err
	}
	return &handle{sys: path, real: path}, nil
}

func (h *handle) pseudo() bool    { return false }
func (h *handle) networked() bool { return false }

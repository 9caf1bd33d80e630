package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// removeTree removes a folder of a sandbox that no process uses any more,
// whatever modes, depth and names it left there. Links are removed, not
// followed. A folder that does not exist is success.
func removeTree(dir string) error {
	// The plain way is fast and does nearly always.
	if os.RemoveAll(dir) == nil {
		return nil
	}
	return flatten(dir)
}

// flatten removes a tree without ever descending: each folder is opened up
// (mode 0700), its files are unlinked and its folders are moved up beside dir,
// to be removed the same way. So neither closed modes nor a depth beyond the
// longest path or the number of descriptors can stop it.
func flatten(dir string) error {
	var (
		parent = filepath.Dir(dir)
		prefix = filepath.Base(dir) + ".gone-"
		queue  = []string{dir}
		moved  int
		errs   []error
	)
	// Folders that an earlier, interrupted run moved up.
	if old, err := filepath.Glob(filepath.Join(parent, prefix+"*")); err == nil {
		queue = append(queue, old...)
		moved = len(old)
	}
	for len(queue) > 0 {
		d := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		info, err := os.Lstat(d)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.IsDir() {
			err = os.Chmod(d, 0o700)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries, err := os.ReadDir(d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, e := range entries {
			path := filepath.Join(d, e.Name())
			if !e.IsDir() {
				errs = append(errs, os.Remove(path))
				continue
			}
			// Moving a folder needs write access to itself, too.
			if err := os.Chmod(path, 0o700); err != nil {
				errs = append(errs, err)
				continue
			}
			to, err := moveUp(path, parent, prefix, &moved)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			queue = append(queue, to)
		}
		errs = append(errs, os.Remove(d))
	}
	return errors.Join(errs...)
}

// moveUp renames path to a free name in parent.
func moveUp(path, parent, prefix string, n *int) (string, error) {
	for range 1000 {
		*n++
		to := filepath.Join(parent, prefix+strconv.Itoa(*n))
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return to, os.Rename(path, to)
	}
	return "", fmt.Errorf("no free name beside %s", parent)
}

package registry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"abxdash/client"
)

// Leftovers looks on this machine for traces of a killed local sandbox:
// processes whose command line holds mark, mounts and folders that are named
// after id. roots are where local sandboxes keep their folders. checked says
// whether this system lets us look.
func Leftovers(ctx context.Context, roots []string, id client.ID, mark string) (found []string, checked bool, err error) {
	procs, err := processes(ctx, mark)
	if err != nil {
		return nil, false, err
	}
	mounts, err := mountsOf(string(id))
	if err != nil {
		return nil, false, err
	}
	found = append(procs, mounts...)
	for _, root := range roots {
		dirs, err := foldersOf(ctx, root, string(id))
		if err != nil {
			return nil, false, err
		}
		found = append(found, dirs...)
	}
	return found, true, nil
}

// processes lists those whose command line holds mark, but for our own.
func processes(ctx context.Context, mark string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(mark)) { // an error: it has just ended
			out = append(out, fmt.Sprintf("process %d", pid))
		}
	}
	return out, nil
}

func mountsOf(id string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	var out []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		if strings.Contains(s.Text(), id) {
			out = append(out, "mount "+client.OneLine(s.Text(), 120))
		}
	}
	return out, s.Err()
}

// foldersOf finds what is named id below root, but does not go into sandboxes.
func foldersOf(ctx context.Context, root, id string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // it has just gone, or is not ours to see
		case err != nil:
			return err
		case d.Name() == id:
			out = append(out, "folder "+client.OneLine(path, 200))
			return filepath.SkipDir
		case d.IsDir() && strings.Count(strings.TrimPrefix(path, root), string(filepath.Separator)) > 3:
			return filepath.SkipDir
		}
		return nil
	})
	return out, err
}

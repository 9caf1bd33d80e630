package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Extension is that of recordings; an unfinished one has PartSuffix behind it.
const (
	Extension  = ".cast"
	PartSuffix = ".part"
)

// File is a recording that is being written. It bears its final name only once
// it is complete.
type File struct {
	*Writer
	f    *os.File
	path string
}

// Create begins a recording. The folder is made if it is not there (0700), the
// file is readable by its owner alone; an existing file is not replaced.
func Create(path string, h Header, o Options) (*File, error) {
	const op = "begin recording"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return nil, fmt.Errorf("%s: %s: %w", op, filepath.Base(path), err)
	}
	f, err := os.OpenFile(path+PartSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return &File{Writer: NewWriter(f, h, o), f: f, path: path}, nil
}

// Path is the final name.
func (f *File) Path() string { return f.path }

// Close ends the recording and gives it its name. What could not be written
// whole keeps the suffix.
func (f *File) Close() error {
	err := f.Flush()
	if e := f.f.Close(); err == nil && e != nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("end recording: %w", err)
	}
	// A link does not replace what came to be under the name meanwhile.
	if err := os.Link(f.path+PartSuffix, f.path); err == nil || errors.Is(err, fs.ErrExist) {
		if err != nil {
			return fmt.Errorf("end recording: %s: %w", filepath.Base(f.path), err)
		}
		_ = os.Remove(f.path + PartSuffix) // a second name does no harm
		return nil
	}
	if err := os.Rename(f.path+PartSuffix, f.path); err != nil {
		return fmt.Errorf("end recording: %w", err)
	}
	return nil
}

// Name is a file name for a recording of what begins now.
func Name(label string, now time.Time) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, label)
	clean = strings.Trim(clean, "-.")
	if len(clean) > 60 {
		clean = clean[:60]
	}
	if clean == "" {
		clean = "shell"
	}
	return now.Format("20060102-150405.000") + "-" + clean + Extension
}

// Found is a recording in a folder.
type Found struct {
	Path string
	At   time.Time
	Size int64
}

// List is the complete recordings of a folder, the newest first. A folder that
// is not there has none.
func List(dir string) ([]Found, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	var out []Found
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != Extension {
			continue
		}
		if info, err := e.Info(); err == nil {
			out = append(out, Found{Path: filepath.Join(dir, e.Name()), At: info.ModTime(), Size: info.Size()})
		}
	}
	slices.SortFunc(out, func(a, b Found) int { return b.At.Compare(a.At) })
	return out, nil
}

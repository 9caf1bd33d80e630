package present

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxRemembered bounds one remembered file; a larger one is not ours.
const maxRemembered = 32 << 20

// Folder keeps what the dashboard remembers between runs: one small JSON file
// for each thing, readable by nobody else (0600 in a folder of 0700). The zero
// value remembers nothing and is not an error.
type Folder struct{ dir string }

// NewFolder remembers in dir, which is made by the first write.
func NewFolder(dir string) Folder { return Folder{dir: dir} }

// Remembers reports whether there is a folder at all.
func (f Folder) Remembers() bool { return f.dir != "" }

// Load reads one file. One that is not there, or that another version wrote,
// gives the zero value: what is remembered is a convenience, never needed.
func Load[T any](f Folder, name string) (v T, err error) {
	if !f.Remembers() {
		return v, nil
	}
	path := filepath.Join(f.dir, name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err == nil && info.Size() > maxRemembered {
		return v, fmt.Errorf("%s is too large", name)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		var zero T
		return zero, fmt.Errorf("read %s: %w", name, err)
	}
	return v, nil
}

// Save writes one file whole or not at all.
func Save[T any](f Folder, name string, v T) error {
	if !f.Remembers() {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(f.dir, name+".*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(f.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// Append adds records to a file of JSON lines. Dashboards that run at the same
// time do not overwrite one another.
func Append[T any](f Folder, name string, records ...T) error {
	if !f.Remembers() || len(records) == 0 {
		return nil
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(f.dir, name)
	if info, err := os.Stat(path); err == nil && info.Size() > maxJournal {
		if err := os.Rename(path, path+".old"); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(lines.Bytes())
	return errors.Join(err, file.Close())
}

// maxJournal is the size at which a file of JSON lines is set aside.
const maxJournal = 1 << 20

// Tail reads the last n records of a file of JSON lines, oldest first. Lines
// that cannot be read, such as one cut short by a crash, are left out.
func Tail[T any](f Folder, name string, n int) ([]T, error) {
	if !f.Remembers() {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []T
	scan := bufio.NewScanner(file)
	scan.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for scan.Scan() {
		var r T
		if json.Unmarshal(scan.Bytes(), &r) == nil {
			out = append(out, r)
		}
	}
	if len(out) > n {
		out = out[len(out)-n:]
	}
	return out, scan.Err()
}

package local

import (
	"errors"
	"io/fs"
	"os"
)

// logLimit bounds the server's log in bytes. What one start finds above it
// moves to one older file; a log that grows beyond it while the server runs
// begins anew.
const logLimit = 1 << 20

// openLog opens the log for appending, mode 0600.
func openLog(path, old string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().IsRegular() && info.Size() > logLimit:
		if err := os.Rename(path, old); err != nil {
			return nil, err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// boundedLog empties its file when that grows beyond logLimit. The file must
// be open for appending, so that other writers go on at its new end.
type boundedLog struct{ f *os.File }

func (b *boundedLog) Write(p []byte) (int, error) {
	if info, err := b.f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > logLimit {
		if err := b.f.Truncate(0); err != nil {
			return 0, err
		}
	}
	return b.f.Write(p)
}

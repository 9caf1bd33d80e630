package exec

import (
	"errors"
	"io"
	"os"
	"sync"

	"abxdash/client"
)

// Bounds of what is kept of one command's output to be saved exactly.
const (
	// spillMemory stays in memory, in bytes: most commands never touch the disk.
	spillMemory = 256 << 10
	// spillLimit is how much is kept at all, in bytes.
	spillLimit = 256 << 20
)

// spill keeps the bytes of a command exactly as they came, both streams in the
// order of arrival: first in memory, then in a file without a name, which is
// gone with the program however that ends. Appending is done by one goroutine.
type spill struct {
	mu     sync.Mutex
	dir    string
	head   []byte
	file   *os.File
	size   int64 // bytes kept
	lost   int64 // bytes beyond the bound, or that could not be written
	closed bool
}

// add is the Raw hook of a ring.
func (s *spill) add(_ client.StreamKind, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lost > 0 {
		s.lost += int64(len(p))
		return
	}
	if room := spillLimit - s.size; int64(len(p)) > room {
		s.lost += int64(len(p)) - room
		p = p[:room]
	}
	n, err := s.write(p)
	s.size += int64(n)
	if err != nil {
		// A full disk must not stop the command or its display: what cannot be
		// kept is counted and said when it is saved.
		s.lost += int64(len(p) - n)
	}
}

func (s *spill) write(p []byte) (int, error) {
	if s.file == nil && len(s.head)+len(p) <= spillMemory {
		s.head = append(s.head, p...)
		return len(p), nil
	}
	if s.file == nil {
		f, err := nameless(s.dir)
		if err != nil {
			return 0, err
		}
		s.file = f
	}
	return s.file.Write(p)
}

// copyTo writes everything kept and returns how many bytes of the output are missing in it.
func (s *spill) copyTo(w io.Writer) (lost int64, err error) {
	s.mu.Lock()
	head, file, size, lost := s.head, s.file, s.size, s.lost
	s.mu.Unlock()
	if _, err := w.Write(head); err != nil || file == nil {
		return lost, err
	}
	_, err = io.Copy(w, io.NewSectionReader(file, 0, size-int64(len(head))))
	return lost, err
}

func (s *spill) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.head = nil
	if s.file != nil {
		name := s.file.Name()
		_ = s.file.Close()
		_ = os.Remove(name) // where an open file could not be removed before
		s.file = nil
	}
}

// nameless makes a private file and takes its name away, where the system lets
// an open file lose it.
func nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "abxdash-output-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, os.ErrPermission) {
		// Windows refuses; close removes it there.
		return f, nil
	}
	return f, nil
}

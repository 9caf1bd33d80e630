package config

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"abxdash/client"
)

// maxLog is the size at which a log file is set aside when it is opened.
const maxLog = 4 << 20

// ParseLevel reads a level: debug, info, warn or error; "" is warn.
func ParseLevel(text string) (slog.Level, error) {
	switch strings.ToLower(text) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "", "warn", "warning":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, client.Usagef("read the flags", "--log-level is debug, info, warn or error")
}

// NewLog makes a logger that writes to the file at path, which is made when the
// first line is written. A log that cannot be written is dropped silently:
// nothing may fail for it. Close it in the end.
func NewLog(path string, level slog.Leveler) (*slog.Logger, io.Closer) {
	f := &lazyFile{path: path}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level})), f
}

// lazyFile is a file that is opened by its first write.
type lazyFile struct {
	path string

	mu     sync.Mutex
	file   *os.File
	failed bool
}

// Write appends one line.
func (l *lazyFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && !l.failed {
		l.failed = l.open() != nil
	}
	if l.failed {
		return len(p), nil
	}
	return l.file.Write(p)
}

func (l *lazyFile) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(l.path); err == nil && info.Size() > maxLog {
		_ = os.Rename(l.path, l.path+".old") // if not, the file goes on growing
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	l.file = f
	return err
}

// Close closes the file if it was opened.
func (l *lazyFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

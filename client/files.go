package client

import (
	"context"
	"io"
	"time"
)

// FileType is what a path names, after following links.
type FileType uint8

// File types. FileOther is a socket, device, fifo or broken link.
const (
	FileOther FileType = iota
	FileRegular
	FileDir
	FileSymlink
)

// Entry is one file or directory inside a sandbox.
type Entry struct {
	Name string
	// Path is absolute inside the sandbox.
	Path string
	Type FileType
	// Size is in bytes.
	Size int64
	// Mode is the low nine permission bits.
	Mode uint32
	// Permissions is text such as "-rw-r--r--".
	Permissions string
	Owner       string
	Group       string
	ModifiedAt  time.Time
	// LinkTarget is set for links only.
	LinkTarget string
}

// Files reads and changes files inside a sandbox. Paths are absolute, or
// relative to the user's home; "" is the home itself.
type Files interface {
	ReadDir(ctx context.Context, id ID, path string) ([]Entry, error)
	Stat(ctx context.Context, id ID, path string) (Entry, error)
	// Open streams a file. The caller closes it.
	Open(ctx context.Context, id ID, path string) (io.ReadCloser, error)
	// Put streams r into path, making parents. size is -1 if unknown.
	Put(ctx context.Context, id ID, path string, r io.Reader, size int64) (Entry, error)
	Mkdir(ctx context.Context, id ID, path string) error
	Rename(ctx context.Context, id ID, from, to string) error
	// Remove is recursive; a missing path is success.
	Remove(ctx context.Context, id ID, path string) error
}

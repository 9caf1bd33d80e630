package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"abxdash/client"
)

// DefaultMaxRead bounds [Files.ReadBytes], in bytes.
const DefaultMaxRead = 256 << 20

// Files is the files of one sandbox. Paths are absolute, or relative to the
// user's home.
type Files struct{ sb *Sandbox }

// Files gives access to the sandbox's files. It makes no call.
func (sb *Sandbox) Files() *Files { return &Files{sb} }

func (f *Files) api() client.Files { return f.sb.p.Files() }

// Write writes a whole file, with its folders. A file that exists is replaced;
// it is not atomic (see [Files.Upload] for a transfer that is).
func (f *Files) Write(ctx context.Context, path string, content []byte) (client.Entry, error) {
	return f.api().Put(ctx, f.sb.id, path, bytes.NewReader(content), int64(len(content)))
}

// WriteFrom writes a file from a stream. size is -1 if it is not known.
func (f *Files) WriteFrom(ctx context.Context, path string, r io.Reader, size int64) (client.Entry, error) {
	return f.api().Put(ctx, f.sb.id, path, r, size)
}

// Read reads a whole text file of at most [DefaultMaxRead] bytes. One that is not
// UTF-8 is an error (E4000): use ReadBytes.
func (f *Files) Read(ctx context.Context, path string) (string, error) {
	b, err := f.ReadBytes(ctx, path)
	if err == nil && !utf8.Valid(b) {
		err = &client.Error{Op: "read file", Provider: f.sb.p.Name(), Code: client.CodeFiles, Message: "the file is no text in UTF-8"}
	}
	return string(b), err
}

// ReadBytes reads a whole file of at most [DefaultMaxRead] bytes.
func (f *Files) ReadBytes(ctx context.Context, path string) ([]byte, error) {
	r, err := f.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, DefaultMaxRead+1))
	if err != nil {
		return nil, err
	}
	if len(b) > DefaultMaxRead {
		return nil, &client.Error{
			Op: "read file", Provider: f.sb.p.Name(), Code: client.CodeFiles,
			Message: fmt.Sprintf("the file is over %d MiB", DefaultMaxRead>>20), Hint: "open it as a stream, or download it",
		}
	}
	return b, nil
}

// Open streams a file. The caller closes it.
func (f *Files) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	return f.api().Open(ctx, f.sb.id, path)
}

// List lists a directory; "" is the home. Names are untrusted text.
func (f *Files) List(ctx context.Context, path string) ([]client.Entry, error) {
	return f.api().ReadDir(ctx, f.sb.id, path)
}

// Exists reports whether a path is there.
func (f *Files) Exists(ctx context.Context, path string) (bool, error) {
	_, err := f.Stat(ctx, path)
	if errors.Is(err, client.ErrNotFound) && client.CodeOf(err) == client.CodeFileNotFound {
		return false, nil
	}
	return err == nil, err
}

// Stat describes a path. A missing one is ErrNotFound.
func (f *Files) Stat(ctx context.Context, path string) (client.Entry, error) {
	return f.api().Stat(ctx, f.sb.id, path)
}

// Remove removes a path with all below it. A missing one is success.
func (f *Files) Remove(ctx context.Context, path string) error {
	return f.api().Remove(ctx, f.sb.id, path)
}

// MakeDir makes a directory with its parents and reports whether it is new.
func (f *Files) MakeDir(ctx context.Context, path string) (bool, error) {
	err := f.api().Mkdir(ctx, f.sb.id, path)
	if errors.Is(err, client.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// Rename renames or moves a path; a file at the target is replaced.
func (f *Files) Rename(ctx context.Context, from, to string) error {
	return f.api().Rename(ctx, f.sb.id, from, to)
}

// Watch reports changes in a directory, where the provider declares files.watch;
// else E8004.
func (f *Files) Watch(ctx context.Context, dir string, recursive bool) (client.Watch, error) {
	w, err := optional[client.Watcher](f.sb.p, client.CapWatch)
	if err != nil {
		return nil, err
	}
	return w.Watch(ctx, f.sb.id, dir, recursive)
}

// UploadURL is where another program can send one file (POST, the bytes as the
// body), where the provider declares files.transfer; else E8004. The request
// needs the headers of the address: its URL alone is refused while the sandbox
// is secure.
func (f *Files) UploadURL(ctx context.Context, path string) (client.Address, error) {
	l, err := optional[client.FileLinks](f.sb.p, client.CapTransfer)
	if err != nil {
		return client.Address{}, err
	}
	return l.UploadAddress(ctx, f.sb.id, path)
}

// DownloadURL is where another program can fetch one file; see [Files.UploadURL].
func (f *Files) DownloadURL(ctx context.Context, path string) (client.Address, error) {
	l, err := optional[client.FileLinks](f.sb.p, client.CapTransfer)
	if err != nil {
		return client.Address{}, err
	}
	return l.DownloadAddress(ctx, f.sb.id, path)
}

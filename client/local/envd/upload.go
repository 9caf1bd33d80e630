package envd

import (
	"bufio"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const (
	// metadataHeader starts the headers that set file metadata.
	metadataHeader = "X-Metadata-"
	// maxMetadataKey and maxMetadata bound metadata in bytes; the latter counts
	// keys with their prefix, and values (e2b-protocol §7.5).
	maxMetadataKey = 246
	maxMetadata    = 4096
	// metadataPrefix counts towards maxMetadata for every key.
	metadataPrefix = "user.e2b."
)

// Names of unfinished uploads. The second word tells watches whether the target
// was there before, because all they see of an upload is a rename.
const (
	uploadNew = ".abx-upload-new-"
	uploadOld = ".abx-upload-old-"
)

// fileEntry is how the HTTP API describes a file it wrote.
type fileEntry struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func (s *Server) postFiles(w http.ResponseWriter, r *http.Request) {
	entries, err := s.receiveFiles(r)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, entries)
}

// receiveFiles stores the body of POST /files (e2b-protocol §7.5).
func (s *Server) receiveFiles(r *http.Request) ([]fileEntry, error) {
	req, err := s.parseFileRequest(r, opWrite)
	if err != nil {
		return nil, err
	}
	meta, err := metadataFrom(r.Header)
	if err != nil {
		return nil, err
	}
	body, err := decodedBody(r)
	if err != nil {
		return nil, err
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, badRequest("Content-Type: %v", err)
	}
	switch mediaType {
	case "application/octet-stream":
		if req.query.Get("path") == "" {
			return nil, badRequest("path query parameter is required for raw body upload")
		}
		entry, err := s.storeFile(req.query.Get("path"), req.user, body, meta)
		return []fileEntry{entry}, err
	case "multipart/form-data":
		return s.receiveParts(multipart.NewReader(body, params["boundary"]), req, meta)
	}
	return nil, badRequest("unsupported Content-Type %q", mediaType)
}

// receiveParts stores every part named "file".
func (s *Server) receiveParts(parts *multipart.Reader, req fileRequest, meta map[string]string) ([]fileEntry, error) {
	entries := []fileEntry{}
	stored := map[string]bool{}
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, badRequest("reading the form: %v", err)
		}
		name, filename := partNames(part)
		if name != "file" {
			continue
		}
		path := req.query.Get("path")
		if path == "" {
			path = filename
		}
		if path == "" {
			return nil, badRequest("a file part needs a filename, or the request a path")
		}
		abs, err := s.resolveHTTP(path, req.user)
		if err != nil {
			return nil, err
		}
		if stored[abs] {
			return nil, badRequest("two parts name the path '%s'; the first was stored", abs)
		}
		entry, err := s.storeFile(path, req.user, part, meta)
		if err != nil {
			return nil, err
		}
		stored[abs] = true
		entries = append(entries, entry)
	}
}

// partNames reads a part's name and its whole file name: the standard helper
// drops the directories.
func partNames(part *multipart.Part) (name, filename string) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", ""
	}
	return params["name"], params["filename"]
}

// decodedBody undoes the coding of a whole body.
func decodedBody(r *http.Request) (io.Reader, error) {
	switch coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		gz, err := gzip.NewReader(bufio.NewReaderSize(r.Body, copyBuffer))
		if err != nil {
			return nil, badRequest("reading the gzip body: %v", err)
		}
		return gz, nil
	default:
		return nil, badRequest("unsupported Content-Encoding %q, supported: [gzip]", coding)
	}
}

// metadataFrom collects X-Metadata-* headers, keys in lower case.
func metadataFrom(h http.Header) (map[string]string, error) {
	meta := map[string]string{}
	total := 0
	for name, values := range h {
		key, ok := strings.CutPrefix(name, metadataHeader)
		if !ok {
			continue
		}
		key = strings.ToLower(key)
		value := values[0]
		total += len(metadataPrefix) + len(key) + len(value)
		switch {
		case key == "" || len(key) > maxMetadataKey:
			return nil, badRequest("a metadata key has 1 to %d bytes", maxMetadataKey)
		case !printable(key) || !printable(value):
			return nil, badRequest("metadata must be printable ASCII")
		case total > maxMetadata:
			return nil, badRequest("metadata is longer than %d bytes in all", maxMetadata)
		}
		meta[key] = value
	}
	return meta, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func badRequest(format string, args ...any) error {
	return &httpError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// storeFile writes content to a path argument and describes the file.
func (s *Server) storeFile(path string, u User, content io.Reader, meta map[string]string) (fileEntry, error) {
	abs, err := s.resolveHTTP(path, u)
	if err != nil {
		return fileEntry{}, err
	}
	if strings.HasSuffix(path, "/") {
		return fileEntry{}, badRequest("path '%s' is a directory", abs)
	}
	stored, err := s.replaceFile(abs, u, meta, func(f *os.File) error { return copyTo(f, content) })
	if err != nil {
		return fileEntry{}, err
	}
	return fileEntry{Name: filepath.Base(abs), Path: abs, Type: "file", Metadata: stored}, nil
}

// bodyError marks a fault of the request's body, so that it isn't taken for
// one of the disk.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return "reading the body: " + e.err.Error() }

// bodyReader wraps the errors of a body.
type bodyReader struct{ r io.Reader }

func (b bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &bodyError{err}
	}
	return n, err
}

// copyTo fills a file in large pieces, however small the source's are.
func copyTo(f *os.File, content io.Reader) error {
	w := bufio.NewWriterSize(struct{ io.Writer }{f}, copyBuffer)
	if _, err := w.ReadFrom(bodyReader{content}); err != nil {
		return err
	}
	return w.Flush()
}

// replaceFile makes the file abs anew: fill writes a temporary file beside it
// that takes its place only when complete. The mode of an earlier file stays.
// It returns the metadata that the file system took.
func (s *Server) replaceFile(abs string, u User, meta map[string]string, fill func(*os.File) error) (map[string]string, error) {
	p, err := s.openTarget(abs, u)
	if err != nil {
		return nil, &httpError{status: writeStatus(err), message: err.Error()}
	}
	defer p.close()
	mode, existed, err := targetMode(p, abs)
	if err != nil {
		return nil, err
	}
	prefix := uploadNew
	if existed {
		prefix = uploadOld
	}
	temp := &place{parent: p.parent, name: prefix + rand.Text()}
	stored, err := s.writeTemp(temp, u, mode, existed, meta, fill)
	if err == nil {
		err = os.Rename(temp.sys(), p.sys())
	}
	if err != nil {
		_ = os.Remove(temp.sys())
		var bad *bodyError
		if errors.As(err, &bad) {
			return nil, badRequest("%v", bad)
		}
		return nil, &httpError{status: writeStatus(err), message: shownAs(err, abs).Error()}
	}
	return stored, nil
}

// writeStatus is fileStatus for a write: what is missing or in the way is a
// failure of the server (e2b-protocol §7.5).
func writeStatus(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return http.StatusInternalServerError
	}
	return fileStatus(err)
}

// targetMode checks that a target can be replaced and tells the mode to keep.
func targetMode(p *place, shown string) (mode os.FileMode, existed bool, err error) {
	fi, err := os.Lstat(p.sys())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o666, false, nil
	case err != nil:
		return 0, false, &httpError{status: writeStatus(err), message: shownAs(err, shown).Error()}
	case fi.IsDir():
		return 0, true, badRequest("path '%s' is a directory", shown)
	case !fi.Mode().IsRegular():
		return 0, true, badRequest("path '%s' is not a regular file", shown)
	}
	return fi.Mode() & (os.ModePerm | os.ModeSetuid | os.ModeSetgid | os.ModeSticky), true, nil
}

// writeTemp makes the temporary file complete: owner, content, metadata, mode.
// The mode comes last, since writing and chown take set-id bits away.
func (s *Server) writeTemp(temp *place, u User, mode os.FileMode, existed bool, meta map[string]string, fill func(*os.File) error) (stored map[string]string, err error) {
	f, err := os.OpenFile(temp.sys(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := s.cfg.Spawner.Own(temp.real(), u); err != nil {
		return nil, err
	}
	if err := fill(f); err != nil {
		return nil, err
	}
	if stored, err = writeMetadata(f, meta); err != nil {
		return nil, err
	}
	if existed {
		err = f.Chmod(mode)
	}
	return stored, err
}

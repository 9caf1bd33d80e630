package envd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
)

// composeRequest asks for files to be joined (e2b-protocol §7.3).
type composeRequest struct {
	SourcePaths []string `json:"source_paths"`
	Destination string   `json:"destination"`
	Username    string   `json:"username"`
}

func (s *Server) postCompose(w http.ResponseWriter, r *http.Request) {
	entry, err := s.compose(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, entry)
}

// compose joins the sources, in order, into the destination and removes them.
// Nothing is changed when a source is missing or not a regular file.
func (s *Server) compose(w http.ResponseWriter, r *http.Request) (fileEntry, error) {
	var req composeRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJSON)).Decode(&req); err != nil {
		return fileEntry{}, badRequest("reading the request: %v", err)
	}
	if len(req.SourcePaths) == 0 {
		return fileEntry{}, badRequest("source_paths must name at least one file")
	}
	if req.Destination == "" {
		return fileEntry{}, badRequest("destination is required")
	}
	u, err := s.lookupHTTP(req.Username)
	if err != nil {
		return fileEntry{}, err
	}
	destination, err := s.resolveHTTP(req.Destination, u)
	if err != nil {
		return fileEntry{}, err
	}
	sources := make([]*handle, 0, len(req.SourcePaths))
	defer func() {
		for _, h := range sources {
			h.close()
		}
	}()
	paths := make([]string, 0, len(req.SourcePaths))
	for _, source := range req.SourcePaths {
		path, err := s.resolveHTTP(source, u)
		if err != nil {
			return fileEntry{}, err
		}
		h, fi, err := openRegular(path)
		if err != nil {
			return fileEntry{}, err
		}
		sources, paths = append(sources, h), append(paths, path)
		if sameFile(destination, fi) {
			return fileEntry{}, badRequest("source '%s' is the destination", path)
		}
	}
	stored, err := s.replaceFile(destination, u, nil, func(f *os.File) error { return appendAll(f, sources) })
	if err != nil {
		return fileEntry{}, err
	}
	for _, path := range paths {
		if err := removeEntry(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileEntry{}, &httpError{status: fileStatus(err), message: "joined, but: " + shownAs(err, path).Error()}
		}
	}
	return fileEntry{Name: filepath.Base(destination), Path: destination, Type: "file", Metadata: stored}, nil
}

// sameFile says whether path leads to the file that fi describes.
func sameFile(path string, fi os.FileInfo) bool {
	h, err := openHandle(path)
	if err != nil {
		return false
	}
	defer h.close()
	other, err := h.stat()
	return err == nil && os.SameFile(other, fi)
}

// appendAll copies the sources one after another; the kernel does the copying
// where it can.
func appendAll(f *os.File, sources []*handle) error {
	for _, h := range sources {
		src, err := os.Open(h.sys)
		if err != nil {
			return err
		}
		_, err = f.ReadFrom(src)
		_ = src.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// removeEntry removes one file; a link goes, not its target.
func removeEntry(path string) error {
	p, err := openPlace(path)
	if err != nil {
		return err
	}
	defer p.close()
	return os.Remove(p.sys())
}

package server

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// uploadPath is where archives of a build go: a link that was given is all it takes.
	uploadPath = "/uploads/"
	// uploadsDir is the folder of the store that keeps them, by template.
	uploadsDir = ".uploads"
	// uploadFor is how long a link is good (e2b-protocol §12.3).
	uploadFor = 30 * time.Minute
	maxUpload = 4 << 30
	// uploadKept is how long an archive is of use to the next build.
	uploadKept = 7 * 24 * time.Hour
)

// isUpload reports a request whose link is its permission.
func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, uploadPath)
}

// links are the upload links given.
type links struct {
	mu   sync.Mutex
	open map[string]link
}

type link struct {
	path string
	ends time.Time
}

// give makes a link to a file of the store.
func (l *links) give(path string, now time.Time) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[string]link{}
	}
	for t, k := range l.open {
		if !k.ends.After(now) {
			delete(l.open, t)
		}
	}
	token = rand.Text() + rand.Text()
	l.open[token] = link{path, now.Add(uploadFor)}
	return token
}

func (l *links) take(token string, now time.Time) (path string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.open[token]
	return k.path, ok && k.ends.After(now)
}

// uploads is the folder of a template's archives.
func (st *store) uploads(template string) string {
	return filepath.Join(st.dir, uploadsDir, template)
}

// archive is the file of one.
func (st *store) archive(template, hash string) string {
	return filepath.Join(st.uploads(template), hash+".tar.gz")
}

// tidyUploads removes archives that nobody has used for long, and what a dead
// server had not finished.
func (st *store) tidyUploads(now time.Time) error {
	if st.dir == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(st.dir, uploadsDir, "*", "*"))
	errs := []error{err}
	for _, f := range files {
		info, err := os.Stat(f)
		if err == nil && (now.Sub(info.ModTime()) > uploadKept || !strings.HasSuffix(f, ".tar.gz")) {
			errs = append(errs, os.Remove(f))
			_ = os.Remove(filepath.Dir(f)) // fails while there is something in it
		}
	}
	return errors.Join(errs...)
}

// isHash reports 64 lower-case hex digits.
func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64 && s == strings.ToLower(s)
}

// handleUploadLink says whether an archive is there and where it would go.
func (s *Server) handleUploadLink(w http.ResponseWriter, r *http.Request) {
	id, hash := r.PathValue("id"), r.PathValue("hash")
	var e *apiError
	j := s.builds.find(id, "")
	switch {
	case !isHash(hash):
		e = refuse(http.StatusBadRequest, "the hash must be 64 hex digits in lower case")
	case s.store.dir == "":
		e = refuse(http.StatusNotImplemented, "the local server has no folder for templates")
	case j != nil:
		id = j.template
	default:
		t, ok := s.store.find(id)
		if id = t.ID; !ok {
			e = refuse(http.StatusNotFound, "template %q not found", shorten(r.PathValue("id")))
		}
	}
	if e != nil {
		writeError(w, e)
		return
	}
	s.holdForBuild()
	path := s.store.archive(id, hash)
	present, err := exists(path)
	if err != nil {
		writeError(w, refuse(http.StatusInternalServerError, "%s", err))
		return
	}
	scheme := r.Header.Get(headerFront)
	if scheme != "https" {
		scheme = "http"
	}
	writeJSON(w, http.StatusCreated, struct {
		Present bool   `json:"present"`
		URL     string `json:"url"`
	}{present, scheme + "://" + r.Host + uploadPath + s.builds.links.give(path, s.clock.Now())})
}

// handleUpload takes an archive.
func (s *Server) handleUpload(w http.ResponseWriter, r *http.Request) {
	path, ok := s.builds.links.take(r.PathValue("token"), s.clock.Now())
	switch {
	case !ok:
		writeError(w, refuse(http.StatusForbidden, "the upload link is not valid, or not any more"))
		return
	case r.ContentLength > maxUpload:
		writeError(w, refuse(http.StatusRequestEntityTooLarge, "an archive may have %d bytes at most", int64(maxUpload)))
		return
	}
	s.holdForBuild()
	if err := saveUpload(path, http.MaxBytesReader(w, r.Body, maxUpload)); err != nil {
		s.log.Warn("upload failed", "err", err)
		writeError(w, refuse(http.StatusInternalServerError, "cannot keep the archive: %s", err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// saveUpload writes a file that has its name only when it is whole.
func saveUpload(path string, r io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

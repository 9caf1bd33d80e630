package envd

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// copyBuffer is the piece in which file content moves, in bytes.
	copyBuffer = 256 << 10
	// maxPseudo bounds what is read of a file in /proc or /sys, in bytes.
	maxPseudo = 16 << 20
	// sniffLen is what http.DetectContentType looks at, in bytes.
	sniffLen = 512
)

// fileRequest is what GET and POST /files have in common.
type fileRequest struct {
	query url.Values
	user  User
}

// parseFileRequest checks the signature and finds the user.
func (s *Server) parseFileRequest(r *http.Request, operation string) (fileRequest, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fileRequest{}, &httpError{status: http.StatusBadRequest, message: "the query is malformed"}
	}
	if err := s.checkSignature(r, q, operation); err != nil {
		return fileRequest{}, err
	}
	u, err := s.lookupHTTP(q.Get("username"))
	return fileRequest{query: q, user: u}, err
}

// lookupHTTP finds a user for the HTTP API.
func (s *Server) lookupHTTP(name string) (User, error) {
	u, err := s.cfg.Spawner.Lookup(name)
	if err != nil {
		return User{}, &httpError{
			status:  http.StatusUnauthorized,
			message: fmt.Sprintf("error looking up user '%s': user: unknown user %s", name, name),
		}
	}
	return u, nil
}

// resolveHTTP resolves a path argument of the HTTP API.
func (s *Server) resolveHTTP(path string, u User) (string, error) {
	abs, err := resolvePath(path, s.cfg.Workdir, u)
	if err != nil {
		return "", &httpError{status: http.StatusBadRequest, message: err.Error()}
	}
	return abs, nil
}

func (s *Server) getFile(w http.ResponseWriter, r *http.Request) {
	if err := s.sendFile(w, r); err != nil {
		writeError(w, err)
	}
}

// sendFile answers GET /files (e2b-protocol §7.4). It returns an error only
// while nothing has been written.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request) error {
	req, err := s.parseFileRequest(r, opRead)
	if err != nil {
		return err
	}
	path, err := s.resolveHTTP(req.query.Get("path"), req.user)
	if err != nil {
		return err
	}
	useGzip, err := wantsGzip(r.Header)
	if err != nil {
		return err
	}
	h, fi, err := openRegular(path)
	if err != nil {
		return err
	}
	defer h.close()
	f, err := os.Open(h.sys)
	if err != nil {
		return &httpError{status: fileStatus(err), message: shownAs(err, path).Error()}
	}
	defer func() { _ = f.Close() }()

	var content io.ReadSeeker = f
	if h.pseudo() {
		data, err := io.ReadAll(io.LimitReader(f, maxPseudo))
		if err != nil {
			return &httpError{status: http.StatusInternalServerError, message: shownAs(err, path).Error()}
		}
		content = bytes.NewReader(data)
	}
	header := w.Header()
	if d := mime.FormatMediaType("inline", map[string]string{"filename": filepath.Base(path)}); d != "" {
		header.Set("Content-Disposition", d)
	}
	header.Set("Vary", "Accept-Encoding")
	header.Set("X-Content-Type-Options", "nosniff")
	if !useGzip {
		http.ServeContent(&bulkWriter{ResponseWriter: w, r: r}, r, path, fi.ModTime(), content)
		return nil
	}
	return sendGzip(w, path, fi.ModTime(), content)
}

// openRegular finds a regular file; anything else is refused by its type and
// never opened.
func openRegular(path string) (*handle, os.FileInfo, error) {
	h, err := openHandle(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &httpError{status: http.StatusNotFound, message: fmt.Sprintf("path '%s' does not exist", path)}
	}
	if err != nil {
		return nil, nil, &httpError{status: fileStatus(err), message: err.Error()}
	}
	fi, err := h.stat()
	switch {
	case err != nil:
		err = &httpError{status: fileStatus(err), message: shownAs(err, path).Error()}
	case fi.IsDir():
		err = &httpError{status: http.StatusBadRequest, message: fmt.Sprintf("path '%s' is a directory", path)}
	case !fi.Mode().IsRegular():
		err = &httpError{status: http.StatusBadRequest, message: fmt.Sprintf("path '%s' is not a regular file", path)}
	}
	if err != nil {
		h.close()
		return nil, nil, err
	}
	return h, fi, nil
}

// sendGzip sends the whole content compressed.
func sendGzip(w http.ResponseWriter, path string, modified time.Time, content io.ReadSeeker) error {
	head := make([]byte, sniffLen)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return shownAs(err, path)
	}
	header := w.Header()
	contentType := mime.TypeByExtension(filepath.Ext(path))
	if contentType == "" {
		contentType = http.DetectContentType(head[:n])
	}
	header.Set("Content-Type", contentType)
	header.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	header.Set("Content-Encoding", "gzip")
	gz, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	// From here on a fault can only cut the response, which the caller sees.
	_, err = gz.Write(head[:n])
	if err == nil {
		_, err = io.Copy(gz, content)
	}
	if err == nil {
		err = gz.Close()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// wantsGzip reads Accept-Encoding. Ranges and conditions are about the plain
// bytes and force them.
func wantsGzip(h http.Header) (bool, error) {
	qualities := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		q := 1.0
		if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q="); ok {
			if parsed, err := strconv.ParseFloat(value, 64); err == nil {
				q = parsed
			}
		}
		qualities[name] = q
	}
	star, hasStar := qualities["*"]
	quality := func(name string, absent float64) float64 {
		if q, ok := qualities[name]; ok {
			return q
		}
		if hasStar {
			return star
		}
		return absent
	}
	// Plain bytes are acceptable unless excluded, but never the first choice of
	// somebody who names gzip.
	gz, plain := quality("gzip", 0), quality("identity", 0.001)
	if gz <= 0 && plain <= 0 {
		return false, &httpError{
			status:  http.StatusNotAcceptable,
			message: "error parsing Accept-Encoding: no acceptable encoding found, supported: [gzip]",
		}
	}
	for _, name := range []string{"Range", "If-Range", "If-Modified-Since", "If-Unmodified-Since", "If-Match", "If-None-Match"} {
		if h.Get(name) != "" {
			return false, nil
		}
	}
	return gz >= plain && gz > 0, nil
}

// bulkWriter copies files in large pieces. The standard writer uses sendfile on
// TCP and 32 KiB pieces on unix sockets; only the latter is replaced.
type bulkWriter struct {
	http.ResponseWriter
	r *http.Request
}

// ReadFrom implements io.ReaderFrom.
func (b *bulkWriter) ReadFrom(src io.Reader) (int64, error) {
	addr, _ := b.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if rf, ok := b.ResponseWriter.(io.ReaderFrom); ok && (addr == nil || addr.Network() != "unix") {
		return rf.ReadFrom(src)
	}
	return io.CopyBuffer(struct{ io.Writer }{b.ResponseWriter}, struct{ io.Reader }{src}, make([]byte, copyBuffer))
}

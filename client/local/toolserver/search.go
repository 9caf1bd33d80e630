package toolserver

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of POST /files/search and /files/archive (agent-sandbox-server §5).
const (
	searchDepth   = 5
	searchResults = 100
	searchTime    = 10 * time.Second
	maxDepth      = 64
	archiveFiles  = 10_000
	archiveBytes  = 100 << 20
)

func (s *Server) searchRoutes() {
	route(s, groupFiles, "POST /files/search", s.search)
	s.handle(groupFiles, "POST /files/archive", s.archive)
}

type searchBody struct {
	Path       string
	Pattern    string
	MaxDepth   int `json:"max_depth"`
	MaxResults int `json:"max_results"`
}

// search finds entries by a pattern as shells have them: of the name, or of the
// path below the start when the pattern holds a slash.
func (s *Server) search(r *http.Request, b searchBody) (any, error) {
	if b.Pattern == "" {
		return nil, bad("a pattern is needed")
	}
	if _, err := path.Match(b.Pattern, ""); err != nil {
		return nil, bad("the pattern is not valid")
	}
	if b.MaxDepth <= 0 {
		b.MaxDepth = searchDepth
	}
	if b.MaxResults <= 0 {
		b.MaxResults = searchResults
	}
	b.MaxDepth, b.MaxResults = min(b.MaxDepth, maxDepth), min(b.MaxResults, listEntries)
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	out := []entry{}
	err := s.inHome(b.Path, func(root *os.Root, name string) error {
		return visit(ctx, root, name, b.MaxDepth, func(at string, info fs.FileInfo) error {
			if !matches(b.Pattern, name, at) {
				return nil
			}
			if out = append(out, entryOf(at, info)); len(out) >= b.MaxResults {
				return errEnough
			}
			return nil
		})
	})
	late := errors.Is(err, context.DeadlineExceeded)
	if late || errors.Is(err, errEnough) {
		err = nil
	}
	return map[string]any{"matches": out, "timed_out": late}, err
}

// matches compares the name of an entry, or with a slash in the pattern its path
// below the start. The pattern is known to be valid.
func matches(pattern, start, at string) bool {
	subject := filepath.Base(at)
	if strings.Contains(pattern, "/") {
		rel, err := filepath.Rel(start, at)
		if err != nil {
			return false
		}
		subject = filepath.ToSlash(rel)
	}
	ok, err := path.Match(pattern, subject)
	return err == nil && ok
}

// errEnough ends a visit.
var errEnough = errors.New("enough")

// visit goes through what is below a folder, to a depth. What disappears
// meanwhile is passed over; symbolic links are not followed.
func visit(ctx context.Context, root *os.Root, name string, depth int, do func(at string, info fs.FileInfo) error) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	list, err := d.ReadDir(-1)
	_ = d.Close()
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		at := filepath.Join(name, e.Name())
		if err := do(at, info); err != nil {
			return err
		}
		if e.IsDir() && depth > 1 {
			if err := visit(ctx, root, at, depth-1, do); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
	}
	return nil
}

type archiveBody struct {
	Paths  []string
	Format string
}

// packed is one entry of an archive to be.
type packed struct {
	name string
	info fs.FileInfo
}

// archive packs files and folders. What is too much is refused before anything
// is sent.
func (s *Server) archive(w http.ResponseWriter, r *http.Request) {
	var b archiveBody
	err := decode(w, r, &b)
	switch {
	case err != nil:
	case len(b.Paths) == 0:
		err = bad("paths must name something")
	case b.Format != "" && b.Format != "tar.gz" && b.Format != "zip":
		err = bad(`format must be "tar.gz" or "zip"`)
	}
	if err != nil {
		fail(w, err)
		return
	}
	sent := false
	err = s.inHome("", func(root *os.Root, _ string) error {
		list, err := s.toPack(r.Context(), root, b.Paths)
		if err != nil {
			return err
		}
		sent = true
		if b.Format == "zip" {
			w.Header().Set("Content-Type", "application/zip")
			return packZip(root, list, w)
		}
		w.Header().Set("Content-Type", "application/gzip")
		return packTar(root, list, w)
	})
	if err != nil && !sent {
		fail(w, err)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a cut answer must not look whole
	}
}

// toPack lists what paths hold, within the bounds.
func (s *Server) toPack(ctx context.Context, root *os.Root, paths []string) ([]packed, error) {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	var list []packed
	var size int64
	add := func(at string, info fs.FileInfo) error {
		if !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
			return nil // pipes and sockets hold nothing
		}
		if info.Mode().IsRegular() {
			size += info.Size()
		}
		list = append(list, packed{at, info})
		if len(list) > archiveFiles || size > archiveBytes {
			return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("an archive has at most %d files and 100 MB", archiveFiles), "ValueError"}
		}
		return nil
	}
	for _, p := range paths {
		name, err := local(p, s.base(user.Home))
		if err != nil {
			return nil, err
		}
		info, err := root.Lstat(name)
		if err != nil {
			return nil, err
		}
		if name != "." {
			if err := add(name, info); err != nil {
				return nil, err
			}
		}
		if info.IsDir() {
			if err := visit(ctx, root, name, maxDepth, add); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func packTar(root *os.Root, list []packed, w io.Writer) error {
	gz := gzip.NewWriter(w)
	tw := tar.NewWriter(gz)
	for _, p := range list {
		link := ""
		if p.info.Mode()&fs.ModeSymlink != 0 {
			var err error
			if link, err = root.Readlink(p.name); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(p.info, link)
		if err != nil {
			return err
		}
		h.Name = filepath.ToSlash(p.name)
		if p.info.IsDir() {
			h.Name += "/"
		}
		h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", "" // ids of a sandbox mean nothing elsewhere
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if err := copyContent(root, p, tw); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), gz.Close())
}

func packZip(root *os.Root, list []packed, w io.Writer) error {
	zw := zip.NewWriter(w)
	for _, p := range list {
		h, err := zip.FileInfoHeader(p.info)
		if err != nil {
			return err
		}
		h.Name, h.Method = filepath.ToSlash(p.name), zip.Deflate
		if p.info.IsDir() {
			h.Name += "/"
		}
		to, err := zw.CreateHeader(h)
		if err != nil {
			return err
		}
		if p.info.Mode()&fs.ModeSymlink != 0 {
			link, err := root.Readlink(p.name)
			if err == nil {
				_, err = io.WriteString(to, link)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := copyContent(root, p, to); err != nil {
			return err
		}
	}
	return zw.Close()
}

// copyContent copies a regular file's content, as much as was listed.
func copyContent(root *os.Root, p packed, to io.Writer) error {
	if !p.info.Mode().IsRegular() || p.info.Size() == 0 {
		return nil
	}
	f, err := root.Open(p.name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, p.info) {
		return errors.Join(err, errors.New("the file changed meanwhile"))
	}
	_, err = io.CopyN(to, f, p.info.Size())
	return err
}

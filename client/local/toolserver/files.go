package toolserver

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	listDepth   = 3
	listEntries = 1000
)

// entry is one file (agent-sandbox-server §5).
type entry struct {
	Name        string  `json:"name"`
	Path        string  `json:"path"`
	Type        string  `json:"type"`
	Size        int64   `json:"size"`
	Permissions string  `json:"permissions"`
	Modified    float64 `json:"modified"`
	Exists      bool    `json:"exists"`
}

func entryOf(name string, info fs.FileInfo) entry {
	e := entry{
		Name: info.Name(), Path: filepath.ToSlash(name), Type: "file", Size: info.Size(), Exists: true,
		Permissions: strconv.FormatInt(int64(info.Mode().Perm()), 8), Modified: float64(info.ModTime().UnixMilli()) / 1000,
	}
	if info.IsDir() {
		e.Type = "directory"
	}
	return e
}

// base is the folder that file routes work below, as the user's own path: the
// home, or a folder in it that the environment names.
func (s *Server) base(home string) string {
	if dir := path.Clean(s.cfg.Env[envBase]); strings.HasPrefix(dir, home+"/") {
		return dir
	}
	return home
}

// local makes a path relative to base and refuses those outside.
func local(name, base string) (string, error) {
	name = path.Clean(name)
	if path.IsAbs(name) {
		if name != base && !strings.HasPrefix(name, base+"/") {
			return "", bad("the path is outside the home")
		}
		name = path.Clean(strings.TrimPrefix(name[len(base):], "/"))
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", bad("the path is outside the home")
	}
	return filepath.FromSlash(name), nil
}

// inHome opens the base folder and gives name relative to it. Nothing outside it
// can be reached, through links neither: this process has more rights than the user.
func (s *Server) inHome(name string, do func(root *os.Root, name string) error) error {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return err
	}
	base := s.base(user.Home)
	if name, err = local(name, base); err != nil {
		return err
	}
	root, err := os.OpenRoot(user.Home)
	if err != nil {
		return err
	}
	defer root.Close()
	if base != user.Home {
		// By way of the home, since a link may stand in that place.
		below, err := root.OpenRoot(filepath.FromSlash(base[len(user.Home)+1:]))
		if err != nil {
			return err
		}
		defer below.Close()
		root = below
	}
	return do(root, name)
}

// own gives what was made to the user; name is below the base folder.
func (s *Server) own(name string) error {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return err
	}
	return s.cfg.Spawner.Own(path.Join(s.base(user.Home), filepath.ToSlash(name)), user)
}

// mkdirs makes a folder and its parents, each the user's.
func (s *Server) mkdirs(root *os.Root, name string) error {
	at := ""
	for _, part := range strings.Split(filepath.ToSlash(name), "/") {
		at = filepath.Join(at, part)
		err := root.Mkdir(at, 0o755)
		if err == nil {
			err = s.own(at)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func (s *Server) fileRoutes() {
	route(s, groupFiles, "GET /files/list", s.list)
	route(s, groupFiles, "GET /files/stat", func(r *http.Request, _ struct{}) (any, error) {
		name := r.URL.Query().Get("path")
		out := entry{Name: path.Base(name), Path: name}
		err := s.inHome(name, func(root *os.Root, name string) error {
			info, err := root.Stat(name)
			if err == nil {
				out = entryOf(name, info)
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return out, err
	})
	route(s, groupFiles, "POST /files/mkdir", func(_ *http.Request, b struct{ Path string }) (any, error) {
		return done(s.inHome(b.Path, s.mkdirs))
	})
	route(s, groupFiles, "DELETE /files", func(r *http.Request, _ struct{}) (any, error) {
		return done(s.inHome(r.URL.Query().Get("path"), func(root *os.Root, name string) error {
			if name == "." {
				return bad("the home itself is not removed")
			}
			if _, err := root.Lstat(name); err != nil {
				return err
			}
			return root.RemoveAll(name)
		}))
	})
	route(s, groupFiles, "POST /files/move", func(_ *http.Request, b struct{ Source, Destination string }) (any, error) {
		return done(s.inHome(b.Source, func(_ *os.Root, from string) error {
			return s.inHome(b.Destination, func(root *os.Root, to string) error { return root.Rename(from, to) })
		}))
	})
	route(s, groupFiles, "POST /upload", func(_ *http.Request, b struct {
		Path          string
		ContentBase64 string `json:"content_base64"`
	},
	) (any, error) {
		data, err := base64.StdEncoding.DecodeString(b.ContentBase64)
		if err != nil {
			return nil, bad("content_base64 is not base64")
		}
		return done(s.put(b.Path, bytes.NewReader(data)))
	})
	route(s, groupFiles, "GET /download", func(r *http.Request, _ struct{}) (any, error) {
		var out []byte
		err := s.read(r.URL.Query().Get("path"), func(f *os.File, _ fs.FileInfo) (err error) {
			out, err = io.ReadAll(f)
			return err
		})
		return map[string]string{"content_base64": base64.StdEncoding.EncodeToString(out)}, err
	})
	s.handle(groupFiles, "GET /files/download-stream", func(w http.ResponseWriter, r *http.Request) {
		err := s.read(r.URL.Query().Get("path"), func(f *os.File, info fs.FileInfo) error {
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, r, "", info.ModTime(), f)
			return nil
		})
		if err != nil {
			fail(w, err)
		}
	})
	s.handle(groupFiles, "POST /files/upload-stream", func(w http.ResponseWriter, r *http.Request) {
		err := s.put(r.URL.Query().Get("path"), http.MaxBytesReader(w, r.Body, maxFile))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			fail(w, &problem{http.StatusRequestEntityTooLarge, "a file has at most 100 MB", "ValueError"})
		case err != nil:
			fail(w, err)
		default:
			answer(w, http.StatusOK, map[string]bool{"ok": true})
		}
	})
}

func done(err error) (any, error) { return map[string]bool{"ok": true}, err }

// maxLinks bounds a chain of symbolic links.
const maxLinks = 16

// put writes a file as a whole: what cannot be finished, on a full disk for
// instance, leaves the old file as it was and nothing beside it.
func (s *Server) put(name string, from io.Reader) error {
	return s.inHome(name, func(root *os.Root, name string) error {
		if name == "." {
			return bad("the home itself is no file")
		}
		if err := s.mkdirs(root, filepath.Dir(name)); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		for range maxLinks {
			target, err := root.Readlink(name)
			if err != nil {
				break
			}
			name = filepath.Join(filepath.Dir(name), target)
			if filepath.IsAbs(target) || !filepath.IsLocal(name) {
				return bad("the path is outside the home")
			}
		}
		if info, err := root.Stat(name); err == nil {
			if !info.Mode().IsRegular() {
				return bad("%s is not a file", path.Base(name))
			}
			mode = info.Mode().Perm()
		}
		part := filepath.Join(filepath.Dir(name), ".upload-"+rand.Text())
		f, err := root.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		if err = errors.Join(err, f.Close()); err == nil {
			if err = s.own(part); err == nil {
				err = root.Rename(part, name)
			}
		}
		if err != nil {
			return errors.Join(err, root.Remove(part))
		}
		return nil
	})
}

// read opens a file of bounded size for reading.
func (s *Server) read(name string, do func(*os.File, fs.FileInfo) error) error {
	return s.inHome(name, func(root *os.Root, name string) error {
		// Asked first: opening a pipe would wait for its other end.
		info, err := root.Stat(name)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return bad("%s is not a file", path.Base(name))
		case info.Size() > maxFile:
			return &problem{http.StatusRequestEntityTooLarge, "a file has at most 100 MB", "ValueError"}
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return do(f, info)
	})
}

// list is a folder, deeper ones if asked for.
func (s *Server) list(r *http.Request, _ struct{}) (any, error) {
	q := r.URL.Query()
	depth, most := 1, listEntries
	if v := strings.ToLower(q.Get("recursive")); v == "true" || v == "1" {
		depth = listDepth
	}
	if n, err := strconv.Atoi(q.Get("max_entries")); err == nil && n > 0 {
		most = min(n, listEntries)
	}
	out := []entry{}
	err := s.inHome(q.Get("path"), func(root *os.Root, name string) error { return walk(root, name, depth, most, &out) })
	return map[string][]entry{"entries": out}, err
}

func walk(root *os.Root, name string, depth, most int, out *[]entry) error {
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
		if len(*out) >= most {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		at := filepath.Join(name, e.Name())
		*out = append(*out, entryOf(at, info))
		if e.IsDir() && depth > 1 {
			if err := walk(root, at, depth-1, most, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

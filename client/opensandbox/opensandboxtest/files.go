//go:build unix

package opensandboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func (e *Execd) files(w http.ResponseWriter, r *http.Request, path string) {
	var err error
	switch r.Method + " " + path {
	case "GET /files/info":
		err = e.info(w, r)
	case "GET /directories/list":
		err = e.listDir(w, r)
	case "GET /files/download":
		err = e.download(w, r)
	case "POST /files/upload":
		err = e.upload(w, r)
	case "POST /files/mv":
		err = e.move(r)
	case "POST /directories":
		err = e.mkdirs(r)
	case "DELETE /directories":
		err = e.each(r, os.RemoveAll)
	case "DELETE /files":
		err = e.each(r, func(p string) error {
			info, err := os.Lstat(p)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && info.IsDir():
				return fmt.Errorf("error removing file %s. path is a directory: %s", p, p)
			}
			return os.Remove(p)
		})
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	var bad badRequest
	switch {
	case err == nil:
	case errors.As(err, &bad):
		fail(w, http.StatusBadRequest, bad.code, bad.text)
	case errors.Is(err, fs.ErrNotExist):
		fail(w, http.StatusNotFound, "FILE_NOT_FOUND", "file not found. "+err.Error())
	default:
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", err.Error())
	}
}

type badRequest struct{ code, text string }

func (b badRequest) Error() string { return b.text }

// each runs f over the paths of a query.
func (e *Execd) each(r *http.Request, f func(string) error) error {
	for _, raw := range r.URL.Query()["path"] {
		p, err := e.expand(raw)
		if err == nil {
			err = f(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Execd) info(w http.ResponseWriter, r *http.Request) error {
	out := map[string]any{}
	for _, raw := range r.URL.Query()["path"] {
		p, err := e.expand(raw)
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		out[raw] = fileInfo(p, st)
	}
	reply(w, http.StatusOK, out)
	return nil
}

func fileInfo(p string, st os.FileInfo) map[string]any {
	kind := "other"
	switch {
	case st.Mode().IsRegular():
		kind = "file"
	case st.IsDir():
		kind = "directory"
	case st.Mode()&os.ModeSymlink != 0:
		kind = "symlink"
	}
	mode, _ := strconv.Atoi(strconv.FormatUint(uint64(st.Mode().Perm()), 8))
	when := st.ModTime().UTC().Format(time.RFC3339Nano)
	return map[string]any{"path": p, "type": kind, "size": st.Size(), "modified_at": when, "created_at": when, "owner": "root", "group": "root", "mode": mode}
}

func (e *Execd) listDir(w http.ResponseWriter, r *http.Request) error {
	p, err := e.expand(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	st, err := os.Lstat(p)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return badRequest{"INVALID_REQUEST_BODY", "path is not a directory: " + p}
	}
	list, err := os.ReadDir(p)
	if err != nil {
		return err
	}
	out := []any{}
	for _, x := range list {
		st, err := x.Info()
		if err != nil {
			continue
		}
		out = append(out, fileInfo(filepath.Join(p, x.Name()), st))
	}
	reply(w, http.StatusOK, out)
	return nil
}

func (e *Execd) download(w http.ResponseWriter, r *http.Request) error {
	p, err := e.expand(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		w.Header().Set("Content-Length", strconv.FormatInt(math.MaxInt64, 10))
		w.WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(p)}))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", st.ModTime(), f)
	return nil
}

// upload wants pairs of parts that both carry a file name (§4.7).
func (e *Execd) upload(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		return badRequest{"INVALID_FILE", err.Error()}
	}
	metas, files := r.MultipartForm.File["metadata"], r.MultipartForm.File["file"]
	if len(metas) == 0 {
		return badRequest{"INVALID_FILE_METADATA", "metadata file is missing"}
	}
	if len(metas) != len(files) {
		return badRequest{"INVALID_FILE", "metadata and file count mismatch"}
	}
	for i := range metas {
		if err := e.store(metas[i], files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *Execd) store(meta, file *multipart.FileHeader) error {
	mf, err := meta.Open()
	if err != nil {
		return err
	}
	defer mf.Close()
	var in struct {
		Path string `json:"path"`
		Mode int    `json:"mode"`
	}
	if json.NewDecoder(mf).Decode(&in) != nil || in.Path == "" {
		return badRequest{"INVALID_FILE_METADATA", "metadata path is empty"}
	}
	p, err := e.expand(in.Path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	src, err := file.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(p)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err == nil && in.Mode != 0 {
		err = os.Chmod(p, octal(in.Mode))
	}
	return err
}

func octal(n int) os.FileMode {
	m, err := strconv.ParseUint(strconv.Itoa(n), 8, 32)
	if err != nil {
		return 0o644
	}
	return os.FileMode(m)
}

func (e *Execd) move(r *http.Request) error {
	var list []struct{ Src, Dest string }
	if json.Unmarshal(readAll(r.Body), &list) != nil {
		return badRequest{"INVALID_REQUEST_BODY", "bad request"}
	}
	for _, m := range list {
		src, err := e.expand(m.Src)
		if err != nil {
			return err
		}
		dest, err := e.expand(m.Dest)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(src); err != nil {
			return err
		}
		if _, err := os.Lstat(dest); err == nil {
			return errors.New("error accessing file: destination path already exists: " + dest)
		}
		if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
			return err
		}
		if err := os.Rename(src, dest); err != nil {
			return err
		}
	}
	return nil
}

func (e *Execd) mkdirs(r *http.Request) error {
	var m map[string]struct{ Mode int }
	if json.Unmarshal(readAll(r.Body), &m) != nil {
		return badRequest{"INVALID_REQUEST_BODY", "bad request"}
	}
	for raw, opt := range m {
		p, err := e.expand(raw)
		if err != nil {
			return err
		}
		if opt.Mode == 0 {
			opt.Mode = 755
		}
		if err := os.MkdirAll(p, octal(opt.Mode)); err != nil {
			return err
		}
	}
	return nil
}

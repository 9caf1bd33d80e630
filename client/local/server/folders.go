package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// HeaderFolders on a create holds folders of the host for the new sandbox: JSON
// of []Folder in base64. Only the server's own socket takes it: behind a
// [Front], a key gives sandboxes and not the user's files.
const HeaderFolders = "Abxdash-Folders"

// Folder is a folder of the host for a new sandbox.
type Folder struct {
	// Host is the absolute path of the folder.
	Host string `json:"host"`
	// Target is where it goes inside; "" is its name below the home. Copies go
	// below the home only.
	Target   string `json:"target,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// Copy makes it a copy instead of a mount.
	Copy bool `json:"copy,omitempty"`
}

const (
	// homeInside is the home of a sandbox that has a root of its own.
	homeInside = "/home/user"
	maxFolders = 16
)

// foldersOf reads and checks the folders of a create.
func (s *Server) foldersOf(r *http.Request) ([]Folder, *apiError) {
	text := r.Header.Get(HeaderFolders)
	if text == "" {
		return nil, nil
	}
	if fronted(r) {
		return nil, refuse(http.StatusForbidden, "folders of this machine can be given on the server's own socket only")
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	var list []Folder
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list) > maxFolders {
		return nil, refuse(http.StatusBadRequest, "the folders cannot be read")
	}
	for i := range list {
		if e := s.checkFolder(&list[i]); e != nil {
			return nil, e
		}
	}
	return list, nil
}

func (s *Server) checkFolder(f *Folder) *apiError {
	if !filepath.IsAbs(f.Host) {
		return refuse(http.StatusBadRequest, "%q is not an absolute path", f.Host)
	}
	f.Host = filepath.Clean(f.Host)
	info, err := os.Stat(f.Host)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "%s", err)
	case !info.IsDir():
		return refuse(http.StatusBadRequest, "%q is not a folder", f.Host)
	}
	f.Target = cmp.Or(f.Target, path.Join(homeInside, filepath.Base(f.Host)))
	if !path.IsAbs(f.Target) || path.Clean(f.Target) != f.Target {
		return refuse(http.StatusBadRequest, "%q is not a clean absolute path", f.Target)
	}
	if f.Copy && !strings.HasPrefix(f.Target, homeInside+"/") {
		return refuse(http.StatusBadRequest, "copies go below %s, not to %q", homeInside, f.Target)
	}
	if !f.Copy && !hasRoot(s.opt.Isolation) {
		return refuse(http.StatusBadRequest, "folders cannot be mounted at isolation level %s; copy them", s.opt.Isolation)
	}
	return nil
}

// mounts are the folders that are shown, not copied.
func (n *newSandbox) mounts() []Folder {
	var out []Folder
	for _, f := range n.Folders {
		if !f.Copy {
			out = append(out, f)
		}
	}
	return out
}

// fillHome writes what a new home starts with: the template's, then the copies.
// What a template holds was written by programs inside a sandbox: its links
// lead nowhere outside the home.
func fillHome(ctx context.Context, home string, req newSandbox) error {
	if req.source.home == "" && len(req.Folders) == 0 {
		return nil
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	if req.source.home != "" {
		if err := copyTree(ctx, req.source.home, root); err != nil {
			return fmt.Errorf("copy the template: %w", err)
		}
	}
	for _, f := range req.Folders {
		if !f.Copy {
			continue
		}
		if err := copyFolder(ctx, root, f); err != nil {
			return fmt.Errorf("copy %s: %w", f.Host, err)
		}
	}
	return nil
}

func copyFolder(ctx context.Context, root *os.Root, f Folder) error {
	name := filepath.FromSlash(strings.TrimPrefix(f.Target, homeInside+"/"))
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	dst, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dst.Close()
	return copyTree(ctx, f.Host, dst)
}

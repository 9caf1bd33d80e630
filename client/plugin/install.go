package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"abxdash/client"
)

// Installed is a plug-in in its place.
type Installed struct {
	Manifest Manifest
	// Dir is the folder of its files.
	Dir    string
	Record Record
}

// Record is what was known when it was installed.
type Record struct {
	Source string `json:"source"`
	// Checksum is of all its files, "sha256:…"; it is looked at before every start.
	Checksum string `json:"checksum"`
	// Unpinned says that nothing vouched for the checksum when it was installed.
	Unpinned    bool      `json:"unpinned,omitempty"`
	InstalledAt time.Time `json:"installed_at"`
}

const (
	recordName = "installed.json"
	filesName  = "files"
)

// Verify refuses a plug-in whose files have changed since it was installed.
func (in Installed) Verify() error {
	sum, err := Checksum(in.Dir)
	if err != nil {
		return installError(in.Manifest.ID, "its files cannot be read: "+client.OneLine(err.Error(), 200))
	}
	if sum != in.Record.Checksum {
		e := installError(in.Manifest.ID, "its files have changed since it was installed")
		e.Hint = "install it again if you trust the change"
		return e
	}
	return nil
}

func installError(id, why string) *client.Error {
	return &client.Error{Op: "use plug-in " + client.OneLine(id, 60), Provider: id, Code: client.CodeConfig, Message: why}
}

// List reads what is installed below root; a folder that is not there has none.
// Plug-ins that cannot be read are left out and named in the error.
func List(root string) ([]Installed, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Installed
	var failed error
	for _, e := range entries {
		if !e.IsDir() || !idRE.MatchString(e.Name()) {
			continue
		}
		in, err := read(filepath.Join(root, e.Name()))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		out = append(out, in)
	}
	return out, failed
}

func read(dir string) (Installed, error) {
	in := Installed{Dir: filepath.Join(dir, filesName)}
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(data, &in.Record); err != nil {
		return in, err
	}
	in.Manifest, err = ReadManifest(in.Dir)
	if err == nil && in.Manifest.ID != filepath.Base(dir) {
		err = bad("its manifest names it %s", client.OneLine(in.Manifest.ID, 40))
	}
	return in, err
}

// Checksum is over the names, modes and contents of all files below dir. Only
// regular files and folders count; anything else is an error.
func Checksum(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file", filepath.Base(path))
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		one := sha256.New()
		if _, err := io.Copy(one, f); err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%x\n", filepath.ToSlash(rel), one.Sum(nil))
		return nil
	})
	if err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Source is where a plug-in comes from.
type Source struct {
	// Ref is a folder, an archive (.tar.gz, .tgz, .zip), "registry:<id>", or
	// "<owner>/awesome-providers//<id>".
	Ref string
	// Catalog is the address of the list of registry ids; "" is none.
	Catalog string
	// Checksum is what the files must have; "" asks the catalogue.
	Checksum string
	// AllowUnpinned takes files that nothing vouches for.
	AllowUnpinned bool
	HTTPClient    *http.Client
}

// RegistryID is the id in a reference to a registry; ok is false for a file.
func RegistryID(ref string) (id string, ok bool) {
	if id, ok := strings.CutPrefix(ref, "registry:"); ok {
		return id, true
	}
	repo, id, ok := strings.Cut(ref, "//")
	if ok && (repo == "awesome-providers" || strings.HasSuffix(repo, "/awesome-providers")) {
		return strings.Trim(id, "/"), true
	}
	return "", false
}

// catalogue is the list at [Source.Catalog].
type catalogue struct {
	Providers []struct {
		ID       string `json:"id"`
		URL      string `json:"url"`
		Checksum string `json:"checksum"`
	} `json:"providers"`
}

// Staged is a plug-in that was fetched and read, but not installed.
type Staged struct {
	Manifest Manifest
	Checksum string
	Source   string
	Unpinned bool
	dir      string
}

// Close removes what was fetched.
func (s *Staged) Close() { _ = os.RemoveAll(s.dir) }

// Dir is where its files are for now.
func (s *Staged) Dir() string { return filepath.Join(s.dir, filesName) }

// Stage fetches a plug-in below root and checks it. Nothing of it is run.
func Stage(ctx context.Context, root string, src Source) (*Staged, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	dir, err := os.MkdirTemp(root, ".staged-")
	if err != nil {
		return nil, installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	s := &Staged{Source: src.Ref, dir: dir}
	if err := s.fill(ctx, src); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Staged) fill(ctx context.Context, src Source) error {
	want := src.Checksum
	ref := src.Ref
	if id, ok := RegistryID(ref); ok {
		url, sum, err := src.look(ctx, id)
		if err != nil {
			return err
		}
		if want == "" {
			want = sum
		}
		ref = filepath.Join(s.dir, "download"+archiveKind(url))
		if err := src.fetch(ctx, url, ref); err != nil {
			return err
		}
	}
	if err := copyIn(ref, s.Dir()); err != nil {
		return installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	if err := lift(s.Dir()); err != nil {
		return installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	var err error
	if s.Manifest, err = ReadManifest(s.Dir()); err != nil {
		return err
	}
	if s.Checksum, err = Checksum(s.Dir()); err != nil {
		return installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	switch {
	case want != "" && !strings.EqualFold(want, s.Checksum):
		return installError(s.Manifest.ID, "its checksum is "+s.Checksum+", not the one that was promised")
	case want == "" && !src.AllowUnpinned:
		e := installError(s.Manifest.ID, "nothing vouches for it")
		e.Hint = "look at it, then give --checksum " + s.Checksum + ", or --allow-unpinned"
		return e
	}
	s.Unpinned = want == ""
	return nil
}

// look finds an id in the catalogue.
func (src Source) look(ctx context.Context, id string) (url, checksum string, err error) {
	if src.Catalog == "" {
		e := installError(id, "there is no catalogue to look it up in")
		e.Hint = "set plugin_catalog in the configuration, or install from a folder or an archive"
		return "", "", e
	}
	body, err := src.get(ctx, src.Catalog)
	if err != nil {
		return "", "", err
	}
	defer body.Close()
	var c catalogue
	if err := json.NewDecoder(io.LimitReader(body, 4<<20)).Decode(&c); err != nil {
		return "", "", installError(id, "the catalogue is not the expected JSON")
	}
	for _, p := range c.Providers {
		if p.ID == id {
			return p.URL, p.Checksum, nil
		}
	}
	e := installError(id, "the catalogue does not have it")
	e.Kind = client.ErrNotFound
	return "", "", e
}

// get fetches over https, or from this machine.
func (src Source) get(ctx context.Context, url string) (io.ReadCloser, error) {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "http://localhost:") {
		return nil, installError(src.Ref, "only https addresses are fetched from")
	}
	hc := src.HTTPClient
	if hc == nil {
		hc = &http.Client{Timeout: 2 * time.Minute}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, installError(src.Ref, "the address is none")
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, &client.Error{Op: "fetch plug-in", Code: client.CodeNetwork, Kind: client.ErrUnavailable, Message: client.OneLine(err.Error(), 200)}
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, &client.Error{Op: "fetch plug-in", Code: client.CodeNetwork, Status: resp.StatusCode, Message: "HTTP " + client.OneLine(resp.Status, 60)}
	}
	return resp.Body, nil
}

func (src Source) fetch(ctx context.Context, url, file string) error {
	body, err := src.get(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	n, err := io.Copy(out, io.LimitReader(body, maxUnpacked+1))
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil && n > maxUnpacked {
		err = errTooBig
	}
	if err != nil {
		return installError(src.Ref, client.OneLine(err.Error(), 200))
	}
	return nil
}

// Commit puts a staged plug-in in its place, instead of an older one.
func (s *Staged) Commit(root string, now time.Time) (Installed, error) {
	rec := Record{Source: s.Source, Checksum: s.Checksum, Unpinned: s.Unpinned, InstalledAt: now.UTC()}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, recordName), append(data, '\n'), 0o600)
	}
	for _, kind := range archiveKinds() {
		_ = os.Remove(filepath.Join(s.dir, "download"+kind)) // the archive is of no more use
	}
	place := filepath.Join(root, s.Manifest.ID)
	if err == nil {
		err = os.RemoveAll(place)
	}
	if err == nil {
		err = os.Rename(s.dir, place)
	}
	if err != nil {
		return Installed{}, installError(s.Manifest.ID, client.OneLine(err.Error(), 200))
	}
	return Installed{Manifest: s.Manifest, Dir: filepath.Join(place, filesName), Record: rec}, nil
}

// Greet starts a staged plug-in once to find out whether it speaks the protocol.
func (s *Staged) Greet(ctx context.Context, o Options) error {
	p, err := open(s.Dir(), s.Manifest, o)
	if err != nil {
		return err
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := p.Hello(ctx); err != nil {
		e := &client.Error{
			Op: "install plug-in " + s.Manifest.ID, Provider: s.Manifest.ID, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Err: err,
			Message: "it does not speak abxdash's plug-in protocol (" + reason(err) + ")",
			Hint:    "plug-ins made for another tool cannot be run; docs/providers.md describes the protocol",
		}
		return e
	}
	return nil
}

// reason is an error without what was tried.
func reason(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Message != "" {
		return client.OneLine(e.Message, 150)
	}
	return client.OneLine(err.Error(), 150)
}

// Uninstall removes a plug-in.
func Uninstall(root, id string) error {
	if !idRE.MatchString(id) {
		return client.Usagef("remove plug-in", "%q is no id", client.OneLine(id, 40))
	}
	dir := filepath.Join(root, id)
	if _, err := os.Stat(filepath.Join(dir, recordName)); err != nil {
		return &client.Error{Op: "remove plug-in", Code: client.CodeNotFound, Kind: client.ErrNotFound, Message: "no plug-in " + id + " is installed"}
	}
	if err := os.RemoveAll(dir); err != nil {
		return installError(id, client.OneLine(err.Error(), 200))
	}
	return nil
}

// archiveKinds are the ends of archives that are known.
func archiveKinds() []string { return []string{".tar.gz", ".tgz", ".zip"} }

func archiveKind(name string) string {
	name, _, _ = strings.Cut(name, "?")
	i := slices.IndexFunc(archiveKinds(), func(k string) bool { return strings.HasSuffix(name, k) })
	if i < 0 {
		return ".tar.gz"
	}
	return archiveKinds()[i]
}

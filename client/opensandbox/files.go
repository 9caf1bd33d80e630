package opensandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"abxdash/client"
)

// files is the file API (§4.7).
type files struct{ c *Client }

// dollarName is a variable of the sandboxes made here whose value is "$": execd
// expands variables in paths, and there is no other way to name a dollar.
const dollarName = "ABXDASH_DOLLAR"

func (s *files) failing(op string, id client.ID) failing {
	return failing{op: op, id: id, code: client.CodeFiles, notFound: client.CodeFileNotFound}
}

// path makes a path absolute and safe for the wire: a leading "~" and "$" mean
// themselves. "" is the home.
func (c *Client) path(ctx context.Context, f failing, p string) (string, error) {
	if !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
		return "", client.Usagef(f.op, "%q is no path that the protocol can carry", client.OneLine(p, 60))
	}
	if !strings.HasPrefix(p, "/") {
		home, err := c.home(ctx, f)
		if err != nil {
			return "", err
		}
		p = path.Join(home, p)
	}
	return strings.ReplaceAll(path.Clean(p), "$", "${"+dollarName+"}"), nil
}

// home is the home folder of execd's user.
func (c *Client) home(ctx context.Context, f failing) (string, error) {
	c.mu.Lock()
	home := c.boxOf(f.id).home
	c.mu.Unlock()
	if home != "" {
		return home, nil
	}
	a, err := c.call(ctx, f, request{method: http.MethodGet, url: "/files/info?path=~"})
	if err != nil {
		return "", err
	}
	var m map[string]wireFile
	if err := c.decode(f, a, "file", &m); err != nil {
		return "", err
	}
	for _, w := range m {
		home = w.Path
	}
	if !strings.HasPrefix(home, "/") {
		return "", &client.Error{Op: f.op, Provider: c.cfg.Name, Code: client.CodeBadAnswer, Message: "the sandbox does not say where its home is"}
	}
	c.mu.Lock()
	c.boxOf(f.id).home = home
	c.mu.Unlock()
	return home, nil
}

// wireFile is FileInfo (§4.7).
type wireFile struct {
	Path       string `json:"path"`
	Type       string `json:"type"`
	Size       int64  `json:"size"`
	ModifiedAt string `json:"modified_at"`
	Owner      string `json:"owner"`
	Group      string `json:"group"`
	// Mode is decimal digits that read as octal: 644 is 0644.
	Mode int64 `json:"mode"`
}

// entry turns it into the domain type.
func (w wireFile) entry() client.Entry {
	e := client.Entry{
		Name: path.Base(w.Path), Path: w.Path, Size: max(w.Size, 0), Owner: w.Owner, Group: w.Group, ModifiedAt: when(w.ModifiedAt),
	}
	if m, err := strconv.ParseUint(strconv.FormatInt(w.Mode, 10), 8, 32); err == nil {
		e.Mode = uint32(m) & 0o777
	}
	kind := "?"
	switch w.Type {
	case "file", "": // older execd does not say
		e.Type, kind = client.FileRegular, "-"
	case "directory":
		e.Type, kind = client.FileDir, "d"
	case "symlink":
		e.Type, kind = client.FileSymlink, "l"
	}
	e.Permissions = kind + permissions(e.Mode)
	return e
}

func permissions(mode uint32) string {
	b := []byte("rwxrwxrwx")
	for i := range b {
		if mode&(1<<(8-i)) == 0 {
			b[i] = '-'
		}
	}
	return string(b)
}

// fail adds what execd's answers leave to guess: some conflicts and missing
// rights come as 400 or 500.
func (s *files) fail(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case strings.Contains(e.Message, "already exists"):
		e.Code, e.Kind = client.CodeConflict, client.ErrConflict
	case strings.Contains(e.Message, "permission denied"), strings.Contains(e.Message, "not permitted"):
		e.Code, e.Kind = client.CodeFilePermission, client.ErrUnauthorized
	case strings.Contains(e.Message, dollarName):
		e.Code, e.Kind = client.CodeUnsupported, client.ErrUnsupported
		e.Message = "a name with a dollar cannot be told to this sandbox, because it was not made by abxdash"
		e.Hint = "move the file to another name with a command"
	}
	return err
}

// call makes one call with a path in its query.
func (s *files) call(ctx context.Context, f failing, method, route, p string) (answer, error) {
	wire, err := s.c.path(ctx, f, p)
	if err != nil {
		return answer{}, err
	}
	a, err := s.c.call(ctx, f, request{method: method, url: route + "?path=" + url.QueryEscape(wire)})
	return a, s.fail(err)
}

// ReadDir implements [client.Files]. Names that are no single path element are
// left out.
func (s *files) ReadDir(ctx context.Context, id client.ID, dir string) ([]client.Entry, error) {
	f := s.failing("list directory", id)
	a, err := s.call(ctx, f, http.MethodGet, "/directories/list", dir)
	if err != nil {
		return nil, err
	}
	var list []wireFile
	if err := s.c.decode(f, a, "list", &list); err != nil {
		return nil, err
	}
	out := make([]client.Entry, 0, len(list))
	for _, w := range list {
		e := w.entry()
		if !strings.HasPrefix(w.Path, "/") || e.Name == "." || e.Name == ".." || e.Name == "/" {
			continue
		}
		out = append(out, e)
	}
	return out, nil
}

// Stat implements [client.Files]; links are not followed.
func (s *files) Stat(ctx context.Context, id client.ID, p string) (client.Entry, error) {
	return s.stat(ctx, s.failing("look at file", id), p)
}

func (s *files) stat(ctx context.Context, f failing, p string) (client.Entry, error) {
	a, err := s.call(ctx, f, http.MethodGet, "/files/info", p)
	if err != nil {
		return client.Entry{}, err
	}
	var m map[string]wireFile
	if err := s.c.decode(f, a, "file", &m); err != nil {
		return client.Entry{}, err
	}
	for _, w := range m {
		return w.entry(), nil
	}
	return client.Entry{}, &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeFileNotFound, Kind: client.ErrNotFound}
}

// mustBeDir refuses a working directory that is none.
func (c *Client) mustBeDir(ctx context.Context, f failing, dir string) error {
	e, err := (&files{c}).stat(ctx, f, dir)
	if err == nil && e.Type != client.FileDir && e.Type != client.FileSymlink {
		err = client.Usagef(f.op, "the working directory %s is no directory", client.OneLine(dir, 80))
	}
	return err
}

// Open implements [client.Files].
func (s *files) Open(ctx context.Context, id client.ID, p string) (io.ReadCloser, error) {
	return s.OpenAt(ctx, id, p, 0)
}

// OpenAt implements [client.RangeOpener]. The type is looked at first: a
// directory would be answered with success and nothing (§4.7).
func (s *files) OpenAt(ctx context.Context, id client.ID, p string, offset int64) (io.ReadCloser, error) {
	f := s.failing("read file", id)
	if offset < 0 {
		return nil, client.Usagef(f.op, "the offset %d is negative", offset)
	}
	e, err := s.stat(ctx, f, p)
	if err != nil {
		return nil, err
	}
	noFile := client.Usagef(f.op, "%s is not a file", client.OneLine(p, 80))
	if e.Type != client.FileRegular && e.Type != client.FileSymlink {
		return nil, noFile
	}
	wire, err := s.c.path(ctx, f, p)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	if offset > 0 {
		h.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}
	own, cancel := context.WithCancel(ctx)
	a, err := s.c.once(own, f, request{method: http.MethodGet, url: "/files/download?path=" + url.QueryEscape(wire), header: h, stream: true})
	var ref *refusal
	if offset > 0 && errors.As(err, &ref) && ref.status == http.StatusRequestedRangeNotSatisfiable {
		cancel()
		return http.NoBody, nil
	}
	if err != nil {
		defer cancel()
		return nil, s.fail(s.c.fail(ctx, f, err))
	}
	d := &download{body: a.open, ctx: own, cancel: cancel, s: s, f: f}
	if a.header.Get("Content-Length") == strconv.FormatInt(math.MaxInt64, 10) {
		_ = d.Close()
		return nil, noFile // a link to a directory
	}
	if offset > 0 && a.status == http.StatusOK {
		// The range was ignored: what is known already is read over.
		if _, err := io.CopyN(io.Discard, d, offset); err != nil && !errors.Is(err, io.EOF) {
			_ = d.Close()
			return nil, err
		}
	}
	return d, nil
}

// download is a file on its way. A body that ends early is an error, never EOF.
type download struct {
	body   io.ReadCloser
	ctx    context.Context //nolint:containedctx // tells why a read failed
	cancel context.CancelFunc
	s      *files
	f      failing
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader's contract is the bare value
		err = d.s.c.fail(d.ctx, d.f, err)
	}
	return n, err
}

func (d *download) Close() error {
	defer d.cancel()
	return d.body.Close()
}

// Put implements [client.Files]. New files get the mode 0644; execd would make
// them 0777 less its mask.
func (s *files) Put(ctx context.Context, id client.ID, p string, r io.Reader, _ int64) (client.Entry, error) {
	f := s.failing("write file", id)
	if p == "" || strings.HasSuffix(p, "/") {
		return client.Entry{}, client.Usagef(f.op, "%q names no file", client.OneLine(p, 60))
	}
	wire, err := s.c.path(ctx, f, p)
	if err != nil {
		return client.Entry{}, err
	}
	mode := int64(644)
	if e, err := s.stat(ctx, f, p); err == nil {
		if mode, err = strconv.ParseInt(strconv.FormatUint(uint64(e.Mode), 8), 10, 64); err != nil {
			mode = 644
		}
	}
	if _, err := s.c.execd(ctx, f); err != nil {
		return client.Entry{}, s.c.fail(ctx, f, err)
	}
	body, ct, sent := form(wire, mode, path.Base(p), r)
	h := http.Header{"Content-Type": {ct}}
	_, err = s.c.once(ctx, f, request{method: http.MethodPost, url: "/files/upload", header: h, raw: body})
	_ = body.Close()
	if err != nil {
		select {
		case <-sent.done:
			if sent.err != nil {
				err = sent.err
			}
		default: // the source is still being waited for; it is not what failed
		}
		return client.Entry{}, s.fail(s.c.fail(ctx, f, err))
	}
	<-sent.done
	abs := strings.ReplaceAll(wire, "${"+dollarName+"}", "$")
	return client.Entry{Name: path.Base(abs), Path: abs, Type: client.FileRegular, Size: sent.n, Mode: 0o644}, nil
}

// sent is what an upload read.
type sent struct {
	done chan struct{}
	n    int64
	err  error
}

// form is an upload: both parts carry a file name, without which execd refuses
// them (§4.7). It is read as it is sent, never held whole.
func form(target string, mode int64, name string, r io.Reader) (io.ReadCloser, string, *sent) {
	pr, pw := io.Pipe()
	w := multipart.NewWriter(pw)
	out := &sent{done: make(chan struct{})}
	go func() {
		defer close(out.done)
		err := func() error {
			meta, err := json.Marshal(struct {
				Path string `json:"path"`
				Mode int64  `json:"mode"`
			}{target, mode})
			if err != nil {
				return err
			}
			for _, part := range []struct {
				field, file, ct string
				r               io.Reader
			}{
				{"metadata", "metadata", "application/json", strings.NewReader(string(meta))},
				{"file", name, "application/octet-stream", r},
			} {
				h := textproto.MIMEHeader{}
				h.Set("Content-Disposition", multipart.FileContentDisposition(part.field, part.file))
				h.Set("Content-Type", part.ct)
				to, err := w.CreatePart(h)
				if err != nil {
					return err
				}
				n, err := io.Copy(to, part.r)
				if err != nil {
					return err
				}
				out.n = n
			}
			return w.Close()
		}()
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			out.err = fmt.Errorf("read what is to be sent: %w", err)
		}
		_ = pw.CloseWithError(err)
	}()
	return pr, w.FormDataContentType(), out
}

// Mkdir implements [client.Files]; execd takes a directory that is there for success.
func (s *files) Mkdir(ctx context.Context, id client.ID, p string) error {
	f := s.failing("make directory", id)
	_, err := s.stat(ctx, f, p)
	if err == nil {
		return &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeConflict, Kind: client.ErrConflict, Message: client.OneLine(p, 80) + " is there already"}
	}
	if !errors.Is(err, client.ErrNotFound) {
		return err
	}
	wire, err := s.c.path(ctx, f, p)
	if err != nil {
		return err
	}
	body := map[string]map[string]int{wire: {"mode": 755}}
	_, err = s.c.call(ctx, f, request{method: http.MethodPost, url: "/directories", body: body})
	return s.fail(err)
}

// Rename implements [client.Files]. execd refuses a target that is there.
func (s *files) Rename(ctx context.Context, id client.ID, from, to string) error {
	f := s.failing("rename file", id)
	src, err := s.c.path(ctx, f, from)
	if err != nil {
		return err
	}
	dest, err := s.c.path(ctx, f, to)
	if err != nil {
		return err
	}
	body := []map[string]string{{"src": src, "dest": dest}}
	_, err = s.c.call(ctx, f, request{method: http.MethodPost, url: "/files/mv", body: body})
	return s.fail(err)
}

// Remove implements [client.Files]: the call for directories also takes files
// (§4.7).
func (s *files) Remove(ctx context.Context, id client.ID, p string) error {
	if path.Clean(p) == "/" || p == "" {
		return client.Usagef("remove file", "the root and the home are not removed")
	}
	_, err := s.call(ctx, s.failing("remove file", id), http.MethodDelete, "/directories", p)
	return err
}

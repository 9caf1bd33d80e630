package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"

	"abxdash/client"
	filesystempb "abxdash/client/envdpb/filesystem"
)

// files is the file API (e2b-protocol §7.4, §7.5, §10).
type files struct{ c *Client }

// Lister lists a directory and also tells which names it refused.
type Lister interface {
	// ReadDirRefused is ReadDir with the names that were left out because they
	// are no single path element (FIL-06). They are untrusted text.
	ReadDirRefused(ctx context.Context, id client.ID, path string) (entries []client.Entry, refused []string, err error)
}

var _ Lister = (*files)(nil)

func (s *files) failing(op string, id client.ID) failing {
	return failing{op: op, id: id, code: client.CodeFiles, notFound: client.CodeFileNotFound, agent: true}
}

// checkPath refuses what the wire cannot carry.
func checkPath(op, p string) error {
	if !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
		return client.Usagef(op, "%q is no path that the protocol can carry", client.OneLine(p, 60))
	}
	return nil
}

// call runs one filesystem call on checked paths.
func (s *files) call(ctx context.Context, f failing, paths []string, fn func(context.Context, *agent) error) error {
	for _, p := range paths {
		if err := checkPath(f.op, p); err != nil {
			return err
		}
	}
	return s.c.unary(ctx, f, fn)
}

// ReadDir implements [client.Files]. Names that are no single path element are
// left out; see [Lister].
func (s *files) ReadDir(ctx context.Context, id client.ID, dir string) ([]client.Entry, error) {
	entries, refused, err := s.ReadDirRefused(ctx, id, dir)
	if len(refused) > 0 {
		s.c.cfg.Logger.Warn("refused file names from a sandbox", "sandbox", id, "count", len(refused))
	}
	return entries, err
}

// ReadDirRefused implements [Lister].
func (s *files) ReadDirRefused(ctx context.Context, id client.ID, dir string) ([]client.Entry, []string, error) {
	var (
		entries []client.Entry
		bad     []string
	)
	err := s.call(ctx, s.failing("list directory", id), []string{dir}, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&filesystempb.ListDirRequest{Path: dir, Depth: 1})
		a.user(r.Header(), "")
		resp, err := a.fs.ListDir(ctx, r)
		if err != nil {
			return err
		}
		entries, bad = make([]client.Entry, 0, len(resp.Msg.GetEntries())), nil
		for _, e := range resp.Msg.GetEntries() {
			if !plainName(e) {
				bad = append(bad, e.GetName())
				continue
			}
			entries = append(entries, entryOf(e))
		}
		return nil
	})
	return entries, bad, err
}

// plainName reports whether an entry's name is one path element and its path
// ends in it. A backslash or colon is legal in a sandbox; who writes to a disk
// of another kind has to look for them.
func plainName(e *filesystempb.EntryInfo) bool {
	n := e.GetName()
	if n == "" || n == "." || n == ".." || strings.ContainsAny(n, "/\x00") {
		return false
	}
	return strings.HasPrefix(e.GetPath(), "/") && path.Base(e.GetPath()) == n
}

// entryOf turns an EntryInfo into the domain type (§10.1).
func entryOf(e *filesystempb.EntryInfo) client.Entry {
	out := client.Entry{
		Name:        e.GetName(),
		Path:        e.GetPath(),
		Size:        max(e.GetSize(), 0),
		Mode:        e.GetMode() & 0o777,
		Permissions: e.GetPermissions(),
		Owner:       e.GetOwner(),
		Group:       e.GetGroup(),
		LinkTarget:  e.GetSymlinkTarget(),
	}
	if t := e.GetModifiedTime(); t != nil && t.IsValid() {
		out.ModifiedAt = t.AsTime()
	}
	switch e.GetType() {
	case filesystempb.FileType_FILE_TYPE_FILE:
		out.Type = client.FileRegular
	case filesystempb.FileType_FILE_TYPE_DIRECTORY:
		out.Type = client.FileDir
	case filesystempb.FileType_FILE_TYPE_SYMLINK:
		out.Type = client.FileSymlink
	default:
		out.Type = client.FileOther
	}
	return out
}

// Stat implements [client.Files].
func (s *files) Stat(ctx context.Context, id client.ID, p string) (client.Entry, error) {
	var out client.Entry
	err := s.call(ctx, s.failing("stat file", id), []string{p}, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&filesystempb.StatRequest{Path: p})
		a.user(r.Header(), "")
		resp, err := a.fs.Stat(ctx, r)
		if err == nil {
			out = entryOf(resp.Msg.GetEntry())
		}
		return err
	})
	return out, err
}

// Mkdir implements [client.Files]. An existing directory is ErrConflict.
func (s *files) Mkdir(ctx context.Context, id client.ID, p string) error {
	return s.call(ctx, s.failing("make directory", id), []string{p}, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&filesystempb.MakeDirRequest{Path: p})
		a.user(r.Header(), "")
		_, err := a.fs.MakeDir(ctx, r)
		return err
	})
}

// Rename implements [client.Files].
func (s *files) Rename(ctx context.Context, id client.ID, from, to string) error {
	return s.call(ctx, s.failing("rename file", id), []string{from, to}, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&filesystempb.MoveRequest{Source: from, Destination: to})
		a.user(r.Header(), "")
		_, err := a.fs.Move(ctx, r)
		return err
	})
}

// Remove implements [client.Files].
func (s *files) Remove(ctx context.Context, id client.ID, p string) error {
	f := s.failing("remove file", id)
	if strings.Trim(p, "/.") == "" {
		return client.Usagef(f.op, "refused to remove %q", client.OneLine(p, 60))
	}
	return s.call(ctx, f, []string{p}, func(ctx context.Context, a *agent) error {
		r := connect.NewRequest(&filesystempb.RemoveRequest{Path: p})
		a.user(r.Header(), "")
		_, err := a.fs.Remove(ctx, r)
		return err
	})
}

// fileURL is the address of a path's content (§7.4, §7.5).
func (a *agent) fileURL(p string) string {
	q := url.Values{"path": {p}}
	if user := a.acting(""); user != "" {
		q.Set("username", user)
	}
	return a.base + "/files?" + q.Encode()
}

// Open implements [client.Files]. ctx covers the whole read.
func (s *files) Open(ctx context.Context, id client.ID, p string) (io.ReadCloser, error) {
	return s.OpenAt(ctx, id, p, 0)
}

// OpenAt implements [client.RangeOpener] with a Range request (§7.4).
func (s *files) OpenAt(ctx context.Context, id client.ID, p string, offset int64) (io.ReadCloser, error) {
	f := s.failing("open file", id)
	if err := checkPath(f.op, p); err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, client.Usagef(f.op, "the offset %d is negative", offset)
	}
	var out io.ReadCloser
	err := s.c.with(ctx, f, true, func(a *agent) error {
		own, cancel := context.WithCancelCause(ctx)
		own = context.WithValue(own, cancelKey{}, cancel)
		req, err := http.NewRequestWithContext(own, http.MethodGet, a.fileURL(p), nil)
		if err != nil {
			cancel(err)
			return err
		}
		a.dress(req.Header)
		if offset > 0 {
			req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
		}
		resp, err := s.c.http.Do(req)
		if err != nil {
			cancel(err)
			return err
		}
		switch {
		case resp.StatusCode == http.StatusOK:
		case offset > 0 && resp.StatusCode == http.StatusPartialContent && startsAt(resp.Header, offset):
		case offset > 0 && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
			defer cancel(nil)
			_ = resp.Body.Close()
			out = http.NoBody
			return nil
		default:
			defer cancel(nil)
			return refused(resp)
		}
		d := &download{body: s.c.watch(own, resp.Body), ctx: own, cancel: cancel, s: s, f: s.failing("read file", id)}
		if offset > 0 && resp.StatusCode == http.StatusOK {
			// The range was ignored: what is known already is read over.
			if _, err := io.CopyN(io.Discard, d, offset); err != nil && !errors.Is(err, io.EOF) {
				_ = d.Close()
				return err
			}
		}
		out = d
		return nil
	})
	return out, err
}

// startsAt reports whether a partial answer begins at the wanted byte.
func startsAt(h http.Header, offset int64) bool {
	return strings.HasPrefix(h.Get("Content-Range"), "bytes "+strconv.FormatInt(offset, 10)+"-")
}

// download is a file on its way. A body that ends early is an error, never EOF.
type download struct {
	body   io.ReadCloser
	ctx    context.Context //nolint:containedctx // tells why a read failed
	cancel context.CancelCauseFunc
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
	defer d.cancel(nil)
	return d.body.Close()
}

// Put implements [client.Files]. r is read to its end but not closed. It can be
// sent again after a refused token only if it can seek.
func (s *files) Put(ctx context.Context, id client.ID, p string, r io.Reader, size int64) (client.Entry, error) {
	f := s.failing("write file", id)
	if err := checkPath(f.op, p); err != nil {
		return client.Entry{}, err
	}
	if p == "" || strings.HasSuffix(p, "/") {
		return client.Entry{}, client.Usagef(f.op, "%q names no file", client.OneLine(p, 60))
	}
	up := &upload{path: p, r: r, size: size}
	seeker, seekable := r.(io.Seeker)
	var start int64
	if seekable {
		var err error
		if start, err = seeker.Seek(0, io.SeekCurrent); err != nil {
			seekable = false
		}
	}
	var out client.Entry
	tried := false
	err := s.c.with(ctx, f, seekable, func(a *agent) error {
		if tried {
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				return err
			}
		}
		tried = true
		var err error
		out, err = s.put(ctx, a, up)
		if seekable && s.c.cfg.Quirks.IgnoreVersion && unread(err) {
			// The version tells nothing there; older agents take forms only (cubesandbox §9).
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				return err
			}
			up.form = true
			out, err = s.put(ctx, a, up)
		}
		return err
	})
	return out, err
}

// unread reports the refusal of an agent that does not take a bare body.
func unread(err error) bool {
	var ref *refusal
	return errors.As(err, &ref) && (ref.status == http.StatusBadRequest || ref.status == http.StatusUnsupportedMediaType)
}

// upload is what Put sends.
type upload struct {
	path string
	r    io.Reader
	size int64
	// form sends a form whatever the version says.
	form bool
}

// put sends one upload in the form that the agent takes (§7.5).
func (s *files) put(ctx context.Context, a *agent, up *upload) (client.Entry, error) {
	body := &counted{r: up.r}
	var send io.Reader = body
	ct, length := "application/octet-stream", up.size
	if up.size >= 0 {
		// The bare reader lets the transport hand a file to the kernel.
		send = up.r
	}
	if up.form || a.older("0.5.7") {
		var extra int64
		send, ct, extra = multipartBody(send, path.Base(up.path))
		if length >= 0 {
			length += extra
		}
	}
	if length == 0 {
		send = http.NoBody
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.fileURL(up.path), io.NopCloser(send))
	if err != nil {
		return client.Entry{}, err
	}
	if length == 0 {
		req.Body = http.NoBody
	}
	req.ContentLength = length
	a.dress(req.Header)
	req.Header.Set("Content-Type", ct)
	resp, err := s.c.http.Do(req)
	if err != nil {
		return client.Entry{}, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return client.Entry{}, refused(resp)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return client.Entry{}, err
	}
	ref := &refusal{host: req.URL.Host, status: resp.StatusCode, header: resp.Header, body: data}
	if ref.html() || ref.bodyCode() >= 400 {
		return client.Entry{}, ref
	}
	written := up.size
	if written < 0 {
		written = body.n
	}
	return putEntry(up.path, written, data), nil
}

// putEntry reads the answer to an upload, [Entry], whatever its content type (§7.3).
func putEntry(p string, size int64, data []byte) client.Entry {
	var got []struct{ Name, Path string }
	e := client.Entry{Name: path.Base(p), Path: p, Type: client.FileRegular, Size: size}
	if json.Unmarshal(data, &got) == nil && len(got) == 1 && strings.HasPrefix(got[0].Path, "/") {
		e.Path = got[0].Path
	}
	return e
}

// multipartBody wraps r as the one part of a form, for agents before 0.5.7. The
// query's path names the target; extra is the length of the wrapping.
func multipartBody(r io.Reader, name string) (body io.Reader, contentType string, extra int64) {
	var head strings.Builder
	w := multipart.NewWriter(&head)
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	h.Set("Content-Type", "application/octet-stream")
	// A strings.Builder takes every write.
	_, _ = w.CreatePart(h)
	tail := "\r\n--" + w.Boundary() + "--\r\n"
	return io.MultiReader(strings.NewReader(head.String()), r, strings.NewReader(tail)),
		w.FormDataContentType(), int64(head.Len() + len(tail))
}

// counted counts what is read through it.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

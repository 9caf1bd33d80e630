//go:build linux

package envd_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"abxdash/client/local/envd"

	"github.com/google/go-cmp/cmp"
)

// part is one part of a form.
type part struct{ name, filename, content string }

// form builds a multipart body; file names are written as they are.
func form(t *testing.T, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, p.name, p.filename))
		pw, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(pw, p.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), w.FormDataContentType()
}

func (a *agent) read(name string) string {
	a.t.Helper()
	data, err := os.ReadFile(a.path(name))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(data)
}

// names lists a directory of the home.
func (a *agent) names(dir string) []string {
	a.t.Helper()
	entries, err := os.ReadDir(a.path(dir))
	if err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const octetStream = "application/octet-stream"

func filesURL(path string) string { return "/files?username=user&path=" + url.QueryEscape(path) }

// e2b-protocol §15.9
func TestFilesTranscripts(t *testing.T) {
	a := newAgent(t, envd.Config{})
	entry := func(path string) map[string]any {
		return map[string]any{"name": filepath.Base(path), "path": path, "type": "file"}
	}
	wantEntries := func(body []byte, want ...any) {
		t.Helper()
		var got []any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	}
	body, contentType := form(t, part{"file", "ignored.txt", "hello"})
	resp, got := a.do(http.MethodPost, filesURL("a.txt"), bytes.NewReader(body), "Content-Type", contentType)
	if resp.StatusCode != http.StatusOK || a.read("a.txt") != "hello" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	wantEntries(got, entry(a.path("a.txt")))

	_, got = a.do(http.MethodPost, filesURL("raw.bin"), strings.NewReader("12345"), "Content-Type", octetStream,
		"X-Metadata-Author", "me", "X-Metadata-Purpose", "test")
	raw := entry(a.path("raw.bin"))
	raw["metadata"] = map[string]any{"author": "me", "purpose": "test"}
	wantEntries(got, raw)

	body, contentType = form(t,
		part{"file", "dir1/b.txt", "b"}, part{"other", "dir1/no.txt", "no"}, part{"file", a.path("dir2/c.txt"), "c"})
	_, got = a.do(http.MethodPost, "/files?username=user", bytes.NewReader(body), "Content-Type", contentType)
	wantEntries(got, entry(a.path("dir1/b.txt")), entry(a.path("dir2/c.txt")))
	if diff := cmp.Diff([]string{"b.txt"}, a.names("dir1")); diff != "" {
		t.Error(diff)
	}

	resp, got = a.do(http.MethodGet, filesURL("a.txt"), nil, "Range", "bytes=1-3")
	if resp.StatusCode != http.StatusPartialContent || string(got) != "ell" || resp.Header.Get("Content-Range") != "bytes 1-3/5" {
		t.Errorf("%d %q %q", resp.StatusCode, got, resp.Header.Get("Content-Range"))
	}
}

func TestFilesErrors(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("afile", "x")
	a.write("dir1/b", "x")
	if err := syscall.Mkfifo(a.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("self", a.path("self")); err != nil {
		t.Fatal(err)
	}
	twice, twiceType := form(t, part{"file", "twice", "first"}, part{"file", "./twice", "second"})
	unnamed, unnamedType := form(t, part{"file", "", "x"})
	long := a.path(strings.Repeat("n", 256))
	tests := map[string]struct {
		method, target, body, contentType string
		header                            []string
		status                            int
		message                           string
	}{
		"get a directory":       {target: filesURL("dir1"), status: 400, message: "path '" + a.path("dir1") + "' is a directory"},
		"get the home":          {target: "/files", status: 400, message: "path '" + a.home + "' is a directory"},
		"get nothing":           {target: filesURL("/nope"), status: 404, message: "path '/nope' does not exist"},
		"get a fifo":            {target: filesURL("fifo"), status: 400, message: "path '" + a.path("fifo") + "' is not a regular file"},
		"get a device":          {target: filesURL("/dev/zero"), status: 400, message: "path '/dev/zero' is not a regular file"},
		"get a loop":            {target: filesURL("self"), status: 400, message: "lstat " + a.path("self") + ": too many levels of symbolic links"},
		"get below a file":      {target: filesURL("afile/x"), status: 500, message: "lstat " + a.path("afile/x") + ": not a directory"},
		"other home":            {target: filesURL("~root/x"), status: 400, message: `"~root/x": a path may start with ~ or ~/ only`},
		"NUL":                   {target: filesURL("a\x00b"), status: 400, message: `"a\x00b": invalid argument`},
		"unknown user":          {target: "/files?path=a&username=ghost", status: 401, message: "error looking up user 'ghost': user: unknown user ghost"},
		"no acceptable coding":  {target: filesURL("afile"), header: []string{"Accept-Encoding", "br, identity;q=0"}, status: 406, message: "error parsing Accept-Encoding: no acceptable encoding found, supported: [gzip]"},
		"raw without path":      {method: "POST", target: "/files", contentType: octetStream, status: 400, message: "path query parameter is required for raw body upload"},
		"put on a directory":    {method: "POST", target: filesURL("dir1"), contentType: octetStream, status: 400, message: "path '" + a.path("dir1") + "' is a directory"},
		"put on a fifo":         {method: "POST", target: filesURL("fifo"), contentType: octetStream, status: 400, message: "path '" + a.path("fifo") + "' is not a regular file"},
		"put below a file":      {method: "POST", target: filesURL("afile/x"), contentType: octetStream, status: 500, message: "open " + a.path("afile") + ": not a directory"},
		"put a long name":       {method: "POST", target: filesURL(long), contentType: octetStream, status: 400, message: "lstat " + long + ": file name too long"},
		"put other type":        {method: "POST", target: filesURL("x"), contentType: "text/plain", status: 400, message: `unsupported Content-Type "text/plain"`},
		"put brotli":            {method: "POST", target: filesURL("x"), contentType: octetStream, header: []string{"Content-Encoding", "br"}, status: 400, message: `unsupported Content-Encoding "br", supported: [gzip]`},
		"two parts, one target": {method: "POST", target: "/files", contentType: twiceType, body: string(twice), status: 400, message: "two parts name the path '" + a.path("twice") + "'; the first was stored"},
		"part without a name":   {method: "POST", target: "/files", contentType: unnamedType, body: string(unnamed), status: 400, message: "a file part needs a filename, or the request a path"},
		"metadata not ASCII":    {method: "POST", target: filesURL("x"), contentType: octetStream, header: []string{"X-Metadata-A", "é"}, status: 400, message: "metadata must be printable ASCII"},
		"metadata too long":     {method: "POST", target: filesURL("x"), contentType: octetStream, header: []string{"X-Metadata-A", strings.Repeat("v", 4087)}, status: 400, message: "metadata is longer than 4096 bytes in all"},
		"put to /proc":          {method: "POST", target: filesURL("/proc/x"), contentType: octetStream, status: 403, message: "write /proc/x: the agent does not serve this path"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.method == "" {
				tt.method = http.MethodGet
			}
			resp, body := a.do(tt.method, tt.target, strings.NewReader(tt.body), append(tt.header, "Content-Type", tt.contentType)...)
			(&agent{t: t}).wantError(resp, body, tt.status, tt.message)
		})
	}
	if a.read("twice") != "first" || a.read("afile") != "x" {
		t.Error("a refused upload changed something")
	}
	for _, name := range a.names(".") {
		if strings.HasPrefix(name, ".abx-upload") {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestDownload(t *testing.T) {
	a := newAgent(t, envd.Config{})
	content := strings.Repeat("text and more text\n", 10_000)
	a.write("t.txt", content)
	a.write("empty", "")
	resp, got := a.do(http.MethodGet, filesURL("t.txt"), nil)
	if string(got) != content {
		t.Error("content differs")
	}
	for name, want := range map[string]string{
		"Content-Disposition": "inline; filename=t.txt", "Content-Type": "text/plain; charset=utf-8",
		"Accept-Ranges": "bytes", "Vary": "Accept-Encoding", "Content-Encoding": "", "Etag": "", "Access-Control-Allow-Origin": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	modified := resp.Header.Get("Last-Modified")
	if resp, _ := a.do(http.MethodGet, filesURL("t.txt"), nil, "If-Modified-Since", modified); resp.StatusCode != http.StatusNotModified {
		t.Errorf("conditional: %d", resp.StatusCode)
	}
	if resp, got := a.do(http.MethodGet, filesURL("empty"), nil); resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Length") != "0" || len(got) != 0 {
		t.Errorf("empty file: %d %v", resp.StatusCode, resp.Header)
	}
	resp, got = a.do(http.MethodGet, filesURL("t.txt"), nil, "Accept-Encoding", "gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" || len(got) >= len(content) || resp.Header.Get("Accept-Ranges") != "" {
		t.Fatalf("gzip: %v, %d bytes", resp.Header, len(got))
	}
	gz, err := gzip.NewReader(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(gz); err != nil || string(plain) != content {
		t.Errorf("unpacked %d bytes, %v", len(plain), err)
	}
	resp, got = a.do(http.MethodGet, filesURL("t.txt"), nil, "Accept-Encoding", "gzip", "Range", "bytes=0-3")
	if resp.StatusCode != http.StatusPartialContent || string(got) != "text" {
		t.Errorf("range with gzip: %d %q", resp.StatusCode, got)
	}
}

// FIL-09: sizes in /proc say nothing.
func TestDownloadFromProc(t *testing.T) {
	a := newAgent(t, envd.Config{})
	want, err := os.ReadFile("/proc/sys/kernel/ostype")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	resp, got := a.do(http.MethodGet, filesURL("/proc/sys/kernel/ostype"), nil)
	if resp.StatusCode != http.StatusOK || string(got) != string(want) {
		t.Errorf("%d %q, want %q", resp.StatusCode, got, want)
	}
}

// FIL-01, FIL-02: every name makes the round trip, by both upload forms.
func TestNames(t *testing.T) {
	var cases struct {
		Names []string `json:"names"`
	}
	var twins struct{ NFC, NFD string }
	for file, into := range map[string]any{"names.json": &cases, "nfc-nfd.json": &twins} {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	a := newAgent(t, envd.Config{})
	a.write("d/canary", "")
	for i, encoded := range append(cases.Names, twins.NFC, twins.NFD) {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		name, content := string(raw), fmt.Sprintf("content %d", i)
		resp, body := a.do(http.MethodPost, filesURL("d/"+name), strings.NewReader(content), "Content-Type", octetStream)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%q: %d %s", name, resp.StatusCode, body)
			continue
		}
		if got := a.read("d/" + name); got != content {
			t.Errorf("%q holds %q", name, got)
		}
		multi, contentType := form(t, part{"file", "x", content + "!"})
		if resp, body := a.do(http.MethodPost, filesURL("d/"+name), bytes.NewReader(multi), "Content-Type", contentType); resp.StatusCode != http.StatusOK {
			t.Errorf("%q as a form: %d %s", name, resp.StatusCode, body)
		}
		if _, got := a.do(http.MethodGet, filesURL("d/"+name), nil); string(got) != content+"!" {
			t.Errorf("%q came back as %q", name, got)
		}
	}
	if got, want := len(a.names("d")), len(cases.Names)+3; got != want {
		t.Errorf("%d names, want %d: %q", got, want, a.names("d"))
	}
}

// FIL-04
func TestBinaryRoundTrip(t *testing.T) {
	random := make([]byte, 1<<20)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, envd.Config{})
	for name, content := range map[string]string{
		"empty": "", "png": "\x89PNG\r\n\x1a\n", "random": string(random), "border": strings.Repeat("x", 8191) + "é",
	} {
		body, contentType := form(t, part{"file", name, content})
		a.do(http.MethodPost, "/files", bytes.NewReader(body), "Content-Type", contentType)
		if _, got := a.do(http.MethodGet, filesURL(name), nil); string(got) != content {
			t.Errorf("%s: %d bytes came back, want %d", name, len(got), len(content))
		}
		var packed bytes.Buffer
		gz := gzip.NewWriter(&packed)
		if _, err := io.WriteString(gz, content); err != nil {
			t.Fatal(err)
		}
		if err := gz.Close(); err != nil {
			t.Fatal(err)
		}
		a.do(http.MethodPost, filesURL(name+".unpacked"), &packed, "Content-Type", octetStream, "Content-Encoding", "gzip")
		if a.read(name+".unpacked") != content {
			t.Errorf("%s: gzip upload differs", name)
		}
	}
}

// A connection that breaks leaves the old file and nothing else.
func TestCutUpload(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("d/old", "old content")
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /files?path=d/old HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 10485760\r\n\r\nfirst bytes", octetStream)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the upload has begun", func() bool { return len(a.names("d")) == 2 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the temporary file is gone", func() bool { return len(a.names("d")) == 1 })
	if a.read("d/old") != "old content" {
		t.Error("the old file was touched")
	}
	resp, body := a.do(http.MethodPost, filesURL("bad"), strings.NewReader("not gzip at all"), "Content-Type", octetStream, "Content-Encoding", "gzip")
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestUploadKeepsModeAndFollowsLinks(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("real/script", "old")
	if err := os.Chmod(a.path("real/script"), 0o750); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": "real/script", "abs": a.path("link"), "dangling": "real/new"} {
		if err := os.Symlink(target, a.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path, content string) {
		t.Helper()
		if resp, body := a.do(http.MethodPost, filesURL(path), strings.NewReader(content), "Content-Type", octetStream); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	put("abs", "new")
	fi, err := os.Lstat(a.path("real/script"))
	if err != nil || fi.Mode() != 0o750 || a.read("real/script") != "new" {
		t.Errorf("%v, %v, %q", fi.Mode(), err, a.read("real/script"))
	}
	if fi, err := os.Lstat(a.path("abs")); err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", fi, err)
	}
	put("dangling", "made")
	if a.read("real/new") != "made" {
		t.Errorf("through a dangling link: %q", a.read("real/new"))
	}
	put("deep/er/f", "x")
	if fi, err := os.Stat(a.path("deep/er/f")); err != nil || fi.Mode() != 0o644 {
		t.Errorf("mode of a new file: %v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(a.path("deep")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("mode of a new directory: %v, %v", fi.Mode(), err)
	}
}

func TestMetadataIsReplaced(t *testing.T) {
	a := newAgent(t, envd.Config{})
	stat := func() any {
		_, body := a.do(http.MethodPost, "/filesystem.Filesystem/Stat", strings.NewReader(`{"path":"m"}`), "Content-Type", "application/json")
		return decodeJSON(t, body)["entry"].(map[string]any)["metadata"]
	}
	for _, step := range []struct {
		header []string
		want   any
	}{
		{[]string{"X-Metadata-A", "1", "X-Metadata-B", "2"}, map[string]any{"a": "1", "b": "2"}},
		{[]string{"X-Metadata-C", "3"}, map[string]any{"c": "3"}},
		{nil, nil},
	} {
		_, body := a.do(http.MethodPost, filesURL("m"), strings.NewReader("x"), append(step.header, "Content-Type", octetStream)...)
		if step.want != nil && !bytes.Contains(body, []byte("metadata")) {
			t.Skip("this file system keeps no attributes")
		}
		if diff := cmp.Diff(step.want, stat()); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	}
}

func TestCompose(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("p1", "one,")
	a.write("p2", "two")
	compose := func(request string) (*http.Response, []byte) {
		return a.do(http.MethodPost, "/files/compose", strings.NewReader(request), "Content-Type", "application/json")
	}
	for request, want := range map[string]struct {
		status  int
		message string
	}{
		`{"source_paths":[],"destination":"d"}`:            {400, "source_paths must name at least one file"},
		`{"source_paths":["p1"]}`:                          {400, "destination is required"},
		`{"source_paths":["p1","gone"],"destination":"d"}`: {404, "path '" + a.path("gone") + "' does not exist"},
		`{"source_paths":["p1","~"],"destination":"d"}`:    {400, "path '" + a.home + "' is a directory"},
		`{"source_paths":["p2","p1"],"destination":"p1"}`:  {400, "source '" + a.path("p1") + "' is the destination"},
	} {
		resp, body := compose(request)
		a.wantError(resp, body, want.status, want.message)
	}
	resp, body := compose(`{"source_paths":["p1","p2"],"destination":"out/joined","username":"user"}`)
	want := map[string]any{"name": "joined", "path": a.path("out/joined"), "type": "file"}
	if diff := cmp.Diff(want, decodeJSON(t, body)); resp.StatusCode != http.StatusOK || diff != "" {
		t.Errorf("%d (-want +got):\n%s", resp.StatusCode, diff)
	}
	if a.read("out/joined") != "one,two" {
		t.Errorf("joined: %q", a.read("out/joined"))
	}
	if diff := cmp.Diff([]string{"out"}, a.names(".")); diff != "" {
		t.Errorf("the sources are still there: %s", diff)
	}
}

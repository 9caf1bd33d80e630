package e2b

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"abxdash/client"
	filesystempb "abxdash/client/envdpb/filesystem"
)

func TestStatGolden(t *testing.T) { // 15.7
	raw, err := hex.DecodeString("0a490a076f75742e74787410011a122f686f6d652f757365722f6f75742e747874200828a403320a2d72772d722d2d722d2d3a04757365724204757365724a0b08a0a5b0d80610ec8bae39")
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{
		"POST /filesystem.Filesystem/Stat": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/proto")
			_, _ = w.Write(raw)
		},
	}))
	got, err := newTestClient(t, f).Files().Stat(context.Background(), "i1", "out.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := client.Entry{
		Name: "out.txt", Path: "/home/user/out.txt", Type: client.FileRegular, Size: 8, Mode: 0o644, Permissions: "-rw-r--r--",
		Owner: "user", Group: "user", ModifiedAt: time.Unix(1795953312, 120292844).UTC(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, tc := range map[string]struct {
		body string
		want client.Entry
	}{
		"setuid file": {
			`{"entry":{"name":"raw.bin", "type":"FILE_TYPE_FILE", "path":"/home/user/raw.bin", "size":"5", "mode":493, "permissions":"urwxr-xr-x", "owner":"user", "group":"user", "modifiedTime":"2026-11-29T11:55:12.032611686Z", "metadata":{"author":"me"}}}`,
			client.Entry{Name: "raw.bin", Path: "/home/user/raw.bin", Type: client.FileRegular, Size: 5, Mode: 0o755, Permissions: "urwxr-xr-x", Owner: "user", Group: "user", ModifiedAt: time.Date(2026, 11, 29, 11, 55, 12, 32611686, time.UTC)},
		},
		"broken link": {
			`{"entry":{"name":"broken", "path":"/home/user/broken", "size":"8", "permissions":"Lrwxrwxrwx", "symlinkTarget":"/home/user/broken"}}`,
			client.Entry{Name: "broken", Path: "/home/user/broken", Type: client.FileOther, Size: 8, Permissions: "Lrwxrwxrwx", LinkTarget: "/home/user/broken"},
		},
		"nothing":   {`{}`, client.Entry{Type: client.FileOther}},
		"nonsense":  {`{"entry":{"name":"x","size":"-5","mode":99999,"type":"FILE_TYPE_NEW"}}`, client.Entry{Name: "x", Mode: 0o237}},
		"directory": {`{"entry":{"name":"d","type":"FILE_TYPE_DIRECTORY"}}`, client.Entry{Name: "d", Type: client.FileDir}},
	} {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /filesystem.Filesystem/Stat": answerJSON(200, tc.body)}))
		got, err := newTestClient(t, f, useJSON).Files().Stat(context.Background(), "i1", "x")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	f = newFake(t, withSandbox(map[string]http.HandlerFunc{
		"POST *": answerJSON(404, `{"code":"not_found","message":"file not found: lstat /home/user/missing: no such file or directory"}`),
	}))
	_, err = newTestClient(t, f).Files().Stat(context.Background(), "i1", "missing")
	if e := asClientError(t, err); e.Code != client.CodeFileNotFound || !errors.Is(e, client.ErrNotFound) {
		t.Errorf("missing: %s %v", e.Code, e)
	}
}

func TestHostileListing(t *testing.T) { // FIL-06
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /filesystem.Filesystem/ListDir": answerJSON(200, string(file(t, "evil-listing.json")))}))
	fs := newTestClient(t, f, useJSON).Files()
	entries, refused, err := fs.(Lister).ReadDirRefused(context.Background(), "i1", "/home/user/d")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	// A backslash is an ordinary character of a Linux name (FIL-01).
	if diff := cmp.Diff([]string{`..\..\escape3`, "ok.txt", `C:\escape5`}, names); diff != "" {
		t.Error(diff)
	}
	if len(refused) != 7 {
		t.Errorf("refused %q", refused)
	}
	if plain, err := fs.ReadDir(context.Background(), "i1", "/home/user/d"); err != nil || len(plain) != len(entries) {
		t.Errorf("ReadDir: %d entries, %v", len(plain), err)
	}
	for name, e := range map[string]*filesystempb.EntryInfo{
		"path elsewhere":  {Name: "ok", Path: "/etc/passwd"},
		"path not whole":  {Name: "ok", Path: "d/ok"},
		"path missing":    {Name: "ok"},
		"name with slash": {Name: "a/ok", Path: "/d/a/ok"},
	} {
		if plainName(e) {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestNamesSurvive(t *testing.T) { // FIL-01, the client's half
	var in struct{ Names []string }
	if err := json.Unmarshal(file(t, "names.json"), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Names) != 27 {
		t.Fatalf("%d names", len(in.Names))
	}
	var want []string
	list := &filesystempb.ListDirResponse{}
	for _, n := range in.Names {
		b, err := base64.StdEncoding.DecodeString(n)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(b))
		list.Entries = append(list.Entries, &filesystempb.EntryInfo{Name: string(b), Path: "/home/user/" + string(b), Type: filesystempb.FileType_FILE_TYPE_FILE})
	}
	raw, err := protojson.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{
		"POST /filesystem.Filesystem/ListDir": answerJSON(200, string(raw)),
		"GET /files": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.URL.Query().Get("path"))
		},
		"POST /files": func(w http.ResponseWriter, r *http.Request) {
			out, _ := json.Marshal([]map[string]string{{"name": "n", "path": r.URL.Query().Get("path"), "type": "file"}})
			answerJSON(200, string(out))(w, r)
		},
	}))
	fs := newTestClient(t, f, useJSON).Files()
	ctx := context.Background()
	entries, err := fs.ReadDir(ctx, "i1", "")
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, e := range entries {
		if e.Name != want[i] {
			t.Errorf("name %q, want %q", e.Name, want[i])
		}
		body, err := fs.Open(ctx, "i1", e.Path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		if string(got) != "/home/user/"+want[i] {
			t.Errorf("download asked for %q, want %q", got, want[i])
		}
		put, err := fs.Put(ctx, "i1", e.Path, strings.NewReader("x"), 1)
		if err != nil || put.Path != e.Path {
			t.Errorf("upload to %q: %q, %v", e.Path, put.Path, err)
		}
	}
}

func TestPut(t *testing.T) { // 15.9
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	onDisk := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(onDisk, content, 0o600); err != nil {
		t.Fatal(err)
	}
	osFile, err := os.Open(onDisk)
	if err != nil {
		t.Fatal(err)
	}
	defer osFile.Close()
	cases := []struct {
		name, version string
		r             io.Reader
		size          int64
		want          []byte
	}{
		{"file, size known", "0.6.13", osFile, int64(len(content)), content},
		{"size unknown", "0.6.13", struct{ io.Reader }{bytes.NewReader(content)}, -1, content},
		{"nothing, size known", "0.6.13", strings.NewReader(""), 0, []byte{}},
		{"nothing, size unknown", "0.6.13", struct{ io.Reader }{strings.NewReader("")}, -1, []byte{}},
		{"old agent", "0.5.6", struct{ io.Reader }{bytes.NewReader(content)}, int64(len(content)), content},
		{"old agent, size unknown", "0.5.6", struct{ io.Reader }{bytes.NewReader(content)}, -1, content},
		{"old agent, nothing", "0.5.6", strings.NewReader(""), 0, []byte{}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, map[string]http.HandlerFunc{
				"GET /sandboxes/i1": answerJSON(200, `{"sandboxID":"i1","state":"running","envdVersion":"`+tc.version+`"}`),
				"POST /files": func(w http.ResponseWriter, _ *http.Request) {
					// envd answers JSON labelled as text (e2b-protocol §7.3).
					w.Header().Set("Content-Type", "text/plain; charset=utf-8")
					_, _ = io.WriteString(w, `[{"name":"a b.txt","path":"/home/user/a b.txt","type":"file"}]`)
				},
			})
			c := newTestClient(t, f, func(c *Config) { c.User = "user" })
			got, err := c.Files().Put(context.Background(), "i1", "a b.txt", tc.r, tc.size)
			if err != nil {
				t.Fatal(err)
			}
			want := client.Entry{Name: "a b.txt", Path: "/home/user/a b.txt", Type: client.FileRegular, Size: int64(len(tc.want))}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			r := f.only(t, "/files")
			if r.uri != "/files?path=a+b.txt&username=user" {
				t.Errorf("uri %s", r.uri)
			}
			body := r.body
			if ct := r.header.Get("Content-Type"); tc.version == "0.5.6" {
				body = onePart(t, ct, body)
			} else if ct != "application/octet-stream" {
				t.Errorf("content type %q", ct)
			}
			if !bytes.Equal(body, tc.want) {
				t.Errorf("%d bytes arrived, want %d", len(body), len(tc.want))
			}
		})
	}
	if _, err := osFile.Stat(); err != nil {
		t.Errorf("Put closed its source: %v", err)
	}
}

// onePart unpacks a form of one part named file.
func onePart(t *testing.T, contentType string, body []byte) []byte {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	p, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(p)
	if err != nil || p.FormName() != "file" || p.FileName() != "a b.txt" {
		t.Errorf("part %q %q, %v", p.FormName(), p.FileName(), err)
	}
	if _, err := r.NextPart(); err != io.EOF {
		t.Errorf("after the part: %v", err)
	}
	return content
}

func TestPutFailures(t *testing.T) {
	cases := []struct {
		name   string
		status int
		body   string
		code   client.Code
	}{
		{"user", 401, `{"code":401,"message":"error looking up user 'ghost': user: unknown user ghost"}`, client.CodeAuthMissing},
		{"path", 400, `{"code":400,"message":"path '/home/user/dir1' is a directory"}`, client.CodeFiles},
		{"full", 507, `{"code":507,"message":"not enough disk space"}`, client.CodeServer},
		{"parent is a file", 500, `{"code":500,"message":"error ensuring directories"}`, client.CodeFiles},
	}
	for _, tc := range cases {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /files": answerJSON(tc.status, tc.body)}))
		_, err := newTestClient(t, f).Files().Put(context.Background(), "i1", "x", strings.NewReader("x"), 1)
		if e := asClientError(t, err); e.Code == "" || e.Status != tc.status {
			t.Errorf("%s: %s %v", tc.name, e.Code, e)
		}
	}
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /files": answerJSON(200, `[]`)}))
	fs := newTestClient(t, f).Files()
	ctx := context.Background()
	for _, p := range []string{"", "dir/", "a\x00b", "\xff"} {
		if _, err := fs.Put(ctx, "i1", p, strings.NewReader("x"), 1); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("path %q: %v", p, err)
		}
	}
	broken := errors.New("the local disk failed")
	_, err := fs.Put(ctx, "i1", "x", io.MultiReader(strings.NewReader("part"), failingReader{broken}), -1)
	if !errors.Is(err, broken) {
		t.Errorf("a failing source: %v", err)
	}
	for name, r := range map[string]io.Reader{"shorter than said": strings.NewReader("x"), "longer than said": strings.NewReader("xxxx")} {
		if _, err := fs.Put(ctx, "i1", "x", r, 2); err == nil {
			t.Errorf("a source %s was taken", name)
		}
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func TestOpen(t *testing.T) { // 15.9, FIL-08
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"GET /files": func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("path") {
		case "whole":
			_, _ = io.WriteString(w, "hello")
		case "empty":
		case "cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "hell")
		case "dir":
			answerJSON(400, `{"code":400,"message":"path '/home/user/dir1' is a directory"}`)(w, r)
		default:
			answerJSON(404, `{"code":404,"message":"path '/nope' does not exist"}`)(w, r)
		}
	}}))
	fs := newTestClient(t, f).Files()
	read := func(p string) (string, error) {
		body, err := fs.Open(context.Background(), "i1", p)
		if err != nil {
			return "", err
		}
		b, err := io.ReadAll(body)
		return string(b), errors.Join(err, body.Close())
	}
	if got, err := read("whole"); got != "hello" || err != nil {
		t.Errorf("whole: %q, %v", got, err)
	}
	if got, err := read("empty"); got != "" || err != nil {
		t.Errorf("empty: %q, %v", got, err)
	}
	got, err := read("cut")
	if got != "hell" || !errors.Is(err, io.ErrUnexpectedEOF) || client.CodeOf(err) != client.CodeNetwork {
		t.Errorf("cut: %q, %v", got, err)
	}
	if _, err := read("dir"); client.CodeOf(err) != client.CodeFiles || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	if _, err := read("nope"); client.CodeOf(err) != client.CodeFileNotFound || !errors.Is(err, client.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	r := f.requests("/files")[0]
	if r.header.Get("X-Access-Token") == "" || r.header.Get("E2b-Sandbox-Id") != "i1" || r.uri != "/files?path=whole" {
		t.Errorf("%s %v", r.uri, r.header)
	}
}

func TestOpenCancelled(t *testing.T) {
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"GET /files": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "some")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}}))
	ctx, cancel := context.WithCancel(context.Background())
	body, err := newTestClient(t, f).Files().Open(ctx, "i1", "x")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := body.Read(make([]byte, 4)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	silent, err := newTestClient(t, f, func(c *Config) { c.Silence = 30 * time.Millisecond }).Files().Open(context.Background(), "i1", "x")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := io.ReadAll(silent); err == nil || !strings.Contains(err.Error(), "no sign of life") {
		t.Errorf("a stalled download: %v", err)
	}
}

func TestFileCalls(t *testing.T) {
	cases := []struct {
		name, method string
		do           func(client.Files) error
		want         proto.Message
		got          proto.Message
	}{
		{"mkdir", "MakeDir", func(f client.Files) error { return f.Mkdir(context.Background(), "i1", "/a") }, &filesystempb.MakeDirRequest{Path: "/a"}, &filesystempb.MakeDirRequest{}},
		{"rename", "Move", func(f client.Files) error { return f.Rename(context.Background(), "i1", "/a", "/b") }, &filesystempb.MoveRequest{Source: "/a", Destination: "/b"}, &filesystempb.MoveRequest{}},
		{"remove", "Remove", func(f client.Files) error { return f.Remove(context.Background(), "i1", "/a") }, &filesystempb.RemoveRequest{Path: "/a"}, &filesystempb.RemoveRequest{}},
		{"list", "ListDir", func(f client.Files) error { return second(f.ReadDir(context.Background(), "i1", "")) }, &filesystempb.ListDirRequest{Depth: 1}, &filesystempb.ListDirRequest{}},
	}
	bothCodecs(t, func(t *testing.T, codec string, change func(*Config)) {
		for _, tc := range cases {
			ok := func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/"+codec)
				if codec == "json" {
					_, _ = io.WriteString(w, "{}")
				}
			}
			f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": ok}))
			if err := tc.do(newTestClient(t, f, change).Files()); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			proto.Reset(tc.got)
			decodeAs(t, codec, f.only(t, "/filesystem.Filesystem/"+tc.method).body, tc.got)
			if !proto.Equal(tc.want, tc.got) {
				t.Errorf("%s sent %v, want %v", tc.name, tc.got, tc.want)
			}
		}
	})
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": answerJSON(409, `{"code":"already_exists","message":"directory already exists: /a"}`)}))
	if err := newTestClient(t, f).Files().Mkdir(context.Background(), "i1", "/a"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("mkdir of an existing one: %v", err)
	}
	before := len(f.requests(""))
	for _, p := range []string{"", "/", ".", "//", "/."} {
		if err := newTestClient(t, f).Files().Remove(context.Background(), "i1", p); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("remove %q: %v", p, err)
		}
	}
	if len(f.requests("")) != before {
		t.Error("a refused removal was sent")
	}
}

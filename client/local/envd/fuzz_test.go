package envd

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fixedUser is a Spawner for code that starts nothing.
type fixedUser struct{ home string }

func (f fixedUser) Spawn(Spec) (Child, error)   { return nil, errClosing }
func (f fixedUser) Own(string, User) error      { return nil }
func (f fixedUser) Lookup(string) (User, error) { return User{Name: "user", Home: f.home}, nil }

// Only the right signature opens the door, whatever else a query holds.
func FuzzSignature(f *testing.F) {
	for _, q := range []string{
		"path=f&signature=v1_x", "path=f", "signature_expiration=1", "signature_expiration=99999999999999999999", "%zz", "path=a;b", "signature=&signature=",
		"path=f&signature=" + url.QueryEscape(signature("f", opRead, "", "tok", "")),
		"path=f&signature_expiration=3000&signature=" + url.QueryEscape(signature("f", opRead, "", "tok", "3000")),
	} {
		f.Add(q)
	}
	s := New(Config{Spawner: fixedUser{f.TempDir()}, AccessToken: "tok", Now: func() time.Time { return time.Unix(2000, 0) }})
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/files", nil)
		r.URL.RawQuery = query
		req, err := s.parseFileRequest(r, opRead)
		if err != nil {
			return
		}
		q := req.query
		given := q.Get("signature")
		plain := signature(q.Get("path"), opRead, q.Get("username"), "tok", "")
		limited := signature(q.Get("path"), opRead, q.Get("username"), "tok", strings.TrimLeft(q.Get("signature_expiration"), "+0"))
		if given != plain && given != limited {
			t.Fatalf("query %q passed with signature %q", query, given)
		}
	})
}

// A form never writes outside of what its parts name, and never crashes.
func FuzzMultipart(f *testing.F) {
	f.Add("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x/y\"\r\n\r\nhello\r\n--b--\r\n", "")
	f.Add("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=file; filename=\"..\\\\..\\\\x\"\r\n\r\n", "gzip")
	f.Add("multipart/form-data", "--\r\n\r\n", "identity")
	f.Add("multipart/form-data; boundary=\"\"", "----", "br")
	f.Fuzz(func(t *testing.T, contentType, body, coding string) {
		home := filepath.Join(t.TempDir(), "home")
		s := New(Config{Spawner: fixedUser{home}})
		r := httptest.NewRequest(http.MethodPost, "/files?path=target", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {contentType}, "Content-Encoding": {coding}}
		entries, err := s.receiveFiles(r)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.Path != filepath.Join(home, "target") {
				t.Fatalf("wrote %q", e.Path)
			}
		}
	})
}

// The name of a part keeps its directories and is what the client quoted.
func FuzzPartNames(f *testing.F) {
	for _, name := range []string{"a/b.txt", "/abs", `back\slash`, "é", "a b", `qu"ote`, "x;y=z", "%2e%2e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, filename string) {
		header := mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": filename})
		if header == "" || strings.ContainsAny(header, "\r\n") {
			return
		}
		body := "--b\r\nContent-Disposition: " + header + "\r\n\r\nx\r\n--b--\r\n"
		part, err := multipart.NewReader(strings.NewReader(body), "b").NextRawPart()
		if err != nil {
			return
		}
		if name, got := partNames(part); name != "file" || got != filename {
			t.Fatalf("%q came as %q (%q)", filename, got, header)
		}
	})
}

// Numbers and lists in headers never lead out of their bounds.
func FuzzHeaders(f *testing.F) {
	f.Add("0", "gzip", "value", "key")
	f.Add("-1", "identity;q=0, *;q=0", "", "")
	f.Add("1e9", "gzip;q=NaN,,;;q=", "\x7f", "K")
	f.Fuzz(func(t *testing.T, interval, encoding, value, key string) {
		h := http.Header{"Keepalive-Ping-Interval": {interval}, "Accept-Encoding": {encoding}, metadataHeader + key: {value}}
		if d := keepaliveInterval(h); d < time.Second || d > maxKeepalive {
			t.Fatalf("interval %q is %v", interval, d)
		}
		if gz, err := wantsGzip(h); gz && (err != nil || !strings.ContainsAny(encoding, "*") && !strings.Contains(strings.ToLower(encoding), "gzip")) {
			t.Fatalf("gzip for %q, %v", encoding, err)
		}
		meta, err := metadataFrom(h)
		if err != nil {
			return
		}
		for k, v := range meta {
			if k == "" || !printable(k+v) || len(k)+len(v) > maxMetadata {
				t.Fatalf("metadata %q: %q", k, v)
			}
		}
	})
}

// A resolved path is absolute and clean, or an error.
func FuzzResolvePath(f *testing.F) {
	for _, path := range []string{"", "~", "~/x", "~x", "a/../..", "/a//b", "\x00", "./~"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := resolvePath(path, "", User{Home: "/home/user"})
		if err == nil && (!filepath.IsAbs(got) || got != filepath.Clean(got)) {
			t.Fatalf("%q is %q", path, got)
		}
	})
}

var _ io.Reader = bodyReader{}

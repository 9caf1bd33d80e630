package e2b

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// recorded is a request as the fake server saw it.
type recorded struct {
	method string
	// uri is the request target as sent.
	uri    string
	header http.Header
	body   []byte
}

// fake plays the control plane and the agent on one address and records every
// request.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	seen   []recorded
	routes map[string]http.HandlerFunc
}

// newFake serves routes keyed "METHOD /path"; "METHOD *" takes the rest of a
// method. Whatever has no route is a 404 in JSON.
func newFake(t *testing.T, routes map[string]http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{routes: routes}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	f.seen = append(f.seen, recorded{r.Method, r.RequestURI, r.Header.Clone(), body})
	h := f.routes[r.Method+" "+r.URL.EscapedPath()]
	if h == nil {
		h = f.routes[r.Method+" *"]
	}
	f.mu.Unlock()
	if h == nil {
		answerJSON(http.StatusNotFound, `{"code":404,"message":"no such thing"}`)(w, r)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h(w, r)
}

// requests are those recorded whose path ends in suffix.
func (f *fake) requests(suffix string) []recorded {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []recorded
	for _, r := range f.seen {
		path, _, _ := strings.Cut(r.uri, "?")
		if strings.HasSuffix(path, suffix) {
			out = append(out, r)
		}
	}
	return out
}

// only is the one request recorded with that suffix.
func (f *fake) only(t *testing.T, suffix string) recorded {
	t.Helper()
	got := f.requests(suffix)
	if len(got) != 1 {
		t.Fatalf("%d requests to …%s, want 1", len(got), suffix)
	}
	return got[0]
}

// answerJSON answers with a JSON text.
func answerJSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// answerStream answers with a whole Connect stream.
func answerStream(codec string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/connect+"+codec)
		_, _ = w.Write(body)
	}
}

// frames packs payloads as envelopes; the last one has the end flag.
func frames(payloads ...string) []byte {
	var b []byte
	for i, p := range payloads {
		flag := byte(0)
		if i == len(payloads)-1 {
			flag = 2
		}
		b = append(b, flag)
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}

// sandboxRoute answers GET for a secure sandbox "i1".
const getSandbox = `{"sandboxID":"i1","templateID":"base","clientID":"c","state":"running","envdVersion":"0.6.13","envdAccessToken":"tok-0123456789abcdef","trafficAccessToken":"traffic-0123456789"}`

// withSandbox adds the GET of sandbox i1 to routes.
func withSandbox(routes map[string]http.HandlerFunc) map[string]http.HandlerFunc {
	if routes["GET /sandboxes/i1"] == nil {
		routes["GET /sandboxes/i1"] = answerJSON(http.StatusOK, getSandbox)
	}
	return routes
}

// testKey is made up.
const testKey = "e2b_0123456789abcdef0123456789abcdef01234567"

// newTestClient makes a client for the fake.
func newTestClient(t *testing.T, f *fake, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{
		Name: "test", APIURL: f.URL, DataURL: f.URL, APIKey: testKey, UserAgent: "abxdash/test",
		RequestTimeout: patience,
	}
	for _, fn := range change {
		fn(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// useJSON makes the agent calls speak JSON.
func useJSON(c *Config) { c.JSON = true }

// file reads a file of testdata.
func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decoded parses JSON for a comparison by value.
func decoded(t testing.TB, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %q", err, b)
	}
	return v
}

// asClientError fails unless err is a *client.Error.
func asClientError(t *testing.T, err error) *client.Error {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is no *client.Error", err, err)
	}
	return e
}

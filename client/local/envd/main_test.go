//go:build linux

package envd_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"abxdash/client/envdpb/filesystem/filesystemconnect"
	"abxdash/client/envdpb/process/processconnect"
	"abxdash/client/local/envd"
	"abxdash/client/local/envd/envdtest"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline is how long a test waits for a condition. The machine may be busy.
const deadline = 30 * time.Second

// agent is a server under test, on loopback, in a home of its own.
type agent struct {
	t      *testing.T
	url    string
	home   string
	server *envd.Server
	client *http.Client
}

// newAgent starts a server; the user is called "user".
func newAgent(t *testing.T, cfg envd.Config) *agent {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Spawner = &envdtest.ExecSpawner{Home: home, User: "user"}
	server := envd.New(cfg)
	listener := httptest.NewServer(server)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Errorf("closing the agent: %v", err)
		}
		transport.CloseIdleConnections()
		listener.Close()
	})
	return &agent{t: t, url: listener.URL, home: home, server: server, client: &http.Client{Transport: transport}}
}

// codecs runs a test with both codecs of the protocol.
func codecs(t *testing.T, test func(*testing.T, ...connect.ClientOption)) {
	t.Run("proto", func(t *testing.T) { test(t) })
	t.Run("json", func(t *testing.T) { test(t, connect.WithProtoJSON()) })
	t.Run("gzip", func(t *testing.T) { test(t, connect.WithSendGzip()) })
}

func (a *agent) processes(opts ...connect.ClientOption) processconnect.ProcessClient {
	return processconnect.NewProcessClient(a.client, a.url, opts...)
}

func (a *agent) filesystem(opts ...connect.ClientOption) filesystemconnect.FilesystemClient {
	return filesystemconnect.NewFilesystemClient(a.client, a.url, opts...)
}

// path joins to the home.
func (a *agent) path(name string) string { return filepath.Join(a.home, name) }

// write makes a file in the home, with its directories.
func (a *agent) write(name, content string) {
	a.t.Helper()
	if err := os.MkdirAll(filepath.Dir(a.path(name)), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(a.path(name), []byte(content), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// do sends one request; header is pairs of name and value.
func (a *agent) do(method, target string, body io.Reader, header ...string) (*http.Response, []byte) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.url+target, body)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp, data
}

// wantError checks the API's error shape.
func (a *agent) wantError(resp *http.Response, body []byte, status int, message string) {
	a.t.Helper()
	if got := resp.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		a.t.Errorf("Content-Type = %q", got)
	}
	if resp.StatusCode != status {
		a.t.Errorf("status = %d, want %d; body %s", resp.StatusCode, status, body)
	}
	want := map[string]any{"code": float64(status), "message": message}
	if diff := cmp.Diff(want, decodeJSON(a.t, body)); diff != "" {
		a.t.Errorf("error body (-want +got):\n%s", diff)
	}
}

func decodeJSON(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("not a JSON object: %q: %v", data, err)
	}
	return v
}

// frame is one envelope of a stream.
type frame struct {
	flag    byte
	payload []byte
}

func envelope(flag byte, payload string) []byte {
	b := append([]byte{flag}, binary.BigEndian.AppendUint32(nil, uint32(len(payload)))...)
	return append(b, payload...)
}

// readFrame reads one envelope; io.EOF at the end of the body.
func readFrame(r io.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	payload := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err := io.ReadFull(r, payload)
	return frame{head[0], payload}, err
}

// stream opens a server stream with raw bytes and closes it with the test.
func (a *agent) stream(method, contentType string, body []byte, header ...string) *http.Response {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+method, bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Connect-Protocol-Version", "1")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
	})
	return resp
}

// frames reads a stream to its end.
func frames(t *testing.T, resp *http.Response) []frame {
	t.Helper()
	var all []frame
	for {
		f, err := readFrame(resp.Body)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("reading a frame: %v", err)
		}
		all = append(all, f)
	}
}

// transcript is what a JSON stream said: output joined, one event after the other.
type transcript struct {
	pid                 float64
	stdout, stderr, pty string
	keepalives          int
	end                 map[string]any
	trailer             map[string]any
}

// startJSON runs Start with a JSON request and reads the stream to its end.
func (a *agent) startJSON(request string, header ...string) transcript {
	a.t.Helper()
	resp := a.stream("/process.Process/Start", "application/connect+json", envelope(0, request), header...)
	return readTranscript(a.t, resp)
}

func readTranscript(t *testing.T, resp *http.Response) transcript {
	t.Helper()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/connect+json" {
		t.Fatalf("status %d, Content-Type %q", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	var tr transcript
	for i, f := range frames(t, resp) {
		if tr.trailer != nil || tr.end != nil && f.flag != 2 {
			t.Fatalf("frame after the end: %d %s", f.flag, f.payload)
		}
		message := decodeJSON(t, f.payload)
		if f.flag == 2 {
			tr.trailer = message
			continue
		}
		event := message["event"].(map[string]any)
		if start, ok := event["start"].(map[string]any); ok != (i == 0) {
			t.Fatalf("frame %d: %s; start comes first and once", i, f.payload)
		} else if ok {
			tr.pid = start["pid"].(float64)
		}
		if data, ok := event["data"].(map[string]any); ok {
			tr.stdout += fromBase64(t, data["stdout"])
			tr.stderr += fromBase64(t, data["stderr"])
			tr.pty += fromBase64(t, data["pty"])
		}
		if _, ok := event["keepalive"]; ok {
			tr.keepalives++
		}
		if end, ok := event["end"].(map[string]any); ok {
			tr.end = end
		}
	}
	if tr.trailer == nil {
		t.Fatal("the stream has no end envelope")
	}
	return tr
}

func fromBase64(t *testing.T, v any) string {
	t.Helper()
	text, _ := v.(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.Now().Add(deadline)
	for !cond() {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

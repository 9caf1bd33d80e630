//go:build unix

package expresstest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client/express/expresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire sends raw requests, as the transcripts of e2b-protocol §15 have them.
type wire struct {
	t *testing.T
	s *expresstest.Server
	c *http.Client
}

func newWire(t *testing.T, sw expresstest.Switches) *wire {
	t.Helper()
	s := expresstest.New(t, sw)
	tr := &http.Transport{DialContext: s.Dial, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &wire{t: t, s: s, c: &http.Client{Transport: tr}}
}

// send makes one request; header is pairs of name and value.
func (w *wire) send(method, url string, body []byte, header ...string) (*http.Response, []byte) {
	w.t.Helper()
	resp, err := w.open(method, url, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v after %q", method, url, err, data)
	}
	return resp, data
}

func (w *wire) open(method, url string, body []byte, header ...string) (*http.Response, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 60*time.Second)
	w.t.Cleanup(cancel)
	var r io.Reader
	if body != nil {
		// As the official SDKs do: chunked, without a length (e2b-protocol §2.2).
		r = io.MultiReader(bytes.NewReader(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.c.Do(req)
}

// api calls the control plane with the key.
func (w *wire) api(method, path, body string) (int, http.Header, string) {
	w.t.Helper()
	var b []byte
	header := []string{"X-API-KEY", expresstest.Key}
	if body != "" {
		b = []byte(body)
		header = append(header, "Content-Type", "application/json")
	}
	resp, data := w.send(method, "http://api."+expresstest.Domain+path, b, header...)
	return resp.StatusCode, resp.Header, string(data)
}

// create makes a sandbox with the body that the JS SDK sends (§15.11).
func (w *wire) create() (id, token string) {
	w.t.Helper()
	status, _, body := w.api("POST", "/sandboxes", `{"templateID":"base","timeout":300,"secure":true,"allow_internet_access":true}`)
	var got struct{ SandboxID, EnvdAccessToken, Domain, ClientID, EnvdVersion string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusCreated {
		w.t.Fatalf("create: %d %s", status, body)
	}
	if !regexp.MustCompile(`^i[a-z0-9]{20}$`).MatchString(got.SandboxID) || got.EnvdAccessToken == "" || got.ClientID == "" || got.EnvdVersion == "" || got.Domain != expresstest.Domain {
		w.t.Errorf("create answered %s", body)
	}
	return got.SandboxID, got.EnvdAccessToken
}

// envd is the base of a sandbox's agent.
func envd(id string) string { return "http://49983-" + id + "." + expresstest.Domain }

func frame(flag byte, payload string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(payload)))
	return append(b, payload...)
}

// unframe splits a Connect stream into "[flag] payload" with canonical JSON.
func unframe(t *testing.T, b []byte) []string {
	t.Helper()
	var out []string
	for len(b) > 0 {
		n := int(binary.BigEndian.Uint32(b[1:5]))
		out = append(out, string('0'+rune(b[0]))+" "+canonical(t, string(b[5:5+n])))
		b = b[5+n:]
	}
	return out
}

// canonical is JSON without the random blanks, and with pids made alike.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	b, _ := json.Marshal(v)
	return regexp.MustCompile(`"pid":\d+`).ReplaceAllString(string(b), `"pid":1`)
}

// stream posts one envelope with the headers of §15.1 and returns the frames.
func (w *wire) stream(id, token, method, payload string, more ...string) (*http.Response, []string) {
	w.t.Helper()
	header := append([]string{
		"Content-Type", "application/connect+json", "Connect-Protocol-Version", "1", "Authorization", "Basic dXNlcjo=",
		"Keepalive-Ping-Interval", "50", "X-Access-Token", token,
	}, more...)
	resp, body := w.send("POST", envd(id)+method, frame(0, payload), header...)
	return resp, unframe(w.t, body)
}

func (w *wire) unary(id, token, method, payload string) (int, string) {
	w.t.Helper()
	resp, body := w.send("POST", envd(id)+method, []byte(payload), "Content-Type", "application/json", "X-Access-Token", token, "Authorization", "Basic dXNlcjo=")
	if len(body) == 0 {
		return resp.StatusCode, ""
	}
	return resp.StatusCode, canonical(w.t, string(body))
}

// §15.1 and §15.2.
func TestGoldenStart(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	const start = `0 {"event":{"start":{"pid":1}}}`
	end := func(s string) string { return `0 {"event":{"end":` + s + `}}` }
	for name, c := range map[string]struct {
		payload string
		header  []string
		want    []string
	}{
		"exit 3": {
			payload: `{"process":{"cmd":"/bin/sh","args":["-c","echo hi; sleep 0.2; echo err >&2; exit 3"],"envs":{"A":"1"}},"stdin":false}`,
			want: []string{
				start, `0 {"event":{"data":{"stdout":"aGkK"}}}`, `0 {"event":{"data":{"stderr":"ZXJyCg=="}}}`,
				end(`{"error":"exit status 3","exitCode":3,"exited":true,"status":"exit status 3"}`), `2 {}`,
			},
		},
		"exit 0": {
			payload: `{"process":{"cmd":"true"},"stdin":false}`,
			want:    []string{start, end(`{"exited":true,"status":"exit status 0"}`), `2 {}`},
		},
		"SIGKILL": {
			payload: `{"process":{"cmd":"sh","args":["-c","kill -KILL $$"]},"stdin":false}`,
			want:    []string{start, end(`{"error":"signal: killed","exitCode":-1,"status":"signal: killed"}`), `2 {}`},
		},
		"timeout": {
			payload: `{"process":{"cmd":"sleep","args":["1000"]},"stdin":false}`, header: []string{"Connect-Timeout-Ms", "300"},
			want: []string{start, `2 {"error":{"code":"deadline_exceeded","message":"context deadline exceeded"}}`},
		},
		"bad cwd": {
			payload: `{"process":{"cmd":"true","cwd":"/nope"},"stdin":false}`,
			want:    []string{`2 {"error":{"code":"invalid_argument","message":"cwd '/nope' does not exist"}}`},
		},
		"bad user": {
			payload: `{"process":{"cmd":"true"},"stdin":false}`, header: []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ghost:"))},
			want: []string{`2 {"error":{"code":"unauthenticated","message":"invalid username: 'ghost'"}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp, got := w.stream(id, token, "/process.Process/Start", c.payload, c.header...)
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/connect+json" {
				t.Errorf("%d %v", resp.StatusCode, resp.Header)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	_, got := w.stream(id, token, "/process.Process/Connect", `{"process":{"pid":424242}}`)
	if d := cmp.Diff([]string{`2 {"error":{"code":"not_found","message":"process with pid 424242 not found"}}`}, got); d != "" {
		t.Error(d)
	}
}

// §15.3: the bytes of protobuf.
func TestGoldenProtobuf(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	payload := []byte{0x0a, 0x0a, 0x0a, 0x04, 'e', 'c', 'h', 'o', 0x12, 0x02, 'h', 'i'}
	_, body := w.send("POST", envd(id)+"/process.Process/Start", frame(0, string(payload)),
		"Content-Type", "application/connect+proto", "Connect-Protocol-Version", "1", "X-Access-Token", token)
	for _, part := range [][]byte{
		frame(0, "\x0a\x07\x12\x05\x0a\x03hi\n"),
		frame(0, "\x0a\x13\x1a\x11\x10\x01\x1a\x0dexit status 0"),
		frame(2, "{}"),
	} {
		if !bytes.Contains(body, part) {
			t.Errorf("% x lacks % x", body, part)
		}
	}
}

// §15.5 and §15.6.
func TestGoldenInputAndErrors(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	resp, err := w.open("POST", envd(id)+"/process.Process/Start", frame(0, `{"process":{"cmd":"cat"},"tag":"t1","stdin":true}`),
		"Content-Type", "application/connect+json", "X-Access-Token", token)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	next := func() string {
		t.Helper()
		head := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, head); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(resp.Body, b); err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var start struct {
		Event struct{ Start struct{ PID json.Number } }
	}
	if err := json.Unmarshal([]byte(next()), &start); err != nil {
		t.Fatal(err)
	}
	pid := start.Event.Start.PID.String()
	if status, body := w.unary(id, token, "/process.Process/List", `{}`); status != 200 || body != `{"processes":[{"config":{"cmd":"cat"},"pid":1,"tag":"t1"}]}` {
		t.Errorf("List: %d %s", status, body)
	}
	if status, body := w.unary(id, token, "/process.Process/SendInput", `{"process":{"pid":`+pid+`},"input":{"stdin":"aGVsbG8K"}}`); status != 200 || body != `{}` {
		t.Errorf("SendInput: %d %s", status, body)
	}
	if got := canonical(t, next()); got != `{"event":{"data":{"stdout":"aGVsbG8K"}}}` {
		t.Error(got)
	}
	if status, body := w.unary(id, token, "/process.Process/SendSignal", `{"process":{"pid":`+pid+`},"signal":2}`); status != 501 || !strings.Contains(body, `"unimplemented"`) {
		t.Errorf("SendSignal 2: %d %s", status, body)
	}
	if status, body := w.unary(id, token, "/process.Process/CloseStdin", `{"process":{"pid":`+pid+`}}`); status != 200 || body != `{}` {
		t.Errorf("CloseStdin: %d %s", status, body)
	}
	if got := canonical(t, next()); got != `{"event":{"end":{"exited":true,"status":"exit status 0"}}}` {
		t.Error(got)
	}
	if status, body := w.unary(id, token, "/process.Process/SendSignal", `{"process":{"pid":999999},"signal":"SIGNAL_SIGKILL"}`); status != 404 || body != `{"code":"not_found","message":"process with pid 999999 not found"}` {
		t.Errorf("SendSignal: %d %s", status, body)
	}
	r, body := w.send("POST", envd(id)+"/process.Process/List", []byte(`{}`), "Content-Type", "application/json")
	if r.StatusCode != 401 || canonical(t, string(body)) != `{"code":401,"message":"unauthorized access, please provide a valid access token or method signing if supported"}` {
		t.Errorf("without a token: %d %s", r.StatusCode, body)
	}
}

// §15.7, §15.8 and §15.9.
func TestGoldenFiles(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	home := w.s.Home(id)
	resp, body := w.send("POST", envd(id)+"/files?path=raw.bin&username=user", []byte("hello"), "Content-Type", "application/octet-stream", "X-Access-Token", token)
	if resp.StatusCode != 200 || canonical(t, string(body)) != `[{"name":"raw.bin","path":"`+home+`/raw.bin","type":"file"}]` {
		t.Errorf("POST /files: %d %s", resp.StatusCode, body)
	}
	resp, body = w.send("GET", envd(id)+"/files?path=raw.bin&username=user", nil, "Range", "bytes=1-3", "X-Access-Token", token)
	if resp.StatusCode != 206 || string(body) != "ell" || resp.Header.Get("Content-Range") != "bytes 1-3/5" {
		t.Errorf("range: %d %q %v", resp.StatusCode, body, resp.Header)
	}
	multipart := "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"ignored.txt\"\r\n\r\nabc\r\n--B--\r\n"
	resp, body = w.send("POST", envd(id)+"/files?path=a.txt&username=user", []byte(multipart), "Content-Type", "multipart/form-data; boundary=B", "X-Access-Token", token)
	if resp.StatusCode != 200 || canonical(t, string(body)) != `[{"name":"a.txt","path":"`+home+`/a.txt","type":"file"}]` {
		t.Errorf("multipart: %d %s", resp.StatusCode, body)
	}
	resp, body = w.send("GET", envd(id)+"/files?path=/nope", nil, "X-Access-Token", token)
	if resp.StatusCode != 404 || canonical(t, string(body)) != `{"code":404,"message":"path '/nope' does not exist"}` {
		t.Errorf("missing: %d %s", resp.StatusCode, body)
	}
	// A signature alone, without the token, is not what a client may rely on:
	// without either it is refused.
	resp, body = w.send("GET", envd(id)+"/files?path=raw.bin", nil)
	if resp.StatusCode != 401 || canonical(t, string(body)) != `{"code":401,"message":"missing signature query parameter"}` {
		t.Errorf("unsigned: %d %s", resp.StatusCode, body)
	}
	status, text := w.unary(id, token, "/filesystem.Filesystem/Stat", `{"path":"raw.bin"}`)
	var got struct {
		Entry struct{ Name, Type, Path, Size, Permissions string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got.Entry.Type != "FILE_TYPE_FILE" || got.Entry.Size != "5" || got.Entry.Path != filepath.Join(home, "raw.bin") {
		t.Errorf("Stat: %d %s", status, text)
	}
	if status, text = w.unary(id, token, "/filesystem.Filesystem/Stat", `{"path":"missing"}`); status != 404 || !strings.Contains(text, `"code":"not_found"`) {
		t.Errorf("Stat of nothing: %d %s", status, text)
	}
	if err := os.Mkdir(filepath.Join(home, "dir1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if status, text = w.unary(id, token, "/filesystem.Filesystem/MakeDir", `{"path":"dir1"}`); status != 409 || text != `{"code":"already_exists","message":"directory already exists: `+home+`/dir1"}` {
		t.Errorf("MakeDir: %d %s", status, text)
	}
}

// §15.11 and the tables of alicloud-express §5.
func TestGoldenControl(t *testing.T) {
	w := newWire(t, expresstest.Switches{Generation: 2})
	id, _ := w.create()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/sandboxes/" + id, "", 200, `"state":"running"`},
		{"POST", "/sandboxes/" + id + "/timeout", `{"timeout":10}`, 204, ""},
		{"POST", "/sandboxes/" + id + "/timeout", `{"timeout":0}`, 400, `"code":400`},
		{"POST", "/sandboxes/" + id + "/connect", `{"timeout":300}`, 200, `"sandboxID":"` + id},
		{"PUT", "/sandboxes/" + id + "/network", `{"denyOut":["10.0.0.0/8"],"allow_internet_access":false}`, 204, ""},
		{"PUT", "/sandboxes/" + id + "/network", `{"egressProxy":{"address":"a:1"}}`, 400, ""},
		{"GET", "/sandboxes/" + id + "/metrics?start=1700000000&end=1700000100", "", 404, "404 page not found"},
		{"GET", "/v2/sandboxes/" + id + "/logs", "", 200, `{"logs":[]}`},
		{"POST", "/sandboxes/" + id + "/snapshots", `{"name":"n1"}`, 404, "404 page not found"},
		{"POST", "/sandboxes/" + id + "/pause", `{"memory":true}`, 204, ""},
		{"POST", "/sandboxes/" + id + "/pause", `{"memory":true}`, 409, `"code":409`},
		{"GET", "/v2/sandboxes?state=paused", "", 200, id},
		{"GET", "/v2/sandboxes?state=running", "", 200, `[]`},
		{"GET", "/sandboxes", "", 200, `[]`},
		{"POST", "/sandboxes/" + id + "/connect", `{"timeout":300}`, 201, `"sandboxID":"` + id},
		{"GET", "/v2/sandboxes?limit=0", "", 400, `"code":400`},
		{"GET", "/teams", "", 404, ""},
		{"POST", "/sandboxes", `{"templateID":"nope","timeout":300}`, 404, `"code":404`},
		{"POST", "/v2/sandboxes", `{"templateID":"base"}`, 404, ""},
		{"DELETE", "/sandboxes/" + id, "", 204, ""},
		{"DELETE", "/sandboxes/" + id, "", 404, `"code":404`},
	} {
		status, header, body := w.api(c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, status, body, c.status, c.want)
		}
		if status == 204 && (body != "" || header.Get("Transfer-Encoding") != "") {
			t.Errorf("%s %s: a 204 with a body", c.method, c.path)
		}
	}
	resp, _ := w.send("GET", "http://api."+expresstest.Domain+"/v2/sandboxes", nil, "X-API-KEY", "e2b_ffff")
	if resp.StatusCode != 401 {
		t.Errorf("a wrong key: %d", resp.StatusCode)
	}
}

// The metadata filter of §3.4, byte for byte.
func TestGoldenMetadata(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	status, _, body := w.api("POST", "/sandboxes", `{"templateID":"base","timeout":300,"metadata":{"u":"a b&c=d","k":"v"}}`)
	if status != 201 || strings.Contains(body, "envdAccessToken") {
		t.Fatalf("%d %s", status, body)
	}
	for query, n := range map[string]int{
		"?metadata=u%3Da%252520b%252526c%25253Dd%26k%3Dv": 1, "?metadata=k%3Dv": 1, "?metadata=k%3Dw": 0, "?metadata=other%3Dv": 0,
	} {
		_, _, body := w.api("GET", "/v2/sandboxes"+query, "")
		var rows []json.RawMessage
		if json.Unmarshal([]byte(body), &rows) != nil || len(rows) != n {
			t.Errorf("%s: %s", query, body)
		}
	}
	if status, _, _ := w.api("GET", "/v2/sandboxes?metadata=nonsense", ""); status != 400 {
		t.Errorf("a malformed filter: %d", status)
	}
}

func TestGoldenPaging(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	want := []string{}
	for range 3 {
		id, _ := w.create()
		want = append([]string{id}, want...) // newest first
	}
	var got []string
	token := ""
	for range 3 {
		_, header, body := w.api("GET", "/v2/sandboxes?limit=1&nextToken="+token, "")
		var rows []struct{ SandboxID string }
		if err := json.Unmarshal([]byte(body), &rows); err != nil || len(rows) != 1 {
			t.Fatalf("%s", body)
		}
		got = append(got, rows[0].SandboxID)
		token = header.Get("x-next-token")
	}
	if d := cmp.Diff(want, got); d != "" || token != "" {
		t.Errorf("%s, then %q", d, token)
	}
	if status, _, _ := w.api("GET", "/v2/sandboxes?nextToken=%21", ""); status != 400 {
		t.Errorf("a bad token: %d", status)
	}
}

// §15.12, §6.2 and alicloud-express §3: the edge.
func TestGoldenEdge(t *testing.T) {
	w := newWire(t, expresstest.Switches{NoServer: true})
	id, token := w.create()
	resp, body := w.send("GET", envd("iabc")+"/health", nil)
	if resp.StatusCode != 502 || canonical(t, string(body)) != `{"code":502,"message":"The sandbox was not found","sandboxId":"iabc"}` {
		t.Errorf("unknown: %d %s", resp.StatusCode, body)
	}
	if resp, _ = w.send("GET", envd(id)+"/health", nil); resp.StatusCode != 204 {
		t.Errorf("health: %d", resp.StatusCode)
	}
	if resp, _ = w.send("POST", envd(id)+"/init", []byte(`{}`)); resp.StatusCode != 404 {
		t.Errorf("init from outside: %d", resp.StatusCode)
	}
	resp, body = w.send("GET", "http://9000-"+id+"."+expresstest.Domain+"/health", nil, "X-Access-Token", token)
	if resp.StatusCode != 502 || !strings.Contains(string(body), `"port":9000`) {
		t.Errorf("a closed port: %d %s", resp.StatusCode, body)
	}
	if resp, _ = w.send("GET", "http://9000-"+id+"."+expresstest.Domain+"/health", nil); resp.StatusCode != 403 {
		t.Errorf("a port without a token: %d", resp.StatusCode)
	}
	// The other routing form: one address, and headers.
	resp, _ = w.send("GET", w.s.URL+"/health", nil, "E2b-Sandbox-Id", id, "E2b-Sandbox-Port", "49983")
	if resp.StatusCode != 204 {
		t.Errorf("by header: %d", resp.StatusCode)
	}
	status, _, made := w.api("POST", "/sandboxes", `{"templateID":"base","timeout":60,"secure":true,"network":{"allowPublicTraffic":false}}`)
	var got struct{ SandboxID, TrafficAccessToken, EnvdAccessToken string }
	if json.Unmarshal([]byte(made), &got) != nil || status != 201 || got.TrafficAccessToken == "" {
		t.Fatalf("%d %s", status, made)
	}
	if _, _, body := w.api("GET", "/sandboxes/"+got.SandboxID, ""); strings.Contains(body, "traffic") {
		t.Errorf("get tells the traffic token: %s", body)
	}
	code := "http://49999-" + got.SandboxID + "." + expresstest.Domain + "/health"
	if resp, _ = w.send("GET", code, nil, "X-Access-Token", got.EnvdAccessToken); resp.StatusCode != 403 {
		t.Errorf("without the traffic token: %d", resp.StatusCode)
	}
	if resp, _ = w.send("GET", code, nil, "X-Access-Token", got.EnvdAccessToken, "e2b-traffic-access-token", got.TrafficAccessToken); resp.StatusCode != 200 {
		t.Errorf("with it: %d", resp.StatusCode)
	}
	if status, _, _ := w.api("POST", "/sandboxes", `{"templateID":"base","network":{"allowPublicTraffic":false}}`); status != 400 {
		t.Errorf("closed and insecure: %d", status)
	}
}

// §11: the example stream of the code interpreter.
func TestGoldenCode(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	_, body := w.send("POST", "http://49999-"+id+"."+expresstest.Domain+"/execute", []byte(`{"code":"print(\"x\"); 1+1"}`), "Content-Type", "application/json", "X-Access-Token", token)
	want := `{"type": "number_of_executions", "execution_count": 1}
{"type": "stdout", "text": "x\n", "timestamp": "2026-01-01T00:00:00.000000Z"}
{"type": "result", "text": "2", "extra": {}, "is_main_result": true}
{"type": "end_of_execution"}
`
	if d := cmp.Diff(want, string(body)); d != "" {
		t.Error(d)
	}
}

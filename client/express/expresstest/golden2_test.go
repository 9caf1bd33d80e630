//go:build unix

package expresstest_test

import (
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

	"abxdash/client"
	"abxdash/client/e2b"
	"abxdash/client/express/expresstest"
)

// frames reads a stream that stays open, one envelope at a time.
type frames struct {
	w    *wire
	body io.ReadCloser
}

func (w *wire) follow(id, token, method, payload string) *frames {
	w.t.Helper()
	resp, err := w.open("POST", envd(id)+method, frame(0, payload),
		"Content-Type", "application/connect+json", "Connect-Protocol-Version", "1", "Authorization", "Basic dXNlcjo=",
		"Keepalive-Ping-Interval", "1", "X-Access-Token", token)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/connect+json" {
		w.t.Fatalf("%s: %d %v", method, resp.StatusCode, resp.Header)
	}
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return &frames{w, resp.Body}
}

// next is the next envelope as "flag payload"; keepalives are frames like others.
func (f *frames) next() string {
	f.w.t.Helper()
	head := make([]byte, 5)
	if _, err := io.ReadFull(f.body, head); err != nil {
		f.w.t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(f.body, b); err != nil {
		f.w.t.Fatal(err)
	}
	return string('0'+rune(head[0])) + " " + string(b)
}

// until reads terminal output up to a text and returns all of it.
func (f *frames) until(text string) string {
	f.w.t.Helper()
	var out strings.Builder
	for !strings.Contains(out.String(), text) {
		var ev struct {
			Event struct{ Data struct{ PTY string } }
		}
		line := f.next()
		if err := json.Unmarshal([]byte(line[2:]), &ev); err != nil {
			f.w.t.Fatal(err)
		}
		b, err := base64.StdEncoding.DecodeString(ev.Event.Data.PTY)
		if err != nil || line[0] != '0' {
			f.w.t.Fatalf("%q after %q", line, out.String())
		}
		out.Write(b)
	}
	return out.String()
}

// §15.4: a terminal is opened, typed into, resized, and ends with Ctrl-D.
func TestGoldenPTY(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	s := w.follow(id, token, "/process.Process/Start", `{"process":{"cmd":"/bin/sh","args":["-i"],"envs":{"TERM":"xterm-256color","LANG":"C.UTF-8","LC_ALL":"C.UTF-8","PS1":"$ "}},"pty":{"size":{"cols":80,"rows":24}}}`)
	first := s.next()
	if got := canonical(t, first[2:]); got != `{"event":{"start":{"pid":1}}}` {
		t.Fatal(got)
	}
	pid := regexp.MustCompile(`\d+`).FindString(first[2:])
	s.until("$ ")
	send := func(method, body string) {
		t.Helper()
		if status, answer := w.unary(id, token, method, body); status != 200 || answer != `{}` {
			t.Fatalf("%s: %d %s", method, status, answer)
		}
	}
	send("/process.Process/SendInput", `{"process":{"pid":`+pid+`},"input":{"pty":"c3R0eSBzaXplCg=="}}`)
	s.until("24 80\r\n")
	send("/process.Process/Update", `{"process":{"pid":`+pid+`},"pty":{"size":{"cols":132,"rows":43}}}`)
	send("/process.Process/SendInput", `{"process":{"pid":`+pid+`},"input":{"pty":"c3R0eSBzaXplCg=="}}`)
	s.until("43 132\r\n")
	send("/process.Process/SendInput", `{"process":{"pid":`+pid+`},"input":{"pty":"BA=="}}`)
	for {
		line := s.next()
		if strings.Contains(line, `"pty"`) {
			continue // the shell's last words
		}
		if got := canonical(t, line[2:]); line[0] != '0' || got != `{"event":{"end":{"exited":true,"status":"exit status 0"}}}` {
			t.Errorf("%q", line)
		}
		break
	}
	if last := s.next(); last[0] != '2' || canonical(t, last[2:]) != `{}` {
		t.Errorf("%q", last)
	}
}

// §15.8: a watch starts with a frame of its own, then tells what happens; the
// polling form gives each event once.
func TestGoldenWatch(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	dir := filepath.Join(w.s.Home(id), "dir1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := w.follow(id, token, "/filesystem.Filesystem/WatchDir", `{"path":"dir1"}`)
	if got := s.next(); canonical(t, got[2:]) != `{"start":{}}` {
		t.Fatal(got)
	}
	status, made := w.unary(id, token, "/filesystem.Filesystem/CreateWatcher", `{"path":"dir1","recursive":true,"includeEntry":true}`)
	var watcher struct{ WatcherID string }
	if err := json.Unmarshal([]byte(made), &watcher); err != nil || status != 200 || !regexp.MustCompile(`^w[a-z0-9]+$`).MatchString(watcher.WatcherID) {
		t.Fatalf("CreateWatcher: %d %s", status, made)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	keepalive := false
	for len(seen) < 2 || !keepalive {
		line := s.next()
		got := canonical(t, line[2:])
		if got == `{"keepalive":{}}` {
			keepalive = true
			continue
		}
		seen = append(seen, got)
	}
	if seen[0] != `{"filesystem":{"name":"w.txt","type":"EVENT_TYPE_CREATE"}}` || seen[1] != `{"filesystem":{"name":"w.txt","type":"EVENT_TYPE_WRITE"}}` {
		t.Errorf("%q", seen)
	}
	ask := func() string {
		t.Helper()
		status, got := w.unary(id, token, "/filesystem.Filesystem/GetWatcherEvents", `{"watcherId":"`+watcher.WatcherID+`"}`)
		if status != 200 {
			t.Fatalf("GetWatcherEvents: %d %s", status, got)
		}
		return got
	}
	if got := ask(); !strings.Contains(got, `"EVENT_TYPE_CREATE"`) || !strings.Contains(got, `"name":"w.txt"`) {
		t.Errorf("GetWatcherEvents: %s", got)
	}
	if got := ask(); got != `{}` {
		t.Errorf("a second time: %s", got)
	}
	if status, got := w.unary(id, token, "/filesystem.Filesystem/RemoveWatcher", `{"watcherId":"`+watcher.WatcherID+`"}`); status != 200 || got != `{}` {
		t.Errorf("RemoveWatcher: %d %s", status, got)
	}
}

// The build calls of §15.11, in the words of the JS SDK.
func TestGoldenBuild(t *testing.T) {
	w := newWire(t, expresstest.Switches{BuildSteps: true})
	status, _, body := w.api("POST", "/v3/templates", `{"name":"tpl:v1","tags":["prod"],"cpuCount":2,"memoryMB":1024}`)
	var made struct{ TemplateID, BuildID string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != 202 || made.TemplateID == "" || made.BuildID == "" || !strings.Contains(body, `"tags":["v1","prod"]`) {
		t.Fatalf("%d %s", status, body)
	}
	const hash = "5000c057a8a637685c3a980051d2051cee0169e912bdf988674e5b17a4f800c5"
	status, _, body = w.api("GET", "/templates/"+made.TemplateID+"/files/"+hash, "")
	var file struct {
		Present bool
		URL     string
	}
	if err := json.Unmarshal([]byte(body), &file); err != nil || status != 201 || file.Present || file.URL == "" {
		t.Fatalf("%d %s", status, body)
	}
	if resp, _ := w.send("PUT", file.URL, []byte("archive")); resp.StatusCode != http.StatusLengthRequired {
		t.Errorf("without a length: %d", resp.StatusCode)
	}
	req, err := http.NewRequestWithContext(t.Context(), "PUT", file.URL, strings.NewReader("archive"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.c.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	if _, _, body = w.api("GET", "/templates/"+made.TemplateID+"/files/"+hash, ""); !strings.Contains(body, `"present":true`) {
		t.Error(body)
	}
	recipe := `{"startCmd":"python -m http.server 8000","readyCmd":"[ -n \"$(ss -Htuln sport = :8000)\" ]","steps":[{"type":"COPY","args":["f.txt","/app/","",""],"force":false,"filesHash":"` + hash + `"},{"type":"RUN","args":["apt-get update","root"],"force":false},{"type":"ENV","args":["A","1","B","2"],"force":false},{"type":"WORKDIR","args":["/app"],"force":false},{"type":"USER","args":["user"],"force":false}],"force":false,"fromImage":"debian:12"}`
	build := "/templates/" + made.TemplateID + "/builds/" + made.BuildID
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", build + "/status?logsOffset=0", "", 200, `"status":"waiting"`},
		{"POST", "/v2" + build, recipe, 202, ""},
		{"POST", "/v2" + build, recipe, 409, ""},
		{"GET", build + "/status?logsOffset=0", "", 200, `"status":"ready"`},
		{"POST", "/sandboxes", `{"templateID":"tpl","timeout":300}`, 201, `"sandboxID"`},
		{"POST", "/templates/tags", `{"target":"tpl:v1","tags":["stable"]}`, 201, `"tags":["stable"]`},
		{"DELETE", "/templates/tags", `{"name":"tpl","tags":["v1"]}`, 204, ""},
		{"DELETE", "/templates/tags", `{"name":"tpl","tags":["default"]}`, 400, ""},
		{"GET", "/templates/tpl0/builds/x/status", "", 404, ""},
		{"DELETE", "/templates/" + made.TemplateID, "", 204, ""},
		{"POST", "/sandboxes", `{"templateID":"tpl","timeout":300}`, 404, ""},
	} {
		if status, _, body := w.api(c.method, c.path, c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, status, body, c.status, c.want)
		}
	}
}

// Our own client makes a template of an image on Express, follows its build, and
// leaves nothing behind when steps are refused (alicloud-express §7).
func TestClientBuilds(t *testing.T) {
	s := expresstest.New(t, expresstest.Switches{})
	hc := &http.Client{Transport: &http.Transport{DialContext: s.Dial}}
	t.Cleanup(hc.CloseIdleConnections)
	p, err := e2b.New(e2b.Config{Name: "x", APIURL: "http://api." + expresstest.Domain, Domain: expresstest.Domain, APIKey: expresstest.Key, HTTPClient: hc, AllowHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for image, want := range map[string]string{"registry.test/x:1": "ready", "registry.test/no-such:1": "error"} {
		b, err := p.CreateTemplate(t.Context(), client.TemplateSpec{Name: "mine-" + want, Image: image, CPU: 2, MemoryMB: 1024})
		if err != nil {
			t.Fatal(err)
		}
		var state client.BuildState
		for range 3 {
			if state, err = p.TemplateBuild(t.Context(), b, 0); err != nil {
				t.Fatal(err)
			}
		}
		if state.State != want || want == "error" && !strings.Contains(state.Reason, "cannot be pulled") {
			t.Errorf("%s: %+v", image, state)
		}
	}
	_, err = p.CreateTemplate(t.Context(), client.TemplateSpec{Name: "steps", Image: "x:1", Steps: []client.TemplateStep{{Type: "RUN", Args: []string{"true"}}}})
	if err == nil || client.HintOf(err) == "" {
		t.Errorf("steps: %v (%s), hint %q", err, client.CodeOf(err), client.HintOf(err))
	}
	list, err := p.Templates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if x.Name() == "steps" {
			t.Error("the template whose build was refused is left")
		}
	}
}

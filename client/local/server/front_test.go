package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

const frontKey = "e2b_0123456789abcdef0123456789abcdef01234567"

// newFront is a front of the rig's server.
func newFront(t *testing.T, r *rig) *httptest.Server {
	t.Helper()
	f := NewFront(FrontOptions{Key: frontKey, Dial: func(ctx context.Context) (net.Conn, error) { return DialUnix(ctx, r.sock) }})
	srv := httptest.NewServer(f)
	t.Cleanup(func() { srv.Close(); f.Close() })
	return srv
}

func ask(t *testing.T, srv *httptest.Server, method, path, body, host string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func TestFrontAdmits(t *testing.T) {
	iso := &fakeIsolator{agent: func(Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = r.Header.Write(w) })
	}}
	r := newRig(t, iso)
	srv := newFront(t, r)
	self := strings.TrimPrefix(srv.URL, "http://")
	_, port, _ := net.SplitHostPort(self)
	open := r.create(`{"templateID":"base","timeout":600}`) // made on the socket, without a token
	rep := ask(t, srv, "POST", "/sandboxes", `{"templateID":"base","secure":false,"timeout":600}`, "", "X-API-KEY", frontKey)
	if rep.status != http.StatusCreated {
		t.Fatalf("create: %d %s", rep.status, rep.body)
	}
	sb := decode[sandboxJSON](t, rep.body)
	if len(sb.EnvdAccessToken) < 40 {
		t.Errorf("made without a token: %+v", sb)
	}
	label := "8000-" + sb.SandboxID + ".localhost:" + port
	for name, c := range map[string]struct {
		method, path, host string
		header             []string
		status             int
	}{
		"health":               {"GET", "/health", "", nil, 204},
		"key":                  {"GET", "/v2/sandboxes", "", []string{"X-Api-Key", frontKey}, 200},
		"key on a name":        {"GET", "/v2/sandboxes", "api.localhost:" + port, []string{"X-Api-Key", frontKey}, 200},
		"no key":               {"GET", "/v2/sandboxes", "", nil, 401},
		"other key":            {"GET", "/v2/sandboxes", "", []string{"X-Api-Key", "e2b_" + strings.Repeat("0", 40)}, 401},
		"create without key":   {"POST", "/sandboxes", "", nil, 401},
		"rebound name":         {"GET", "/health", "evil.example:" + port, nil, 403},
		"name that ends alike": {"GET", "/health", "notlocalhost:" + port, nil, 403},
		"address elsewhere":    {"GET", "/health", "192.0.2.1", nil, 403},
		"other origin":         {"GET", "/v2/sandboxes", "", []string{"X-Api-Key", frontKey, "Origin", "http://evil.example"}, 403},
		"opaque origin":        {"GET", "/health", "", []string{"Origin", "null"}, 403},
		"own origin":           {"GET", "/health", "", []string{"Origin", srv.URL}, 204},
		"origin of a sandbox":  {"GET", "/v2/sandboxes", "", []string{"X-Api-Key", frontKey, "Origin", "http://" + label}, 403},
		"own routes":           {"POST", PathStop, "", []string{"X-Api-Key", frontKey}, 404},
		"status":               {"GET", PathStatus, "", []string{"X-Api-Key", frontKey}, 404},
		"agent":                {"GET", "/x", "", []string{headerID, sb.SandboxID, headerPort, "49983"}, 200},
		"agent without token":  {"GET", "/x", "", []string{headerID, open.SandboxID, headerPort, "49983"}, 401},
		"agent's init":         {"POST", "/init", "", []string{headerID, sb.SandboxID, headerPort, "49983"}, 404},
		"port by label":        {"GET", "/x", label, nil, 502},
		"page of its own":      {"GET", "/x", label, []string{"Origin", "http://" + label}, 502},
		"page of another":      {"GET", "/x", label, []string{"Origin", "http://8000-iother.localhost:" + port}, 403},
		"unknown label":        {"GET", "/x", "8000-iunknown.localhost:" + port, nil, 502},
		"folders":              {"POST", "/sandboxes", "", []string{"X-Api-Key", frontKey, HeaderFolders, "W10="}, 400},
	} {
		if rep := ask(t, srv, c.method, c.path, "", c.host, c.header...); rep.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, rep.status, rep.body, c.status)
		} else if rep.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: lets other pages read", name)
		}
	}
	rep = ask(t, srv, "POST", "/sandboxes", `{"templateID":"base"}`, "", "X-Api-Key", frontKey, HeaderFolders, "W10=")
	if rep.status != http.StatusForbidden {
		t.Errorf("folders through the front: %d %s", rep.status, rep.body)
	}
	// Neither the key nor our own mark reaches a sandbox.
	seen := ask(t, srv, "GET", "/x", "", "", headerID, sb.SandboxID, headerPort, "49983", "X-Api-Key", frontKey, headerFront, "2").body
	if strings.Contains(strings.ToLower(seen), "api-key") || strings.Contains(seen, headerFront) {
		t.Errorf("the sandbox sees %s", seen)
	}
}

func TestSignedURLWithoutRouting(t *testing.T) {
	iso := &fakeIsolator{agent: func(s Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "files of "+s.ID) })
	}}
	r := newRig(t, iso)
	srv := newFront(t, r)
	r.srv.opt.MaxSandboxes = 10
	var last sandboxJSON
	for range 3 {
		last = decode[sandboxJSON](t, ask(t, srv, "POST", "/sandboxes", `{"templateID":"base","timeout":600}`, "", "X-Api-Key", frontKey).body)
	}
	b, _ := r.srv.find(last.SandboxID)
	b.token = "tok_abc123" // the vectors of e2b-protocol §7.6
	for query, ok := range map[string]bool{
		"path=/home/user/out.txt&username=user&signature=v1_ZVZy0uvi9h2Uqu6v/Z/M/r/hOtB/AtNphDtWN1FAG6Q":                                    true,
		"path=/home/user/out.txt&signature=v1_BFlY9PzICPXC/sh/8QMBIe4nYGbE2mfu1lV5pMBmrOk":                                                  true,
		"path=/home/user/out.txt&username=user&signature_expiration=4102444800&signature=v1_lxqQcxEyFjQuaFuDl5wWoAsP25YsZ8O3Eei9V3Lx7Ss":    true,
		"path=/home/user/other.txt&username=user&signature=v1_ZVZy0uvi9h2Uqu6v/Z/M/r/hOtB/AtNphDtWN1FAG6Q":                                  false,
		"path=/home/user/out.txt&username=root&signature=v1_ZVZy0uvi9h2Uqu6v/Z/M/r/hOtB/AtNphDtWN1FAG6Q":                                    false,
		"path=/home/user/out.txt&username=user&signature_expiration=4102444801&signature=v1_lxqQcxEyFjQuaFuDl5wWoAsP25YsZ8O3Eei9V3Lx7Ss":    false,
		"path=/home/user/out.txt&username=user&signature=v1_ZVZy0uvi9h2Uqu6v/Z/M/r/hOtB/AtNphDtWN1FAG6Q&ignored=" + strings.Repeat("x", 10): true,
	} {
		rep := ask(t, srv, "GET", "/files?"+query, "", "")
		if ok && (rep.status != 200 || rep.body != "files of "+last.SandboxID) || !ok && rep.status < 400 {
			t.Errorf("%s: %d %s", query, rep.status, rep.body)
		}
		if rep := ask(t, srv, "POST", "/files?"+query, "", ""); rep.status < 400 {
			t.Errorf("a signature to read lets write: %d", rep.status)
		}
	}
	if rep := ask(t, srv, "GET", "/files?path=x", "", ""); rep.status != http.StatusUnauthorized {
		t.Errorf("no signature: %d", rep.status)
	}
}

func TestFrontPassesWebSockets(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		kind, data, err := c.Read(r.Context())
		if err == nil {
			_ = c.Write(r.Context(), kind, append([]byte("echo "), data...))
		}
		_ = c.Close(websocket.StatusNormalClosure, "")
	}))
	defer inside.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(inside.URL, "http://"))
	r := newRig(t, &fakeIsolator{})
	sb := r.create(`{"templateID":"base","timeout":600}`)
	srv := newFront(t, r)
	h := http.Header{headerID: {sb.SandboxID}, headerPort: {port}}
	c, _, err := websocket.Dial(t.Context(), strings.Replace(srv.URL, "http", "ws", 1), &websocket.DialOptions{HTTPHeader: h, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), websocket.MessageText, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	_, data, err := c.Read(t.Context())
	if err != nil || string(data) != "echo hi" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestFrontWithoutServer(t *testing.T) {
	f := NewFront(FrontOptions{Key: frontKey, Dial: func(context.Context) (net.Conn, error) { return nil, errBoom }})
	srv := httptest.NewServer(f)
	defer srv.Close()
	defer f.Close()
	if rep := ask(t, srv, "GET", "/health", "", ""); rep.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", rep.status, rep.body)
	}
}

func TestFolders(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	project := t.TempDir()
	if err := os.MkdirAll(filepath.Join(project, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "src", "run.sh"), []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	encode := func(list ...Folder) string {
		raw, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(raw)
	}
	rep := r.want(201, "POST", "/sandboxes", `{"templateID":"base"}`, HeaderFolders,
		encode(Folder{Host: project, Copy: true}, Folder{Host: project, Target: "/mnt/p", ReadOnly: true}))
	sb := decode[sandboxJSON](t, rep.body)
	info, err := os.Stat(filepath.Join(r.dir, "sandboxes", sb.SandboxID, "home", filepath.Base(project), "src", "run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if got := iso.specs[0].Mounts; len(got) != 1 || got[0] != (Folder{Host: project, Target: "/mnt/p", ReadOnly: true}) {
		t.Errorf("mounts: %+v", got)
	}
	for name, f := range map[string]Folder{
		"relative":     {Host: "x"},
		"missing":      {Host: filepath.Join(project, "none")},
		"a file":       {Host: filepath.Join(project, "src", "run.sh")},
		"unclean":      {Host: project, Target: "/home/user/../../etc"},
		"copy outside": {Host: project, Target: "/etc/x", Copy: true},
		"copy on home": {Host: project, Target: "/home/user", Copy: true},
	} {
		if rep := r.do("POST", "/sandboxes", `{"templateID":"base"}`, HeaderFolders, encode(f)); rep.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, rep.status, rep.body)
		}
	}
}

// TestCopyStaysInside: the links of a saved home lead nowhere else.
func TestCopyStaysInside(t *testing.T) {
	outside, home, project := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, "way-out")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := fillHome(t.Context(), home, newSandbox{Folders: []Folder{{Host: project, Target: homeInside + "/way-out/sub", Copy: true}}})
	if err == nil {
		t.Error("it was copied through a link")
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("written outside: %v", left)
	}
}

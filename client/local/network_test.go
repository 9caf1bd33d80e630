//go:build linux

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

// fetch asks for a URL from inside, through the proxy that the environment names.
func fetch(t *testing.T, p *Provider, id client.ID, url string) string {
	t.Helper()
	return strings.TrimSpace(run(t, p, id, `no_proxy= NO_PROXY= python3 - `+url+` <<'END'
import sys, urllib.request
try: print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as e: print("HTTP", e.code)
except urllib.error.URLError as e: print("no way out")
END`))
}

// Rules let through what they name, can be replaced while the sandbox runs, and
// concern only sandboxes that were made with some.
func TestNetworkRules(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	t.Parallel()
	p := newProvider(t, Config{})
	needNamespace(t, p)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "outside") }))
	defer web.Close()
	addr := strings.TrimPrefix(web.URL, "http://")
	all := []string{"0.0.0.0/0"}
	on, off := true, false

	sb := create(t, p, client.CreateSpec{Internet: &on, Network: &client.Network{AllowOut: []string{addr}, DenyOut: all}})
	if got := fetch(t, p, sb.ID, web.URL); got != "outside" {
		t.Errorf("allowed: %q", got)
	}
	if got := fetch(t, p, sb.ID, "http://169.254.169.254/"); got != "HTTP 403" {
		t.Errorf("metadata: %q", got)
	}
	if err := p.UpdateNetwork(t.Context(), sb.ID, client.NetworkUpdate{DenyOut: all}); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, p, sb.ID, web.URL); got != "HTTP 403" {
		t.Errorf("after the change: %q", got)
	}
	// Everything public is not this machine's loopback.
	if err := p.UpdateNetwork(t.Context(), sb.ID, client.NetworkUpdate{Internet: &on}); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, p, sb.ID, web.URL); got != "HTTP 403" {
		t.Errorf("loopback by the star: %q", got)
	}

	closed := create(t, p, client.CreateSpec{Internet: &off})
	if got := fetch(t, p, closed.ID, web.URL); got != "no way out" {
		t.Errorf("off: %q", got)
	}
	host := create(t, p, client.CreateSpec{Internet: &on})
	if got := fetch(t, p, host.ID, web.URL); got != "outside" {
		t.Errorf("the host's: %q", got)
	}
	for id, u := range map[client.ID]client.NetworkUpdate{closed.ID: {Internet: &on}, host.ID: {DenyOut: all}} {
		if err := p.UpdateNetwork(t.Context(), id, u); client.CodeOf(err) != client.CodeConflict {
			t.Errorf("%v: %v (%s)", u, err, client.CodeOf(err))
		}
	}
	if _, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Network: &client.Network{AllowOut: []string{"example.com"}}}); err == nil {
		t.Error("a name without a denial was taken")
	}
}

// needNamespace skips where the server works at a weaker level. It starts the server.
func needNamespace(t *testing.T, p *Provider) {
	t.Helper()
	if err := p.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Isolation != client.IsolationNamespace {
		t.Skipf("level %s: %s", st.Isolation, st.IsolationReason)
	}
}

// A build that is under way when the server is told to stop, or is killed, leaves
// nothing (newProvider looks after that), and the template does not come about.
func TestBuildEndsWithTheServer(t *testing.T) {
	t.Parallel()
	for _, hard := range []bool{false, true} {
		t.Run(fmt.Sprint("hard ", hard), func(t *testing.T) {
			p := newProvider(t, Config{})
			l := listening(t, p, ListenOptions{Addr: "127.0.0.1:0"})
			call := func(method, path, body string) (int, string) {
				req, err := http.NewRequestWithContext(t.Context(), method, l.URL+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Api-Key", l.APIKey)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				return res.StatusCode, readAll(t, res)
			}
			_, text := call("POST", "/v3/templates", `{"name":"endless"}`)
			template, build := jsonField(t, text, "templateID"), jsonField(t, text, "buildID")
			path := "/templates/" + template + "/builds/" + build
			if status, text := call("POST", "/v2"+path, `{"steps":[{"type":"RUN","args":["echo running; sleep 1000 & sleep 1000"]}]}`); status != 202 {
				t.Fatal(status, text)
			}
			eventually(t, "the step runs", func() bool {
				_, text := call("GET", path+"/status", "")
				return strings.Contains(text, "[stdout]: running")
			})
			if _, text := call("GET", "/v2/sandboxes", ""); text != "[]\n" {
				t.Errorf("the sandbox of the build is listed: %s", text)
			}
			if hard {
				if err := killServer(p.holder()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
			defer cancel()
			if err := p.Stop(ctx, true); err != nil {
				t.Fatal(err)
			}
			nothingLeft(t, p)
			if status, _ := call("GET", "/templates/aliases/endless", ""); status != 404 {
				t.Errorf("the template is there: %d", status)
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

// Two sandboxes of one listener listen on the same port, though SDKs ask for the
// internet.
func TestListenedSandboxesShareNoPorts(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	needNamespace(t, p)
	l := listening(t, p, ListenOptions{Addr: "127.0.0.1:0"})
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL+"/sandboxes", strings.NewReader(`{"templateID":"base","timeout":300,"allow_internet_access":true}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", l.APIKey)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		id := jsonField(t, readAll(t, res), "sandboxID")
		_ = res.Body.Close()
		run(t, p, client.ID(id), `cd /tmp && echo `+id+` > index.html && { setsid busybox httpd -p 127.0.0.1:8123 || python3 -m http.server 8123 --bind 127.0.0.1 & } >/dev/null 2>&1`)
		eventually(t, "its own page", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			c, err := p.DialPort(ctx, client.ID(id), 8123)
			if err != nil {
				return false
			}
			defer c.Close()
			return strings.Contains(getOver(c), id)
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// getOver asks for / on a connection and returns whatever comes.
func getOver(c net.Conn) string {
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprint(c, "GET /index.html HTTP/1.0\r\n\r\n"); err != nil {
		return ""
	}
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			return text.String()
		}
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// jsonField is a text field of an object.
func jsonField(t *testing.T, text, name string) string {
	t.Helper()
	var v map[string]json.RawMessage
	var s string
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if err := json.Unmarshal(v[name], &s); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return s
}

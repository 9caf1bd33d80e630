package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func routing(id string, port int) []string {
	return []string{headerID, id, headerPort, strconv.Itoa(port)}
}

func TestRouteOf(t *testing.T) {
	for _, c := range []struct {
		host, id, port string
		want           target
		data           bool
		problem        string
	}{
		{host: "localhost"},
		{host: "127.0.0.1:3000"},
		{host: "api.example.com"},
		{host: "sandbox.example.com"},
		{host: "my-host.example.com"},
		{host: "localhost", id: "iabc", port: "49983", want: target{"iabc", 49983}, data: true},
		{host: "[::1]:3000", id: "iabc-client", port: "80", want: target{"iabc", 80}, data: true},
		{host: "9000-iabc.example.com:3000", want: target{"iabc", 9000}, data: true},
		{host: "9000-iabc-old.sub.example.com", want: target{"iabc", 9000}, data: true},
		{host: "9000-IABC.localhost", want: target{"iabc", 9000}, data: true},
		{host: "9000-iabc"},
		{host: "localhost", id: "iabc", data: true, problem: "missing header"},
		{host: "localhost", port: "80", data: true, problem: "missing header"},
		{host: "localhost", id: "iabc", port: "http", data: true, problem: "Invalid sandbox port"},
		{host: "localhost", id: "iabc", port: "0", data: true, problem: "Invalid sandbox port"},
		{host: "localhost", id: "iabc", port: "70000", data: true, problem: "Invalid sandbox port"},
		{host: "localhost", id: "i/../x", port: "80", data: true, problem: "Invalid sandbox ID"},
		{host: "70000-iabc.example.com", data: true, problem: "Invalid sandbox port"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = c.host
		if c.id != "" {
			r.Header.Set("e2b-sandbox-id", c.id)
		}
		if c.port != "" {
			r.Header.Set("E2B-SANDBOX-PORT", c.port)
		}
		got, data, problem := routeOf(r)
		if got != c.want && problem == "" || data != c.data || problem != c.problem {
			t.Errorf("%+v: %+v %v %q", c, got, data, problem)
		}
	}
}

func FuzzRoute(f *testing.F) {
	f.Add("9000-iabc.example.com", "", "")
	f.Add("localhost", "iabc", "49983")
	f.Add("[::1]", "i-b-c", "-1")
	f.Fuzz(func(t *testing.T, host, id, port string) {
		r := &http.Request{Host: host, Header: http.Header{headerID: {id}, headerPort: {port}}}
		got, data, problem := routeOf(r)
		if data && problem == "" && (!validID(got.id) || got.port < 1 || got.port > 65535) {
			t.Errorf("accepted %+v", got)
		}
	})
}

func TestAgentGetsRequestsUnchanged(t *testing.T) {
	got := make(chan *http.Request, 1)
	iso := &fakeIsolator{agent: func(Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			got <- r
			w.Header().Set("Connect-Accept-Encoding", "gzip")
			w.Header().Set("Trailer", "X-End")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "tea")
			w.Header().Set("X-End", "1")
		})
	}}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":60}`)
	head := append(routing(sb.SandboxID, envdPort), "X-Access-Token", "tok", "Connect-Protocol-Version", "1")
	rep := r.do("POST", "/files?path=a%2Fb;c&signature=v1_a%2Bb&x=%zz", "payload", head...)
	if rep.status != http.StatusTeapot || rep.body != "tea" || rep.header.Get("Connect-Accept-Encoding") != "gzip" {
		t.Errorf("%+v", rep)
	}
	req := <-got
	body, _ := io.ReadAll(req.Body)
	if req.URL.RawQuery != "path=a%2Fb;c&signature=v1_a%2Bb&x=%zz" || string(body) != "payload" ||
		req.Header.Get("X-Access-Token") != "tok" || req.Header.Get("X-Forwarded-For") != "" || req.Host != "localhost" {
		t.Errorf("agent got %s %v %q", req.URL, req.Header, body)
	}
	if rep.header.Get(HeaderProtocol) != "" {
		t.Error("the data plane bears the server's own headers")
	}
}

func TestEdgeErrors(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	sb := r.create(`{"templateID":"base","timeout":60}`)
	closed := closedPort(t)
	for _, c := range []struct {
		id     string
		port   int
		path   string
		status int
		want   edgeError
	}{
		{"inone", envdPort, "/health", 502, edgeError{SandboxID: "inone", Message: "The sandbox was not found", Code: 502}},
		{sb.SandboxID, closed, "/", 502, edgeError{SandboxID: sb.SandboxID, Message: "The sandbox is running but port is not open", Port: closed, Code: 502}},
		{sb.SandboxID, envdPort, "/init", 404, edgeError{Message: "not found", Path: "/init", Code: 404}},
		{sb.SandboxID, envdPort, "/x/..%2Ffreeze", 404, edgeError{Message: "not found", Path: "/x/../freeze", Code: 404}},
	} {
		rep := r.do("GET", c.path, "", routing(c.id, c.port)...)
		if got := decode[edgeError](t, rep.body); rep.status != c.status || got != c.want || !strings.HasPrefix(rep.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s:%d%s: %+v", c.id, c.port, c.path, rep)
		}
	}
	if rep := r.do("GET", "/health", "", headerID, sb.SandboxID); rep.status != 400 || strings.TrimSpace(rep.body) != "missing header" {
		t.Errorf("%+v", rep)
	}
}

// closedPort is a loopback port that nothing listens on.
func closedPort(t *testing.T) int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func TestPortsInside(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	sb := r.create(`{"templateID":"base","timeout":60}`)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ws" {
			c, err := websocket.Accept(w, req, nil)
			if err != nil {
				return
			}
			defer c.CloseNow()
			kind, msg, err := c.Read(req.Context())
			if err == nil {
				_ = c.Write(req.Context(), kind, append([]byte("echo "), msg...))
			}
			_ = c.Close(websocket.StatusNormalClosure, "")
			return
		}
		fmt.Fprintf(w, "%s%s", req.Host, req.URL.Path)
	}))
	defer web.Close()
	port := web.Listener.Addr().(*net.TCPAddr).Port

	if rep := r.do("GET", "/hi", "", routing(sb.SandboxID, port)...); rep.body != "localhost/hi" {
		t.Errorf("by header: %+v", rep)
	}
	host := fmt.Sprintf("%d-%s.example.com", port, sb.SandboxID)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/there", nil)
	res, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != host+"/there" {
		t.Errorf("by host: %q", body)
	}

	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	h := http.Header{}
	h.Set(headerID, sb.SandboxID)
	h.Set(headerPort, strconv.Itoa(port))
	ws, _, err := websocket.Dial(ctx, "ws://localhost/ws", &websocket.DialOptions{HTTPClient: r.http, HTTPHeader: h})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, msg, err := ws.Read(ctx); err != nil || string(msg) != "echo hello" {
		t.Errorf("web socket: %q, %v", msg, err)
	}
}

func TestTunnel(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	sb := r.create(`{"templateID":"base","timeout":60}`)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	served := make(chan struct{})
	go func() { // speaks first, then answers once the caller has ended its side
		defer close(served)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "220 hello\n")
		all, _ := io.ReadAll(c)
		fmt.Fprintf(c, "got %s", all)
	}()
	port := ln.Addr().(*net.TCPAddr).Port
	dial := func(id string, port int) (*RelayConn, int, error) {
		c, err := DialUnix(t.Context(), r.sock)
		if err != nil {
			t.Fatal(err)
		}
		return Connect(t.Context(), c, "sandbox", http.Header{headerID: {id}, headerPort: {strconv.Itoa(port)}})
	}
	for what, c := range map[string]struct {
		id     string
		port   int
		status int
	}{
		"unknown sandbox": {"inone", port, 502}, "closed port": {sb.SandboxID, closedPort(t), 502},
		"agent": {sb.SandboxID, envdPort, 403},
	} {
		if conn, status, err := dial(c.id, c.port); conn != nil || status != c.status || err != nil {
			t.Errorf("%s: %v %d %v", what, conn, status, err)
		}
	}
	conn, _, err := dial(sb.SandboxID, port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "some text"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if string(all) != "220 hello\ngot some text" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	<-served
}

func TestStreamsAreFlushedAndCancelled(t *testing.T) {
	next, left := make(chan struct{}), make(chan error, 1)
	iso := &fakeIsolator{agent: func(Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			for {
				if _, err := io.WriteString(w, "frame\n"); err != nil {
					return
				}
				_ = rc.Flush()
				select {
				case <-next:
				case <-r.Context().Done():
					left <- r.Context().Err()
					return
				}
			}
		})
	}}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":60}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/process.Process/Start", strings.NewReader("x"))
	req.Header.Set(headerID, sb.SandboxID)
	req.Header.Set(headerPort, strconv.Itoa(envdPort))
	res, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	br := bufio.NewReader(res.Body)
	for range 3 {
		// Each frame arrives though the agent writes no more until it has.
		if line, err := br.ReadString('\n'); line != "frame\n" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		next <- struct{}{}
	}
	cancel()
	select {
	case <-left:
	case <-time.After(waitLimit):
		t.Fatal("the agent does not learn that its caller left")
	}
}

func TestKillCutsStreams(t *testing.T) {
	iso := &fakeIsolator{agent: func(Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "start")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
	}}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":60}`)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	req.Header.Set(headerID, sb.SandboxID)
	req.Header.Set(headerPort, strconv.Itoa(envdPort))
	res, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if rep := r.do("DELETE", "/sandboxes/"+sb.SandboxID, ""); rep.status != 204 {
		t.Fatalf("%+v", rep)
	}
	if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut stream reads as %v", err)
	}
	if rep := r.do("GET", "/health", "", routing(sb.SandboxID, envdPort)...); rep.status != 502 {
		t.Errorf("%+v", rep)
	}
}

func TestMetricsComeFromTheAgent(t *testing.T) {
	iso := &fakeIsolator{agent: func(s Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" || r.Header.Get("X-Access-Token") != s.AccessToken {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]float64{"ts": 1700000000, "cpu_count": 2, "cpu_used_pct": 12.5, "mem_used": 5, "mem_total": 9})
		})
	}}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":60,"secure":true}`)
	want := metricJSON{Timestamp: time.Unix(1700000000, 0).UTC(), TimestampUnix: 1700000000, CPUCount: 2, CPUUsedPct: 12.5, MemUsed: 5, MemTotal: 9}
	got := decode[[]metricJSON](t, r.do("GET", "/sandboxes/"+sb.SandboxID+"/metrics", "").body)
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
	many := decode[struct{ Sandboxes map[string]metricJSON }](t, r.do("GET", "/sandboxes/metrics?sandbox_ids=inone,"+sb.SandboxID, "").body)
	if len(many.Sandboxes) != 1 || many.Sandboxes[sb.SandboxID] != want {
		t.Errorf("%+v", many)
	}
}

// BenchmarkProxyOutput is the output path: an agent that writes 32 KiB frames
// as fast as it can, through the server, to a reader that drops them.
func BenchmarkProxyOutput(b *testing.B) {
	const frame = 32 << 10
	iso := &fakeIsolator{agent: func(Spec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, rc := make([]byte, frame), http.NewResponseController(w)
			for {
				if _, err := w.Write(data); err != nil {
					return
				}
				_ = rc.Flush()
			}
		})
	}}
	dir := b.TempDir()
	srv := New(Options{Isolator: iso, Dir: dir})
	ln, err := ListenUnix(dir + "/s.sock")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(context.Background(), ln) }()
	defer func() { srv.Stop(); <-done }()
	bx, err := srv.create(b.Context(), newSandbox{TemplateID: "base"}, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	tr := &http.Transport{DisableCompression: true, ReadBufferSize: connBuffer, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialUnix(ctx, dir+"/s.sock")
	}}
	defer tr.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://localhost/", nil)
	req.Header.Set(headerID, bx.id)
	req.Header.Set(headerPort, strconv.Itoa(envdPort))
	res, err := tr.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	buf := make([]byte, 256<<10)
	b.SetBytes(frame)
	b.ResetTimer()
	for range b.N {
		if _, err := io.ReadFull(res.Body, buf[:frame]); err != nil {
			b.Fatal(err)
		}
	}
}

package e2b

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"abxdash/client"
	processpb "abxdash/client/envdpb/process"
)

// agentStub is a live agent for one process: a stream that the test feeds, and
// recorded calls.
type agentStub struct {
	*fake
	feed chan string
	gone chan struct{}
}

func newAgentStub(t *testing.T, replies map[string]http.HandlerFunc) *agentStub {
	s := &agentStub{feed: make(chan string, 16), gone: make(chan struct{})}
	var once sync.Once
	stream := func(w http.ResponseWriter, r *http.Request) {
		defer once.Do(func() { close(s.gone) })
		w.Header().Set("Content-Type", "application/connect+json")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case p, ok := <-s.feed:
				if !ok {
					_, _ = w.Write(frames("{}"))
					return
				}
				b := frames(p, "")
				_, _ = w.Write(b[:5+len(p)])
			case <-r.Context().Done():
				return
			}
		}
	}
	routes := map[string]http.HandlerFunc{
		"POST " + startPath:             stream,
		"POST /process.Process/Connect": stream,
		"POST *":                        answerJSON(http.StatusOK, "{}"),
	}
	for k, v := range replies {
		routes[k] = v
	}
	s.fake = newFake(t, withSandbox(routes))
	return s
}

func (s *agentStub) waitGone(t *testing.T) {
	t.Helper()
	select {
	case <-s.gone:
	case <-time.After(patience):
		t.Fatal("the stream was not given up")
	}
}

func TestPTYSession(t *testing.T) { // 15.4
	s := newAgentStub(t, nil)
	s.feed <- `{"event":{"start":{"pid":32509}}}`
	s.feed <- `{"event":{"data":{"pty":"G1s/MjAwNGh1c2VyQHZtOn4kIA=="}}}`
	ctx := context.Background()
	p, err := newTestClient(t, s.fake, useJSON).Commands().Start(ctx, "i1", client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
	if err != nil {
		t.Fatal(err)
	}
	fr, err := p.Next()
	if err != nil || fr.Stream != client.Terminal || string(fr.Data) != "\x1b[?2004huser@vm:~$ " {
		t.Errorf("first frame %v %q, %v", fr.Stream, fr.Data, err)
	}
	if err := p.Write(ctx, []byte("stty size\n")); err != nil {
		t.Error(err)
	}
	if err := p.Resize(ctx, client.Size{Cols: 132, Rows: 43}); err != nil {
		t.Error(err)
	}
	if err := p.CloseStdin(ctx); err != nil {
		t.Error(err)
	}
	if err := p.Signal(ctx, client.SIGKILL); err != nil {
		t.Error(err)
	}
	if err := p.Signal(ctx, 2); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("signal 2: %v", err)
	}
	s.feed <- `{"event":{"end":{"exited":true, "status":"exit status 0"}}}`
	close(s.feed)
	if out, err := client.Collect(p); err != nil || !out.Exit.OK() {
		t.Errorf("%+v, %v", out, err)
	}
	inputs := s.requests("/SendInput")
	want := []string{`{"process":{"pid":32509},"input":{"pty":"c3R0eSBzaXplCg=="}}`, `{"process":{"pid":32509},"input":{"pty":"BA=="}}`}
	for i, w := range want {
		if diff := cmp.Diff(decoded(t, []byte(w)), decoded(t, inputs[i].body)); diff != "" {
			t.Error(diff)
		}
	}
	got := s.only(t, "/Update").body
	if diff := cmp.Diff(decoded(t, []byte(`{"process":{"pid":32509},"pty":{"size":{"cols":132,"rows":43}}}`)), decoded(t, got)); diff != "" {
		t.Error(diff)
	}
	got = s.only(t, "/SendSignal").body
	if diff := cmp.Diff(decoded(t, []byte(`{"process":{"pid":32509},"signal":"SIGNAL_SIGKILL"}`)), decoded(t, got)); diff != "" {
		t.Error(diff)
	}
	if n := len(s.requests("/CloseStdin")); n != 0 {
		t.Error("CloseStdin was sent to a terminal")
	}
	r := s.only(t, startPath)
	var req processpb.StartRequest
	sent(t, r, "json", &req)
	if req.Stdin != nil || req.GetPty().GetSize().GetCols() != 80 || req.GetPty().GetSize().GetRows() != 24 || req.GetProcess().GetEnvs()["TERM"] != "xterm-256color" {
		t.Errorf("start request %v", &req)
	}
}

func TestStdinInPieces(t *testing.T) { // 15.5, CMD-04
	s := newAgentStub(t, nil)
	s.feed <- `{"event":{"start":{"pid":7}}}`
	ctx := context.Background()
	p, err := newTestClient(t, s.fake, useJSON).Commands().Start(ctx, "i1", client.Command{Argv: []string{"cat"}, Tag: "t1", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 3*maxInput+17)
	for i := range big {
		big[i] = byte(i * 7)
	}
	if err := p.Write(ctx, big); err != nil {
		t.Fatal(err)
	}
	if err := p.CloseStdin(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	s.waitGone(t)
	var got []byte
	pieces := s.requests("/SendInput")
	for _, r := range pieces {
		var m processpb.SendInputRequest
		decodeAs(t, "json", r.body, &m)
		if len(m.GetInput().GetStdin()) > maxInput {
			t.Errorf("a piece of %d bytes", len(m.GetInput().GetStdin()))
		}
		got = append(got, m.GetInput().GetStdin()...)
	}
	if len(pieces) != 4 || !bytes.Equal(got, big) {
		t.Errorf("%d pieces, equal %v", len(pieces), bytes.Equal(got, big))
	}
	s.mu.Lock()
	last := s.seen[len(s.seen)-1].uri
	s.mu.Unlock()
	if last != "/process.Process/CloseStdin" {
		t.Errorf("last call %s", last)
	}
}

func TestWritesKeepTheirOrder(t *testing.T) {
	s := newAgentStub(t, nil)
	s.feed <- `{"event":{"start":{"pid":7}}}`
	ctx := context.Background()
	p, err := newTestClient(t, s.fake, useJSON).Commands().Start(ctx, "i1", client.Command{Argv: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if err := p.Write(ctx, bytes.Repeat([]byte{byte('a' + i)}, maxInput+1)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var got []byte
	for _, r := range s.requests("/SendInput") {
		var m processpb.SendInputRequest
		decodeAs(t, "json", r.body, &m)
		got = append(got, m.GetInput().GetStdin()...)
	}
	changes := 0
	for i := 1; i < len(got); i++ {
		if got[i] != got[i-1] {
			changes++
		}
	}
	if len(got) != 4*(maxInput+1) || changes != 3 {
		t.Errorf("%d bytes, writes interleaved (%d changes)", len(got), changes)
	}
}

func TestProcesses(t *testing.T) { // 15.5
	for body, want := range map[string][]client.ProcessInfo{
		`{"processes":[{"config":{"cmd":"cat","args":["-"],"envs":{"A":"1"},"cwd":"/tmp"}, "pid":32108, "tag":"t1"}]}`: {
			{PID: 32108, Argv: []string{"cat", "-"}, Env: map[string]string{"A": "1"}, Dir: "/tmp", Tag: "t1"},
		},
		`{}`: {},
	} {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /process.Process/List": answerJSON(200, body)}))
		got, err := newTestClient(t, f, useJSON).Commands().Processes(context.Background(), "i1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUnaryErrors(t *testing.T) { // 15.6
	cases := []struct {
		status int
		body   string
		kind   error
		says   string
	}{
		{404, `{"code":"not_found","message":"process with pid 999999 not found"}`, client.ErrNotFound, "999999"},
		{501, `{"code":"unimplemented","message":"invalid signal: 2"}`, client.ErrUnsupported, "invalid signal"},
		{409, `{"code":"already_exists","message":"directory already exists: /x"}`, client.ErrConflict, "already exists"},
		{400, `{"code":"invalid_argument","message":"path is not a directory: /x"}`, nil, "not a directory"},
		{401, `{"code":"unauthenticated","message":"invalid username: 'ghost'"}`, nil, "ghost"},
		{401, `{"code":401,"message":"unauthorized access, please provide a valid access token"}`, client.ErrUnauthorized, "access token"},
		{415, ``, nil, "415"},
		{503, `{"code":"unavailable","message":"going down"}`, client.ErrUnavailable, "going down"},
	}
	bothCodecs(t, func(t *testing.T, _ string, change func(*Config)) {
		for _, tc := range cases {
			f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": answerJSON(tc.status, tc.body)}))
			_, err := newTestClient(t, f, change).Commands().Processes(context.Background(), "i1")
			if e := asClientError(t, err); !errors.Is(e.Kind, tc.kind) || !strings.Contains(e.Error(), tc.says) || e.Code == "" {
				t.Errorf("%d %s: %s %v %q", tc.status, tc.body, e.Code, e.Kind, e)
			}
		}
	})
}

func TestTimeoutIsAHeaderOnly(t *testing.T) { // CMD-06
	for timeout, want := range map[time.Duration]string{
		0: "", time.Second: "1000", 1500 * time.Microsecond: "2", time.Nanosecond: "1",
	} {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST " + startPath: answerStream("json", file(t, "clean-exit3.bin"))}))
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		p, err := newTestClient(t, f, useJSON).Commands().Start(ctx, "i1", client.Command{Argv: []string{"x"}, Timeout: timeout})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.only(t, startPath).header.Get("Connect-Timeout-Ms"); got != want {
			t.Errorf("%v: header %q, want %q", timeout, got, want)
		}
		if _, err := client.Collect(p); err != nil {
			t.Errorf("%v: the start's context ended the stream: %v", timeout, err)
		}
	}
}

func TestCloseDetachesAndUnblocks(t *testing.T) {
	s := newAgentStub(t, nil)
	s.feed <- `{"event":{"start":{"pid":7}}}`
	p, err := newTestClient(t, s.fake, useJSON).Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Next()
		ended <- err
	}()
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) || errors.Is(err, client.ErrStreamBroken) {
			t.Errorf("Next after Close: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Close did not unblock Next")
	}
	s.waitGone(t)
	if n := len(s.requests("/SendSignal")); n != 0 {
		t.Error("detaching sent a signal")
	}
}

func TestSilenceBreaksTheStream(t *testing.T) {
	s := newAgentStub(t, nil)
	s.feed <- `{"event":{"start":{"pid":7}}}`
	p, err := newTestClient(t, s.fake, useJSON, func(c *Config) { c.Silence = 30 * time.Millisecond }).
		Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Next()
	if e := asClientError(t, err); !errors.Is(e, client.ErrStreamBroken) || !strings.Contains(e.Error(), "no sign of life") {
		t.Errorf("got %v", err)
	}
	s.waitGone(t)
}

func TestTokenIsFetchedAgainOnce(t *testing.T) {
	var mu sync.Mutex
	gets := 0
	routes := map[string]http.HandlerFunc{
		"GET /sandboxes/i1": func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			gets++
			body := fmt.Sprintf(`{"sandboxID":"i1","templateID":"b","state":"running","envdVersion":"0.6.13","envdAccessToken":"token-number-%d"}`, gets)
			mu.Unlock()
			answerJSON(200, body)(w, r)
		},
		"POST " + startPath: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Access-Token") != "token-number-2" {
				answerJSON(401, `{"code":401,"message":"unauthorized access"}`)(w, r)
				return
			}
			answerStream("json", file(t, "clean-exit3.bin"))(w, r)
		},
		"POST /process.Process/List": answerJSON(401, `{"code":401,"message":"unauthorized access"}`),
		"POST /files": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("X-Access-Token") != "token-number-4" || string(body) != "data" {
				answerJSON(401, `{"code":401,"message":"unauthorized access"}`)(w, r)
				return
			}
			answerJSON(200, `[{"name":"x","path":"/home/user/x","type":"file"}]`)(w, r)
		},
	}
	f := newFake(t, routes)
	c := newTestClient(t, f, useJSON)
	ctx := context.Background()
	p, err := c.Commands().Start(ctx, "i1", client.Command{Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := client.Collect(p); err != nil || out.Exit.Code != 3 {
		t.Errorf("%+v %v", out, err)
	}
	if n, m := len(f.requests("/sandboxes/i1")), len(f.requests(startPath)); n != 2 || m != 2 {
		t.Errorf("%d gets, %d starts, want 2 and 2", n, m)
	}
	// A refusal that a new token does not cure ends after one repeat.
	if _, err := c.Commands().Processes(ctx, "i1"); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
	if n := len(f.requests("/List")); n != 2 {
		t.Errorf("%d tries, want 2", n)
	}
	if e, err := c.Files().Put(ctx, "i1", "x", io.NewSectionReader(strings.NewReader("..data"), 2, 4), 4); err != nil || e.Path != "/home/user/x" {
		t.Errorf("upload again: %+v %v", e, err)
	}
}

func TestAttachLearnsTheKindOfInput(t *testing.T) {
	// The agent refuses pipe input on a terminal (e2b-protocol §9.3).
	input := func(w http.ResponseWriter, r *http.Request) {
		var m processpb.SendInputRequest
		b, _ := io.ReadAll(r.Body)
		_ = protojson.Unmarshal(b, &m)
		if m.GetInput().GetPty() == nil {
			answerJSON(500, `{"code":"internal","message":"stdin not enabled or closed"}`)(w, r)
			return
		}
		answerJSON(200, "{}")(w, r)
	}
	s := newAgentStub(t, map[string]http.HandlerFunc{"POST /process.Process/SendInput": input})
	s.feed <- `{"event":{"start":{"pid":9}}}`
	ctx := context.Background()
	p, err := newTestClient(t, s.fake, useJSON).Commands().Attach(ctx, "i1", 9)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		if err := p.Write(ctx, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.requests("/SendInput")); n != 3 {
		t.Errorf("%d inputs, want 3: wrong kind, right kind, right kind", n)
	}
	r := s.only(t, "/Connect")
	var req processpb.ConnectRequest
	sent(t, r, "json", &req)
	if req.GetProcess().GetPid() != 9 || r.header.Get("Keepalive-Ping-Interval") != "50" {
		t.Errorf("%v %v", &req, r.header)
	}
	for _, pid := range []int{0, -1} {
		if _, err := newTestClient(t, s.fake).Commands().Attach(ctx, "i1", pid); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
}

func TestStartRefusesWhatTheWireCannotCarry(t *testing.T) {
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{}))
	c := newTestClient(t, f)
	for name, cmd := range map[string]client.Command{
		"nothing":          {},
		"empty program":    {Argv: []string{""}},
		"negative timeout": {Argv: []string{"x"}, Timeout: -1},
		"invalid UTF-8":    {Argv: []string{"x", "\xff"}},
		"invalid variable": {Argv: []string{"x"}, Env: map[string]string{"A": "\xff"}},
	} {
		if _, err := c.Commands().Start(context.Background(), "i1", cmd); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(f.requests("")); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestOldAgents(t *testing.T) {
	cases := []struct {
		version      string
		quirks       Quirks
		user         string
		closeRefused bool
	}{
		{"0.3.9", Quirks{}, "user:", true},
		{"0.3.9", Quirks{IgnoreVersion: true}, "", false},
		{"0.5.1", Quirks{}, "", true},
		{"0.5.2", Quirks{}, "", false},
		{"weird", Quirks{}, "", false},
		{"", Quirks{}, "", false},
	}
	for _, tc := range cases {
		s := newAgentStub(t, map[string]http.HandlerFunc{
			"GET /sandboxes/i1": answerJSON(200, `{"sandboxID":"i1","state":"running","envdVersion":"`+tc.version+`","trafficAccessToken":"traffic-1"}`),
		})
		s.feed <- `{"event":{"start":{"pid":9}}}`
		c := newTestClient(t, s.fake, useJSON, func(c *Config) { c.Quirks = tc.quirks; c.Quirks.TrafficToken = true })
		p, err := c.Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}, Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		r := s.only(t, startPath)
		user, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.header.Get("Authorization"), "Basic "))
		if string(user) != tc.user {
			t.Errorf("%q: user %q, want %q", tc.version, user, tc.user)
		}
		if r.header.Get("E2b-Traffic-Access-Token") != "traffic-1" {
			t.Error("no traffic token")
		}
		if _, has := r.header["X-Access-Token"]; has {
			t.Error("an access token where there is none")
		}
		if err := p.CloseStdin(context.Background()); errors.Is(err, client.ErrUnsupported) != tc.closeRefused {
			t.Errorf("%q: CloseStdin %v", tc.version, err)
		}
		_ = p.Close()
		s.waitGone(t)
	}
}

// A command that ended leaves its connection for the next one.
func TestConnectionIsUsedAgain(t *testing.T) {
	var mu sync.Mutex
	conns := 0
	f := &fake{routes: withSandbox(map[string]http.HandlerFunc{"POST " + startPath: answerStream("json", file(t, "clean-exit3.bin"))})}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			mu.Lock()
			conns++
			mu.Unlock()
		}
	}
	f.Start()
	defer f.Close()
	c := newTestClient(t, f, useJSON)
	for range 20 {
		p, err := c.Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Collect(p); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if conns > 5 {
		t.Errorf("%d connections for 20 commands one after the other", conns)
	}
}

func TestHTTP2(t *testing.T) {
	f := &fake{routes: withSandbox(map[string]http.HandlerFunc{
		"POST " + startPath: func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("protocol %s", r.Proto)
			}
			answerStream("json", file(t, "clean-exit3.bin"))(w, r)
		},
	})}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.EnableHTTP2 = true
	f.StartTLS()
	defer f.Close()
	c := newTestClient(t, f, useJSON, func(c *Config) { c.HTTPClient = f.Client() })
	p, err := c.Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := client.Collect(p); err != nil || out.Exit.Code != 3 {
		t.Errorf("%+v, %v", out, err)
	}
}

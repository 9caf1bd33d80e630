//go:build linux

package services_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/contract"
	"abxdash/client/e2b"
	"abxdash/client/local"
	"abxdash/client/services"
)

func TestMain(m *testing.M) {
	if local.Reexec() {
		return
	}
	os.Exit(m.Run())
}

// backend is a local server that other programs reach over TCP: real sandboxes
// behind the services that these tests play.
func backend(t *testing.T) local.Listening {
	t.Helper()
	root, err := os.MkdirTemp("", "abxdash-services-")
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(local.Config{Version: "services", Root: root})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan local.Listening, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- p.Listen(ctx, local.ListenOptions{Addr: "127.0.0.1:0"}, func(l local.Listening) { ready <- l })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		stop, cancelStop := context.WithTimeout(context.Background(), time.Minute)
		defer cancelStop()
		if err := p.Stop(stop, true); err != nil {
			t.Errorf("stop the local server: %v", err)
		}
		p.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	select {
	case l := <-ready:
		return l
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("the local server does not listen")
	}
	return local.Listening{}
}

// quirky plays a service of the dialect in front of the local server.
type quirky struct {
	t    *testing.T
	back local.Listening
	cube bool

	mu     sync.Mutex
	tokens map[string]string
	// odd are requests that must not have come.
	odd []string
}

var (
	hostRE   = regexp.MustCompile(`^(\d+)-([A-Za-z0-9-]+)\.`)
	pathRE   = regexp.MustCompile(`^/(?:kruise|sandbox)/([A-Za-z0-9-]+)/(\d+)(/.*)?$`)
	onlyID   = regexp.MustCompile(`^/sandboxes/[A-Za-z0-9]+(/(timeout|pause|connect|snapshots|network))?$`)
	keyRE    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	testKeys = "any-key-0123456789"
)

func (q *quirky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m := pathRE.FindStringSubmatch(r.URL.Path); m != nil && m[1] != "api" {
		// The escaped path holds names of files.
		prefix := len(r.URL.EscapedPath()) - len((&url.URL{Path: m[3]}).EscapedPath())
		q.data(w, r, m[1], m[2], r.URL.EscapedPath()[min(max(prefix, 0), len(r.URL.EscapedPath())):])
		return
	}
	if m := hostRE.FindStringSubmatch(r.Host); m != nil {
		q.data(w, r, m[2], m[1], r.URL.EscapedPath())
		return
	}
	if id := r.Header.Get("E2b-Sandbox-Id"); id != "" && !q.cube {
		q.data(w, r, id, r.Header.Get("E2b-Sandbox-Port"), r.URL.EscapedPath())
		return
	}
	q.control(w, r, strings.TrimPrefix(r.URL.Path, "/kruise/api"))
}

// data forwards to a port of a sandbox; the token is the service's business on Cube.
func (q *quirky) data(w http.ResponseWriter, r *http.Request, id, port, path string) {
	to, err := url.Parse(q.back.URL)
	if err != nil {
		q.t.Error(err)
		return
	}
	p := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.URL.Path, p.Out.URL.RawPath = path, ""
			if u, err := url.PathUnescape(path); err == nil {
				p.Out.URL.Path, p.Out.URL.RawPath = u, path
			}
			p.Out.Host = to.Host
			p.Out.Header.Set("E2b-Sandbox-Id", id)
			p.Out.Header.Set("E2b-Sandbox-Port", port)
			if q.cube {
				q.mu.Lock()
				p.Out.Header.Set("X-Access-Token", q.tokens[id])
				q.mu.Unlock()
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode != http.StatusBadGateway {
				return nil
			}
			// Neither service has the JSON that E2B answers here (cubesandbox §4, alicloud-container §4).
			text, status := "sandbox not found", http.StatusBadGateway
			if q.cube {
				text, status = "<html><title>500</title></html>", http.StatusInternalServerError
				resp.Header.Set("X-Cube-Retcode", "310507")
				resp.Header.Set("Content-Type", "text/html")
			} else {
				resp.Header.Set("Content-Type", "text/plain")
			}
			_ = resp.Body.Close()
			resp.StatusCode, resp.Body, resp.ContentLength = status, io.NopCloser(strings.NewReader(text)), int64(len(text))
			resp.Header.Del("Content-Length")
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	// The answer may begin while the request still flows; without this the server
	// would close the request then, and its stream would be cut.
	_ = http.NewResponseController(w).EnableFullDuplex()
	p.ServeHTTP(w, r)
}

// control plays the control plane, with each service's own ways.
func (q *quirky) control(w http.ResponseWriter, r *http.Request, path string) {
	body, _ := io.ReadAll(r.Body)
	say := func(status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
	query := r.URL.Query()
	known := onlyID.MatchString(path) || path == "/sandboxes" && r.Method == http.MethodPost || path == "/v2/sandboxes"
	switch {
	case r.Header.Get("X-API-Key") != testKeys:
		say(http.StatusUnauthorized, `{"code":401,"message":"bad key"}`)
		return
	case !known, query.Has("template"):
		q.mu.Lock()
		q.odd = append(q.odd, r.Method+" "+r.URL.String())
		q.mu.Unlock()
		say(http.StatusOK, `{}`)
		return
	}
	if r.Method == http.MethodPost && path == "/sandboxes" {
		var in struct {
			Timeout   int               `json:"timeout"`
			Metadata  map[string]string `json:"metadata"`
			Lifecycle *struct{ OnTimeout string }
		}
		_ = json.Unmarshal(body, &in)
		if !q.cube {
			for k := range in.Metadata {
				if !keyRE.MatchString(k) {
					say(http.StatusBadRequest, `{"code":400,"message":"bad metadata key"}`)
					return
				}
			}
			if in.Timeout < 30 {
				say(http.StatusBadRequest, `{"code":400,"message":"timeout is below 30"}`)
				return
			}
		} else if in.Lifecycle == nil {
			say(http.StatusBadRequest, `{"code":400,"message":"no lifecycle"}`)
			return
		}
	}
	q.answer(w, r, path, body)
}

// answer asks the local server and changes what it says.
func (q *quirky) answer(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, q.back.URL+path+"?"+r.URL.RawQuery, bytes.NewReader(body))
	if err != nil {
		q.t.Error(err)
		return
	}
	req.Header.Set("X-API-Key", q.back.APIKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	status := resp.StatusCode
	if resp.StatusCode < 300 && bytes.HasPrefix(data, []byte("{")) {
		data = q.rewrite(data)
	}
	switch {
	case q.cube && strings.HasSuffix(path, "/connect") && status == http.StatusCreated:
		status = http.StatusOK
	case !q.cube && strings.HasSuffix(path, "/pause") && status == http.StatusConflict:
		status, data = http.StatusNoContent, nil
	case !q.cube:
		w.Header().Set("X-Next-Token", resp.Header.Get("X-Next-Token"))
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// rewrite changes one sandbox: Cube tells no token, both tell a version that
// means nothing and a domain of their own.
func (q *quirky) rewrite(data []byte) []byte {
	var m map[string]any
	if json.Unmarshal(data, &m) != nil {
		return data
	}
	if id, ok := m["sandboxID"].(string); ok {
		if token, ok := m["envdAccessToken"].(string); ok && token != "" {
			q.mu.Lock()
			q.tokens[id] = token
			q.mu.Unlock()
		}
		m["envdVersion"], m["domain"] = "0.1.1", "wrong.test"
		if q.cube {
			delete(m, "envdAccessToken")
			m["envdVersion"], m["domain"] = "0.2.0", "cube.app"
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		return data
	}
	return out
}

// TestContract runs the suite over the two services in every way of routing.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("real sandboxes behind every service take a while")
	}
	for name, c := range map[string]struct {
		service string
		set     func(front string) services.Settings
	}{
		"container, path": {services.IDContainer, func(u string) services.Settings {
			return services.Settings{Domain: host(u), HTTP: true, Routing: services.RoutePath}
		}},
		"container, host": {services.IDContainer, func(u string) services.Settings {
			return services.Settings{APIURL: u, Domain: "kruise.test", DialData: host(u)}
		}},
		"container, header": {services.IDContainer, func(u string) services.Settings {
			return services.Settings{APIURL: u, DataURL: u, Routing: services.RouteHeader}
		}},
		"cube, host": {services.IDCube, func(u string) services.Settings { return services.Settings{APIURL: u, DialData: host(u), User: "user"} }},
		"cube, path": {services.IDCube, func(u string) services.Settings {
			return services.Settings{APIURL: u, Routing: services.RoutePath, User: "user"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			q := &quirky{t: t, back: backend(t), cube: c.service == services.IDCube, tokens: map[string]string{}}
			front := httptest.NewServer(q)
			defer front.Close()
			contract.Run(t, func(t *testing.T) contract.Setup {
				s, _ := services.Lookup(c.service)
				cfg, err := s.Config(c.service, c.set(front.URL))
				if err != nil {
					t.Fatal(err)
				}
				cfg.APIKey, cfg.RequestTimeout = testKeys, 30*time.Second
				p, err := e2b.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(p.Close)
				setup := contract.Setup{Provider: p, PlainKeys: !q.cube, OnePage: q.cube}
				if !q.cube {
					setup.MinLifetime = 31 * time.Second
				}
				return setup
			})
			if len(q.odd) > 0 {
				t.Errorf("calls that this service misunderstands: %q", q.odd)
			}
		})
	}
}

func host(u string) string { return strings.TrimPrefix(u, "http://") }

// TestNothingIsProbed: what a service lacks is never asked for.
func TestNothingIsProbed(t *testing.T) {
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = io.WriteString(w, `{}`)
	}))
	defer srv.Close()
	for _, s := range services.All() {
		if s.Dialect != services.E2B {
			continue
		}
		cfg, err := s.Config(s.ID, services.Settings{APIURL: srv.URL, DataURL: srv.URL, Routing: services.RouteHeader})
		if err != nil {
			t.Fatal(err)
		}
		p, err := e2b.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for k := range s.Lacks {
			switch k {
			case client.CapMetrics:
				_, err = p.Metrics(t.Context(), "i1", time.Time{}, time.Time{})
			case client.CapLogs:
				_, err = p.Logs(t.Context(), "i1", time.Time{}, 1)
			case client.CapSnapshot:
				_, err = p.Snapshot(t.Context(), "i1", "")
			case client.CapNetworkUpdate:
				err = p.UpdateNetwork(t.Context(), "i1", client.NetworkUpdate{})
			default:
				continue
			}
			if client.CodeOf(err) != client.CodeUnsupported || calls > 0 {
				t.Errorf("%s, %s: %v, %d calls", s.ID, k, err, calls)
			}
		}
		p.Close()
	}
}

// TestAddresses: where requests go for each preset and routing.
func TestAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		id        string
		set       services.Settings
		api, data string
		bad       string
	}{
		"e2b":             {id: "e2b", api: "https://api.e2b.app", data: "https://{port}-{id}.{domain}"},
		"self-hosted":     {id: "e2b", set: services.Settings{APIURL: "https://api.lab.test/x"}, api: "https://api.lab.test/x", data: "https://{port}-{id}.{domain}"},
		"container":       {id: "alicloud-container", set: services.Settings{Domain: "c.test:8443"}, api: "https://api.c.test:8443", data: "https://{port}-{id}.{domain}"},
		"container, path": {id: "alicloud-container", set: services.Settings{Domain: "c.test", Routing: "path"}, api: "https://c.test/kruise/api", data: "https://c.test/kruise/{id}/{port}"},
		"container, none": {id: "alicloud-container", bad: "no address"},
		"cube":            {id: "cubesandbox", set: services.Settings{AllowHTTP: true}, api: "http://127.0.0.1:3000", data: "http://{port}-{id}.{domain}"},
		"tencent":         {id: "tencent-ags", api: "https://api.ap-guangzhou.tencentags.com", data: "https://{port}-{id}.{domain}"},
		"baidu in gz":     {id: "baidu-cfc", set: services.Settings{Region: "gz"}, api: "https://api.sandbox-execute.gz.baidubce.com", data: "https://{port}-{id}.{domain}"},
		"huawei":          {id: "huawei-agentsphere", set: services.Settings{Region: "r1", DataURL: "https://gw.test"}, api: "https://agentsphere.r1.myhuaweicloud.com", data: "https://gw.test"},
		"bad quirk":       {id: "e2b", set: services.Settings{Quirks: map[string]bool{"x": true}}, bad: "no quirk"},
		"bad header":      {id: "e2b", set: services.Settings{KeyHeader: "cookie"}, bad: "key_header"},
		"no such file":    {id: "e2b", set: services.Settings{CAFile: "/no/such/file"}, bad: "ca_file"},
	} {
		s, ok := services.Lookup(c.id)
		if !ok {
			t.Fatal(c.id)
		}
		cfg, err := s.Config("x", c.set)
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || cfg.APIURL != c.api || cfg.DataURL != c.data {
			t.Errorf("%s: %s and %s, %v", name, cfg.APIURL, cfg.DataURL, err)
		}
	}
}

// TestDialKeepsTheName: with https the Host header and the name in TLS are
// those of the URL, the connection goes elsewhere, and a CA of its own is trusted.
func TestDialKeepsTheName(t *testing.T) {
	type seen struct{ host, name string }
	got := make(chan seen, 1)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case got <- seen{r.Host, r.TLS.ServerName}:
		default:
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer srv.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"sandboxID":"i1","templateID":"t","state":"running"}`)
	}))
	defer api.Close()
	s, _ := services.Lookup(services.IDCube)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	cfg, err := s.Config("cube", services.Settings{APIURL: api.URL, DataURL: "https://{port}-{id}.{domain}", DialData: "127.0.0.1:" + port, InsecureTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := e2b.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, _ = p.Files().ReadDir(t.Context(), "i1", "/")
	select {
	case g := <-got:
		if g.host != "49983-i1.cube.app" || g.name != "49983-i1.cube.app" {
			t.Errorf("host %q, TLS name %q", g.host, g.name)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nothing arrived")
	}
}

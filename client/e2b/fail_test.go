package e2b

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

func TestStatusToError(t *testing.T) {
	create := func(c *Client) error {
		_, err := c.Sandboxes().Create(context.Background(), client.CreateSpec{})
		return err
	}
	list := func(c *Client) error {
		_, err := c.Sandboxes().List(context.Background(), client.Query{})
		return err
	}
	cases := []struct {
		name   string
		do     func(*Client) error
		status int
		header map[string]string
		body   string
		code   client.Code
		kind   error
		says   string
	}{
		{"bad key", list, 401, nil, `{"code":401,"message":"invalid key"}`, client.CodeAuthMissing, client.ErrUnauthorized, "invalid key"},
		{"banned", list, 403, nil, `{"code":403,"message":"team is banned"}`, client.CodeAuth, client.ErrUnauthorized, "banned"},
		{"no such template", create, 404, nil, `{"code":404,"message":"template not found"}`, client.CodeTemplateMissing, client.ErrNotFound, "template not found"},
		{"limit of sandboxes", create, 429, nil, `{"code":429,"message":"you have reached the limit"}`, client.CodeQuota, client.ErrRateLimited, "limit"},
		{"rate", list, 429, map[string]string{"Retry-After": "2"}, `{"code":429,"message":"slow down"}`, client.CodeRateLimited, client.ErrRateLimited, "slow down"},
		{"no capacity", create, 503, nil, `{"code":503,"message":"Failed to place sandbox","error_code":"sandbox_capacity_unavailable"}`, client.CodeCreate, client.ErrUnavailable, "place"},
		{"server", list, 500, nil, `{"code":500,"message":"oops"}`, client.CodeServer, client.ErrUnavailable, "oops"},
		{"not there", list, 405, nil, ``, client.CodeUnsupported, client.ErrUnsupported, "405"},
		{"text", list, 500, nil, "first line\nsecond", client.CodeServer, client.ErrUnavailable, "first line"},
		{"message of another type", list, 400, nil, `{"code":"400","message":{"a":1},"request_id":"r1"}`, client.CodeUsage, nil, "400"},
		{"controls in the message", list, 500, nil, `{"code":500,"message":"\u001b]0;owned\u0007\n\u009b2J"}`, client.CodeServer, client.ErrUnavailable, `\u001b]0;owned\u0007\n\u009b2J`},
		{"not a code", list, 200, nil, `{"code":500,"message":"failed inside"}`, client.CodeServer, client.ErrUnavailable, "failed inside"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			h := func(w http.ResponseWriter, r *http.Request) {
				for k, v := range tc.header {
					w.Header().Set(k, v)
				}
				answerJSON(tc.status, tc.body)(w, r)
			}
			f := newFake(t, map[string]http.HandlerFunc{"GET *": h, "POST *": h})
			e := asClientError(t, tc.do(newTestClient(t, f)))
			if e.Code != tc.code || !errors.Is(e.Kind, tc.kind) || e.Provider != "test" {
				t.Errorf("code %s, kind %v, want %s, %v (%v)", e.Code, e.Kind, tc.code, tc.kind, e)
			}
			if !strings.Contains(e.Error(), tc.says) || strings.ContainsFunc(e.Error(), client.Unsafe) {
				t.Errorf("text %q, want %q in it", e.Error(), tc.says)
			}
			if tc.status == 401 && (e.Hint == "" || !strings.Contains(e.Error(), "401") || !strings.Contains(e.Error(), "127.0.0.1")) {
				t.Errorf("401 without status, host or hint: %q, %q", e.Error(), e.Hint)
			}
			if tc.header["Retry-After"] != "" && e.RetryAfter != 2*time.Second {
				t.Errorf("retry after %v", e.RetryAfter)
			}
		})
	}
}

func TestAccessTokenAsKey(t *testing.T) { // AUT-09
	f := newFake(t, map[string]http.HandlerFunc{"GET *": answerJSON(401, `{"code":401,"message":"no"}`)})
	_, err := newTestClient(t, f, func(c *Config) { c.APIKey = "sk_e2b_x" }).Sandboxes().List(context.Background(), client.Query{})
	if hint := client.HintOf(err); !strings.Contains(hint, "access token") {
		t.Errorf("hint %q", hint)
	}
	if got := f.only(t, "/v2/sandboxes").header.Get("X-API-Key"); got != "sk_e2b_x" {
		t.Errorf("sent %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"2", "", 2 * time.Second},
		{"-4", "", 0},
		{"99999999", "", 24 * time.Hour},
		{"soon", "", 0},
		{now.Add(3 * time.Second).Format(http.TimeFormat), "", 3 * time.Second},
		{now.Add(-3 * time.Second).Format(http.TimeFormat), "", 0},
		{now.Add(time.Hour).Format(http.TimeFormat), now.Add(time.Hour - 3*time.Second).Format(http.TimeFormat), 3 * time.Second},
	}
	for _, tc := range cases {
		h := http.Header{"Retry-After": {tc.value}, "Date": {tc.date}}
		if got := retryAfter(h, now); got != tc.want {
			t.Errorf("%q with Date %q: %v, want %v", tc.value, tc.date, got, tc.want)
		}
	}
}

// everyCall runs one call of each kind against c.
func everyCall(c *Client) map[string]error {
	ctx := context.Background()
	out := map[string]error{}
	_, out["list"] = c.Sandboxes().List(ctx, client.Query{})
	_, out["exec"] = c.Commands().Start(ctx, "i1", client.Command{Argv: []string{"true"}})
	_, out["ps"] = c.Commands().Processes(ctx, "i1")
	_, out["stat"] = c.Files().Stat(ctx, "i1", "x")
	_, out["upload"] = c.Files().Put(ctx, "i1", "x", strings.NewReader("data"), 4)
	body, err := c.Files().Open(ctx, "i1", "x")
	if err == nil {
		_ = body.Close()
	}
	out["download"] = err
	return out
}

func TestHTMLInsteadOfJSON(t *testing.T) { // STR-05
	page := string(file(t, "502.html"))
	for _, status := range []int{http.StatusBadGateway, http.StatusOK} {
		h := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(page))
		}
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"GET /v2/sandboxes": h, "POST *": h, "GET *": h}))
		for name, err := range everyCall(newTestClient(t, f)) {
			if name == "download" && status == http.StatusOK {
				continue // a downloaded file may well be HTML
			}
			e := asClientError(t, err)
			s := e.Error()
			if e.Code != client.CodeBadAnswer || len(s) > 200 || strings.ContainsAny(s, "<\x1b\n") ||
				!strings.Contains(s, "HTML instead of JSON") || !strings.Contains(s, "127.0.0.1") || !strings.Contains(s, "Upstream unhappy") {
				t.Errorf("%s with %d: %s %q", name, status, e.Code, s)
			}
		}
	}
}

func TestClosedPortAndGoneSandbox(t *testing.T) { // STR-06, 15.12
	closed := string(file(t, "502-port.json"))
	h := answerJSON(http.StatusBadGateway, closed)
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": h, "GET *": h, "GET /v2/sandboxes": answerJSON(200, "[]")}))
	for name, err := range everyCall(newTestClient(t, f)) {
		if name == "list" {
			continue
		}
		e := asClientError(t, err)
		if !strings.Contains(e.Error(), "49999") || strings.Contains(strings.ToLower(e.Error()+e.Hint), "timeout") || !errors.Is(e, client.ErrUnavailable) || e.Hint == "" {
			t.Errorf("%s: %q, hint %q, kind %v", name, e.Error(), e.Hint, e.Kind)
		}
	}
	h = answerJSON(http.StatusBadGateway, `{"sandboxId":"i1","message":"The sandbox was not found","code":502}`)
	f = newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": h, "GET *": h, "GET /v2/sandboxes": answerJSON(200, "[]")}))
	for name, err := range everyCall(newTestClient(t, f)) {
		if name != "list" && (!errors.Is(err, client.ErrNotFound) || client.CodeOf(err) != client.CodeNotFound) {
			t.Errorf("%s of a gone sandbox: %v", name, err)
		}
	}
}

// percentAll percent-encodes every byte.
func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

func TestKeyIsMaskedEverywhere(t *testing.T) { // AUT-08
	const token = "tok/0123456789+abcdef="
	forms := func(k string) map[string]string {
		return map[string]string{
			"raw": k, "query": url.QueryEscape(k), "path": url.PathEscape(k),
			"lower percent": strings.ToLower(percentAll(k)), "hex": hex.EncodeToString([]byte(k)),
			"base64": base64.StdEncoding.EncodeToString([]byte(k)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte(k)),
			"base64 inside": base64.StdEncoding.EncodeToString([]byte("a" + k + "z")), "base64 inside 2": base64.StdEncoding.EncodeToString([]byte("ab" + k + "yz")),
			"upper case": strings.ToUpper(k),
		}
	}
	for _, secret := range []string{testKey, token} {
		for name, form := range forms(secret) {
			t.Run(name, func(t *testing.T) {
				bad := answerJSON(http.StatusUnauthorized, `{"code":401,"message":"key `+form+` not accepted"}`)
				routes := map[string]http.HandlerFunc{
					"GET /sandboxes/i1": answerJSON(200, `{"sandboxID":"i1","templateID":"b","state":"running","envdAccessToken":"`+token+`"}`),
					"GET *":             bad, "POST *": bad,
				}
				c := newTestClient(t, newFake(t, routes))
				for call, err := range everyCall(c) {
					if secret == token && call == "list" {
						continue // the control plane never sees a token
					}
					s := err.Error() + client.HintOf(err)
					for e := err; e != nil; e = errors.Unwrap(e) {
						s += e.Error()
					}
					if strings.Contains(s, form) || strings.Contains(strings.ToLower(s), strings.ToLower(secret[8:len(secret)-8])) {
						t.Errorf("%s leaks the secret: %q", call, s)
					}
					if !strings.Contains(s, "not accepted") {
						t.Errorf("%s lost the message: %q", call, s)
					}
				}
			})
		}
	}
}

func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := New(Config{APIURL: srv.URL, DataURL: srv.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.learn("i1", wireSandbox{EnvdVersion: "0.6.13"})
	for name, err := range everyCall(c) {
		e := asClientError(t, err)
		if e.Code != client.CodeConnect || !errors.Is(err, client.ErrUnavailable) || e.Hint == "" || !strings.Contains(e.Error(), "cannot reach 127.0.0.1") {
			t.Errorf("%s: %s %q", name, e.Code, e.Error())
		}
	}
}

func TestNoAnswer(t *testing.T) {
	release := make(chan struct{})
	h := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"GET /v2/sandboxes": h, "POST *": h}))
	defer close(release)
	c := newTestClient(t, f, func(c *Config) { c.RequestTimeout = 50 * time.Millisecond })
	c.learn("i1", wireSandbox{})
	ctx := context.Background()
	_, list := c.Sandboxes().List(ctx, client.Query{})
	_, start := c.Commands().Start(ctx, "i1", client.Command{Argv: []string{"true"}})
	_, stat := c.Files().Stat(ctx, "i1", "x")
	for name, err := range map[string]error{"list": list, "start": start, "stat": stat} {
		e := asClientError(t, err)
		if e.Code != client.CodeNetwork || !errors.Is(err, client.ErrUnavailable) || !strings.Contains(e.Error(), "no answer from") {
			t.Errorf("%s: %s %v %q", name, e.Code, e.Kind, e.Error())
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range map[string]error{
		"list":  second(c.Sandboxes().List(gone, client.Query{})),
		"start": second(c.Commands().Start(gone, "i1", client.Command{Argv: []string{"true"}})),
	} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnavailable) {
			t.Errorf("cancelled %s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestRedirectsKeepKeysOnTheirHost(t *testing.T) {
	other := newFake(t, map[string]http.HandlerFunc{"GET *": answerJSON(200, "[]")})
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /v2/sandboxes": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v2/sandboxes", http.StatusTemporaryRedirect)
		},
		"GET /sandboxes/i1": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/sandboxes/i2", http.StatusTemporaryRedirect)
		},
		"GET /sandboxes/i2": answerJSON(200, getSandbox),
	})
	c := newTestClient(t, f)
	if _, err := c.Sandboxes().List(context.Background(), client.Query{}); err == nil {
		t.Error("followed a redirect to another host")
	}
	if n := len(other.requests("")); n != 0 {
		t.Errorf("%d requests reached the other host", n)
	}
	if _, err := c.Sandboxes().Get(context.Background(), "i1"); err != nil {
		t.Errorf("redirect within the host: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	cases := []struct {
		name string
		cfg  Config
		ok   bool
	}{
		{"nothing set", Config{}, true},
		{"loopback", Config{APIURL: "http://127.0.0.1:1", DataURL: "http://localhost:1"}, true},
		{"loopback name", Config{APIURL: "http://[::1]:1", DataURL: "http://{port}-{id}.localhost:1"}, true},
		{"plain http", Config{APIURL: "http://example.test", DataURL: "https://example.test"}, false},
		{"plain http data", Config{APIURL: "https://example.test", DataURL: "http://{port}-{id}.{domain}"}, false},
		{"a host that only looks like loopback", Config{APIURL: "http://localhost.example.test", DataURL: "https://x.test"}, false},
		{"plain http allowed", Config{APIURL: "http://example.test", DataURL: "http://example.test", AllowHTTP: true}, true},
		{"user in URL", Config{APIURL: "https://u:p@example.test"}, false},
		{"no scheme", Config{APIURL: "example.test"}, false},
		{"other scheme", Config{APIURL: "ftp://example.test"}, false},
		{"data URL only", Config{DataURL: "https://example.test"}, false},
		{"key with a line break", Config{APIKey: "abxtest_0000\nbeef"}, false},
		{"key with a no-break space", Config{APIKey: "abxtest_0000\u00a0"}, false},
	}
	for _, tc := range cases {
		c, err := New(tc.cfg)
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "beef") || strings.Contains(err.Error(), "u:p@")) {
			t.Errorf("%s: the error tells a secret: %v", tc.name, err)
		}
		if c != nil {
			c.Close()
		}
	}
}

func TestPortURL(t *testing.T) {
	cases := []struct {
		name string
		cfg  Config
		want string
	}{
		{"default", Config{}, "https://3000-i1.e2b.app"},
		{"own domain", Config{Domain: "x.test"}, "https://3000-i1.x.test"},
		{"shared host", Config{Domain: "x.test", DataURL: "https://sandbox.{domain}"}, "https://3000-i1.x.test"},
		{"path", Config{Domain: "x.test", DataURL: "https://{domain}/kruise/{id}/{port}"}, "https://x.test/kruise/i1/3000"},
		{"web pattern", Config{APIURL: "http://localhost:1", DataURL: "http://localhost:1", WebURL: "http://{port}-{id}.localhost:1"}, "http://3000-i1.localhost:1"},
		{"no addresses", Config{APIURL: "http://localhost:1", DataURL: "http://localhost:1"}, ""},
	}
	for _, tc := range cases {
		c, err := New(tc.cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.PortURL("i1", 3000)
		if got != tc.want || (tc.want == "") != errors.Is(err, client.ErrUnsupported) {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
		if _, err := c.PortURL("i1", 0); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("port 0: %v", err)
		}
	}
	c, err := New(Config{Domain: "x.test"})
	if err != nil {
		t.Fatal(err)
	}
	c.learn("i1", wireSandbox{Domain: "own.test"})
	c.learn("i2", wireSandbox{Domain: "evil.test/path?"})
	if got, _ := c.PortURL("i1", 80); got != "https://80-i1.own.test" {
		t.Errorf("the sandbox's own domain: %q", got)
	}
	if got, _ := c.PortURL("i2", 80); got != "https://80-i2.x.test" {
		t.Errorf("a domain that is none: %q", got)
	}
}

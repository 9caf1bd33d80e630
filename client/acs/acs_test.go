package acs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var vectorTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// The vector of alicloud-express §9.2, made with the vendor's signing function.
func TestSignVector(t *testing.T) {
	body := []byte(`{"name":"demo"}`)
	q := url.Values{"a": {""}, "teamID": {"t 1~*"}}
	if got := canonicalQuery(q); got != "a=&teamID=t%201~%2A" {
		t.Errorf("canonical query %q", got)
	}
	req, _ := http.NewRequest(http.MethodPost, "https://sandbox.cn-hangzhou.aliyuncs.com/pop/2026-08-20/templates?"+canonicalQuery(q), nil)
	sign(req, body, Credentials{AccessKeyID: "AKTEST", AccessKeySecret: "SKTEST"}, signing{"CreateTemplate", "2026-08-20", "nonce-1", vectorTime})
	if got := req.Header.Get("x-acs-content-sha256"); got != "d7d234f759ec34fd6298b7e32318614760070aaef9f4e92ced928324b49a0602" {
		t.Errorf("payload hash %s", got)
	}
	want := "ACS3-HMAC-SHA256 Credential=AKTEST,SignedHeaders=content-type;host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version," +
		"Signature=c32e857ae274347f988ca0f56d3d72026e2b10149422a8ce987d4d47897a2dcd"
	if d := cmp.Diff(want, req.Header.Get("Authorization")); d != "" {
		t.Error(d)
	}
}

func TestSignSTS(t *testing.T) {
	req, _ := http.NewRequest(http.MethodGet, "https://x.test/a", nil)
	sign(req, nil, Credentials{"AK", "SK", "TOKEN"}, signing{"A", "v", "n", vectorTime})
	auth := req.Header.Get("Authorization")
	if !strings.Contains(auth, "x-acs-accesskey-id") || !strings.Contains(auth, "x-acs-security-token") || strings.Contains(auth, "content-type") {
		t.Error(auth)
	}
}

const testSecret = "SK0123456789abcdef0123456789"

// serve makes a client of a server that plays answers by "METHOD /path".
func serve(t *testing.T, routes map[string]http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "ACS3-HMAC-SHA256 Credential=AK") {
			t.Errorf("unsigned: %s", r.URL)
		}
		h := routes[r.Method+" "+r.URL.EscapedPath()]
		if h == nil {
			t.Errorf("no route %s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	c, err := New(Config{Credentials: Credentials{AccessKeyID: "AK0123456789", AccessKeySecret: testSecret}, Endpoint: srv.URL, HTTPClient: hc})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestKeys(t *testing.T) {
	var created map[string]string
	c := serve(t, map[string]http.HandlerFunc{
		"POST /pop/2026-08-20/api-keys": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("x-acs-action") != "CreateApiKey" || r.Header.Get("x-acs-version") != Version {
				t.Errorf("headers %v", r.Header)
			}
			_ = json.NewDecoder(r.Body).Decode(&created)
			answer(200, `{"requestId":"r","apiKeyID":"k1","apiKeyName":"n","apiKeyValue":"e2b_abc","more":1}`)(w, r)
		},
		"PUT /pop/2026-08-20/api-keys/k%2F1/reset": answer(200, `{"apiKey":{"apiKeyID":"k/1","apiKeyValue":"e2b_new"}}`),
		"GET /pop/2026-08-20/api-keys": func(w http.ResponseWriter, r *http.Request) {
			answer(200, fmt.Sprintf(`{"apiKeys":[{"apiKeyID":"k%s"}],"total":2}`, r.URL.Query().Get("pageNumber")))(w, r)
		},
		"DELETE /pop/2026-08-20/api-keys/k1": answer(200, `{}`),
	})
	key, value, err := c.CreateAPIKey(t.Context(), "n", "")
	if err != nil || value != "e2b_abc" || key.ID != "k1" {
		t.Fatalf("%+v %q %v", key, value, err)
	}
	if d := cmp.Diff(map[string]string{"apiKeyName": "n"}, created); d != "" {
		t.Error(d)
	}
	if _, value, err := c.ResetAPIKey(t.Context(), "k/1"); err != nil || value != "e2b_new" {
		t.Errorf("%q %v", value, err)
	}
	keys, err := c.APIKeys(t.Context())
	if err != nil || len(keys) != 2 || keys[1].ID != "k2" {
		t.Errorf("%+v %v", keys, err)
	}
	if err := c.DeleteAPIKey(t.Context(), "k1"); err != nil {
		t.Error(err)
	}
}

func TestTeamsQuotasTemplates(t *testing.T) {
	var spec map[string]json.RawMessage
	c := serve(t, map[string]http.HandlerFunc{
		"GET /pop/2026-08-20/teams": answer(200, `{"teams":[{"teamID":"t1","teamName":"core"}],"total":1}`),
		"GET /pop/2026-08-20/quotas": func(w http.ResponseWriter, r *http.Request) {
			// The token never ends: the walk must.
			answer(200, `{"quotas":[{"tagValue":"x","cpuCores":64,"memoryGB":128}],"nextToken":"again"}`)(w, r)
		},
		"POST /pop/2026-08-20/templates": func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewDecoder(r.Body).Decode(&spec)
			answer(200, `{"templateID":"tpl"}`)(w, r)
		},
		"GET /pop/2026-08-20/templates":        answer(200, `{"templates":[{"templateID":"tpl","name":"a"}]}`),
		"GET /pop/2026-08-20/templates/tpl":    answer(200, `{"templateID":"tpl","status":{"state":"error","reason":{"message":"no image"}}}`),
		"DELETE /pop/2026-08-20/templates/tpl": answer(200, ``),
	})
	teams, err := c.Teams(t.Context())
	if err != nil || len(teams) != 1 || teams[0].Name != "core" {
		t.Errorf("%+v %v", teams, err)
	}
	quotas, err := c.Quotas(t.Context())
	if err != nil || len(quotas) != 2 || quotas[0].CPUCores != 64 {
		t.Errorf("%+v %v", quotas, err)
	}
	id, err := c.CreateTemplate(t.Context(), TemplateSpec{Name: "a", RuntimeConfig: RuntimeConfig{SandboxConfig: SandboxConfig{Image: "i", Generation: 2}}})
	if err != nil || id != "tpl" {
		t.Errorf("%q %v", id, err)
	}
	// Strict JSON: nothing that was not set.
	if len(spec) != 2 || string(spec["runtimeConfig"]) != `{"sandboxConfig":{"image":"i","generation":2}}` {
		t.Errorf("sent %s", spec)
	}
	if _, err := c.Templates(t.Context(), "t1"); err != nil {
		t.Error(err)
	}
	tpl, err := c.Template(t.Context(), "tpl", "")
	if err != nil || tpl.Status.State != "error" || tpl.Status.Reason.Message != "no image" {
		t.Errorf("%+v %v", tpl, err)
	}
	if err := c.DeleteTemplate(t.Context(), "tpl", ""); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		code   client.Code
		kind   error
	}{
		"signature": {400, `{"code":"SignatureDoesNotMatch","message":"m","requestId":"r-1"}`, client.CodeAuthAKSK, client.ErrUnauthorized},
		"unknown":   {403, `{"code":"NoPermission"}`, client.CodeAuth, client.ErrUnauthorized},
		"missing":   {404, `{"code":"TemplateNotFound"}`, client.CodeTemplateMissing, client.ErrNotFound},
		"taken":     {409, `{"code":"TemplateAlreadyExists"}`, client.CodeConflict, client.ErrConflict},
		"throttled": {400, `{"code":"Throttling.User"}`, client.CodeRateLimited, client.ErrRateLimited},
		"parameter": {400, `{"code":"InvalidParameter"}`, client.CodeUsage, nil},
		"html":      {502, `<html>`, client.CodeServer, client.ErrUnavailable},
		"nonsense":  {200, `<html>`, client.CodeBadAnswer, nil},
	} {
		cl := serve(t, map[string]http.HandlerFunc{"GET /pop/2026-08-20/templates/x": answer(c.status, c.body)})
		_, err := cl.Template(t.Context(), "x", "")
		var e *client.Error
		if !errors.As(err, &e) || e.Code != c.code || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

// AUT-08 for the access key: a server that repeats it does not get it printed.
func TestSecretStaysHidden(t *testing.T) {
	echo := testSecret + " " + base64.StdEncoding.EncodeToString([]byte("x"+testSecret)) + " " + url.QueryEscape(testSecret)
	c := serve(t, map[string]http.HandlerFunc{"GET /pop/2026-08-20/templates/x": answer(403, `{"code":"X","message":"`+echo+`"}`)})
	_, err := c.Template(t.Context(), "x", "")
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%v %+v %#v", c.cfg.Credentials, c.cfg.Credentials, c.cfg.Credentials), fmt.Sprintf("%v %+v %#v", c, c, c)} {
		if strings.Contains(text, testSecret) || strings.Contains(text, base64.RawStdEncoding.EncodeToString([]byte(testSecret))[:20]) {
			t.Errorf("secret in %q", text)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	good := Credentials{AccessKeyID: "a", AccessKeySecret: "b"}
	for code, cfg := range map[client.Code]Config{
		client.CodeAuthAKSK: {Credentials: Credentials{AccessKeyID: "a"}},
		client.CodeRegion:   {Credentials: good, Region: "a/b"},
		client.CodeConfig:   {Credentials: good, Endpoint: "http://far.test"},
	} {
		if _, err := New(cfg); client.CodeOf(err) != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	c, err := New(Config{Credentials: good, Legacy: true})
	if err != nil || c.cfg.Endpoint != "https://fcsandbox.cn-hangzhou.aliyuncs.com" || c.cfg.PathPrefix != "/pop/2026-05-09" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := c.CreateTemplate(context.Background(), TemplateSpec{Name: "a", RuntimeConfig: RuntimeConfig{SandboxConfig: SandboxConfig{Image: "i"}}}); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("without a team: %v", err)
	}
}

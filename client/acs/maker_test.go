package acs

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

// native answers from a table by "METHOD path?query" and notes what it was asked.
func native(t *testing.T, answers map[string]string) (*Client, *[]string, string) {
	t.Helper()
	asked := &[]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call := r.Method + " " + r.URL.RequestURI()
		*asked = append(*asked, strings.TrimSpace(r.Header.Get("X-Acs-Action")+" "+r.Header.Get("X-Acs-Version")+" "+call+" "+string(body)))
		text, ok := answers[call]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case strings.HasPrefix(text, "409 "):
			w.WriteHeader(http.StatusConflict)
			text = strings.TrimPrefix(text, "409 ")
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	c, err := New(Config{Credentials: Credentials{AccessKeyID: "AKTEST", AccessKeySecret: "SKTEST-secret"}, Endpoint: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, asked, srv.URL
}

func TestMakerUpdatesByName(t *testing.T) {
	c, asked, _ := native(t, map[string]string{
		"POST /pop/2026-08-20/templates":                           `409 {"code":"TemplateAlreadyExists","message":"demo hush-hush-hush"}`,
		"GET /pop/2026-08-20/templates?maxResults=100&teamID=team": `{"templates":[{"templateID":"x","name":"other"},{"templateID":"n","name":"demo","new":1}]}`,
		"PUT /pop/2026-08-20/templates/n?teamID=team":              `{"requestId":"r","new":[]}`,
		"GET /pop/2026-08-20/templates/n?teamID=team":              `{"template":{"templateID":"n","status":{"state":"error","reason":{"message":"why"}}}}`,
		"DELETE /pop/2026-08-20/templates/n?teamID=team":           `{}`,
	})
	m := c.Maker("team")
	spec := client.TemplateSpec{
		Name: "demo", Image: "r/x:1", CPU: 2, MemoryMB: 2048, Generation: 1, StartCommand: "go",
		RegistryType: "acree", ACRInstance: "cri-1", Registry: &client.RegistryLogin{Username: "ada", Password: "hush-hush-hush"},
	}
	if _, err := m.CreateTemplate(t.Context(), spec); !errors.Is(err, client.ErrConflict) || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
	b, err := m.UpdateTemplate(t.Context(), "demo", spec)
	if err != nil || b.TemplateID != "n" {
		t.Fatalf("%v, %v", b, err)
	}
	s, err := m.TemplateBuild(t.Context(), b, 0)
	if err != nil || !s.Failed() || s.Reason != "why" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := m.DeleteTemplate(t.Context(), "demo"); err != nil {
		t.Error(err)
	}
	if err := m.DeleteTemplate(t.Context(), "nope"); client.CodeOf(err) != client.CodeTemplateMissing {
		t.Errorf("got %v", err)
	}
	// Generation 1 takes no start command; an update changes no generation.
	config := `"registryType":"acree","acrInstanceId":"cri-1","registryConfig":{"authConfig":{"userName":"ada","password":"hush-hush-hush"}}}}`
	want := []string{
		`CreateTemplate 2026-08-20 POST /pop/2026-08-20/templates {"name":"demo","teamID":"team","runtimeConfig":{"cpu":2,"memorySize":2048,"sandboxConfig":{"image":"r/x:1","generation":1,` + config + `}`,
		`UpdateTemplate 2026-08-20 PUT /pop/2026-08-20/templates/n?teamID=team {"runtimeConfig":{"cpu":2,"memorySize":2048,"sandboxConfig":{"image":"r/x:1",` + config + `}`,
	}
	var got []string
	for _, a := range *asked {
		if strings.HasPrefix(a, "CreateTemplate") || strings.HasPrefix(a, "UpdateTemplate") {
			got = append(got, a)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryLogin(t *testing.T) {
	c, asked, url := native(t, map[string]string{
		"GET /?InstanceId=cri-1": `{"IsSuccess":true,"TempUsername":"cr_temp_user","AuthorizationToken":"t0ken"}`,
		"GET /tokens":            `{"data":{"tempUserName":"cr_temp_user","authorizationToken":"t0ken","expireDate":1}}`,
	})
	for _, instance := range []string{"cri-1", ""} {
		got, err := c.RegistryLogin(t.Context(), instance, url)
		if err != nil || got.Username != "cr_temp_user" || got.Password != "t0ken" || strings.Contains(got.String(), "t0ken") {
			t.Errorf("%q: %v, %v", instance, got, err)
		}
	}
	want := []string{"GetAuthorizationToken 2018-12-01 GET /?InstanceId=cri-1", "GetAuthorizationToken 2016-06-07 GET /tokens"}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Error(diff)
	}
	c, _, url = native(t, map[string]string{"GET /tokens": `{}`})
	if _, err := c.RegistryLogin(t.Context(), "", url); client.CodeOf(err) != client.CodeRegistryLogin {
		t.Errorf("got %v", err)
	}
}

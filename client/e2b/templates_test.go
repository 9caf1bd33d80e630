package e2b

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

// canned answers by "METHOD path?query"; what is not listed is 404.
type canned map[string]string

// templateService answers from a table and notes what it was asked.
func templateService(t *testing.T, answers canned) (*Client, *[]string) {
	t.Helper()
	asked := &[]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call := r.Method + " " + r.URL.RequestURI()
		*asked = append(*asked, strings.TrimSpace(call+" "+string(body)))
		text, ok := answers[call]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":404,"message":"no"}`)
			return
		}
		var status int
		head, body2, _ := strings.Cut(text, " ")
		_, _ = fmt.Sscan(head, &status)
		if token, rest, ok := strings.Cut(body2, "|"); ok {
			w.Header().Set("X-Next-Token", token)
			body2 = rest
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body2)
	}))
	t.Cleanup(srv.Close)
	c, err := New(Config{Name: "x", APIURL: srv.URL, DataURL: srv.URL, APIKey: "key-0123456789", RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, asked
}

func names(list []client.TemplateInfo) string {
	var out []string
	for _, t := range list {
		out = append(out, t.ID+"="+t.Name()+" "+t.State)
	}
	return strings.Join(out, ", ")
}

func TestTemplatesList(t *testing.T) {
	for name, tc := range map[string]struct {
		answers canned
		want    string
		calls   int
	}{
		"pages": {canned{
			"GET /v2/templates":              `200 n1|[{"templateID":"a","names":["x"],"buildStatus":"ready","new":{}}]`,
			"GET /v2/templates?nextToken=n1": `200 [{"templateID":"b","aliases":["y"],"buildStatus":"odd"}]`,
		}, "a=x ready, b=y odd", 2},
		"repeats itself": {canned{
			"GET /v2/templates":              `200 n1|[{"templateID":"a"}]`,
			"GET /v2/templates?nextToken=n1": `200 n1|[{"templateID":"a"}]`,
		}, "a=a ", 2},
		"older":   {canned{"GET /templates": `200 [{"templateID":"a","names":["x"]}]`}, "a=x ", 2},
		"wrapped": {canned{"GET /v2/templates": `200 {"data":[{"templateID":"a"}]}`}, "a=a ", 1},
		"other":   {canned{"GET /v2/templates": `200 {"templates":[{"templateID":"a"}]}`}, "a=a ", 1},
		"empty":   {canned{"GET /v2/templates": `200 []`}, "", 1},
	} {
		c, asked := templateService(t, tc.answers)
		got, err := c.Templates(t.Context())
		if err != nil || names(got) != tc.want || len(*asked) != tc.calls {
			t.Errorf("%s: %q, %v, %v", name, names(got), err, *asked)
		}
	}
	c, _ := templateService(t, canned{"GET /v2/templates": `200 {"what":1}`})
	if _, err := c.Templates(t.Context()); client.CodeOf(err) != client.CodeBadAnswer {
		t.Errorf("got %v", err)
	}
}

func TestTemplateByName(t *testing.T) {
	c, _ := templateService(t, canned{
		"GET /templates/aliases/team%2Fdemo": `200 {"templateID":"a","public":false}`,
		"GET /templates/a":                   `200 {"templateID":"a","names":["demo"],"builds":[{"buildID":"b","status":"ready","cpuCount":2,"memoryMB":512},{"status":"error"}],"createdAt":"2026-01-02T03:04:05Z"}`,
		"GET /v2/templates":                  `200 [{"templateID":"a","names":["other"]}]`,
		"DELETE /templates/a":                `204 `,
		"GET /templates/a/tags":              `200 [{"tag":"v1","buildID":"b","createdAt":"2026-01-02T03:04:05Z"}]`,
		"POST /templates/tags":               `201 {"tags":["default"],"buildID":"b"}`,
		"DELETE /templates/tags":             `204 `,
	})
	want := client.TemplateInfo{
		ID: "a", Names: []string{"demo"}, State: "ready", CPU: 2, MemoryMB: 512, Builds: 2, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		History: []client.TemplateBuildInfo{{ID: "b", State: "ready"}, {State: "error"}},
	}
	// By name, by the name that only the list knows, by id.
	for _, ref := range []string{"team/demo", "other", "a"} {
		got, err := c.Template(t.Context(), ref)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", ref, err, diff)
		}
	}
	if _, err := c.Template(t.Context(), "nope"); client.CodeOf(err) != client.CodeTemplateMissing || !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := c.DeleteTemplate(t.Context(), "other"); err != nil {
		t.Error(err)
	}
	tags, err := c.TemplateTags(t.Context(), "a")
	if err != nil || len(tags) != 1 || tags[0].Tag != "v1" {
		t.Errorf("%v, %v", tags, err)
	}
	if err := c.AssignTags(t.Context(), "demo:v1", []string{"default"}); err != nil {
		t.Error(err)
	}
	if err := c.RemoveTags(t.Context(), "demo", []string{"v1"}); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		c.AssignTags(t.Context(), "", nil), c.RemoveTags(t.Context(), "a", nil), c.DeleteTemplate(t.Context(), ""),
	} {
		if client.CodeOf(err) != client.CodeUsage {
			t.Errorf("got %v", err)
		}
	}
}

func TestCreateTemplatePair(t *testing.T) {
	answers := canned{
		"GET /v2/templates":                             `200 []`,
		"POST /v3/templates":                            `202 {"templateID":"a","buildID":"b","names":["demo"]}`,
		"POST /v2/templates/a/builds/b":                 `202 `,
		"DELETE /templates/a":                           `204 `,
		"GET /templates/a/builds/b/status?logsOffset=4": `200 {"status":"error","logEntries":[{"timestamp":"2026-01-02T03:04:05Z","level":"info","message":"m","step":"1"}],"reason":{"message":"why","step":"2"}}`,
		"GET /templates/a/builds/b/status?logsOffset=0": `200 {"status":"building","logs":["old"]}`,
	}
	spec := client.TemplateSpec{
		Name: "demo", Tags: []string{"v1"}, CPU: 2, MemoryMB: 2048, Image: "r/x:1", StartCommand: "go",
		Registry: &client.RegistryLogin{Username: "ada", Password: "hush-hush-hush"},
	}
	c, asked := templateService(t, answers)
	b, err := c.CreateTemplate(t.Context(), spec)
	if err != nil || b != (client.TemplateBuild{TemplateID: "a", BuildID: "b"}) {
		t.Fatalf("%v, %v", b, err)
	}
	want := []string{
		"GET /v2/templates",
		`POST /v3/templates {"name":"demo","cpuCount":2,"memoryMB":2048,"tags":["v1"]}`,
		`POST /v2/templates/a/builds/b {"fromImage":"r/x:1","fromImageRegistry":{"type":"registry","username":"ada","password":"hush-hush-hush"},"startCmd":"go","steps":[],"force":false}`,
	}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Error(diff)
	}
	s, err := c.TemplateBuild(t.Context(), b, 4)
	if err != nil || !s.Failed() || s.Reason != "why" || s.Step != "2" || len(s.Logs) != 1 || s.Logs[0].Fields["step"] != "1" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = c.TemplateBuild(t.Context(), b, 0); err != nil || s.Ready() || s.Failed() || s.Logs[0].Message != "old" {
		t.Errorf("%+v, %v", s, err)
	}

	answers["POST /v2/templates/a/builds/b"] = `400 {"code":400,"message":"steps with hush-hush-hush"}`
	c, asked = templateService(t, answers)
	if _, err = c.CreateTemplate(t.Context(), spec); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
	if last := (*asked)[len(*asked)-1]; last != "DELETE /templates/a" {
		t.Errorf("what was half made stays: %v", *asked)
	}
	// One that was there before is not touched.
	answers["GET /v2/templates"] = `200 [{"templateID":"a","names":["demo"]}]`
	c, asked = templateService(t, answers)
	if _, err = c.CreateTemplate(t.Context(), spec); err == nil || strings.Contains(strings.Join(*asked, " "), "DELETE") {
		t.Errorf("%v, %v", err, *asked)
	}
	answers["POST /v3/templates"] = `409 {"code":409,"message":"taken"}`
	c, _ = templateService(t, answers)
	if _, err = c.CreateTemplate(t.Context(), spec); !errors.Is(err, client.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err = c.CreateTemplate(context.Background(), client.TemplateSpec{}); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("got %v", err)
	}
}

package deploy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/e2b"
)

// cloud is both template APIs of Express, as far as a deploy uses them. Its
// native side is strict: an unknown field is refused (alicloud-express §9.1).
type cloud struct {
	mu    sync.Mutex
	calls []string
	// bodies are what was sent, by "METHOD path".
	bodies  map[string]string
	headers map[string]http.Header
	// end is the state that builds come to, polls how often they are asked before.
	end   string
	polls int
	asked int
	// taken makes a native create answer 409, refuseStart the second E2B call 500.
	taken, refuseStart bool
	deleted            []string
}

func newCloud(t *testing.T) (*cloud, string) {
	t.Helper()
	c := &cloud{bodies: map[string]string{}, headers: map[string]http.Header{}, end: "ready", polls: 2}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	return c, srv.URL
}

func (c *cloud) called(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, got := range c.calls {
		if strings.HasPrefix(got, call) {
			n++
		}
	}
	return n
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	call := r.Method + " " + r.URL.Path
	c.calls = append(c.calls, call)
	c.bodies[call], c.headers[call] = string(body), r.Header.Clone()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	type m = map[string]any
	if strings.HasPrefix(r.URL.Path, "/pop/") {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "ACS3-HMAC-SHA256 Credential=AKTEST,") {
			answer(403, m{"code": "SignatureDoesNotMatch"})
			return
		}
		c.native(answer, r.Method, strings.TrimPrefix(r.URL.Path, "/pop/"+acs.Version), body)
		return
	}
	switch {
	case r.Header.Get("X-Api-Key") != "key-0123456789":
		answer(401, m{"code": 401, "message": "bad key"})
	case call == "GET /v2/templates":
		answer(200, []m{{"templateID": "old", "names": []string{"other"}, "buildStatus": "ready"}})
	case call == "POST /v3/templates":
		answer(202, m{"templateID": "tpl1", "buildID": "b1", "names": []string{"demo"}, "surprise": true})
	case call == "POST /v2/templates/tpl1/builds/b1" && c.refuseStart:
		answer(500, m{"code": 500, "message": "no builder for password right-password"})
	case call == "POST /v2/templates/tpl1/builds/b1":
		w.WriteHeader(202)
	case call == "GET /templates/tpl1/builds/b1/status":
		offset, _ := strconv.Atoi(r.URL.Query().Get("logsOffset"))
		var logs []m
		if offset < 3 {
			logs = append(logs, m{"timestamp": "2026-01-02T03:04:05Z", "level": "info", "message": "line " + strconv.Itoa(offset) + "\x1b[31m"})
		}
		answer(200, m{"templateID": "tpl1", "buildID": "b1", "status": c.state(), "logEntries": logs, "logs": []string{}, "reason": m{"message": "boom", "step": "3"}})
	case strings.HasPrefix(call, "DELETE /templates/"):
		c.deleted = append(c.deleted, strings.TrimPrefix(call, "DELETE /templates/"))
		w.WriteHeader(204)
	default:
		answer(404, m{"code": 404, "message": "no route"})
	}
}

func (c *cloud) state() string {
	if c.asked++; c.asked > c.polls {
		return c.end
	}
	return "building"
}

func (c *cloud) native(answer func(int, any), method, path string, body []byte) {
	type m = map[string]any
	switch {
	case method == "POST" && path == "/templates":
		if c.taken {
			answer(409, m{"code": "TemplateAlreadyExists", "message": "demo is there"})
			return
		}
		if field := unknownField(body); field != "" {
			answer(400, m{"code": "InvalidParameter", "message": "unknown field " + field})
			return
		}
		answer(200, m{"templateID": "nat1", "requestId": "r", "surprise": m{"a": 1}})
	case method == "GET" && path == "/templates":
		answer(200, m{"templates": []m{{"templateID": "nat1", "name": "demo", "surprise": 1}}})
	case method == "PUT" && path == "/templates/nat1":
		answer(200, m{"requestId": "r"})
	case method == "GET" && path == "/templates/nat1":
		answer(200, m{"templateID": "nat1", "name": "demo", "status": m{"state": c.state(), "reason": m{"message": "boom"}}, "surprise": []int{1}})
	default:
		answer(404, m{"code": "NotFound", "message": "no route"})
	}
}

// unknownField names the first top-level field that the API does not have.
func unknownField(body []byte) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(body, &in) != nil {
		return "(no JSON)"
	}
	for k, v := range in {
		switch k {
		case "name", "teamID", "runtimeConfig", "buildConfig", "resourceTags", "templateType":
			if string(v) == "null" {
				return k
			}
		default:
			return k
		}
	}
	return ""
}

func overKey(t *testing.T, url string) client.TemplateMaker {
	t.Helper()
	c, err := e2b.New(e2b.Config{Name: "alicloud-express", APIURL: url, DataURL: url, APIKey: "key-0123456789", RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func natively(t *testing.T, url string) client.TemplateMaker {
	t.Helper()
	c, err := acs.New(acs.Config{Credentials: acs.Credentials{AccessKeyID: "AKTEST", AccessKeySecret: "SKTEST-secret"}, Endpoint: url})
	if err != nil {
		t.Fatal(err)
	}
	return c.Maker("")
}

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"abxdash/client"
)

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r *rig) do(method, path, body string, header ...string) reply {
	r.t.Helper()
	var rd io.Reader
	if body != "" {
		// No length: the body goes out chunked, as SDKs send it.
		rd = io.MultiReader(strings.NewReader(body))
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://localhost"+path, rd)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.http.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func (r *rig) create(body string) sandboxJSON {
	r.t.Helper()
	rep := r.do("POST", "/sandboxes", body)
	if rep.status != http.StatusCreated {
		r.t.Fatalf("create: %d %s", rep.status, rep.body)
	}
	return decode[sandboxJSON](r.t, rep.body)
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func (r *rig) ids(path string) []string {
	r.t.Helper()
	rep := r.do("GET", path, "")
	if rep.status != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, rep.status, rep.body)
	}
	out := []string{}
	for _, l := range decode[[]listedJSON](r.t, rep.body) {
		out = append(out, l.SandboxID)
	}
	return out
}

func TestCreateGetKill(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":300,"secure":true,"metadata":{"name":"n1"},"envVars":{"A":"1"},"unknown":[1]}`)
	if !regexp.MustCompile(`^i[a-z0-9]{20}$`).MatchString(sb.SandboxID) || sb.ClientID == "" || sb.Isolation != "namespace" ||
		sb.EnvdVersion != EnvdVersion || len(sb.EnvdAccessToken) < 40 || sb.Domain != nil {
		t.Errorf("create answered %+v", sb)
	}
	spec := iso.specs[0]
	wantEnv := map[string]string{"A": "1", "ABX_SANDBOX": "true", "ABX_SANDBOX_ID": sb.SandboxID, "ABX_SANDBOX_TEMPLATE": "base"}
	if d := cmp.Diff(wantEnv, spec.Env); d != "" {
		t.Error(d)
	}
	if spec.AccessToken != sb.EnvdAccessToken || spec.Network != NetworkOff || spec.ID != sb.SandboxID {
		t.Errorf("isolator got %+v", spec)
	}
	for path, mode := range map[string]os.FileMode{"": 0o700, "home": 0o700, "agent.sock": 0o600, "meta.json": 0o600} {
		info, err := os.Stat(filepath.Join(r.dir, "sandboxes", sb.SandboxID, path))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v, want mode %o", path, info, err, mode)
		}
	}
	if meta, err := os.ReadFile(filepath.Join(r.dir, "sandboxes", sb.SandboxID, "meta.json")); err != nil || bytes.Contains(meta, []byte(sb.EnvdAccessToken)) {
		t.Errorf("meta.json: %s, %v", meta, err)
	}
	now := r.clock.Now()
	for _, path := range []string{sb.SandboxID, sb.SandboxID + "-local"} {
		rep := r.do("GET", "/sandboxes/"+path, "")
		got := decode[detailJSON](t, rep.body)
		want := detailJSON{
			listedJSON: listedJSON{
				TemplateID: "base", SandboxID: sb.SandboxID, ClientID: "local", StartedAt: now, EndAt: now.Add(300 * time.Second),
				CPUCount: got.CPUCount, MemoryMB: got.MemoryMB, DiskSizeMB: got.DiskSizeMB,
				State: "running", EnvdVersion: EnvdVersion, Metadata: map[string]string{"name": "n1"},
				VolumeMounts: []struct{}{}, Isolation: "namespace",
			},
			EnvdAccessToken: sb.EnvdAccessToken, Lifecycle: lifecycleJSON{OnTimeout: "kill"},
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(detailJSON{})); d != "" {
			t.Error(d)
		}
	}
	if rep := r.do("DELETE", "/sandboxes/"+sb.SandboxID, ""); rep.status != http.StatusNoContent || rep.body != "" {
		t.Errorf("kill: %+v", rep)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "sandboxes", sb.SandboxID)); !os.IsNotExist(err) {
		t.Errorf("folder after kill: %v", err)
	}
	for _, m := range []string{"GET", "DELETE"} {
		rep := r.do(m, "/sandboxes/"+sb.SandboxID, "")
		if e := decode[apiError](t, rep.body); rep.status != 404 || e.Code != 404 || e.Message == "" {
			t.Errorf("%s after kill: %+v", m, rep)
		}
	}
}

func TestCreateDefaultsAndNetwork(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":" Base:default","allow_internet_access":true}`)
	got := decode[detailJSON](t, r.do("GET", "/sandboxes/"+sb.SandboxID, "").body)
	if d := got.EndAt.Sub(got.StartedAt); d != 15*time.Second {
		t.Errorf("default lifetime %s", d)
	}
	if got.EnvdAccessToken != "" || !got.AllowInternetAccess || got.Metadata == nil || iso.specs[0].Network != NetworkHost {
		t.Errorf("got %+v, spec %+v", got, iso.specs[0])
	}
	r.create(`{"templateID":"base","allow_internet_access":false,"network":{},"mcp":null,"autoResume":{"enabled":false}}`)
	if iso.specs[1].Network != NetworkOff {
		t.Errorf("network %q", iso.specs[1].Network)
	}
}

func TestSecondVersionOfCreateAndConnect(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	rep := r.do("POST", "/v2/sandboxes", `{"templateID":"base"}`)
	sb := decode[sandboxJSON](t, rep.body)
	if rep.status != 201 || sb.EnvdAccessToken == "" {
		t.Errorf("create: %+v", rep)
	}
	left := func() time.Duration {
		d := decode[detailJSON](t, r.do("GET", "/sandboxes/"+sb.SandboxID, "").body)
		return d.EndAt.Sub(r.clock.Now())
	}
	if got := left(); got != 300*time.Second {
		t.Errorf("created for %s", got)
	}
	r.clock.Advance(100 * time.Second)
	for _, body := range []string{"", "{}", `{"memory":false}`} {
		rep := r.do("POST", "/v2/sandboxes/"+sb.SandboxID+"/connect", body)
		if got := left(); rep.status != 200 || got != 300*time.Second || decode[sandboxJSON](t, rep.body).EnvdAccessToken != sb.EnvdAccessToken {
			t.Errorf("connect %q: %+v, %s left", body, rep, got)
		}
	}
}

func TestProcessLevelHasHostNetwork(t *testing.T) {
	s := New(Options{Isolator: &fakeIsolator{}, Isolation: client.IsolationProcess, Dir: t.TempDir()})
	req := newSandbox{TemplateID: baseTemplate}
	if e := s.check(&req); e != nil || req.network != NetworkHost {
		t.Errorf("network %q, %v", req.network, e)
	}
	req.Network.DenyOut = []string{"0.0.0.0/0"}
	if e := s.check(&req); e == nil || !strings.Contains(e.Message, "namespace") {
		t.Errorf("rules: %v", e)
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	sb := r.create(`{"templateID":"base","timeout":300}`)
	id := sb.SandboxID
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/sandboxes", `{}`, 400, "templateID"},
		{"POST", "/sandboxes", ``, 400, "no body"},
		{"POST", "/sandboxes", `{"templateID":"base"}{}`, 400, "goes on"},
		{"POST", "/sandboxes", `{"templateID":7}`, 400, "not valid"},
		{"POST", "/sandboxes", `{"templateID":"base","metadata":{"a":1}}`, 400, "not valid"},
		{"POST", "/sandboxes", `{"templateID":"nope"}`, 404, "nope"},
		{"POST", "/sandboxes", `{"templateID":"base","timeout":0}`, 400, "at least 1"},
		{"POST", "/sandboxes", `{"templateID":"base","timeout":-5}`, 400, "at least 1"},
		{"POST", "/sandboxes", `{"templateID":"base","timeout":9999999999}`, 400, "at most"},
		{"POST", "/sandboxes", `{"templateID":"base","autoPause":true,"autoPauseMemory":false}`, 400, "autoPauseMemory"},
		{"POST", "/sandboxes", `{"templateID":"other/base"}`, 404, "namespace"},
		{"POST", "/sandboxes", `{"templateID":"../base"}`, 404, "namespace"},
		{"POST", "/sandboxes", `{"templateID":"b a s e"}`, 400, "reference"},
		{"POST", "/sandboxes", `{"templateID":"base","network":{"denyOut":["example.com"]}}`, 400, "denyOut"},
		{"POST", "/sandboxes", `{"templateID":"base","network":{"allowOut":["example.com"]}}`, 400, "0.0.0.0/0"},
		{"POST", "/sandboxes", `{"templateID":"base","network":{"allowOut":["http://x"],"denyOut":["0.0.0.0/0"]}}`, 400, "allowOut"},
		{"POST", "/sandboxes", `{"templateID":"base","network":{"egressProxy":{"address":"a:1"}}}`, 400, "egressProxy"},
		{"POST", "/sandboxes", `{"templateID":"base","network":{"rules":{"a.b":[{}]}}}`, 400, "rules"},
		{"POST", "/sandboxes", `{"templateID":"base","network":{"allowPublicTraffic":false}}`, 400, "secure"},
		{"POST", "/sandboxes", `{"templateID":"base","cpuCount":0}`, 400, "processors"},
		{"POST", "/sandboxes", `{"templateID":"base","metadata":{"abxdash.memory-mb":"much"}}`, 400, "memory-mb"},
		{"POST", "/sandboxes", `{"templateID":"base","memoryMB":64}`, 400, "cgroup"},
		{"PUT", "/sandboxes/" + id + "/network", `{"allow_internet_access":true}`, 409, "without a network"},
		{"PUT", "/sandboxes/" + id + "/network", `{"denyOut":["x"]}`, 400, "denyOut"},
		{"POST", "/sandboxes/" + id + "/fork", `{"count":101}`, 400, "count"},
		{"POST", "/v3/templates", `{}`, 400, "name"},
		{"POST", "/v3/templates", `{"name":"base"}`, 409, "taken"},
		{"POST", "/v3/templates", `{"name":"x","cpuCount":3}`, 400, "cpuCount"},
		{"POST", "/v3/templates", `{"name":"x","memoryMB":127}`, 400, "memoryMB"},
		{"GET", "/templates/x/builds/y/status", "", 400, "not found"},
		{"POST", "/v2/templates/x/builds/y", "{}", 404, "not found"},
		{"GET", "/templates/x/files/abc", "", 400, "hash"},
		{"PUT", "/uploads/guess", "x", 403, "link"},
		{"PATCH", "/v2/templates/base", `{"public":true}`, 400, "public"},
		{"POST", "/sandboxes", `{"templateID":"base","volumeMounts":[{"name":"a","path":"/a"}]}`, 400, "volume"},
		{"POST", "/sandboxes", `{"templateID":"base","mcp":{"x":{}}}`, 400, "mcp"},
		{"POST", "/sandboxes", `{"templateID":"base","envVars":{"A=B":"x"}}`, 400, "A=B"},
		{"POST", "/sandboxes", `{"templateID":"base","envVars":{"A":"x\u0000"}}`, 400, "variable"},
		{"GET", "/sandboxes/UPPER", "", 400, "ID"},
		{"GET", "/sandboxes/a-b-c", "", 400, "ID"},
		{"GET", "/sandboxes/inone", "", 404, "inone"},
		{"POST", "/sandboxes/" + id + "/timeout", `{}`, 400, "required"},
		{"POST", "/sandboxes/" + id + "/timeout", `{"timeout":-1}`, 400, "at least"},
		{"POST", "/sandboxes/" + id + "/connect", ``, 400, "no body"},
		{"POST", "/sandboxes/" + id + "/refreshes", `{"duration":3601}`, 400, "3600"},
		{"POST", "/sandboxes/" + id + "/pause", `{"memory":true}`, 501, "pausing"},
		{"POST", "/sandboxes/" + id + "/resume", `{}`, 409, "already"},
		{"POST", "/sandboxes/" + id + "/snapshots", `{}`, 500, "no folder"},
		{"POST", "/sandboxes/" + id + "/pause", `{"memory":false}`, 400, "memory"},
		{"DELETE", "/templates/base", "", 403, "built in"},
		{"DELETE", "/templates/none", "", 404, "not found"},
		{"GET", "/sandboxes/" + id + "/metrics?start=9&end=3", "", 400, "start"},
		{"GET", "/sandboxes/" + id + "/metrics?start=soon", "", 400, "start"},
		{"GET", "/v2/sandboxes/" + id + "/logs?level=loud", "", 400, "level"},
		{"GET", "/v2/sandboxes/" + id + "/logs?limit=1001", "", 400, "limit"},
		{"GET", "/sandboxes/" + id + "/logs?start=x", "", 400, "start"},
		{"GET", "/templates/team%2Fname%3Atag", "", 404, "team/name:tag"},
		{"GET", "/nothing/here", "", 404, "/nothing/here"},
		{"PUT", "/sandboxes", "{}", 404, "PUT"},
	} {
		rep := r.do(c.method, c.path, c.body)
		var e apiError
		if json.Unmarshal([]byte(rep.body), &e) != nil || rep.status != c.status || e.Code != c.status || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s %s %s: %d %s; want %d and %q", c.method, c.path, c.body, rep.status, rep.body, c.status, c.says)
		}
	}
	if got := r.ids("/v2/sandboxes"); !slices.Equal(got, []string{id}) {
		t.Errorf("refused calls left %v", got)
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	r := newRig(t, &fakeIsolator{startErr: errBoom})
	rep := r.do("POST", "/sandboxes", `{"templateID":"base"}`)
	e := decode[apiError](t, rep.body)
	if rep.status != 500 || !strings.Contains(e.Message, "boom") || e.ErrorCode != "sandbox_create_failed" {
		t.Errorf("%+v", rep)
	}
	if left, err := os.ReadDir(r.dir + "/sandboxes"); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if got := r.ids("/sandboxes"); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
}

func TestEmptyListsAreArrays(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	for _, path := range []string{"/sandboxes", "/v2/sandboxes", "/v2/sandboxes?state=paused", "/sandboxes/inone/metrics", "/snapshots"} {
		if rep := r.do("GET", path, ""); rep.status != 200 || strings.TrimSpace(rep.body) != "[]" {
			t.Errorf("%s: %+v", path, rep)
		}
	}
	if rep := r.do("GET", "/sandboxes/metrics?sandbox_ids=inone", ""); strings.TrimSpace(rep.body) != `{"sandboxes":{}}` {
		t.Errorf("%+v", rep)
	}
	if rep := r.do("GET", "/health", ""); rep.status != 204 || rep.header.Get(HeaderVersion) != "1.2.3" || rep.header.Get(HeaderProtocol) != "1" {
		t.Errorf("%+v", rep)
	}
	if rep := r.do("GET", "/v2/templates", ""); rep.status != 200 || !strings.Contains(rep.body, `"names":["base","code-interpreter-v1"]`) {
		t.Errorf("%+v", rep)
	}
}

func TestListPagesAndFilters(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	var made []string // oldest first
	for i := range 7 {
		meta := fmt.Sprintf(`{"u":"a b&c=d","k":"v%d"}`, i%2)
		made = append(made, r.create(`{"templateID":"base","timeout":3600,"metadata":`+meta+`}`).SandboxID)
		r.clock.Advance(time.Second)
	}
	newest := slices.Clone(made)
	slices.Reverse(newest)
	if got := r.ids("/v2/sandboxes"); !slices.Equal(got, newest) {
		t.Errorf("default order %v", got)
	}
	for order, want := range map[string][]string{"asc": made, "desc": newest} {
		var got []string
		path, pages := "/v2/sandboxes?limit=3&order="+order, 0
		for token := ""; ; pages++ {
			rep := r.do("GET", path+"&nextToken="+url.QueryEscape(token), "")
			if total := rep.header.Get("X-Total-Running"); total != "7" {
				t.Errorf("total %q", total)
			}
			for _, l := range decode[[]listedJSON](t, rep.body) {
				got = append(got, l.SandboxID)
			}
			if token = rep.header.Get("X-Next-Token"); token == "" || pages > 5 {
				break
			}
			if pages == 0 {
				other := map[string]string{"asc": "desc", "desc": "asc"}[order]
				if rep := r.do("GET", "/v2/sandboxes?order="+other+"&nextToken="+url.QueryEscape(token), ""); rep.status != 400 {
					t.Errorf("token under the other order: %d", rep.status)
				}
			}
		}
		if pages != 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %d pages, %v, want %v", order, pages+1, got, want)
		}
	}
	if rep := r.do("GET", "/v2/sandboxes?limit=7", ""); rep.header.Get("X-Next-Token") != "" {
		t.Error("a full last page has a token")
	}
	// The metadata example of e2b-protocol §3.4.
	if got := r.ids("/v2/sandboxes?metadata=u%3Da%252520b%252526c%25253Dd%26k%3Dv1"); len(got) != 3 {
		t.Errorf("metadata filter: %v", got)
	}
	if got := r.ids("/sandboxes?metadata=k%3Dv0"); len(got) != 4 {
		t.Errorf("metadata filter, v1: %v", got)
	}
	after := url.QueryEscape(r.clock.Now().Add(-2 * time.Second).Format(time.RFC3339Nano))
	if got := r.ids("/v2/sandboxes?startedAfter=" + after); !slices.Equal(got, newest[:2]) {
		t.Errorf("startedAfter: %v", got)
	}
	for q, n := range map[string]int{"template=base": 7, "template=other": 0, "state=running,paused": 7, "state=paused": 0} {
		if got := r.ids("/v2/sandboxes?" + q); len(got) != n {
			t.Errorf("%s: %v", q, got)
		}
	}
	for _, q := range []string{
		"limit=0", "limit=101", "limit=x", "state=odd", "order=up", "startedAfter=x", "template=base:v1", "nextToken=%21",
		"nextToken=YQ==", "metadata=a", "metadata=a%3D%25zz", "metadata=a%3Db%3Dc",
	} {
		if rep := r.do("GET", "/v2/sandboxes?"+q, ""); rep.status != 400 {
			t.Errorf("%s: %d %s", q, rep.status, rep.body)
		}
	}
}

// encodeMetadata is the client's side of e2b-protocol §3.4, written down separately.
func encodeMetadata(m map[string]string) string {
	percent := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	v := url.Values{}
	for k, val := range m {
		v.Set(percent(k), percent(val))
	}
	return url.QueryEscape(v.Encode())
}

func TestMetadataFilterUndoesTheEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.StringN(1, 20, -1), rapid.String(), 1, 5).Draw(t, "metadata")
		q, err := url.ParseQuery("metadata=" + encodeMetadata(want))
		if err != nil {
			t.Fatal(err)
		}
		got, e := metadataFilter(q)
		if e != nil {
			t.Fatal(e)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestLifetimeCalls(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	sb := r.create(`{"templateID":"base","timeout":100}`)
	start := r.clock.Now()
	left := func() time.Duration {
		t.Helper()
		return decode[detailJSON](t, r.do("GET", "/sandboxes/"+sb.SandboxID, "").body).EndAt.Sub(start)
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       time.Duration
	}{
		{"connect", `{"timeout":50}`, 200, 100 * time.Second}, // never shorter
		{"connect", `{"timeout":200}`, 200, 200 * time.Second},
		{"refreshes", `{"duration":60}`, 204, 200 * time.Second},
		{"refreshes", `{"duration":300}`, 204, 300 * time.Second},
		{"timeout", `{"timeout":40}`, 204, 40 * time.Second}, // may be shorter
		{"refreshes", ``, 204, 40 * time.Second},             // at least 15 s from now
		{"timeout", `{"timeout":10}`, 204, 10 * time.Second},
		{"refreshes", `{}`, 204, 15 * time.Second},
	} {
		rep := r.do("POST", "/sandboxes/"+sb.SandboxID+"/"+c.path, c.body)
		if rep.status != c.status || left() != c.want {
			t.Errorf("%s %s: %d %s, end %s after the start; want %d, %s", c.path, c.body, rep.status, rep.body, left(), c.status, c.want)
		}
	}
	if rep := r.do("POST", "/sandboxes/"+sb.SandboxID+"/timeout", `{"timeout":0}`); rep.status != 204 {
		t.Errorf("timeout 0: %+v", rep)
	}
	eventually(t, "timeout 0 ends the sandbox", func() bool { return len(r.ids("/v2/sandboxes")) == 0 })
}

func FuzzListQuery(f *testing.F) {
	f.Add("metadata=u%3Da%252520b%252526c%25253Dd%26k%3Dv&state=running,paused&order=asc&limit=5&nextToken=NT%3D%3D")
	f.Add("startedAfter=2026-01-01T00%3A00%3A00.000Z&template=base")
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Skip()
		}
		q, e := parseListQuery(v)
		switch {
		case e != nil && e.Code != 400:
			t.Errorf("refused with %+v", e)
		case e == nil && (q.limit < 1 || q.limit > pageMax):
			t.Errorf("accepted %+v", q)
		}
	})
}

func TestPageTokensRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
		id := rapid.StringMatching(`i[a-z0-9]{20}`).Draw(t, "id")
		q := listQuery{asc: rapid.Bool().Draw(t, "asc")}
		token := q.encode(at, id)
		if e := q.decode(token); e != nil || q.token != (pageToken{at, id}) {
			t.Errorf("%q: %+v, %v", token, q.token, e)
		}
		q.asc = !q.asc
		if q.decode(token) == nil {
			t.Error("taken under the other order")
		}
	})
}

package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"abxdash/client"
)

func TestCreateSendsWhatTheDialectWants(t *testing.T) {
	yes := true
	cases := []struct {
		name string
		spec client.CreateSpec
		want string
	}{
		{"defaults", client.CreateSpec{}, `{"templateID":"base","timeout":300,"secure":true}`},
		{
			"everything, 90.5 s rounded up",
			client.CreateSpec{
				Template: "t:v1", Lifetime: 90500 * time.Millisecond, Env: map[string]string{"A": "1"},
				Metadata: map[string]string{"name": "n"}, Internet: &yes, AutoPause: true,
			},
			`{"templateID":"t:v1","timeout":91,"secure":true,"autoPause":true,"allow_internet_access":true,"metadata":{"name":"n"},"envVars":{"A":"1"}}`,
		},
		{"insecure", client.CreateSpec{Insecure: true, Lifetime: time.Nanosecond}, `{"templateID":"base","timeout":1,"secure":false}`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, map[string]http.HandlerFunc{
				"POST /sandboxes": answerJSON(http.StatusCreated, `{"templateID":"tid","sandboxID":"inew","clientID":"c","envdVersion":"0.6.13","envdAccessToken":"tok-secret-123456","domain":null}`),
			})
			if _, err := newTestClient(t, f).Sandboxes().Create(context.Background(), tc.spec); err != nil {
				t.Fatal(err)
			}
			r := f.only(t, "/sandboxes")
			if diff := cmp.Diff(decoded(t, []byte(tc.want)), decoded(t, r.body)); diff != "" {
				t.Error(diff)
			}
			if got := r.header.Get("X-API-Key"); got != testKey {
				t.Errorf("X-API-Key %q", got)
			}
			if got := r.header.Get("User-Agent"); got != "abxdash/test" {
				t.Errorf("User-Agent %q", got)
			}
		})
	}
}

func TestCreateFillsWhatTheAnswerLacks(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"POST /sandboxes": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", "Wed, 01 Jan 2031 00:00:00 GMT")
			answerJSON(http.StatusCreated, `{"templateID":"tid","sandboxID":"inew","clientID":"c","envdVersion":"0.6.13","envdAccessToken":"tok-secret-123456","isolation":"namespace"}`)(w, r)
		},
	})
	c := newTestClient(t, f)
	got, err := c.Sandboxes().Create(context.Background(), client.CreateSpec{Template: "base", Lifetime: time.Hour, Metadata: map[string]string{"name": "mine"}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	want := client.Sandbox{
		Provider: "test", ID: "inew", Name: "mine", Template: "base", TemplateID: "tid", State: client.StateRunning,
		Isolation: client.IsolationNamespace, StartedAt: start, ExpiresAt: start.Add(time.Hour), End: client.EndAt,
		Metadata: map[string]string{"name": "mine"}, EnvdVersion: "0.6.13",
	}
	raw := got.Raw
	got.Raw = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(raw), "tok-secret") || !strings.Contains(string(raw), "inew") {
		t.Errorf("raw view %s", raw)
	}
	if a, err := c.agentOf(context.Background(), "inew"); err != nil || a.access.token != "tok-secret-123456" {
		t.Errorf("token not kept from create: %v", err)
	}
	if n := len(f.requests("/sandboxes/inew")); n != 0 {
		t.Errorf("%d needless gets", n)
	}
}

func TestListQuery(t *testing.T) {
	cases := []struct {
		name  string
		q     client.Query
		quirk Quirks
		want  string
	}{
		{"all", client.Query{}, Quirks{}, ""},
		{
			"golden 15.11",
			client.Query{
				Metadata: map[string]string{"u": "a b&c=d", "k": "v"}, States: []client.State{"running", "paused"},
				Template: "base", Limit: 5, PageToken: "NT==",
			},
			Quirks{},
			"?metadata=k%3Dv%26u%3Da%252520b%252526c%25253Dd&state=running,paused&template=base&limit=5&nextToken=NT%3D%3D",
		},
		{"a state servers do not know", client.Query{States: []client.State{"pausing"}}, Quirks{}, ""},
		{"state filter broken", client.Query{States: []client.State{"paused"}}, Quirks{NoStateFilter: true}, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, map[string]http.HandlerFunc{"GET /v2/sandboxes": answerJSON(http.StatusOK, "[]")})
			c := newTestClient(t, f, func(c *Config) { c.Quirks = tc.quirk })
			page, err := c.Sandboxes().List(context.Background(), tc.q)
			if err != nil || len(page.Sandboxes) != 0 {
				t.Fatalf("%v, %v", page, err)
			}
			if got := f.only(t, "/v2/sandboxes").uri; got != "/v2/sandboxes"+tc.want {
				t.Errorf("got  %s\nwant %s", got, "/v2/sandboxes"+tc.want)
			}
		})
	}
}

// The server's decoding (e2b-protocol §3.4) must give back any metadata.
func TestMetadataEncodingRoundTrip(t *testing.T) {
	if got, want := encodeMetadata(map[string]string{"u": "a b&c=d"}), "u%3Da%252520b%252526c%25253Dd"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.String(), rapid.String(), 1, 5).Draw(t, "metadata")
		q, err := url.ParseQuery("metadata=" + encodeMetadata(want))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := url.QueryUnescape(q.Get("metadata"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for pair := range strings.SplitSeq(whole, "&") {
			k, v, ok := strings.Cut(pair, "=")
			if !ok || strings.Contains(v, "=") {
				t.Fatalf("malformed pair %q", pair)
			}
			key, err1 := url.QueryUnescape(k)
			val, err2 := url.QueryUnescape(v)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			got[key] = val
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func listRoute(body string, header map[string]string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"GET /v2/sandboxes": func(w http.ResponseWriter, r *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		answerJSON(http.StatusOK, body)(w, r)
	}}
}

func TestListPageLoop(t *testing.T) { // LST-01
	var in struct {
		Headers map[string]string
		Body    json.RawMessage
	}
	if err := json.Unmarshal(file(t, "page-loop.json"), &in); err != nil {
		t.Fatal(err)
	}
	f := newFake(t, listRoute(string(in.Body), in.Headers))
	page, err := client.ListAll(context.Background(), newTestClient(t, f).Sandboxes(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.requests("/v2/sandboxes")); n > 3 {
		t.Errorf("%d requests, at most 3 allowed", n)
	}
	if len(page.Sandboxes) != 2 || !page.MayBeIncomplete || page.Note == "" || page.NextToken != "" {
		t.Errorf("%d rows, incomplete %v, note %q, token %q", len(page.Sandboxes), page.MayBeIncomplete, page.Note, page.NextToken)
	}
}

func TestListFullPage(t *testing.T) { // LST-02
	rows := make([]string, 100)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"sandboxID":"i%d","templateID":"base","state":"running"}`, i)
	}
	for _, noPaging := range []bool{true, false} {
		f := newFake(t, listRoute("["+strings.Join(rows, ",")+"]", nil))
		c := newTestClient(t, f, func(c *Config) { c.Quirks.NoPaging = noPaging })
		page, err := client.ListAll(context.Background(), c.Sandboxes(), client.Query{Limit: 100})
		if err != nil || len(page.Sandboxes) != 100 {
			t.Fatalf("%d rows, %v", len(page.Sandboxes), err)
		}
		f.only(t, "/v2/sandboxes")
		if page.MayBeIncomplete != noPaging || (page.Note != "") != noPaging {
			t.Errorf("no paging %v: incomplete %v, note %q", noPaging, page.MayBeIncomplete, page.Note)
		}
	}
}

func TestListPausedBehindFilter(t *testing.T) { // LST-03
	f := newFake(t, map[string]http.HandlerFunc{"GET /v2/sandboxes": func(w http.ResponseWriter, r *http.Request) {
		body := `[{"sandboxID":"irun","templateID":"base","state":"running"},{"sandboxID":"ipau","templateID":"base","state":"paused"}]`
		if r.URL.Query().Get("state") == "paused" {
			body = "[]"
		}
		answerJSON(http.StatusOK, body)(w, r)
	}})
	s := newTestClient(t, f).Sandboxes()
	for _, tc := range []struct {
		states []client.State
		want   []client.ID
	}{
		{nil, []client.ID{"irun", "ipau"}},
		{[]client.State{client.StatePaused}, []client.ID{"ipau"}},
		{[]client.State{client.StateRunning, client.StatePaused}, []client.ID{"irun", "ipau"}},
	} {
		page, err := client.ListAll(context.Background(), s, client.Query{States: tc.states})
		if err != nil {
			t.Fatal(err)
		}
		var got []client.ID
		for _, sb := range page.Sandboxes {
			got = append(got, sb.ID)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%v: %s", tc.states, diff)
		}
	}
}

func TestListPages(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"GET /v2/sandboxes": func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("nextToken")
		next := map[string]string{"": "a/b+c=", "a/b+c=": "2", "2": ""}[token]
		if next != "" {
			w.Header().Set("X-Next-Token", next)
		}
		answerJSON(http.StatusOK, `[{"sandboxID":"i`+strings.NewReplacer("/", "", "+", "", "=", "").Replace(token)+`x","state":"running"}]`)(w, r)
	}})
	page, err := client.ListAll(context.Background(), newTestClient(t, f).Sandboxes(), client.Query{Limit: 1})
	if err != nil || len(page.Sandboxes) != 3 || page.MayBeIncomplete {
		t.Errorf("%d rows, incomplete %v (%s), %v", len(page.Sandboxes), page.MayBeIncomplete, page.Note, err)
	}
}

func TestListUnknownStates(t *testing.T) { // LST-05
	f := newFake(t, listRoute(string(file(t, "unknown-state.json")), nil))
	page, err := newTestClient(t, f).Sandboxes().List(context.Background(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var got []client.State
	for _, s := range page.Sandboxes {
		got = append(got, s.State)
	}
	if diff := cmp.Diff([]client.State{"pausing", "unknown", "CheckpointReady", "?", "?", "running"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestListOddMetadata(t *testing.T) { // LST-06
	f := newFake(t, listRoute(string(file(t, "odd-metadata.json")), nil))
	page, err := newTestClient(t, f).Sandboxes().List(context.Background(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Sandboxes) != 7 {
		t.Fatalf("%d rows, want 7", len(page.Sandboxes))
	}
	if m := page.Sandboxes[0].Metadata; len(m) != 0 {
		t.Errorf("null metadata is %v", m)
	}
	if got := page.Sandboxes[1].Metadata["a\nb"]; got != "c\td\r\ne" {
		t.Errorf("control characters changed: %q", got)
	}
	if got := page.Sandboxes[5].Metadata["%00"]; got != "\x00" {
		t.Errorf("NUL value %q", got)
	}
	if got := page.Sandboxes[6].Name; got != "\u009b2Kname\rfake" {
		t.Errorf("alias %q", got)
	}
}

func TestListTimes(t *testing.T) { // LST-08
	var in struct {
		Now  time.Time
		Rows json.RawMessage
	}
	if err := json.Unmarshal(file(t, "ttl.json"), &in); err != nil {
		t.Fatal(err)
	}
	f := newFake(t, listRoute(string(in.Rows), map[string]string{"Date": in.Now.Format(http.TimeFormat)}))
	fast := func(c *Config) { c.Now = func() time.Time { return in.Now.Add(10 * time.Minute) } }
	page, err := newTestClient(t, f, fast).Sandboxes().List(context.Background(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if !page.ServerTime.Equal(in.Now) {
		t.Errorf("server time %v, want %v", page.ServerTime, in.Now)
	}
	want := []client.EndKind{client.EndAt, client.EndUnset, client.EndNever, client.EndUnset, client.EndAt, client.EndInvalid}
	for i, s := range page.Sandboxes {
		if s.End != want[i] {
			t.Errorf("row %d: end kind %d, want %d", i, s.End, want[i])
		}
	}
	if got, ok := page.Sandboxes[0].Remaining(page.ServerTime); got != 0 || !ok {
		t.Errorf("past end: remaining %v, %v", got, ok)
	}
	zone := time.Date(2030, 12, 31, 18, 0, 0, 0, time.UTC)
	if got := page.Sandboxes[4].ExpiresAt; !got.Equal(zone) {
		t.Errorf("+08:00 end is %v, want %v", got, zone)
	}
}

func TestListToleratesOddJSON(t *testing.T) {
	cases := []struct {
		name, body string
		rows       int
		odd        bool
	}{
		{"null", `null`, 0, false},
		{"empty body", ``, 0, false},
		{"rows that are none", `[null, 3, {"state":"running"}, {"sandboxID":"ok"}]`, 1, true},
		{"fields of other types", `[{"sandboxID":"ok","cpuCount":"2","memoryMB":null,"metadata":["x"],"state":7,"startedAt":{},"endAt":1893456000}]`, 1, false},
		{"metadata that are no strings", `[{"sandboxID":"ok","metadata":{"n":1,"b":true,"o":{"x":1},"z":null}}]`, 1, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, listRoute(tc.body, nil))
			page, err := newTestClient(t, f).Sandboxes().List(context.Background(), client.Query{})
			if err != nil || len(page.Sandboxes) != tc.rows || page.MayBeIncomplete != tc.odd {
				t.Errorf("%d rows, incomplete %v, %v", len(page.Sandboxes), page.MayBeIncomplete, err)
			}
		})
	}
	f := newFake(t, listRoute(`{"not":"a list"}`, nil))
	_, err := newTestClient(t, f).Sandboxes().List(context.Background(), client.Query{})
	if e := asClientError(t, err); e.Code != client.CodeBadAnswer {
		t.Errorf("an object for a list: %v", e)
	}
}

func TestWhen(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := []struct {
		raw  string
		want time.Time
		ok   bool
	}{
		{`"2030-01-02T03:04:05Z"`, at, true},
		{`"2030-01-02T03:04:05"`, at, true},
		{`"2030-01-02 03:04:05"`, at, true},
		{`"2030-01-02T11:04:05+08:00"`, at, true},
		{`1893553445`, at, true},
		{`1893553445000`, at, true},
		{`"1893553445"`, at, true},
		{`null`, time.Time{}, true},
		{`""`, time.Time{}, true},
		{``, time.Time{}, true},
		{`0`, time.Time{}, true},
		{`"0001-01-01T00:00:00Z"`, time.Time{}, true},
		{`"0001-01-01T00:00:00-05:00"`, time.Time{}, true},
		{`"0000-12-31T00:00:00Z"`, time.Time{}, true},
		{`"<unknown>"`, time.Time{}, false},
		{`{}`, time.Time{}, false},
		{`-5`, time.Time{}, false},
	}
	for _, tc := range cases {
		got, ok := when(json.RawMessage(tc.raw))
		if ok != tc.ok || !got.Equal(tc.want) {
			t.Errorf("%s: %v %v, want %v %v", tc.raw, got, ok, tc.want, tc.ok)
		}
	}
}

func TestGetKeepsTokensToItself(t *testing.T) {
	body := `{"sandboxID":"i1","templateID":"base","state":"running","envdAccessToken":"tok-0123456789abcdef","trafficAccessToken":"traffic-0123456789",
	 "metadata":{"token":"mine"},"network":{"egressProxy":{"password":"pw-hidden"},"rules":{"a.test":[{"transform":{"headers":{"Authorization":"Bearer hush"}}}]}},"n":12345678901234567890}`
	f := newFake(t, map[string]http.HandlerFunc{"GET /sandboxes/i1": answerJSON(http.StatusOK, body)})
	got, err := newTestClient(t, f).Sandboxes().Get(context.Background(), "i1")
	if err != nil {
		t.Fatal(err)
	}
	raw := string(got.Raw)
	for _, s := range []string{"tok-0123456789abcdef", "traffic-0123456789", "pw-hidden", "hush"} {
		if strings.Contains(raw, s) {
			t.Errorf("raw view holds %q: %s", s, raw)
		}
	}
	for _, s := range []string{`"token":"mine"`, "12345678901234567890"} {
		if !strings.Contains(raw, s) {
			t.Errorf("raw view lost %q: %s", s, raw)
		}
	}
}

func TestKill(t *testing.T) { // KIL-01
	cases := []struct {
		name   string
		status int
		body   string
		gone   bool
		fails  bool
	}{
		{"killed", http.StatusNoContent, "", false, false},
		{"empty 200", http.StatusOK, "", false, false},
		{"gone", http.StatusNotFound, `{"code":404,"message":"sandbox \"i1\" doesn't exist"}`, true, true},
		{"gone by body code", http.StatusInternalServerError, `{"code":404,"message":"gone"}`, true, true},
		{"gone by body code in a 200", http.StatusOK, `{"code":404,"message":"gone"}`, true, true},
		{"failed", http.StatusInternalServerError, `{"code":500,"message":"oh"}`, false, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			h := answerJSON(tc.status, tc.body)
			if tc.body == "" {
				h = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tc.status) }
			}
			f := newFake(t, map[string]http.HandlerFunc{"DELETE /sandboxes/i1": h})
			err := newTestClient(t, f).Sandboxes().Kill(context.Background(), "i1")
			if (err != nil) != tc.fails || errors.Is(err, client.ErrNotFound) != tc.gone {
				t.Errorf("got %v", err)
			}
			if tc.gone && client.CodeOf(err) != client.CodeNotFound {
				t.Errorf("code %s", client.CodeOf(err))
			}
			f.only(t, "/sandboxes/i1")
		})
	}
}

func TestSetLifetime(t *testing.T) { // KIL-05
	f := newFake(t, map[string]http.HandlerFunc{
		"POST /sandboxes/i1/timeout": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"POST /sandboxes/i2/timeout": answerJSON(http.StatusBadRequest, `{"code":400,"message":"Timeout cannot be greater than 1 hours"}`),
	})
	s := newTestClient(t, f).Sandboxes()
	ctx := context.Background()
	if err := s.SetLifetime(ctx, "i1", 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := string(f.only(t, "i1/timeout").body); got != `{"timeout":2}` {
		t.Errorf("body %s", got)
	}
	err := s.SetLifetime(ctx, "i2", 2*time.Hour)
	if e := asClientError(t, err); e.Status != 400 || !strings.Contains(e.Error(), "greater than 1 hours") {
		t.Errorf("got %v", e)
	}
	if err := s.SetLifetime(ctx, "i3", time.Hour); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("unknown sandbox: %v", err)
	}
	before := len(f.requests(""))
	for _, d := range []time.Duration{0, -time.Second} {
		if err := s.SetLifetime(ctx, "i1", d); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%v: %v", d, err)
		}
	}
	if after := len(f.requests("")); after != before {
		t.Error("a refused lifetime was sent")
	}
}

func TestConnectPauseResume(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"POST /sandboxes/i1/connect": answerJSON(http.StatusCreated, getSandbox),
		"POST /sandboxes/i1/pause":   answerJSON(http.StatusConflict, `{"code":409,"message":"already paused"}`),
		"POST /sandboxes/i2/pause":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	})
	s := newTestClient(t, f).Sandboxes()
	ctx := context.Background()
	sb, err := s.(client.Connector).Connect(ctx, "i1", time.Minute)
	if err != nil || sb.State != client.StateRunning {
		t.Errorf("connect: %v %v", sb, err)
	}
	if got := string(f.only(t, "/connect").body); got != `{"timeout":60}` {
		t.Errorf("body %s", got)
	}
	p := s.(client.Pauser)
	if err := p.Pause(ctx, "i1"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("pause of a paused one: %v", err)
	}
	if err := p.Pause(ctx, "i2"); err != nil {
		t.Error(err)
	}
	if err := p.Resume(ctx, "i1", time.Minute); err != nil {
		t.Error(err)
	}
	if err := p.Resume(ctx, "i9", time.Minute); !errors.Is(err, client.ErrNotFound) || !strings.HasPrefix(err.Error(), "resume sandbox i9") {
		t.Errorf("resume of an unknown one: %v", err)
	}
}

func TestIDsAreChecked(t *testing.T) {
	f := newFake(t, nil)
	c := newTestClient(t, f)
	for _, id := range []client.ID{"", "../x", "a/b", "a?b", "a b", "-x", "a\nb", "é", client.ID(strings.Repeat("a", 200))} {
		if err := c.Sandboxes().Kill(context.Background(), id); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("kill %q: %v", id, err)
		}
		if _, err := c.Commands().Processes(context.Background(), id); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("processes %q: %v", id, err)
		}
	}
	if n := len(f.requests("")); n != 0 {
		t.Errorf("%d requests with a bad id", n)
	}
}

func FuzzDecodeList(f *testing.F) {
	for _, name := range []string{"unknown-state.json", "odd-metadata.json"} {
		f.Add(file(f, name))
	}
	f.Add([]byte(`[{"sandboxID":"x","endAt":"2999-12-31T00:00:00Z","cpuCount":1e999}]`))
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		rows, odd, err := decodeList(body)
		if err != nil && (len(rows) > 0 || odd > 0) {
			t.Fatal("rows beside an error")
		}
		for _, w := range rows {
			s := w.sandbox("p", now)
			if s.ID == "" || s.State == "" || s.MemoryMB < 0 || s.CPU < 0 {
				t.Fatalf("bad row %+v", s)
			}
			if left, ok := s.Remaining(now); ok && left < 0 {
				t.Fatalf("negative time left %v", left)
			}
		}
		redact(body)
	})
}

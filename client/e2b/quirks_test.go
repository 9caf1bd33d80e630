package e2b

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"abxdash/client"
)

func quirks(edit func(*Quirks)) func(*Config) {
	return func(c *Config) { edit(&c.Quirks) }
}

// TestOddTimes: a year-1 end means never on some services, "<unknown>" is no
// start, a far end is none (alicloud-container §5).
func TestOddTimes(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"GET /v2/sandboxes": answerJSON(http.StatusOK, `[
		{"sandboxID":"a","state":"running","startedAt":"<unknown>","endAt":"0001-01-01T00:00:00Z"},
		{"sandboxID":"b","state":"paused","startedAt":"2026-11-29T12:00:00Z","endAt":"2126-11-29T12:00:00Z"},
		{"sandboxID":"c","state":"dead","startedAt":"2026-11-29T12:00:00Z"}]`)})
	for name, c := range map[string]struct {
		change func(*Config)
		want   []client.EndKind
	}{
		"as E2B":         {func(*Config) {}, []client.EndKind{client.EndUnset, client.EndNever, client.EndUnset}},
		"unset is never": {quirks(func(q *Quirks) { q.UnsetIsNever = true }), []client.EndKind{client.EndNever, client.EndNever, client.EndNever}},
	} {
		page, err := newTestClient(t, f, c.change).Sandboxes().List(t.Context(), client.Query{})
		if err != nil || len(page.Sandboxes) != 3 {
			t.Fatalf("%s: %v", name, err)
		}
		var got []client.EndKind
		for _, s := range page.Sandboxes {
			got = append(got, s.End)
		}
		if !slices.Equal(got, c.want) || !page.Sandboxes[0].StartedAt.IsZero() || page.Sandboxes[2].State != "dead" {
			t.Errorf("%s: %v, %+v", name, got, page.Sandboxes)
		}
	}
}

// TestCreateForms: floors, both forms of the end of life, keys that are refused
// before any call.
func TestCreateForms(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"POST /sandboxes": answerJSON(http.StatusCreated, getSandbox)})
	c := newTestClient(t, f, quirks(func(q *Quirks) { q.Lifecycle, q.QualifiedKeys = true, true }), func(c *Config) { c.MinLifetime = 30 * time.Second })
	if _, err := c.Sandboxes().Create(t.Context(), client.CreateSpec{Lifetime: time.Second, AutoPause: true, AutoResume: true, Metadata: map[string]string{"a.b/c-d": "any text"}}); err != nil {
		t.Fatal(err)
	}
	body := string(f.only(t, "/sandboxes").body)
	for _, want := range []string{`"timeout":30`, `"autoPause":true`, `"lifecycle":{"onTimeout":"pause","autoResume":true}`, `"autoResume":{"enabled":true}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	for _, key := range []string{"odd key", "ä", "", "-x", strings.Repeat("k", 64), "a/b/c", "/x"} {
		_, err := c.Sandboxes().Create(t.Context(), client.CreateSpec{Metadata: map[string]string{key: "v"}})
		if client.CodeOf(err) != client.CodeUsage {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if n := len(f.requests("/sandboxes")); n != 1 {
		t.Errorf("%d creates were sent", n)
	}
}

// TestConnectFloor: a body is always sent, and is never below the floor.
func TestConnectFloor(t *testing.T) {
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /sandboxes/i1/connect": answerJSON(http.StatusOK, getSandbox)}))
	c := newTestClient(t, f, func(c *Config) { c.MinLifetime = 300 * time.Second })
	con, _ := client.Find[client.Connector](c)
	if _, err := con.Connect(t.Context(), "i1", time.Minute); err != nil {
		t.Fatal(err)
	}
	if body := string(f.only(t, "/connect").body); body != `{"timeout":300}` {
		t.Error(body)
	}
}

// TestBusyKill: a kill that is refused for a moment is asked for again, by time.
func TestBusyKill(t *testing.T) {
	var n atomic.Int32
	busy := func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) < 2 {
			w.Header().Set("Retry-After", "1")
			answerJSON(http.StatusServiceUnavailable, `{"code":503,"message":"it is pausing"}`)(w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
	f := newFake(t, map[string]http.HandlerFunc{"DELETE /sandboxes/i1": busy})
	if err := newTestClient(t, f).Sandboxes().Kill(t.Context(), "i1"); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("without the quirk: %v", err)
	}
	n.Store(0)
	if err := newTestClient(t, f, quirks(func(q *Quirks) { q.BusyKill = true })).Sandboxes().Kill(t.Context(), "i1"); err != nil {
		t.Error(err)
	}
	n.Store(-1000)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := newTestClient(t, f, quirks(func(q *Quirks) { q.BusyKill = true })).Sandboxes().Kill(ctx, "i1"); err == nil {
		t.Error("a kill that never came through looks like success")
	}
}

// TestPauseSettles: a pause is over when the state says so; a second one is a conflict.
func TestPauseSettles(t *testing.T) {
	var looks atomic.Int32
	get := func(w http.ResponseWriter, r *http.Request) {
		state := "running"
		switch n := looks.Add(1); {
		case n > 3:
			state = "paused"
		case n > 1:
			state = "pausing"
		}
		answerJSON(http.StatusOK, `{"sandboxID":"i1","templateID":"t","state":"`+state+`"}`)(w, r)
	}
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /sandboxes/i1":        get,
		"POST /sandboxes/i1/pause": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	})
	c := newTestClient(t, f, quirks(func(q *Quirks) { q.PauseSettles, q.PauseAgainOK = true, true }))
	p, _ := client.Find[client.Pauser](c)
	if err := p.Pause(t.Context(), "i1"); err != nil || looks.Load() != 4 {
		t.Errorf("%v after %d looks", err, looks.Load())
	}
	if err := p.Pause(t.Context(), "i1"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("second pause: %v", err)
	}
	if n := len(f.requests("/pause")); n != 1 {
		t.Errorf("%d pauses were sent", n)
	}
}

// TestGoneInOtherWords: the data plane's ways to say that a sandbox is no more.
func TestGoneInOtherWords(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		ct     string
		body   string
		code   string
	}{
		"410":         {http.StatusGone, "text/html", "<html>", ""},
		"cube's code": {http.StatusInternalServerError, "text/html", "<html><title>500</title></html>", "310507"},
		"plain 502":   {http.StatusBadGateway, "text/plain", "healthy sandbox not found", ""},
	} {
		f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST *": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.ct)
			if c.code != "" {
				w.Header().Set("X-Cube-Retcode", c.code)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}}))
		_, err := newTestClient(t, f, quirks(func(q *Quirks) { q.RetcodeGone = true })).Files().ReadDir(t.Context(), "i1", "/")
		if !errors.Is(err, client.ErrNotFound) || client.CodeOf(err) != client.CodeNotFound {
			t.Errorf("%s: %v (%s)", name, err, client.CodeOf(err))
		}
	}
}

// TestKeyHeaderAndFilters: Bearer alone, and no parameter that is misread.
func TestKeyHeaderAndFilters(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"GET /v2/sandboxes": answerJSON(http.StatusOK, `[{"sandboxID":"a","templateID":"x","state":"running"},{"sandboxID":"b","templateID":"y","state":"running"}]`)})
	c := newTestClient(t, f, quirks(func(q *Quirks) { q.NoTemplateFilter = true }), func(c *Config) { c.Bearer = true })
	page, err := c.Sandboxes().List(t.Context(), client.Query{Template: "y"})
	if err != nil || len(page.Sandboxes) != 1 || page.Sandboxes[0].ID != "b" {
		t.Errorf("%+v, %v", page, err)
	}
	r := f.only(t, "/v2/sandboxes")
	if r.header.Get("Authorization") != "Bearer "+testKey || r.header.Get("X-Api-Key") != "" || strings.Contains(r.uri, "template") {
		t.Errorf("%s %v", r.uri, r.header)
	}
}

// TestUploadFallsBackToAForm: where the version tells nothing, the refusal of a
// bare body does (cubesandbox §9).
func TestUploadFallsBackToAForm(t *testing.T) {
	f := newFake(t, withSandbox(map[string]http.HandlerFunc{"POST /files": func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
			answerJSON(http.StatusBadRequest, `{"code":400,"message":"no form"}`)(w, r)
			return
		}
		answerJSON(http.StatusOK, `[{"name":"x","path":"/tmp/x","type":"file"}]`)(w, r)
	}}))
	c := newTestClient(t, f, quirks(func(q *Quirks) { q.IgnoreVersion = true }))
	if _, err := c.Files().Put(t.Context(), "i1", "/tmp/x", strings.NewReader("bytes"), 5); err != nil {
		t.Fatal(err)
	}
	got := f.requests("/files")
	if len(got) != 2 || !strings.Contains(string(got[1].body), "bytes") {
		t.Errorf("%d uploads", len(got))
	}
}

func TestQuirkNames(t *testing.T) {
	for _, name := range QuirkNames() {
		var q Quirks
		if err := q.Set(name, true); err != nil || q == (Quirks{}) {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
	if err := new(Quirks).Set("none", true); client.CodeOf(err) != client.CodeUsage {
		t.Error(err)
	}
}

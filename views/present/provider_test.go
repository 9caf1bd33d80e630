package present_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// LST-01: a server that ignores the page token is asked twice, not for ever.
func TestListAllStopsWhenPagesRepeat(t *testing.T) {
	p := fake.New(fake.Options{OnList: func(_ client.Query, page client.Page) (client.Page, error) {
		page.NextToken = "QUFBQQ=="
		return page, nil
	}})
	p.Add(client.Sandbox{ID: "sbx0001"}, client.Sandbox{ID: "sbx0002"})
	page, err := present.ListAll(t.Context(), p, client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Sandboxes) != 2 || !page.MayBeIncomplete || page.Note == "" {
		t.Errorf("%d rows, incomplete %v, note %q", len(page.Sandboxes), page.MayBeIncomplete, page.Note)
	}
	if n := len(p.CallsOf(fake.OpList)); n > 3 {
		t.Errorf("%d requests", n)
	}
}

// Every page brings new ids and a new token, as a broken server may for ever.
func TestListAllIsBounded(t *testing.T) {
	n := 0
	p := fake.New(fake.Options{OnList: func(client.Query, client.Page) (client.Page, error) {
		n++
		return client.Page{Sandboxes: []client.Sandbox{{ID: client.ID(fmt.Sprint("s", n))}}, NextToken: fmt.Sprint(n)}, nil
	}})
	page, err := present.ListAll(t.Context(), p, client.Query{})
	if err != nil || !page.MayBeIncomplete || n > 200 {
		t.Errorf("%d pages, incomplete %v, err %v", n, page.MayBeIncomplete, err)
	}
}

func TestListAllReadsAllPages(t *testing.T) {
	p := fake.New(fake.Options{PageSize: 10})
	for range 25 {
		p.Add(client.Sandbox{})
	}
	page, err := present.ListAll(t.Context(), p, client.Query{})
	if err != nil || len(page.Sandboxes) != 25 || page.MayBeIncomplete || page.Sandboxes[0].Provider != "fake" {
		t.Errorf("%d rows, incomplete %v, err %v", len(page.Sandboxes), page.MayBeIncomplete, err)
	}
}

func TestResolve(t *testing.T) {
	local, cloud := fake.New(fake.Options{Name: "local"}), fake.New(fake.Options{Name: "cloud"})
	local.Add(
		client.Sandbox{ID: "i4dct03zurabcdefghxyz", Name: "web"},
		client.Sandbox{ID: "i4dxx03zurabcdefghxyz", Name: "twin"},
		client.Sandbox{ID: "sbx1", Name: "i4dct03zurabcdefghxyy"},
	)
	cloud.Add(client.Sandbox{ID: "i9zct03zurabcdefghxyz", Name: "twin"}, client.Sandbox{ID: "a/b", Name: "slash"})
	ps := present.Providers{local, cloud}
	for text, want := range map[string]string{
		"web":                         "local/i4dct03zurabcdefghxyz",
		" web ":                       "local/i4dct03zurabcdefghxyz",
		"i4dc":                        "local/i4dct03zurabcdefghxyz",
		"i9":                          "cloud/i9zct03zurabcdefghxyz",
		"i4dct03zurabcdefghxyz":       "local/i4dct03zurabcdefghxyz",
		"cloud/i9zct03zurabcdefghxyz": "cloud/i9zct03zurabcdefghxyz",
		"cloud/twin":                  "cloud/i9zct03zurabcdefghxyz",
		"cloud/i":                     "cloud/i9zct03zurabcdefghxyz",
		"a/b":                         "cloud/a/b",
		"sbx1":                        "local/sbx1",
	} {
		s, err := present.Resolve(t.Context(), ps, text)
		if got := present.KeyOf(s).String(); err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]client.Code{
		"i4d": client.CodeAmbiguous, "twin": client.CodeAmbiguous, "nothing": client.CodeNotFound, "": client.CodeUsage,
		"local/": client.CodeNotFound, "i0000000000000000000z": client.CodeNotFound, "local/i9": client.CodeNotFound,
	} {
		_, err := present.Resolve(t.Context(), ps, text)
		if client.CodeOf(err) != want {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
		if want == client.CodeNotFound && !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%q: %v is not ErrNotFound", text, err)
		}
	}
	_, err := present.Resolve(t.Context(), ps, "twin")
	for _, part := range []string{"local/i4dxx03zurabcdefghxyz", "cloud/i9zct03zurabcdefghxyz"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}

// A provider that cannot be asked must not turn "not found" into a fact.
func TestResolveSaysWhenAProviderFailed(t *testing.T) {
	up, down := fake.New(fake.Options{Name: "up"}), fake.New(fake.Options{Name: "down"})
	up.Add(client.Sandbox{ID: "i4dct03zurabcdefghxyz", Name: "web"})
	down.Script(fake.OpList, "", fake.Step{Err: fake.ServerError("boom"), Repeat: true})
	down.Script(fake.OpGet, "", fake.Step{Err: fake.ServerError("boom"), Repeat: true})
	ps := present.Providers{down, up}
	if s, err := present.Resolve(t.Context(), ps, "web"); err != nil || s.Name != "web" {
		t.Errorf("a found one is spoilt by the other provider: %v", err)
	}
	for _, text := range []string{"nothing", "i0000000000000000000z"} {
		if _, err := present.Resolve(t.Context(), ps, text); client.CodeOf(err) != client.CodeServer {
			t.Errorf("%q gives %v, want the provider's error", text, err)
		}
	}
}

func TestIsFullID(t *testing.T) {
	for text, want := range map[string]bool{
		"i4dct03zurabcdefghxyz": true, "local/i4dct03zurabcdefghxyz": true,
		"i4dct": false, "web": false, "x4dct03zurabcdefghxyz": false, "i4dct03zurabcdefghxyzz": false,
	} {
		if present.IsFullID(text) != want {
			t.Errorf("IsFullID(%q) is %v", text, !want)
		}
	}
}

// KIL-05: refused, gone, accepted without effect, and refused locally.
func TestExtend(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now})
	id := p.Add(client.Sandbox{ExpiresAt: clock.Now().Add(17 * time.Minute)})[0]
	get := func() client.Sandbox {
		s, err := p.Get(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if x := present.Extend(t.Context(), p, get(), 30*time.Minute, clock.Now()); x.Err != nil || x.Text != "TTL 17m → 47m" || x.Short {
		t.Errorf("extended: %q short %v err %v", x.Text, x.Short, x.Err)
	}
	p.Script(fake.OpTimeout, id, fake.Step{Err: fake.BadRequest("over the plan's limit")})
	if x := present.Extend(t.Context(), p, get(), time.Hour, clock.Now()); x.Err == nil || !strings.Contains(x.Err.Error(), "over the plan") {
		t.Errorf("a refusal gives %v", x.Err)
	}
	p.Script(fake.OpTimeout, id, fake.Step{Skip: true})
	if x := present.Extend(t.Context(), p, get(), time.Hour, clock.Now()); x.Err != nil || !x.Short || !strings.Contains(x.Text, "47m instead of 1h47m") {
		t.Errorf("accepted without effect: %q short %v err %v", x.Text, x.Short, x.Err)
	}
	p.ResetCalls()
	for _, by := range []time.Duration{0, -time.Minute} {
		if x := present.Extend(t.Context(), p, get(), by, clock.Now()); client.CodeOf(x.Err) != client.CodeUsage {
			t.Errorf("a step of %v gives %v", by, x.Err)
		}
	}
	if n := len(p.CallsOf(fake.OpTimeout)); n != 0 {
		t.Errorf("%d calls for steps that make no sense", n)
	}
	gone := get()
	p.Vanish(id)
	if x := present.Extend(t.Context(), p, gone, time.Hour, clock.Now()); !errors.Is(x.Err, client.ErrNotFound) {
		t.Errorf("a vanished one gives %v", x.Err)
	}
}

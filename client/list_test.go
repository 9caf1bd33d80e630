package client_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"abxdash/client"
)

// pages is a [client.Sandboxes] whose List is a function; it counts calls.
type pages struct {
	client.Sandboxes
	list  func(q client.Query) (client.Page, error)
	calls int
}

func (p *pages) List(_ context.Context, q client.Query) (client.Page, error) {
	p.calls++
	return p.list(q)
}

func TestListAllEndsWhateverTheServerDoes(t *testing.T) {
	row := func(i int) []client.Sandbox {
		return []client.Sandbox{{ID: client.ID(strconv.Itoa(i)), State: "running"}}
	}
	var p *pages
	cases := []struct {
		name     string
		list     func(q client.Query) (client.Page, error)
		maxCalls int
		rows     int
		note     string
	}{
		{
			"the same page for ever",
			func(client.Query) (client.Page, error) {
				return client.Page{Sandboxes: row(1), NextToken: "A"}, nil
			},
			3, 1, client.NotePageLoop,
		},
		{
			"new tokens, no new rows",
			func(q client.Query) (client.Page, error) {
				return client.Page{Sandboxes: row(1), NextToken: q.PageToken + "x"}, nil
			},
			3, 1, client.NotePageLoop,
		},
		{
			"new rows, two tokens in turn",
			func(q client.Query) (client.Page, error) {
				next := map[string]string{"": "A", "A": "B", "B": "A"}[q.PageToken]
				return client.Page{Sandboxes: row(p.calls), NextToken: next}, nil
			},
			3, 3, client.NoteTokenLoop,
		},
		{
			"new rows and tokens for ever",
			func(q client.Query) (client.Page, error) {
				return client.Page{Sandboxes: row(p.calls), NextToken: strconv.Itoa(p.calls)}, nil
			},
			100, 100, client.NoteTooMany,
		},
		{
			"empty pages for ever",
			func(q client.Query) (client.Page, error) {
				return client.Page{NextToken: q.PageToken + "x"}, nil
			},
			1, 0, client.NotePageLoop,
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			p = &pages{list: tc.list}
			got, err := client.ListAll(context.Background(), p, client.Query{})
			if err != nil {
				t.Fatal(err)
			}
			if p.calls > tc.maxCalls || len(got.Sandboxes) != tc.rows || !got.MayBeIncomplete || got.Note != tc.note || got.NextToken != "" {
				t.Errorf("%d calls, %d rows, incomplete %v, note %q", p.calls, len(got.Sandboxes), got.MayBeIncomplete, got.Note)
			}
		})
	}
}

func TestListAllErrorKeepsRows(t *testing.T) {
	down := errors.New("down")
	p := &pages{}
	p.list = func(client.Query) (client.Page, error) {
		if p.calls == 2 {
			return client.Page{}, down
		}
		return client.Page{Sandboxes: []client.Sandbox{{ID: "a"}}, NextToken: "n"}, nil
	}
	got, err := client.ListAll(context.Background(), p, client.Query{})
	if !errors.Is(err, down) || len(got.Sandboxes) != 1 || !got.MayBeIncomplete {
		t.Errorf("%+v, %v", got, err)
	}
}

// A provider that ignores a filter must not widen a choice: bulk kills rest on it.
func TestListAllFiltersItself(t *testing.T) {
	all := []client.Sandbox{
		{ID: "a", State: "running", Metadata: map[string]string{"k": "v"}},
		{ID: "b", State: "running", Metadata: map[string]string{"k": "w"}},
		{ID: "c", State: "paused"},
		{ID: "d", State: "pausing", Metadata: map[string]string{"k": "v", "x": ""}},
	}
	cases := []struct {
		q    client.Query
		want []client.ID
	}{
		{client.Query{}, []client.ID{"a", "b", "c", "d"}},
		{client.Query{Metadata: map[string]string{"k": "v"}}, []client.ID{"a", "d"}},
		{client.Query{Metadata: map[string]string{"x": ""}}, []client.ID{"d"}},
		{client.Query{States: []client.State{"running"}, Metadata: map[string]string{"k": "v"}}, []client.ID{"a"}},
		{client.Query{States: []client.State{"gone"}}, nil},
	}
	for _, tc := range cases {
		p := &pages{list: func(client.Query) (client.Page, error) {
			return client.Page{Sandboxes: append([]client.Sandbox(nil), all...)}, nil
		}}
		got, err := client.ListAll(context.Background(), p, tc.q)
		if err != nil {
			t.Fatal(err)
		}
		var ids []client.ID
		for _, s := range got.Sandboxes {
			ids = append(ids, s.ID)
		}
		if diff := cmp.Diff(tc.want, ids); diff != "" {
			t.Errorf("%+v: %s", tc.q, diff)
		}
	}
}

// However the rows are cut into pages, and wherever they repeat, each comes once and in order.
func TestListAllPaging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 40).Draw(t, "total")
		size := rapid.IntRange(1, 7).Draw(t, "size")
		overlap := rapid.IntRange(0, size-1).Draw(t, "overlap")
		p := &pages{list: func(q client.Query) (client.Page, error) {
			from, _ := strconv.Atoi(q.PageToken)
			to := min(from+size, total)
			var page client.Page
			for i := max(0, from-overlap); i < to; i++ {
				page.Sandboxes = append(page.Sandboxes, client.Sandbox{ID: client.ID(fmt.Sprint(i))})
			}
			if to < total {
				page.NextToken = strconv.Itoa(to)
			}
			return page, nil
		}}
		got, err := client.ListAll(context.Background(), p, client.Query{})
		if err != nil || got.MayBeIncomplete || len(got.Sandboxes) != total {
			t.Fatalf("%d rows of %d, incomplete %v, %v", len(got.Sandboxes), total, got.MayBeIncomplete, err)
		}
		for i, s := range got.Sandboxes {
			if s.ID != client.ID(strconv.Itoa(i)) {
				t.Fatalf("row %d is %s", i, s.ID)
			}
		}
	})
}

package client

import (
	"context"
	"slices"
)

// maxPages bounds one walk: 100 pages of 100 are 10,000 sandboxes. It also ends
// a walk over a server that invents new ids for ever.
const maxPages = 100

// Notes that ListAll puts into Page.Note, one line each.
const (
	NotePageLoop  = "the list may be incomplete: the provider repeats its pages"
	NoteTooMany   = "the list may be incomplete: too many pages"
	NoteFullPage  = "the list may be incomplete: a full page and no next one from a provider that does not page"
	NoteOddRows   = "the list may be incomplete: rows without a readable id were left out"
	NoteNoPaused  = "the provider's state filter answered nothing; filtered here instead"
	NoteTokenLoop = "the list may be incomplete: the provider sent a page token twice"
)

// ListAll walks every page of q and gives one page without a next token. Each
// sandbox is in it once. It stops, and says so in MayBeIncomplete and Note,
// once a page token repeats or a page brings no new id (LST-01). A state filter
// that finds nothing is checked against the unfiltered list, because some
// providers hide sandboxes behind it (LST-03); states and metadata are also
// filtered here, so that a provider that ignores a filter cannot widen a choice.
// On an error the rows so far come with it.
func ListAll(ctx context.Context, s Sandboxes, q Query) (Page, error) {
	all, err := walk(ctx, s, q)
	if err != nil || len(all.Sandboxes) > 0 || len(q.States) == 0 {
		return all, err
	}
	wide := q
	wide.States = nil
	found, err := walk(ctx, s, wide)
	if err != nil {
		// The filtered answer stands: this was only a second look.
		return all, nil //nolint:nilerr
	}
	found.Sandboxes = keep(found.Sandboxes, q)
	if len(found.Sandboxes) > 0 && found.Note == "" {
		found.Note = NoteNoPaused
	}
	return found, nil
}

// walk follows the page tokens of one query.
func walk(ctx context.Context, s Sandboxes, q Query) (Page, error) {
	var all Page
	ids := map[ID]bool{}
	tokens := map[string]bool{q.PageToken: true}
	for range maxPages {
		p, err := s.List(ctx, q)
		if err != nil {
			all.MayBeIncomplete = true
			return all, err
		}
		if !p.ServerTime.IsZero() {
			all.ServerTime = p.ServerTime
		}
		if p.MayBeIncomplete {
			all.MayBeIncomplete, all.Note = true, p.Note
		}
		fresh := 0
		for _, sb := range p.Sandboxes {
			if ids[sb.ID] {
				continue
			}
			ids[sb.ID] = true
			fresh++
			all.Sandboxes = append(all.Sandboxes, sb)
		}
		switch {
		case p.NextToken == "":
			all.Sandboxes = keep(all.Sandboxes, q)
			return all, nil
		case fresh == 0:
			return incomplete(all, q, NotePageLoop), nil
		case tokens[p.NextToken]:
			return incomplete(all, q, NoteTokenLoop), nil
		}
		tokens[p.NextToken] = true
		q.PageToken = p.NextToken
	}
	return incomplete(all, q, NoteTooMany), nil
}

func incomplete(p Page, q Query, note string) Page {
	p.Sandboxes = keep(p.Sandboxes, q)
	p.MayBeIncomplete, p.Note = true, note
	return p
}

// keep drops the rows that the states and metadata of q exclude.
func keep(rows []Sandbox, q Query) []Sandbox {
	if len(q.States) == 0 && len(q.Metadata) == 0 {
		return rows
	}
	return slices.DeleteFunc(rows, func(s Sandbox) bool { return !q.Matches(s) })
}

// Matches reports whether s has one of the states and all the metadata of q.
// Template is left to the provider, which knows its aliases.
func (q Query) Matches(s Sandbox) bool {
	if len(q.States) > 0 && !slices.Contains(q.States, s.State) {
		return false
	}
	for k, want := range q.Metadata {
		if v, ok := s.Metadata[k]; !ok || v != want {
			return false
		}
	}
	return true
}

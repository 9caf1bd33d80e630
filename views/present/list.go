package present

import (
	"context"
	"sync"

	"abxdash/client"
)

// maxPages bounds one listing: 100 pages of 100 are 10,000 sandboxes.
const maxPages = 100

// ListAll reads every page that q selects. It stops when a token comes back a
// second time or a page brings no new id, because some servers ignore the
// token and would be asked for ever; the page then says that it may be
// incomplete. Each sandbox is there once.
func ListAll(ctx context.Context, p client.Provider, q client.Query) (client.Page, error) {
	var all client.Page
	seen := map[client.ID]bool{}
	tokens := map[string]bool{}
	for range maxPages {
		page, err := p.Sandboxes().List(ctx, q)
		if err != nil {
			return client.Page{}, err
		}
		before := len(all.Sandboxes)
		for _, s := range page.Sandboxes {
			if s.ID == "" || seen[s.ID] {
				continue
			}
			seen[s.ID] = true
			s.Provider = p.Name()
			all.Sandboxes = append(all.Sandboxes, s)
		}
		all.ServerTime = page.ServerTime
		all.MayBeIncomplete = all.MayBeIncomplete || page.MayBeIncomplete
		if page.Note != "" {
			all.Note = page.Note
		}
		switch {
		case page.NextToken == "":
			return all, nil
		case tokens[page.NextToken] || len(all.Sandboxes) == before:
			return incomplete(all, "the list may be incomplete: the server repeats a page"), nil
		}
		tokens[page.NextToken] = true
		q.PageToken = page.NextToken
	}
	return incomplete(all, "only the first pages are shown"), nil
}

func incomplete(p client.Page, note string) client.Page {
	p.MayBeIncomplete, p.Note = true, note
	return p
}

// Listing is one provider's answer of [Gather].
type Listing struct {
	Provider string
	Page     client.Page
	Err      error
}

// Gather lists all providers at once, each bounded by ctx; one that fails or
// hangs does not take the answers of the others away. The order is that of ps.
func Gather(ctx context.Context, ps Providers, q client.Query) []Listing {
	out := make([]Listing, len(ps))
	var wg sync.WaitGroup
	for i, p := range ps {
		wg.Go(func() {
			page, err := ListAll(ctx, p, q)
			out[i] = Listing{Provider: p.Name(), Page: page, Err: err}
		})
	}
	wg.Wait()
	return out
}

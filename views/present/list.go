package present

import (
	"context"
	"slices"
	"sync"

	"abxdash/client"
)

// ListAll is client.ListAll over p, with the provider's name in every row and
// without rows that have no id.
func ListAll(ctx context.Context, p client.Provider, q client.Query) (client.Page, error) {
	page, err := client.ListAll(ctx, p.Sandboxes(), q)
	if err != nil {
		return client.Page{}, err
	}
	page.Sandboxes = slices.DeleteFunc(page.Sandboxes, func(s client.Sandbox) bool { return s.ID == "" })
	for i := range page.Sandboxes {
		page.Sandboxes[i].Provider = p.Name()
	}
	return page, nil
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

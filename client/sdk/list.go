package sdk

import (
	"context"
	"iter"

	"abxdash/client"
)

// maxPages ends a walk over a server that makes up pages for ever.
const maxPages = 1000

// Sandboxes yields the sandboxes that q selects, page by page as they are asked
// for, each once. An error ends it. Where a list may be incomplete,
// client.ListAll tells why.
func Sandboxes(ctx context.Context, p client.Provider, q client.Query) iter.Seq2[client.Sandbox, error] {
	return func(yield func(client.Sandbox, error) bool) {
		seen, tokens := map[client.ID]bool{}, map[string]bool{q.PageToken: true}
		for range maxPages {
			page, err := p.Sandboxes().List(ctx, q)
			if err != nil {
				yield(client.Sandbox{}, err)
				return
			}
			fresh := false
			for _, sb := range page.Sandboxes {
				if seen[sb.ID] {
					continue
				}
				seen[sb.ID], fresh = true, true
				// A provider that ignores a filter must not widen a choice.
				if q.Matches(sb) && !yield(sb, nil) {
					return
				}
			}
			if !fresh || tokens[page.NextToken] || page.NextToken == "" {
				return
			}
			tokens[page.NextToken] = true
			q.PageToken = page.NextToken
		}
	}
}

// Snapshots yields the snapshots that q selects, where the provider declares
// sandbox.snapshot; else its one error is E8004.
func Snapshots(ctx context.Context, p client.Provider, q client.SnapshotQuery) iter.Seq2[client.Snapshot, error] {
	return func(yield func(client.Snapshot, error) bool) {
		s, err := optional[client.Snapshotter](p, client.CapSnapshot)
		if err != nil {
			yield(client.Snapshot{}, err)
			return
		}
		tokens := map[string]bool{q.PageToken: true}
		for range maxPages {
			page, next, err := s.Snapshots(ctx, q)
			if err != nil {
				yield(client.Snapshot{}, err)
				return
			}
			for _, x := range page {
				if !yield(x, nil) {
					return
				}
			}
			if tokens[next] || next == "" {
				return
			}
			tokens[next] = true
			q.PageToken = next
		}
	}
}

// DeleteSnapshot deletes a snapshot by id or name.
func DeleteSnapshot(ctx context.Context, p client.Provider, snapshot string) error {
	s, err := optional[client.Snapshotter](p, client.CapSnapshot)
	if err != nil {
		return err
	}
	return s.DeleteSnapshot(ctx, snapshot)
}

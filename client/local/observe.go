package local

import (
	"context"
	"errors"
	"time"

	"abxdash/client"
	"abxdash/client/local/server"
)

// Metrics implements [client.MetricsReader]: a point every five seconds for an
// hour, one a minute for a day.
func (p *Provider) Metrics(ctx context.Context, id client.ID, from, to time.Time) ([]client.Metric, error) {
	list, err := p.inner.Metrics(ctx, id, from, to)
	return list, p.say("read metrics", id, err)
}

// Logs implements [client.LogReader]: what the server did with the sandbox, and
// which processes its agent started. A sandbox that has ended has no log.
func (p *Provider) Logs(ctx context.Context, id client.ID, since time.Time, limit int) ([]client.LogEntry, error) {
	list, err := p.inner.Logs(ctx, id, since, limit)
	return list, p.say("read logs", id, err)
}

// UpdateNetwork implements [client.NetworkUpdater] for sandboxes that were created
// with network rules. The network of the others stays what it is: E9003.
func (p *Provider) UpdateNetwork(ctx context.Context, id client.ID, u client.NetworkUpdate) error {
	return p.say("change the network", id, p.inner.UpdateNetwork(ctx, id, u))
}

// Snapshot implements [client.Snapshotter]. It saves the home folder alone;
// programs stand still while it is copied.
func (p *Provider) Snapshot(ctx context.Context, id client.ID, name string) (client.Snapshot, error) {
	s, err := p.inner.Snapshot(ctx, id, name)
	return s, p.say("snapshot sandbox", id, err)
}

// Snapshots implements [client.Snapshotter]. Without a running server it reads
// the folder itself: looking starts nothing.
func (p *Provider) Snapshots(ctx context.Context, q client.SnapshotQuery) ([]client.Snapshot, string, error) {
	list, next, err := p.inner.Snapshots(ctx, q)
	if errors.Is(err, errNoServer) {
		return p.savedSnapshots(q), "", nil
	}
	return list, next, p.say("list snapshots", "", err)
}

// DeleteSnapshot implements [client.Snapshotter]. It starts the server if none runs.
func (p *Provider) DeleteSnapshot(ctx context.Context, snapshot string) error {
	if err := p.ensure(ctx); err != nil {
		return err
	}
	return p.say("delete snapshot", "", p.inner.DeleteSnapshot(ctx, snapshot))
}

// savedSnapshots is what the folder holds, on one page.
func (p *Provider) savedSnapshots(q client.SnapshotQuery) []client.Snapshot {
	ids, names := server.SavedSnapshots(p.paths.templates, string(q.Sandbox), q.Name)
	out := make([]client.Snapshot, 0, len(ids))
	for i, id := range ids {
		out = append(out, client.Snapshot{ID: id, Names: names[i]})
	}
	return out
}

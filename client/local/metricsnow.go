package local

import (
	"context"

	"abxdash/client"
)

var _ client.MetricsBatcher = (*Provider)(nil)

// MetricsNow implements [client.MetricsBatcher] in one call to the server.
func (p *Provider) MetricsNow(ctx context.Context, ids []client.ID) (map[client.ID]client.Metric, error) {
	values, err := p.inner.MetricsNow(ctx, ids)
	return values, p.say("read metrics", "", err)
}

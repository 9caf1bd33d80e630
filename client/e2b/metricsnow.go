package e2b

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"abxdash/client"
)

// MetricsNow returns the newest value of each of up to 100 sandboxes
// (e2b-protocol §3.10). Unknown ones and such that were not measured are left out.
func (c *Client) MetricsNow(ctx context.Context, ids []client.ID) (map[client.ID]Metric, error) {
	const op = "get metrics"
	f := failing{op: op, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := c.need(client.CapMetrics); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids) > 100 {
		return nil, client.Usagef(op, "at most 100 sandboxes at once, not %d", len(ids))
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		if err := checkID(op, id); err != nil {
			return nil, err
		}
		names[i] = string(id)
	}
	a, err := c.call(ctx, f, http.MethodGet, "/sandboxes/metrics"+query(url.Values{"sandbox_ids": {strings.Join(names, ",")}}), nil)
	if err != nil {
		return nil, err
	}
	var body struct {
		Sandboxes map[client.ID]struct {
			Timestamp     json.RawMessage `json:"timestamp"`
			TimestampUnix number          `json:"timestampUnix"`
			CPUCount      number          `json:"cpuCount"`
			CPUUsedPct    number          `json:"cpuUsedPct"`
			MemUsed       number          `json:"memUsed"`
			MemTotal      number          `json:"memTotal"`
			MemCache      number          `json:"memCache"`
			DiskUsed      number          `json:"diskUsed"`
			DiskTotal     number          `json:"diskTotal"`
		} `json:"sandboxes"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		return nil, c.fail(ctx, f, &badJSON{a, "map of metrics"})
	}
	out := make(map[client.ID]Metric, len(body.Sandboxes))
	for id, r := range body.Sandboxes {
		m := Metric{
			CPUCount: float64(r.CPUCount), CPUUsed: float64(r.CPUUsedPct),
			MemUsed: int64(r.MemUsed), MemTotal: int64(r.MemTotal), MemCache: int64(r.MemCache),
			DiskUsed: int64(r.DiskUsed), DiskTotal: int64(r.DiskTotal),
		}
		if r.TimestampUnix > 0 {
			m.At = time.Unix(int64(r.TimestampUnix), 0).UTC()
		} else {
			m.At, _ = when(r.Timestamp)
		}
		out[id] = m
	}
	return out, nil
}

var _ client.MetricsBatcher = (*Client)(nil)

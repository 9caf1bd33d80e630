package e2b

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"abxdash/client"
)

// Metric is [client.Metric].
type Metric = client.Metric

// Metrics returns the recorded use between two times, oldest first; a zero time
// leaves that end open. An unknown sandbox gives an empty list (§3.10).
func (c *Client) Metrics(ctx context.Context, id client.ID, from, to time.Time) ([]Metric, error) {
	f := failing{op: "get metrics of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID("get metrics", id); err != nil {
		return nil, err
	}
	if err := c.need(client.CapMetrics); err != nil {
		return nil, err
	}
	q := url.Values{}
	if !from.IsZero() {
		q.Set("start", strconv.FormatInt(from.Unix(), 10))
	}
	if !to.IsZero() {
		q.Set("end", strconv.FormatInt(to.Unix(), 10))
	}
	a, err := c.call(ctx, f, http.MethodGet, sandboxPath(id, "/metrics")+query(q), nil)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Timestamp     json.RawMessage `json:"timestamp"`
		TimestampUnix number          `json:"timestampUnix"`
		CPUCount      number          `json:"cpuCount"`
		CPUUsedPct    number          `json:"cpuUsedPct"`
		MemUsed       number          `json:"memUsed"`
		MemTotal      number          `json:"memTotal"`
		MemCache      number          `json:"memCache"`
		DiskUsed      number          `json:"diskUsed"`
		DiskTotal     number          `json:"diskTotal"`
	}
	if err := json.Unmarshal(a.body, &rows); err != nil {
		return nil, c.fail(ctx, f, &badJSON{a, "list of metrics"})
	}
	out := make([]Metric, 0, len(rows))
	for _, r := range rows {
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
		out = append(out, m)
	}
	return out, nil
}

// LogEntry is [client.LogEntry].
type LogEntry = client.LogEntry

// Logs returns up to limit entries at or after since, oldest first (§3.9). To
// follow, ask again from the last entry's time plus one millisecond. limit 0 is
// the service's own.
func (c *Client) Logs(ctx context.Context, id client.ID, since time.Time, limit int) ([]LogEntry, error) {
	f := failing{op: "get logs of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID("get logs", id); err != nil {
		return nil, err
	}
	if err := c.need(client.CapLogs); err != nil {
		return nil, err
	}
	q := url.Values{"direction": {"forward"}}
	if !since.IsZero() {
		q.Set("cursor", strconv.FormatInt(since.UnixMilli(), 10))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(min(limit, 1000)))
	}
	a, err := c.call(ctx, f, http.MethodGet, "/v2"+sandboxPath(id, "/logs")+query(q), nil)
	if err != nil {
		return nil, err
	}
	var body struct {
		Logs []struct {
			Timestamp json.RawMessage `json:"timestamp"`
			Level     word            `json:"level"`
			Message   word            `json:"message"`
			Fields    words           `json:"fields"`
		} `json:"logs"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		return nil, c.fail(ctx, f, &badJSON{a, "log"})
	}
	out := make([]LogEntry, 0, len(body.Logs))
	for _, l := range body.Logs {
		e := LogEntry{Level: string(l.Level), Message: string(l.Message)}
		e.At, _ = when(l.Timestamp)
		if len(l.Fields) > 0 {
			e.Fields = make(map[string]string, len(l.Fields))
			for k, v := range l.Fields {
				e.Fields[k] = string(v)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// query is q with its question mark, or "".
func query(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

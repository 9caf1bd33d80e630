package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// agentMetrics is the agent's GET /metrics (e2b-protocol §7.3). A pointer
// tells "not known" from zero.
type agentMetrics struct {
	TS        int64    `json:"ts"`
	CPUCount  int32    `json:"cpu_count"`
	CPUUsed   *float64 `json:"cpu_used_pct"`
	MemTotal  int64    `json:"mem_total"`
	MemUsed   *int64   `json:"mem_used"`
	MemCache  int64    `json:"mem_cache"`
	DiskUsed  int64    `json:"disk_used"`
	DiskTotal int64    `json:"disk_total"`
}

// metricJSON is SandboxMetric (e2b-protocol §3.1). Sizes are bytes.
type metricJSON struct {
	Timestamp     time.Time `json:"timestamp"`
	TimestampUnix int64     `json:"timestampUnix"`
	CPUCount      int32     `json:"cpuCount"`
	CPUUsedPct    float64   `json:"cpuUsedPct"`
	MemUsed       int64     `json:"memUsed"`
	MemTotal      int64     `json:"memTotal"`
	MemCache      int64     `json:"memCache"`
	DiskUsed      int64     `json:"diskUsed"`
	DiskTotal     int64     `json:"diskTotal"`
}

// metricsTimeout bounds one look into a sandbox for its metrics.
const metricsTimeout = 2 * time.Second

// measure asks the agent for its present numbers; false if it has none.
func (s *Server) measure(ctx context.Context, b *box) (metricJSON, bool) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+agentHost+"/metrics", nil)
	if err != nil {
		return metricJSON{}, false
	}
	if b.token != "" {
		req.Header.Set("X-Access-Token", b.token)
	}
	res, err := b.agent.RoundTrip(req)
	if err != nil {
		return metricJSON{}, false
	}
	defer res.Body.Close()
	var m agentMetrics
	err = json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&m)
	if err != nil || res.StatusCode != http.StatusOK || m.CPUUsed == nil || m.MemUsed == nil {
		return metricJSON{}, false
	}
	return metricJSON{
		Timestamp: time.Unix(m.TS, 0).UTC(), TimestampUnix: m.TS, CPUCount: m.CPUCount, CPUUsedPct: *m.CPUUsed,
		MemUsed: *m.MemUsed, MemTotal: m.MemTotal, MemCache: m.MemCache, DiskUsed: m.DiskUsed, DiskTotal: m.DiskTotal,
	}, true
}

// handleMetrics answers with the present point only: no history is kept.
func (s *Server) handleMetrics(w http.ResponseWriter, r *http.Request) {
	id, e := parseID(r.PathValue("id"))
	if e != nil {
		writeError(w, e)
		return
	}
	out := []metricJSON{}
	if b, ok := s.find(id); ok {
		if m, ok := s.measure(r.Context(), b); ok {
			out = append(out, m)
		}
	}
	writeJSON(w, http.StatusOK, out)
}

func (s *Server) handleMetricsMany(w http.ResponseWriter, r *http.Request) {
	list := r.URL.Query().Get("sandbox_ids")
	ids := strings.Split(list, ",")
	if list == "" || len(ids) > pageMax {
		writeError(w, refuse(http.StatusBadRequest, "sandbox_ids must name 1 to %d sandboxes", pageMax))
		return
	}
	out := struct {
		Sandboxes map[string]metricJSON `json:"sandboxes"`
	}{map[string]metricJSON{}}
	for _, raw := range ids {
		id, e := parseID(raw)
		if e != nil {
			writeError(w, e)
			return
		}
		if b, ok := s.find(id); ok {
			if m, ok := s.measure(r.Context(), b); ok {
				out.Sandboxes[id] = m
			}
		}
	}
	writeJSON(w, http.StatusOK, out)
}

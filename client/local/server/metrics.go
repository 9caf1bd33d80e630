package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Usage is what the commands of a sandbox use now.
type Usage struct {
	// CPU is processor time since the start; it never goes back.
	CPU time.Duration
	// Memory and MemoryLimit are bytes; a limit of 0 is none.
	Memory, MemoryLimit int64
}

// Meter is an [Instance] that can be measured.
type Meter interface {
	Usage(ctx context.Context) (Usage, error)
	// DiskUse is what the home takes, in bytes. It can take long.
	DiskUse(ctx context.Context) (int64, error)
}

const (
	// sampleEvery is the step of the newest history (e2b-protocol §3.10).
	sampleEvery = 5 * time.Second
	// fine and coarse bound the history: an hour of 5 s and a day of minutes.
	fineSteps, coarseSteps = 720, 1440
	coarseStep             = time.Minute
	// metricsTimeout bounds one look into a sandbox.
	metricsTimeout = 2 * time.Second
	// diskEvery is the least time between two looks at a home; a slow one waits longer.
	diskEvery = time.Minute
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

// history is what was measured of one sandbox.
type history struct {
	mu           sync.Mutex
	fine, coarse []metricJSON // oldest first
	// cpu at is the base of the next share of time.
	cpu time.Duration
	at  time.Time
	// disk was measured last, and is measured again at diskNext.
	disk     int64
	diskNext time.Time
}

// add keeps a point; the history thins out with age.
func (h *history) add(m metricJSON) {
	if n := len(h.coarse); n == 0 || m.Timestamp.Sub(h.coarse[n-1].Timestamp) >= coarseStep {
		h.coarse = push(h.coarse, m, coarseSteps)
	}
	h.fine = push(h.fine, m, fineSteps)
}

func push(list []metricJSON, m metricJSON, limit int) []metricJSON {
	if len(list) >= limit {
		list = append(list[:0], list[limit/10:]...)
	}
	return append(list, m)
}

// between returns the points of a span, oldest first; a zero time is open. Where
// the fine history does not reach back, the coarse one stands in.
func (h *history) between(from, to time.Time) []metricJSON {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []metricJSON{}
	keep := func(m metricJSON) {
		if !m.Timestamp.Before(from) && (to.IsZero() || !m.Timestamp.After(to)) {
			out = append(out, m)
		}
	}
	for _, m := range h.coarse {
		if len(h.fine) > 0 && !m.Timestamp.Before(h.fine[0].Timestamp) {
			break
		}
		keep(m)
	}
	for _, m := range h.fine {
		keep(m)
	}
	return out
}

// sample measures every running sandbox at a steady pace until ctx ends.
func (s *Server) sample(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, b := range s.visible() {
			if _, ok := b.inst.(Meter); ok && s.stateOf(b) == boxRunning {
				s.measure(ctx, b)
			}
		}
	}
}

// latest is the newest point, measured now unless it is of this very moment.
func (s *Server) latest(ctx context.Context, b *box) (metricJSON, bool) {
	b.history.mu.Lock()
	n := len(b.history.fine)
	var last metricJSON
	if n > 0 {
		last = b.history.fine[n-1]
	}
	b.history.mu.Unlock()
	if n > 0 && (s.clock.Now().Sub(last.Timestamp) < sampleEvery || s.stateOf(b) != boxRunning) {
		return last, true
	}
	return s.measure(ctx, b)
}

// measure takes one point; false if nothing could be measured.
func (s *Server) measure(ctx context.Context, b *box) (metricJSON, bool) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	m, ok := b.inst.(Meter)
	if !ok {
		return s.askAgent(ctx, b)
	}
	u, err := m.Usage(ctx)
	if err != nil {
		s.log.Debug("not measured", "sandbox", b.id, "err", err)
		return metricJSON{}, false
	}
	h := &b.history
	h.mu.Lock()
	defer h.mu.Unlock()
	now := s.clock.Now()
	if h.at.IsZero() {
		h.at = b.started
	}
	p := metricJSON{
		Timestamp: now, TimestampUnix: now.Unix(), CPUCount: s.host.cpus,
		MemUsed: u.Memory, MemTotal: int64(s.host.memoryMB) << 20, DiskTotal: int64(s.host.diskMB) << 20,
	}
	if u.MemoryLimit > 0 {
		p.MemTotal = u.MemoryLimit
	}
	if span := now.Sub(h.at); span > 0 && s.host.cpus > 0 {
		share := 100 * float64(u.CPU-h.cpu) / float64(span) / float64(s.host.cpus)
		p.CPUUsedPct = min(max(share, 0), 100)
	}
	h.cpu, h.at = u.CPU, now
	if !now.Before(h.diskNext) {
		began := time.Now()
		if n, err := m.DiskUse(ctx); err == nil {
			h.disk = n
		}
		// At most a hundredth of the time goes into looking at homes.
		h.diskNext = now.Add(max(diskEvery, 100*time.Since(began)))
	}
	p.DiskUsed = h.disk
	h.add(p)
	return p, true
}

// askAgent asks the agent for its present numbers; false if it has none.
func (s *Server) askAgent(ctx context.Context, b *box) (metricJSON, bool) {
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

// handleMetrics answers with the history of one sandbox (e2b-protocol §3.10).
func (s *Server) handleMetrics(w http.ResponseWriter, r *http.Request) {
	id, e := parseID(r.PathValue("id"))
	var from, to time.Time
	if e == nil {
		from, e = unixParam(r, "start")
	}
	if e == nil {
		to, e = unixParam(r, "end")
	}
	if e == nil && !to.IsZero() && from.After(to) {
		e = refuse(http.StatusBadRequest, "start must not be after end")
	}
	if e != nil {
		writeError(w, e)
		return
	}
	out := []metricJSON{}
	if b, ok := s.find(id); ok {
		last, measured := s.latest(r.Context(), b)
		out = b.history.between(from, to)
		if len(out) == 0 && measured && from.IsZero() && to.IsZero() {
			out = append(out, last)
		}
	}
	writeJSON(w, http.StatusOK, out)
}

// unixParam reads a time in seconds; absent is zero.
func unixParam(r *http.Request, name string) (time.Time, *apiError) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, refuse(http.StatusBadRequest, "%s must be seconds since 1970", name)
	}
	return time.Unix(n, 0), nil
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
			if m, ok := s.latest(r.Context(), b); ok {
				out.Sandboxes[id] = m
			}
		}
	}
	writeJSON(w, http.StatusOK, out)
}

package envd

import (
	"net/http"
	"os"
	"sync"
	"time"
)

// metricsReply is the body of GET /metrics (e2b-protocol §7.3). What is not
// known is absent.
type metricsReply struct {
	// Time is unix seconds.
	Time int64 `json:"ts"`
	// CPUCount is how many processors the sandbox can use.
	CPUCount int `json:"cpu_count"`
	// CPUUsedPercent is of one processor since the call before, so it may pass
	// 100; absent in the first reply.
	CPUUsedPercent *float64 `json:"cpu_used_pct,omitempty"`
	memory
	// DiskUsed and DiskTotal are of the home's file system, in bytes.
	DiskUsed  *uint64 `json:"disk_used,omitempty"`
	DiskTotal *uint64 `json:"disk_total,omitempty"`
	// Source says where the CPU and memory numbers come from.
	Source string `json:"source,omitempty"`
}

// memory is in bytes, and in MiB where the name says so. Used is the sum over
// the sandbox's processes.
type memory struct {
	Total    *uint64 `json:"mem_total,omitempty"`
	Used     *uint64 `json:"mem_used,omitempty"`
	TotalMiB *uint64 `json:"mem_total_mib,omitempty"`
	UsedMiB  *uint64 `json:"mem_used_mib,omitempty"`
}

// usage is one look at the sandbox's processes.
type usage struct {
	// cpu is processor time since the start; it never goes back.
	cpu time.Duration
	// memory is resident bytes.
	memory uint64
	// source names how memory was counted.
	source string
}

// sampler keeps the look before, which a percentage needs.
type sampler struct {
	mu   sync.Mutex
	at   time.Time
	last time.Duration
}

// percent is the use of one processor since the last call, nil at the first.
func (m *sampler) percent(now time.Time, cpu time.Duration) *float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	elapsed, used := now.Sub(m.at), max(0, cpu-m.last)
	first := m.at.IsZero()
	m.at, m.last = now, max(cpu, m.last)
	if first || elapsed <= 0 {
		return nil
	}
	return new(100 * used.Seconds() / elapsed.Seconds())
}

func (s *Server) getMetrics(w http.ResponseWriter, _ *http.Request) {
	now := s.cfg.Now()
	reply := metricsReply{Time: now.Unix(), CPUCount: cpuCount()}
	if u, ok := measure(os.Getpid()); ok {
		reply.CPUUsedPercent = s.metrics.percent(now, u.cpu)
		reply.Used, reply.UsedMiB = new(u.memory), new(u.memory>>20)
		reply.Source = u.source
	}
	if total, ok := totalMemory(); ok {
		reply.Total, reply.TotalMiB = new(total), new(total>>20)
	}
	if u, err := s.cfg.Spawner.Lookup(""); err == nil {
		if used, total, ok := diskUse(u.Home); ok {
			reply.DiskUsed, reply.DiskTotal = new(used), new(total)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, reply)
}

package isolate

import (
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// userHz is the unit of times in /proc: 100 a second on every Linux that Go
// runs on.
const userHz = 100

// usage sums over the commands as /proc shows them here. The time of those that
// ended is with whoever waited for them, at last with this process.
func (in *initProc) usage() (Usage, error) {
	self, err := procfs.Self()
	if err != nil {
		return Usage{}, err
	}
	own, err := self.Stat()
	if err != nil {
		return Usage{}, err
	}
	ticks := own.CUTime + own.CSTime
	u := Usage{CPUSource: ByProc, MemorySource: ByProcPSS, PIDsSource: ByProc}
	var memory, count uint64
	for _, pid := range in.commandPIDs() {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue // ended meanwhile
		}
		st, err := p.Stat()
		if err != nil {
			continue
		}
		ticks += int(st.UTime+st.STime) + st.CUTime + st.CSTime //nolint:gosec // clock ticks since boot are far below
		if st.State == "Z" {
			continue
		}
		count++
		if smaps, err := p.ProcSMapsRollup(); err == nil {
			memory += smaps.Pss
			continue
		}
		memory += uint64(max(0, st.RSS)) * uint64(os.Getpagesize())
		u.MemorySource = ByProcRSS
	}
	u.CPU = in.seen.raise(time.Duration(ticks) * time.Second / userHz)
	u.Memory, u.PIDs = &memory, &count
	return u, nil
}

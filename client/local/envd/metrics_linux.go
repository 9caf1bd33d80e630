package envd

import (
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// userHz is the unit of times in /proc: 100 a second on every Linux that Go
// runs on.
const userHz = 100

func cpuCount() int { return runtime.NumCPU() }

// measure sums over the descendants of the agent, which are the sandbox's
// processes: orphans come back to it. The time of those that ended is in the
// counters of whoever waited for them.
func measure(agent int) (usage, bool) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return usage{}, false
	}
	stats := make(map[int]procfs.ProcStat, len(procs))
	children := make(map[int][]int, len(procs))
	byPID := make(map[int]procfs.Proc, len(procs))
	for _, p := range procs {
		// One that ended meanwhile is skipped.
		if st, err := p.Stat(); err == nil {
			stats[st.PID] = st
			children[st.PPID] = append(children[st.PPID], st.PID)
			byPID[st.PID] = p
		}
	}
	self, ok := stats[agent]
	if !ok {
		return usage{}, false
	}
	ticks := self.CUTime + self.CSTime
	u := usage{source: "proc-pss"}
	queue := children[agent]
	for len(queue) > 0 {
		st := stats[queue[0]]
		queue = append(queue[1:], children[st.PID]...)
		ticks += int(st.UTime+st.STime) + st.CUTime + st.CSTime
		if smaps, err := byPID[st.PID].ProcSMapsRollup(); err == nil {
			u.memory += smaps.Pss
			continue
		}
		// Shared pages count once per process here.
		u.memory += uint64(max(0, st.RSS)) * uint64(os.Getpagesize())
		u.source = "proc-rss"
	}
	u.cpu = time.Duration(ticks) * time.Second / userHz
	return u, true
}

// totalMemory is the machine's; a sandbox without a limit can use it all.
func totalMemory() (uint64, bool) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, false
	}
	return uint64(info.Totalram) * uint64(info.Unit), true //nolint:unconvert // another width on 32-bit machines
}

// diskUse is the state of the file system that path lies on, in bytes.
func diskUse(path string) (used, total uint64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, false
	}
	block := uint64(st.Bsize)
	return (st.Blocks - st.Bfree) * block, st.Blocks * block, true
}

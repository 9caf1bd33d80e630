package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usage reads what the groups count. complete means that nothing is left to be
// asked of init.
func (g *group) usage() (u Usage, complete bool) {
	if g == nil {
		return u, false
	}
	g.usageV2(&u)
	g.usageV1(&u)
	return u, u.CPUSource != "" && u.Memory != nil && u.PIDs != nil
}

func (g *group) usageV2(u *Usage) {
	if g.v2 == "" {
		return
	}
	if us, ok := keyed(g.user(), "cpu.stat", "usage_usec"); ok {
		u.CPU, u.CPUSource = time.Duration(us)*time.Microsecond, ByCgroup2
	}
	if slices.Contains(g.controllers, "memory") {
		u.Memory, u.MemorySource = g.memory(g.user(), "memory.current", "inactive_file"), ByCgroup2
		g.memoryLimit(u)
	}
	if slices.Contains(g.controllers, "pids") {
		if n, ok := number(g.user(), "pids.current"); ok {
			u.PIDs, u.PIDsSource = &n, ByCgroup2
		}
	}
}

func (g *group) usageV1(u *Usage) {
	if dir := g.v1["cpuacct"]; dir != "" && u.CPUSource == "" {
		if ns, ok := number(dir, "cpuacct.usage"); ok {
			u.CPU, u.CPUSource = time.Duration(ns), ByCgroup1
		}
	}
	if dir := g.v1["memory"]; dir != "" {
		u.Memory, u.MemorySource = g.memory(dir, "memory.usage_in_bytes", "total_inactive_file"), ByCgroup1
		g.memoryLimit(u)
	}
	if dir := g.v1["pids"]; dir != "" {
		if n, ok := number(dir, "pids.current"); ok && n > 0 {
			n-- // the fork server's thread
			u.PIDs, u.PIDsSource = &n, ByCgroup1
		}
	}
}

func (g *group) memoryLimit(u *Usage) {
	if g.limit.MemoryMB > 0 {
		u.MemoryLimit = new(uint64(g.limit.MemoryMB) << 20)
	}
}

// memory is what a group holds without the file cache that goes first.
func (g *group) memory(dir, file, cache string) *uint64 {
	used, ok := number(dir, file)
	if !ok {
		return nil
	}
	if c, ok := keyed(dir, "memory.stat", cache); ok {
		used -= min(used, c)
	}
	return &used
}

func number(dir, file string) (uint64, bool) {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// keyed reads one line of a file of names and numbers.
func keyed(dir, file, key string) (uint64, bool) {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key+" "); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// means says what the groups give, and what stands in for the rest.
func (g *group) means(level levelFacts, missing string) Means {
	m := Means{Pause: BySignals, Kill: level.kill, PIDs: level.pids, SystemCalls: level.calls, Files: level.files, Missing: missing}
	if level.limits.MemoryMB > 0 {
		m.Memory = level.memory
	}
	if g == nil {
		return m
	}
	if g.v2 != "" {
		m.Pause = ByCgroup2
		m.Kill += ", then " + ByCgroup2
	}
	by := func(controller string) string {
		switch {
		case g.v2 != "" && slices.Contains(g.controllers, controller):
			return ByCgroup2
		case g.v1[controller] != "":
			return ByCgroup1
		}
		return ""
	}
	if s := by("memory"); s != "" && g.limit.MemoryMB > 0 {
		m.Memory = s
	}
	if s := by("cpu"); s != "" && g.limit.CPUs > 0 {
		m.CPU = s
	}
	if s := by("pids"); s != "" {
		m.PIDs = s
	}
	return m
}

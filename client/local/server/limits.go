package server

import (
	"math"
	"net/http"
	"strconv"
)

// Keys of a sandbox's metadata that bound it, for SDKs, which have no other field
// for it. The create body has cpuCount and memoryMB, our own addition.
const (
	MetaCPUs     = "abxdash.cpus"
	MetaMemoryMB = "abxdash.memory-mb"
)

// Limited is an [Instance] that knows which limits are held.
type Limited interface {
	// Held reports whether processor time and memory are bounded.
	Held() (cpus, memory bool)
}

// limits bounds a sandbox; 0 is no bound.
type limits struct {
	cpus     float64
	memoryMB int64
}

const (
	minCPUs     = 0.05
	minMemoryMB = 16
	// mostCPUs and mostMemoryMB are beyond every machine.
	mostCPUs     = 4096
	mostMemoryMB = 1 << 30
)

// checkLimits reads what a create asks for. Without a word it is the template's,
// which is kept as well as the machine can; what is asked for must be held.
func checkLimits(req *newSandbox) *apiError {
	cpus, memory := req.CPUCount, req.MemoryMB
	if text, ok := req.Metadata[MetaCPUs]; ok && cpus == nil {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return refuse(http.StatusBadRequest, "metadata %s: %q is no number", MetaCPUs, shorten(text))
		}
		cpus = &v
	}
	if text, ok := req.Metadata[MetaMemoryMB]; ok && memory == nil {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return refuse(http.StatusBadRequest, "metadata %s: %q is no whole number", MetaMemoryMB, shorten(text))
		}
		memory = &v
	}
	req.limits = limits{req.source.CPUs, req.source.MemoryMB}
	if cpus != nil {
		if math.IsNaN(*cpus) || *cpus < minCPUs || *cpus > mostCPUs {
			return refuse(http.StatusBadRequest, "the processors of a sandbox must be at least %v", minCPUs)
		}
		req.limits.cpus, req.asked.cpus = *cpus, *cpus
	}
	if memory != nil {
		if *memory < minMemoryMB || *memory > mostMemoryMB {
			return refuse(http.StatusBadRequest, "the memory of a sandbox must be at least %d MiB", minMemoryMB)
		}
		req.limits.memoryMB, req.asked.memoryMB = *memory, *memory
	}
	return nil
}

// checkHeld refuses a sandbox whose limits, asked for, nothing holds.
func checkHeld(in Instance, asked limits) *apiError {
	l, ok := in.(Limited)
	var cpus, memory bool
	if ok {
		cpus, memory = l.Held()
	}
	switch {
	case asked.cpus > 0 && !cpus:
		return refuse(http.StatusBadRequest, "processor time cannot be bounded on this machine: that takes a cgroup, which this user may not make")
	case asked.memoryMB > 0 && !memory:
		return refuse(http.StatusBadRequest, "memory cannot be bounded on this machine: that takes a cgroup or the isolation level namespace")
	}
	return nil
}

// shown is what lists tell of a sandbox's size: its limits, else the machine.
func (l limits) shown(h hostFacts) (cpus, memoryMB int32) {
	cpus, memoryMB = h.cpus, h.memoryMB
	if l.cpus > 0 {
		cpus = int32(math.Ceil(l.cpus))
	}
	if l.memoryMB > 0 {
		memoryMB = int32(min(l.memoryMB, math.MaxInt32))
	}
	return cpus, memoryMB
}

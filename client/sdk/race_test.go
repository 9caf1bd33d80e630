//go:build unix && race

package sdk_test

// The race detector slows a client down twentyfold and doubles its memory.
const (
	bigOutput   = 64 << 20
	checkMemory = false
)

//go:build !linux

package isolate

// defaultReserved has nothing to do: only Linux has signals that the Go runtime keeps to itself.
func defaultReserved() {}

//go:build !linux

package server

import "runtime"

// bootID is not known here; start times are absolute, so none is needed.
func bootID() string { return "" }

func readHostFacts(string) hostFacts { return hostFacts{cpus: int32(runtime.NumCPU())} }

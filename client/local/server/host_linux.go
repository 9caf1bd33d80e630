package server

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID names the machine's present boot.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// readHostFacts reads what a sandbox can use: it has no limits of its own, so
// this is the machine's processors, memory, and file system of dir.
func readHostFacts(dir string) hostFacts {
	h := hostFacts{cpus: int32(runtime.NumCPU())}
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) == nil {
		h.memoryMB = int32(si.Totalram * uint64(si.Unit) >> 20)
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) == nil {
		h.diskMB = int32(fs.Blocks * uint64(fs.Bsize) >> 20)
	}
	return h
}

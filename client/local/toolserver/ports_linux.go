package toolserver

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// listenState is TCP_LISTEN in /proc/net/tcp.
const listenState = 10

// listener is a port that something listens on.
type listener struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	// PID is 0 when the process cannot be told.
	PID int `json:"pid"`
}

// listeners are those of the sandbox's network, which may be the host's.
func listeners() ([]listener, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("read /proc: %w", err)
	}
	owners := socketOwners()
	out := []listener{}
	for _, read := range []struct {
		protocol string
		lines    func() (procfs.NetTCP, error)
	}{{"tcp", proc.NetTCP}, {"tcp6", proc.NetTCP6}} { //nolint:staticcheck // netlink is for those who ask often
		lines, err := read.lines()
		if err != nil {
			continue // a kernel without IPv6
		}
		for _, l := range lines {
			if l.St == listenState {
				out = append(out, listener{int(l.LocalPort), read.protocol, l.LocalAddr.String(), owners[l.Inode]})
			}
		}
	}
	slices.SortFunc(out, func(a, b listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Address, b.Address))
	})
	return out, nil
}

// socketOwners maps sockets to the lowest process that has them open.
func socketOwners() map[uint64]int {
	out := map[uint64]int{}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return out // the pattern is a constant
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(target, "socket:[")
		inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if !ok || err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if had := out[inode]; err == nil && (had == 0 || pid < had) {
			out[inode] = pid
		}
	}
	return out
}

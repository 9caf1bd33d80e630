// Package ports is the Ports tab of a sandbox: who listens inside it, at which
// address that is reached, and forwards to this machine. The [Manager] owns the
// forwards, which go on when the tab is closed.
package ports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// Listener is a TCP port that something inside a sandbox listens on.
type Listener struct {
	Port int
	// Addresses are where it listens, untrusted only in so far as the kernel of
	// the sandbox is.
	Addresses []netip.Addr
	// PID and Process are 0 and "" if they could not be learnt. Process is untrusted text.
	PID     int
	Process string
}

// Local reports that it can be reached only from inside the sandbox.
func (l Listener) Local() bool {
	for _, a := range l.Addresses {
		if !a.IsLoopback() {
			return false
		}
	}
	return true
}

// script asks the kernel, with nothing but what every image has. The three
// parts are told apart by their headings.
const script = `cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; echo "== descriptors"; ls -l /proc/[0-9]*/fd 2>/dev/null; echo "== names"; grep -s . /proc/[0-9]*/comm; true`

// Bounds of one look.
const (
	maxScan  = 4 << 20 // bytes
	scanTime = 10 * time.Second
)

// Scan asks a sandbox who listens, by one short command in it.
func Scan(ctx context.Context, p client.Provider, id client.ID) ([]Listener, error) {
	proc, err := p.Commands().Start(ctx, id, client.Command{Argv: []string{"sh", "-c", script}, Dir: "/", Timeout: scanTime, Tag: "abxdash-ports"})
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	var out []byte
	for {
		f, err := proc.Next()
		if errors.Is(err, io.EOF) {
			return parse(string(out)), nil
		}
		if err != nil {
			return nil, err
		}
		if f.Stream == client.Stdout {
			out = append(out, f.Data...)
		}
		if len(out) > maxScan {
			_ = proc.Signal(ctx, client.SIGKILL) // enough was read
			return nil, fmt.Errorf("the sandbox has too many open files to tell its ports")
		}
	}
}

// parse reads what script wrote. Lines that are not understood are left out.
func parse(text string) []Listener {
	sockets, rest, _ := strings.Cut(text, "== descriptors\n")
	fds, names, _ := strings.Cut(rest, "== names\n")
	owners := parseOwners(fds)
	called := parseNames(names)
	byPort := map[int]*Listener{}
	for line := range strings.Lines(sockets) {
		addr, port, inode, ok := parseSocket(line)
		if !ok {
			continue
		}
		l := byPort[port]
		if l == nil {
			l = &Listener{Port: port}
			byPort[port] = l
		}
		if !slices.Contains(l.Addresses, addr) {
			l.Addresses = append(l.Addresses, addr)
		}
		if pid := owners[inode]; pid > 0 && l.PID == 0 {
			l.PID, l.Process = pid, called[pid]
		}
	}
	out := make([]Listener, 0, len(byPort))
	for _, l := range byPort {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

// parseSocket reads one line of /proc/net/tcp or tcp6 and takes those that
// listen (state 0A).
func parseSocket(line string) (addr netip.Addr, port int, inode string, ok bool) {
	f := strings.Fields(line)
	if len(f) < 10 || f[3] != "0A" {
		return addr, 0, "", false
	}
	host, hexPort, found := strings.Cut(f[1], ":")
	n, err := strconv.ParseUint(hexPort, 16, 16)
	if !found || err != nil || n == 0 {
		return addr, 0, "", false
	}
	addr, ok = parseAddr(host)
	return addr, int(n), f[9], ok
}

// parseAddr reads an address as the kernel writes it: words of four bytes, each
// with its last byte first.
func parseAddr(hex string) (netip.Addr, bool) {
	if len(hex) != 8 && len(hex) != 32 {
		return netip.Addr{}, false
	}
	b := make([]byte, len(hex)/2)
	for i := range b {
		v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			return netip.Addr{}, false
		}
		b[i/4*4+3-i%4] = byte(v)
	}
	addr, ok := netip.AddrFromSlice(b)
	return addr.Unmap(), ok
}

// parseOwners reads long listings of /proc/PID/fd: which process holds which socket.
func parseOwners(text string) map[string]int {
	out := map[string]int{}
	pid := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if dir, ok := strings.CutSuffix(line, "/fd:"); ok {
			pid, _ = strconv.Atoi(strings.TrimPrefix(dir, "/proc/"))
			continue
		}
		_, to, ok := strings.Cut(line, "-> socket:[")
		if inode, closed := strings.CutSuffix(to, "]"); ok && closed && pid > 0 {
			if _, taken := out[inode]; !taken {
				out[inode] = pid
			}
		}
	}
	return out
}

// parseNames reads "/proc/PID/comm:NAME" lines.
func parseNames(text string) map[int]string {
	out := map[int]string{}
	for line := range strings.Lines(text) {
		path, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "/comm:")
		pid, err := strconv.Atoi(strings.TrimPrefix(path, "/proc/"))
		if ok && err == nil {
			out[pid] = name
		}
	}
	return out
}

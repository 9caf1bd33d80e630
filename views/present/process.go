package present

import "os"

// ProcessAlive reports whether a process of this machine exists, as far as the
// system tells; where it cannot tell, true. It fits StrayInfo.Alive.
func ProcessAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return signalZero(p)
}

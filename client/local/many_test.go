//go:build linux

package local

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"abxdash/client"
)

// longEnv asks for the long forms of tests.
const longEnv = "LOCAL_TEST_LONG"

// TestManySandboxesLeaveNothing creates and kills sandboxes and looks at the
// server: its descriptors and its memory return to where they were.
func TestManySandboxesLeaveNothing(t *testing.T) {
	n := 100
	if os.Getenv(longEnv) != "" {
		n = 1000
	}
	p := newProvider(t, Config{})
	keep := create(t, p, client.CreateSpec{})
	rounds := func(n int) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range n / 4 {
					sb, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{})
					if err == nil {
						err = p.Sandboxes().Kill(t.Context(), sb.ID)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	rounds(40) // what is made once is made now
	st, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, memory := descriptors(t, st.PID), resident(t, st.PID)
	rounds(n)
	p.raw.CloseIdleConnections()
	// A sandbox kept ready has some of its own, and may not have been there before.
	eventually(t, fmt.Sprintf("descriptors return to %d", before), func() bool { return descriptors(t, st.PID) <= before+8 })
	// The collector's heap may grow by a constant, not with every sandbox.
	if now := resident(t, st.PID); now > memory+32<<20 {
		t.Errorf("%d sandboxes took the server from %d to %d MiB", n, memory>>20, now>>20)
	}
	if out := run(t, p, keep.ID, "echo fine"); out != "fine\n" {
		t.Errorf("%q", out)
	}
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// resident is what a process has in memory, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

//go:build linux || darwin

package isolate

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// errPaused is what a command's start gets while the sandbox is paused.
var errPaused = errors.New("the sandbox is paused")

// hold keeps commands from being started. One that is being started is waited for.
func (s *spawner) hold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	s.paused = true
	return nil
}

func (s *spawner) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
}

// stopped remembers what a pause by signals did.
type stopped struct {
	mu   sync.Mutex
	pids map[int]bool // true for those that were running before
}

// stopAll stops every command by signal. It looks again until it finds none that
// is new: what is stopped makes no more. Parents that wait for stopped children
// notice; a job-control shell may put a job in the background.
func (in *initProc) stopAll() error {
	if err := in.sp.hold(); err != nil {
		return err
	}
	in.stop.mu.Lock()
	defer in.stop.mu.Unlock()
	in.stop.pids = map[int]bool{}
	for {
		found := false
		for _, pid := range in.commandPIDs() {
			if _, seen := in.stop.pids[pid]; seen {
				continue
			}
			found = true
			if in.stop.pids[pid] = !isStopped(pid); in.stop.pids[pid] {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
		}
		if !found {
			return in.awaitStop()
		}
	}
}

// stopLimit bounds the wait for processes to stand; one in an uninterruptible
// wait stands only when that ends.
const stopLimit = 5 * time.Second

// awaitStop returns when everything stands: a signal that was sent has not yet
// stopped what runs on another processor.
func (in *initProc) awaitStop() error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(stopLimit)
	for pid := range in.stop.pids {
		for !standing(pid) && !in.waitsForStopped(pid) {
			if time.Now().After(end) {
				return fmt.Errorf("process %d does not stop", pid)
			}
			<-tick.C
		}
	}
	return nil
}

// waitsForStopped reports whether a process stands by waiting for a child to run
// a program (vfork): no signal but SIGKILL gets it out of that, and the child stands.
func (in *initProc) waitsForStopped(pid int) bool {
	if !uninterruptible(pid) {
		return false
	}
	parents, err := processParents()
	if err != nil {
		return false
	}
	for child := range in.stop.pids {
		if parents[child] == pid && isStopped(child) {
			return true
		}
	}
	return false
}

// resumeAll undoes stopAll and hold. What the user had stopped stays so.
func (in *initProc) resumeAll() {
	in.stop.mu.Lock()
	for pid, running := range in.stop.pids {
		if running {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	in.stop.pids = nil
	in.stop.mu.Unlock()
	in.sp.release()
}

// commandPIDs are the processes below this one, without the fork server. At
// level namespace that is everything: orphans come to PID 1.
func (in *initProc) commandPIDs() []int {
	starter := in.starterPID()
	var out []int
	for _, pid := range descendants(os.Getpid()) {
		if pid != starter {
			out = append(out, pid)
		}
	}
	return out
}

// starterPID is the fork server's, 0 without one.
func (in *initProc) starterPID() int {
	in.sp.mu.Lock()
	defer in.sp.mu.Unlock()
	if in.sp.starter == nil {
		return 0
	}
	return in.sp.starter()
}

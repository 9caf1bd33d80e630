package isolate

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"abxdash/client"
)

// Sandbox is one running sandbox, held by the process that started it.
type Sandbox struct {
	id    Identity
	level client.Isolation
	// life is the end of a pipe or socket; its closing ends the sandbox.
	life     io.Closer
	lifeOnce sync.Once
	proc     *os.Process
	done     chan struct{}
	err      error // how init ended; valid after done
	paused   atomic.Bool
	means    Means
	hold     hold
}

// PID is the host's id of the process that the sandbox lives and dies with.
func (s *Sandbox) PID() int { return s.id.PID }

// StartTime tells two processes of the same PID apart, see [Identity].
func (s *Sandbox) StartTime() uint64 { return s.id.StartTime }

// Identity is PID and StartTime together, for [KillByIdentity].
func (s *Sandbox) Identity() Identity { return s.id }

// Level is the isolation in force.
func (s *Sandbox) Level() client.Isolation { return s.level }

// Done is closed when that process has ended. At level namespace nothing of the
// sandbox is left then.
func (s *Sandbox) Done() <-chan struct{} { return s.done }

// Err says how that process ended, nil for an orderly end. It is valid after Done.
func (s *Sandbox) Err() error { return s.err }

// Kill ends the sandbox and returns once nothing of it runs, or with an error
// when ctx ends first. It is safe to call twice, from anywhere, and after Done.
func (s *Sandbox) Kill(ctx context.Context) error { return s.kill(ctx) }

// Pause stops every command and returns when they stand still; the agent goes
// on, but starts no command. It is fine to call it twice. Memory stays in use,
// connections stay open and silent, and nothing survives the process that holds
// the sandbox. [Means] says how it is done; by signals it has a flaw: parents that
// watch for stopped children notice, and a job-control shell may put a job in
// the background. Errors are *client.Error.
func (s *Sandbox) Pause(ctx context.Context) error { return s.pause(ctx) }

// Resume undoes Pause; without one it does nothing.
func (s *Sandbox) Resume(ctx context.Context) error { return s.resume(ctx) }

// Paused reports whether Pause is in force: a call that needs a command to start
// or to answer must be refused then.
func (s *Sandbox) Paused() bool { return s.paused.Load() }

// SetEgress replaces what [NetworkProxy] lets through, from the next connection on.
// A sandbox of another network has nothing to set: E9003.
func (s *Sandbox) SetEgress(e Egress) error { return s.setEgress(e) }

// Means says by what the sandbox is paused, limited and ended.
func (s *Sandbox) Means() Means { return s.means }

// Usage measures the commands, the agent left out. It works while paused.
func (s *Sandbox) Usage(ctx context.Context) (Usage, error) { return s.usage(ctx) }

// DiskUse is what the home takes on disk, in bytes. It reads every folder of it,
// mounts left out, so it takes its time with a large one.
func (s *Sandbox) DiskUse(ctx context.Context) (uint64, error) { return s.diskUse(ctx) }

// closeLife tells init to end.
func (s *Sandbox) closeLife() { s.lifeOnce.Do(func() { _ = s.life.Close() }) }

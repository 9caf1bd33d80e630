package isolate

import (
	"context"
	"os"
	"sync"

	"abxdash/client"
)

// Sandbox is one running sandbox, held by the process that started it.
type Sandbox struct {
	id    Identity
	level client.Isolation
	// life is the write end of the pipe whose end of file ends the sandbox.
	life     *os.File
	lifeOnce sync.Once
	proc     *os.Process
	done     chan struct{}
	err      error // how init ended; valid after done
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

// closeLife tells init to end.
func (s *Sandbox) closeLife() { s.lifeOnce.Do(func() { _ = s.life.Close() }) }

package stream

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"abxdash/client"
)

// Sink takes output. It may block: not reading is how a slow sink slows the sender.
type Sink interface {
	// Append takes a chunk that arrived at t and does not keep p.
	Append(stream client.StreamKind, p []byte, t time.Time)
	// Finish says that no more will come.
	Finish()
}

// Pump is the one reader of a process for the stream's whole life. Use [StartPump].
type Pump struct {
	proc client.Process
	done chan struct{}

	mu   sync.Mutex
	sink Sink
	exit client.Exit
	err  error
}

// StartPump starts the goroutine that reads p into sink until the stream ends.
// now stamps the chunks; nil is time.Now. The caller ends it with Stop.
func StartPump(p client.Process, sink Sink, now func() time.Time) *Pump {
	if now == nil {
		now = time.Now
	}
	u := &Pump{proc: p, sink: sink, done: make(chan struct{})}
	go u.run(now)
	return u
}

func (u *Pump) run(now func() time.Time) {
	defer close(u.done)
	for {
		f, err := u.proc.Next()
		if err == nil {
			u.current().Append(f.Stream, f.Data, now())
			continue
		}
		u.mu.Lock()
		if errors.Is(err, io.EOF) {
			u.exit = u.proc.Exit()
		} else {
			u.err = err
		}
		sink := u.sink
		u.mu.Unlock()
		sink.Finish()
		return
	}
}

func (u *Pump) current() Sink {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sink
}

// Swap sends what comes from now on to another sink and returns the old one.
// The old sink may still get one chunk that is on its way.
func (u *Pump) Swap(s Sink) Sink {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := u.sink
	u.sink = s
	return old
}

// Process is the process being read. Its Next belongs to the pump.
func (u *Pump) Process() client.Process { return u.proc }

// Done is closed when the stream has ended and everything was handed to the sink.
func (u *Pump) Done() <-chan struct{} { return u.done }

// Result is how the stream ended; it is valid once Done is closed. A non-nil
// error means that the exit is not known (see client.ErrStreamBroken).
func (u *Pump) Result() (client.Exit, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.exit, u.err
}

// Wait waits for the end of the stream, or for ctx, and returns Result.
func (u *Pump) Wait(ctx context.Context) (client.Exit, error) {
	select {
	case <-u.done:
		return u.Result()
	case <-ctx.Done():
		return client.Exit{}, ctx.Err()
	}
}

// Stop detaches from the process, which goes on, and waits for the goroutine to
// end. A sink that may block must be unblocked first. It may be called twice.
func (u *Pump) Stop() {
	_ = u.proc.Close() // detaching has no failure that the caller could act on
	<-u.done
}

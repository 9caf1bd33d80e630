package envd

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

var errInputClosed = errors.New("stdin is closed")

// input is the writing side of a process. One write at a time, in the order of
// arrival, so that concurrent calls don't mix their bytes.
type input struct {
	w    io.WriteCloser
	turn chan struct{} // holds one token
	done chan struct{} // closed with the input
	once sync.Once
}

func newInput(w io.WriteCloser) *input {
	in := &input{w: w, turn: make(chan struct{}, 1), done: make(chan struct{})}
	in.turn <- struct{}{}
	return in
}

// deadliner is a stream whose blocked writes can be broken off.
type deadliner interface{ SetWriteDeadline(time.Time) error }

// write sends all of data. A process that does not read blocks it until ctx
// ends or the process does; then part of data may have been written.
func (in *input) write(ctx context.Context, data []byte) error {
	select {
	case <-in.turn:
	case <-in.done:
		return errInputClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { in.turn <- struct{}{} }()
	select {
	case <-in.done:
		return errInputClosed
	default:
	}
	if d, ok := in.w.(deadliner); ok {
		set := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(set)
			_ = d.SetWriteDeadline(time.Unix(1, 0))
		})
		defer func() {
			if !stop() {
				<-set // else it would break off the next write
				_ = d.SetWriteDeadline(time.Time{})
			}
		}()
	}
	_, err := in.w.Write(data)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// closeAfterWrites closes the input once the writes before it are through, as
// a pipe's reader sees EOF after the data. Closing twice is fine.
func (in *input) closeAfterWrites(ctx context.Context) error {
	select {
	case <-in.turn:
	case <-in.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { in.turn <- struct{}{} }()
	in.close()
	return nil
}

// close closes the input at once; a blocked write ends with an error.
func (in *input) close() {
	in.once.Do(func() {
		close(in.done)
		_ = in.w.Close()
	})
}

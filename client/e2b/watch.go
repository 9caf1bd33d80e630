package e2b

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent is the cause of a stream that was given up because nothing came.
var errSilent = errors.New("no sign of life")

// cancelKey carries the cancel function of a stream to its body.
type cancelKey struct{}

// cancellable gives a stream a context of its own, with the function that ends
// it where the body's watch finds it. It has ctx's values, not its end nor its
// deadline: a deadline on a stream would end the command (e2b-protocol §8).
func cancellable(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return context.WithValue(ctx, cancelKey{}, cancel), cancel
}

// watch ends the stream of ctx when a read of body waits longer than the
// silence that the configuration allows. Time in which nobody reads does not count.
func (c *Client) watch(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	cancel, ok := ctx.Value(cancelKey{}).(context.CancelCauseFunc)
	if !ok || c.cfg.Silence < 0 {
		return body
	}
	timer := time.AfterFunc(c.cfg.Silence, func() { cancel(errSilent) })
	timer.Stop()
	return &watched{ReadCloser: body, timer: timer, silence: c.cfg.Silence}
}

// watched is a body under watch.
type watched struct {
	io.ReadCloser
	timer   *time.Timer
	silence time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.silence)
	defer w.timer.Stop()
	return w.ReadCloser.Read(p)
}

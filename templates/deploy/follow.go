package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"abxdash/client"
)

// follow asks for the build until it is ready or failed, and passes its log on.
func (d *run) follow(ctx context.Context) error {
	const op = "build the template"
	pace, limit := d.o.Poll, d.o.Patience
	if pace <= 0 {
		pace = pollPace
	}
	if limit <= 0 {
		limit = patience
	}
	d.r.TemplateID, d.r.BuildID = client.OneLine(d.build.TemplateID, 120), client.OneLine(d.build.BuildID, 120)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	offset, misses := 0, 0
	for {
		s, err := d.ask(ctx, &offset)
		switch {
		case errors.Is(context.Cause(ctx), errTooLong):
			return &client.Error{
				Op: op, Code: client.CodeTemplateTimeout, Kind: client.ErrUnavailable,
				Message: fmt.Sprintf("it is not ready after %s, last state %s", limit, orUnknown(d.r.State)), Hint: "it may still become ready; follow it again: " + d.followFlags(),
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (!transient(err) || misses > maxMisses):
			return err
		case err != nil:
			misses++ // one lost answer does not end a build
		case s.Ready():
			d.drain(ctx, &offset)
			return nil
		case s.Failed():
			d.drain(ctx, &offset)
			return d.failure(op, s)
		default:
			misses = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// maxMisses is how many answers in a row may be lost.
const maxMisses = 5

var errTooLong = errors.New("the build takes too long")

func transient(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRateLimited)
}

// ask gets one state and says what is new.
func (d *run) ask(ctx context.Context, offset *int) (client.BuildState, error) {
	s, err := d.o.Maker.TemplateBuild(ctx, d.build, *offset)
	if err != nil {
		return s, err
	}
	*offset += len(s.Logs)
	for _, l := range s.Logs {
		d.say(StepReady, "%s", l.Message)
	}
	if s.State != d.r.State {
		d.r.State = client.OneLine(s.State, 40)
		d.say(StepReady, "state: %s", s.State)
	}
	return s, nil
}

// drain reads what is left of the log: a call gives 100 entries at most (e2b-protocol §12).
func (d *run) drain(ctx context.Context, offset *int) {
	for range drainCalls {
		before := *offset
		if _, err := d.ask(ctx, offset); err != nil || *offset == before {
			return
		}
	}
}

// failure words a build that failed, by its line of the Dockerfile where that
// is known.
func (d *run) failure(op string, s client.BuildState) error {
	e := &client.Error{Op: op, Code: client.CodeTemplateBuild, Message: client.OneLine(s.Reason, 300)}
	if e.Message == "" {
		e.Message = "the provider says " + client.OneLine(s.State, 40) + " and no reason"
	}
	n, err := strconv.Atoi(s.Step)
	switch {
	case err == nil && n >= 1 && n <= len(d.lines) && d.lines[n-1] > 0:
		e.Message = fmt.Sprintf("%s:%d: %s: %s", d.r.Lint.Context.Dockerfile, d.lines[n-1], d.steps[n-1].Type, e.Message)
	case s.Step != "":
		e.Message = "step " + client.OneLine(s.Step, 40) + ": " + e.Message
	}
	return e
}

// abandon ends the build of a deploy that was cancelled, where the provider can
// do that. A build that was only followed goes on.
func (d *run) abandon(ctx context.Context) {
	maker, ok := d.o.Maker.(client.TemplateCanceller)
	if !ok || !d.begun || ctx.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlePatience)
	defer cancel()
	if err := maker.CancelBuild(ctx, d.build); err != nil {
		d.say(StepReady, "the build goes on: %s", err)
		return
	}
	d.r.Cancelled = true
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

//go:build linux || darwin

package isolate

import (
	"context"
	"errors"
	"os"
	"time"

	"abxdash/client"
)

// probeLimit bounds one probe. The real start takes milliseconds; a busy
// machine has taken a hundred times as long.
const probeLimit = 10 * time.Second

// Probe finds the strongest level that works here by starting a sandbox that
// runs a command. min is the weakest level to accept, "" for any; with it a failed
// level is an E9011 error instead of a fall-back. As root only `namespace` is
// offered, unless min is a weaker one.
func (l *Launcher) Probe(ctx context.Context, min client.Isolation) (Result, error) {
	const op = "probe isolation"
	var res Result
	if min != "" && rank(min) < 0 {
		return res, unavailable(op, "isolation level "+string(min)+" is not offered by the local provider", "levels: namespace, process+landlock, process")
	}
	if min == client.IsolationProcess || min == client.IsolationLandlock {
		l.mu.Lock()
		l.forcedProcess = true
		l.mu.Unlock()
	}
	for _, level := range levels() {
		if min != "" && rank(level) < rank(min) {
			break
		}
		err := l.allowed(level)
		if err == nil {
			err = l.try(ctx, level)
		}
		if err == nil {
			res.Level = level
			return res, nil
		}
		if ctx.Err() != nil {
			return res, &client.Error{Op: op, Provider: "local", Code: client.CodeOf(ctx.Err()), Err: ctx.Err()}
		}
		res.Tried = append(res.Tried, Attempt{Level: level, Reason: reason(err)})
	}
	last := res.Tried[len(res.Tried)-1]
	for _, t := range res.Tried {
		if t.Level == client.IsolationNamespace {
			last = t
		}
	}
	hint := "a weaker level can be allowed in the configuration"
	if os.Geteuid() == 0 {
		hint = rootHint
	}
	return res, unavailable(op, "isolation level "+string(last.Level)+" is not to be had: "+last.Reason, hint)
}

// levels are those that exist here, strongest first.
func levels() []client.Isolation {
	return []client.Isolation{client.IsolationNamespace, client.IsolationLandlock, client.IsolationProcess}
}

// rank orders levels, weakest first; -1 is unknown here.
func rank(l client.Isolation) int {
	switch l {
	case client.IsolationProcess:
		return 0
	case client.IsolationLandlock:
		return 1
	case client.IsolationNamespace:
		return 2
	}
	return -1
}

// reason is the one line about a failure that people read.
func reason(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return client.OneLine(err.Error(), 200)
}

// try starts a sandbox that runs a command, and ends it.
func (l *Launcher) try(ctx context.Context, level client.Isolation) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	home, err := os.MkdirTemp("", "abxdash-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	s, err := l.start(ctx, Config{ID: "probe", Level: level, Home: home}, true)
	if err != nil {
		return err
	}
	return s.Kill(ctx)
}

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"abxdash/client"
	"abxdash/client/local/server"
)

// lockPoll is how often a taken lock is tried again.
const lockPoll = 10 * time.Millisecond

// ensure makes sure that a local server runs which this binary can use, and
// that it stays long enough for a create.
func (p *Provider) ensure(ctx context.Context) error {
	st, err := p.look(ctx, true)
	if err != nil && cut(err) { // one ended and another came meanwhile
		st, err = p.look(ctx, true)
	}
	if err == nil && !p.replaceable(st) {
		return p.accept(st)
	}
	if err != nil && !startable(err) {
		return p.sayServer(err)
	}
	return p.start(ctx)
}

// startable reports errors that mean: no server, or one that is about to end.
func startable(err error) bool {
	var r *refusedError
	return errors.Is(err, errNoServer) || errors.As(err, &r) && r.code == server.ErrorCodeEnding
}

// sayServer words an error of talking to the server itself.
func (p *Provider) sayServer(err error) error {
	var ce *client.Error
	if errors.As(err, &ce) || errors.Is(err, context.Canceled) {
		return err
	}
	return serverError("local server", "no usable answer on "+p.paths.socket, p.logHint(), err)
}

// replaceable reports a server of another version that holds nothing: it is
// ended and replaced without loss.
func (p *Provider) replaceable(st server.StatusJSON) bool {
	return (st.Version != p.cfg.Version || p.otherImage(st)) && st.Sandboxes == 0
}

// accept checks a running server against what this binary wants.
func (p *Provider) accept(st server.StatusJSON) error {
	if st.Protocol != server.Protocol {
		return otherProtocol(st.Version)
	}
	if st.Version != p.cfg.Version {
		p.log.Warn(versionNote(st, p.cfg.Version))
	}
	if err := checkLevel(client.Isolation(st.Isolation), p.cfg.MinIsolation); err != nil || !p.otherImage(st) {
		return err
	}
	return &client.Error{
		Op: "local server", Provider: Name, Code: client.CodeIsolation, Kind: client.ErrConflict,
		Message: fmt.Sprintf("the running server makes containers of the image %s, %s is wanted", client.OneLine(st.Image, 120), client.OneLine(imageOr(p.cfg.Image), 120)),
		Hint:    "`abxdash local stop` ends the server and its sandboxes",
	}
}

// otherImage reports a server whose containers are made of another image than is wanted.
func (p *Provider) otherImage(st server.StatusJSON) bool {
	return p.cfg.MinIsolation == client.IsolationContainer && st.Image != "" && st.Image != imageOr(p.cfg.Image)
}

// versionNote says in one line what a server of another version means.
func versionNote(st server.StatusJSON, mine string) string {
	return fmt.Sprintf("the local server is version %s, this is %s; its %d sandbox(es) go on and can be used; `abxdash local stop` ends both",
		client.OneLine(st.Version, 40), client.OneLine(mine, 40), st.Sandboxes)
}

// strength orders the levels; an unknown one is the weakest.
func strength(l client.Isolation) int {
	return slices.Index([]client.Isolation{
		client.IsolationProcess, client.IsolationLandlock, client.IsolationNamespace, client.IsolationContainer,
	}, l)
}

// checkLevel is E9011 when have is weaker than want.
func checkLevel(have, want client.Isolation) error {
	if want == "" || strength(have) >= strength(want) {
		return nil
	}
	return &client.Error{
		Op: "local server", Provider: Name, Code: client.CodeIsolation, Kind: client.ErrConflict,
		Message: fmt.Sprintf("the running server works at level %s, %s is wanted", have, want),
		Hint:    "`abxdash local status` says why; `abxdash local stop` ends the server and its sandboxes",
	}
}

// start starts the server. Of several commands that come here at once, one
// starts it and the others find it.
func (p *Provider) start(ctx context.Context) error {
	if err := p.paths.prepare(); err != nil {
		return err
	}
	if err := p.fetchImage(ctx); err != nil {
		return err
	}
	lock, err := waitLock(ctx, p.paths.startLock)
	if err != nil {
		return serverError("start the local server", "cannot get the lock "+p.paths.startLock, "", err)
	}
	defer lock.Close()
	st, err := p.look(ctx, true)
	switch {
	case err == nil && !p.replaceable(st):
		return p.accept(st)
	case err == nil:
		// A create may have come in between: then the server refuses to stop.
		if err := p.askStop(ctx, false); err != nil {
			return p.accept(st)
		}
	case !startable(err):
		return p.sayServer(err)
	}
	return p.spawn(ctx)
}

// waitLock takes a lock file, waiting for its holder until ctx ends.
func waitLock(ctx context.Context, path string) (*os.File, error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		f, got, err := server.TryLock(path)
		if got || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

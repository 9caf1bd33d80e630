package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/local/server"
)

// stopPatience is how long an orderly stop may take before force ends the server hard.
const stopPatience = 20 * time.Second

// Status reads the state of the local server. It starts nothing and makes no
// file. A server that is not there is no error.
func (p *Provider) Status(ctx context.Context) (Status, error) {
	out := Status{Socket: p.paths.socket}
	st, err := p.look(ctx, false)
	switch {
	case errors.Is(err, errNoServer):
		return out, nil
	case err != nil:
		return out, p.sayServer(err)
	}
	out.Running, out.PID, out.Version = true, st.PID, st.Version
	out.Isolation, out.IsolationReason = client.Isolation(st.Isolation), st.IsolationReason
	out.Sandboxes = st.Sandboxes
	switch {
	case st.Protocol != server.Protocol:
		out.Note = otherProtocol(st.Version).Message
	case st.Version != p.cfg.Version:
		out.Note = versionNote(st, p.cfg.Version)
	}
	return out, nil
}

// Stop ends the local server and returns when it is gone. Without force it
// does so only when the server holds no sandbox, else the error is E9003 and
// names them. With force every sandbox is ended, and a server that does not
// answer is killed. A server that is not there is success.
func (p *Provider) Stop(ctx context.Context, force bool) error {
	held := p.lockHolder()
	pid := held.PID
	err := p.askStop(ctx, force)
	var (
		r  *refusedError
		ce *client.Error
	)
	switch {
	case errors.Is(err, errNoServer):
		if pid == 0 {
			return nil
		}
		// It holds its lock: it is just starting or ending. Wait for it below.
	case errors.As(err, &r) && r.status == http.StatusConflict:
		return &client.Error{
			Op: "stop the local server", Provider: Name, Code: client.CodeConflict, Kind: client.ErrConflict,
			Message: client.OneLine(r.message, 1000), Hint: "`abxdash ls --provider local` lists them; --yes ends them too",
		}
	case err != nil && !force:
		return p.sayServer(err)
	case errors.As(err, &ce):
		return err // the socket or its server is not ours
	case err != nil && pid != 0:
		p.log.Warn("the local server does not answer, killing it", "err", err)
		if err := killServer(pid); err != nil {
			return serverError("stop the local server", "cannot kill it", "", err)
		}
	}
	wait, cancel := context.WithTimeoutCause(ctx, stopPatience, errSlow)
	defer cancel()
	err = p.waitGone(wait, held)
	if errors.Is(err, errSlow) && force && pid != 0 && p.holder() == pid {
		if err := killServer(pid); err != nil {
			return serverError("stop the local server", "cannot kill it", "", err)
		}
		err = p.waitGone(ctx, held)
	}
	if err != nil {
		return serverError("stop the local server", "it does not end, or something of it is left", p.logHint(), err)
	}
	return nil
}

var errSlow = errors.New("the local server takes too long to end")

// askStop sends the stop request.
func (a asker) askStop(ctx context.Context, force bool) error {
	ctx, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	body, err := json.Marshal(server.StopJSON{Force: force})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+server.PathStop, bytes.NewReader(body))
	if err != nil {
		return err
	}
	return a.ask(req, nil)
}

// lockInfo is what a running server writes into the lock file that it holds.
// Who holds the lock is alive, so the pid in it is never a stale one.
type lockInfo struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	// Instance is the lock file of the server's instance.
	Instance string `json:"instance"`
}

// holder is the pid of the server that holds the lock, 0 if none does. It
// makes no file.
func (p *Provider) holder() int { return p.lockHolder().PID }

func (p *Provider) lockHolder() lockInfo {
	var info lockInfo
	data, err := os.ReadFile(p.paths.lock)
	if err != nil {
		return info
	}
	f, got, err := server.TryLock(p.paths.lock)
	if err != nil || got {
		if got {
			_ = f.Close()
		}
		return info
	}
	if json.Unmarshal(data, &info) != nil || info.PID <= 1 {
		return lockInfo{}
	}
	return info
}

// waitGone waits until that server has let go of its lock, and until what it
// held is gone: after a hard end the janitor sees to that.
func (p *Provider) waitGone(ctx context.Context, was lockInfo) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		if now := p.holder(); (now == 0 || now != was.PID) && !there(was.Instance) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// there reports whether a file exists, false for no name.
func there(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}

// lastLine is the last line of the server's log, for a start that failed
// without a word.
func (p paths) lastLine() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) == 0 || lines[len(lines)-1] == "" {
		return ""
	}
	return fmt.Sprintf("its log ends with %q", client.OneLine(lines[len(lines)-1], 200))
}

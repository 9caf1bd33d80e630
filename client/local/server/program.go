package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// readyPoll is the pause between two questions whether a program is ready.
	readyPoll = 200 * time.Millisecond
	// readyCreate is how long a create waits for its template's program, readyBuild
	// how long a build does (e2b-protocol §12.4).
	readyCreate = 30 * time.Second
	readyBuild  = 10 * time.Minute
)

// shellJob runs a command line as the protocol does (e2b-protocol §9.2). Where
// there is no bash the agent takes what there is.
func shellJob(line, dir string, env map[string]string) job {
	return job{argv: []string{"/bin/bash", "-l", "-c", line}, dir: dir, env: env}
}

// pathIn is a path of a sandbox as its programs see it: at levels without a root
// of its own the home is somewhere else.
func (s *Server) pathIn(b *box, p string) string {
	if separatesNetwork(s.opt.Isolation) || p != homeInside && !strings.HasPrefix(p, homeInside+"/") {
		return p
	}
	return filepath.Join(b.home(), strings.TrimPrefix(p, homeInside))
}

// startProgram starts what a template wants to run in every sandbox. One that is not
// ready in time is noted in the log, and the sandbox is given out all the same.
func (s *Server) startProgram(ctx context.Context, b *box, src source) error {
	if src.StartCmd == "" {
		return nil
	}
	if err := s.launch(ctx, b, src.setup); err != nil {
		return fmt.Errorf("start the template's program: %w", err)
	}
	b.logs.add(s.clock.Now(), levelInfo, "start command started", nil)
	err := s.waitReady(ctx, b, src.setup, readyCreate)
	if errors.Is(err, errNotReady) {
		b.logs.add(s.clock.Now(), levelWarn, "start command is not ready yet", nil)
		return nil
	}
	return err
}

// launch starts the program, which goes on without us.
func (s *Server) launch(ctx context.Context, b *box, p setup) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // detaches
	events, err := startIn(ctx, b, shellJob(p.StartCmd, s.pathIn(b, p.Workdir), maps.Clone(p.Env)))
	if err != nil {
		return err
	}
	cancel()
	return ignoreCanceled(events.Close())
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

var errNotReady = errors.New("the ready command did not succeed in time")

// readyUnknown is the ready command that SDKs and we make of a Dockerfile, which cannot
// say one (e2b-protocol §12.7). It gives a program time to be in the memory that a build
// keeps. None is kept here, and every sandbox would wait those seconds anew.
const readyUnknown = "sleep 20"

// waitReady repeats the ready command until it succeeds. Without one it does not wait:
// no memory is kept that the program would have to be in.
func (s *Server) waitReady(ctx context.Context, b *box, p setup, limit time.Duration) error {
	if p.ReadyCmd == "" || p.ReadyCmd == readyUnknown {
		return nil
	}
	ask := shellJob(listening(p.ReadyCmd), s.pathIn(b, p.Workdir), p.Env)
	end := s.clock.Now().Add(limit)
	for {
		_, ok, err := runIn(ctx, b, ask, nil)
		if ok || err != nil {
			return err
		}
		if !s.clock.Now().Before(end) {
			return errNotReady
		}
		again, stop := s.clock.After(readyPoll)
		select {
		case <-again:
		case <-ctx.Done():
			stop()
			return ctx.Err()
		}
	}
}

// ssPort is the form in which SDKs ask for a port (e2b-protocol §12.4).
var ssPort = regexp.MustCompile(`^\[ -n "\$\(ss -Htuln sport = :(\d{1,5})\)" \]$`)

// listening turns that form into one that needs no ss, which many machines lack.
func listening(ready string) string {
	m := ssPort.FindStringSubmatch(strings.TrimSpace(ready))
	if m == nil {
		return ready
	}
	port, err := strconv.ParseUint(m[1], 10, 16)
	if err != nil {
		return ready
	}
	return fmt.Sprintf(`cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qE ':%04X [0-9A-F]+:0000 0A '`, port)
}

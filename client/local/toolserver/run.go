package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client/local/envd"
)

// linkError is what renaming gives.
type linkError = os.LinkError

const (
	// shellTimeout bounds a command (agent-sandbox-server §5).
	shellTimeout = 300 * time.Second
	// maxOutput bounds each stream of a command, in bytes; the rest is dropped.
	maxOutput = 8 << 20
	// outputGrace is how long descendants may still write after the end.
	outputGrace = 250 * time.Millisecond
	sigKill     = 9
	// notFoundExit is a shell's exit code for a program that is not there.
	notFoundExit = 127
)

// result is what a finished program wrote.
type result struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// program is one to run.
type program struct {
	argv []string
	// dir is below the home, "" the home.
	dir string
	env map[string]string
	// stdin asks for a pipe that the caller writes to.
	stdin bool
	// input is what the program reads, nil for nothing.
	input []byte
	tty   *envd.Winsize
}

// spawn starts a program as the sandbox's user, in this server's environment.
func (s *Server) spawn(p program) (envd.Child, error) {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	dir := p.dir
	if !path.IsAbs(dir) {
		dir = path.Join(user.Home, dir)
	}
	env := map[string]string{"PATH": envd.DefaultPath, "HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name}
	s.mu.Lock()
	maps.Copy(env, s.env)
	s.mu.Unlock()
	delete(env, envToken) // a program has no business with it
	maps.Copy(env, p.env)
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	for _, text := range slices.Concat(p.argv, list) {
		if strings.ContainsRune(text, 0) {
			return nil, bad("a program, argument or variable holds a NUL byte")
		}
	}
	child, err := s.cfg.Spawner.Spawn(envd.Spec{Argv: p.argv, Env: list, Dir: dir, User: user, NoStdin: !p.stdin && p.input == nil && p.tty == nil, TTY: p.tty})
	if err != nil {
		return nil, bad("the program cannot be started: %s", strings.TrimPrefix(err.Error(), "spawn: "))
	}
	return child, nil
}

// run runs a program to its end, for at most limit. The end of ctx ends it, too.
// Its streams go to the two functions, one call at a time each.
func (s *Server) run(ctx context.Context, p program, limit time.Duration, out, errs func([]byte)) (envd.Exit, error) {
	child, err := s.spawn(p)
	if err != nil {
		return envd.Exit{}, err
	}
	var wg sync.WaitGroup
	if p.input != nil {
		wg.Go(func() {
			in := child.Stdin()
			_, _ = in.Write(p.input) // a program need not read it all
			_ = in.Close()
		})
	}
	wg.Go(func() { pour(child.Stdout(), out) })
	wg.Go(func() { pour(child.Stderr(), errs) })
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var cut error
	select {
	case <-child.Done():
	case <-timer.C:
		cut = &problem{http.StatusGatewayTimeout, fmt.Sprintf("the command took longer than %s", limit), "TimeoutError"}
	case <-ctx.Done():
		cut = ctx.Err()
	case <-s.life.Done():
		cut = errors.New("the server ends")
	}
	if cut != nil {
		killTree(child)
		<-child.Done()
	}
	read := make(chan struct{})
	go func() { wg.Wait(); close(read) }()
	select {
	case <-read:
	case <-time.After(outputGrace):
		// A descendant holds them; what it writes from now on is nobody's.
		_ = child.Stdout().Close()
		_ = child.Stderr().Close()
		if p.input != nil {
			_ = child.Stdin().Close()
		}
		<-read
	}
	return child.Exit(), cut
}

// pour hands on what a stream carries and closes it.
func pour(r io.ReadCloser, to func([]byte)) {
	defer r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			to(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// collect keeps the first most bytes.
func collect(into *[]byte, most int) func([]byte) {
	return func(p []byte) {
		if room := most - len(*into); room > 0 {
			*into = append(*into, p[:min(room, len(p))]...)
		}
	}
}

// output runs a program and gives what it wrote.
func (s *Server) output(ctx context.Context, p program, limit time.Duration) (result, error) {
	var outs, errs []byte
	exit, err := s.run(ctx, p, limit, collect(&outs, maxOutput), collect(&errs, maxOutput))
	return result{string(outs), string(errs), exit.Code}, err
}

// lastLine is the last line of a program's words that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if len(line) > 300 {
		line = line[:300]
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

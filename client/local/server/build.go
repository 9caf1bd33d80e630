package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"abxdash/client"
)

const (
	// buildLimit bounds one build, stepLimit one RUN (e2b-protocol §12.1).
	buildLimit = 3 * time.Hour
	stepLimit  = time.Hour
	// copyDir is where archives are unpacked, below the home; it is gone after each COPY.
	copyDir = ".abx-copy"
)

// baseImages are what SDKs name when they mean "your usual base": here that is this
// machine's own system.
func baseImages() []string {
	return []string{"e2bdev/base", "e2bdev/base:latest", "e2bdev/code-interpreter", "e2bdev/code-interpreter:latest", baseTemplate}
}

// baseOf is what a build starts from.
func (s *Server) baseOf(body *buildStart) (source, *apiError) {
	switch {
	case body.FromImageRegistry != nil:
		return source{}, refuse(http.StatusBadRequest, "fromImageRegistry: the local server takes no registry logins")
	case body.FromImage != "" && body.FromTemplate != "":
		return source{}, refuse(http.StatusBadRequest, "fromImage and fromTemplate exclude each other")
	case body.FromTemplate != "":
		return s.sourceOf(body.FromTemplate)
	case body.FromImage == "" || slices.Contains(baseImages(), body.FromImage):
		return s.sourceOf(baseTemplate)
	case s.opt.Isolation == client.IsolationContainer:
		return source{id: baseTemplate, setup: setup{Image: body.FromImage}}, nil
	}
	return source{}, refuse(http.StatusBadRequest, "fromImage %q: local templates start from this machine's own programs or from another local template, and from images at the isolation level container only; take the base image", shorten(body.FromImage))
}

// handleBuild starts a registered build with its recipe.
func (s *Server) handleBuild(w http.ResponseWriter, r *http.Request) {
	j, e := s.jobOf(r, http.StatusNotFound)
	var body buildStart
	if e == nil {
		body, e = readBody[buildStart](w, r, false)
	}
	if e == nil {
		e = s.beginBuild(j)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	s.holdForBuild()
	go func() {
		defer s.creating.Done()
		s.build(j, body)
	}()
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
}

// beginBuild takes a job up. The end of the server then waits for creating.Done.
func (s *Server) beginBuild(j *buildJob) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return errEnding
	}
	// Nothing begins but here, under the lock.
	if s.builds.working() >= maxBuilding {
		return refuse(http.StatusTooManyRequests, "the local server works on %d builds, which is its most", maxBuilding)
	}
	if !j.begin(buildWaiting, buildBuilding) {
		return refuse(http.StatusBadRequest, "build %q has been started already", j.id)
	}
	s.creating.Add(1)
	return nil
}

// build does the work of one build and ends the job.
func (s *Server) build(j *buildJob, body buildStart) {
	ctx, cancel := context.WithTimeout(s.life, buildLimit)
	defer cancel()
	defer close(j.over)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-j.unwanted:
			end(errCancelled)
		case <-ctx.Done():
		}
	}()
	s.log.Info("building", "template", j.template, "build", j.id)
	err := s.tryBuild(ctx, j, body)
	if err == nil {
		j.succeed(s.clock.Now())
		s.holdForBuild() // for the caller to learn of it
		return
	}
	step := stepFinalize
	var at *stepError
	if errors.As(err, &at) {
		step = at.step
	}
	s.log.Warn("build failed", "template", j.template, "build", j.id, "step", step)
	j.fail(s.clock.Now(), step, err.Error())
	s.holdForBuild()
}

func (s *Server) tryBuild(ctx context.Context, j *buildJob, body buildStart) error {
	src, e := s.baseOf(&body)
	if e != nil {
		return &stepError{stepBase, e}
	}
	p := planner{placeOf: s.placeOf, archive: func(hash string) string { return s.store.archive(j.template, hash) }}
	plan, err := p.plan(src.setup, body)
	if err != nil {
		return err
	}
	plan.setup.CPUs, plan.setup.MemoryMB = j.limits.cpus, j.limits.memoryMB
	j.log(s.clock.Now(), levelInfo, stepBase, "[base] FROM "+s.baseName(&body))
	src.setup = setup{Env: plan.setup.Env, Places: plan.setup.Places, Image: plan.setup.Image}
	b, err := s.create(ctx, s.buildRequest(src, j.limits), buildLimit)
	if err != nil {
		return &stepError{stepBase, err}
	}
	defer func() {
		if s.claim(b) {
			_ = s.end(b) // logged there; the reaper tries again
		}
	}()
	for i := range plan.actions {
		if err := s.do(ctx, b, j, &plan.actions[i], i+1, len(plan.actions)); err != nil {
			return &stepError{fmt.Sprint(i + 1), err}
		}
	}
	return s.finish(ctx, b, j, plan.setup)
}

func (s *Server) baseName(body *buildStart) string {
	switch {
	case body.FromTemplate != "":
		return "template " + shorten(body.FromTemplate)
	case s.opt.Isolation == client.IsolationContainer && (body.FromImage == "" || slices.Contains(baseImages(), body.FromImage)):
		return "the image " + s.opt.Image
	case s.opt.Isolation == client.IsolationContainer:
		return "the image " + shorten(body.FromImage)
	}
	return "this machine's own system"
}

// placeOf is Options.PlaceOf, or what holds without it: only the home is written in.
func (s *Server) placeOf(p string) (string, error) {
	if s.opt.PlaceOf != nil && separatesNetwork(s.opt.Isolation) {
		return s.opt.PlaceOf(p)
	}
	if p == homeInside || strings.HasPrefix(p, homeInside+"/") || p == "/tmp" || strings.HasPrefix(p, "/tmp/") {
		return "", nil
	}
	return "", fmt.Errorf("%s is outside the home, and at isolation level %s only the home is a sandbox's own", p, s.opt.Isolation)
}

// buildRequest is the sandbox in which a template is built: not to be seen, and with
// a way out to every public host, for packages.
func (s *Server) buildRequest(src source, l limits) newSandbox {
	req := newSandbox{source: src, Secure: true, hidden: true, limits: l, network: NetworkHost}
	if separatesNetwork(s.opt.Isolation) {
		req.network, req.egress = NetworkProxy, Egress{Allow: []string{anyHost}}
	}
	return req
}

// do runs one step.
func (s *Server) do(ctx context.Context, b *box, j *buildJob, a *action, n, of int) error {
	step, prefix := fmt.Sprint(n), fmt.Sprintf("[builder %d/%d]", n, of)
	j.log(s.clock.Now(), levelInfo, step, prefix+" "+a.title)
	if a.warn != "" {
		j.log(s.clock.Now(), levelWarn, step, prefix+" "+a.warn)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over, stop := s.clock.After(stepLimit)
	defer stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-over:
			cancel(fmt.Errorf("it took more than %s", stepLimit))
		case <-done:
		}
	}()
	err := s.act(ctx, b, a, func(stream, line string) {
		level := levelInfo
		if stream == "stderr" {
			level = levelWarn
		}
		j.log(s.clock.Now(), level, step, fmt.Sprintf("%s [%s]: %s", prefix, stream, line))
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

func (s *Server) act(ctx context.Context, b *box, a *action, each func(stream, line string)) error {
	switch a.kind {
	case kindRun:
		return s.mustRun(ctx, b, shellJob(a.line, s.pathIn(b, a.dir), a.env), each)
	case kindWorkdir:
		return s.mustRun(ctx, b, job{argv: []string{"mkdir", "-p", "--", s.pathIn(b, a.dest)}, dir: "/"}, each)
	case kindCopy:
		return s.copyStep(ctx, b, a, each)
	}
	return nil
}

// mustRun runs a command that has to succeed.
func (s *Server) mustRun(ctx context.Context, b *box, j job, each func(stream, line string)) error {
	readOnly := false
	exit, ok, err := runIn(ctx, b, j, func(stream, line string) {
		readOnly = readOnly || strings.Contains(line, "Read-only file system")
		each(stream, line)
	})
	switch {
	case err != nil || ok:
		return err
	case readOnly:
		return fmt.Errorf("the command failed: %s; outside the home, folders that a WORKDIR or COPY names, such as /app, can be written in, and nothing else", exit)
	}
	return fmt.Errorf("the command failed: %s", exit)
}

// copyScript unpacks and places files as the sandbox's user, so that an archive
// reaches no further than the sandbox. Its arguments: archive, mode, destination, 1
// for a folder, then the sources.
const copyScript = `set -eu
umask 022
archive=$1 mode=$2 dest=$3 folder=$4; shift 4
from=${archive%/*}/files
trap 'rm -rf "${archive%/*}"' EXIT
mkdir -p "$from"
tar -x -z -o -f "$archive" -C "$from"
for source in "$@"; do
	[ -z "$mode" ] || chmod -R "$mode" "$from/$source"
	if [ -d "$from/$source" ] && [ ! -L "$from/$source" ]; then
		mkdir -p "$dest"
		cp -a "$from/$source/." "$dest/"
	elif [ "$folder" = 1 ] || [ -d "$dest" ]; then
		mkdir -p "$dest"
		cp -a "$from/$source" "$dest/"
	else
		mkdir -p "$(dirname "$dest")"
		cp -a "$from/$source" "$dest"
	fi
done
`

func (s *Server) copyStep(ctx context.Context, b *box, a *action, each func(stream, line string)) error {
	to := path.Join(copyDir, "archive.tar.gz")
	if err := putFile(ctx, b, a.archive, to); err != nil {
		return fmt.Errorf("bring the files in: %w", err)
	}
	folder := "0"
	if a.folder {
		folder = "1"
	}
	argv := append([]string{"/bin/sh", "-c", copyScript, "sh", s.pathIn(b, path.Join(homeInside, to)), a.mode, s.pathIn(b, a.dest), folder}, a.sources...)
	return s.mustRun(ctx, b, job{argv: argv, dir: "/"}, each)
}

// finish saves the home, then makes sure that the program starts from it. What the
// program writes is not part of the template: it is started anew in every sandbox.
func (s *Server) finish(ctx context.Context, b *box, j *buildJob, p setup) error {
	if e := b.takeTurn(ctx); e != nil {
		return e
	}
	defer b.endTurn()
	j.log(s.clock.Now(), levelInfo, stepFinalize, "[finalize] Saving the files")
	rec := buildRec{ID: j.id, Created: s.clock.Now(), setup: p}
	_, err := s.store.add(j.ref, rec, func(home string) error {
		if err := s.copyStill(ctx, b, home); err != nil {
			return err
		}
		return s.tryProgram(ctx, b, j, p)
	})
	return err
}

func (s *Server) tryProgram(ctx context.Context, b *box, j *buildJob, p setup) error {
	if p.StartCmd != "" {
		j.log(s.clock.Now(), levelInfo, stepFinalize, "[finalize] Running start command")
		if err := s.launch(ctx, b, p); err != nil {
			return fmt.Errorf("the start command: %w", err)
		}
	}
	if p.ReadyCmd == "" {
		return nil
	}
	j.log(s.clock.Now(), levelInfo, stepFinalize, "[finalize] Waiting for the ready command")
	return s.waitReady(ctx, b, p, readyBuild)
}

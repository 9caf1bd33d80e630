//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"abxdash/client/docker/dockertest"
)

// Dockerfiles of the deploys below; %s is the mark of what they leave running.
const (
	goodFile    = "FROM python:3.12-slim\nWORKDIR /home/user\nCOPY *.whl ./\nCOPY commands.py ./\nRUN ls *.whl\nCMD [\"sleep\", \"600\"]\n"
	failingFile = "FROM python:3.12-slim\nWORKDIR /home/user\nCOPY commands.py ./\nRUN exit 7\nCMD [\"sleep\", \"600\"]\n"
	endlessFile = "FROM python:3.12-slim\nWORKDIR /home/user\nCOPY *.whl ./\nCOPY commands.py ./\nRUN echo begun; sh -c 'while :; do sleep 1; done' %s\nCMD [\"sleep\", \"600\"]\n"
)

// secret is a password that must not be written anywhere.
const secret = "hunter2-hunter2-hunter2"

// templateDesk is a user with a scaffolded template, a wheel beside it and a
// folder for temporary files that nobody else has.
type templateDesk struct {
	*user
	dir, tmp, wheel string
}

func newTemplateDesk(u *user) *templateDesk {
	u.t.Helper()
	d := &templateDesk{user: u, dir: filepath.Join(u.home, "demo"), tmp: filepath.Join(u.home, "tmp"), wheel: filepath.Join(u.home, "agent_sandbox_server-9.9-py3-none-any.whl")}
	if err := errors.Join(os.Mkdir(d.tmp, 0o700), os.Chown(d.tmp, u.uid, u.uid), os.WriteFile(d.wheel, []byte("wheel"), 0o600), os.Chown(d.wheel, u.uid, u.uid)); err != nil {
		u.t.Fatal(err)
	}
	u.extra = append(u.extra, "TMPDIR="+d.tmp)
	u.must("template", "init", "demo", "--kind", "python", "--yes", "--provider", "local")
	return d
}

// dockerfile writes the template's Dockerfile.
func (d *templateDesk) dockerfile(text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "Dockerfile"), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// look is the template folder byte for byte: names, modes, times and content.
func (d *templateDesk) look() string {
	d.t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		fmt.Fprintln(&out, path, info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.String()
}

// clean checks that the folder is as it was, that no temporary file is left,
// that the secret is nowhere and that nothing with the mark runs.
func (d *templateDesk) clean(before, mark, said string) {
	d.t.Helper()
	if now := d.look(); now != before {
		d.t.Errorf("the folder was\n%s\nand is\n%s", before, now)
	}
	left, err := os.ReadDir(d.tmp)
	if err != nil || len(left) > 0 {
		d.t.Errorf("temporary files: %v, %v", left, err)
	}
	if strings.Contains(said, secret) {
		d.t.Error("the secret was printed")
	}
	err = filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // a sandbox's folder may just go
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(secret)) {
			d.t.Errorf("the secret is in %s", path)
		}
		return nil
	})
	if err != nil {
		d.t.Error(err)
	}
	if n := running(mark); n > 0 {
		d.t.Errorf("%d processes of the build still run", n)
	}
	if s := d.status(); s.Sandboxes > 0 {
		d.t.Errorf("the local server still holds %d sandboxes", s.Sandboxes)
	}
}

// running counts the processes that have mark as the last word of their command line.
func running(mark string) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(string(line), "\x00"+mark+"\x00") {
			n++
		}
	}
	return n
}

// interrupt runs a command, sends it SIGINT once ready says so, and returns what
// it said. It must end with 130.
func (d *templateDesk) interrupt(ready func(said string) bool, args ...string) string {
	d.t.Helper()
	var said lockedBuffer
	cmd := d.command(args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	d.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended already unless the test failed
	waitWith(d.t, "the build to begin", func() bool {
		select {
		case err := <-ended:
			d.t.Fatalf("%v ended with %v before it was told to: %s", args, err, said.String())
		default:
		}
		return ready(said.String())
	}, said.String)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		d.t.Fatal(err)
	}
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 130 {
			d.t.Errorf("%v ended with %v: %s", args, err, said.String())
		}
	case <-time.After(patience):
		d.t.Fatalf("%v does not end: %s", args, said.String())
	}
	return said.String()
}

// oneLine checks that the last line is want, and the only one that complains.
func (d *templateDesk) oneLine(said, want string) {
	d.t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if last := lines[len(lines)-1]; last != want || strings.Count(said, "abxdash: ") != 1 {
		d.t.Errorf("the last line is %q, want %q; all is:\n%s", last, want, said)
	}
}

// lockedBuffer is written by a process and read meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The local server builds a template: after success, failure and SIGINT nothing
// is left of it but the template.
func TestTemplateDeployLeavesNothing(t *testing.T) {
	users(t, func(t *testing.T, u *user) {
		d := newTemplateDesk(u)
		mark := fmt.Sprintf("mark-%d-%d", os.Getpid(), u.uid)
		deploy := []string{"template", "deploy", "demo", "--provider", "local", "--wheel", d.wheel, "--yes"}
		for _, c := range []struct {
			file string
			code int
		}{{goodFile, 0}, {failingFile, 1}} {
			d.dockerfile(c.file)
			before := d.look()
			out, errs, code := d.run(deploy...)
			if code != c.code {
				t.Errorf("%d: %s%s", code, out, errs)
			}
			d.clean(before, mark, out+errs)
		}
		d.dockerfile(fmt.Sprintf(endlessFile, mark))
		before := d.look()
		said := d.interrupt(func(said string) bool { return strings.Contains(said, "[stdout]: begun") && running(mark) > 0 }, deploy...)
		d.oneLine(said, "abxdash: interrupted at step ready; the build was cancelled, nothing goes on")
		d.clean(before, mark, said)
		// The good build of before is still the template.
		if out := d.must("template", "info", "demo", "--provider", "local"); !strings.Contains(out, "ready") {
			t.Error(out)
		}
	})
}

// hangingEngine is a Docker engine that takes a context and never answers the
// call whose path ends in stuck. gone is closed when the caller hangs up.
func hangingEngine(t *testing.T, u *user, stuck string) (host string, begun, gone chan struct{}) {
	t.Helper()
	dir, err := os.MkdirTemp("", "abxdash-engine-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(path, u.uid, u.uid)); err != nil {
		t.Fatal(err)
	}
	begun, gone = make(chan struct{}), make(chan struct{})
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			_, _ = io.WriteString(w, "OK")
		case strings.HasSuffix(r.URL.Path, stuck):
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-r.Context().Done()
			close(gone)
		case strings.HasSuffix(r.URL.Path, "/build"):
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"stream":"Step 1/1 : FROM x\n"}`+"\n"+`{"aux":{"ID":"sha256:`+strings.Repeat("0", 64)+`"}}`+"\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})}
	go func() { _ = srv.Serve(l) }() // ends with Close below
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return "unix://" + path, begun, gone
}

// An engine that builds or pushes is left by SIGINT at once, and neither the
// wheel nor the registry's password stays anywhere.
func TestTemplateBuildInterrupted(t *testing.T) {
	users(t, func(t *testing.T, u *user) {
		d := newTemplateDesk(u)
		registry, _ := dockertest.Registry(t, "ada", secret)
		for stuck, step := range map[string]string{"/build": "build", "/push": "push"} {
			host, begun, gone := hangingEngine(t, u, stuck)
			u.extra = append(u.extra, "DOCKER_HOST="+host, "ABX_REGISTRY_USERNAME=ada", "ABX_REGISTRY_PASSWORD="+secret)
			before := d.look()
			said := d.interrupt(func(string) bool {
				select {
				case <-begun:
					return true
				default:
					return false
				}
			}, "template", "build", "demo", "--provider", "local", "--push", "--registry", registry, "--acr-namespace", "team", "--wheel", d.wheel)
			d.oneLine(said, "abxdash: interrupted at step "+step+"; no template was made")
			select {
			case <-gone:
			case <-time.After(patience):
				t.Errorf("%s: the engine was not left", step)
			}
			d.clean(before, "no such mark", said)
		}
	})
}

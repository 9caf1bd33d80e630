package isolate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"abxdash/client/local/envd"
)

// IsContainerInit reports whether this process is the first one of a container
// of ours. main and the TestMain of anything that starts containers must then call
// ContainerMain before doing anything else.
func IsContainerInit() bool { return len(os.Args) > 0 && os.Args[0] == containerInit }

// ContainerMain plays the part of a container's first process and does not return.
func ContainerMain() { os.Exit(containerMain(newAgent)) }

// containerMain is init at level container: what it is at level process, but the
// kernel ends everything with it. The commands are the same user as it is; that
// it cannot be traced keeps them out of it.
func containerMain(agent agentFunc) int {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fail("init", err)
	}
	got, err := receiveParts(path.Join(containerRun, handSocket))
	if err != nil {
		return fail("init", err)
	}
	closeOnExec()
	if fd, ok := got[partLog]; ok {
		if err := errors.Join(unix.Dup3(fd, 1, 0), unix.Dup3(fd, 2, 0), unix.Close(fd)); err != nil {
			return fail("init", err)
		}
	}
	conf, status := os.NewFile(uintptr(got[partConfig]), "configuration"), os.NewFile(uintptr(got[partStatus]), "status")
	cfg, err := readConfig(conf)
	if err != nil {
		return fail("init", err)
	}
	cfg.FDs = inherited{Listener: got[partListener], Control: got[partControl], Egress: got[partEgress]}
	cfg.Env = withImageEnv(cfg.Env, os.Environ())
	in := &initProc{cfg: cfg, conf: conf, broken: make(chan error, 1)}
	if err := in.upContainer(agent); err != nil {
		_ = sendStatus(status, initStatus{Error: err.Error()})
		return 1
	}
	if err := errors.Join(sendStatus(status, initStatus{}), status.Close()); err != nil {
		return fail("init", err)
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		_, _ = io.Copy(io.Discard, conf)
	}()
	select { // no signal ends it: programs of the sandbox could send it
	case <-end:
		return 0
	case err := <-in.broken:
		return fail("init", fmt.Errorf("serve: %w", err))
	}
}

func (in *initProc) upContainer(agent agentFunc) error {
	if err := in.offerProxy(); err != nil {
		return err
	}
	return in.up(func(cfg initConfig, sp envd.Spawner) http.Handler {
		in.sp.fork = expendable{in.sp.fork} // before the first command
		return agent(cfg, sp)
	})
}

// withImageEnv adds what the image sets to what the sandbox's creator did. Names
// that belong to other products stay out, and so does what the engine makes up.
func withImageEnv(env map[string]string, image []string) map[string]string {
	out := map[string]string{}
	for _, kv := range image {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.HasPrefix(name, "E2B_") || strings.HasPrefix(name, "SANDBOX_") || slices.Contains([]string{"HOME", "HOSTNAME", "PWD"}, name) {
			continue
		}
		out[name] = value
	}
	maps.Copy(out, env)
	return out
}

// expendable makes commands the first to go when the container's memory is used
// up: without init there would be no sandbox.
type expendable struct{ forker }

// expendableScore is half of what the limit is worth: above what init ever uses.
const expendableScore = "500"

func (e expendable) fork(c command, stdio [3]*os.File) (int, error) {
	pid, err := e.forker.fork(c, stdio)
	if err == nil {
		e.mark(pid)
	}
	return pid, err
}

// mark has no answer: a command that is gone, or not readable, is as good as it is.
func (e expendable) mark(pid int) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = syscall.Write(fd, []byte(expendableScore))
	_ = syscall.Close(fd)
}

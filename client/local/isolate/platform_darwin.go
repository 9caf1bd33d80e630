package isolate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasNamespaces: macOS has level process only, without adoption of orphans.
const hasNamespaces = false

// selfExe is the path of this binary.
type selfExe struct{ file string }

func openSelf() (*selfExe, error) {
	p, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running binary: %w", err)
	}
	return &selfExe{file: p}, nil
}

// start starts this binary with argv and attr.
func (e *selfExe) start(argv []string, attr *os.ProcAttr) (*os.Process, error) {
	return os.StartProcess(e.file, argv, attr)
}

func (e *selfExe) close() error { return nil }

func prepareThread() error { return nil }

func prepareHome(Config) error { return nil }

func (l *Launcher) startProcess(cfg Config, attr *os.ProcAttr) (*os.Process, error) {
	attr.Dir = cfg.Home
	return l.self.start([]string{initName}, attr)
}

// startTime is when the process started, in microseconds since 1970.
func startTime(pid int) (uint64, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	t := k.Proc.P_starttime
	return uint64(t.Sec)*1e6 + uint64(t.Usec), nil
}

// zombieState is SZOMB of the kernel's process states.
const zombieState = 5

func zombie(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && k.Proc.P_stat == zombieState
}

func signalIdentity(id Identity, sig syscall.Signal) error {
	if !alive(id) {
		return nil
	}
	if err := syscall.Kill(id.PID, sig); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// processParents lists every process with its parent.
func processParents() (map[int]int, error) {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	parents := make(map[int]int, len(procs))
	for _, k := range procs {
		parents[int(k.Proc.P_pid)] = int(k.Eproc.Ppid)
	}
	return parents, nil
}

func (in *initProc) upNamespace() error { return errors.New("there are no namespaces here") }

func (in *initProc) standBy(io.Writer) error { return errors.New("there are no namespaces here") }

func homeFor(string) (*os.File, fileID, error) {
	return nil, fileID{}, errors.New("there are no namespaces here")
}

// forkServer and builder belong to level namespace.
type (
	forkServer struct{}
	builder    struct{}
)

// adoptOrphans: macOS cannot. A daemon that left its session before the kill
// may outlive the sandbox.
func adoptOrphans() error { return nil }

func closeOnExec() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}

func setCloneflags(*syscall.SysProcAttr, uintptr) {}

func setGroup(*syscall.SysProcAttr, int) {}

func intoGroup(*syscall.SysProcAttr, *os.File) {}

// uninterruptible: such a wait cannot be told from others here.
func uninterruptible(int) bool { return false }

// standing reports whether a process is stopped, a zombie or gone.
func standing(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || k.Proc.P_stat == stoppedState || k.Proc.P_stat == zombieState
}

func (l *Launcher) rootTrees([]Mount) ([]*os.File, error) { return nil, nil }

func closeFiles([]*os.File) {}

func landlockABI() int { return 0 }

const confineArg = "confine"

func confined() error { return errors.New("there is no Landlock here") }

func (in *initProc) ownTemp(string) error { return nil }

func filterAvailable() bool { return false }

func countsPerNamespace() bool { return false }

func sandboxOwner(Config) (int, error) { return os.Geteuid(), nil }

// stoppedState is SSTOP of the kernel's process states.
const stoppedState = 4

func isStopped(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && k.Proc.P_stat == stoppedState
}

func spawnerMain() int { return fail("fork server", errors.New("there are no namespaces here")) }

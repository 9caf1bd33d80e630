package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"abxdash/client"
)

const hasNamespaces = true

// rootBase and rootSize are where root's sandboxes live: a range of ids above
// those that subordinate-id files and other container tools give away. Host id 0 is never part of it: a sandbox that is mapped
// to it can write /proc/sys and remount /usr (local-provider notes, "Identity").
const (
	rootBase = 1_900_000_000
	rootSize = 65536
)

// selfExe is this very binary as an open descriptor. A path would not do: the
// file may have been replaced, or lie below a folder that mapped ids cannot enter.
type selfExe struct{ fd int }

// openSelf opens the running binary, or a copy in memory if other users must
// not execute it and the sandbox will be another user.
func openSelf() (*selfExe, error) {
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the running binary: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("look at the running binary: %w", err)
	}
	if os.Geteuid() == 0 && st.Mode&0o001 == 0 {
		_ = unix.Close(fd)
		copied, err := copySelf()
		if err != nil {
			return nil, err
		}
		return &selfExe{fd: copied}, nil
	}
	return &selfExe{fd: fd}, nil
}

// copySelf copies the running binary into memory, executable by everybody.
func copySelf() (int, error) {
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return -1, err
	}
	defer src.Close()
	fd, err := unix.MemfdCreate(initName, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3 do not know MFD_EXEC
		fd, err = unix.MemfdCreate(initName, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, fmt.Errorf("copy the running binary: %w", err)
	}
	dst := os.NewFile(uintptr(fd), initName)
	defer dst.Close()
	if _, err := io.Copy(dst, src); err != nil {
		return -1, fmt.Errorf("copy the running binary: %w", err)
	}
	// Opened again for reading only: a file that is open for writing is not executed.
	return unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
}

// start starts this binary with argv and attr. The child arranges what it
// inherits before it opens its program, and on the way copies descriptors to
// numbers just above the highest of them; one of those copies would take the
// place of the binary's own descriptor. A copy beyond that range is safe.
func (e *selfExe) start(argv []string, attr *os.ProcAttr) (*os.Process, error) {
	highest := len(attr.Files)
	for _, f := range attr.Files {
		highest = max(highest, int(f.Fd()))
	}
	beyond := highest + len(attr.Files) + 4 // one copy for each, one for the runtime's pipe
	fd, err := unix.FcntlInt(uintptr(e.fd), unix.F_DUPFD_CLOEXEC, beyond)
	if err != nil {
		return nil, fmt.Errorf("copy the running binary's descriptor: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return os.StartProcess("/proc/self/fd/"+strconv.Itoa(fd), argv, attr)
}

func (e *selfExe) close() error {
	if e.fd < 0 {
		return nil
	}
	err := unix.Close(e.fd)
	e.fd = -1
	return err
}

// prepareThread gives the launcher's thread a working directory of its own and
// no_new_privs, which everything it starts inherits. The error concerns level
// namespace only.
func prepareThread() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare the working directory: %w", err)
	}
	return nil
}

// prepareHome gives a home that root made to the id that the sandbox has.
func prepareHome(cfg Config) error {
	if cfg.Level != client.IsolationNamespace || os.Geteuid() != 0 {
		return nil
	}
	uids, err := rootMap("/proc/self/uid_map")
	if err != nil {
		return err
	}
	gids, err := rootMap("/proc/self/gid_map")
	if err != nil {
		return err
	}
	uid, gid := uids[0].HostID, gids[0].HostID
	return filepath.WalkDir(cfg.Home, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

// sandboxOwner is the host's id of a sandbox's processes.
func sandboxOwner(cfg Config) (int, error) {
	uid := os.Geteuid()
	if uid != 0 || cfg.Level != client.IsolationNamespace {
		return uid, nil
	}
	m, err := rootMap("/proc/self/uid_map")
	if err != nil {
		return 0, err
	}
	return m[0].HostID, nil
}

// rootMap is the id map of root's sandboxes: the range above if this process's
// own user namespace has it (file is /proc/self/uid_map or gid_map), else the
// highest single id that it has beside 0 and nobody.
func rootMap(file string) ([]syscall.SysProcIDMap, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	best := 0
	for line := range strings.Lines(string(b)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if inside <= rootBase && inside+size >= rootBase+rootSize {
			return []syscall.SysProcIDMap{{ContainerID: 0, HostID: rootBase, Size: rootSize}}, nil
		}
		last := inside + size - 1
		if last == nobodyID {
			last--
		}
		if last >= inside {
			best = max(best, last)
		}
	}
	if best == 0 {
		return nil, errors.New("root has no other user id here to give to a sandbox")
	}
	return []syscall.SysProcIDMap{{ContainerID: 0, HostID: best, Size: 1}}, nil
}

// namespaces are those that a sandbox gets, one for the network beside them
// unless it shares the host's.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP

// startProcess starts init. It must run on the launcher's thread.
func (l *Launcher) startProcess(cfg Config, attr *os.ProcAttr) (*os.Process, error) {
	argv := []string{initName}
	if cfg.Level != client.IsolationNamespace {
		attr.Dir = cfg.Home
		if cfg.Level == client.IsolationLandlock {
			argv = append(argv, confineArg)
		}
		return l.self.start(argv, attr)
	}
	if l.nsErr != nil {
		return nil, l.nsErr
	}
	sys := attr.Sys
	sys.Cloneflags = namespaces
	if sys.UseCgroupFD && !l.parents.hideable {
		sys.Cloneflags &^= unix.CLONE_NEWCGROUP
	}
	if cfg.Network != NetworkHost {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	sys.Pdeathsig = syscall.SIGKILL
	sys.Credential = &syscall.Credential{Uid: 0, Gid: 0}
	if err := mapIDs(sys); err != nil {
		return nil, err
	}
	// The working directory is how the home gets in: parents that are closed to
	// the mapped id do not matter once it is taken, and unlike a descriptor it
	// moves into the new mount namespace.
	if err := unix.Chdir(cfg.Home); err != nil {
		return nil, fmt.Errorf("enter the home: %w", err)
	}
	defer func() { _ = unix.Chdir("/") }()
	proc, err := l.self.start(argv, attr)
	if err != nil {
		return nil, explainStart(err)
	}
	return proc, nil
}

// explainStart says in words what the usual refusals mean.
func explainStart(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	why := "the first process cannot be started"
	switch errno {
	case unix.ENOSPC, unix.EUSERS:
		why = "user namespaces are switched off or used up (sysctl user.max_user_namespaces)"
	case unix.EPERM, unix.EACCES:
		why = "user namespaces are not permitted here (a container's or the distribution's policy)"
	case unix.EINVAL, unix.ENOSYS:
		why = "the kernel lacks a kind of namespace"
	}
	return fmt.Errorf("%s: %w", why, errno)
}

// mapIDs maps id 0 of the sandbox: to the caller, or for root to rootMap. Never to host id 0.
func mapIDs(sys *syscall.SysProcAttr) (err error) {
	if uid := os.Geteuid(); uid != 0 {
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		sys.Credential.NoSetGroups = true // not allowed without privileges
		return nil
	}
	if sys.UidMappings, err = rootMap("/proc/self/uid_map"); err != nil {
		return err
	}
	if sys.GidMappings, err = rootMap("/proc/self/gid_map"); err != nil {
		return err
	}
	// Root's groups must go: the kernel would still honour them inside.
	sys.GidMappingsEnableSetgroups = true
	return nil
}

// statFields returns the fields of /proc/PID/stat from the third (state) on.
// The second is the name and may hold anything.
func statFields(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat: too short", pid)
	}
	return f, nil
}

// startTime is field 22 of /proc/PID/stat: clock ticks since boot.
func startTime(pid int) (uint64, error) {
	f, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(f[22-3], 10, 64)
}

// isStopped reports whether a process stands by job control or a tracer.
func isStopped(pid int) bool {
	f, err := statFields(pid)
	return err == nil && (f[0] == "T" || f[0] == "t")
}

// uninterruptible reports whether a process is in a wait that signals do not end.
func uninterruptible(pid int) bool {
	f, err := statFields(pid)
	return err == nil && f[0] == "D"
}

// standing reports whether no thread of a process runs any more.
func standing(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return true // gone
	}
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) > 0 && !strings.Contains("TtZX", f[0]) {
			return false
		}
	}
	return true
}

// zombie reports whether every thread of the process has ended.
func zombie(pid int) bool {
	f, err := statFields(pid)
	return err == nil && (f[0] == "Z" || f[0] == "X") && (f[20-3] == "1" || f[20-3] == "0")
}

// signalIdentity signals the very process: the descriptor is taken first, then
// compared, so that a pid in new hands is never hit.
func signalIdentity(id Identity, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case errors.Is(err, unix.ENOSYS): // kernels before 5.3
		if alive(id) {
			return ignoreGone(unix.Kill(id.PID, sig))
		}
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if !alive(id) {
		return nil
	}
	return ignoreGone(unix.PidfdSendSignal(fd, sig, nil, 0))
}

// ignoreGone drops "no such process".
func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// processParents lists every process with its parent.
func processParents() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	parents := make(map[int]int, len(names))
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		f, err := statFields(pid)
		if err != nil {
			continue // gone
		}
		if parents[pid], err = strconv.Atoi(f[1]); err != nil {
			delete(parents, pid)
		}
	}
	return parents, nil
}

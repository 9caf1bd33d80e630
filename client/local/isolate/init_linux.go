package isolate

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"abxdash/client/local/envd"
)

// upNamespace builds the root and starts the fork server meanwhile: both take
// about as long. A spare has them already.
func (in *initProc) upNamespace() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("set non-dumpable: %w", err)
	}
	home, err := in.takeHome()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(home) }()
	trees, err := in.takeMounts()
	if err != nil {
		return err
	}
	if err := privateMounts(); err != nil {
		return err
	}
	if err := in.enterRoot(home, trees); err != nil {
		return err
	}
	if err := hostAndNetwork(in.cfg); err != nil {
		return err
	}
	if err := in.offerProxy(); err != nil {
		return err
	}
	fs := in.starter
	in.sp = newSpawner(fs, envd.User{Name: UserName, UID: userUID, GID: userGID, Home: HomePath, Shell: loginShell()})
	in.sp.others = fs.gone
	in.sp.starter = fs.running
	in.startReaper()
	return nil
}

// enterRoot builds the root, or finishes the one that a spare has, and makes it
// this process's and the fork server's.
func (in *initProc) enterRoot(home int, trees []int) error {
	if in.root != nil {
		if err := in.root.fresh(); err != nil {
			return err
		}
		if err := in.root.finish(in.cfg, home, trees); err != nil {
			return err
		}
		if err := changeRoot(in.root.dir, in.starter.pid); err != nil {
			return err
		}
		return in.starter.ensure()
	}
	fs, err := in.newStarter()
	if err != nil {
		return err
	}
	in.starter = fs
	booted := make(chan error, 1)
	go func() { booted <- fs.ensure() }()
	root := coverable()
	err = newRoot(root, in.cfg.Limits).finish(in.cfg, home, trees)
	// Not before it runs: a process that is just being made would keep the old root.
	if err := errors.Join(err, <-booted); err != nil {
		return err
	}
	return changeRoot(root, fs.pid)
}

// newStarter prepares a fork server and does not start it yet. It mounts a /proc
// of this pid namespace over the host's, which has other numbers for the processes here.
func (in *initProc) newStarter() (*forkServer, error) {
	if err := mountProc("/proc"); err != nil {
		return nil, err
	}
	// Opened before /proc/sys becomes read-only.
	sysctl, err := os.OpenFile("/proc/sys/user/max_user_namespaces", os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return &forkServer{
		boot:  func() (int, *net.UnixConn, error) { return bootForkServer(sysctl, in.cfg.FDs) },
		hello: func() hello { return helloOf(in.cfg) },
	}, nil
}

// changeRoot makes dir the root of every process here and makes sure of it for
// the fork server, whose commands inherit it.
func changeRoot(dir string, forkServer int) error {
	if err := pivot(dir); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	ours, err := os.Stat("/")
	if err != nil {
		return err
	}
	theirs, err := os.Stat("/proc/" + strconv.Itoa(forkServer) + "/root")
	if err != nil {
		return fmt.Errorf("check the fork server's root: %w", err)
	}
	if !os.SameFile(ours, theirs) {
		return errors.New("the fork server has another root")
	}
	return nil
}

// hostAndNetwork sets the name and brings loopback up.
func hostAndNetwork(cfg initConfig) error {
	if err := unix.Sethostname([]byte(hostname(cfg))); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if cfg.Network == NetworkHost {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}

// adoptOrphans makes this process the new parent of orphaned descendants.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of descendants: %w", err)
	}
	return nil
}

// closeOnExec keeps every inherited descriptor but 0 to 2 from the commands.
func closeOnExec() {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // kernels before 5.11
		for fd := 3; fd < 1024; fd++ {
			syscall.CloseOnExec(fd)
		}
	}
}

// setGroup starts a process in the v2 cgroup of an open directory.
func setGroup(a *syscall.SysProcAttr, fd int) { a.UseCgroupFD, a.CgroupFD = true, fd }

func intoGroup(a *syscall.SysProcAttr, dir *os.File) {
	if dir != nil {
		setGroup(a, int(dir.Fd()))
	}
}

func setCloneflags(a *syscall.SysProcAttr, flags uintptr) { a.Cloneflags = flags }

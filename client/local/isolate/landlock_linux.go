package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"abxdash/client"
)

// landlockABI is the version of Landlock that the kernel has, 0 for none.
func landlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

var errNoLandlock = errors.New("the kernel has no Landlock, or it is switched off")

// systemDirs are what programs may read and run at level process+landlock. The
// folders of users are not among them, nor /tmp and /var.
func systemDirs() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store",
		"/proc", "/sys", "/dev", "/run/systemd/resolve", "/run/resolvconf", "/run/current-system",
	}
}

// confineArg is the first argument of an init that is to confine itself first.
const confineArg = "confine"

// confined limits this process to its working directory, which is the home, and
// the system's folders, and becomes itself again. A thread takes on limits for
// itself alone; only what a program starts with is common to all its threads, and
// threads apart could not even signal each other's children. The agent is
// confined too, so a file request reaches no further than a command. Kernels
// before 6.12 do not confine signals and abstract sockets.
func confined() error {
	runtime.LockOSThread()
	home, err := os.Getwd()
	if err != nil {
		return err
	}
	own := landlock.RWDirs(home)
	if landlockABI() >= 2 { // before, files cannot be moved between folders at all
		own = own.WithRefer()
	}
	rules := []landlock.Rule{
		own,
		landlock.RODirs(systemDirs()...).IgnoreIfMissing(),
		landlock.RWDirs("/dev/pts").WithIoctlDev().IgnoreIfMissing(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
	}
	// A copy in memory is on no file system, needs no rule and takes none.
	if exe, err := os.Readlink("/proc/self/exe"); err == nil && !strings.HasPrefix(exe, "/memfd:") {
		rules = append(rules, landlock.ROFiles("/proc/self/exe"))
	}
	want := landlock.V11
	want.HandledAccessNet = 0
	fd, flags, err := want.BestEffort().NewRulesetFD(rules...)
	if err != nil {
		return fmt.Errorf("limit file access: %w", err)
	}
	if fd < 0 {
		return errNoLandlock
	}
	if err := ll.LandlockRestrictSelf(fd, flags); err != nil {
		return fmt.Errorf("limit file access: %w", err)
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	return fmt.Errorf("start again: %w", unix.Exec("/proc/self/exe", []string{initName}, os.Environ()))
}

// ownTemp gives a confined sandbox a place for temporary files.
func (in *initProc) ownTemp(home string) error {
	if in.cfg.Level != client.IsolationLandlock {
		return nil
	}
	tmp := filepath.Join(home, ".tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	if in.cfg.Env == nil {
		in.cfg.Env = map[string]string{}
	}
	if in.cfg.Env["TMPDIR"] == "" {
		in.cfg.Env["TMPDIR"] = tmp
	}
	return nil
}

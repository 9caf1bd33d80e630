package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupEnd bounds the removal of a group whose processes have been killed.
const groupEnd = 10 * time.Second

// kill kills every process in the groups.
func (g *group) kill() {
	if g == nil {
		return
	}
	if g.v2 != "" {
		killGroup(g.v2)
	}
	for _, dir := range g.v1 {
		killGroup(dir)
	}
}

// remove kills whatever is in the groups and removes them.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	if g.v2 != "" {
		errs = append(errs, removeGroup(g.v2))
	}
	for _, dir := range g.v1 {
		errs = append(errs, removeGroup(dir))
	}
	return errors.Join(errs...)
}

// removeGroup ends one group. One that is gone is fine.
func removeGroup(dir string) error {
	var err error
	for end := time.Now().Add(groupEnd); ; {
		if err = rmGroup(dir); err == nil || time.Now().After(end) {
			return err
		}
		killGroup(dir)
		time.Sleep(freezeTick) // the kernel is still taking the processes down
	}
}

func killGroup(dir string) {
	if put(dir, "cgroup.kill", "1") == nil { // v2, from kernel 5.14
		return
	}
	for _, d := range []string{dir, filepath.Join(dir, "user"), filepath.Join(dir, "agent")} {
		b, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		if err != nil {
			continue
		}
		for _, text := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(text); err == nil && pid > 0 {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// rmGroup removes an empty group with those below it.
func rmGroup(dir string) error {
	for _, d := range []string{filepath.Join(dir, "user"), filepath.Join(dir, "agent"), dir} {
		if err := unix.Rmdir(d); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove %s: %w", d, err)
		}
	}
	return nil
}

// SweepGroups ends and removes the groups of launchers that are dead. It does
// not touch those of launchers in other pid namespaces.
func SweepGroups() error { return findParents().sweep() }

func (p *groupParents) sweep() error {
	dirs := []string{}
	if p.v2 != "" {
		dirs = append(dirs, p.v2)
	}
	for _, d := range p.v1 {
		dirs = append(dirs, d)
	}
	ns, err := pidNamespace()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dirs {
		found, err := filepath.Glob(filepath.Join(d, groupPrefix+"*"))
		if err != nil {
			return err
		}
		for _, g := range found {
			if of, inode, ok := groupOwner(filepath.Base(g)); ok && inode == ns && !alive(of) {
				errs = append(errs, removeGroup(g))
			}
		}
	}
	return errors.Join(errs...)
}

// groupOwner takes the launcher out of a group's name.
func groupOwner(name string) (id Identity, pidNS uint64, ok bool) {
	f := strings.Split(strings.TrimPrefix(name, groupPrefix), "-")
	if len(f) != 4 {
		return id, 0, false
	}
	var n [3]uint64
	for i := range n {
		v, err := strconv.ParseUint(f[i], 10, 63)
		if err != nil {
			return id, 0, false
		}
		n[i] = v
	}
	return Identity{PID: int(n[1]), StartTime: n[2]}, n[0], true
}

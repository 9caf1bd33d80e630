package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Control groups of a sandbox. They are made below groups that exist, nothing
// else about those is touched: no controller is enabled in them, no process
// moved. Version 2 gives
//
//	abxdash-…        removed with the sandbox, cgroup.kill
//	  agent          PID 1, at level process the supervisor
//	  user           the commands and their starter: limits, cgroup.freeze
//
// and version 1, where its controllers are mounted there (also beside version 2),
// one group for each controller that is wanted. The thread of the fork server that
// starts the commands joins those; a thread of its own choice may not be in another
// group than its process in version 2, so there the whole fork server joins.

// groupPrefix starts the name of every group of ours. What follows is pid
// namespace, pid and start time of the launcher, so that groups of a dead one can
// be told from all others, and a number.
const groupPrefix = "abxdash-"

// groupParents is where a launcher makes groups.
type groupParents struct {
	// v2 is a directory, "" for none.
	v2 string
	// v2Controllers are those that groups below v2 have.
	v2Controllers []string
	// hideable is false where a cgroup namespace would keep the fork server from
	// the groups.
	hideable bool
	// v1 is a directory for each controller.
	v1 map[string]string
	// missing says why there is nothing at all.
	missing string
	name    string
	next    atomic.Uint64
}

// findParents looks for groups that may have ours below them.
func findParents() *groupParents {
	p := &groupParents{v1: map[string]string{}}
	err := p.find()
	if err == nil {
		p.name, err = launcherName(os.Getpid())
	}
	switch {
	case err != nil:
		p.missing = "cgroups cannot be read: " + err.Error()
		p.v2, p.v1 = "", nil
	case p.v2 == "" && len(p.v1) == 0:
		p.missing = "no cgroup here that this user may have groups below"
	}
	return p
}

// launcherName begins the names of one launcher's groups.
func launcherName(pid int) (string, error) {
	ns, err := pidNamespace()
	if err != nil {
		return "", err
	}
	start, err := startTime(pid)
	return fmt.Sprintf("%s%d-%d-%d-", groupPrefix, ns, pid, start), err
}

func pidNamespace() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return 0, err
	}
	return st.Ino, nil
}

func (p *groupParents) find() error {
	self, err := procfs.Self()
	if err != nil {
		return err
	}
	own, err := self.Cgroups()
	if err != nil {
		return err
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup2":
			p.addV2(m, own)
		case "cgroup":
			p.addV1(m, own)
		}
	}
	return nil
}

// ownDir is where a hierarchy's group of this process is mounted, "" if it is not.
func ownDir(m *procfs.MountInfo, c procfs.Cgroup) string {
	rel := c.Path
	if m.Root != "/" {
		var ok bool
		if rel, ok = strings.CutPrefix(c.Path, m.Root); !ok || rel != "" && rel[0] != '/' {
			return ""
		}
	}
	if slices.Contains(strings.Split(rel, "/"), "..") {
		return ""
	}
	return filepath.Join(m.MountPoint, rel)
}

// wantedControllers are those that limits and metrics use.
func wantedControllers() []string { return []string{"memory", "pids", "cpu"} }

// addV2 takes the group of this process, or one above it that gives more
// controllers to those below. The one above is good enough for moving processes:
// it is the common ancestor.
func (p *groupParents) addV2(m *procfs.MountInfo, own []procfs.Cgroup) {
	i := slices.IndexFunc(own, func(c procfs.Cgroup) bool { return c.HierarchyID == 0 })
	if i < 0 || p.v2 != "" {
		return
	}
	start := ownDir(m, own[i])
	if start == "" {
		return
	}
	top := filepath.Clean(m.MountPoint)
	for dir := start; ; dir = filepath.Dir(dir) {
		if unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil && canFreeze(dir, top) {
			if got := offered(dir, "cgroup.subtree_control"); p.v2 == "" || len(got) > len(p.v2Controllers) {
				p.v2, p.v2Controllers = dir, got
			}
		}
		if dir == top || len(dir) < len(top) {
			break
		}
	}
	_, delegate := m.SuperOptions["nsdelegate"]
	p.hideable = !delegate || p.v2 == start
}

// canFreeze leaves out kernels before 5.2 and threaded groups. The root of a
// hierarchy has neither file; its kernel is asked by the group that is made.
func canFreeze(dir, top string) bool {
	if dir == top {
		return true
	}
	kind, err := os.ReadFile(filepath.Join(dir, "cgroup.type"))
	return err == nil && strings.TrimSpace(string(kind)) == "domain" && unix.Access(filepath.Join(dir, "cgroup.freeze"), unix.F_OK) == nil
}

// offered are the wanted controllers that a file of a group lists.
func offered(dir, file string) []string {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	have := strings.Fields(string(b))
	return slices.DeleteFunc(wantedControllers(), func(c string) bool { return !slices.Contains(have, c) })
}

func (p *groupParents) addV1(m *procfs.MountInfo, own []procfs.Cgroup) {
	for _, c := range own {
		for _, name := range c.Controllers {
			if _, here := m.SuperOptions[name]; !here || p.v1[name] != "" {
				continue
			}
			if dir := ownDir(m, c); dir != "" && unix.Access(dir, unix.W_OK) == nil {
				p.v1[name] = dir
			}
		}
	}
}

// group is what one sandbox has. A nil group is none.
type group struct {
	v2          string            // the outer directory, "" for none
	controllers []string          // of v2
	v1          map[string]string // by controller; two may share a directory
	// userDir is an open v2 directory for the commands, agentDir for PID 1.
	userDir, agentDir *os.File
	// tasks are open files of v1 that a thread joins by writing 0.
	tasks []*os.File
	limit Limits
}

// makeGroup makes the groups of one sandbox and sets its limits. An ordinary
// failure is no error: the sandbox then has fewer of them.
func (p *groupParents) makeGroup(l Limits, owner int, v1 bool) *group {
	if p.v2 == "" && len(p.v1) == 0 {
		return nil
	}
	g := &group{v1: map[string]string{}, limit: l}
	name := p.name + strconv.FormatUint(p.next.Add(1), 10)
	if p.v2 != "" {
		if err := g.makeV2(filepath.Join(p.v2, name), p.v2Controllers, owner); err != nil {
			g.dropV2()
		}
	}
	if v1 {
		for controller, parent := range p.v1 {
			if g.wants(controller) {
				g.makeV1(controller, filepath.Join(parent, name))
			}
		}
	}
	if g.v2 == "" && len(g.v1) == 0 {
		g.release()
		return nil
	}
	return g
}

// wants says which controllers of v1 are worth a group.
func (g *group) wants(controller string) bool {
	switch controller {
	case "memory", "pids":
		return !slices.Contains(g.controllers, controller)
	case "cpu":
		return g.limit.CPUs > 0 && !slices.Contains(g.controllers, "cpu")
	case "cpuacct":
		return g.v2 == "" // every group of v2 counts time
	}
	return false
}

func (g *group) makeV2(dir string, controllers []string, owner int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	g.v2 = dir
	for _, c := range controllers {
		if err := put(dir, "cgroup.subtree_control", "+"+c); err != nil {
			return err
		}
	}
	g.controllers = controllers
	agent, user := filepath.Join(dir, "agent"), filepath.Join(dir, "user")
	if err := errors.Join(os.Mkdir(agent, 0o755), os.Mkdir(user, 0o755)); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(user, "cgroup.freeze")); err != nil {
		return err
	}
	// Init, as that id, puts the fork server there; the groups themselves cannot be seen inside.
	for _, d := range []string{dir, agent, user} {
		if err := os.Chown(filepath.Join(d, "cgroup.procs"), owner, -1); err != nil {
			return err
		}
	}
	if err := g.limitV2(user); err != nil {
		return err
	}
	var err error
	if g.agentDir, err = openDir(agent); err != nil {
		return err
	}
	g.userDir, err = openDir(user)
	return err
}

// openDir opens a directory without rights to it: CLONE_INTO_CGROUP takes such.
func openDir(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// starterThreads is what the fork server takes of the limit of processes.
const starterThreads = 16

// cpuPeriod is the time that a quota of processor time is for, in microseconds.
const cpuPeriod = 100_000

func (g *group) limitV2(user string) error {
	for _, c := range g.controllers {
		var err error
		switch {
		case c == "pids":
			err = put(user, "pids.max", strconv.FormatUint(g.limit.Processes+starterThreads, 10))
		case c == "memory" && g.limit.MemoryMB > 0:
			err = put(user, "memory.max", strconv.FormatInt(g.limit.MemoryMB<<20, 10))
			if e := put(user, "memory.swap.max", "0"); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		case c == "cpu" && g.limit.CPUs > 0:
			err = put(user, "cpu.max", fmt.Sprintf("%d %d", quota(g.limit.CPUs), cpuPeriod))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// quota is the time in a period; the kernel takes no less than a millisecond.
func quota(cpus float64) int64 { return max(1000, int64(cpus*cpuPeriod)) }

// makeV1 makes one group of v1; on a failure there is none.
func (g *group) makeV1(controller, dir string) {
	shared := false
	for _, d := range g.v1 {
		shared = shared || d == dir
	}
	err := os.Mkdir(dir, 0o755)
	if shared && errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return
	}
	err = g.limitV1(controller, dir)
	if err == nil && !shared {
		var f *os.File
		if f, err = os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0); err == nil {
			g.tasks = append(g.tasks, f)
		}
	}
	if err != nil {
		if !shared {
			_ = os.Remove(dir)
		}
		return
	}
	g.v1[controller] = dir
}

func (g *group) limitV1(controller, dir string) error {
	switch {
	case controller == "pids":
		return put(dir, "pids.max", strconv.FormatUint(g.limit.Processes+1, 10))
	case controller == "memory" && g.limit.MemoryMB > 0:
		limit := strconv.FormatInt(g.limit.MemoryMB<<20, 10)
		if err := put(dir, "memory.limit_in_bytes", limit); err != nil {
			return err
		}
		// Memory and swap together; absent where swap is not counted.
		if err := put(dir, "memory.memsw.limit_in_bytes", limit); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	case controller == "cpu" && g.limit.CPUs > 0:
		if err := put(dir, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)); err != nil {
			return err
		}
		return put(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota(g.limit.CPUs), 10))
	}
	return nil
}

// put writes one value to a file of a group that exists.
func put(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// release closes what was open for the start.
func (g *group) release() {
	if g == nil {
		return
	}
	for _, f := range append(g.tasks, g.userDir, g.agentDir) {
		if f != nil {
			_ = f.Close()
		}
	}
	g.tasks, g.userDir, g.agentDir = nil, nil, nil
}

// dropV2 removes a v2 group that could not be used. What is open stays so until release.
func (g *group) dropV2() {
	if g.v2 != "" {
		_ = rmGroup(g.v2)
	}
	g.v2, g.controllers = "", nil
}

func (g *group) canFreeze() bool { return g != nil && g.v2 != "" }

func (g *group) user() string { return filepath.Join(g.v2, "user") }

// freezeTick is how often the state of a freeze is looked at.
const freezeTick = time.Millisecond

// freeze stops the commands and waits until the last one stands. A process in
// an uninterruptible wait delays it.
func (g *group) freeze(ctx context.Context) error {
	if err := put(g.user(), "cgroup.freeze", "1"); err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	tick := time.NewTicker(freezeTick)
	defer tick.Stop()
	for {
		done, err := event(g.user(), "frozen")
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("freeze: %w", ctx.Err())
		}
	}
}

func (g *group) thaw() error {
	if err := put(g.user(), "cgroup.freeze", "0"); err != nil {
		return fmt.Errorf("thaw: %w", err)
	}
	return nil
}

// event reads a flag of cgroup.events.
func event(dir, name string) (bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return v == "1", nil
		}
	}
	return false, fmt.Errorf("%s: no %q", dir, name)
}

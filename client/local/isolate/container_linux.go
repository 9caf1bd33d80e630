package isolate

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"abxdash/client"
	"abxdash/client/docker"
)

// Containers starts sandboxes of level container with a Docker engine of this
// machine. It is safe for concurrent use.
type Containers struct {
	cfg    ContainerConfig
	engine *docker.Engine
	owner  string // value of labelOwner
	server string // value of labelServer
	// uid and gid are what the sandboxes' programs have, here and inside.
	uid, gid int
	// seccomp is set once the engine has said that it filters system calls.
	seccomp atomic.Bool
}

// NewContainers prepares for an engine and asks it nothing yet. Errors are E9011.
func NewContainers(cfg ContainerConfig) (*Containers, error) {
	const op = "prepare containers"
	if cfg.Image == "" {
		cfg.Image = DefaultImage
	}
	if err := docker.CheckImage(cfg.Image); err != nil {
		return nil, unavailable(op, err.Error(), "")
	}
	uid, gid, err := containerIDs()
	if err != nil {
		return nil, unavailable(op, err.Error(), "")
	}
	began, err := startTime(os.Getpid())
	if err != nil {
		return nil, unavailable(op, err.Error(), "")
	}
	engine, err := docker.New(docker.Config{Host: cfg.Engine})
	if err != nil {
		return nil, unavailable(op, reason(err), client.HintOf(err))
	}
	sum := sha256.Sum256([]byte(cfg.Owner))
	return &Containers{
		cfg: cfg, engine: engine, owner: hex.EncodeToString(sum[:8]),
		server: serverLabel(Identity{os.Getpid(), began}), uid: uid, gid: gid,
	}, nil
}

func serverLabel(id Identity) string { return fmt.Sprintf("%d-%d", id.PID, id.StartTime) }

// containerIDs are the ids of sandboxes' programs: the caller's own, so that
// what they leave can be removed, and for root those of nobody on this machine.
func containerIDs() (uid, gid int, err error) {
	if uid, gid = os.Geteuid(), os.Getegid(); uid != 0 {
		if gid == 0 { // a group that many files of an image belong to
			gid = nobodyID
		}
		return uid, gid, nil
	}
	uids, err := rootMap("/proc/self/uid_map")
	if err != nil {
		return 0, 0, err
	}
	gids, err := rootMap("/proc/self/gid_map")
	if err != nil {
		return 0, 0, err
	}
	uid, gid = uids[0].HostID, gids[0].HostID
	if uids[0].Size > userUID && gids[0].Size > userGID {
		uid, gid = uid+userUID, gid+userGID
	}
	return uid, gid, nil
}

// Close gives up idle connections. Sandboxes go on.
func (c *Containers) Close() error { return c.engine.Close() }

// Ready finds out whether containers could be started, without starting one.
// Errors are E9011 and name what is in the way.
func (c *Containers) Ready(ctx context.Context) error {
	const op = "look for a Docker engine"
	if c.engine.Socket() == "" {
		return unavailable(op, "isolation level container needs a Docker engine on this machine, reached by a unix socket", "check DOCKER_HOST")
	}
	if err := checkStatic("/proc/self/exe"); err != nil {
		return unavailable(op, err.Error(), "take a released abxdash, or build with CGO_ENABLED=0")
	}
	f, err := c.engine.Facts(ctx)
	switch {
	case err != nil:
		return unavailable(op, reason(err), "install or start Docker, or set DOCKER_HOST; your user needs the right to use it")
	case f.OS != "linux":
		return unavailable(op, "the Docker engine runs no Linux containers", "")
	case f.Rootless || f.Remapped:
		return unavailable(op, "the Docker engine gives containers other user ids (rootless or userns-remap): files of a sandbox would not be yours", "use an engine without that")
	}
	c.seccomp.Store(f.Seccomp)
	return nil
}

// checkStatic refuses a program that would look for libraries of the image's.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("look at the running binary: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this abxdash is linked dynamically and cannot run inside a container")
		}
	}
	return nil
}

// HasImage reports whether the configured image is there.
func (c *Containers) HasImage(ctx context.Context) (bool, error) {
	return c.engine.HasImage(ctx, c.cfg.Image)
}

// Fetch makes sure that the engine has an image, "" for the configured one. It
// can take minutes. A failure is E9011.
func (c *Containers) Fetch(ctx context.Context, image string) error {
	const op = "prepare containers"
	if image == "" {
		image = c.cfg.Image
	}
	there, err := c.engine.HasImage(ctx, image)
	if err == nil && !there {
		err = c.engine.Pull(ctx, image, nil)
	}
	if err != nil && ctx.Err() == nil {
		return unavailable(op, reason(err), client.HintOf(err))
	}
	return err
}

// Probe starts a container of the configured image that runs a command, and
// fetches the image if need be. Without an error the level is container.
func (c *Containers) Probe(ctx context.Context) (Result, error) {
	const op = "probe isolation"
	err := c.Ready(ctx)
	if err == nil {
		err = c.Fetch(ctx, "")
	}
	if err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp("", "abxdash-probe-")
	if err != nil {
		return Result{}, unavailable(op, reason(err), "")
	}
	defer os.RemoveAll(dir)
	home := filepath.Join(dir, "home")
	if err = os.Mkdir(home, 0o700); err == nil {
		var s *Container
		if s, err = c.start(ctx, Config{ID: "probe", Home: home}, true); err == nil {
			err = s.Kill(ctx)
		}
	}
	if err != nil {
		return Result{}, unavailable(op, "isolation level container is not to be had: "+reason(err), client.HintOf(err))
	}
	return Result{Level: client.IsolationContainer}, nil
}

// Start starts a sandbox and returns when its agent answers. ctx bounds the
// start only. Config.Image is fetched if the engine does not have it. Beside
// Config.Home, a folder named container is made, which the caller removes with the
// home. Errors are *client.Error: E9011 when there is no image, E2000 for
// anything else.
func (c *Containers) Start(ctx context.Context, cfg Config) (*Container, error) {
	const op = "start a local sandbox"
	cfg.Level = client.IsolationContainer
	if cfg.Listener == nil {
		return nil, client.Usagef(op, "no listening socket was given")
	}
	var err error
	if cfg.Mounts, err = checkMounts(cfg); err != nil {
		return nil, err
	}
	for _, m := range cfg.Mounts {
		if below(c.engine.Socket(), m.Host) {
			return nil, client.Usagef(op, "mount %s: the Docker engine's socket is in it, and who has that has this machine", m.Host)
		}
	}
	if cfg.Places, err = checkPlaces(cfg); err != nil {
		return nil, err
	}
	if err := c.Fetch(ctx, cfg.Image); err != nil {
		return nil, err
	}
	s, err := c.start(ctx, cfg, false)
	if err != nil {
		return nil, &client.Error{Op: op, Provider: "local", Code: client.CodeCreate, Err: err}
	}
	return s, nil
}

// Sweep removes the owner's containers whose makers are dead. Those of the
// living are left alone.
func (c *Containers) Sweep(ctx context.Context) error {
	list, err := c.engine.Containers(ctx, labelOwner+"="+c.owner)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range list {
		var by Identity
		if _, err := fmt.Sscanf(l.Labels[labelServer], "%d-%d", &by.PID, &by.StartTime); err != nil || !alive(by) {
			errs = append(errs, c.engine.RemoveContainer(ctx, l.ID))
		}
	}
	return errors.Join(errs...)
}

// KillByIdentity ends the container whose first process that is, a janitor's
// work. A process that is gone is success, whether the engine answers or not.
func (c *Containers) KillByIdentity(ctx context.Context, id Identity) error {
	// What a dead server left otherwise is the next one's to remove, too.
	defer func() { _ = c.Sweep(ctx) }()
	if !alive(id) {
		return nil
	}
	// Without an engine this ends it, unless it is frozen; and with one at once.
	err := signalIdentity(id, syscall.SIGKILL)
	err = errors.Join(err, c.removeByPID(ctx, id.PID))
	if late := gone(ctx, id); late != nil {
		return errors.Join(late, err)
	}
	return nil
}

func (c *Containers) removeByPID(ctx context.Context, pid int) error {
	list, err := c.engine.Containers(ctx, labelOwner+"="+c.owner)
	if err != nil {
		return err
	}
	for _, l := range list {
		if have, err := c.engine.ContainerPID(ctx, l.ID); err == nil && have == pid {
			return c.engine.RemoveContainer(ctx, l.ID)
		}
	}
	return nil
}

// initFile is this very binary as a file that containers can run: its own, or a
// copy in dir when that was replaced since or is closed to their user.
func (c *Containers) initFile(dir string) (string, error) {
	const self = "/proc/self/exe"
	now, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	if path, err := os.Readlink(self); err == nil {
		info, err := os.Stat(path)
		if err == nil && os.SameFile(info, now) && (info.Mode()&0o001 != 0 || c.uid == os.Geteuid()) {
			return path, nil
		}
	}
	to := filepath.Join(dir, "init")
	return to, copyFile(self, to, 0o555)
}

func copyFile(from, to string, mode fs.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	// One that is there may be read-only.
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}

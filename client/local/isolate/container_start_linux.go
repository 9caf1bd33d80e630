package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"abxdash/client"
	"abxdash/client/docker"
)

const (
	// containerPatience bounds the start of one container, its image being there.
	containerPatience = 90 * time.Second
	// agentMemory and agentThreads are what init itself may take of the container's
	// limits: without them a small sandbox would have no room for programs.
	agentMemory  = 48 << 20
	agentThreads = 32
)

// start does the work of Start, for a probe too.
func (c *Containers) start(ctx context.Context, cfg Config, probe bool) (_ *Container, err error) {
	ctx, cancel := context.WithTimeout(ctx, containerPatience)
	defer cancel()
	cfg.Level = client.IsolationContainer
	if cfg.Home, err = filepath.Abs(cfg.Home); err != nil {
		return nil, err
	}
	p, err := newParts(cfg)
	defer p.release()
	if err != nil {
		p.undo()
		return nil, err
	}
	defer p.status.Close()
	dir, ln, err := c.folder(cfg)
	if err != nil {
		p.undo()
		return nil, err
	}
	defer ln.Close()
	// The name goes before any program of the sandbox runs.
	defer func() { _ = os.Remove(filepath.Join(dir, "run", handSocket)) }()
	spec, err := c.spec(cfg, dir)
	if err != nil {
		p.undo()
		return nil, err
	}
	id, err := c.engine.CreateContainer(ctx, spec)
	if err != nil {
		p.undo()
		return nil, err
	}
	s := newContainer(c, id, cfg.Limits.defaults(), p)
	if err = c.meet(ctx, s, ln, p); err == nil {
		err = s.bringUp(ctx, c.initConfig(cfg, probe), p)
	}
	if err == nil {
		return s, nil
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer stop()
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return nil, errors.Join(err, s.abandon(end))
}

// folder makes what the container is shown beside the home, and the socket by
// which it gets the rest.
func (c *Containers) folder(cfg Config) (string, *net.UnixListener, error) {
	dir := filepath.Join(filepath.Dir(cfg.Home), "container")
	run := filepath.Join(dir, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return "", nil, err
	}
	passwd := fmt.Sprintf("root:x:0:0::/root:/bin/sh\n%s:x:%d:%d::%s:/bin/sh\nnobody:x:%d:%d::/nonexistent:/usr/sbin/nologin\n",
		UserName, c.uid, c.gid, HomePath, nobodyID, nobodyID)
	group := fmt.Sprintf("root:x:0:\n%s:x:%d:\nnogroup:x:%d:\n", UserName, c.gid, nobodyID)
	for name, text := range map[string]string{"passwd": passwd, "group": group} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", nil, err
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil { // whatever the umask is
			return "", nil, err
		}
	}
	ln, err := listenIn(run, handSocket)
	if err != nil {
		return "", nil, fmt.Errorf("listen for the container: %w", err)
	}
	if err := c.own(run); err != nil {
		return "", nil, errors.Join(err, ln.Close())
	}
	return dir, ln, nil
}

// listenIn listens on a socket in a folder, however long its path is.
func listenIn(dir, name string) (*net.UnixListener, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: "/proc/self/fd/" + strconv.Itoa(fd) + "/" + name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // by then that path means something else
	return ln, os.Chmod(filepath.Join(dir, name), 0o600)
}

// own gives a tree that root made to the sandboxes' user.
func (c *Containers) own(dir string) error {
	if c.uid == os.Geteuid() {
		return nil
	}
	return filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, c.uid, c.gid)
	})
}

// spec is the container to make.
func (c *Containers) spec(cfg Config, dir string) (docker.Container, error) {
	limits := cfg.Limits.defaults()
	self, err := c.initFile(dir)
	if err != nil {
		return docker.Container{}, fmt.Errorf("give the container its first program: %w", err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	spec := docker.Container{
		Image: cfg.Image, Argv: []string{containerInit}, User: fmt.Sprintf("%d:%d", c.uid, c.gid),
		Hostname: hostname(initConfig{Hostname: cfg.Hostname}), Network: "none",
		Labels: map[string]string{labelSandbox: cfg.ID, labelOwner: c.owner, labelServer: c.server},
		Tmpfs:  []string{"/tmp", "/var/tmp"}, TmpfsBytes: limits.TmpBytes, ShmBytes: limits.TmpBytes,
		CPUs: limits.CPUs, PIDs: int64(limits.Processes) + agentThreads, //nolint:gosec // far below
		Binds: []docker.Bind{
			{Source: self, Target: containerInit, ReadOnly: true},
			{Source: at("run"), Target: containerRun, ReadOnly: true},
			{Source: at("passwd"), Target: "/etc/passwd", ReadOnly: true},
			{Source: at("group"), Target: "/etc/group", ReadOnly: true},
			{Source: cfg.Home, Target: HomePath},
		},
	}
	if spec.Image == "" {
		spec.Image = c.cfg.Image
	}
	if cfg.Network == NetworkHost {
		spec.Network = "" // the engine's own network, not the machine's
	}
	if limits.MemoryMB > 0 {
		spec.MemoryBytes = limits.MemoryMB<<20 + agentMemory
	}
	for _, target := range cfg.Places {
		source, err := ownFolder(cfg.Home, path.Join(PlacesDir, target))
		if err != nil {
			return spec, fmt.Errorf("show %s: %w", target, err)
		}
		spec.Binds = append(spec.Binds, docker.Bind{Source: source, Target: target})
	}
	for _, m := range cfg.Mounts {
		if rel, ok := strings.CutPrefix(m.Target, HomePath+"/"); ok { // else the engine makes it, as root
			if _, err := ownFolder(cfg.Home, rel); err != nil {
				return spec, fmt.Errorf("mount %s: %w", m.Target, err)
			}
		}
		spec.Binds = append(spec.Binds, docker.Bind{Source: m.Host, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return spec, c.own(cfg.Home)
}

// ownFolder makes a folder below the home. The home may hold links that an
// earlier sandbox made; none is followed, because the engine would, on the host.
func ownFolder(home, rel string) (string, error) {
	at := home
	for part := range strings.SplitSeq(rel, "/") {
		at = filepath.Join(at, part)
		if part == "" {
			continue
		}
		err := os.Mkdir(at, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			return "", fmt.Errorf("%s in the home is in the way", part)
		}
	}
	return at, nil
}

// initConfig is what init is told. Its hostname is the engine's work.
func (c *Containers) initConfig(cfg Config, probe bool) initConfig {
	conf := confOf(cfg)
	conf.Home, conf.Hostname, conf.Probe = HomePath, "", probe
	return conf
}

// meet starts the container and hands its first process what it needs.
func (c *Containers) meet(ctx context.Context, s *Container, ln *net.UnixListener, p *parts) error {
	watch, cancel := context.WithCancel(ctx)
	var (
		ended error
		wg    sync.WaitGroup
	)
	ready := make(chan struct{})
	past := time.Unix(1, 0)
	wg.Go(func() {
		code, err := c.engine.ContainerEnd(watch, s.container, func() { close(ready) })
		if err == nil {
			ended = fmt.Errorf("the container ended at once (exit code %d)", code)
		}
		_ = ln.SetDeadline(past) // nobody will come, or ctx is over
	})
	<-ready
	conn, err := c.accept(ctx, s, ln)
	cancel()
	wg.Wait()
	if err != nil {
		return errors.Join(ended, err)
	}
	defer conn.Close()
	if s.id, err = c.peer(conn); err != nil {
		return err
	}
	return p.send(conn)
}

func (c *Containers) accept(ctx context.Context, s *Container, ln *net.UnixListener) (*net.UnixConn, error) {
	if err := c.engine.StartContainer(ctx, s.container); err != nil {
		return nil, err
	}
	conn, err := ln.AcceptUnix()
	if err != nil {
		return nil, errors.New("its first process does not report")
	}
	return conn, nil
}

// peer says which process has connected, and makes sure of its user.
func (c *Containers) peer(conn *net.UnixConn) (Identity, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Identity{}, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	switch {
	case cerr != nil || err != nil:
		return Identity{}, errors.Join(cerr, err)
	case int(cred.Uid) != c.uid:
		return Identity{}, fmt.Errorf("the engine gives containers other user ids than this machine (%d for %d)", cred.Uid, c.uid)
	case cred.Pid <= 1:
		return Identity{}, errors.New("the engine's processes are not to be seen from here")
	}
	id := Identity{PID: int(cred.Pid)}
	id.StartTime, err = startTime(id.PID)
	return id, err
}

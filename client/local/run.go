package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"time"

	"abxdash/client"
	"abxdash/client/local/isolate"
	"abxdash/client/local/server"
)

const (
	// takeOver is how long a new server waits for one that is just ending.
	takeOver = 15 * time.Second
	// killLeft bounds ending one sandbox of a dead server.
	killLeft = 20 * time.Second
)

// Run is the local server itself, in this process, until ctx ends, it is told
// to stop, or it was idle for long enough. ready, if not nil, is called once it
// answers. Starting while another server runs is E9010.
func (p *Provider) Run(ctx context.Context, ready func(Status)) error {
	return p.paths.serve(ctx, serveOptions{
		version: p.cfg.Version, min: p.cfg.MinIsolation, image: p.cfg.Image, idle: p.cfg.IdleAfter, log: p.log, ready: ready,
	})
}

type serveOptions struct {
	version string
	min     client.Isolation
	image   string
	idle    time.Duration
	log     *slog.Logger
	ready   func(Status)
}

// serve holds the user's one server from its lock to the last of its files.
func (p paths) serve(ctx context.Context, o serveOptions) (err error) {
	if err := p.prepare(); err != nil {
		return err
	}
	lock, err := p.takeLock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close() // last: whoever waits for it finds everything gone

	starter, err := p.newStarter(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = starter.close() }()
	found := starter.found
	if err := server.Sweep(p.state, leftoverKiller(p.state)); err != nil {
		o.log.Warn("could not remove all that a dead server left", "err", err)
	}
	inst, err := server.NewInstance(p.state)
	if err != nil {
		return folderError(p.state, err)
	}
	var jan *janitor
	defer func() {
		// The janitor comes after: it tries again what failed here.
		if e := inst.Remove(); e != nil {
			err = errors.Join(err, fmt.Errorf("remove the instance folder: %w", e))
		}
		if jan != nil {
			jan.close()
		}
	}()
	if err := writeLock(lock, lockInfo{PID: os.Getpid(), Version: o.version, Instance: inst.LockPath}); err != nil {
		return folderError(p.lock, err)
	}
	if jan, err = startJanitor(inst.LockPath, o.log); err != nil {
		return serverError("start the local server", "cannot start its janitor", "", err)
	}

	ln, err := p.listen()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(p.socket) }()
	srv := server.New(server.Options{
		Isolator: starter.isolator, Image: starter.image,
		Isolation: found.Level, IsolationReason: reasonOf(found),
		PlaceOf: isolate.PlaceOf,
		Dir:     inst.Dir, Store: p.templates, Version: o.version, IdleAfter: o.idle, Logger: o.log,
	})
	o.log.Info("serving", "pid", os.Getpid(), "version", o.version, "isolation", found.Level, "reason", reasonOf(found))
	if o.ready != nil {
		o.ready(Status{
			Running: true, PID: os.Getpid(), Socket: p.socket, Version: o.version,
			Isolation: found.Level, IsolationReason: reasonOf(found),
		})
	}
	err = srv.Serve(ctx, server.OwnPeers(ln, o.log))
	o.log.Info("ended", "err", err)
	return err
}

// takeLock takes the lock that the one server of a user holds. One that is
// just ending is waited for.
func (p paths) takeLock(ctx context.Context) (*os.File, error) {
	wait, cancel := context.WithTimeoutCause(ctx, takeOver, errTaken)
	defer cancel()
	f, got, err := server.TryLock(p.lock)
	if err == nil && !got {
		ask := newAsker(p)
		defer ask.raw.CloseIdleConnections()
		if st, lerr := ask.look(wait, false); lerr == nil && !st.Ending {
			return nil, serverError("start the local server", "one runs already", "`abxdash local status` shows it", errTaken)
		}
		f, err = waitLock(wait, p.lock)
	}
	if errors.Is(err, errTaken) {
		return nil, serverError("start the local server", "another one holds "+p.lock+" but does not answer", "`abxdash local stop --yes` ends it", err)
	}
	if err != nil {
		return nil, folderError(p.lock, err)
	}
	return f, nil
}

var errTaken = errors.New("the lock is taken")

func writeLock(f *os.File, info lockInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}

// listen makes the socket; one that a dead server left is replaced.
func (p paths) listen() (*net.UnixListener, error) {
	info, err := os.Lstat(p.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, folderError(p.socket, err)
	default:
		if err := checkOwner(p.socket, info); err != nil {
			return nil, err
		}
		if info.Mode().Type() != fs.ModeSocket {
			return nil, serverError("start the local server", p.socket+" is in the way: it is no socket", "move it away", nil)
		}
		if err := os.Remove(p.socket); err != nil {
			return nil, folderError(p.socket, err)
		}
	}
	ln, err := server.ListenUnix(p.socket)
	if err != nil {
		return nil, serverError("start the local server", "cannot listen on "+p.socket, "", err)
	}
	return ln, nil
}

// reasonOf says why the level is not the strongest, "" if it is.
func reasonOf(r isolate.Result) string {
	if len(r.Tried) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", r.Tried[0].Level, client.OneLine(r.Tried[0].Reason, 200))
}

func configOf(s server.Spec) isolate.Config {
	return isolate.Config{
		ID: s.ID, Home: s.Home, Listener: s.Listener, Env: s.Env,
		AccessToken: s.AccessToken, Network: s.Network, EnvdVersion: s.EnvdVersion, LogFile: s.Log,
		Mounts: mounts(s.Mounts), Places: s.Places, Workdir: s.Workdir, Image: s.Image,
		Egress: isolate.Egress(s.Egress),
		Limits: isolate.Limits{CPUs: s.CPUs, MemoryMB: s.MemoryMB},
	}
}

func mounts(list []server.Folder) []isolate.Mount {
	out := make([]isolate.Mount, 0, len(list))
	for _, f := range list {
		out = append(out, isolate.Mount{Host: f.Host, Target: f.Target, ReadOnly: f.ReadOnly})
	}
	return out
}

// sandbox is what every level gives.
type sandbox interface {
	server.Instance
	server.Pauser
	SetEgress(e isolate.Egress) error
	Means() isolate.Means
	Usage(ctx context.Context) (isolate.Usage, error)
	DiskUse(ctx context.Context) (uint64, error)
}

// instance is a sandbox in the server's terms.
type instance struct{ sandbox }

var (
	_ server.Pauser    = instance{}
	_ server.Meter     = instance{}
	_ server.Networker = instance{}
	_ server.Limited   = instance{}
)

// SetEgress implements [server.Networker].
func (i instance) SetEgress(e server.Egress) error { return i.sandbox.SetEgress(isolate.Egress(e)) }

// Held implements [server.Limited].
func (i instance) Held() (cpus, memory bool) {
	m := i.Means()
	return m.CPU != "", m.Memory != ""
}

// Usage implements [server.Meter].
func (i instance) Usage(ctx context.Context) (server.Usage, error) {
	u, err := i.sandbox.Usage(ctx)
	if err != nil {
		return server.Usage{}, err
	}
	return server.Usage{CPU: u.CPU, Memory: bytesOf(u.Memory), MemoryLimit: bytesOf(u.MemoryLimit)}, nil
}

// DiskUse implements [server.Meter].
func (i instance) DiskUse(ctx context.Context) (int64, error) {
	n, err := i.sandbox.DiskUse(ctx)
	return bytesOf(&n), err
}

// bytesOf is n as the wire has it; unknown is 0.
func bytesOf(n *uint64) int64 {
	if n == nil {
		return 0
	}
	return int64(min(*n, math.MaxInt64))
}

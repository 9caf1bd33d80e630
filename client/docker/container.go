package docker

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	moby "github.com/moby/moby/client"

	"abxdash/client"
)

// Container is one container to make: without capabilities, without the right to
// gain any, with a root that cannot be written, and removed by the engine when it
// has ended. Image settings that would run something else (entry point, health
// check) do not count.
type Container struct {
	Image string
	// Argv is what it runs, as User ("uid:gid").
	Argv     []string
	User     string
	Hostname string
	Labels   map[string]string
	// Network is "none", or "" for the engine's default.
	Network string
	Binds   []Bind
	// Tmpfs are folders in memory, each of TmpfsBytes; ShmBytes is the size of /dev/shm.
	Tmpfs                []string
	TmpfsBytes, ShmBytes int64
	// MemoryBytes, CPUs and PIDs bound it; 0 is no bound.
	MemoryBytes int64
	CPUs        float64
	PIDs        int64
}

// Bind shows a file or folder of the engine's machine, which must be there.
type Bind struct {
	Source, Target string
	ReadOnly       bool
}

// Facts is what an engine says about itself.
type Facts struct {
	// OS is the system its containers run, such as linux.
	OS string
	// Rootless is an engine that an ordinary user runs; Remapped one that gives
	// containers other user ids than the machine's.
	Rootless, Remapped bool
	// Seccomp is set where containers' system calls are filtered.
	Seccomp bool
}

// imageRE is the form of an image's name as far as paths of the API are concerned.
var imageRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$`)

// CheckImage refuses what cannot be the name of an image.
func CheckImage(ref string) error {
	if !imageRE.MatchString(ref) || strings.Contains(ref, "..") || strings.Contains(ref, "//") {
		return fmt.Errorf("%q is no name of an image", client.OneLine(ref, 80))
	}
	return nil
}

// Socket is the path of the engine's socket, "" for an engine that is reached
// in another way, and so may be on another machine.
func (e *Engine) Socket() string {
	u, err := url.Parse(e.api.DaemonHost())
	if err != nil || u.Scheme != "unix" {
		return ""
	}
	return u.Path
}

// Facts asks the engine about itself.
func (e *Engine) Facts(ctx context.Context) (Facts, error) {
	if err := e.Ping(ctx); err != nil {
		return Facts{}, err
	}
	res, err := e.api.Info(ctx, moby.InfoOptions{})
	if err != nil {
		return Facts{}, failed(ctx, "ask the Docker engine", client.CodeCreate, err)
	}
	f := Facts{OS: res.Info.OSType}
	for _, o := range res.Info.SecurityOptions {
		f.Rootless = f.Rootless || strings.Contains(o, "name=rootless")
		f.Remapped = f.Remapped || strings.Contains(o, "name=userns")
		f.Seccomp = f.Seccomp || strings.Contains(o, "name=seccomp") && !strings.Contains(o, "unconfined")
	}
	return f, nil
}

// HasImage reports whether the engine has an image.
func (e *Engine) HasImage(ctx context.Context, ref string) (bool, error) {
	const op = "look for the image"
	if err := CheckImage(ref); err != nil {
		return false, client.Usagef(op, "%v", err)
	}
	_, err := e.api.ImageInspect(ctx, ref)
	switch {
	case errdefs.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, failed(ctx, op, client.CodeCreate, err)
	}
	return true, nil
}

// Pull fetches an image, without a login. say is told how far it is, from this goroutine.
func (e *Engine) Pull(ctx context.Context, ref string, say func(Event)) error {
	const op = "fetch the image"
	if err := CheckImage(ref); err != nil {
		return client.Usagef(op, "%v", err)
	}
	hint := "is the name right, and has the engine a network? `docker pull " + ref + "` fetches it, with your login"
	res, err := e.api.ImagePull(ctx, ref, moby.ImagePullOptions{})
	if err == nil {
		defer res.Close()
		stop := context.AfterFunc(ctx, func() { _ = res.Close() })
		defer stop()
		_, err = decode(res, say)
	}
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx, op, client.CodeCreate)
	case err != nil:
		return &client.Error{
			Op: op, Code: client.CodeCreate, Err: err, Hint: hint,
			Message: client.OneLine(ref, 120) + " cannot be fetched: " + client.OneLine(err.Error(), 300),
		}
	}
	return nil
}

// CreateContainer makes a container, which does not run yet, and returns its id.
func (e *Engine) CreateContainer(ctx context.Context, c Container) (string, error) {
	res, err := e.api.ContainerCreate(ctx, moby.ContainerCreateOptions{Config: c.config(), HostConfig: c.host()})
	if err != nil {
		return "", failed(ctx, "make the container", client.CodeCreate, err)
	}
	return res.ID, nil
}

func (c Container) config() *container.Config {
	return &container.Config{
		Image: c.Image, Entrypoint: c.Argv, User: c.User, Hostname: c.Hostname, Labels: c.Labels, WorkingDir: "/",
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func (c Container) host() *container.HostConfig {
	h := &container.HostConfig{
		NetworkMode: container.NetworkMode(c.Network), AutoRemove: true, ReadonlyRootfs: true,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		IpcMode: container.IPCModePrivate, LogConfig: container.LogConfig{Type: "none"},
		ShmSize: c.ShmBytes, Tmpfs: map[string]string{},
		Resources: container.Resources{
			Memory: c.MemoryBytes, MemorySwap: c.MemoryBytes, // as much as memory alone: no swap
			NanoCPUs: int64(c.CPUs * 1e9),
		},
	}
	if c.PIDs > 0 {
		h.PidsLimit = &c.PIDs
	}
	for _, dir := range c.Tmpfs {
		// The mode becomes that of the image's folder, if it has one: so User owns it.
		uid, gid, _ := strings.Cut(c.User, ":")
		h.Tmpfs[dir] = fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,uid=%s,gid=%s,size=%d", uid, gid, c.TmpfsBytes)
	}
	for _, b := range c.Binds {
		// A mount of this kind, unlike an old-style bind, makes no source that is missing.
		h.Mounts = append(h.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: b.Source, Target: b.Target, ReadOnly: b.ReadOnly,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	return h
}

// StartContainer starts a container that was made.
func (e *Engine) StartContainer(ctx context.Context, id string) error {
	if _, err := e.api.ContainerStart(ctx, id, moby.ContainerStartOptions{}); err != nil {
		return failed(ctx, "start the container", client.CodeCreate, err)
	}
	return nil
}

// ContainerEnd waits for the next end of a container and returns its exit code.
// The wait is in place when ready is called.
func (e *Engine) ContainerEnd(ctx context.Context, id string, ready func()) (int64, error) {
	w := e.api.ContainerWait(ctx, id, moby.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	ready()
	select {
	case res := <-w.Result:
		return res.StatusCode, nil
	case err := <-w.Error:
		return 0, failed(ctx, "wait for the container", client.CodeCreate, err)
	}
}

// PauseContainer freezes every process of a container.
func (e *Engine) PauseContainer(ctx context.Context, id string) error {
	if _, err := e.api.ContainerPause(ctx, id, moby.ContainerPauseOptions{}); err != nil {
		return failed(ctx, "pause the container", client.CodeServer, err)
	}
	return nil
}

// UnpauseContainer undoes PauseContainer.
func (e *Engine) UnpauseContainer(ctx context.Context, id string) error {
	if _, err := e.api.ContainerUnpause(ctx, id, moby.ContainerUnpauseOptions{}); err != nil {
		return failed(ctx, "resume the container", client.CodeServer, err)
	}
	return nil
}

// removePoll is how often a removal that the engine has begun itself is looked at.
const removePoll = 20 * time.Millisecond

// RemoveContainer kills a container, paused or not, and returns when the engine
// knows it no more. One that is gone is success.
func (e *Engine) RemoveContainer(ctx context.Context, id string) error {
	tick := time.NewTicker(removePoll)
	defer tick.Stop()
	for {
		_, err := e.api.ContainerRemove(ctx, id, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || errdefs.IsNotFound(err):
			return nil
		case !errdefs.IsConflict(err): // a conflict is a removal under way
			return failed(ctx, "remove the container", client.CodeServer, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cancelled(ctx, "remove the container", client.CodeServer)
		}
	}
}

// Listed is one container that the engine has.
type Listed struct {
	ID     string
	Labels map[string]string
}

// Containers lists the containers, in whatever state, that have a label (NAME=VALUE).
func (e *Engine) Containers(ctx context.Context, label string) ([]Listed, error) {
	res, err := e.api.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: moby.Filters{}.Add("label", label)})
	if err != nil {
		return nil, failed(ctx, "list containers", client.CodeServer, err)
	}
	out := make([]Listed, 0, len(res.Items))
	for _, c := range res.Items {
		out = append(out, Listed{ID: c.ID, Labels: c.Labels})
	}
	return out, nil
}

// ContainerPID is the machine's id of a container's first process, 0 when it does
// not run. A container that is gone is client.ErrNotFound.
func (e *Engine) ContainerPID(ctx context.Context, id string) (int, error) {
	const op = "look at the container"
	res, err := e.api.ContainerInspect(ctx, id, moby.ContainerInspectOptions{})
	switch {
	case errdefs.IsNotFound(err):
		return 0, &client.Error{Op: op, Code: client.CodeNotFound, Kind: client.ErrNotFound, Message: "there is no such container"}
	case err != nil:
		return 0, failed(ctx, op, client.CodeServer, err)
	case res.Container.State == nil:
		return 0, errors.New("the engine tells no state")
	}
	return res.Container.State.Pid, nil
}

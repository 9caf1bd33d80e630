package local

import (
	"context"
	"errors"

	"abxdash/client"
	"abxdash/client/local/isolate"
	"abxdash/client/local/server"
)

// starter starts the sandboxes of one server, all at one level.
type starter struct {
	isolator server.Isolator
	found    isolate.Result
	image    string // of level container
	close    func() error
}

// newStarter finds the level by trying. Level container is had by asking for it
// alone: a Docker engine that happens to be there is no reason to use it.
func (p paths) newStarter(ctx context.Context, o serveOptions) (starter, error) {
	if o.min == client.IsolationContainer {
		return p.newContainerStarter(ctx, o)
	}
	launcher, err := isolate.NewLauncher()
	if err != nil {
		return starter{}, serverError("start the local server", "cannot start sandboxes", "", err)
	}
	found, err := launcher.Probe(ctx, o.min)
	if err != nil {
		return starter{}, errors.Join(err, launcher.Close())
	}
	if found.Level == client.IsolationNamespace {
		launcher.KeepSpare()
	}
	return starter{isolator: launcherIsolator{launcher, found.Level}, found: found, close: launcher.Close}, nil
}

func (p paths) newContainerStarter(ctx context.Context, o serveOptions) (starter, error) {
	c, err := p.containers(o.image)
	if err != nil {
		return starter{}, err
	}
	found, err := c.Probe(ctx)
	if err != nil {
		return starter{}, errors.Join(err, c.Close())
	}
	if err := c.Sweep(ctx); err != nil {
		o.log.Warn("could not remove all containers that a dead server left", "err", err)
	}
	return starter{isolator: containerIsolator{c}, found: found, image: imageOr(o.image), close: c.Close}, nil
}

// containers talks to the engine about containers of this server's.
func (p paths) containers(image string) (*isolate.Containers, error) {
	return isolate.NewContainers(isolate.ContainerConfig{Image: image, Owner: p.state})
}

// imageOr is the image in force.
func imageOr(image string) string {
	if image == "" {
		return isolate.DefaultImage
	}
	return image
}

// fetchImage fetches the image before a server of level container starts: that
// can take longer than a start may.
func (p *Provider) fetchImage(ctx context.Context) error {
	if p.cfg.MinIsolation != client.IsolationContainer {
		return nil
	}
	c, err := p.paths.containers(p.cfg.Image)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ready(ctx); err != nil {
		return err
	}
	if there, err := c.HasImage(ctx); err == nil && !there {
		p.log.Info("fetching the image of sandboxes", "image", imageOr(p.cfg.Image))
	}
	return c.Fetch(ctx, "")
}

// launcherIsolator starts sandboxes at one level.
type launcherIsolator struct {
	l     *isolate.Launcher
	level client.Isolation
}

func (li launcherIsolator) Start(ctx context.Context, s server.Spec) (server.Instance, error) {
	cfg := configOf(s)
	cfg.Level = li.level
	sb, err := li.l.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return instance{sb}, nil
}

// containerIsolator starts sandboxes of level container.
type containerIsolator struct{ c *isolate.Containers }

func (ci containerIsolator) Start(ctx context.Context, s server.Spec) (server.Instance, error) {
	sb, err := ci.c.Start(ctx, configOf(s))
	if err != nil {
		return nil, err
	}
	return instance{sb}, nil
}

// leftoverKiller ends sandboxes of dead servers whose folder is state.
func leftoverKiller(state string) server.KillFunc {
	return func(level client.Isolation, pid int, startTime uint64) error {
		ctx, cancel := context.WithTimeout(context.Background(), killLeft)
		defer cancel()
		id := isolate.Identity{PID: pid, StartTime: startTime}
		if level != client.IsolationContainer {
			return isolate.KillByIdentity(ctx, level, id)
		}
		c, err := pathsIn("", state).containers("")
		if err != nil {
			return err
		}
		defer c.Close()
		return c.KillByIdentity(ctx, id)
	}
}

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"abxdash/client"
	"abxdash/client/local/isolate"
)

// Doctor gathers what is known about the local provider. It starts no server
// and makes no file; the probe starts one short-lived process.
func (p *Provider) Doctor(ctx context.Context) Facts {
	f := Facts{RunDir: p.paths.run, StateDir: p.paths.state, Log: p.paths.log}
	f.Status, f.StatusErr = p.Status(ctx)
	f.Problems = p.paths.problems()
	if p.cfg.MinIsolation == client.IsolationContainer {
		f.Level, f.ProbeErr = p.probeContainers(ctx)
		return f
	}
	l, err := isolate.NewLauncher()
	if err != nil {
		f.ProbeErr = err
		return f
	}
	defer l.Close()
	res, err := l.Probe(ctx, p.cfg.MinIsolation)
	f.Level, f.ProbeErr = res.Level, err
	for _, t := range res.Tried {
		f.Tried = append(f.Tried, LevelFailure{Level: t.Level, Reason: client.OneLine(t.Reason, 300)})
	}
	return f
}

// probeContainers finds out whether containers can be had, without fetching an image.
func (p *Provider) probeContainers(ctx context.Context) (client.Isolation, error) {
	c, err := p.paths.containers(p.cfg.Image)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.Ready(ctx); err != nil {
		return "", err
	}
	if there, err := c.HasImage(ctx); err != nil || !there {
		return client.IsolationContainer, err // the first create fetches it
	}
	res, err := c.Probe(ctx)
	return res.Level, err
}

// problems looks at the folders without changing them.
func (p paths) problems() []string {
	var out []string
	list := []string{p.run, p.socket}
	if p.state != p.run {
		list = append(list, p.state)
	}
	for _, path := range list {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			out = append(out, client.OneLine(err.Error(), 300))
			continue
		}
		if err := checkOwner(path, info); err != nil {
			out = append(out, err.Error())
		}
		if m := info.Mode().Perm(); m&0o077 != 0 {
			out = append(out, fmt.Sprintf("%s is open to other users (mode %04o)", client.OneLine(path, 200), m))
		}
	}
	return out
}

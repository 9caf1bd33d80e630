package app

import (
	"context"
	"os"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/doctor"
	"abxdash/client/local"
	"abxdash/client/registry"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// localServer makes the local provider what the commands need of it.
type localServer struct {
	p *local.Provider
	// roots are where local sandboxes keep their folders.
	roots []string
}

func (w *world) local(cli.Flags) (cli.Local, error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return nil, err
	}
	p, err := registry.NewLocal(conf, w.version, w.log)
	if err != nil {
		return nil, err
	}
	return &localServer{p: p}, nil
}

func statusOf(s local.Status) cli.LocalStatus {
	return cli.LocalStatus{
		Running: s.Running, PID: s.PID, Socket: s.Socket, Isolation: string(s.Isolation), IsolationReason: s.IsolationReason,
		Version: s.Version, Sandboxes: s.Sandboxes, Note: s.Note,
	}
}

func (l *localServer) Status(ctx context.Context) (cli.LocalStatus, error) {
	s, err := l.p.Status(ctx)
	return statusOf(s), err
}

func (l *localServer) Run(ctx context.Context, ready func(cli.LocalStatus)) error {
	return l.p.Run(ctx, func(s local.Status) { ready(statusOf(s)) })
}

func (l *localServer) Stop(ctx context.Context, force bool) error { return l.p.Stop(ctx, force) }

func (l *localServer) Listen(ctx context.Context, o cli.ListenOptions, ready func(cli.Listening)) error {
	return l.p.Listen(ctx, local.ListenOptions{Addr: o.Addr, TLS: o.TLS}, func(in local.Listening) {
		ready(cli.Listening{URL: in.URL, APIKey: in.APIKey, Domain: in.Domain, CAFile: in.CAFile})
	})
}

func (l *localServer) Leftovers(ctx context.Context, id client.ID, mark string) ([]string, bool, error) {
	if l.roots == nil {
		facts := l.p.Doctor(ctx)
		l.roots = []string{facts.StateDir, facts.RunDir}
	}
	return registry.Leftovers(ctx, l.roots, id, mark)
}

// checks are what `doctor` reports.
func (w *world) checks(ctx context.Context, f cli.Flags) []cli.Check {
	levels := map[doctor.Level]cli.Level{doctor.OK: cli.OK, doctor.Note: cli.Note, doctor.Warn: cli.Warn, doctor.Fail: cli.Fail}
	var out []cli.Check
	for _, c := range doctor.Run(ctx, doctor.Options{
		Version: w.version, Folders: w.folders, Log: w.log, Keys: w.keys, LookupEnv: os.LookupEnv,
		Load: func() (registry.Options, error) { return w.registryOptions(f) },
	}) {
		line := cli.Check{Name: c.Name, Status: levels[c.Level], Detail: c.Detail, Hint: c.Hint}
		if c.Err != nil {
			line.Detail, line.Hint = present.ErrorLine(c.Err), present.Hint(c.Err)
		}
		out = append(out, line)
	}
	return out
}

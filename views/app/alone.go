package app

import (
	"context"
	"os"

	tea "charm.land/bubbletea/v2"

	"abxdash/client/config"
	"abxdash/ui"
	"abxdash/views/cli"
	"abxdash/views/ports"
	"abxdash/views/replay"
	"abxdash/views/shell"
)

// play shows a recording until it is left. It needs no provider.
func (w *world) play(ctx context.Context, f cli.Flags, path string, rate float64) error {
	o, err := w.aloneOptions(f)
	if err != nil {
		return err
	}
	o.NoMouse = true
	return runAlone(ctx, "play recording", o, func() ui.Screen { return replay.New(replay.Options{Path: path, Rate: rate}) })
}

// scrollBack shows what a shell has written until it is left. It needs no provider.
func (w *world) scrollBack(ctx context.Context, f cli.Flags, b cli.ScrollBack) (clip string, err error) {
	o, err := w.aloneOptions(f)
	if err != nil {
		return b.Clip, err
	}
	m := shell.NewManagerWith(nil, shell.ManagerOptions{OpenLink: ports.Browser(), Tmux: os.Getenv("TMUX") != ""})
	m.SetClip(b.Clip)
	o.Background = []ui.Background{m}
	err = runAlone(ctx, "scroll back", o, func() ui.Screen {
		return shell.NewBack(shell.BackOptions{Session: b.Session, Title: b.Title, Help: b.Help, Attach: cli.AttachKeys()}, m)
	})
	return m.Clip(), err
}

// aloneOptions are those of a program that shows one screen.
func (w *world) aloneOptions(f cli.Flags) (ui.Options, error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return ui.Options{}, err
	}
	return w.lookOptions(f, conf)
}

// runAlone runs a program of one screen until it is left.
func runAlone(ctx context.Context, op string, o ui.Options, screen func() ui.Screen) error {
	const only ui.Route = "only"
	o.Ctx, o.Start = ctx, only
	o.Routes = map[ui.Route]func(ui.Params) ui.Screen{only: func(ui.Params) ui.Screen { return screen() }}
	root := ui.New(o)
	defer root.Close()
	return runProgram(ctx, op, ui.NewProgram(root, tea.WithContext(ctx), tea.WithoutSignalHandler()))
}

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/ui"
	"abxdash/views/cli"
)

// lookOptions are the language, the keys and the colours of every program that
// we show, be it the dashboard or one screen.
func (w *world) lookOptions(f cli.Flags, conf config.Config) (ui.Options, error) {
	texts, err := languageOf(f, conf)
	if err != nil {
		return ui.Options{}, err
	}
	keys, err := keysOf(conf, texts)
	if err != nil {
		return ui.Options{}, err
	}
	return ui.Options{
		Keys: keys, Lang: texts, NoMouse: conf.NoMouse, Theme: conf.Theme,
		NoColor: f.NoColor || os.Getenv("NO_COLOR") != "", ASCII: conf.ASCII || ambiguousIsWide(),
		OnPanic: func(where string, value any, stack []byte) {
			w.log.Error("panic", "where", where, "value", client.OneLine(fmt.Sprint(value), 500), "stack", string(stack))
		},
	}, nil
}

// ambiguousIsWide reports whether the user says that characters of ambiguous
// width, lines among them, take two cells. The libraries that measure text read
// the same variable, so frames would not fit; ASCII has none of them.
func ambiguousIsWide() bool {
	wide, err := strconv.ParseBool(os.Getenv("RUNEWIDTH_EASTASIAN"))
	return err == nil && wide
}

// runProgram runs a program until it is left, which is no error, or until this
// process is told to go. op names it where the terminal fails.
func runProgram(ctx context.Context, op string, program *tea.Program) error {
	stop := quitWhenTold(program)
	_, err := program.Run()
	sig := stop()
	switch {
	case sig != nil:
		return cli.Signalled(sig)
	case err != nil && (ctx.Err() == nil || !errors.Is(err, tea.ErrProgramKilled)):
		return &client.Error{Op: op, Code: client.CodeTerminal, Err: err}
	}
	return nil // left, or at the end of ctx
}

// quitWhenTold ends the program at once, with a clean terminal, when this process
// is told to go, or when its terminal is gone: the signal for that goes to the
// session's first process, which need not be this one, nor hand it on. Started by
// make or a script, the program would stay for ever. stop returns the signal, or nil.
func quitWhenTold(p *tea.Program) (stop func() os.Signal) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	look := watchHangup(os.Stdin, func() {
		select {
		case ch <- syscall.SIGHUP:
		default: // it has been told already
		}
	})
	done := make(chan struct{})
	got := make(chan os.Signal, 1)
	go func() {
		select {
		case sig := <-ch:
			got <- sig
			p.Quit()
		case <-done:
			got <- nil
		}
	}()
	return func() os.Signal {
		signal.Stop(ch)
		look()
		close(done)
		return <-got
	}
}

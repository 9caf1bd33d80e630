// Package app puts the program together: it reads the configuration and the keys,
// makes the providers, and hands them to the screens and commands. Nothing but
// main imports it, so that it may know everything.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	xterm "github.com/charmbracelet/x/term"

	"abxdash/client/config"
	"abxdash/client/express"
	"abxdash/ui/lang"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// Run does what the arguments, without the program's name, ask for and returns
// the exit code. Version is what the program calls itself.
func Run(version string, args []string) int {
	// A reader that goes away is an error of the write, not the end of the
	// program: a command in a sandbox must be ended too. Notify instead of
	// Ignore, because what is ignored would be inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // the folders decide whether that matters
	}
	folders, err := config.Find(os.Getenv, home)
	if err != nil {
		fmt.Fprintf(os.Stderr, "abxdash: %s\n", present.ErrorLine(err))
		return cli.ExitError
	}
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	log, logFile := config.NewLog(folders.Log(), level)
	defer func() { _ = logFile.Close() }() // nothing is lost that mattered
	w := &world{version: version, folders: folders, level: level, log: log}
	return cli.Run(context.Background(), w.app(), args)
}

// world is what all commands share.
type world struct {
	version string
	folders config.Folders
	level   *slog.LevelVar
	log     *slog.Logger
	// typed are keys that were entered in the dashboard, for this run.
	typed typedKeys
}

func (w *world) app() *cli.App {
	a := &cli.App{
		Version: w.version, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		IsTerminal: isTerminal,
		Owner:      present.CurrentOwner(),
		Open:       w.open,
		Dashboard:  w.dashboard,
		Demo:       w.demo,
		Checks:     w.checks,
		Providers:  w.admin(cli.Flags{}),
		Keys:       &express.Keys{Load: w.expressAccount}, KeyStore: w.keyStore(),
		Settings: &config.Settings{File: w.folders.File(), Check: func(c config.Config) error {
			if _, err := keysOf(c, nil); err != nil || c.Language == "" {
				return err
			}
			_, err := lang.Load(c.Language)
			return err
		}},
		LogLevel:  w.setLevel,
		Templates: cli.TemplateTools{Setting: w.setting, Base: w.templateBase, Engine: w.engine, Native: w.native},
		Defaults:  w.defaults,
		Alive:     present.ProcessAlive,
		Play:      w.play, ScrollBack: w.scrollBack, Recordings: w.folders.Recordings(), Keymap: w.keymap,
		Rules:     w.rules,
		Rates:     w.rates,
		Protected: w.protected,
	}
	if runtime.GOOS != "windows" {
		a.Local = w.local
	}
	return a
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(f.Fd())
}

func (w *world) setLevel(text string) error {
	l, err := config.ParseLevel(text)
	if err != nil {
		return err
	}
	w.level.Set(l)
	return nil
}

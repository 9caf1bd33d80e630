// Command abxdash is a terminal dashboard for Agent Sandbox. It lists live
// sandboxes over every provider, streams command output, browses files,
// attaches shells and kills strays safely; without an account it gives real
// local sandboxes.
package main

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
	"abxdash/client/local"
	"abxdash/ui/lang"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// version is set by the build (-X main.version).
var version = "dev"

func main() {
	// The same binary is the local server, its helpers and the first process of
	// every local sandbox.
	if local.Reexec() {
		return
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
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
	w := &world{folders: folders, level: level, log: log}
	return cli.Run(context.Background(), w.app(), args)
}

// world is what all commands share.
type world struct {
	folders config.Folders
	level   *slog.LevelVar
	log     *slog.Logger
	// typed are keys that were entered in the dashboard, for this run.
	typed typedKeys
}

func (w *world) app() *cli.App {
	a := &cli.App{
		Version: version, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
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
		Templates: cli.TemplateTools{Setting: w.setting, Base: w.templateBase, Engine: engine, Native: w.native},
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

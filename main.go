// Command abxdash is a terminal dashboard for Agent Sandbox. It lists live
// sandboxes over every provider, streams command output, browses files,
// attaches shells and kills strays safely; without an account it gives real
// local sandboxes.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	xterm "github.com/charmbracelet/x/term"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/docker"
	"abxdash/client/fake"
	"abxdash/client/local"
	"abxdash/client/registry"
	"abxdash/keymap"
	"abxdash/templates/deploy"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/views/broadcast"
	"abxdash/views/cli"
	"abxdash/views/create"
	"abxdash/views/exec"
	"abxdash/views/files"
	"abxdash/views/kill"
	"abxdash/views/logs"
	"abxdash/views/metrics"
	"abxdash/views/ports"
	"abxdash/views/present"
	"abxdash/views/replay"
	"abxdash/views/sandbox"
	"abxdash/views/sandboxes"
	"abxdash/views/shell"
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
		Providers: &registry.Admin{
			Load: func() (registry.Options, error) { return w.registryOptions(cli.Flags{}) }, File: w.folders.File(),
		},
		LogLevel:  w.setLevel,
		Templates: cli.TemplateTools{Setting: w.setting, Engine: engine, Native: w.native},
		Defaults:  w.defaults,
		Alive:     present.ProcessAlive,
		Play:      w.play, Recordings: w.folders.Recordings(), Leader: w.leader,
		Rules:     w.rules,
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

// defaults adds what the configuration says for every command. A file that
// cannot be read is the error of the command that needs it.
func (w *world) defaults(f *cli.Flags) {
	if conf, err := config.Read(w.folders.File()); err == nil {
		f.ReadOnly = f.ReadOnly || conf.ReadOnly
	}
}

// rules are the thresholds for strays. A file that cannot be read is the error
// of the command that needs it.
func (w *world) rules() present.StrayRules {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return present.StrayRules{}
	}
	return present.StrayRules(conf.Strays)
}

// protected tells whether the dashboard's user set a sandbox apart.
func (w *world) protected(k present.Key) bool {
	list, err := present.LoadProtected(present.NewFolder(w.folders.State))
	if err != nil {
		w.log.Warn("the list of protected sandboxes cannot be read", "err", err)
	}
	return list.Has(k)
}

func (w *world) keys() *credentials.Set {
	return credentials.Load(credentials.Options{LookupEnv: os.LookupEnv, ProjectFile: ".env", HomeFile: w.folders.HomeEnv()})
}

// setting looks up a setting of the template commands; one that cannot be read is not set.
func (w *world) setting(name string) string {
	v, err := w.keys().Lookup(name)
	if err != nil {
		return ""
	}
	return v.Reveal()
}

// engine is the Docker engine that builds templates.
func engine() (deploy.Engine, error) {
	return docker.New(docker.Config{UserAgent: "abxdash/" + version})
}

// native is the native API of Express, for whoever has an access key pair.
func (w *world) native(region, team string) (cli.NativeTemplates, error) {
	keys := w.keys()
	id, err := keys.Lookup("ALICLOUD_ACCESS_KEY_ID")
	if err != nil {
		return cli.NativeTemplates{}, err
	}
	secret, err := keys.Lookup("ALICLOUD_ACCESS_KEY_SECRET")
	if err != nil {
		return cli.NativeTemplates{}, err
	}
	if !id.Set() || !secret.Set() {
		return cli.NativeTemplates{}, &client.Error{
			Op: "use the native API", Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized, Message: "there is no access key pair",
			Hint: "set ALICLOUD_ACCESS_KEY_ID and ALICLOUD_ACCESS_KEY_SECRET",
		}
	}
	api, err := acs.New(acs.Config{
		Credentials: acs.Credentials{AccessKeyID: id.Reveal(), AccessKeySecret: secret.Reveal()},
		Region:      region, UserAgent: "abxdash/" + version,
	})
	if err != nil {
		return cli.NativeTemplates{}, err
	}
	return cli.NativeTemplates{Maker: api.Maker(team), Login: func(ctx context.Context, instance string) (client.RegistryLogin, error) {
		return api.RegistryLogin(ctx, instance, "")
	}}, nil
}

// registryOptions reads the configuration and the keys.
func (w *world) registryOptions(f cli.Flags) (registry.Options, error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return registry.Options{}, err
	}
	return registry.Options{
		Config: conf, Keys: w.keys(), Only: f.Provider, RequestTimeout: f.RequestTimeout, Version: version, Logger: w.log, StateDir: w.folders.State,
	}, nil
}

func (w *world) open(_ context.Context, f cli.Flags) (*cli.Session, error) {
	o, err := w.registryOptions(f)
	if err != nil {
		return nil, err
	}
	r, err := registry.Open(o)
	if err != nil {
		return nil, err
	}
	return &cli.Session{Providers: r.Providers, Default: r.Default, Notes: r.Notes, Close: r.Close}, nil
}

// dashboard opens the dashboard on the configured providers.
func (w *world) dashboard(ctx context.Context, f cli.Flags) error {
	o, err := w.registryOptions(f)
	if err != nil {
		return err
	}
	r, err := registry.Open(o)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, n := range r.Notes {
		w.log.Warn(n)
	}
	return w.show(ctx, f, o.Config, screens{providers: r.Providers, create: r.Default})
}

// demoRows is fixed by product.md §9: scripts may rely on the banner.
const demoRows = 5000

// demo opens the dashboard on made-up sandboxes.
func (w *world) demo(ctx context.Context, f cli.Flags) error {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return err
	}
	p := fake.New(fake.Options{Name: "demo", Latency: 2 * time.Millisecond, Lifetime: time.Hour})
	defer p.Close()
	p.AddMany(demoRows)
	rates := present.Rates{Date: "this demo", Providers: map[string]present.Rate{p.Name(): {CPUHour: 0.05, GBHour: 0.02}}}
	return w.show(ctx, f, conf, screens{providers: present.Providers{p}, create: p.Name(), banner: "DEMO 5,000", rates: &rates})
}

// screens is what the dashboard shows.
type screens struct {
	providers present.Providers
	// create names the provider that n creates in.
	create string
	banner string
	// rates replace those of the configuration; nil does not.
	rates *present.Rates
}

// show runs the program until it is left.
func (w *world) show(ctx context.Context, f cli.Flags, conf config.Config, sc screens) error {
	if t := os.Getenv("TERM"); runtime.GOOS != "windows" && (t == "" || t == "dumb") {
		return &client.Error{
			Op: "open the dashboard", Code: client.CodeTerminal,
			Message: "this terminal cannot move the cursor (TERM is " + strconv.Quote(t) + "); use `abxdash ls`, `abxdash exec`, `abxdash try`",
		}
	}
	keys, err := keysOf(conf)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	root := ui.New(w.rootOptions(ctx, f, conf, keys, sc))
	defer root.Close()
	program := ui.NewProgram(root, tea.WithContext(ctx), tea.WithoutSignalHandler())
	stop := quitOnSignal(program)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		config.Watch(ctx, w.folders.File(), func(c config.Config, err error) { reload(program, c, err) })
	}()
	_, err = program.Run()
	sig := stop()
	// What outlives the dashboard is named, never asked about (product.md §9).
	survivors := root.Survivors()
	cancel()
	<-watched
	switch {
	case sig != nil:
		return cli.Signalled(sig)
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil:
		return nil
	case err != nil:
		return &client.Error{Op: "dashboard", Code: client.CodeTerminal, Err: err}
	}
	for _, line := range survivors {
		fmt.Println("still running: " + line)
	}
	return nil
}

// keysOf are the keys that the configuration asks for. A theme that does not
// exist is said here too: package config does not know them.
func keysOf(c config.Config) (*keymap.Map, error) {
	err := theme.Check(c.Theme)
	var keys *keymap.Map
	if err == nil {
		keys, err = keymap.Preset(c.Keymap)
	}
	if err == nil {
		keys, err = keys.WithLeader(c.Leader)
	}
	if err == nil {
		keys, err = keys.Override(c.Keys)
	}
	if err != nil {
		return nil, &client.Error{Op: "read the configuration", Code: client.CodeConfig, Message: client.OneLine(err.Error(), 500)}
	}
	return keys, nil
}

// reload takes over what can change while the dashboard runs: colours and keys.
// A file with a mistake changes nothing.
func reload(p *tea.Program, c config.Config, err error) {
	var keys *keymap.Map
	if err == nil {
		keys, err = keysOf(c)
	}
	if err != nil {
		p.Send(ui.ToastMsg{Level: ui.ToastWarn, Text: "the configuration stays as it was: " + present.ErrorLine(err)})
		return
	}
	p.Send(ui.KeysMsg{Keys: keys})
	p.Send(ui.ThemeNameMsg{Name: c.Theme})
	p.Send(ui.ToastMsg{Level: ui.ToastOK, Text: "colours and keys of the configuration file"})
}

// play shows a recording until it is left. It needs no provider.
func (w *world) play(ctx context.Context, f cli.Flags, path string, rate float64) error {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return err
	}
	keys, err := keysOf(conf)
	if err != nil {
		return err
	}
	const screen ui.Route = "replay"
	root := ui.New(ui.Options{
		Ctx: ctx, Start: screen,
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			screen: func(ui.Params) ui.Screen { return replay.New(replay.Options{Path: path, Rate: rate}) },
		},
		Keys: keys, NoMouse: true, Light: conf.Theme == "light",
		FixedTheme: conf.Theme == "light" || conf.Theme == "dark", NoColor: f.NoColor, ASCII: conf.ASCII,
	})
	defer root.Close()
	program := ui.NewProgram(root, tea.WithContext(ctx), tea.WithoutSignalHandler())
	stop := quitOnSignal(program)
	_, err = program.Run()
	sig := stop()
	switch {
	case sig != nil:
		return cli.Signalled(sig)
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil:
		return nil
	case err != nil:
		return &client.Error{Op: "play recording", Code: client.CodeTerminal, Err: err}
	}
	return nil
}

// leader is the configured leader of shells; a configuration that cannot be
// read is the error of the command that needs it.
func (w *world) leader() string {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return ""
	}
	keys, err := keysOf(conf)
	if err != nil {
		return ""
	}
	return keys.Leader()
}

// ratesOf are the prices of the configuration.
func ratesOf(c config.Rates) present.Rates {
	out := present.Rates{Date: c.Date, Providers: map[string]present.Rate{}}
	for name, r := range c.Providers {
		out.Providers[name] = present.Rate{CPUHour: r.CPUHour, GBHour: r.GBHour, Hour: r.Hour, PausedHour: r.PausedHour, Sizes: r.Sizes}
	}
	return out
}

// attentionOf says how the user is called.
func attentionOf(c config.Attention) ui.Attention {
	out := ui.Attention{Bell: !c.NoBell, Notify: !c.NoNotify}
	for _, k := range c.Mute {
		out.Mute = append(out.Mute, ui.AttentionKind(k))
	}
	return out
}

// themeMenu offers the themes by name.
func themeMenu() tea.Cmd {
	var items []dialog.Item
	for _, name := range theme.Names() {
		items = append(items, dialog.Item{Label: name, Cmd: ui.Cmd(ui.ThemeNameMsg{Name: name})})
	}
	return ui.OpenOverlay(dialog.Menu("Themes", items))
}

// quitOnSignal ends the program at once, with a clean terminal, when this
// process is told to go. stop returns the signal, or nil.
func quitOnSignal(p *tea.Program) (stop func() os.Signal) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
		close(done)
		return <-got
	}
}

func (w *world) rootOptions(ctx context.Context, f cli.Flags, conf config.Config, keys *keymap.Map, sc screens) ui.Options {
	readOnly := ""
	if f.ReadOnly {
		readOnly = "read-only"
	}
	owner := present.CurrentOwner()
	ps := sc.providers
	// What the demo makes up is not remembered.
	var state, cache present.Folder
	if sc.banner == "" {
		state, cache = present.NewFolder(w.folders.State), present.NewFolder(w.folders.Cache)
	}
	protected, err := present.LoadProtected(state)
	if err != nil {
		w.log.Warn("the list of protected sandboxes cannot be read", "err", err)
	}
	rates := ratesOf(conf.Rates)
	if sc.rates != nil {
		rates = *sc.rates
	}
	store := sandboxes.NewStore(sandboxes.StoreOptions{
		Providers: ps, Owner: owner, Timeout: f.RequestTimeout, Alive: present.ProcessAlive,
		Rules: present.StrayRules(conf.Strays), Protected: protected, Cache: cache,
	})
	if store.CacheErr != nil {
		w.log.Warn("the remembered list cannot be read", "err", store.CacheErr)
	}
	commands := exec.NewManager(ps)
	shells := shell.NewManagerWith(ps, shell.ManagerOptions{
		Owner: owner, Folder: present.NewFolder(w.folders.State), RecordDir: w.folders.Recordings(),
		OpenLink: ports.Browser(), Tmux: os.Getenv("TMUX") != "", ReadOnly: readOnly,
	})
	transfers, forwards, journal := files.NewTransfers(), ports.NewManager(), sandbox.NewJournal()
	browser := ports.Browser()
	prefs := files.LoadPrefs(filepath.Join(w.folders.State, "files.json"))
	dir, err := os.Getwd()
	if err != nil {
		dir = w.folders.Home
	}
	tabs := func(p client.Provider) []sandbox.Tab {
		return []sandbox.Tab{
			{ID: present.TabOutput, Title: "Output", Needs: client.CapCommands, New: func(s client.Sandbox) ui.Screen {
				return exec.New(exec.Options{Manager: commands, ReadOnly: readOnly, Dir: dir}, s)
			}},
			{ID: present.TabFiles, Title: "Files", Needs: client.CapFiles, New: func(s client.Sandbox) ui.Screen {
				return files.New(files.Options{
					Provider: p, Transfers: transfers, Prefs: prefs, ReadOnly: readOnly, Dir: dir, Editor: editor(),
				}, s)
			}},
			{ID: present.TabShell, Title: "Shell", Needs: client.CapPTY, New: func(s client.Sandbox) ui.Screen {
				return shell.New(shell.Options{Manager: shells}, s)
			}},
			{ID: present.TabPorts, Title: "Ports", Needs: client.CapCommands, New: func(s client.Sandbox) ui.Screen {
				return ports.New(ports.Options{Provider: p, Manager: forwards, OpenURL: browser}, s)
			}},
			{ID: present.TabMetrics, Title: "Metrics", Needs: client.CapMetrics, New: func(s client.Sandbox) ui.Screen {
				return metrics.New(metrics.Options{Provider: p}, s)
			}},
			{ID: present.TabLogs, Title: "Logs", Needs: client.CapLogs, New: func(s client.Sandbox) ui.Screen {
				return logs.New(logs.Options{Provider: p, Dir: dir}, s)
			}},
		}
	}
	return ui.Options{
		Ctx:   ctx,
		Start: present.RouteSandboxes,
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			present.RouteSandboxes: func(ui.Params) ui.Screen {
				return sandboxes.New(store, sandboxes.Options{
					Providers: ps, Owner: owner, Rates: rates, Protected: protected, State: state,
					ReadOnly: readOnly != "", CreateIn: sc.create, Banner: sc.banner,
				})
			},
			present.RouteSandbox: func(p ui.Params) ui.Screen {
				params, _ := p.Value.(present.SandboxParams) // the zero value shows "gone"
				provider := ps.Get(params.Sandbox.Provider)
				return sandbox.New(sandbox.Options{Provider: provider, Journal: journal, Tabs: tabs(provider), ReadOnly: readOnly}, params)
			},
			present.RouteShell: func(p ui.Params) ui.Screen {
				params, _ := p.Value.(present.ShellParams)
				return shell.New(shell.Options{Manager: shells, Whole: true, Raw: params.Raw}, params.Sandbox)
			},
			present.RouteReplay: func(p ui.Params) ui.Screen {
				params, _ := p.Value.(present.ReplayParams)
				return replay.New(replay.Options{Path: params.Path})
			},
		},
		Background: []ui.Background{
			store,
			kill.New(kill.Options{
				Providers: ps, Owner: owner, ReadOnly: readOnly != "", Timeout: f.RequestTimeout,
				Protected: protected, Rates: rates, State: state, Limit: conf.KillLimit,
			}),
			broadcast.New(broadcast.Options{Providers: ps, ReadOnly: readOnly != ""}),
			create.New(create.Options{Providers: ps, Default: sc.create, Owner: owner, ReadOnly: readOnly != ""}),
			commands, shells, transfers, forwards, journal,
		},
		Keys:      keys,
		Banner:    sc.banner,
		Hint:      hint(f, sc),
		ReadOnly:  readOnly,
		NoMouse:   conf.NoMouse,
		Theme:     conf.Theme,
		Attention: attentionOf(conf.Attention),
		Actions:   map[keymap.Action]tea.Cmd{keymap.AppTheme: themeMenu()},
		NoColor:   f.NoColor || os.Getenv("NO_COLOR") != "",
		ASCII:     conf.ASCII,
		OnPanic: func(where string, value any, stack []byte) {
			w.log.Error("panic", "where", where, "value", client.OneLine(fmt.Sprint(value), 500), "stack", string(stack))
		},
	}
}

// editor is the user's editor, with its options.
func editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if e := strings.TrimSpace(os.Getenv(name)); e != "" {
			return e
		}
	}
	if runtime.GOOS == "windows" {
		return "notepad"
	}
	return "vi"
}

// hint is the line for newcomers, "" if it is not wanted.
func hint(f cli.Flags, sc screens) string {
	if f.NoTour || os.Getenv("ABXDASH_NO_TOUR") == "1" || sc.banner != "" {
		return ""
	}
	return "New here? n creates a sandbox in " + sc.create + ", enter goes in, ? shows all keys, q quits"
}

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
	p, err := registry.NewLocal(conf, version, w.log)
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
	out := []cli.Check{{Name: "version", Status: cli.OK, Detail: "abxdash " + version + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH}}
	o, err := w.registryOptions(f)
	if err != nil {
		out = append(out, cli.Check{Name: "configuration", Status: cli.Fail, Detail: present.ErrorLine(err)})
		o.Keys = w.keys()
	} else {
		out = append(out, cli.Check{Name: "configuration", Status: cli.OK, Detail: w.folders.File()})
	}
	out = append(out, cli.Check{Name: "log", Status: cli.OK, Detail: w.folders.Log()})
	out = append(out, keyChecks(o)...)
	out = append(out, w.localChecks(ctx, o.Config)...)
	return append(out, w.surroundings()...)
}

func keyChecks(o registry.Options) []cli.Check {
	var out []cli.Check
	for _, k := range registry.KeyStates(o) {
		name := "key of " + k.Provider
		switch {
		case client.CodeOf(k.Err) == client.CodeAuthMissing:
			out = append(out, cli.Check{Name: name, Status: cli.Note, Detail: k.Err.Error()})
		case k.Err != nil:
			out = append(out, cli.Check{Name: name, Status: cli.Fail, Detail: present.ErrorLine(k.Err), Hint: present.Hint(k.Err)})
		case k.Hint != "":
			out = append(out, cli.Check{Name: name, Status: cli.Warn, Detail: k.Source, Hint: k.Hint})
		default:
			out = append(out, cli.Check{Name: name, Status: cli.OK, Detail: k.Source})
		}
	}
	for _, p := range o.Keys.Problems() {
		out = append(out, cli.Check{Name: "environment file", Status: cli.Warn, Detail: p.String()})
	}
	return out
}

func (w *world) localChecks(ctx context.Context, conf config.Config) []cli.Check {
	p, err := registry.NewLocal(conf, version, w.log)
	if err != nil {
		return []cli.Check{{Name: "local sandboxes", Status: cli.Note, Detail: present.ErrorLine(err), Hint: present.Hint(err)}}
	}
	defer p.Close()
	facts := p.Doctor(ctx)
	level := cli.Check{Name: "local sandboxes", Status: cli.OK, Detail: "isolation " + string(facts.Level)}
	for _, t := range facts.Tried {
		level.Status = cli.Warn
		level.Hint = fmt.Sprintf("no %s here: %s", t.Level, t.Reason)
	}
	if facts.ProbeErr != nil {
		level = cli.Check{Name: "local sandboxes", Status: cli.Fail, Detail: present.ErrorLine(facts.ProbeErr), Hint: present.Hint(facts.ProbeErr)}
	}
	out := []cli.Check{level, {Name: "local folders", Status: cli.OK, Detail: facts.RunDir}}
	for _, text := range facts.Problems {
		out = append(out, cli.Check{Name: "local folders", Status: cli.Fail, Detail: text})
	}
	server := cli.Check{Name: "local server", Status: cli.OK, Detail: "not running; the first create starts it"}
	switch st := facts.Status; {
	case facts.StatusErr != nil:
		server.Status, server.Detail, server.Hint = cli.Fail, present.ErrorLine(facts.StatusErr), present.Hint(facts.StatusErr)
	case st.Running:
		server.Detail = fmt.Sprintf("pid %d, %s, isolation %s", st.PID, present.Plural(st.Sandboxes, "sandbox", "sandboxes"), st.Isolation)
		if st.Note != "" {
			server.Status, server.Hint = cli.Warn, st.Note
		}
	}
	return append(out, server)
}

// surroundings looks at what is beside abxdash on this machine, without touching it.
func (w *world) surroundings() []cli.Check {
	var out []cli.Check
	docker := cli.Check{Name: "docker", Status: cli.Note, Detail: "no engine found at its usual socket; it is optional"}
	if info, err := os.Stat("/var/run/docker.sock"); err == nil && info.Mode()&os.ModeSocket != 0 {
		docker = cli.Check{Name: "docker", Status: cli.OK, Detail: "an engine's socket is at /var/run/docker.sock"}
	}
	out = append(out, docker)
	if engine := w.engineSocket(); engine != "" {
		out = append(out, cli.Check{Name: "engine.sock", Status: cli.Note, Detail: engine + " exists; it belongs to another program and is never opened"})
	}
	return out
}

// engineSocket is the shared engine's socket of other tools, "" if there is none.
func (w *world) engineSocket() string {
	path := os.Getenv("ABX_ENGINE_SOCKET")
	if path == "" && w.folders.Home != "" {
		path = w.folders.Home + "/.abx/engine.sock"
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

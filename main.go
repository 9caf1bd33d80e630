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
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	xterm "github.com/charmbracelet/x/term"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/docker"
	"abxdash/client/doctor"
	"abxdash/client/express"
	"abxdash/client/fake"
	"abxdash/client/local"
	"abxdash/client/registry"
	"abxdash/client/services"
	"abxdash/keymap"
	tpl "abxdash/templates"
	"abxdash/templates/deploy"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
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
	"abxdash/views/providers"
	"abxdash/views/replay"
	"abxdash/views/sandbox"
	"abxdash/views/sandboxes"
	"abxdash/views/shell"
	"abxdash/views/templates"
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

// typedKeys are keys by variable. The dashboard may add one while commands of
// the screens before still read them.
type typedKeys struct {
	mu   sync.Mutex
	keys map[string]string
}

func (t *typedKeys) add(variable, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := maps.Clone(t.keys)
	if keys == nil {
		keys = map[string]string{}
	}
	keys[variable] = key
	t.keys = keys
}

// all is never changed afterwards.
func (t *typedKeys) all() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys
}

// admin describes providers and tries keys.
func (w *world) admin(f cli.Flags) *registry.Admin {
	return &registry.Admin{
		Load: func() (registry.Options, error) { return w.registryOptions(f) },
		File: w.folders.File(), KeyFile: w.keyStore().File,
	}
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
		Play:      w.play, ScrollBack: w.scrollBack, Recordings: w.folders.Recordings(), Leader: w.leader,
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

// rates are the prices of the configuration, with the same rule for its errors.
func (w *world) rates() present.Rates {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return present.Rates{}
	}
	return ratesOf(conf.Rates)
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
	return credentials.Load(credentials.Options{Flags: w.typed.all(), FlagsFrom: "what was entered here", LookupEnv: os.LookupEnv, ProjectFile: ".env", HomeFile: w.folders.HomeEnv(), SavedFile: w.keyStore().File})
}

// keyStore keeps keys that the user asks to be kept.
func (w *world) keyStore() *credentials.Store {
	return &credentials.Store{File: filepath.Join(w.folders.Config, "keys.env"), NameOf: func(provider string) (string, error) {
		to, err := w.admin(cli.Flags{}).KeyTarget(context.Background(), provider)
		return to.Variable, err
	}}
}

// expressAccount is whose API keys are managed, and how.
func (w *world) expressAccount() (credentials.Account, acs.Config, error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return credentials.Account{}, acs.Config{}, err
	}
	a, err := w.keys().Account(express.Name)
	p := conf.Providers[express.Name]
	if a.RegionName.Set() || a.Domain.Set() {
		p.Region = ""
	}
	return a, acs.Config{Region: p.Region, Legacy: p.Legacy, UserAgent: "abxdash/" + version}, err
}

// setting looks up a setting of the template commands; one that cannot be read is not set.
func (w *world) setting(name string) string {
	v, err := w.keys().Lookup(name)
	if err != nil {
		return ""
	}
	return v.Reveal()
}

// templateBase is the base image that a plug-in names for its templates.
func (w *world) templateBase(provider string) string {
	o, err := w.registryOptions(cli.Flags{})
	if err != nil {
		return ""
	}
	return o.TemplateBase(provider)
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

// dashboard opens the dashboard on the configured providers, and again when a
// key was entered in it.
func (w *world) dashboard(ctx context.Context, f cli.Flags) error {
	for {
		again, err := w.dashboardOnce(ctx, f)
		if err != nil || !again {
			return err
		}
	}
}

func (w *world) dashboardOnce(ctx context.Context, f cli.Flags) (again bool, err error) {
	o, err := w.registryOptions(f)
	if err != nil {
		return false, err
	}
	r, err := registry.Open(o)
	if err != nil {
		return false, err
	}
	defer r.Close()
	for _, n := range r.Notes {
		w.log.Warn(n)
	}
	err = w.show(ctx, f, o.Config, screens{providers: r.Providers, create: r.Default, again: &again})
	return again, err
}

// demoRows is fixed by product.md §9: scripts may rely on the banner.
const demoRows = 5000

// demo opens the dashboard on made-up sandboxes.
func (w *world) demo(ctx context.Context, f cli.Flags) error {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return err
	}
	p := fake.New(fake.Options{Name: "demo", Latency: 2 * time.Millisecond, Lifetime: time.Hour, Templates: true})
	defer p.Close()
	p.AddMany(demoRows)
	p.AddDemoTemplates()
	rates := present.Rates{Date: lang.Mark("this demo"), Providers: map[string]present.Rate{p.Name(): {CPUHour: 0.05, GBHour: 0.02}}}
	return w.show(ctx, f, conf, screens{providers: present.Providers{p}, create: p.Name(), banner: lang.Mark("DEMO 5,000"), rates: &rates})
}

// screens is what the dashboard shows.
type screens struct {
	providers present.Providers
	// create names the provider that n creates in.
	create string
	banner string
	// rates replace those of the configuration; nil does not.
	rates *present.Rates
	// again is set when the dashboard is left to be opened again; nil is never.
	again *bool
	// texts are those of the dashboard's language.
	texts *lang.Catalog
}

// show runs the program until it is left.
func (w *world) show(ctx context.Context, f cli.Flags, conf config.Config, sc screens) error {
	if t := os.Getenv("TERM"); runtime.GOOS != "windows" && (t == "" || t == "dumb") {
		return &client.Error{
			Op: "open the dashboard", Code: client.CodeTerminal,
			Message: "this terminal cannot move the cursor (TERM is " + strconv.Quote(t) + "); use `abxdash ls`, `abxdash exec`, `abxdash try`",
		}
	}
	var err error
	if sc.texts, err = languageOf(f, conf); err != nil {
		return err
	}
	keys, err := keysOf(conf, sc.texts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := w.rootOptions(ctx, f, conf, keys, sc)
	w.addTemplates(&options, f, conf, sc)
	root := ui.New(options)
	defer root.Close()
	program := ui.NewProgram(root, tea.WithContext(ctx), tea.WithoutSignalHandler())
	stop := quitOnSignal(program)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		config.Watch(ctx, w.folders.File(), func(c config.Config, err error) { reload(program, c, sc.texts, err) })
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
	if sc.again != nil && *sc.again {
		return nil
	}
	for _, line := range survivors {
		fmt.Println("still running: " + line)
	}
	return nil
}

// languageOf is the language of the dashboard: that of --lang, else of the
// configuration, else of the locale.
func languageOf(f cli.Flags, c config.Config) (*lang.Catalog, error) {
	name, op, code := f.Lang, "read the flags", client.CodeUsage
	if name == "" {
		name, op, code = c.Language, "read the configuration", client.CodeConfig
	}
	if name == "" {
		name = lang.Detect(os.Getenv)
	}
	texts, err := lang.Load(name)
	if err != nil {
		return nil, &client.Error{Op: op, Code: code, Message: client.OneLine(err.Error(), 200)}
	}
	return texts, nil
}

// keysOf are the keys that the configuration asks for, described in a language. A theme that does not
// exist is said here too: package config does not know them.
func keysOf(c config.Config, texts *lang.Catalog) (*keymap.Map, error) {
	err := theme.Check(c.Theme)
	var keys *keymap.Map
	if err == nil {
		keys, err = keymap.Preset(c.Keymap)
	}
	if err == nil {
		keys, err = keys.Translated(texts.Word).WithLeader(c.Leader)
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
func reload(p *tea.Program, c config.Config, texts *lang.Catalog, err error) {
	var keys *keymap.Map
	if err == nil {
		keys, err = keysOf(c, texts)
	}
	if err != nil {
		p.Send(ui.ToastMsg{Level: ui.ToastWarn, Text: texts.T("the configuration stays as it was: %s", present.ErrorLine(err))})
		return
	}
	p.Send(ui.KeysMsg{Keys: keys})
	p.Send(ui.ThemeNameMsg{Name: c.Theme})
	p.Send(ui.ToastMsg{Level: ui.ToastOK, Text: texts.T("colours and keys of the configuration file")})
}

// play shows a recording until it is left. It needs no provider.
func (w *world) play(ctx context.Context, f cli.Flags, path string, rate float64) error {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return err
	}
	texts, err := languageOf(f, conf)
	if err != nil {
		return err
	}
	keys, err := keysOf(conf, texts)
	if err != nil {
		return err
	}
	return runAlone(ctx, "play recording", ui.Options{
		Keys: keys, Lang: texts, NoMouse: true, Light: conf.Theme == "light",
		FixedTheme: conf.Theme == "light" || conf.Theme == "dark", NoColor: f.NoColor, ASCII: conf.ASCII || ambiguousIsWide(),
	}, func() ui.Screen { return replay.New(replay.Options{Path: path, Rate: rate}) })
}

// scrollBack shows what a shell has written until it is left. It needs no provider.
func (w *world) scrollBack(ctx context.Context, f cli.Flags, b cli.ScrollBack) (clip string, err error) {
	conf, err := config.Read(w.folders.File())
	if err != nil {
		return b.Clip, err
	}
	texts, err := languageOf(f, conf)
	if err != nil {
		return b.Clip, err
	}
	keys, err := keysOf(conf, texts)
	if err != nil {
		return b.Clip, err
	}
	m := shell.NewManagerWith(nil, shell.ManagerOptions{OpenLink: ports.Browser(), Tmux: os.Getenv("TMUX") != ""})
	m.SetClip(b.Clip)
	err = runAlone(ctx, "scroll back", ui.Options{
		Background: []ui.Background{m}, Keys: keys, Lang: texts, NoMouse: conf.NoMouse, Light: conf.Theme == "light",
		FixedTheme: conf.Theme == "light" || conf.Theme == "dark", NoColor: f.NoColor, ASCII: conf.ASCII || ambiguousIsWide(),
	}, func() ui.Screen {
		return shell.NewBack(shell.BackOptions{Session: b.Session, Title: b.Title, Help: b.Help, Attach: cli.AttachKeys()}, m)
	})
	return m.Clip(), err
}

// runAlone runs a program of one screen until it is left.
func runAlone(ctx context.Context, op string, o ui.Options, screen func() ui.Screen) error {
	const only ui.Route = "only"
	o.Ctx, o.Start = ctx, only
	o.Routes = map[ui.Route]func(ui.Params) ui.Screen{only: func(ui.Params) ui.Screen { return screen() }}
	root := ui.New(o)
	defer root.Close()
	program := ui.NewProgram(root, tea.WithContext(ctx), tea.WithoutSignalHandler())
	stop := quitOnSignal(program)
	_, err := program.Run()
	sig := stop()
	switch {
	case sig != nil:
		return cli.Signalled(sig)
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil:
		return nil
	case err != nil:
		return &client.Error{Op: op, Code: client.CodeTerminal, Err: err}
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
	keys, err := keysOf(conf, nil)
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
func themeMenu(texts *lang.Catalog) tea.Cmd {
	var items []dialog.Item
	for _, name := range theme.Names() {
		items = append(items, dialog.Item{Label: name, Cmd: ui.Cmd(ui.ThemeNameMsg{Name: name})})
	}
	return ui.OpenOverlay(dialog.Menu(texts.T("Themes"), items))
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
		readOnly = sc.texts.T("read-only")
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
	creator := create.New(create.Options{Providers: ps, Default: sc.create, Owner: owner, ReadOnly: readOnly != ""})
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
					ReadOnly: readOnly != "", CreateIn: sc.create, Banner: sc.texts.Word(sc.banner),
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
			present.RouteProviders: func(ui.Params) ui.Screen {
				o := providers.Options{
					Providers: ps, Health: store.Health, Shown: store.Shown, Default: creator.Default, ReadOnly: readOnly != "",
				}
				if sc.again != nil {
					o.Admin, o.Reopen = w.admin(f), w.reopen(sc.again)
				}
				return providers.New(o)
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
			creator,
			commands, shells, transfers, forwards, journal,
		},
		Keys:      keys,
		Lang:      sc.texts,
		Banner:    sc.texts.Word(sc.banner),
		Hint:      hint(f, sc),
		ReadOnly:  readOnly,
		NoMouse:   conf.NoMouse,
		Theme:     conf.Theme,
		Attention: attentionOf(conf.Attention),
		Actions:   map[keymap.Action]tea.Cmd{keymap.AppTheme: themeMenu(sc.texts)},
		NoColor:   f.NoColor || os.Getenv("NO_COLOR") != "",
		ASCII:     conf.ASCII || ambiguousIsWide(),
		OnPanic: func(where string, value any, stack []byte) {
			w.log.Error("panic", "where", where, "value", client.OneLine(fmt.Sprint(value), 500), "stack", string(stack))
		},
	}
}

// addTemplates adds the templates screen and the work behind it.
func (w *world) addTemplates(o *ui.Options, f cli.Flags, conf config.Config, sc screens) {
	keys := w.keys()
	home := w.folders.Home
	var folders []string
	for _, dir := range conf.TemplateFolders {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(home, rest)
		}
		folders = append(folders, filepath.Clean(dir))
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = home
	}
	templates.New(templates.Options{
		Providers: sc.providers, Owner: present.CurrentOwner(), ReadOnly: o.ReadOnly != "",
		Dir: dir, Folders: folders, Home: home, Targets: templateTargets(f, sc.providers),
		Setting: func(name string) string {
			v, err := keys.Lookup(name)
			if err != nil {
				return ""
			}
			return v.Reveal()
		},
		Base: w.templateBase, CheckIn: sc.providers.Get("local"), Python: tpl.Interpreter(), Engine: engine, Editor: editor(),
		Native: func(region string) (templates.Native, error) {
			n, err := w.native(region, "")
			return templates.Native{Maker: n.Maker, Login: n.Login}, err
		},
	}).Install(o)
}

// templateTargets are the providers that a template can be written for: that of
// --provider or else Express first.
func templateTargets(f cli.Flags, ps present.Providers) []string {
	out := []string{tpl.Express}
	if f.Provider != "" {
		out = []string{f.Provider}
	}
	names := ps.Names()
	for _, s := range services.BuiltIn() {
		names = append(names, s.ID)
	}
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// reopen leaves the dashboard, which asks if something is at stake, to open it
// again, with a key if it is not kept anywhere.
func (w *world) reopen(again *bool) func(variable, key string) tea.Cmd {
	return func(variable, key string) tea.Cmd {
		return ui.Cmd(ui.QuitMsg{Then: func() {
			if variable != "" {
				w.typed.add(variable, key)
			}
			*again = true
		}})
	}
}

// ambiguousIsWide reports whether the user says that characters of ambiguous
// width, lines among them, take two cells. The libraries that measure text read
// the same variable, so frames would not fit; ASCII has none of them.
func ambiguousIsWide() bool {
	wide, err := strconv.ParseBool(os.Getenv("RUNEWIDTH_EASTASIAN"))
	return err == nil && wide
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
	return sc.texts.T("New here? n creates a sandbox in %s, enter opens it, ? shows all keys", sc.create)
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
	levels := map[doctor.Level]cli.Level{doctor.OK: cli.OK, doctor.Note: cli.Note, doctor.Warn: cli.Warn, doctor.Fail: cli.Fail}
	var out []cli.Check
	for _, c := range doctor.Run(ctx, doctor.Options{
		Version: version, Folders: w.folders, Log: w.log, Keys: w.keys, LookupEnv: os.LookupEnv,
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

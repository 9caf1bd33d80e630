package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/keymap"
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
)

// addScreens adds what the dashboard shows, and what outlives its screens.
func (w *world) addScreens(o *ui.Options, f cli.Flags, conf config.Config, sc screens) {
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
	inside := &tabs{
		commands: exec.NewManager(ps),
		shells: shell.NewManagerWith(ps, shell.ManagerOptions{
			Owner: owner, Folder: present.NewFolder(w.folders.State), RecordDir: w.folders.Recordings(),
			OpenLink: ports.Browser(), Tmux: os.Getenv("TMUX") != "", ReadOnly: readOnly,
		}),
		transfers: files.NewTransfers(), forwards: ports.NewManager(),
		prefs: files.LoadPrefs(filepath.Join(w.folders.State, "files.json")),
		dir:   w.workDir(), readOnly: readOnly,
	}
	journal := sandbox.NewJournal()
	o.Start = present.RouteSandboxes
	o.Routes = map[ui.Route]func(ui.Params) ui.Screen{
		present.RouteSandboxes: func(ui.Params) ui.Screen {
			return sandboxes.New(store, sandboxes.Options{
				Providers: ps, Owner: owner, Rates: rates, Protected: protected, State: state,
				ReadOnly: readOnly != "", CreateIn: sc.create, Banner: sc.texts.Word(sc.banner),
			})
		},
		present.RouteSandbox: func(p ui.Params) ui.Screen {
			params, _ := p.Value.(present.SandboxParams) // the zero value shows "gone"
			provider := ps.Get(params.Sandbox.Provider)
			return sandbox.New(sandbox.Options{Provider: provider, Journal: journal, Tabs: inside.of(provider), ReadOnly: readOnly}, params)
		},
		present.RouteShell: func(p ui.Params) ui.Screen {
			params, _ := p.Value.(present.ShellParams)
			return shell.New(shell.Options{Manager: inside.shells, Whole: true, Raw: params.Raw}, params.Sandbox)
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
	}
	o.Background = []ui.Background{
		store,
		kill.New(kill.Options{
			Providers: ps, Owner: owner, ReadOnly: readOnly != "", Timeout: f.RequestTimeout,
			Protected: protected, Rates: rates, State: state, Limit: conf.KillLimit,
		}),
		broadcast.New(broadcast.Options{Providers: ps, ReadOnly: readOnly != ""}),
		creator,
		inside.commands, inside.shells, inside.transfers, inside.forwards, journal,
	}
	o.Banner, o.Hint, o.ReadOnly = sc.texts.Word(sc.banner), hint(f, sc), readOnly
	o.Attention = attentionOf(conf.Attention)
	o.Actions = map[keymap.Action]tea.Cmd{keymap.AppTheme: themeMenu(sc.texts)}
}

// workDir is where the program was started.
func (w *world) workDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return w.folders.Home
	}
	return dir
}

// tabs are what the screens of single sandboxes share.
type tabs struct {
	commands  *exec.Manager
	shells    *shell.Manager
	transfers *files.Transfers
	forwards  *ports.Manager
	prefs     *files.Prefs
	// dir is the folder of this machine that files are saved in and read from.
	dir string
	// readOnly says why nothing may be changed, "" if it may.
	readOnly string
}

// of are the tabs of a provider's sandboxes.
func (t *tabs) of(p client.Provider) []sandbox.Tab {
	browser := ports.Browser()
	return []sandbox.Tab{
		{ID: present.TabOutput, Title: "Output", Needs: client.CapCommands, New: func(s client.Sandbox) ui.Screen {
			return exec.New(exec.Options{Manager: t.commands, ReadOnly: t.readOnly, Dir: t.dir}, s)
		}},
		{ID: present.TabFiles, Title: "Files", Needs: client.CapFiles, New: func(s client.Sandbox) ui.Screen {
			return files.New(files.Options{
				Provider: p, Transfers: t.transfers, Prefs: t.prefs, ReadOnly: t.readOnly, Dir: t.dir, Editor: editor(),
			}, s)
		}},
		{ID: present.TabShell, Title: "Shell", Needs: client.CapPTY, New: func(s client.Sandbox) ui.Screen {
			return shell.New(shell.Options{Manager: t.shells}, s)
		}},
		{ID: present.TabPorts, Title: "Ports", Needs: client.CapCommands, New: func(s client.Sandbox) ui.Screen {
			return ports.New(ports.Options{Provider: p, Manager: t.forwards, OpenURL: browser}, s)
		}},
		{ID: present.TabMetrics, Title: "Metrics", Needs: client.CapMetrics, New: func(s client.Sandbox) ui.Screen {
			return metrics.New(metrics.Options{Provider: p}, s)
		}},
		{ID: present.TabLogs, Title: "Logs", Needs: client.CapLogs, New: func(s client.Sandbox) ui.Screen {
			return logs.New(logs.Options{Provider: p, Dir: t.dir}, s)
		}},
	}
}

// themeMenu offers the themes by name.
func themeMenu(texts *lang.Catalog) tea.Cmd {
	var items []dialog.Item
	for _, name := range theme.Names() {
		items = append(items, dialog.Item{Label: name, Cmd: ui.Cmd(ui.ThemeNameMsg{Name: name})})
	}
	return ui.OpenOverlay(dialog.Menu(texts.T("Themes"), items))
}

// hint is the line for newcomers, "" if it is not wanted.
func hint(f cli.Flags, sc screens) string {
	if f.NoTour || os.Getenv("ABXDASH_NO_TOUR") == "1" || sc.banner != "" {
		return ""
	}
	return sc.texts.T("New here? n creates a sandbox in %s, enter opens it, ? shows all keys", sc.create)
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

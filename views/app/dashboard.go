package app

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/fake"
	"abxdash/client/registry"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/cli"
	"abxdash/views/present"
)

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

// show runs the program until it is left.
func (w *world) show(ctx context.Context, f cli.Flags, conf config.Config, sc screens) error {
	if t := os.Getenv("TERM"); runtime.GOOS != "windows" && (t == "" || t == "dumb") {
		return &client.Error{
			Op: "open the dashboard", Code: client.CodeTerminal,
			Message: "this terminal cannot move the cursor (TERM is " + strconv.Quote(t) + "); use `abxdash ls`, `abxdash exec`, `abxdash try`",
		}
	}
	options, err := w.lookOptions(f, conf)
	if err != nil {
		return err
	}
	sc.texts = options.Lang
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options.Ctx = ctx
	w.addScreens(&options, f, conf, sc)
	w.addTemplates(&options, f, conf, sc)
	root := ui.New(options)
	defer root.Close()
	program := ui.NewProgram(root, tea.WithContext(ctx), tea.WithoutSignalHandler())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		config.Watch(ctx, w.folders.File(), func(c config.Config, err error) { reload(program, c, sc.texts, err) })
	}()
	err = runProgram(ctx, "dashboard", program)
	ended := ctx.Err() != nil
	// What outlives the dashboard is named, never asked about (product.md §9).
	survivors := root.Survivors()
	cancel()
	<-watched
	if err != nil || ended || sc.again != nil && *sc.again {
		return err
	}
	for _, line := range survivors {
		fmt.Println("still running: " + line)
	}
	return nil
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

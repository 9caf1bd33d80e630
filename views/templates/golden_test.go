package templates

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/uitest"
)

// shoot compares the window at every golden size.
func (d *desk) shoot(t *testing.T, name string) {
	t.Helper()
	for _, s := range uitest.Sizes() {
		d.Send(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
		uitest.Golden(t, fmt.Sprintf("%s-%dx%d", name, s[0], s[1]), d.Dump())
	}
	d.Send(tea.WindowSizeMsg{Width: 120, Height: 40})
}

func TestGoldenProviders(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M")
	d.UntilShows("tpl-py")
	d.Keys("j j")
	d.shoot(t, "providers")
	for _, th := range []string{"light", "mono"} {
		d.Send(ui.ThemeNameMsg{Name: th})
		d.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
		uitest.Golden(t, "providers-80x24-"+th, d.Dump())
	}
}

func TestGoldenDetail(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M , n G enter")
	d.UntilShows("tag v3")
	d.UntilShows("eval (i-eval)")
	d.shoot(t, "detail")
}

func TestGoldenFolders(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Until("the lint", func() bool { return !d.Shows("linting") })
	d.shoot(t, "folders")
}

func TestGoldenCheck(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Keys("j c")
	d.UntilShows("all of it worked")
	d.UntilShows("server: serving")
	d.shoot(t, "check")
	d.Keys("j enter")
	d.UntilShows("Call add")
	uitest.Golden(t, "check-call-120x40", d.Dump())
}

func TestGoldenWizard(t *testing.T) {
	d := sit(t, setup{blank: true})
	d.Keys("M n enter enter")
	d.UntilShows("dev_tools")
	d.shoot(t, "wizard")
	d.Keys("enter enter")
	d.UntilShows("6 files for")
	uitest.Golden(t, "wizard-name-120x40", d.Dump())
}

func TestGoldenDeploy(t *testing.T) {
	d := sit(t, setup{})
	deployDemo(d)
	uitest.Golden(t, "deploy-cost-120x40", d.Dump())
	d.Keys("y")
	d.UntilShows("created demo")
	d.Until("the refreshed list", func() bool { return d.m.find("cloud", "demo") != nil })
	for range 10 {
		d.clock.Add(time.Second)
		d.Send(ui.TickMsg{Now: d.clock.Now()})
	}
	j := d.m.jobs[0]
	for i := range j.phases {
		j.phases[i].took = time.Duration(i*7+1) * time.Second
	}
	j.took = 42 * time.Second
	d.shoot(t, "deploy")
}

package viewtest_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/create"
	"abxdash/views/kill"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
	"abxdash/views/sandboxes"
)

// newcomer wires list, create and kill into the real shell over an empty provider.
func newcomer(t *testing.T) (*uitest.Driver, *fake.Provider, *viewtest.Clock) {
	t.Helper()
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Name: "local", Now: clock.Now, Isolation: client.IsolationNamespace})
	ps, owner := present.Providers{p}, present.Owner{User: "anna", Host: "box"}
	store := sandboxes.NewStore(sandboxes.StoreOptions{Providers: ps, Owner: owner})
	d := uitest.Start(t, ui.Options{
		Now:   clock.Now,
		Start: present.RouteSandboxes,
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			present.RouteSandboxes: func(ui.Params) ui.Screen {
				return sandboxes.New(store, sandboxes.Options{Providers: ps, Owner: owner, CreateIn: "local"})
			},
		},
		Background: []ui.Background{
			store,
			kill.New(kill.Options{Providers: ps, Owner: owner}),
			create.New(create.Options{Providers: ps, Owner: owner, Default: "local"}),
		},
	}, 120, 40)
	return d, p, clock
}

// pass lets n seconds pass in the shell.
func pass(d *uitest.Driver, clock *viewtest.Clock, n int) {
	for range n {
		clock.Add(time.Second)
		d.Send(ui.TickMsg{Now: clock.Now()})
	}
}

// The first minute of a newcomer: create, kill, undo, kill again, quit.
func TestFirstMinute(t *testing.T) {
	d, p, clock := newcomer(t)
	if !d.Shows("No sandboxes yet.") {
		t.Fatalf("the first frame:\n%s", d.Text())
	}
	d.Keys("n")
	d.Type("web")
	d.Keys("enter")
	if all := p.All(); len(all) != 1 || !d.Shows("web") || d.Shows("New sandbox") {
		t.Fatalf("%d sandboxes\n%s", len(p.All()), d.Text())
	}
	d.Keys("x")
	if !d.Shows("Kill 1 sandbox") {
		t.Fatalf("no sheet:\n%s", d.Text())
	}
	d.Keys("enter y")
	pass(d, clock, 1)
	if !d.Shows("killing 1 in 4 s  z undo") {
		t.Fatalf("no countdown:\n%s", d.Text())
	}
	d.Keys("z")
	pass(d, clock, 10)
	if len(p.All()) != 1 || !d.Shows("running") {
		t.Fatalf("undo did not save it:\n%s", d.Text())
	}
	d.Keys("x y q")
	if d.Quit || !d.Shows("Quit?") {
		t.Fatalf("quitting during the grace time does not ask:\n%s", d.Text())
	}
	d.Keys("n")
	pass(d, clock, 12)
	if len(p.All()) != 0 || !d.Shows("No sandboxes yet.") {
		t.Fatalf("it lives:\n%s", d.Text())
	}
	d.Keys("q")
	if !d.Quit {
		t.Error("q at the list does not quit")
	}
}

// TUI-01: every box over the list at every size.
func TestEverySizeInTheShell(t *testing.T) {
	d, p, clock := newcomer(t)
	p.Add(client.Sandbox{ID: "i4dct03zurabcdefghxyz", Name: "web"})
	pass(d, clock, 6)
	for _, keys := range []string{"", "n", "N", "x", "/"} {
		if keys != "" {
			d.Keys(keys)
		}
		for _, size := range [][2]int{{0, 0}, {1, 1}, {20, 5}, {5, 20}, {40, 10}, {120, 40}} {
			d.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		}
		d.Keys("esc")
		if txt := d.Text(); strings.Contains(txt, "New sandbox") || strings.Contains(txt, "Kill 1") {
			t.Errorf("esc left %q open:\n%s", keys, txt)
		}
	}
}

// KIL-02: a refresh under the open sheet changes no target.
func TestARefreshUnderTheSheetChangesNoTarget(t *testing.T) {
	d, p, clock := newcomer(t)
	for i, id := range []string{"aaa", "bbb", "ccc"} {
		p.Add(client.Sandbox{ID: client.ID(id), Name: "box-" + id, StartedAt: clock.Now().Add(-time.Duration(i+1) * time.Minute)})
	}
	pass(d, clock, 6)
	d.Keys("g j x")
	if !d.Shows("box-bbb (bbb)") {
		t.Fatalf("the sheet does not name the second row:\n%s", d.Text())
	}
	p.Vanish("aaa")
	p.Add(client.Sandbox{ID: "new", StartedAt: clock.Now()})
	pass(d, clock, 6)
	if !d.Shows("Kill 1 sandbox") || !d.Shows("box-bbb (bbb)") {
		t.Fatalf("after the refresh:\n%s", d.Text())
	}
	d.Keys("y")
	pass(d, clock, 6)
	calls := p.CallsOf(fake.OpKill)
	if len(calls) != 1 || calls[0].ID != "bbb" {
		t.Errorf("killed %+v", calls)
	}
	// What vanishes while its sheet is open is said, and nothing is sent.
	d.Keys("g x")
	id := p.All()[0].ID
	p.Vanish(id)
	pass(d, clock, 6)
	if !d.Shows("no longer exists: nothing to kill") || d.Shows("Kill 1 sandbox") {
		t.Errorf("the vanished target is not said:\n%s", d.Text())
	}
	pass(d, clock, 6)
	if n := len(p.CallsOf(fake.OpKill)); n != 1 {
		t.Errorf("%d kills", n)
	}
}

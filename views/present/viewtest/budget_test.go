package viewtest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
	"abxdash/views/sandboxes"
)

// crowd is the list over n sandboxes in the real shell.
func crowd(t testing.TB, n int) (*ui.Root, *fake.Provider, *viewtest.Clock) {
	t.Helper()
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Name: "cloud", Now: clock.Now, PageSize: n})
	t.Cleanup(p.Close)
	boxes := make([]client.Sandbox, n)
	for i := range boxes {
		boxes[i] = client.Sandbox{
			ID: client.ID(fmt.Sprintf("i%020d", i)), Name: fmt.Sprintf("agent-%d", i%700), State: client.StateRunning, CPU: 2, MemoryMB: 512,
			StartedAt: clock.Now().Add(-time.Duration(i%50) * time.Minute), ExpiresAt: clock.Now().Add(time.Hour),
		}
	}
	p.Add(boxes...)
	ps := present.Providers{p}
	store := sandboxes.NewStore(sandboxes.StoreOptions{Providers: ps, Now: clock.Now})
	d := uitest.Start(t, ui.Options{
		Now: clock.Now, Start: present.RouteSandboxes, Background: []ui.Background{store},
		Routes: map[ui.Route]func(ui.Params) ui.Screen{present.RouteSandboxes: func(ui.Params) ui.Screen {
			return sandboxes.New(store, sandboxes.Options{Providers: ps})
		}},
	}, 200, 60)
	d.Until("the rows", func() bool { return d.Shows("agent-") })
	return d.Root, p, clock
}

// BenchmarkKeyToFrame is from a key press to the text of the next frame, with
// 5,000 sandboxes that change with every list; p99 is reported in ms
// (product.md §7: 16).
func BenchmarkKeyToFrame(b *testing.B) {
	root, p, clock := crowd(b, 5000)
	page, err := present.ListAll(b.Context(), p, client.Query{})
	if err != nil {
		b.Fatal(err)
	}
	took := make([]time.Duration, 0, b.N)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i%60 == 0 {
			for j := range page.Sandboxes {
				page.Sandboxes[j].CPU = float64((i + j) % 8)
			}
			clock.Add(time.Second)
			root.Update(present.ListedMsg{Provider: "cloud", Gen: 1, Page: page, At: clock.Now()})
		}
		start := time.Now()
		root.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
		root.View()
		took = append(took, time.Since(start))
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// What an idle dashboard asks of a provider: product.md §7 allows under 15
// control calls a minute, and nothing is drawn while nothing changes.
func TestIdleIsQuiet(t *testing.T) {
	d := sit(t, present.Folder{}, false)
	pass(d.Driver, d.clock, 120)
	before := len(d.p.Calls())
	pass(d.Driver, d.clock, 300)
	if n := len(d.p.Calls()) - before; n >= 5*15 {
		t.Errorf("%d calls in five minutes", n)
	}
	d.Send(tea.BlurMsg{})
	before = len(d.p.Calls())
	pass(d.Driver, d.clock, 300)
	if n := len(d.p.Calls()) - before; n > 12 {
		t.Errorf("%d calls in five minutes without the focus", n)
	}
}

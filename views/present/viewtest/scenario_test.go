package viewtest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/broadcast"
	"abxdash/views/create"
	"abxdash/views/kill"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
	"abxdash/views/sandboxes"
)

// desk is the dashboard's list side in the real shell over one made-up
// provider, worked by steps that read like what a person does.
type desk struct {
	*uitest.Driver
	p     *fake.Provider
	clock *viewtest.Clock
	// opened are the routes that were asked for; the screens behind them are blank.
	opened []ui.Params
}

// blank stands in for a screen that another test is about.
type blank struct{ title string }

func (b *blank) Init(ui.Env) tea.Cmd { return nil }
func (b *blank) Update(msg tea.Msg) tea.Cmd {
	if a, ok := msg.(ui.ActionMsg); ok && a.Action == keymap.NavBack {
		return ui.Back()
	}
	return nil
}
func (b *blank) Draw(uv.Screen, uv.Rectangle) *tea.Cursor { return nil }
func (b *blank) Keys() []keymap.Context                   { return []keymap.Context{keymap.Move} }
func (b *blank) Title() string                            { return b.title }
func (b *blank) Close()                                   {}

// people are six sandboxes: three of ours, one of bob's, one paused, one lost.
func people(now time.Time) []client.Sandbox {
	mine := map[string]string{client.MetaOwner: "anna", client.MetaHost: "box"}
	mk := func(id, name string, age, left time.Duration, meta map[string]string) client.Sandbox {
		return client.Sandbox{
			ID: client.ID(id), Name: name, State: client.StateRunning, Template: "base", CPU: 2, MemoryMB: 512,
			StartedAt: now.Add(-age), ExpiresAt: now.Add(left), Metadata: meta,
		}
	}
	paused := mk("i-paused", "nap", 40*time.Minute, time.Hour, map[string]string{client.MetaOwner: "anna", client.MetaHost: "box", "app": "night"})
	paused.State, paused.Template = client.StatePaused, "py-data:v4"
	return []client.Sandbox{
		mk("i-web", "web", 10*time.Minute, 20*time.Minute, mine),
		mk("i-db", "db", 20*time.Minute, 2*time.Hour, mine),
		mk("i-soon", "soon", 30*time.Minute, 4*time.Minute, mine),
		mk("i-bob", "builder", 50*time.Minute, time.Hour, map[string]string{client.MetaOwner: "bob", client.MetaHost: "box", "app": "ci"}),
		paused,
		mk("i-lost", "", 3*time.Hour, time.Hour, map[string]string{"run": "812"}),
	}
}

func sit(t *testing.T, state present.Folder, readOnly bool) *desk {
	t.Helper()
	d := &desk{clock: viewtest.NewClock()}
	d.p = fake.New(fake.Options{Name: "cloud", Now: d.clock.Now})
	t.Cleanup(d.p.Close)
	d.p.Add(people(d.clock.Now())...)
	ps, owner := present.Providers{d.p}, present.Owner{User: "anna", Host: "box"}
	rates := present.Rates{Date: "2031-01-01", Providers: map[string]present.Rate{"cloud": {CPUHour: 0.05}}}
	protected, err := present.LoadProtected(state)
	if err != nil {
		t.Fatal(err)
	}
	store := sandboxes.NewStore(sandboxes.StoreOptions{Providers: ps, Owner: owner, Protected: protected, Now: d.clock.Now})
	open := func(title string) func(ui.Params) ui.Screen {
		return func(p ui.Params) ui.Screen {
			d.opened = append(d.opened, p)
			return &blank{title}
		}
	}
	why := ""
	if readOnly {
		why = "read-only"
	}
	d.Driver = uitest.Start(t, ui.Options{
		Now: d.clock.Now, Start: present.RouteSandboxes, ReadOnly: why,
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			present.RouteSandboxes: func(ui.Params) ui.Screen {
				return sandboxes.New(store, sandboxes.Options{Providers: ps, Owner: owner, CreateIn: "cloud", Rates: rates, Protected: protected, State: state, ReadOnly: readOnly})
			},
			present.RouteSandbox: open("Inside"), present.RouteShell: open("Terminal"),
		},
		Background: []ui.Background{
			store,
			kill.New(kill.Options{Providers: ps, Owner: owner, Rates: rates, Protected: protected, State: state, ReadOnly: readOnly}),
			create.New(create.Options{Providers: ps, Owner: owner, Default: "cloud", ReadOnly: readOnly}),
			broadcast.New(broadcast.Options{Providers: ps, ReadOnly: readOnly}),
		},
	}, 140, 40)
	return d
}

// step carries out one step; see the scenarios for what there is.
func (d *desk) step(t *testing.T, step string) {
	t.Helper()
	verb, arg, _ := strings.Cut(step, " ")
	switch verb {
	case "keys":
		d.Keys(arg)
	case "type":
		d.Type(arg)
	case "line": // a ":" command
		d.Keys(":")
		d.Type(arg)
		d.Keys("enter")
	case "pass":
		n, err := strconv.Atoi(arg)
		if err != nil {
			t.Fatal(err)
		}
		pass(d.Driver, d.clock, n)
	case "see":
		if !d.Shows(arg) {
			t.Fatalf("%q is not shown:\n%s", arg, d.Text())
		}
	case "unseen":
		if d.Shows(arg) {
			t.Fatalf("%q is shown:\n%s", arg, d.Text())
		}
	case "rows": // names in their order
		if got := d.rows(); got != arg {
			t.Fatalf("rows %q, want %q:\n%s", got, arg, d.Text())
		}
	case "calls": // how often an operation was called, and on what
		op, want, _ := strings.Cut(arg, " ")
		if got := d.called(op); got != want {
			t.Fatalf("%s on %q, want %q", op, got, want)
		}
	case "vanish":
		d.p.Vanish(client.ID(arg))
	case "fails": // the next calls of an operation, on one sandbox or on all
		op, id, _ := strings.Cut(arg, " ")
		d.p.Script(op, client.ID(id), fake.Step{Repeat: true, Err: fake.ServerError("out of order")})
	case "more": // so many more of ours
		n, err := strconv.Atoi(arg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			d.p.Add(client.Sandbox{
				ID: client.ID(fmt.Sprintf("i-more%02d", i)), State: client.StateRunning, StartedAt: d.clock.Now().Add(-4 * time.Hour), ExpiresAt: d.clock.Now().Add(time.Hour),
				Metadata: map[string]string{client.MetaOwner: "anna", client.MetaHost: "box"},
			})
		}
	case "stray": // another one without an owner
		d.p.Add(client.Sandbox{ID: client.ID(arg), State: client.StateRunning, StartedAt: d.clock.Now().Add(-5 * time.Hour), ExpiresAt: d.clock.Now().Add(time.Hour)})
	case "stick": // a kill is accepted, and it stays in lists
		d.p.Stick(client.ID(arg), client.StateRunning)
	case "flap": // every other list lacks it
		d.p.Flap(client.ID(arg))
	case "slow": // a 429 with its wait
		d.p.Script(arg, "", fake.Step{Err: fake.RateLimited(20 * time.Second)})
	case "opened":
		if len(d.opened) == 0 || !strings.Contains(fmt.Sprintf("%+v", d.opened[len(d.opened)-1].Value), "ID:"+arg+" ") {
			t.Fatalf("opened %+v", d.opened)
		}
	case "size":
		w, h, _ := strings.Cut(arg, "x")
		wn, _ := strconv.Atoi(w)
		hn, _ := strconv.Atoi(h)
		d.Send(tea.WindowSizeMsg{Width: wn, Height: hn})
	case "blur":
		d.Send(tea.BlurMsg{})
	case "quits":
		if !d.Quit {
			t.Fatalf("still there:\n%s", d.Text())
		}
	case "stays":
		if d.Quit {
			t.Fatal("it has quit")
		}
	default:
		t.Fatalf("no step %q", step)
	}
}

// rows are the names in the list, top to bottom.
func (d *desk) rows() string {
	names := []string{"web", "db", "soon", "builder", "nap", "i-lost"}
	var out []string
	in := false
	for _, l := range strings.Split(d.Text(), "\n") {
		switch {
		case strings.Contains(l, "NAME/ID"):
			in = true
		case in && strings.HasPrefix(strings.TrimSpace(l), "╰"):
			return strings.Join(out, " ")
		case in:
			if words := strings.Fields(strings.NewReplacer("│", " ", "▌", " ", "✓", " ").Replace(l)); len(words) > 0 && slices.Contains(names, words[0]) {
				out = append(out, words[0])
			}
		}
	}
	return strings.Join(out, " ")
}

func (d *desk) called(op string) string {
	var out []string
	for _, c := range d.p.CallsOf(op) {
		out = append(out, string(c.ID))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// scenario is a name and steps.
type scenario struct {
	name  string
	steps []string
}

func play(t *testing.T, list []scenario, readOnly bool) {
	t.Helper()
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			d := sit(t, present.NewFolder(t.TempDir()), readOnly)
			for _, step := range s.steps {
				d.step(t, step)
			}
		})
	}
}

func TestScenariosLooking(t *testing.T) {
	play(t, []scenario{
		{"the list sorts by age at first", []string{"rows web db soon nap builder i-lost", "see 5 running  1 stray", "see sort: age"}},
		{"sorting by name and back to front", []string{"keys , n", "rows builder db i-lost nap soon web", "keys , n", "rows web soon nap i-lost db builder"}},
		{"sorting by what ends first", []string{"keys , t", "rows soon web builder i-lost nap db", "keys , ,", "see sort: ttl ↓"}},
		{"sorting by state keeps equal ones in order", []string{"keys , s", "see sort: state", "keys G", "see running"}},
		{"sorting by owner", []string{"keys , o", "see sort: owner", "rows i-lost builder db nap soon web"}},
		{"sorting by template", []string{"keys , e", "see sort: template", "keys G", "see nap (i-paused)"}},
		{"sorting by cost", []string{"keys , c", "see sort: cost", "keys , ,", "see sort: cost ↓"}},
		{"sorting by cpu and memory", []string{"keys , u", "see sort: cpu", "keys , m", "see sort: memory"}},
		{"the cursor follows its row through a sort", []string{"keys j", "see db (i-db)", "keys , n", "see db (i-db)", "keys , t", "see db (i-db)"}},
		{"filter by text, then clear with esc", []string{"keys /", "type db", "rows db", "keys enter", "see 1 of 6", "keys esc", "rows web db soon nap builder i-lost"}},
		{"filter is given up by esc while typing", []string{"keys /", "type db", "keys esc", "rows web db soon nap builder i-lost"}},
		{"filter by what is not", []string{"keys /", "type !web !db", "keys enter", "rows soon nap builder i-lost"}},
		{"filter by a regular expression", []string{"keys /", "type ~^(web|db)$", "keys enter", "rows web db"}},
		{"filter fuzzily", []string{"keys /", "type -f bdr", "keys enter", "rows builder"}},
		{"filter by metadata", []string{"keys /", "type app=ci", "keys enter", "rows builder", "keys /", "keys backspace", "keys backspace", "type n*", "keys enter", "rows nap"}},
		{"filter by state", []string{"keys /", "type state:paused", "keys enter", "rows nap"}},
		{"filter by owner and age", []string{"keys /", "type owner:me age>15m", "keys enter", "rows db soon nap"}},
		{"filter by remaining time", []string{"keys /", "type ttl<5m", "keys enter", "rows soon"}},
		{"filter stray", []string{"keys /", "type stray", "keys enter", "rows i-lost", "see no owner tag"}},
		{"a half typed filter changes nothing and says why", []string{"keys /", "type ttl<", "see ttl needs a duration", "type 5m", "rows soon", "keys esc", "rows web db soon nap builder i-lost"}},
		{"a filter that fits nothing says so", []string{"keys /", "type zzz", "keys enter", "see Nothing matches the filter.", "keys esc", "see 5 running"}},
		{"strays only and back", []string{"keys S", "rows i-lost", "see strays only", "keys S", "rows web db soon nap builder i-lost"}},
		{"esc leaves strays", []string{"keys S", "rows i-lost", "keys esc", "rows web db soon nap builder i-lost"}},
		{"the preview follows the cursor", []string{"see web (i-web)", "keys j", "see db (i-db)", "keys G", "see stray: no owner tag"}},
		{"the preview grows and goes", []string{"keys _", "unseen up 10m", "keys +", "see up 10m", "keys +", "see up 10m"}},
		{"the preview says what it costs", []string{"see $0.10/h   $0.02 so far   $0.05 by its end   (estimate, rates of 2031-01-01)", "see ~$0.50/h"}},
		{"ends are counted down", []string{"keys G", "see 4m00s", "pass 60", "see 3m00s", "pass 185", "unseen soon (i-soon)"}},
		{"ages grow without a key", []string{"see 10m", "pass 60", "see 11m"}},
		{"details open and come back to the row", []string{"keys j enter", "see Inside", "opened i-db", "keys esc", "see db (i-db)"}},
		{"a shell opens and comes back", []string{"keys j s", "see Terminal", "opened i-db", "keys q", "see db (i-db)"}},
		{"files open", []string{"keys f", "see Inside", "opened i-web", "keys esc", "see Sandboxes"}},
		{"logs open", []string{"keys l", "see Inside", "opened i-web", "keys q", "see Sandboxes"}},
		{"json opens", []string{"keys J", "see Inside", "opened i-web", "keys q", "stays"}},
		{"looking changes nothing", []string{"keys enter", "keys esc", "keys j d", "keys esc", "pass 30", "calls timeout ", "calls connect ", "calls kill "}},
		{"a shell in a paused one asks first", []string{"line filter nap", "keys s", "see its state is", "unseen Terminal", "keys s", "see Terminal"}},
		{"a row that vanishes leaves the cursor where it was", []string{"keys j", "vanish i-db", "pass 6", "rows web soon nap builder i-lost", "see soon (i-soon)"}},
		{"the list empties and fills again", []string{"keys /", "type builder", "keys enter", "vanish i-bob", "pass 6", "see Nothing matches the filter.", "keys esc", "rows web db soon nap i-lost"}},
	}, false)
}

func TestScenariosKilling(t *testing.T) {
	play(t, []scenario{
		{"x asks, y kills after five seconds", []string{"keys x", "see Kill 1 sandbox", "keys y", "see killing 1 in 5 s", "pass 4", "calls kill ", "pass 1", "calls kill i-web", "pass 6", "rows db soon nap builder i-lost"}},
		{"x twice and enter kill nothing", []string{"keys x x enter", "see Kill 1 sandbox", "keys esc", "pass 10", "calls kill "}},
		{"z undoes from the list", []string{"keys x y", "pass 3", "keys z", "see undone", "pass 10", "calls kill "}},
		{"u undoes in the list", []string{"keys x y", "pass 3", "keys u", "see undone", "pass 10", "calls kill "}},
		{"z undoes from another screen", []string{"keys x y j enter", "see Inside", "keys z", "see undone", "pass 10", "calls kill "}},
		{"z undoes under the help", []string{"keys x y ?", "see Keys here", "keys z", "pass 10", "calls kill "}},
		{"too late to undo is said", []string{"keys x y", "pass 6", "keys z", "calls kill i-web", "line messages", "see nothing to undo"}},
		{"two batches are undone together", []string{"keys x y", "pass 2", "keys j x y", "pass 1", "see killing 2", "keys z", "pass 10", "calls kill "}},
		{"marked rows die, the cursor's does not", []string{"keys space j space", "see 2 marked", "keys x", "see Kill 2 sandboxes", "keys y", "pass 6", "calls kill i-soon i-web"}},
		{"a range dies", []string{"keys v j j v", "see 3 marked", "keys x y", "pass 6", "calls kill i-db i-soon i-web"}},
		{"esc gives a range up", []string{"keys v j esc", "unseen marked", "keys x", "see Kill 1 sandbox", "keys esc"}},
		{"all in the filter die, what it hides lives", []string{"keys /", "type owner:me state:running", "keys enter", "keys * x", "see Kill 3 sandboxes", "keys y", "pass 6", "calls kill i-db i-soon i-web"}},
		{"marks survive filter and sort", []string{"keys space", "keys /", "type db", "keys enter", "keys space esc", "keys , n", "see 2 marked", "keys x", "see Kill 2 sandboxes", "keys esc"}},
		{"all marks go", []string{"keys * ctrl+\\", "unseen marked", "keys x", "see Kill 1 sandbox", "keys esc"}},
		{"space on the sheet spares one", []string{"keys space space x", "see Kill 2 sandboxes", "keys space", "see Kill 1 sandbox", "keys y", "pass 6", "calls kill i-web"}},
		{"strays are reviewed with their reasons", []string{"keys X", "see Kill 1 sandbox", "see no owner tag", "keys y", "pass 6", "calls kill i-lost"}},
		{"strays are found behind a filter", []string{"keys /", "type web", "keys enter", "keys X", "see i-lost", "keys esc", "calls kill "}},
		{"without strays there is nothing to review", []string{"vanish i-lost", "pass 6", "keys X", "see there are no strays", "unseen Kill"}},
		{"a protected one takes the count", []string{"keys P", "see protected: web", "keys x y", "pass 6", "calls kill ", "keys 1 y", "pass 6", "calls kill i-web"}},
		{"protection is taken back", []string{"keys P P", "see not protected any more", "keys x y", "pass 6", "calls kill i-web"}},
		{"pausing instead kills nothing", []string{"keys x p", "see 1 paused, nothing was killed", "pass 10", "calls kill ", "calls pause i-web"}},
		{"the sheet says what is saved", []string{"keys x", "see frees: 2 vCPU, 512M, $0.10/h, saves $0.03 (estimate", "keys esc"}},
		{"a failed kill is said and stays marked", []string{"fails kill", "keys x y", "pass 6", "see failed", "see 1 marked", "rows web db soon nap builder i-lost"}},
		{"a 429 is waited for", []string{"slow kill", "keys x y", "pass 6", "see waiting 1", "pass 20", "calls kill i-web i-web", "pass 6", "rows db soon nap builder i-lost"}},
		{"one that is gone is gone", []string{"keys x y", "vanish i-web", "pass 6", "see was already gone", "unseen failed"}},
		{"killed by name", []string{"line kill db", "see Kill 1 sandbox", "see db (i-db)", "keys y", "pass 6", "calls kill i-db"}},
		{"a name that fits nothing kills nothing", []string{"line kill nobody", "see no sandbox here is called nobody", "pass 6", "calls kill "}},
		{"killing from the palette asks too", []string{"keys ctrl+k", "type kill", "keys enter", "see Kill 1 sandbox", "keys esc", "pass 6", "calls kill "}},
		{"quitting in the grace time asks", []string{"keys x y q", "see Quit?", "stays", "keys n", "pass 6", "calls kill i-web"}},
		{"quitting all the same kills nothing", []string{"keys x y q y", "quits", "calls kill "}},
		{"the history tells who and what", []string{"keys x y", "pass 6", "line kills", "see Killed from this machine", "see anna@box", "see cloud/web", "keys esc"}},
		{"nothing was killed yet", []string{"line kills", "see Nothing was killed from here yet.", "keys q", "stays"}},
		{"a refresh under the sheet changes no target", []string{"keys j x", "see db (i-db)", "vanish i-web", "pass 6", "see db (i-db)", "keys y", "pass 6", "calls kill i-db"}},
		{"no other key shortens the five seconds", []string{"keys x y", "pass 1", "keys y j k enter", "see Inside", "keys esc k", "pass 3", "calls kill ", "pass 1", "calls kill i-web"}},
		{"more than ten take the count", []string{"more 6", "pass 6", "keys * x", "see Kill 12 sandboxes", "keys y", "pass 6", "calls kill ", "keys 1 1 y", "pass 6", "calls kill ", "keys 1 2 y", "see killing 12 in 5 s", "keys z"}},
		{"of two the one that fails is said and not sent again", []string{"fails kill i-db", "keys space space x y", "pass 6", "see 1 gone, 1 failed: db", "see 1 marked", "pass 30", "calls kill i-db i-web", "rows db soon nap builder i-lost"}},
		{"the mark of a failed one is not taken along", []string{"fails kill i-web", "keys x y", "pass 6", "see 1 marked", "keys j x", "see Kill 1 sandbox", "see db (i-db)", "keys y", "pass 6", "calls kill i-db i-web"}},
		{"killed by name while others are marked", []string{"keys space", "line kill soon", "see Kill 1 sandbox", "keys y", "pass 6", "calls kill i-soon"}},
		{"a stray that is spared on the sheet lives", []string{"stray i-new", "pass 6", "keys X", "see Kill 2 sandboxes", "keys space", "see Kill 1 sandbox", "keys y", "pass 6", "calls kill i-new"}},
		{"a stray that comes under the sheet is not on it", []string{"keys X", "see Kill 1 sandbox", "stray i-new", "pass 6", "see Kill 1 sandbox", "keys y", "pass 6", "calls kill i-lost", "see i-new"}},
		{"a killed one does not come back from an old list", []string{"stick i-web", "keys x y", "pass 6", "flap i-web", "pass 12", "rows db soon nap builder i-lost", "pass 6", "rows db soon nap builder i-lost", "pass 6", "rows db soon nap builder i-lost"}},
		{"scrolling keys never kill", []string{"keys ctrl+d ctrl+u ctrl+f ctrl+b pgdown pgup G g", "pass 10", "calls kill ", "unseen Kill "}},
	}, false)
}

func TestScenariosWorking(t *testing.T) {
	play(t, []scenario{
		{"new with the usual settings", []string{"keys n", "see New sandbox", "type fresh", "keys enter", "pass 1", "see fresh", "calls create "}},
		{"new is given up", []string{"keys n", "type fresh", "keys esc", "pass 6", "unseen fresh"}},
		{"extend says from what to what", []string{"keys t", "see web: TTL 20m → 50m", "calls timeout i-web"}},
		{"extend by a given time", []string{"line extend 10m", "see web: TTL 20m → 30m", "line extend soon", "see extend needs a duration"}},
		{"extend marked ones", []string{"keys space space t", "calls timeout i-db i-web", "see TTL"}},
		{"set the time left", []string{"keys T", "type 5m", "keys enter", "see web: TTL 20m → 5m"}},
		{"set it by command", []string{"line ttl 3h", "see web: TTL 20m → 3h"}},
		{"nonsense is not a time", []string{"keys T", "type later", "keys enter", "see a duration such as", "keys esc", "calls timeout "}},
		{"a failed extend moves nothing", []string{"fails timeout", "keys t", "see out of order", "see 20m"}},
		{"pause and resume", []string{"keys p", "see web: running → paused", "keys r", "see paused → running"}},
		{"pause several after a question", []string{"keys space space p", "see Pause 2 sandboxes?", "keys y", "calls pause i-db i-web", "see 3 running"}},
		{"no is no", []string{"keys space space p n", "pass 3", "calls pause "}},
		{"run one command in several", []string{"keys space space !", "see Run in 2 sandboxes", "type hostname", "keys enter", "see Results 2 of 2", "see exit 0", "calls start i-db i-web"}},
		{"equal answers are grouped", []string{"keys space space !", "type echo same", "keys enter", "keys o", "see 2× db", "see equal in db, web", "keys o", "unseen 2× db"}},
		{"a failure shows its code and first line", []string{"keys space space !", "type cat /nowhere", "keys enter", "see exit 1", "see 2 failed", "keys esc", "see Sandboxes"}},
		{"from the results into a sandbox", []string{"keys space space !", "type true", "keys enter", "keys j enter", "see Inside", "opened i-web"}},
		{"broadcast by command", []string{"keys space space", "line run whoami", "see Results 2 of 2", "see user"}},
		{"paused ones are left out", []string{"keys *", "line run true", "see it is paused", "see 5 ok, 1 not run"}},
		{"run in one opens its output", []string{"keys !", "see Inside", "opened i-web"}},
		{"copy the id", []string{"keys y", "see copied i-web", "keys space space y", "see copied 2 ids"}},
		{"copy as command", []string{"keys c", "see abxdash attach cloud/i-web", "keys esc", "keys c j enter", "see copied: abxdash info cloud/i-web"}},
		{"columns are chosen", []string{"keys C", "see Columns", "keys j space enter", "unseen PROVIDER", "keys C 0 enter", "see PROVIDER"}},
		{"a hidden column can be shown", []string{"keys C G k", "see STRAY", "keys space enter", "see STRAY", "size 200x40", "see no owner tag"}},
		{"columns are given up", []string{"keys C j space esc", "see PROVIDER"}},
		{"a view is saved and found", []string{"line filter owner:me", "keys ctrl+s", "type ours", "keys enter", "see saved as view ours", "line view all", "rows web db soon nap builder i-lost", "line view ours", "rows web db soon nap"}},
		{"a view is forgotten", []string{"line save-view x", "line delete-view x", "see forgot view x", "line view x", "see there is no view x"}},
		{"the palette finds by what it does", []string{"keys ctrl+k", "type remaining time", "see Extend the remaining time", "keys esc", "stays"}},
		{"the palette says why not", []string{"vanish i-lost", "pass 6", "keys ctrl+k", "type all strays", "see there are no strays", "keys esc"}},
		{"a command is completed", []string{"keys :", "type exten", "keys tab enter", "see TTL 20m → 50m"}},
		{"command line verbs work", []string{"line info db", "see Inside", "opened i-db", "keys esc", "line attach web", "opened i-web"}},
		{"an unknown command is said", []string{"line frobnicate", "see there is no command frobnicate", "keys esc", "stays"}},
		{"help is searched", []string{"keys ?", "see Keys here", "keys /", "type protect", "see Protect from killing", "keys esc esc", "unseen Keys here"}},
		{"messages are kept", []string{"keys t", "keys y", "see copied i-web", "line messages", "see TTL 20m → 50m", "keys q"}},
		{"a theme is chosen", []string{"line theme nord", "line theme pink", "see theme is one of", "keys j", "see db (i-db)"}},
		{"attention is muted", []string{"line mute expiry", "see muted: expiry", "line mute nothing", "see mute takes"}},
		{"what ends soon calls once", []string{"pass 6", "pass 900", "see web ends within 5m", "pass 60", "line messages", "see web ends within 5m"}},
		{"the provider fails and comes back", []string{"fails list", "pass 12", "see out of order", "see rows are", "keys j", "see db (i-db)"}},
		{"a 429 is a chip with a countdown", []string{"slow list", "pass 7", "see 429", "keys ctrl+r", "see asked us to wait", "pass 25", "unseen 429"}},
		{"refresh now", []string{"vanish i-web", "keys ctrl+r", "pass 1", "rows db soon nap builder i-lost"}},
		{"q quits when nothing is at stake", []string{"keys j q", "quits"}},
		{"ctrl+c asks", []string{"keys ctrl+c", "stays", "keys ctrl+c", "quits"}},
		{"small windows keep name, state and time", []string{"size 60x16", "see web", "see running", "see 20m", "size 40x10", "see web", "size 30x8", "see need 40x10, have 30x8", "size 140x40", "rows web db soon nap builder i-lost"}},
	}, false)
}

func TestScenariosReadOnly(t *testing.T) {
	play(t, []scenario{
		{"nothing is killed", []string{"keys x", "see read-only", "unseen Kill 1", "keys X", "pass 10", "calls kill "}},
		{"nothing is extended", []string{"keys t", "see read-only", "keys T", "pass 6", "calls timeout "}},
		{"nothing is paused", []string{"keys p", "see read-only", "pass 6", "calls pause "}},
		{"nothing is run", []string{"keys space space !", "see read-only", "pass 1", "calls start "}},
		{"nothing is created", []string{"keys n", "see read-only", "pass 1", "calls create "}},
		{"looking goes on", []string{"keys /", "type db", "keys enter", "rows db", "keys enter", "see Inside"}},
	}, true)
}

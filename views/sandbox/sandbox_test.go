package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/exec"
	"abxdash/views/files"
	"abxdash/views/logs"
	"abxdash/views/metrics"
	"abxdash/views/ports"
	"abxdash/views/present"
	"abxdash/views/sandbox"
	"abxdash/views/shell"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // the golden screens show times of day
	goleak.VerifyTestMain(m)
}

// world is the sandbox screen with all its tabs over a fake provider.
type world struct {
	*uitest.Driver
	fake *fake.Provider
	id   client.ID
	dir  string
	// shells are the shells of this dashboard.
	shells *shell.Manager
	// params opens the screen again.
	params any
}

// reopen leaves the sandbox screen and comes back.
func (w *world) reopen() {
	w.Send(ui.BackMsg{})
	w.Send(ui.OpenMsg{Route: present.RouteSandbox, Params: ui.Params{Value: w.params}})
}

type setup struct {
	tab      present.Tab
	sandbox  client.Sandbox
	options  fake.Options
	readOnly string
	w, h     int
	// wrap puts something around the fake that the screens talk to.
	wrap func(*fake.Provider) client.Provider
	// edit stands in for the user's editor.
	edit func(path string) error
	// prefs is a file of kept choices, "" for none.
	prefs string
	// twice puts the sandbox screen on top of another one, so that it can be left.
	twice bool
	// openURL stands in for the user's browser.
	openURL func(string) error
	// change edits what the dashboard is made with.
	change func(ui.Options) ui.Options
}

func open(t *testing.T, s setup) *world {
	t.Helper()
	p := fake.New(s.options)
	if s.sandbox.ID == "" {
		s.sandbox = client.Sandbox{ID: "ionesandbox0000000001", Name: "web", Template: "base", State: client.StateRunning}
	}
	s.sandbox.Provider = p.Name()
	id := p.Add(s.sandbox)[0]
	sb, err := p.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close) // ends what still runs in it
	var provider client.Provider = p
	if s.wrap != nil {
		provider = s.wrap(p)
	}
	providers := present.Providers{provider}
	dir := t.TempDir()
	shells, commands, transfers := shell.NewManager(providers), exec.NewManager(providers), files.NewTransfers()
	forwards, journal := ports.NewManager(), sandbox.NewJournal()
	prefs := files.LoadPrefs(s.prefs)
	if s.w == 0 {
		s.w, s.h = 120, 40
	}
	if s.tab == "" {
		s.tab = present.TabOverview
	}
	opts := ui.Options{
		Start: present.RouteSandbox, StartParams: ui.Params{Value: present.SandboxParams{Sandbox: sb, Tab: s.tab}},
		Background: []ui.Background{shells, commands, transfers, forwards, journal},
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			present.RouteSandbox: func(v ui.Params) ui.Screen {
				return sandbox.New(sandbox.Options{Provider: provider, Journal: journal, ReadOnly: s.readOnly, Tabs: []sandbox.Tab{
					{ID: present.TabOutput, Title: "Output", Needs: client.CapCommands, New: func(sb client.Sandbox) ui.Screen {
						return exec.New(exec.Options{Manager: commands, Dir: dir, ReadOnly: s.readOnly}, sb)
					}},
					{ID: present.TabFiles, Title: "Files", Needs: client.CapFiles, New: func(sb client.Sandbox) ui.Screen {
						return files.New(files.Options{
							Provider: provider, Transfers: transfers, Dir: dir, ReadOnly: s.readOnly, Prefs: prefs,
							RunEditor: func(path string, left func(error) tea.Msg) tea.Cmd {
								return func() tea.Msg { return left(s.edit(path)) }
							},
						}, sb)
					}},
					{ID: present.TabShell, Title: "Shell", Needs: client.CapPTY, New: func(sb client.Sandbox) ui.Screen {
						return shell.New(shell.Options{Manager: shells}, sb)
					}},
					{ID: present.TabPorts, Title: "Ports", Needs: client.CapCommands, New: func(sb client.Sandbox) ui.Screen {
						return ports.New(ports.Options{Provider: provider, Manager: forwards, OpenURL: s.openURL}, sb)
					}},
					{ID: present.TabMetrics, Title: "Metrics", Needs: client.CapMetrics, New: func(sb client.Sandbox) ui.Screen {
						return metrics.New(metrics.Options{Provider: provider}, sb)
					}},
					{ID: present.TabLogs, Title: "Logs", Needs: client.CapLogs, New: func(sb client.Sandbox) ui.Screen {
						return logs.New(logs.Options{Provider: provider, Dir: dir}, sb)
					}},
				}}, v.Value.(present.SandboxParams))
			},
		},
	}
	if s.change != nil {
		opts = s.change(opts)
	}
	w := &world{Driver: uitest.StartStreams(t, opts, s.w, s.h), fake: p, id: id, dir: dir, shells: shells, params: opts.StartParams.Value}
	if s.twice {
		w.Send(ui.OpenMsg{Route: present.RouteSandbox, Params: opts.StartParams})
	}
	return w
}

// changed fails if looking has changed anything.
func (w *world) changed() []string {
	var out []string
	for _, op := range []string{"create", "kill", "timeout", fake.OpConnect, fake.OpPause, fake.OpPut, fake.OpRemove, fake.OpRename, fake.OpMkdir} {
		for _, c := range w.fake.CallsOf(op) {
			out = append(out, c.Op+" "+c.Arg)
		}
	}
	return out
}

func TestOverviewShowsTheFacts(t *testing.T) {
	w := open(t, setup{sandbox: client.Sandbox{
		ID: "ifacts00000000000001", Name: "web", Template: "py-data", State: client.StateRunning, CPU: 2, MemoryMB: 512,
		StartedAt: time.Now().Add(-12 * time.Minute), ExpiresAt: time.Now().Add(17*time.Minute + 30*time.Second), Metadata: map[string]string{"app": "x\x1b]0;evil\x07y"},
	}})
	for _, want := range []string{"web (ifacts00000000000001)", "py-data", "running", "12m ago", "TTL 17m", "2 vCPU, 512M memory", "run, terminal, files", "no logs", `x\u001b]0;evil\u0007y`} {
		w.UntilShows(want)
	}
	if got := w.changed(); got != nil {
		t.Errorf("looking changed something: %v", got)
	}
}

func TestOutputStreamsACommandAndShowsItsExit(t *testing.T) {
	w := open(t, setup{})
	w.Keys("!")
	w.Type("echo hello; echo oops >&2; exit 3")
	w.Keys("enter")
	w.UntilShows("exit 3")
	w.UntilShows("hello")
	w.UntilShows("oops")
	w.Keys("up")
	if !w.Shows("$ echo hello; echo oops") {
		t.Errorf("the history does not bring the line back:\n%s", w.Text())
	}
}

func TestOutputStopsACommand(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.Type("echo started; sleep 1000")
	w.Keys("enter")
	w.UntilShows("running")
	w.Until("the first line", func() bool { return strings.Count(w.Text(), "started") >= 3 })
	w.Keys("ctrl+c")
	w.UntilShows("SIGTERM")
	w.UntilShows("ended (SIGTERM)")
}

func TestOutputSurvivesTheScreen(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.Type("echo kept")
	w.Keys("enter")
	w.UntilShows("exit 0")
	w.Keys("esc 1")
	w.UntilShows("Metadata")
	w.Keys("2")
	w.UntilShows("kept")
}

func TestFilesWalkPreviewAndDownload(t *testing.T) {
	w := open(t, setup{})
	put(t, w, "src/app.py", "import os\nprint('hi')\n")
	put(t, w, "zed.txt", "last\n")
	w.Keys("f")
	w.UntilShows("src/")
	w.UntilShows("zed.txt")
	w.Keys("/")
	w.Type("src")
	w.Keys("enter g enter")
	w.UntilShows("app.py")
	w.Keys("G")
	w.UntilShows("print('hi')")
	w.Keys("h")
	w.UntilShows("zed.txt")
	w.Keys("G")
	w.UntilShows("last")
	w.Keys("d")
	w.UntilShows("save as:")
	w.Keys("enter")
	w.UntilShows("downloaded")
	got, err := os.ReadFile(filepath.Join(w.dir, "zed.txt"))
	if err != nil || string(got) != "last\n" {
		t.Errorf("downloaded %q, %v", got, err)
	}
	w.Keys("d enter")
	w.UntilShows("exists already")
	w.Keys("esc")
	left, _ := filepath.Glob(filepath.Join(w.dir, ".*part*"))
	if len(left) > 0 {
		t.Errorf("half files are left: %v", left)
	}
}

func TestFilesUpload(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles})
	if err := os.WriteFile(filepath.Join(w.dir, "report-long.txt"), []byte("42"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Until("the listing", func() bool { return !w.Shows("reading") })
	w.Keys("u")
	w.Type("rep")
	w.Keys("tab enter")
	w.UntilShows("uploaded")
	w.UntilShows("report-long.txt")
	if got := w.changed(); len(got) != 2 || !strings.HasPrefix(got[0], "put ") || !strings.HasPrefix(got[1], "rename ") {
		t.Errorf("calls that change something: %v", got)
	}
	w.Keys("u")
	w.Type("nosuch")
	w.Keys("enter")
	w.UntilShows("cannot be read")
}

func TestFilesReadOnlyRefusesUpload(t *testing.T) {
	w := open(t, setup{tab: present.TabFiles, readOnly: "read-only mode"})
	w.Until("the listing", func() bool { return !w.Shows("reading") })
	w.Keys("u")
	w.UntilShows("read-only mode")
	if got := w.changed(); got != nil {
		t.Errorf("something was changed: %v", got)
	}
}

func TestShellAttachTypeDetach(t *testing.T) {
	w := open(t, setup{})
	w.Keys("s")
	w.UntilShows("^] d detach")
	w.Until("a prompt", func() bool { return w.Shows("$") })
	w.Type("echo in-$((20+3))")
	w.Keys("enter")
	w.UntilShows("in-23")
	w.Keys("q")
	w.Keys("ctrl+] d")
	w.UntilShows("detached, the shell goes on")
	w.Keys("1")
	w.UntilShows("Metadata")
	w.Keys("s")
	w.UntilShows("in-23")
	w.Keys("enter")
	w.UntilShows("^] d detach")
	w.Keys("backspace")
	w.Type("exit")
	w.Keys("enter")
	w.UntilShows("shell ended")
	if starts := len(w.fake.CallsOf(fake.OpStart)); starts != 1 {
		t.Errorf("%d shells were started, want 1", starts)
	}
}

func TestShellOfAPausedSandboxAsksFirst(t *testing.T) {
	w := open(t, setup{sandbox: client.Sandbox{ID: "ipaused0000000000001", State: client.StatePaused}})
	w.Keys("s")
	w.UntilShows("This sandbox is paused")
	if n := len(w.fake.CallsOf(fake.OpStart)); n != 0 {
		t.Errorf("%d starts before asking", n)
	}
}

// LST-04: the sandbox was in the list and is gone when its detail is opened.
func TestGoneBetweenListAndDetail(t *testing.T) {
	w := open(t, setup{})
	if err := w.fake.Kill(context.Background(), w.id); err != nil {
		t.Fatal(err)
	}
	w.Keys("ctrl+r")
	w.UntilShows("no longer exists")
	w.Keys("x")
	if w.Shows("Kill 1 sandbox") {
		t.Error("a kill sheet opened for a sandbox that is gone")
	}
}

func TestMissingCapabilityIsExplained(t *testing.T) {
	caps := client.Capabilities{
		Have: map[client.Capability]bool{client.CapCommands: true, client.CapFiles: true},
		Why:  map[client.Capability]string{client.CapPTY: "this service has no terminals"},
	}
	w := open(t, setup{options: fake.Options{Capabilities: &caps}})
	w.Keys("s")
	w.UntilShows("this service has no terminals")
}

// TUI-01: no size panics, esc works blind.
func TestEverySizeEveryTab(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {20, 5}, {5, 20}, {40, 10}, {60, 16}, {80, 24}} {
		w := open(t, setup{w: size[0], h: size[1]})
		w.Keys("1 2 esc 3 4")
		// A shell that is still starting when the test ends would be left alone.
		w.Until("the shell", func() bool { return len(w.shells.Survives()) > 0 })
		w.Keys("ctrl+] d 5 6 7 1")
		w.Send(ui.TickMsg{})
	}
}

func put(t *testing.T, w *world, path, text string) {
	t.Helper()
	if _, err := w.fake.Put(context.Background(), w.id, path, strings.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
}

package shell_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/record"
	"abxdash/ui/uitest"
	"abxdash/views/present"
	"abxdash/views/shell"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a fake provider with one sandbox. Dashboards come and go over it.
type world struct {
	t      *testing.T
	fake   *fake.Provider
	sb     client.Sandbox
	dir    string
	opened []string
}

func newWorld(t *testing.T, sb client.Sandbox) *world {
	t.Helper()
	w := &world{t: t, fake: fake.New(fake.Options{}), dir: t.TempDir()}
	t.Cleanup(w.fake.Close)
	if sb.ID == "" {
		sb = client.Sandbox{ID: "ionesandbox0000000001", Name: "web", Template: "base", State: client.StateRunning}
	}
	sb.Provider = w.fake.Name()
	id := w.fake.Add(sb)[0]
	var err error
	if w.sb, err = w.fake.Get(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	return w
}

// dashboard is one run of the dashboard.
type dashboard struct {
	*uitest.Driver
	counts *counter
}

// counter notes the number of shells that others are told.
type counter struct{ n int }

func (c *counter) Init(ui.Env) tea.Cmd { return nil }
func (c *counter) Status() string      { return "" }
func (c *counter) Close()              {}

func (c *counter) Update(msg tea.Msg) (tea.Cmd, bool) {
	if m, ok := msg.(present.ShellCountMsg); ok {
		c.n = m.N
	}
	return nil, false
}

// open starts a dashboard with a shell as a window of its own over an empty screen.
func (w *world) open(o shell.ManagerOptions, keys *keymap.Map) *dashboard {
	w.t.Helper()
	o.Owner = present.Owner{User: "ann", Host: "desk"}
	o.Folder = present.NewFolder(filepath.Join(w.dir, "state"))
	o.RecordDir = filepath.Join(w.dir, "recordings")
	manager := shell.NewManagerWith(present.Providers{w.fake}, o)
	d := &dashboard{counts: &counter{}}
	d.Driver = uitest.StartStreams(w.t, ui.Options{
		Start: "list", Background: []ui.Background{manager, d.counts}, Keys: keys,
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			"list": func(ui.Params) ui.Screen { return &empty{} },
			present.RouteShell: func(p ui.Params) ui.Screen {
				return shell.New(shell.Options{Manager: manager, Whole: true}, p.Value.(present.ShellParams).Sandbox)
			},
		},
	}, 110, 30)
	d.Run(present.OpenShell(w.sb))
	return d
}

// empty is the screen below.
type empty struct{}

func (e *empty) Init(ui.Env) tea.Cmd                      { return nil }
func (e *empty) Update(tea.Msg) tea.Cmd                   { return nil }
func (e *empty) Draw(uv.Screen, uv.Rectangle) *tea.Cursor { return nil }
func (e *empty) Keys() []keymap.Context                   { return []keymap.Context{keymap.List} }
func (e *empty) Title() string                            { return "List" }
func (e *empty) Close()                                   {}

// line types a command and waits for its answer.
func (d *dashboard) line(command, answer string) {
	d.T.Helper()
	d.Type(command)
	d.Keys("enter")
	d.UntilShows(answer)
}

func (w *world) starts() int {
	n := 0
	for _, c := range w.fake.CallsOf(fake.OpStart) {
		if strings.Contains(c.Arg, "bash -i") {
			n++
		}
	}
	return n
}

func TestTabsAreNamedAndKept(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.line("echo first-$((1+1))", "first-2")
	d.Keys("ctrl+] c")
	d.Until("a second prompt", func() bool { return d.Shows("1 [2]") && d.Shows("user@sandbox") && !d.Shows("first-2") })
	d.line("echo second-$((1+2))", "second-3")
	d.Until("the count", func() bool { return d.counts.n == 2 })
	d.Keys("ctrl+] ,")
	d.UntilShows("Name the shell")
	d.Keys("backspace")
	d.Type("build")
	d.Keys("enter")
	d.UntilShows("1 [build]")
	d.Until("the box to close", func() bool { return !d.Shows("Name the shell") })
	d.Keys("ctrl+] n")
	d.UntilShows("first-2")
	d.Keys("ctrl+] p")
	d.UntilShows("second-3")
	d.Keys("ctrl+] d")
	d.Until("the screen below", func() bool { return !d.Shows("build") })
	d.Run(present.OpenShell(w.sb))
	d.UntilShows("second-3")
	d.Type("exit")
	d.Keys("enter")
	d.UntilShows("first-2") // the other one takes its place
	d.Until("the count", func() bool { return d.counts.n == 1 })
	if n := w.starts(); n != 2 {
		t.Errorf("%d shells were started, want 2", n)
	}
}

// A later run finds the shells of this user, by tag, and nobody else's.
func TestReconnectAfterRestart(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.Keys("ctrl+] c")
	d.UntilShows("1 [2]")
	d.Until("two shells", func() bool { return d.counts.n == 2 })
	d.Keys("ctrl+] ,")
	d.UntilShows("Name the shell")
	d.Keys("backspace")
	d.Type("work")
	d.Keys("enter")
	d.UntilShows("1 [work]")
	d.Until("the box to close", func() bool { return !d.Shows("Name the shell") })
	d.line("x=kept; echo set-$((1+1))", "set-2")
	d.Root.Close()
	other := client.InteractiveShell(client.Size{Cols: 80, Rows: 24})
	other.Tag = present.ShellTag(present.Owner{User: "bob", Host: "desk"}, "bobs")
	p, err := w.fake.Start(t.Context(), w.sb.ID, other)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	d = w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("1 [work]")
	d.Until("two shells", func() bool { return d.counts.n == 2 })
	if d.Shows("set-2") {
		t.Error("earlier output is there after all; the note about it is wrong")
	}
	d.UntilShows("earlier output is not available")
	d.line("echo $x-$((2+3))", "kept-5")
	if d.Shows("bobs") {
		t.Error("somebody else's shell was joined")
	}
	if n := w.starts(); n != 3 {
		t.Errorf("%d shells were started, want 3", n)
	}
}

func TestSplit(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.line("echo left-$((1+1))", "left-2")
	d.Keys("ctrl+] |")
	d.UntilShows("1 [2]")
	d.Until("two prompts side by side", func() bool {
		for _, l := range strings.Split(d.Text(), "\n") {
			if strings.Count(l, "user@sandbox") == 2 {
				return true
			}
		}
		return false
	})
	d.line("echo right-$((1+2))", "right-3")
	if !d.Shows("left-2") {
		t.Errorf("the left one is not in sight:\n%s", d.Text())
	}
	d.Keys("ctrl+] o")
	d.UntilShows("[1] 2")
	d.line("echo again-$((1+3))", "again-4")
	d.Keys("ctrl+] |")
	d.Until("one pane", func() bool { return !d.Shows("right-3") && d.Shows("again-4") })
	d.Keys("ctrl+] |")
	d.UntilShows("right-3")
	d.Type("exit")
	d.Keys("enter")
	d.Until("one pane", func() bool { return !d.Shows("right-3") && d.Shows("[1]") })
}

func TestLargePasteAsks(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.Send(tea.PasteMsg{Content: "echo small-$((1+1))\n"})
	d.UntilShows("small-2")
	text := strings.Repeat("echo x\n", 30) + "echo done-$((4+5))\n"
	d.Send(tea.PasteMsg{Content: text})
	d.UntilShows("Paste into the shell?")
	if !d.Shows("31 lines") && !d.Shows("32 lines") || !d.Shows("every line runs") {
		t.Errorf("the question:\n%s", d.Text())
	}
	d.Keys("n")
	d.Until("no question", func() bool { return !d.Shows("Paste into") })
	d.Send(tea.PasteMsg{Content: text})
	d.UntilShows("Paste into the shell?")
	d.Keys("y")
	d.UntilShows("done-9")
	d.Until("no question", func() bool { return !d.Shows("Paste into") })
	d.Send(tea.PasteMsg{Content: strings.Repeat("y", 1<<20+1)})
	d.UntilShows("nothing pasted")
}

func TestScrollbackSearchCopyPaste(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.line("for i in $(seq 1 90); do echo row-$i-end; done", "row-90-end")
	d.Keys("ctrl+] [")
	d.UntilShows("scrolled back")
	d.Keys("/")
	d.Type("row-17-")
	d.Keys("enter")
	d.UntilShows("row-17-end")
	d.Keys("n")
	d.UntilShows("went on")
	for _, k := range []string{"0", "v", "$", "y"} {
		d.Keys(k)
	}
	d.UntilShows("copied 10 characters")
	found := false
	for _, m := range d.Ignored {
		found = found || fmt.Sprint(m) == "row-17-end"
	}
	if !found {
		t.Errorf("nothing went to the clipboard: %v", d.Ignored)
	}
	d.Keys("esc")
	d.Until("the live shell", func() bool { return !d.Shows("scrolled back") && d.Shows("row-90-end") })
	d.Type("echo pasted:")
	d.Keys("ctrl+] ]")
	d.Keys("enter")
	d.Until("the paste", func() bool { return strings.Count(d.Text(), "pasted:row-17-end") == 2 })
}

func TestMouseSelects(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.line("echo '  some words here'", "some words here")
	y := -1
	d.Until("the output", func() bool {
		y = slices.IndexFunc(strings.Split(d.Text(), "\n"), func(l string) bool { return strings.HasPrefix(l, "  some words") })
		return y >= 0
	})
	d.Send(tea.MouseClickMsg{X: 7, Y: y, Button: tea.MouseLeft}, tea.MouseMotionMsg{X: 11, Y: y, Button: tea.MouseLeft}, tea.MouseReleaseMsg{X: 11, Y: y, Button: tea.MouseLeft})
	d.UntilShows("copied 5 characters")
	d.Send(tea.MouseClickMsg{X: 4, Y: y, Button: tea.MouseLeft}, tea.MouseReleaseMsg{X: 4, Y: y, Button: tea.MouseLeft})
	d.Send(tea.MouseClickMsg{X: 4, Y: y, Button: tea.MouseLeft}, tea.MouseReleaseMsg{X: 4, Y: y, Button: tea.MouseLeft})
	d.UntilShows("copied 4 characters")
}

func TestLinksAskFirst(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	o := shell.ManagerOptions{OpenLink: func(target string) error { w.opened = append(w.opened, target); return nil }}
	d := w.open(o, nil)
	d.UntilShows("user@sandbox")
	d.line("echo see https://example.com/a.", "\nsee https://example.com/a.")
	d.Keys("ctrl+] l")
	d.UntilShows("Open this link in a browser?")
	if len(w.opened) > 0 {
		t.Fatal("opened before asking")
	}
	d.Keys("n")
	d.Until("no question", func() bool { return !d.Shows("Open this link") })
	d.Keys("ctrl+] l")
	d.UntilShows("Open this link")
	d.Keys("y")
	d.UntilShows("opened in the browser")
	if len(w.opened) != 1 || w.opened[0] != "https://example.com/a" {
		t.Errorf("opened %q", w.opened)
	}
}

// The environment's secrets are not in a recording, nor is what was typed.
func TestRecording(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	p := fake.New(fake.Options{})
	t.Cleanup(p.Close)
	sb, err := p.Create(t.Context(), client.CreateSpec{Env: map[string]string{
		"API_TOKEN": "hunter2-hunter2", "DB": "postgres://u:pa55word@h/x", "HARMLESS": "something",
	}})
	if err != nil {
		t.Fatal(err)
	}
	sb.Provider = p.Name()
	w.fake, w.sb = p, sb
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.line("echo before", "before")
	d.Keys("ctrl+] r")
	d.UntilShows("● rec 00:0")
	d.line("echo $API_TOKEN $DB $HARMLESS", "hunter2-hunter2 postgres://u:pa55word@h/x something")
	d.Keys("ctrl+] r")
	d.UntilShows("recorded ")
	if d.Shows("● rec") {
		t.Error("the mark is still there")
	}
	files, err := record.List(filepath.Join(w.dir, "recordings"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	data, err := os.ReadFile(files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "pa55word", `"i",`} {
		if strings.Contains(string(data), secret) {
			t.Errorf("%q is in the recording", secret)
		}
	}
	for _, want := range []string{"before", record.Mask, "something"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is not in the recording", want)
		}
	}
	// Leaving ends a recording whole.
	d.Keys("ctrl+] R")
	d.UntilShows("+keys")
	d.line("echo typed", "typed")
	d.Root.Close()
	files, err = record.List(filepath.Join(w.dir, "recordings"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	if data, err = os.ReadFile(files[0].Path); err != nil || !strings.Contains(string(data), `"i",`) {
		t.Errorf("no input was recorded although it was asked for: %v", err)
	}
}

func TestLifetimeWarnsAndExtends(t *testing.T) {
	w := newWorld(t, client.Sandbox{
		ID: "isoon000000000000001", Name: "soon", State: client.StateRunning,
		StartedAt: time.Now().Add(-time.Hour), ExpiresAt: time.Now().Add(4*time.Minute + 30*time.Second),
	})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("TTL 4m")
	d.UntilShows("^] t extends")
	d.Send(ui.TickMsg{Now: time.Now()})
	d.UntilShows("soon ends in 4m")
	d.UntilShows("user@sandbox")
	d.Keys("ctrl+] t")
	d.UntilShows("s → 34m")
	if n := len(w.fake.CallsOf("timeout")); n != 1 {
		t.Errorf("%d changes of the lifetime", n)
	}
}

func TestReadOnlyStartsNothing(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{ReadOnly: "read-only"}, nil)
	d.UntilShows("No shell: read-only.")
	d.Keys("enter")
	if n := w.starts(); n != 0 {
		t.Errorf("%d shells were started", n)
	}
}

func TestLeaderIsConfigurable(t *testing.T) {
	keys, err := keymap.Default().WithLeader("ctrl+a")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, keys)
	d.UntilShows("^a d detach")
	d.UntilShows("user@sandbox")
	d.Keys("ctrl+a c")
	d.UntilShows("1 [2]")
	d.UntilShows("user@sandbox")
	d.Keys("ctrl+a ctrl+a")
	d.UntilShows("^A")
}

// A killed sandbox says so; its shells end and the others are told.
func TestSandboxIsKilled(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	d := w.open(shell.ManagerOptions{}, nil)
	d.UntilShows("user@sandbox")
	d.Until("the count", func() bool { return d.counts.n == 1 })
	if err := w.fake.Kill(context.Background(), w.sb.ID); err != nil {
		t.Fatal(err)
	}
	d.Until("the end", func() bool { return d.counts.n == 0 })
	d.UntilShows("enter new shell")
	d.Keys("esc")
	d.Until("the screen below", func() bool { return !d.Shows("enter new shell") })
}

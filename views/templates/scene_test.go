package templates

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/docker"
	"abxdash/client/fake"
	tpl "abxdash/templates"
	"abxdash/templates/capture"
	"abxdash/templates/check"
	"abxdash/templates/deploy"
	"abxdash/templates/scaffold"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/create"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
	"abxdash/views/sandboxes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is the dashboard in the real shell with made-up providers, a made-up
// Docker engine and folders of its own.
type desk struct {
	*uitest.Driver
	m       *Manager
	cloud   *fake.Provider
	plain   *fake.Provider
	clock   *viewtest.Clock
	dir     string
	engine  *engine
	checker *player
	edited  chan string
}

// engine is a Docker engine that can fail at a step, or hang until it is let go.
type engine struct {
	mu     sync.Mutex
	fails  map[string]error
	hangs  bool
	builds []string
	pushes []string
}

func (e *engine) Ping(context.Context) error { return nil }

func (e *engine) fail(step string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fails[step] = err
}

func (e *engine) step(step string) (err error, hangs bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fails[step], e.hangs
}

func (e *engine) Build(ctx context.Context, b docker.Build, say func(docker.Event)) (string, error) {
	if _, err := io.Copy(io.Discard, b.Context); err != nil {
		return "", err
	}
	say(docker.Event{Kind: "step", Step: 1, Steps: 2, Text: "FROM base"})
	say(docker.Event{Kind: "step", Step: 2, Steps: 2, Text: "RUN pip install \x1b[2Jthings"})
	e.mu.Lock()
	e.builds = append(e.builds, strings.Join(b.Tags, ","))
	e.mu.Unlock()
	err, hangs := e.step("build")
	if hangs {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "sha256:1", err
}

func (e *engine) Push(_ context.Context, ref string, _ docker.Login, say func(docker.Event)) (string, error) {
	say(docker.Event{Kind: "progress", Text: "layer", Current: 5 << 20, Total: 10 << 20})
	e.mu.Lock()
	e.pushes = append(e.pushes, ref)
	e.mu.Unlock()
	err, _ := e.step("push")
	return "sha256:2", err
}

// player plays check.Run: it lints for real and answers for the server.
type player struct {
	mu    sync.Mutex
	runs  []check.Options
	hangs bool
	err   error
}

func (c *player) run(ctx context.Context, o check.Options) (check.Result, error) {
	c.mu.Lock()
	c.runs = append(c.runs, o)
	hangs, err := c.hangs, c.err
	c.mu.Unlock()
	r := check.Result{Server: check.ServerStandIn, Isolation: client.IsolationNamespace}
	report, lerr := tpl.Lint(ctx, o.Dir, o.Lint)
	if r.Lint = report; lerr != nil || !report.OK {
		r.Server = ""
		return r, lerr
	}
	o.Say("sandbox i123 on local")
	if hangs {
		<-ctx.Done()
		return r, context.Cause(ctx)
	}
	if err != nil {
		return r, err
	}
	r.OK = true
	r.Logs = []string{"serving \x1b[31m9000"}
	r.Commands = []agentserver.Command{
		{Name: "hello", Args: []agentserver.Argument{{Name: "name", Type: "string", Default: json.RawMessage(`"World"`)}}},
		{Name: "add", Args: []agentserver.Argument{{Name: "a", Type: "integer", Required: true}, {Name: "b", Type: "integer", Default: json.RawMessage(`1`)}}},
		{Name: "flag", Args: []agentserver.Argument{{Name: "on", Type: "boolean", Default: json.RawMessage(`false`)}}},
		{Name: "now"},
	}
	for _, cmd := range r.Commands {
		if o.Call == "" || o.Call == cmd.Name {
			r.Calls = append(r.Calls, answer(cmd.Name, o.Args))
		}
	}
	return r, nil
}

func (c *player) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.runs)
}

func answer(name string, args map[string]string) check.Call {
	call := check.Call{Command: name, OK: true, Args: map[string]any{}, Milliseconds: 7}
	for k, v := range args {
		call.Args[k] = v
	}
	switch name {
	case "hello":
		who := "Ada"
		if v, ok := args["name"]; ok {
			who = v
		}
		call.Result = json.RawMessage(strconv.Quote("Hello, " + who + "!"))
	case "add":
		a, _ := strconv.Atoi(args["a"])
		b := 1
		if v, ok := args["b"]; ok {
			b, _ = strconv.Atoi(v)
		}
		call.Result = json.RawMessage(strconv.Itoa(a + b))
	case "flag":
		call.Result = json.RawMessage(strconv.Quote("on=" + args["on"]))
	default:
		call.OK, call.Error, call.Code = false, "KeyError: \x1b[2Jgone", client.CodeRunCommand
	}
	return call
}

// shelf are the templates of the made-up provider.
func shelf(now time.Time) []client.TemplateInfo {
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * 24 * time.Hour) }
	return []client.TemplateInfo{
		{ID: "tpl-base", Names: []string{"base"}, CPU: 2, MemoryMB: 512, Builds: 1, CreatedAt: ago(40), UpdatedAt: ago(40)},
		{ID: "tpl-py", Names: []string{"py-data", "python-hello"}, CPU: 2, MemoryMB: 1024, DiskMB: 4096, Builds: 3, Spawned: 71, CreatedAt: ago(9), UpdatedAt: ago(2)},
		{ID: "tpl-agent", Names: []string{"agent"}, State: "building", CPU: 4, MemoryMB: 2048, Builds: 2, CreatedAt: ago(5), UpdatedAt: ago(0)},
		{ID: "tpl-gpu", Names: []string{"gpu\x1b[31m-notebook"}, State: "error", Reason: "step 3: exit 1", CPU: 2, MemoryMB: 1024, Builds: 1, CreatedAt: ago(1), UpdatedAt: ago(1)},
	}
}

func people(now time.Time) []client.Sandbox {
	mk := func(id, name, template, templateID string) client.Sandbox {
		return client.Sandbox{
			ID: client.ID(id), Name: name, State: client.StateRunning, Template: template, TemplateID: templateID,
			StartedAt: now.Add(-10 * time.Minute), ExpiresAt: now.Add(time.Hour),
		}
	}
	return []client.Sandbox{mk("i-web", "web", "base", ""), mk("i-db", "db", "", "tpl-base"), mk("i-eval", "eval", "py-data:v2", ""), mk("i-lone", "lone", "unknown", "")}
}

type setup struct {
	readOnly, noCheck, noTemplates, watch bool
	// blank leaves the folder without templates, python checks commands.py for real.
	blank, python bool
}

func sit(t *testing.T, o setup) *desk {
	t.Helper()
	d := &desk{clock: viewtest.NewClock(), dir: t.TempDir(), engine: &engine{fails: map[string]error{}}, checker: &player{}, edited: make(chan string, 10)}
	d.cloud = fake.New(fake.Options{Name: "cloud", Now: d.clock.Now, Templates: !o.noTemplates})
	d.plain = fake.New(fake.Options{Name: "plain", Now: d.clock.Now})
	t.Cleanup(d.cloud.Close)
	t.Cleanup(d.plain.Close)
	d.cloud.AddTemplates(shelf(d.clock.Now())...)
	d.cloud.Add(people(d.clock.Now())...)
	if !o.blank {
		writeFolder(t, filepath.Join(d.dir, "demo"), "cloud")
		writeFolder(t, filepath.Join(d.dir, "nested", "express"), tpl.Express)
		broken := filepath.Join(d.dir, "broken")
		writeFolder(t, broken, tpl.Express)
		write(t, filepath.Join(broken, tpl.FileTemplate), "name: codex\nversion: 1.10\nports: [49983]\n")
	}
	ps := present.Providers{d.cloud, d.plain}
	owner := present.Owner{User: "anna", Host: "box"}
	age(t, d.dir, d.clock.Now().Add(-2*time.Hour))
	opt := Options{
		Home:      d.dir,
		Providers: ps, Owner: owner, ReadOnly: o.readOnly, Dir: d.dir, Targets: []string{tpl.Express, "cloud", "opensandbox"},
		CheckIn: d.plain, Engine: func() (deploy.Engine, error) { return d.engine, nil }, Check: d.checker.run,
		Deploy: func(ctx context.Context, o deploy.Options) (deploy.Result, error) {
			o.Poll = time.Millisecond
			return deploy.Run(ctx, o)
		},
		RunEditor: func(path string, done func(error) tea.Msg) tea.Cmd {
			return func() tea.Msg {
				d.edited <- path
				return done(nil)
			}
		},
		Capture: func(_ context.Context, _ client.Provider, sb client.Sandbox, _ capture.Options) (capture.Found, error) {
			if sb.ID == "i-db" {
				return capture.Found{}, &client.Error{Op: "look", Code: client.CodeFiles, Message: "no find"}
			}
			return capture.Found{
				Changes: scaffold.Changes{Files: []scaffold.File{{Path: "src/app.py", Data: []byte("print('kept')\n")}}, Python: []string{"requests==2.32.0"}},
				Left:    []capture.Left{{Path: ".ssh/id\x1b[2J", Why: "a key"}},
			}, nil
		},
		NoWatch: !o.watch,
	}
	if o.noCheck {
		opt.CheckIn = nil
	}
	if o.python {
		opt.Python = tpl.Interpreter()
	}
	d.m = New(opt)
	store := sandboxes.NewStore(sandboxes.StoreOptions{Providers: ps, Owner: owner, Now: d.clock.Now})
	why := ""
	if o.readOnly {
		why = "read-only"
	}
	uo := ui.Options{
		Now: d.clock.Now, Start: present.RouteSandboxes, ReadOnly: why,
		Routes: map[ui.Route]func(ui.Params) ui.Screen{present.RouteSandboxes: func(ui.Params) ui.Screen {
			return sandboxes.New(store, sandboxes.Options{Providers: ps, Owner: owner, CreateIn: "cloud", ReadOnly: o.readOnly})
		}},
		Background: []ui.Background{store, create.New(create.Options{Providers: ps, Owner: owner, Default: "cloud", ReadOnly: o.readOnly})},
	}
	d.m.Install(&uo)
	d.Driver = uitest.Start(t, uo, 120, 40)
	d.UntilShows("web")
	return d
}

func writeFolder(t *testing.T, dir, target string) {
	t.Helper()
	files, err := scaffold.New(scaffold.Options{Kind: scaffold.Python, Name: "demo", Target: tpl.NewTarget(target, "", nil)})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := scaffold.Compare(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	if err := scaffold.Write(dir, changes); err != nil {
		t.Fatal(err)
	}
}

// age gives every file the same time, on the clock of the test.
func age(t *testing.T, dir string, at time.Time) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// step carries out one step of a scenario.
func (d *desk) step(t *testing.T, step string) {
	t.Helper()
	verb, arg, _ := strings.Cut(step, " ")
	switch verb {
	case "keys":
		d.Keys(arg)
	case "type":
		d.Type(arg)
	case "line":
		d.Keys(":")
		d.Type(arg)
		d.Keys("enter")
	case "see":
		d.UntilShows(arg)
	case "unseen":
		if d.Shows(arg) {
			t.Fatalf("%q is shown:\n%s", arg, d.Text())
		}
	case "vanishes":
		d.Until(arg+" to vanish", func() bool { return !d.Shows(arg) })
	case "rows":
		d.Until("the rows "+arg, func() bool { return d.rows() == arg })
	case "pass":
		n, _ := strconv.Atoi(arg)
		for range n {
			d.clock.Add(time.Second)
			d.Send(ui.TickMsg{Now: d.clock.Now()})
		}
	case "calls": // how often an operation was called, and on what
		op, want, _ := strings.Cut(arg, "=")
		d.Until(step, func() bool { return d.called(strings.TrimSpace(op)) == strings.TrimSpace(want) })
	case "fails":
		d.cloud.Script(arg, "", fake.Step{Repeat: true, Err: fake.ServerError("out of \x1b[2Jorder")})
	case "slow":
		d.cloud.Script(arg, "", fake.Step{Err: fake.RateLimited(20 * time.Second)})
	case "works":
		d.cloud.ClearScript(arg, "")
	case "size":
		w, h, _ := strings.Cut(arg, "x")
		wn, _ := strconv.Atoi(w)
		hn, _ := strconv.Atoi(h)
		d.Send(tea.WindowSizeMsg{Width: wn, Height: hn})
	case "file":
		name, want, _ := strings.Cut(arg, " ")
		d.Until(step, func() bool {
			data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(name)))
			return err == nil && strings.Contains(string(data), want)
		})
	case "nofile":
		if _, err := os.Lstat(filepath.Join(d.dir, filepath.FromSlash(arg))); err == nil {
			t.Fatalf("%s is there", arg)
		}
	case "save":
		name, text, _ := strings.Cut(arg, " ")
		write(t, filepath.Join(d.dir, filepath.FromSlash(name)), strings.ReplaceAll(text, `\n`, "\n"))
	case "checks":
		d.Until(step, func() bool { return fmt.Sprint(d.checker.count()) == arg })
	default:
		t.Fatalf("no step %q", step)
	}
}

// rows are the names in the table, top to bottom.
func (d *desk) rows() string {
	known := []string{"base", "py-data", "agent", "gpu", "demo", "broken", "nested/express"}
	var out []string
	in := false
	for _, l := range strings.Split(d.Text(), "\n") {
		words := strings.Fields(strings.NewReplacer("│", " ", "▌", " ").Replace(l))
		switch {
		case len(words) > 1 && (strings.HasPrefix(words[0], "NAME") || words[0] == "FOLDER"):
			in = true
		case in && strings.HasPrefix(strings.TrimSpace(l), "╰"):
			return strings.Join(out, " ")
		case in && len(words) > 0:
			for _, k := range known {
				if words[0] == k || k == "gpu" && strings.HasPrefix(words[0], "gpu") {
					out = append(out, k)
				}
			}
		}
	}
	return strings.Join(out, " ")
}

func (d *desk) called(op string) string {
	var out []string
	for _, c := range d.cloud.CallsOf(op) {
		text := string(c.ID)
		if c.Arg != "" {
			text += "(" + c.Arg + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

type scenario struct {
	name  string
	steps []string
}

func play(t *testing.T, o setup, list []scenario) {
	t.Helper()
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			d := sit(t, o)
			for _, step := range s.steps {
				d.step(t, step)
			}
		})
	}
}

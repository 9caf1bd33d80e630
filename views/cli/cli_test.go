package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/views/cli"
	"abxdash/views/present"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)

// bench is one set-up of the program over fakes.
type bench struct {
	t         *testing.T
	p         *fake.Provider
	providers present.Providers
	local     cli.Local
	terminal  bool
	in        io.Reader
	out       io.Writer // overrides the captured output
	signals   chan os.Signal
	opened    cli.Flags
	dashboard int
	// recordings and play stand for what the program brings along.
	recordings string
	play       func(ctx context.Context, f cli.Flags, path string, rate float64) error
	keys       cli.KeyAdmin
	store      cli.KeyStore
	settings   cli.Settings
	// keymap is the one of the configuration; nil is the default.
	keymap *keymap.Map
}

func newBench(t *testing.T) *bench {
	t.Helper()
	var p *fake.Provider
	p = fake.New(fake.Options{Now: func() time.Time { return noon }, Programs: map[string]fake.Program{
		"chmod": func(context.Context, fake.IO) int { return 0 },
		// job stands for what runs a program: it leaves a result and fails.
		"job": func(ctx context.Context, io fake.IO) int { return job(ctx, p, io) },
	}})
	t.Cleanup(p.Close)
	return &bench{t: t, p: p, providers: present.Providers{p}, in: strings.NewReader(""), signals: make(chan os.Signal, 4)}
}

// job says its arguments and its input, writes the file result, and gives 3.
func job(ctx context.Context, p *fake.Provider, x fake.IO) int {
	in, err := io.ReadAll(x.Stdin)
	if err == nil {
		_, err = fmt.Fprintf(x.Stdout, "got %q\n%s", x.Args[1:], in)
	}
	if err == nil {
		_, err = io.WriteString(x.Stderr, "e\n")
	}
	if err == nil {
		_, err = p.Put(ctx, x.Sandbox(), "result", strings.NewReader("r\n"), 2)
	}
	if err != nil {
		return 1
	}
	return 3
}

// run runs one command and returns its code and what it wrote.
func (b *bench) run(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	w := io.Writer(&out)
	if b.out != nil {
		w = b.out
	}
	app := b.app(w, &errs)
	code = cli.Run(b.t.Context(), app, args)
	if strings.ContainsRune(out.String()+errs.String(), '\x1b') {
		b.t.Errorf("%q wrote an escape sequence", args)
	}
	return code, out.String(), errs.String()
}

// app is the program over the fakes.
func (b *bench) app(out, errs io.Writer) *cli.App {
	app := &cli.App{
		Version: "1.2.3", In: b.in, Out: out, Err: errs,
		IsTerminal: func(any) bool { return b.terminal },
		Now:        func() time.Time { return noon },
		Owner:      present.Owner{User: "ada", Host: "desk"},
		Signals:    func() (<-chan os.Signal, func()) { return b.signals, func() {} },
		Open: func(_ context.Context, f cli.Flags) (*cli.Session, error) {
			b.opened = f
			return &cli.Session{Providers: b.providers, Default: b.providers[0].Name()}, nil
		},
		Dashboard: func(context.Context, cli.Flags) error { b.dashboard++; return nil },
		Checks:    func(context.Context, cli.Flags) []cli.Check { return nil },
		Play:      b.play, Recordings: b.recordings,
		Keys: b.keys, KeyStore: b.store, Settings: b.settings,
	}
	if b.keymap != nil {
		app.Keymap = func() *keymap.Map { return b.keymap }
	}
	if b.local != nil {
		app.Local = func(cli.Flags) (cli.Local, error) { return b.local, nil }
	}
	return app
}

// ok runs a command that must succeed and returns its standard output.
func (b *bench) ok(args ...string) string {
	b.t.Helper()
	code, out, errs := b.run(args...)
	if code != 0 {
		b.t.Fatalf("%q ended with %d: %s", args, code, errs)
	}
	return out
}

func (b *bench) add(list ...client.Sandbox) []client.ID { return b.p.Add(list...) }

// rows are two sandboxes with fixed ids.
func rows() []client.Sandbox {
	return []client.Sandbox{
		{
			ID: "iaaaaaaaaaaaaaaaaaaaa", Name: "web", Template: "base", StartedAt: noon.Add(-2 * time.Hour), ExpiresAt: noon.Add(17 * time.Minute),
			Metadata: map[string]string{"name": "web", client.MetaOwner: "ada", client.MetaHost: "desk"}, CPU: 2, MemoryMB: 512,
		},
		{
			ID: "iabbbbbbbbbbbbbbbbbbb", Name: "a\x1b[31m\nb", Template: "node22", StartedAt: noon.Add(-time.Minute), ExpiresAt: noon.Add(time.Hour), State: client.StatePaused,
		},
	}
}

func TestLs(t *testing.T) {
	b := newBench(t)
	code, out, errs := b.run("ls")
	if code != 0 || out != "" || !strings.Contains(errs, "no sandboxes") {
		t.Errorf("empty: %d %q %q", code, out, errs)
	}
	if got := b.ok("ls", "--json"); got != "[]\n" {
		t.Errorf("empty JSON: %q", got)
	}
	b.add(rows()...)
	want := `ID                     NAME            PROVIDER  TEMPLATE  STATE    ISOLATION  AGE  TTL  OWNER  STRAY
iabbbbbbbbbbbbbbbbbbb  a\u001b[31m\nb  fake      node22    paused   provider    1m   1h  ?      no owner tag
iaaaaaaaaaaaaaaaaaaaa  web             fake      base      running  provider    2h  17m  me
`
	if d := cmp.Diff(want, b.ok("ls")); d != "" {
		t.Error(d)
	}
	if got := b.ok("list", "-q"); got != "iabbbbbbbbbbbbbbbbbbb\niaaaaaaaaaaaaaaaaaaaa\n" {
		t.Errorf("quiet: %q", got)
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(b.ok("ls", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[1]["id"] != "iaaaaaaaaaaaaaaaaaaaa" || list[1]["expires_at"] != "2031-01-01T12:17:00Z" || list[0]["name"] != "a\x1b[31m\nb" {
		t.Errorf("JSON: %v", list)
	}
	for _, key := range []string{"provider", "id", "name", "template", "state", "isolation", "started_at", "expires_at", "cpu", "memory_mb", "metadata", "stray"} {
		if _, ok := list[0][key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	for want, args := range map[string][]string{
		"iaaaaaaaaaaaaaaaaaaaa\n": {"ls", "-q", "--filter", "ttl<30m"},
		"iabbbbbbbbbbbbbbbbbbb\n": {"ls", "-q", "--state", "paused"},
		"":                        {"ls", "-q", "--metadata", "name=none"},
	} {
		if got := b.ok(args...); got != want {
			t.Errorf("%q gave %q", args, got)
		}
	}
	if got := b.ok("ls", "-q", "--stray"); got != "iabbbbbbbbbbbbbbbbbbb\n" {
		t.Errorf("strays: %q", got)
	}
}

func TestLsOfProvidersThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		code    int
		partial bool
	}{
		"server":          {fake.ServerError("boom"), 1, false},
		"key":             {fake.Unauthorized(), 3, false},
		"rate":            {fake.RateLimited(time.Second), 6, false},
		"quota":           {&client.Error{Op: "x", Code: client.CodeQuota}, 6, false},
		"timeout":         {context.DeadlineExceeded, 5, false},
		"partial allowed": {fake.ServerError("boom"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add(rows()[0])
			bad := fake.New(fake.Options{Name: "bad"})
			bad.Script(fake.OpList, "", fake.Step{Err: c.err, Repeat: true})
			b.providers = append(b.providers, bad)
			args := []string{"ls", "-q"}
			if c.partial {
				args = append(args, "--partial-ok")
			}
			code, out, errs := b.run(args...)
			if code != c.code || out != "iaaaaaaaaaaaaaaaaaaaa\n" {
				t.Errorf("code %d, %q, %q", code, out, errs)
			}
			if c.code != 0 && !strings.HasPrefix(errs, "abxdash: ") {
				t.Errorf("errors: %q", errs)
			}
		})
	}
}

func TestRequestTimeout(t *testing.T) {
	b := newBench(t)
	b.p.Script(fake.OpList, "", fake.Step{Hang: true})
	if code, _, errs := b.run("ls", "--request-timeout", "10ms"); code != 5 {
		t.Errorf("code %d, %q", code, errs)
	}
}

func TestInfo(t *testing.T) {
	b := newBench(t)
	b.add(rows()...)
	for _, name := range []string{"iaaaaaaaaaaaaaaaaaaaa", "fake/iaaaaaaaaaaaaaaaaaaaa", "web", "iaaa"} {
		if got := b.ok("info", name, "-q"); got != "iaaaaaaaaaaaaaaaaaaaa\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	got := b.ok("info", "web")
	for _, want := range []string{"ttl        17m", "owner      me", "metadata   abxdash.host=desk", "memory     512M"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	var one struct{ ID, State string }
	if err := json.Unmarshal([]byte(b.ok("info", "web", "--json")), &one); err != nil || one.ID != "iaaaaaaaaaaaaaaaaaaaa" {
		t.Errorf("%+v, %v", one, err)
	}
	for name, want := range map[string]struct {
		code int
		says string
	}{
		"ia":                    {2, "fits 2 sandboxes"},
		"nothing":               {4, "nothing"},
		"izzzzzzzzzzzzzzzzzzzz": {4, "izzz"},
	} {
		code, _, errs := b.run("info", name)
		if code != want.code || !strings.Contains(errs, want.says) {
			t.Errorf("%s: code %d, %q", name, code, errs)
		}
	}
	for _, c := range b.p.Calls() {
		if c.Op != fake.OpList && c.Op != fake.OpGet {
			t.Errorf("looking made the call %+v", c)
		}
	}
}

func TestCreate(t *testing.T) {
	b := newBench(t)
	var got present.SandboxJSON
	text := b.ok("create", "--provider", "local", "--json", "--name", "n1", "--timeout", "20m", "-e", "A=b=c", "-m", "team=x", "--template", "py")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n1" || got.Template != "py" || !got.ExpiresAt.Equal(noon.Add(20*time.Minute)) || b.opened.Provider != "local" {
		t.Errorf("created %+v with flags %+v", got, b.opened)
	}
	want := map[string]string{"name": "n1", "team": "x", client.MetaOwner: "ada", client.MetaHost: "desk", client.MetaStarted: "cli"}
	if d := cmp.Diff(want, got.Metadata); d != "" {
		t.Error(d)
	}
	if out := b.ok("exec", got.ID, "--", "printenv", "A"); out != "b=c\n" {
		t.Errorf("environment: %q", out)
	}
	code, out, errs := b.run("create", "--lifetime", "30m")
	if code != 0 || !regexp.MustCompile(`^i[a-z0-9]{20}\n$`).MatchString(out) || !strings.Contains(errs, "ends in 30m") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	for _, args := range [][]string{{"--net", "maybe"}, {"-e", "novalue"}, {"-m", "=x"}, {"--lifetime", "-1s"}, {"--lifetime", "soon"}, {"surplus"}} {
		if code, _, errs := b.run(append([]string{"create"}, args...)...); code != 2 || !strings.HasPrefix(errs, "abxdash: ") {
			t.Errorf("%q: code %d, %q", args, code, errs)
		}
	}
	if n := len(b.p.CallsOf(fake.OpCreate)); n != 2 {
		t.Errorf("%d creates, want 2", n)
	}
}

func TestExitCodesOfCreate(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"auth":      {&client.Error{Op: "x", Code: client.CodeAuthAKSK}, 3},
		"quota":     {&client.Error{Op: "x", Code: client.CodeQuota}, 6},
		"rate":      {fake.RateLimited(time.Second), 6},
		"template":  {&client.Error{Op: "x", Code: client.CodeTemplateMissing, Kind: client.ErrNotFound}, 4},
		"isolation": {&client.Error{Op: "x", Code: client.CodeIsolation}, 1},
		"server":    {&client.Error{Op: "x", Code: client.CodeLocalServer, Hint: "do this"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.p.Script(fake.OpCreate, "", fake.Step{Err: c.err})
			code, out, errs := b.run("create")
			lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
			if code != c.code || out != "" || len(lines) > 2 || !strings.HasSuffix(lines[0], "("+string(client.CodeOf(c.err))+")") {
				t.Errorf("code %d, %q, %q", code, out, errs)
			}
			if len(lines) == 2 && !strings.HasPrefix(lines[1], "hint: ") {
				t.Errorf("second line %q", lines[1])
			}
		})
	}
}

func TestKill(t *testing.T) {
	b := newBench(t)
	ids := b.add(rows()...)
	if code, _, errs := b.run("kill", "web"); code != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("without a terminal: %d %q", code, errs)
	}
	if code, _, _ := b.run("kill", "web", "nothing", "--yes"); code != 4 {
		t.Errorf("with one that is nothing: %d", code)
	}
	if n := len(b.p.CallsOf(fake.OpKill)); n != 0 {
		t.Fatalf("%d kills before anything was confirmed and resolved", n)
	}
	if got := b.ok("kill", "web", string(ids[0]), "--yes"); got != "killed web (iaaaaaaaaaaaaaaaaaaaa)\n" {
		t.Errorf("%q", got)
	}
	if got := b.ok("kill", string(ids[0]), "--yes"); got != "iaaaaaaaaaaaaaaaaaaaa was already gone\n" { // KIL-01
		t.Errorf("%q", got)
	}
	b.p.Script(fake.OpKill, ids[1], fake.Step{Err: b.p.NotFound("kill", ids[1])})
	var res []map[string]string
	if err := json.Unmarshal([]byte(b.ok("kill", string(ids[1]), "fake/"+string(ids[0]), "--yes", "--json")), &res); err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{
		{"provider": "fake", "id": string(ids[0]), "name": "", "result": "already_gone"},
		{"provider": "fake", "id": string(ids[1]), "name": "a\x1b[31m\nb", "result": "already_gone"},
	}
	if d := cmp.Diff(want, res); d != "" {
		t.Error(d)
	}
	b.p.Script(fake.OpKill, ids[1], fake.Step{Err: fake.ServerError("no")})
	if code, _, errs := b.run("kill", string(ids[1]), "--yes"); code != 1 || !strings.Contains(errs, "no (E9005)") {
		t.Errorf("%d %q", code, errs)
	}
}

func TestKillAsks(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		answer string
		killed bool
	}{
		"yes":             {1, "y\n", true},
		"no":              {1, "n\n", false},
		"enter":           {1, "\n", false},
		"end of input":    {1, "", false},
		"the count":       {11, "11\n", true},
		"yes for many":    {11, "y\n", false},
		"the wrong count": {11, "12\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.terminal, b.in = true, strings.NewReader(c.answer)
			args := []string{"kill"}
			for range c.n {
				args = append(args, string(b.add(client.Sandbox{})[0]))
			}
			code, _, errs := b.run(args...)
			if (code == 0) != c.killed || (len(b.p.All()) == 0) != c.killed {
				t.Errorf("code %d, %d left, %q", code, len(b.p.All()), errs)
			}
			if !strings.Contains(errs, args[1]) {
				t.Errorf("the review %q does not show the id", errs)
			}
		})
	}
}

func TestKillProtected(t *testing.T) {
	b := newBench(t)
	id := b.add(client.Sandbox{Metadata: map[string]string{client.MetaProtect: "true"}})[0]
	if code, _, errs := b.run("kill", string(id), "--yes"); code != 1 || !strings.Contains(errs, "protected") {
		t.Errorf("%d %q", code, errs)
	}
	b.ok("kill", string(id), "--yes", "--force")
}

func TestReadOnly(t *testing.T) {
	b := newBench(t)
	b.add(rows()...)
	b.p.ResetCalls()
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"create"}, 1},
		{[]string{"kill", "web", "--yes"}, 1},
		{[]string{"exec", "web", "--", "true"}, 125},
		{[]string{"attach", "web"}, 125},
		{[]string{"cp", "cli_test.go", "web:x"}, 1},
		{[]string{"try"}, 1},
		{[]string{"local", "stop"}, 1},
	} {
		if code, _, errs := b.run(append([]string{"--read-only"}, c.args...)...); code != c.code || !strings.Contains(errs, "E9013") {
			t.Errorf("%q: %d %q", c.args, code, errs)
		}
	}
	for _, c := range b.p.Calls() {
		if c.Op != fake.OpGet && c.Op != fake.OpList {
			t.Errorf("call %+v", c)
		}
	}
}

// TUI-02 and TUI-03: without a terminal one line that names another way, at once.
func TestNoTerminal(t *testing.T) {
	b := newBench(t)
	code, out, errs := b.run()
	if code != 2 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "abxdash ls") || b.dashboard != 0 {
		t.Errorf("%d %q %q", code, out, errs)
	}
	b.terminal = true
	if code, _, _ := b.run(); code != 0 || b.dashboard != 1 {
		t.Errorf("with a terminal: %d, opened %d times", code, b.dashboard)
	}
	b.terminal = false
	for _, args := range [][]string{{"attach", "web"}} {
		b.add(rows()[0])
		if code, _, errs := b.run(args...); code != 125 || !strings.Contains(errs, "E9014") {
			t.Errorf("%q: %d %q", args, code, errs)
		}
	}
}

func TestUsage(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"lss", 2, "did you mean: abxdash ls"},
		{"ls --bogus", 2, "abxdash ls --help"},
		{"info", 2, "usage: abxdash info SANDBOX"},
		{"ls x", 2, "no arguments"},
		{"ls --request-timeout -1s", 2, "negative"},
		{"ls --filter ttl<", 2, "filter"},
		{"exec web", 125, "needs a sandbox and a command"},
		{"exec web ls -l", 2, "put -- before the command"},
		{"cp a b", 2, "SANDBOX:PATH"},
		{"local bogus", 2, "local bogus"},
		{"attach web --pid -1", 125, "--pid"},
	} {
		code, out, errs := b.run(strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") > 2 {
			t.Errorf("%s: %d %q %q", c.args, code, out, errs)
		}
	}
	if got := b.ok("version"); !strings.HasPrefix(got, "abxdash 1.2.3 (go") {
		t.Errorf("%q", got)
	}
	if got := b.ok("--help"); !strings.Contains(got, "Exit codes") {
		t.Errorf("%q", got)
	}
	if got := b.ok("completion", "bash"); len(got) < 1000 {
		t.Errorf("completion is %d bytes", len(got))
	}
	var v map[string]string
	if err := json.Unmarshal([]byte(b.ok("version", "--json")), &v); err != nil || v["version"] != "1.2.3" {
		t.Errorf("%v, %v", v, err)
	}
}

func TestDoctor(t *testing.T) {
	b := newBench(t)
	if got := b.ok("doctor", "--json"); !strings.Contains(got, `"name": "terminal"`) {
		t.Errorf("%q", got)
	}
}

// brokenOut is standard output whose reader has gone.
type brokenOut struct{}

func (brokenOut) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestBrokenPipeIsQuiet(t *testing.T) {
	b := newBench(t)
	id := b.add(rows()...)[0]
	b.out = brokenOut{}
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}, {"info", "web"}, {"exec", string(id), "--", "yes"}} {
		if code, _, errs := b.run(args...); code != 141 || errs != "" {
			t.Errorf("%q: %d %q", args, code, errs)
		}
	}
	if got := b.p.CallsOf(fake.OpSignal); len(got) != 1 || got[0].Arg != "15" {
		t.Errorf("the command was not ended: %+v", got)
	}
}

var errBoom = errors.New("boom")

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// able is the fake provider with everything that the commands below need.
type able struct {
	*fake.Provider
	paused   []string
	snaps    []client.Snapshot
	created  client.CreateSpec
	dialAddr string
}

func (a *able) Capabilities() client.Capabilities {
	c := client.Capabilities{Have: maps.Clone(a.Provider.Capabilities().Have)}
	for _, k := range []client.Capability{
		client.CapPause, client.CapMetrics, client.CapLogs, client.CapSnapshot, client.CapPorts, client.CapFolders,
	} {
		c.Have[k] = true
	}
	return c
}

func (a *able) Sandboxes() client.Sandboxes { return a }

func (a *able) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	a.created = spec
	return a.Provider.Create(ctx, spec)
}

func (a *able) Pause(_ context.Context, id client.ID) error {
	a.paused = append(a.paused, "pause")
	a.Change(id, func(s *client.Sandbox) { s.State = client.StatePaused })
	return nil
}

func (a *able) Resume(_ context.Context, id client.ID, d time.Duration) error {
	a.paused = append(a.paused, "resume "+d.String())
	a.Change(id, func(s *client.Sandbox) { s.State, s.ExpiresAt = client.StateRunning, noon.Add(d) })
	return nil
}

func (a *able) Metrics(context.Context, client.ID, time.Time, time.Time) ([]client.Metric, error) {
	return []client.Metric{{At: noon, CPUCount: 2, CPUUsed: 12.5, MemUsed: 1 << 20, MemTotal: 1 << 30, DiskUsed: 5}}, nil
}

func (a *able) Logs(_ context.Context, _ client.ID, since time.Time, _ int) ([]client.LogEntry, error) {
	out := []client.LogEntry{
		{At: noon, Level: "debug", Message: "small"},
		{At: noon.Add(time.Second), Level: "info", Message: "process \x1b[31mstarted", Fields: map[string]string{"pid": "7", "cmd": "a\x1bb"}},
		{At: noon.Add(2 * time.Second), Level: "error", Message: "bad"},
	}
	for len(out) > 0 && out[0].At.Before(since) {
		out = out[1:]
	}
	return out, nil
}

func (a *able) Snapshot(_ context.Context, _ client.ID, name string) (client.Snapshot, error) {
	s := client.Snapshot{ID: name + ":default", Names: []string{name + ":default"}}
	a.snaps = append(a.snaps, s)
	return s, nil
}

func (a *able) Snapshots(_ context.Context, q client.SnapshotQuery) ([]client.Snapshot, string, error) {
	if q.PageToken == "" && len(a.snaps) > 1 {
		return a.snaps[:1], "more", nil
	}
	if q.PageToken == "more" {
		return a.snaps[1:], "", nil
	}
	return a.snaps, "", nil
}

func (a *able) DeleteSnapshot(_ context.Context, id string) error {
	for i, s := range a.snaps {
		if s.ID == id {
			a.snaps = append(a.snaps[:i:i], a.snaps[i+1:]...)
			return nil
		}
	}
	return &client.Error{Op: "delete snapshot", Code: client.CodeTemplateMissing, Kind: client.ErrNotFound}
}

func (a *able) DialPort(ctx context.Context, _ client.ID, port int) (net.Conn, error) {
	if port != 8000 {
		return nil, errors.New("nothing listens there")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", a.dialAddr)
}

// newAble is a bench over one sandbox called "box".
func newAble(t *testing.T) (*bench, *able, client.ID) {
	t.Helper()
	b := newBench(t)
	a := &able{Provider: b.p}
	b.providers = present.Providers{a}
	id := b.p.Add(client.Sandbox{Name: "box", State: client.StateRunning, StartedAt: noon, ExpiresAt: noon.Add(time.Hour)})[0]
	return b, a, id
}

func TestPauseResumeTTL(t *testing.T) {
	b, a, id := newAble(t)
	b.ok("pause", "box")
	var sb present.SandboxJSON
	if err := json.Unmarshal([]byte(b.ok("resume", "box", "--lifetime", "20m", "--json")), &sb); err != nil || sb.State != "running" || sb.ID != string(id) {
		t.Errorf("%+v, %v", sb, err)
	}
	if d := cmp.Diff([]string{"pause", "resume 20m0s"}, a.paused); d != "" {
		t.Error(d)
	}
	if got := b.ok("ttl", "box"); got != "20m\n" {
		t.Errorf("ttl: %q", got)
	}
	if calls := b.p.CallsOf("set lifetime"); len(calls) != 0 {
		t.Errorf("looking changed it: %v", calls)
	}
	b.ok("ttl", "box", "+10m")
	b.ok("ttl", "box", "5m")
	var ttl struct {
		RemainingS int64 `json:"remaining_s"`
	}
	if err := json.Unmarshal([]byte(b.ok("ttl", "box", "--json")), &ttl); err != nil || ttl.RemainingS != 300 {
		t.Errorf("%+v, %v", ttl, err)
	}
	for _, args := range [][]string{{"ttl", "box", "soon"}, {"ttl", "box", "-5m"}, {"resume", "box", "--lifetime", "0s"}, {"pause"}} {
		if code, _, _ := b.run(args...); code != cli.ExitUsage {
			t.Errorf("%q: %d", args, code)
		}
	}
	for _, args := range [][]string{{"pause", "box"}, {"resume", "box"}, {"ttl", "box", "5m"}, {"snapshot", "create", "box"}} {
		if code, _, errs := b.run(append(args, "--read-only")...); code == 0 || !strings.Contains(errs, "E9013") {
			t.Errorf("%q read-only: %d %s", args, code, errs)
		}
	}
}

func TestMissingCapabilityIsSaid(t *testing.T) {
	b := newBench(t)
	b.p.Add(client.Sandbox{Name: "box", State: client.StateRunning})
	for _, args := range [][]string{{"metrics", "box"}, {"snapshot", "create", "box"}, {"create", "--copy", "."}} {
		if code, _, errs := b.run(args...); code != cli.ExitError || !strings.Contains(errs, "E8004") {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}

func TestMetricsAndLogs(t *testing.T) {
	b, _, _ := newAble(t)
	if got := b.ok("metrics", "box"); !strings.Contains(got, "12.5% of 2") || !strings.Contains(got, "1M / 1G") && !strings.Contains(got, "1.0M / 1.0G") {
		t.Errorf("metrics: %s", got)
	}
	var points []map[string]any
	if err := json.Unmarshal([]byte(b.ok("metrics", "box", "--json")), &points); err != nil || len(points) != 1 || points[0]["mem_used"] != float64(1<<20) {
		t.Errorf("%v, %v", points, err)
	}
	// bench.run fails on escape sequences.
	if got := b.ok("logs", "box"); strings.Count(got, "\n") != 2 || !strings.Contains(got, "pid=7") {
		t.Errorf("logs: %q", got)
	}
	for args, want := range map[string]int{"--level debug": 3, "--level error": 1, "-n 1": 1} {
		if got := b.ok(append([]string{"logs", "box"}, strings.Fields(args)...)...); strings.Count(got, "\n") != want {
			t.Errorf("logs %s: %q", args, got)
		}
	}
	if code, _, _ := b.run("logs", "box", "--level", "loud"); code != cli.ExitUsage {
		t.Errorf("a level that does not exist: %d", code)
	}
}

func TestSnapshotCommands(t *testing.T) {
	b, a, _ := newAble(t)
	if got := b.ok("snapshot", "ls", "--json"); got != "[]\n" {
		t.Errorf("none: %q", got)
	}
	if got := b.ok("snapshot", "create", "box", "-n", "one"); got != "one:default\n" {
		t.Errorf("create: %q", got)
	}
	b.ok("snapshot", "create", "box", "-n", "two")
	if got := b.ok("snapshot", "ls", "-q"); got != "one:default\ntwo:default\n" {
		t.Errorf("ls: %q", got)
	}
	if code, _, errs := b.run("snapshot", "rm", "one:default"); code == 0 || len(a.snaps) != 2 {
		t.Errorf("deleted without being asked: %d %s", code, errs)
	}
	b.ok("snapshot", "rm", "one:default", "--yes")
	if code, _, _ := b.run("snapshot", "rm", "one:default", "--yes"); code != cli.ExitNotFound {
		t.Errorf("deleted twice: %d", code)
	}
}

func TestCreateWithFolders(t *testing.T) {
	b, a, _ := newAble(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	b.ok("create", "--mount", ".:ro", "--mount", "/a/b:/mnt/b", "--mount", "/a:/x/:ro", "--copy", "sub:/home/user/s")
	want := []client.HostFolder{
		{Host: here, ReadOnly: true},
		{Host: "/a/b", Target: "/mnt/b"},
		{Host: "/a", Target: "/x", ReadOnly: true},
		{Host: filepath.Join(here, "sub"), Target: "/home/user/s", Copy: true},
	}
	if d := cmp.Diff(want, a.created.Folders); d != "" {
		t.Error(d)
	}
	for _, args := range [][]string{{"create", "--copy", "x:ro"}, {"create", "--mount", ":ro"}} {
		if code, _, _ := b.run(args...); code != cli.ExitUsage {
			t.Errorf("%q: %d", args, code)
		}
	}
}

func TestForwardPassesConnections(t *testing.T) {
	b, a, _ := newAble(t)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from inside") }))
	defer inside.Close()
	a.dialAddr = inside.Listener.Addr().String()
	lines, w := io.Pipe()
	b.out = w
	var wg sync.WaitGroup
	var code int
	wg.Go(func() {
		code, _, _ = b.run("forward", "box", "0:8000", "--json")
		_ = w.Close()
	})
	var at struct {
		Local string `json:"local"`
		Port  int    `json:"port"`
		URL   string `json:"url"`
	}
	if err := json.NewDecoder(lines).Decode(&at); err != nil || at.Port != 8000 {
		t.Fatalf("%+v, %v", at, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Get(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if string(text) != "from inside" {
		t.Errorf("%q", text)
	}
	b.signals <- os.Interrupt
	wg.Wait()
	if code != 130 {
		t.Errorf("code %d", code)
	}
	for _, args := range [][]string{{"forward", "box", "x"}, {"forward", "box", "0:0"}, {"forward", "box", "70000"}, {"forward", "box"}} {
		if code, _, _ := b.run(args...); code != cli.ExitUsage {
			t.Errorf("%q: %d", args, code)
		}
	}
}

func TestURLSaysWhatToDoInstead(t *testing.T) {
	b, _, _ := newAble(t)
	code, _, errs := b.run("url", "box", "8000")
	if code != cli.ExitError || !strings.Contains(errs, "abxdash forward box 8000") {
		t.Errorf("%d %s", code, errs)
	}
}

// listenLocal is a local server that can be listened on.
type listenLocal struct {
	stubLocal
	got cli.ListenOptions
}

func (l *listenLocal) Listen(_ context.Context, o cli.ListenOptions, ready func(cli.Listening)) error {
	l.got = o
	ready(cli.Listening{URL: "http://127.0.0.1:4000", APIKey: "e2b_00ff", Domain: "localhost:4000"})
	return nil
}

func TestLocalListen(t *testing.T) {
	b := newBench(t)
	l := &listenLocal{}
	b.local = l
	out := b.ok("local", "listen", "--addr", "127.0.0.1:4000", "--tls")
	for _, want := range []string{"http://127.0.0.1:4000", "e2b_00ff", "_API_URL=http://127.0.0.1:4000", "_DOMAIN=localhost:4000"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if l.got != (cli.ListenOptions{Addr: "127.0.0.1:4000", TLS: true}) {
		t.Errorf("%+v", l.got)
	}
	first, _, _ := strings.Cut(b.ok("local", "listen", "--json"), "\n")
	var in cli.Listening
	if err := json.Unmarshal([]byte(first), &in); err != nil || in.URL != "http://127.0.0.1:4000" || in.APIKey != "e2b_00ff" {
		t.Errorf("%q, %v", first, err)
	}
	if code, _, errs := b.run("local", "listen", "--read-only"); code == 0 || !strings.Contains(errs, "E9013") {
		t.Errorf("read-only: %d %s", code, errs)
	}
	b.local = &stubLocal{}
	if code, _, errs := b.run("local", "listen"); code != cli.ExitError || !strings.Contains(errs, "E8004") {
		t.Errorf("one that cannot: %d %s", code, errs)
	}
}

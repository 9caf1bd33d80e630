package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

// scene is a sandbox whose age, facts, logs, numbers and ports are always the
// same, in a window of a variant.
type scene struct {
	*world
	clock *viewtest.Clock
}

// portrait is what the scenes show.
func portrait(now time.Time) client.Sandbox {
	return client.Sandbox{
		ID: "i4dct03zurabcdefghxyz", Name: "web-agent-3", Template: "py-data:v4", State: client.StateRunning,
		CPU: 2, MemoryMB: 512, DiskMB: 4096, EnvdVersion: "0.4.2",
		StartedAt: now.Add(-72 * time.Minute), ExpiresAt: now.Add(17*time.Minute + 30*time.Second),
		Metadata: map[string]string{
			client.MetaOwner: "anna", client.MetaHost: "desk", "app": "构建机器人", "run": "812",
			"note": "a value that is longer than a narrow window has room for, and then some",
		},
		Raw: []byte(`{"sandboxID":"i4dct03zurabcdefghxyz","templateID":"py-data:v4","envdAccessToken":"ea-secret","cpuCount":2,"memoryMB":512,"metadata":{"app":"构建机器人","run":"812"},"network":{"allowOut":["pypi.org","files.pythonhosted.org"]}}`),
	}
}

// still is a provider whose numbers, logs and addresses do not move.
type still struct {
	*addressed
	now time.Time
}

func (p still) Capabilities() client.Capabilities {
	c := p.addressed.Capabilities()
	c.Have[client.CapMetrics], c.Have[client.CapLogs] = true, true
	return c
}

func (p still) Metrics(_ context.Context, _ client.ID, _, to time.Time) ([]client.Metric, error) {
	out := make([]client.Metric, 0, 60)
	for i := range 60 {
		out = append(out, client.Metric{
			At: to.Add(time.Duration(i-59) * 5 * time.Second), CPUCount: 2, CPUUsed: float64((i * 7) % 100),
			MemUsed: int64(128+4*i) << 20, MemTotal: 512 << 20, DiskUsed: 1 << 30, DiskTotal: 4 << 30,
		})
	}
	return out, nil
}

func (p still) Logs(context.Context, client.ID, time.Time, int) ([]client.LogEntry, error) {
	at := p.now.Add(-time.Minute)
	return []client.LogEntry{
		{At: at, Level: "info", Message: "listening on port 8080", Fields: map[string]string{"pid": "7"}},
		{At: at.Add(2 * time.Second), Level: "warn", Message: "slow request: GET /search?q=a+rather+long+question took 1.8 s, which is more than the budget"},
		{At: at.Add(3 * time.Second), Level: "error", Message: "disk\nfull\x1b[31m", Fields: map[string]string{"path": "/data"}},
		{At: at.Add(4 * time.Second), Level: "debug", Message: "构建完成"},
	}, nil
}

func pose(t *testing.T, v uitest.Variant, tab present.Tab) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	s := &scene{clock: clock}
	s.world = open(t, setup{
		tab: tab, sandbox: portrait(clock.Now()), w: v.W, h: v.H,
		options: fake.Options{Name: "cloud", Now: clock.Now},
		wrap: func(p *fake.Provider) client.Provider {
			return still{addressed: &addressed{Provider: p}, now: clock.Now()}
		},
		change: func(o ui.Options) ui.Options {
			o.Now = clock.Now
			return v.Options(o)
		},
	})
	return s
}

// pass lets a time pass.
func (s *scene) pass(d time.Duration) {
	s.clock.Add(d)
	s.Send(ui.TickMsg{Now: s.clock.Now()})
}

// golden waits in a large window until something is shown there, and compares
// the window of the variant with its golden file.
func (s *scene) golden(t *testing.T, v uitest.Variant, name string, texts ...string) {
	t.Helper()
	s.Send(tea.WindowSizeMsg{Width: 200, Height: 60})
	for _, text := range texts {
		s.UntilShows(text)
	}
	s.Send(tea.WindowSizeMsg{Width: v.W, Height: v.H})
	uitest.Golden(t, v.Name(name), s.Dump())
}

func TestGoldenOverview(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabOverview)
		p, err := s.fake.Start(t.Context(), s.id, client.ShellCommand("sleep 1000"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		for _, e := range []present.EventMsg{
			{Kind: present.EventState, Text: "created here"},
			{Kind: present.EventCommand, Text: "pytest -q: exit 4", Bad: true},
			{Kind: present.EventKill, Text: "kill undone"},
		} {
			s.clock.Add(time.Second)
			e.Key, e.At = present.Key{Provider: "cloud", ID: s.id}, s.clock.Now()
			s.Send(e)
		}
		s.pass(10 * time.Second)
		s.golden(t, v, "overview", "sleep 1000", "kill undone")
		s.Keys("G")
		uitest.Golden(t, v.Name("overview-end"), s.Dump())
		s.Keys("J")
		s.golden(t, v, "raw", `"sandboxID"`)
	}
}

func TestGoldenOutput(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabOutput)
		s.Send(tea.WindowSizeMsg{Width: 200, Height: 60})
		s.run(`echo fine; printf '\033[32mgreen\033[0m and plain\n'`, "exit 0  0.0s")
		s.pass(time.Minute)
		s.run("echo 'no such table: users' >&2; exit 3", "exit 3  0.0s")
		s.pass(time.Minute)
		s.Keys("!")
		s.Type("echo started; sleep 1000")
		s.Keys("enter esc")
		s.Until("the first line of the running one", func() bool { return strings.Count(s.Text(), "started") >= 3 })
		s.pass(12 * time.Second)
		s.golden(t, v, "output-running", "12.0s")
		s.Keys("{")
		s.golden(t, v, "output-failed", "#2 echo 'no such table: users' >&2; exit 3 ─ exit 3")
		s.Keys("{")
		s.golden(t, v, "output-done", "─ exit 0")
	}
}

func TestGoldenFiles(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabFiles)
		s.settle()
		put(t, s.world, "src/app.py", "import os\n\n\ndef main():\n    # says it\n    print(\"hi\", os.getcwd(), 42)\n")
		put(t, s.world, "构建说明.md", "# 构建\n")
		put(t, s.world, "a-file-with-a-name-that-is-longer-than-most-columns.txt", "x\n")
		s.Keys("ctrl+r")
		s.golden(t, v, "files-home", "src/", "构建说明.md")
		s.on("src")
		s.Keys("enter")
		s.UntilShows("app.py")
		s.Keys("G")
		s.golden(t, v, "files-preview", "os.getcwd()")
		s.Keys("enter")
		uitest.Golden(t, v.Name("files-reading"), s.Dump())
	}
}

func TestGoldenPorts(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabOverview)
		put(t, s.world, "/proc/net/tcp", listening)
		s.Keys("5")
		s.golden(t, v, "ports", "https://8080-", "5432")
	}
}

func TestGoldenMetrics(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabMetrics)
		s.golden(t, v, "metrics", "of 2 vCPU", "█")
	}
}

func TestGoldenLogs(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabLogs)
		s.golden(t, v, "logs", "构建完成")
	}
}

func TestGoldenShell(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := pose(t, v, present.TabShell)
		s.Until("a prompt", func() bool { return s.Shows("$") })
		s.Type(`printf '\033[1;31mred\033[0m \033[42;30mon green\033[0m \033[38;5;208morange\033[0m 构建\n'`)
		s.Keys("enter")
		s.Until("the answer and a prompt", func() bool {
			return strings.Contains(s.Text(), "on green orange 构建\n") && strings.Count(s.Text(), "user@sandbox") == 2
		})
		uitest.Golden(t, v.Name("shell"), s.Dump())
		s.Keys("ctrl+] d")
		s.UntilShows("detached")
	}
}

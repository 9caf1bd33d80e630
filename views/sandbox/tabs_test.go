package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/views/present"
)

// tick lets time pass for the screens, without waiting.
func (w *world) tick(d time.Duration) { w.Send(ui.TickMsg{Now: time.Now().Add(d)}) }

func TestOverviewTellsWhatHappened(t *testing.T) {
	w := open(t, setup{})
	put(t, w, "notes.txt", "x")
	w.UntilShows("Metadata")
	w.Keys("!")
	w.Type("echo one; exit 4")
	w.Keys("enter")
	w.UntilShows("exit 4")
	w.Keys("esc 3")
	w.settle()
	w.on("notes")
	w.Keys("R ctrl+u")
	w.Type("kept.txt")
	w.Keys("enter")
	w.Until("the file to move", func() bool { return w.exists("/home/user/kept.txt") })
	w.Keys("esc 1")
	w.UntilShows("Happened")
	w.UntilShows("$ echo one; exit 4")
	w.UntilShows("echo one; exit 4: exit 4")
	w.UntilShows("renamed notes.txt to /home/user/kept.txt")
	w.Send(present.KillPendingMsg{Keys: []present.Key{{Provider: "fake", ID: w.id}}}, present.KillUndoneMsg{Keys: []present.Key{{Provider: "fake", ID: w.id}}})
	w.UntilShows("kill undone")
	sb, err := w.fake.Get(context.Background(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	sb.State = client.StatePaused
	w.Send(present.UpdatedMsg{Sandbox: sb})
	w.UntilShows("running → paused")
}

func TestOverviewTellsThatTheEndMovedOnce(t *testing.T) {
	w := open(t, setup{sandbox: client.Sandbox{ID: "imoves0000000000001", State: client.StateRunning, ExpiresAt: time.Now().Add(time.Hour)}})
	sb, err := w.fake.Get(context.Background(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		sb.ExpiresAt = sb.ExpiresAt.Add(10 * time.Minute)
		w.Send(present.UpdatedMsg{Sandbox: sb})
	}
	w.UntilShows("Happened")
	if n := strings.Count(w.Text(), "  end "); n != 1 || !w.Shows("moved 5 times") {
		t.Errorf("%d lines about an end that moved five times, want 1:\n%s", n, w.Text())
	}
}

func TestOverviewShowsProcessesOnlyWhileItIsLookedAt(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.Type("sleep 1000")
	w.Keys("enter")
	w.UntilShows("running")
	w.Keys("esc")
	if n := len(w.fake.CallsOf(fake.OpProcesses)); n != 0 {
		t.Fatalf("asked %d times before it was looked at", n)
	}
	w.Keys("1")
	w.UntilShows("Processes")
	w.UntilShows("$ sleep 1000")
	w.Keys("2")
	before := len(w.fake.CallsOf(fake.OpProcesses))
	for i := range 20 {
		w.tick(time.Duration(i) * time.Minute)
	}
	if n := len(w.fake.CallsOf(fake.OpProcesses)); n != before {
		t.Errorf("asked %d times while hidden", n-before)
	}
}

func TestRawShowsAndCopiesTheProvidersJSON(t *testing.T) {
	w := open(t, setup{sandbox: client.Sandbox{
		ID: "iraw000000000000001", Name: "web", State: client.StateRunning,
		Raw: []byte(`{"sandboxID":"iraw","envdAccessToken":"ea-secret","n":12345678901234567890,"evil":"\u001b[31mx","nested":{"a":[1,2]}}`),
	}})
	w.Keys("J")
	w.UntilShows(`"sandboxID": "iraw"`)
	w.UntilShows(`"envdAccessToken": "…"`)
	w.UntilShows(`12345678901234567890`)
	w.UntilShows(`\u001b[31mx`)
	if w.Shows("ea-secret") {
		t.Error("a token is shown")
	}
	w.Keys("/")
	w.Type("nested")
	w.press("enter", `"nested"`)
	w.Keys("Y esc")
	w.closes("esc", "sandboxID")
	for _, m := range w.Ignored {
		if strings.Contains(fmt.Sprint(m), "ea-secret") {
			t.Error("a token is copied")
		}
	}
}

// listening is what the kernel of a sandbox says with two listeners.
const listening = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0000000000000000 100 0 0 10 0
   2: 0100007F:9999 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4244 1 0000000000000000 100 0 0 10 0
`

// dialing is a provider whose ports are echoes of what is sent to them.
type dialing struct {
	*fake.Provider
	mu    sync.Mutex
	ports []int
}

func (p *dialing) DialPort(_ context.Context, _ client.ID, port int) (net.Conn, error) {
	p.mu.Lock()
	p.ports = append(p.ports, port)
	p.mu.Unlock()
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		buf := make([]byte, 64)
		n, err := far.Read(buf)
		if err == nil {
			_, _ = far.Write(append([]byte("echo "), buf[:n]...))
		}
	}()
	return near, nil
}

func TestPortsListWhoListensAndForward(t *testing.T) {
	var far *dialing
	w := open(t, setup{wrap: func(p *fake.Provider) client.Provider {
		far = &dialing{Provider: p}
		return far
	}})
	put(t, w, "/proc/net/tcp", listening)
	w.Keys("5")
	w.UntilShows("8080")
	w.UntilShows("5432")
	w.UntilShows("127.0.0.1")
	w.UntilShows("F forwards it here")
	if w.Shows("39321") {
		t.Error("a connection is listed as a listener")
	}
	w.Keys("y")
	w.UntilShows("gives ports no address")
	w.Keys("G F")
	w.UntilShows("http://127.0.0.1:")
	_, rest, _ := strings.Cut(w.Text(), "http://")
	addr := strings.Fields(rest)[0]
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	_ = conn.Close()
	if err != nil || string(got) != "echo hi" {
		t.Errorf("%q, %v", got, err)
	}
	if len(far.ports) != 1 || far.ports[0] != 8080 {
		t.Errorf("dialled %v", far.ports)
	}
	w.Keys("1")
	w.UntilShows("1 port forwarded")
	w.Keys("5 G Q")
	w.said("only this machine reaches a forward")
	w.Keys("F")
	w.said("no longer forwarded")
	w.Until("the port to be closed", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// addressed is a provider whose ports have addresses that need a token.
type addressed struct {
	*fake.Provider
	url string
}

func (p *addressed) Capabilities() client.Capabilities {
	c := p.Provider.Capabilities()
	c.Have[client.CapPorts] = true
	return c
}

func (p *addressed) PortURL(id client.ID, port int) (string, error) {
	return fmt.Sprintf("https://%d-%s.example.test", port, id), nil
}

func (p *addressed) ResolvePort(context.Context, client.ID, int) (client.Address, error) {
	return client.Address{URL: p.url, Header: http.Header{"X-Traffic-Token": {"tok"}}}, nil
}

func (p *addressed) HTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func TestPortsWithAddresses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "%s with %s", r.URL.Path, r.Header.Get("X-Traffic-Token"))
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close(); <-done })

	var opened []string
	w := open(t, setup{openURL: func(u string) error { opened = append(opened, u); return nil }, wrap: func(p *fake.Provider) client.Provider {
		return &addressed{Provider: p, url: "http://" + ln.Addr().String()}
	}})
	put(t, w, "/proc/net/tcp", listening)
	w.Keys("5")
	w.UntilShows("https://8080-ionesandbox0000000001.example.test")
	w.Keys("G o")
	w.UntilShows("opened https://8080-")
	if len(opened) != 1 || opened[0] != "https://8080-ionesandbox0000000001.example.test" {
		t.Errorf("opened %v", opened)
	}
	w.press("Q", "QR code")
	w.UntilShows("▀")
	w.closes("esc", "QR code")
	w.Keys("F")
	_, rest, _ := strings.Cut(w.said("forwarded to 127.0.0.1:"), "forwarded to ")
	local := strings.Fields(rest)[0]
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(host, origin string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, "http://"+local+"/page", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		res, err := hc.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(body)
	}
	if code, body := ask("", ""); code != 200 || body != "/page with tok" {
		t.Errorf("%d %q", code, body)
	}
	if code, _ := ask("evil.example.com", ""); code != http.StatusForbidden {
		t.Errorf("another name is let in: %d", code)
	}
	if code, _ := ask("", "https://evil.example.com"); code != http.StatusForbidden {
		t.Errorf("a page of another origin is let in: %d", code)
	}
}

func TestPortsAreNotAskedWhileHiddenOrPaused(t *testing.T) {
	w := open(t, setup{sandbox: client.Sandbox{ID: "ipaused0000000000001", State: client.StatePaused}})
	w.Keys("5")
	w.UntilShows("only a running sandbox can be asked")
	w.tick(time.Hour)
	if n := len(w.fake.CallsOf(fake.OpStart)); n != 0 {
		t.Errorf("a paused sandbox was asked %d times", n)
	}
	w = open(t, setup{})
	w.Keys("5")
	w.UntilShows("Nothing listens")
	w.Keys("1")
	before := len(w.fake.CallsOf(fake.OpStart))
	for i := range 10 {
		w.tick(time.Duration(i) * time.Hour)
	}
	if n := len(w.fake.CallsOf(fake.OpStart)); n != before {
		t.Errorf("asked %d times while hidden", n-before)
	}
}

// measured is a provider with metrics and logs.
type measured struct {
	*fake.Provider
	mu     sync.Mutex
	ranges []time.Duration
	logs   []client.LogEntry
	since  []time.Time
	fail   error
}

func (p *measured) Capabilities() client.Capabilities {
	c := p.Provider.Capabilities()
	c.Have[client.CapMetrics], c.Have[client.CapLogs] = true, true
	return c
}

func (p *measured) Metrics(_ context.Context, _ client.ID, from, to time.Time) ([]client.Metric, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges = append(p.ranges, to.Sub(from).Round(time.Second))
	if p.fail != nil {
		return nil, p.fail
	}
	var out []client.Metric
	for i := range 60 {
		out = append(out, client.Metric{
			At: to.Add(time.Duration(i-59) * 5 * time.Second), CPUCount: 2, CPUUsed: float64(i),
			MemUsed: 256 << 20, MemTotal: 512 << 20, DiskUsed: 1 << 30, DiskTotal: 4 << 30,
		})
	}
	return out, nil
}

func (p *measured) Logs(_ context.Context, _ client.ID, since time.Time, _ int) ([]client.LogEntry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = append(p.since, since)
	var out []client.LogEntry
	for _, e := range p.logs {
		if !e.At.Before(since) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (p *measured) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ranges)
}

func TestMetricsChartsAndRanges(t *testing.T) {
	var p *measured
	w := open(t, setup{
		sandbox: client.Sandbox{ID: "imetrics000000000001", State: client.StateRunning, StartedAt: time.Now().Add(-3 * time.Hour)},
		wrap:    func(f *fake.Provider) client.Provider { p = &measured{Provider: f}; return p },
	})
	w.Keys("6")
	w.UntilShows("59% of 2 vCPU")
	w.UntilShows("256M of 512M, 50%")
	w.UntilShows("1.0G of 4.0G, 25%")
	w.UntilShows("█")
	w.Keys("v")
	w.UntilShows("Metrics ─ 1 hour")
	w.Keys("v")
	w.UntilShows("Metrics ─ life")
	w.Until("three ranges", func() bool { return p.asked() == 3 })
	if p.ranges[0] != 5*time.Minute || p.ranges[1] != time.Hour || p.ranges[2] < 3*time.Hour-time.Minute {
		t.Errorf("asked for %v", p.ranges)
	}
	w.Keys("1")
	for i := range 10 {
		w.tick(time.Duration(i) * time.Hour)
	}
	if n := p.asked(); n != 3 {
		t.Errorf("asked %d times while hidden", n-3)
	}
	p.mu.Lock()
	p.fail = fake.ServerError("metrics are down")
	p.mu.Unlock()
	w.Keys("6")
	w.UntilShows("metrics are down")
	w.UntilShows("256M of 512M") // what was known stays
}

func TestMetricsAndLogsSayWhyTheyAreMissing(t *testing.T) {
	w := open(t, setup{})
	w.Keys("6")
	w.UntilShows("uses nothing that could be measured")
	w.Keys("7")
	w.UntilShows("no logs with")
}

func TestLogsFollow(t *testing.T) {
	var p *measured
	at := time.Now().Add(-time.Minute)
	w := open(t, setup{wrap: func(f *fake.Provider) client.Provider {
		p = &measured{Provider: f, logs: []client.LogEntry{
			{At: at, Level: "info", Message: "started\x1b[31m", Fields: map[string]string{"pid": "7"}},
			{At: at.Add(time.Second), Level: "error", Message: "disk\nfull"},
		}}
		return p
	}})
	w.Keys("7")
	w.UntilShows("info  started␛[31m  pid=7")
	w.UntilShows("error disk↵full")
	w.Keys("e")
	w.Until("errors only", func() bool { return !w.Shows("started") && w.Shows("disk↵full") })
	w.Keys("e")
	p.mu.Lock()
	p.logs = append(p.logs, client.LogEntry{At: at.Add(2 * time.Second), Level: "info", Message: "one more"})
	p.mu.Unlock()
	w.tick(time.Minute)
	w.UntilShows("one more")
	if n := strings.Count(w.Text(), "started"); n != 1 {
		t.Errorf("an old entry is there %d times", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := at.Add(time.Second + time.Millisecond); !p.since[len(p.since)-1].Equal(want) {
		t.Errorf("asked from %v, want %v", p.since[len(p.since)-1], want)
	}
}

// TUI-01: the new boxes and tabs survive every size.
func TestBoxesAtEverySize(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {3, 2}, {20, 5}, {40, 10}, {200, 60}} {
		w := open(t, setup{wrap: func(f *fake.Provider) client.Provider {
			return &measured{Provider: f, logs: []client.LogEntry{{At: time.Now(), Message: "x"}}}
		}})
		put(t, w, "/proc/net/tcp", listening)
		w.Keys("6 7 5")
		w.UntilShows("8080")
		w.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		w.Keys("5 G j F Q esc J j k esc 6 v 7 / esc 3 a esc S esc D X esc R esc w esc 2 A I esc 1")
		w.Send(ui.TickMsg{Now: time.Now()})
	}
}

// In a narrow window the tab shown is named, the others have their numbers, and
// a click on a number goes there.
func TestTabsInANarrowWindow(t *testing.T) {
	w := open(t, setup{w: 40, h: 12})
	w.Keys("5")
	w.Until("the ports tab, named", func() bool { return w.Shows("5 Ports") && !w.Shows("2 Output") && w.Shows(" 4 ") })
	line, x := -1, -1
	for i, l := range strings.Split(w.Text(), "\n") {
		if at := strings.Index(l, " 3 "); at >= 0 && strings.Contains(l, "5 Ports") {
			line, x = i, at+1
		}
	}
	w.Send(tea.MouseClickMsg{X: x, Y: line, Button: tea.MouseLeft})
	w.UntilShows("3 Files")
}

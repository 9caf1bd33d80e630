//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The budget of a dashboard that nobody touches.
const (
	idleCPU   = 0.5 // percent of one processor
	idleLists = 12  // lists a minute of a provider; with the use of rows it is 15 calls
	// idleBytes is what may be written to the terminal in a minute: a clock and
	// some times that change with it, no frame anew.
	idleBytes = 2048
)

// cloud is a service with sandboxes that were made hours ago and live for
// hours, so that nothing changes by the second. It counts what it is asked.
type cloud struct {
	*httptest.Server
	lists, uses, others atomic.Int64
}

func (c *cloud) calls() int64 { return c.lists.Load() + c.uses.Load() + c.others.Load() }

func newCloud(t testing.TB, n int) *cloud {
	t.Helper()
	list := make([]map[string]any, n)
	measured := map[string]any{}
	start := time.Now().Add(-3*time.Hour - 10*time.Minute)
	for i := range list {
		id := fmt.Sprintf("i%019d", i)
		list[i] = map[string]any{
			"sandboxID": id, "templateID": "base", "state": "running", "cpuCount": 2, "memoryMB": 512,
			"startedAt": start, "endAt": start.Add(9 * time.Hour), "metadata": map[string]string{"name": "worker-" + strconv.Itoa(i)},
		}
		measured[id] = map[string]any{"timestampUnix": time.Now().Unix(), "cpuCount": 2, "cpuUsedPct": 3, "memUsed": 100 << 20, "memTotal": 512 << 20}
	}
	c := &cloud{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var err error
		switch r.URL.Path {
		case "/v2/sandboxes":
			c.lists.Add(1)
			err = json.NewEncoder(w).Encode(list)
		case "/sandboxes/metrics":
			c.uses.Add(1)
			err = json.NewEncoder(w).Encode(map[string]any{"sandboxes": measured})
		default:
			c.others.Add(1)
			http.NotFound(w, r)
		}
		if err != nil {
			t.Errorf("answering %s: %v", r.URL, err)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// openCloud opens the dashboard of a user who has nothing but this service;
// more are further settings of it.
func openCloud(u *user, c *cloud, more string) *program {
	u.t.Helper()
	dir := filepath.Join(u.home, ".config", "abxdash")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		u.t.Fatal(err)
	}
	conf := "providers:\n  lab:\n    type: e2b\n    api_url: " + c.URL + "\n    data_url: https://{port}-{id}.lab.example\n" + more
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(conf), 0o600); err != nil {
		u.t.Fatal(err)
	}
	u.extra = append(u.extra, "ABX_LAB_API_KEY=a-key-of-this-test")
	p := u.open(120, 36)
	p.untilShows("worker-1")
	return p
}

// rest is what a program took while nobody touched it.
type rest struct {
	took, cpu time.Duration
	bytes     int64
}

func (r rest) minutes() float64 { return r.took.Minutes() }

// rests lets a program alone for a while and measures.
func rests(p *program, period time.Duration) rest {
	p.t.Helper()
	start, cpu, written := time.Now(), p.cpu(), p.written.Load()
	<-time.After(period) // the measurement: nothing happens, and that is what is looked at
	return rest{took: time.Since(start), cpu: p.cpu() - cpu, bytes: p.written.Load() - written}
}

// calmed waits until nothing was written for a second: the start is over.
func (p *program) calmed() {
	for last := int64(-1); last != p.written.Load(); {
		last = p.written.Load()
		<-time.After(time.Second)
	}
}

// cpu is the processor time that the program has used, in hundredths of a second.
func (p *program) cpu() time.Duration {
	p.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	// proc_pid_stat(5): utime and stime are fields 14 and 15, and the name before may hold blanks.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// Nobody touches the dashboard: it writes next to nothing and asks seldom. The
// service does not tell what its sandboxes use, for that is asked more often in
// the first minute after a key; BenchmarkIdle waits that minute and says what
// the whole takes, also of the processor, which depends on the machine.
func TestE2EIdleIsQuiet(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for twenty seconds")
	}
	c := newCloud(t, 200)
	p := openCloud(newUser(t, os.Getuid()), c, "    lacks: [sandbox.metrics]\n")
	p.calmed()
	lists, calls := c.lists.Load(), c.calls()
	r := rests(p, 20*time.Second)
	lists, calls = c.lists.Load()-lists, c.calls()-calls
	t.Logf("%d bytes, %d lists of %d calls, %v of processor in %v", r.bytes, lists, calls, r.cpu, r.took)
	if lists == 0 {
		t.Error("the list is not refreshed at all")
	}
	// One more than the share of a minute: a period may begin and end with a call.
	if most := idleLists*r.minutes() + 1; float64(calls) > most {
		t.Errorf("%d calls in %v, the budget is %d lists a minute and nothing else", calls, r.took, idleLists)
	}
	// A whole minute's bytes may fall into the period: times change on the minute.
	if most := idleBytes * max(1, r.minutes()); float64(r.bytes) > most {
		t.Errorf("%d bytes were written in %v, the budget is %d a minute; the screen shows:\n%s", r.bytes, r.took, idleBytes, p.screen())
	}
	p.typ("q")
	p.leaves()
}

// BenchmarkIdle measures a dashboard that nobody touches for 20 seconds: with
// 200 sandboxes of a service, which is what the budget is for, and in the demo,
// where half of the processor goes to the made-up provider of 5,000 itself.
func BenchmarkIdle(b *testing.B) {
	const (
		period   = 20 * time.Second
		useRests = 65 * time.Second // then the use of rows is asked for more seldom
	)
	report := func(b *testing.B, r rest) {
		b.ReportMetric(100*r.cpu.Seconds()/r.took.Seconds(), "%cpu")
		b.ReportMetric(float64(r.bytes)/r.minutes(), "bytes/min")
		b.ReportMetric(0, "ns/op") // it is the period
	}
	b.Run("service", func(b *testing.B) {
		for range b.N {
			c := newCloud(b, 200)
			p := openCloud(newUser(b, os.Getuid()), c, "")
			<-time.After(useRests)
			calls := c.calls()
			r := rests(p, period)
			report(b, r)
			b.ReportMetric(float64(c.calls()-calls)/r.minutes(), "calls/min")
			if percent := 100 * r.cpu.Seconds() / r.took.Seconds(); percent > idleCPU {
				b.Logf("%.2f %% of a processor, the budget is %.1f %%", percent, idleCPU)
			}
			p.typ("q")
			p.leaves()
		}
	})
	b.Run("demo", func(b *testing.B) {
		for range b.N {
			p := newUser(b, os.Getuid()).open(120, 36, "demo")
			p.untilShows("● running")
			p.calmed()
			report(b, rests(p, period))
			p.typ("\x03\x03")
			p.leaves()
		}
	})
}
